// What the tests use of Node.js: with the package @types/node, delete this file.
declare module "node:test" {
  export function test(name: string, run: () => Promise<void> | void): void;
}

declare module "node:assert/strict" {
  export function equal(actual: unknown, expected: unknown): void;
  export function deepEqual(actual: unknown, expected: unknown): void;
  export function ok(value: unknown): void;
}

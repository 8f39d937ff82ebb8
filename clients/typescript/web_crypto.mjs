// WebCrypto: a global of browsers, Deno and Node.js 20; Node.js 18 has it in a module.

const MODULE = "node:crypto";  // not written into import(): a bundler for browsers would look for it

export async function webCrypto() {
  return globalThis.crypto ?? (await import(/* @vite-ignore */ /* webpackIgnore: true */ MODULE)).webcrypto;
}

/** A random UUID. crypto.randomUUID is missing in pages that came by http. */
export async function newId() {
  const crypto = await webCrypto();
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;  // version 4
  bytes[8] = (bytes[8] & 0x3f) | 0x80;  // variant of RFC 9562
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

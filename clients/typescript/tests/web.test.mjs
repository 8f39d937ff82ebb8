// The package where there is nothing of Node.js: in a world that has only what browsers have as well.  // Q8
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// Modules of another realm, which may import nothing but each other. They run in the context's own language, with its own ArrayBuffer.
const LOADER = `
import { readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";
import vm from "node:vm";
const fetch = async (url, { method, headers, body }) =>
  new Response(JSON.stringify({ intentId: JSON.parse(body).intentId, status: method + " " + url + " " + headers.get("authorization") }));
const context = vm.createContext({ fetch, Headers, AbortController, URL, URLSearchParams, TextEncoder, TextDecoder, performance, setTimeout,
                                   clearTimeout, atob, crypto: webcrypto, said: [] });
const modules = new Map();
async function load(url) {
  if (!url.startsWith("file:")) throw new Error("no browser has " + url);
  if (!modules.has(url)) modules.set(url, new vm.SourceTextModule(await readFile(new URL(url), "utf8"), { context, identifier: url }));
  return modules.get(url);
}
const resolve = (name, from) => load(name.startsWith("./") ? new URL(name, from.identifier).href : name);
const main = new vm.SourceTextModule(process.argv[1], { context, identifier: process.argv[2] });
await main.link(resolve);
await main.evaluate();
console.log(JSON.stringify(context.said));`;

const PROGRAM = `
import { Client, verify } from "./index.mjs";
const client = new Client({ url: "https://host.test", token: "t" });
const { intentId, status } = await client.submit({ submissionTarget: "ops" });
said.push(intentId.length, status);
const headers = { "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
                  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" };
const body = Uint8Array.from('{"test": 2432232314}', (character) => character.charCodeAt(0)).buffer;
said.push((await verify(headers, body, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", { now: 1614265330 })).json().test);`;

test("a browser's globals are enough", async () => {
  const index = new URL("../index.mjs", import.meta.url).href;
  const words = ["--experimental-vm-modules", "--no-warnings", "--input-type=module", "-e", LOADER, PROGRAM, index];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: fileURLToPath(new URL(".", import.meta.url)) });
  assert.deepEqual(JSON.parse(stdout), [36, "POST https://host.test/v1/intents Bearer t", 2432232314]);
});

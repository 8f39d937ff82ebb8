// Requests that receivers may trust, and those that they may not.  // Q8
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { verify, WebhookVerificationError } from "../index.mjs";

// The example of https://github.com/standard-webhooks/standard-webhooks, whose libraries test with it.
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const ID = "msg_p5jXN8AQM9LWM0D4loKWxJek", TIME = 1614265330, BODY = '{"test": 2432232314}';
const SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const AT = { now: TIME };
const HEADERS = { "webhook-id": ID, "webhook-timestamp": `${TIME}`, "webhook-signature": SIGNATURE };

const signed = (key, body = BODY) => `v1,${createHmac("sha256", key).update(`${ID}.${TIME}.`).update(body).digest("base64")}`;
const rejected = (code, ...call) => assert.rejects(verify(...call), (error) => {
  assert.ok(error instanceof WebhookVerificationError);
  assert.deepEqual([error.name, error.code], ["WebhookVerificationError", code]);
  return true;
});

test("the published example is genuine, as text and as bytes", async () => {
  const bytes = new TextEncoder().encode(`xx${BODY}x`).subarray(2, -1);
  const foreign = runInNewContext("Uint8Array.from(bytes).buffer", { bytes });  // of another realm
  for (const body of [BODY, bytes, Buffer.from(BODY), Uint8Array.from(bytes).buffer, foreign]) {
    const webhook = await verify(HEADERS, body, SECRET, AT);
    assert.deepEqual([webhook.id, webhook.timestamp, webhook.json()], [ID, new Date(TIME * 1000), { test: 2432232314 }]);
  }
  assert.equal(signed(Buffer.from(SECRET.slice(6), "base64")), SIGNATURE);
});

test("headers come as Headers, as a Map, as an object, in any case of letters", async () => {
  const pairs = Object.entries(HEADERS);
  const shouted = pairs.map(([name, value]) => [name.toUpperCase(), value]);
  const lists = Object.fromEntries(pairs.map(([name, value]) => [name, [value]]));  // headersDistinct of node:http
  const objects = [Object.fromEntries(shouted), { ...lists, other: undefined }];
  for (const headers of [new Headers(HEADERS), new Map(pairs), new Map(shouted), ...objects])
    assert.equal((await verify(headers, BODY, SECRET, AT)).id, ID);
});

test("of several signatures and secrets one pair is enough", async () => {
  const several = { ...HEADERS, "webhook-signature": `v1a,abcd v1,AAAA ${signed("other")} ${SIGNATURE} v2,xx` };
  assert.equal((await verify(several, BODY, [OTHER, SECRET], AT)).id, ID);
  assert.equal((await verify(several, BODY, new Set(["plain", SECRET]), AT)).id, ID);
  assert.equal((await verify({ ...HEADERS, "webhook-signature": signed("plain") }, BODY, "plain", AT)).id, ID);
});

test("any other body, id, time, secret or signature is not", async () => {
  await rejected("wrong_signature", HEADERS, `${BODY} `, SECRET, AT);
  await rejected("wrong_signature", HEADERS, BODY, OTHER, AT);
  await rejected("wrong_signature", { ...HEADERS, "webhook-id": "msg_x" }, BODY, SECRET, AT);
  await rejected("wrong_signature", { ...HEADERS, "webhook-timestamp": `${TIME + 1}` }, BODY, SECRET, AT);
  for (let bit = 0; bit < 256; ++bit) {
    const signature = Buffer.from(SIGNATURE.slice(3), "base64");
    signature[bit >> 3] ^= 1 << (bit & 7);
    await rejected("wrong_signature", { ...HEADERS, "webhook-signature": `v1,${signature.toString("base64")}` }, BODY, SECRET, AT);
  }
  await rejected("wrong_signature", { ...HEADERS, "webhook-signature": "v1,g0hM9SsE" }, BODY, SECRET, AT);  // a part is not enough
});

test("five minutes either way are the window, or what is asked for", async () => {
  for (const now of [TIME - 300, TIME + 300]) await verify(HEADERS, BODY, SECRET, { now });
  await rejected("outside_window", HEADERS, BODY, SECRET, { now: TIME + 301 });
  await rejected("outside_window", HEADERS, BODY, SECRET, { now: TIME - 301 });
  await rejected("outside_window", HEADERS, BODY, SECRET, { now: TIME + 11, tolerance: 10 });
  await rejected("outside_window", HEADERS, BODY, SECRET);  // by the machine's clock
  const now = Math.floor(Date.now() / 1000);
  const fresh = `v1,${createHmac("sha256", "plain").update(`i.${now}.${BODY}`).digest("base64")}`;
  await verify({ "webhook-id": "i", "webhook-timestamp": `${now}`, "webhook-signature": fresh }, BODY, "plain");
});

test("headers that are missing, doubled or malformed are told", async () => {
  for (const name of Object.keys(HEADERS)) {
    const { [name]: removed, ...others } = HEADERS;
    await rejected("missing_header", others, BODY, SECRET, AT);
    await rejected("missing_header", { ...HEADERS, [name]: "" }, BODY, SECRET, AT);
    await rejected("malformed_header", { ...HEADERS, [name.toUpperCase()]: removed }, BODY, SECRET, AT);
    await rejected("malformed_header", { ...HEADERS, [name]: [removed, removed] }, BODY, SECRET, AT);
  }
  for (const time of ["1e9", "-1", " 1614265330", "1614265330.0", "now", "1".repeat(30)])
    await rejected("malformed_header", { ...HEADERS, "webhook-timestamp": time }, BODY, SECRET, AT);
  for (const signature of ["v2,abcd", "g0hM9SsE", "v1,", "v1,***", SIGNATURE.replace(",", "."), SIGNATURE.replace(",", "a,")])
    await rejected("wrong_signature", { ...HEADERS, "webhook-signature": signature }, BODY, SECRET, AT);
});

test("a secret that is none is told, whatever the others are", async () => {
  for (const secrets of [[], "", "whsec_", "whsec_***", [SECRET, ""]]) await rejected("bad_secret", HEADERS, BODY, secrets, AT);
});

test("JSON that was parsed is no body", async () => {
  await assert.rejects(verify(HEADERS, JSON.parse(BODY), SECRET, AT), TypeError);
});

test("without a global crypto, as in Node.js 18, it is the module's", async () => {
  const index = new URL("../index.mjs", import.meta.url);
  const program = `import { verify, Client } from ${JSON.stringify(fileURLToPath(index))};
    delete globalThis.crypto;
    const webhook = await verify(${JSON.stringify(HEADERS)}, ${JSON.stringify(BODY)}, "${SECRET}", { now: ${TIME} });
    const fetch = async (url, { body }) => new Response(body);
    const intent = await new Client({ url: "http://host.test", fetch }).submit({ submissionTarget: "ops" });
    console.log(typeof globalThis.crypto, webhook.id, intent.intentId.length);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  assert.equal(stdout, `undefined ${ID} 36\n`);
});

test("where crypto has no randomUUID, as in pages by http, an id is a UUID all the same", async () => {
  const web = new URL("../web_crypto.mjs", import.meta.url);
  const program = `import { newId } from ${JSON.stringify(fileURLToPath(web))};
    Object.defineProperty(globalThis, "crypto", { value: { getRandomValues: (bytes) => bytes.fill(255) } });
    console.log(await newId());`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  assert.equal(stdout, "ffffffff-ffff-4fff-bfff-ffffffffffff\n");
});

// Those that every client of this repository is held to.
const { vectors } = JSON.parse(await readFile(new URL("../../tests/webhook_vectors.json", import.meta.url), "utf8"));
for (const vector of vectors)
  test(`vector: ${vector.name}`, async () => {
    const found = await verify(vector.headers, vector.body, vector.secrets, { now: vector.now }).then(
      () => "verified", (error) => error.code);
    assert.equal(found, vector.is);
  });

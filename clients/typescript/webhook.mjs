// What a receiver of Waybill's webhooks checks, by Standard Webhooks (https://www.standardwebhooks.com).
import { WebhookVerificationError } from "./errors.mjs";
import { webCrypto } from "./web_crypto.mjs";

const TOLERANCE = 300;  // seconds
const PREFIX = "whsec_";

/**
 * The request's id, time and body if one of the secrets signed it within the last `tolerance` seconds; else it throws a
 * WebhookVerificationError.
 */
export async function verify(headers, body, secrets, { tolerance = TOLERANCE, now = Date.now() / 1000 } = {}) {
  const id = only(headers, "webhook-id"), time = only(headers, "webhook-timestamp");
  const signatures = signaturesOf(only(headers, "webhook-signature"));
  const timestamp = secondsOf(time);
  if (!(Math.abs(now - timestamp) <= tolerance))
    throw new WebhookVerificationError("outside_window", `webhook-timestamp is ${Math.round(now - timestamp)} s ago`);
  const bytes = bytesOf(body);
  const signed = joined(new TextEncoder().encode(`${id}.${time}.`), bytes);
  if (!(await isSigned(signed, signatures, typeof secrets === "string" ? [secrets] : [...secrets])))
    throw new WebhookVerificationError("wrong_signature", "no secret makes one of the signatures of this body");
  return { id, timestamp: new Date(timestamp * 1000), json: () => JSON.parse(new TextDecoder().decode(bytes)) };
}

/** The only value of a header, in whatever case of letters it is named. */
function only(headers, name) {
  const pairs = typeof headers.entries === "function" ? [...headers.entries()] : Object.entries(headers);
  const values = pairs.filter(([key, value]) => key.toLowerCase() === name && value !== undefined).flatMap(([, value]) => value);
  if (values.length === 0) throw new WebhookVerificationError("missing_header", `there is no ${name}`);
  if (values.length > 1) throw new WebhookVerificationError("malformed_header", `there is more than one ${name}`);
  if (values[0] === "") throw new WebhookVerificationError("missing_header", `${name} is empty`);
  return String(values[0]);
}

function secondsOf(text) {
  if (!/^\d{1,15}$/.test(text)) throw new WebhookVerificationError("malformed_header", "webhook-timestamp is no number of seconds");
  return Number(text);
}

/** The bytes of those of the version that Waybill writes, as far as they can be read. */
function signaturesOf(header) {
  const found = header.split(" ").filter((one) => one.startsWith("v1,")).map((one) => decoded(one.slice(3)));
  return found.filter((one) => one !== undefined);
}

function decoded(base64) {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** As the plugin webhook does: what whsec_ stands before is Base64, any other secret is its own bytes. */
function keyOf(secret) {
  const key = secret.startsWith(PREFIX) ? decoded(secret.slice(PREFIX.length)) : new TextEncoder().encode(secret);
  if (key === undefined || key.length === 0)
    throw new WebhookVerificationError("bad_secret", "a secret is empty, or no Base64 follows its whsec_");
  return key;
}

function bytesOf(body) {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body);  // of whatever realm
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  throw new TypeError("verify() takes the body as it came: a string or bytes, no parsed JSON");
}

function joined(first, second) {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** Each secret with each signature, whatever matches before: subtle.verify() takes the same time for each. */
async function isSigned(signed, signatures, secrets) {
  const { subtle } = await webCrypto();
  if (secrets.length === 0) throw new WebhookVerificationError("bad_secret", "there is no secret");
  let isGenuine = false;
  for (const secret of secrets) {
    const key = await subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) isGenuine = (await subtle.verify("HMAC", key, signature, signed)) || isGenuine;
  }
  return isGenuine;
}

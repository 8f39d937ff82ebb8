/**
 * Waybill's kit for plugins in TypeScript and JavaScript: a program that runs in a process of its own, beside the host.
 *
 *     import * as waybill from "./waybill_plugin.mjs";
 *
 *     waybill.sender("my_destination", async (job, host) => {
 *       const answer = await host.fetch("POST", job.destination.url, { json: job.payload });
 *       return waybill.judge(answer, "invalid_request");
 *     });
 *
 *     waybill.run(import.meta.url);
 *
 * The host does all work on the network and knows all secrets; this process turns jobs into requests and answers into outcomes.
 * docs/plugins-typescript.md is the page for authors; waybill_plugin.d.mts says what each function takes and gives;
 * docs/plugin-protocol.md says what the two tell each other. It needs Node.js 18 and nothing else. Times are in seconds.
 */
import { createHook, executionAsyncResource } from "node:async_hooks";
import { createSocket } from "node:dgram";
import { fstatSync, readFileSync, readSync, realpathSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";

if (Number.parseInt(process.versions.node, 10) < 18) {
  writeSync(2, `waybill_plugin needs Node.js 18 or later; this is ${process.versions.node}\n`);
  process.exit(1);
}

const PROTOCOL_MAJOR = 1, PROTOCOL_MINOR = 1;

const STREAM = 3, QUESTIONS = 4, PAGE = 5;  // descriptors
const MAX_FRAME_BYTES = 72 << 20;
const MAX_SENT_BYTES = 64 << 20;  // of one request or mail
const MAX_REQUESTS = 64;  // of one call, open at a time
const MAX_TIMERS = 1024;  // of one call
const MAX_HEADERS = 256, MAX_BODY_SECRETS = 16, MAX_RECIPIENTS = 1000, MAX_PARTS = 64, MAX_LOG_FIELDS = 32, MAX_PROBLEMS = 1000;
const MAX_WORDS_BYTES = 4096;  // of a text for people; the host cuts it shorter
const MAX_NAME_BYTES = 64 << 10;  // of a relay or an address
const MAX_RESULT_BYTES = (1 << 20) + 1;  // of a result or an artifact: one more than the host takes, so that it sees it
const MAX_ERROR_CHARACTERS = 500;  // of what an exception says, in a detail
const CANCEL_GRACE = 0.5;  // from a cancel to the end of its call

const EXIT_HOST_IS_GONE = 0;  // nothing is wrong with the plugin
const EXIT_STARTED_BY_HAND = 2;
const EXIT_MALFORMED = 70;  // EX_SOFTWARE: what the host said cannot be read

// ---- words and their numbers ----

export const VERDICTS = new Map([["accepted", 1], ["rejected", 2], ["transient", 3], ["deferred", 4]]);
export const REACHES = new Map([["not_sent", 1], ["maybe_sent", 2], ["answered", 3]]);
export const SCOPES = new Map([["this_job", 1], ["whole_target", 2]]);
export const ERRORS = new Map([[null, 0], ["refused", 1], ["resolve", 2], ["connect", 3], ["tls", 4], ["timeout", 5],
                               ["broken", 6], ["cancelled", 7]]);
export const STAGES = new Map([["none", 0], ["connect", 1], ["auth", 2], ["mail", 3], ["rcpt", 4], ["data", 5]]);
export const TLS = new Map([["if_offered", 0], ["required", 1], ["never", 2]]);
export const LEVELS = new Map([["debug", 1], ["info", 2], ["warn", 3], ["error", 4]]);
export const ROLES = ["sender", "compose", "status", "probe", "failures"];  // in the order of the numbers in `begin`
const SECRET_FORMS = new Map([["raw", 0], ["json", 1], ["form", 2]]);
const ALGORITHMS = new Map([["rsa_sha256", 1], ["ecdsa_p256_sha256", 2]]);
const ABILITIES = new Map([["compose", 1], ["status", 2], ["probe", 4], ["failures", 8]]);

export function numberOf(table, word, what) {
  const number = table.get(word);
  if (number !== undefined) return number;
  const known = [...table.keys()].map((one) => JSON.stringify(one));
  throw new TypeError(`${JSON.stringify(word)} is no ${what}: say one of ${known.join(", ")}`);
}

/** The word of a number; of a newer host's number `otherwise`. */
export function wordOf(table, number, otherwise) {
  for (const [word, one] of table) if (one === number) return word;
  return otherwise;
}

/** A word that is none of those known is a mistake of the author's. */
export function expectNames(given, known, what) {
  for (const name in given)
    if (!known.includes(name)) throw new TypeError(`${what} has no "${name}"; it has ${known.join(", ")}`);
}

class KitError extends Error {
  get name() {
    return this.constructor.name;
  }
}

export class Cancelled extends KitError {}
export class Ended extends KitError {}

export class HostError extends KitError {
  constructor(word, message) {
    super(message);
    this.word = word;
  }
}

// ---- bytes: numbers in little-endian order, texts and lists with their length in front ----

/** What the host said cannot be read. */
export class Malformed extends KitError {}

/** The numbers of the messages. */
export const Kind = {
  WELCOME: 1, CHECK: 2, CREATE: 3, BEGIN: 4, CANCEL: 5, END: 6, RESPONSE: 7, REPLY: 8, FIRE: 9, DESTROY: 10, SETTLE: 11, PING: 12,
  HELLO: 101, CHECKED: 102, CREATED: 103, COMPLETE: 104, FETCH: 105, ABORT_FETCH: 106, SUBMIT: 107, ABORT_SUBMISSION: 108,
  TIMER: 109, CANCEL_TIMER: 110, FAILURE: 111, NEXT_PAGE: 112, LOG: 113, COUNT: 114, SETTLED: 116, PONG: 117,
  SIGN: 201, SIGNATURE: 202, SECRET: 203, RENDER: 204, RENDER_TEXT: 205, LINK: 206, FIND_CLIENT: 207, FORGET_TOKEN: 208,
  COUNT_FIRST: 209, ANSWER: 250,
};

const HEAD_BYTES = 8;  // length without its own four bytes, kind
const TWO_TO_32 = 2 ** 32;

/** A frame as it is written. Fields are appended one after the other; bytes() ends it. */
export class Frame {
  #bytes = Buffer.allocUnsafe(256);
  #size = HEAD_BYTES;

  constructor(kind) {
    this.#bytes.writeUInt32LE(kind, 4);
  }

  u32(number) {
    const at = this.#take(4);
    this.#bytes.writeUInt32LE(number, at);
    return this;
  }

  i32(number) {
    const at = this.#take(4);
    this.#bytes.writeInt32LE(number, at);
    return this;
  }

  u64(number) {
    const at = this.#take(8);
    this.#bytes.writeUInt32LE(number >>> 0, at);
    this.#bytes.writeUInt32LE(Math.floor(number / TWO_TO_32), at + 4);
    return this;
  }

  i64(number) {
    const at = this.#take(8);
    this.#bytes.writeUInt32LE(number >>> 0, at);
    this.#bytes.writeInt32LE(Math.floor(number / TWO_TO_32), at + 4);
    return this;
  }

  /** `value`: a string, or bytes. */
  text(value) {
    if (typeof value !== "string") {
      this.u32(bytesOf(value).length);
      return this.raw(value);
    }
    const size = Buffer.byteLength(value);
    const at = this.#take(4 + size);
    this.#bytes.writeUInt32LE(size, at);
    this.#bytes.write(value, at + 4);
    return this;
  }

  texts(values) {
    this.u32(values.length);
    for (const value of values) this.text(value);
    return this;
  }

  /** A list of two texts each: headers, problems, the fields of a log event. */
  pairs(pairs) {
    this.u32(pairs.length);
    for (const [first, second] of pairs) this.text(first).text(second);
    return this;
  }

  /** Bytes as they are. */
  raw(bytes) {
    const at = this.#take(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  get size() {
    return this.#size;
  }

  bytes() {
    this.#bytes.writeUInt32LE(this.#size - 4, 0);
    return this.#bytes.subarray(0, this.#size);
  }

  #take(size) {
    const at = this.#size;
    this.#size += size;
    if (this.#size > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#size, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }
}

/** Reads the fields of a message one after the other. Malformed: there are none left. */
export class Reader {
  #body;
  #at = 0;

  constructor(body) {
    this.#body = body;
  }

  u32() {
    return this.#body.readUInt32LE(this.#take(4));
  }

  i32() {
    return this.#body.readInt32LE(this.#take(4));
  }

  u64() {
    const at = this.#take(8);
    const number = this.#body.readUInt32LE(at) + TWO_TO_32 * this.#body.readUInt32LE(at + 4);
    if (!Number.isSafeInteger(number)) throw new Malformed("a number has more than 53 bits");
    return number;
  }

  i64() {
    const at = this.#take(8);
    return this.#body.readUInt32LE(at) + TWO_TO_32 * this.#body.readInt32LE(at + 4);
  }

  /** The bytes of a text. */
  bytes() {
    const [from, to] = this.span();
    return this.#body.subarray(from, to);
  }

  string() {
    const [from, to] = this.span();
    return this.#body.toString("utf8", from, to);
  }

  /** Where a text begins and ends. */
  span() {
    const size = this.u32();
    const from = this.#take(size);
    return [from, from + size];
  }

  /** The number of items of a list, each of which has at least `least` bytes. */
  count(least) {
    const count = this.u32();
    if (count * least > this.#body.length - this.#at) throw new Malformed("a list is longer than its message");
    return count;
  }

  /** A list of texts, as bytes. */
  texts() {
    return Array.from({ length: this.count(4) }, () => this.bytes());
  }

  /** A list of two strings each. */
  pairs() {
    return Array.from({ length: this.count(8) }, () => [this.string(), this.string()]);
  }

  #take(size) {
    const at = this.#at;
    this.#at += size;
    if (this.#at > this.#body.length) throw new Malformed("a message is shorter than its fields");
    return at;
  }
}

/** Cuts a stream of bytes into frames. */
export class Frames {
  #pieces = [];  // of a frame that is not whole
  #size = 0;  // theirs
  #wanted = 0;  // bytes until something can be cut off them

  /** What became whole with `data`: a list of [kind, body]. The bodies are parts of `data`, which is not to be changed. */
  cut(data) {
    if (this.#size > 0) {
      this.#pieces.push(data);
      this.#size += data.length;
      if (this.#size < this.#wanted) return [];
      data = Buffer.concat(this.#pieces);
    }
    const frames = [];
    let at = 0;
    this.#wanted = 4;
    while (data.length - at >= 4) {
      const size = data.readUInt32LE(at);
      if (size < 4 || size > MAX_FRAME_BYTES) throw new Malformed(`a frame of ${size} bytes`);
      this.#wanted = 4 + size;
      if (data.length - at < this.#wanted) break;
      frames.push([data.readUInt32LE(at + 4), data.subarray(at + HEAD_BYTES, at + this.#wanted)]);
      at += this.#wanted;
      this.#wanted = 4;
    }
    this.#size = data.length - at;
    this.#pieces = this.#size > 0 ? [data.subarray(at)] : [];
    return frames;
  }
}

/** Bytes as they are, a string in UTF-8. */
export function bytesOf(value) {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") return Buffer.from(value);
  throw new TypeError(`text or bytes are wanted, not ${typeOf(value)}`);
}

/** What is said for people, bounded: in UTF-8 at most so many bytes, cut between characters. */
export function words(value, most = MAX_WORDS_BYTES) {
  const text = String(value);
  if (text.length * 3 <= most) return text;
  const encoded = Buffer.from(text);
  if (encoded.length <= most) return text;
  let end = most;
  while ((encoded[end] & 0xc0) === 0x80) --end;
  return encoded.toString("utf8", 0, end);
}

/** In one line, without what cannot be printed. */
export function oneLine(text) {
  return text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
}

function isOneLine(text) {
  return /^[\x20-\x7e]*$/.test(text);
}

/** What a value is, in a word for its author. */
function typeOf(value) {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  return value.constructor?.name ?? "object";
}

// ---- JSON ----

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What JSON text in UTF-8 says. SyntaxError, TypeError: it is none. */
export function readJson(data) {
  return JSON.parse(utf8.decode(data));
}

export function writeJson(value) {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`${typeOf(value)} is not JSON`);
  return text;
}

// ---- outcomes ----

const OF_AN_OUTCOME = ["reach", "scope", "code", "retryAfter", "detail", "providerRef", "result", "artifact", "artifactType"];
const NO_BYTES = Buffer.alloc(0);

export class Outcome {
  constructor(verdict, reason, reach, given) {
    if (typeof reason !== "string") throw new TypeError(`a reason is a word and comes first, not ${typeOf(reason)}`);
    const hasAnswer = given[0] instanceof Answer || given[0] instanceof Reply;
    const answer = hasAnswer ? given[0] : undefined;
    this.verdict = verdict;
    this.reason = reason;
    this.reach = answer === undefined ? reach : answer.reach;
    this.scope = "this_job";
    this.code = answer === undefined ? 0 : answer.code;
    this.retryAfter = answer !== undefined && verdict === "transient" ? answer.retryAfter : null;
    this.detail = this.providerRef = this.artifactType = "";
    this.result = null;
    this.artifact = NO_BYTES;
    const more = hasAnswer ? given[1] : given[0] ?? given[1];
    if (more !== undefined) this.#take(more);
  }

  #take(more) {
    if (typeof more.then === "function") throw new TypeError("a promise is no answer: await it");
    expectNames(more, OF_AN_OUTCOME, "an outcome");
    for (const name of OF_AN_OUTCOME) if (more[name] !== undefined) this[name] = more[name];
    numberOf(REACHES, this.reach, "reach");
    numberOf(SCOPES, this.scope, "scope");
    if (!Number.isInteger(this.code)) throw new TypeError(`a code is an integer, not ${this.code}`);
  }

  /** The message `complete`. */
  message(call) {
    const detail = String(this.detail);
    const result = this.result === null ? "" : writeJson(this.result);
    return new Frame(Kind.COMPLETE).u64(call).u32(1)
      .i32(VERDICTS.get(this.verdict)).i32(REACHES.get(this.reach)).i32(SCOPES.get(this.scope)).i32(this.code)
      .i64(this.retryAfter === null ? -1 : milliseconds(this.retryAfter))
      .text(words(this.reason)).text(words(isOneLine(detail) ? detail : oneLine(detail))).text(words(this.providerRef))
      .text(result.length < MAX_RESULT_BYTES / 3 ? result : Buffer.from(result).subarray(0, MAX_RESULT_BYTES))
      .text(words(this.artifactType)).text(bytesOf(this.artifact).subarray(0, MAX_RESULT_BYTES)).bytes();
  }

  toString() {
    const said = [this.reason && JSON.stringify(this.reason), this.reach, this.scope === "whole_target" && "whole target",
                  this.code !== 0 && `code ${this.code}`, this.detail && JSON.stringify(this.detail)];
    return `${this.verdict}(${said.filter(Boolean).join(", ")})`;
  }
}

export function accepted(...given) {
  return new Outcome("accepted", "", "answered", given);
}

export function rejected(reason, ...given) {
  return new Outcome("rejected", reason, "answered", given);
}

export function transient(reason, ...given) {
  return new Outcome("transient", reason, "maybe_sent", given);
}

export function deferred(reason, ...given) {
  return new Outcome("deferred", reason, "not_sent", given);
}

export function judge(answer, permanentReason) {
  return answer instanceof Reply ? judgeReply(answer, permanentReason) : judgeResponse(answer, permanentReason);
}

const ERROR_REASONS = { resolve: "resolve_failed", connect: "connect_failed", tls: "tls_failed", timeout: "timeout",
                        refused: "refused_by_host", cancelled: "cancelled", broken: "connection_broken" };

function judgeError(answer) {
  const isOutOfReach = answer.reach === "not_sent" && answer.error !== "refused" && answer.error !== "cancelled";
  return transient(ERROR_REASONS[answer.error], answer,
                   { scope: isOutOfReach ? "whole_target" : "this_job", detail: answer.errorText });
}

function judgeResponse(answer, permanentReason) {
  if (answer.error !== null) return judgeError(answer);
  const { status } = answer;
  const hundreds = Math.floor(status / 100);
  if (hundreds === 2) return accepted(answer);
  const scope = [401, 403, 429, 502, 503, 504].includes(status) ? "whole_target" : "this_job";
  const told = { scope, retryAfter: answer.retryAfter, detail: `status ${status}` };
  if (status === 401 || status === 403) return transient("unauthorized", answer, told);
  if (status === 408 || status === 425 || status === 429) return transient("try_later", answer, told);
  if (hundreds === 4) return rejected(permanentReason, answer, told);
  return transient(hundreds === 5 ? "server_error" : "invalid_answer", answer, told);
}

function judgeReply(reply, permanentReason) {
  const offersNoLogin = reply.stage === "auth" && reply.error === "broken" && reply.code === 0;
  if (reply.error !== null && !offersNoLogin) return judgeError(reply);
  const isForGood = isPermanent(reply.code);
  const told = { detail: reply.code !== 0 ? `${reply.code} ${reply.text}` : reply.errorText };
  if (reply.stage === "connect" || reply.stage === "auth" || reply.code === 530) {  // 530: log in first
    const isOfLogin = reply.stage !== "connect" && (isForGood || offersNoLogin);
    const reason = isOfLogin ? "relay_login_refused" : isForGood ? "relay_refused" : "try_later";
    return transient(reason, reply, { scope: "whole_target", ...told });
  }
  if (reply.stage === "rcpt" || reply.isTaken) return judgeRecipients(reply, permanentReason);
  return isForGood ? rejected(permanentReason, reply, told) : transient("try_later", reply, told);
}

function judgeRecipients(reply, permanentReason) {
  const haveIt = reply.recipients.filter((one) => reply.isTaken && isTaken(one.code)).map((one) => one.address);
  const refused = reply.recipients.filter((one) => !isTaken(one.code) && one.code !== 0);
  if (reply.isTaken && refused.length === 0) return accepted(reply);
  const later = refused.filter((one) => !isPermanent(one.code));
  const about = later.at(-1) ?? refused.at(-1) ?? { address: "", code: reply.code, text: reply.text };
  const told = { code: about.code, detail: `${about.address}: ${about.code} ${about.text}` };
  if (haveIt.length > 0) told.result = { accepted: haveIt, refused };
  if (later.length > 0 || refused.length === 0)
    return transient(haveIt.length > 0 ? "some_recipients_later" : "try_later", reply, told);
  return rejected(permanentReason, reply, told);
}

const isTaken = (code) => Math.floor(code / 100) === 2;
const isPermanent = (code) => Math.floor(code / 100) === 5;

export function milliseconds(seconds) {
  const rounded = Math.max(0, Math.ceil(seconds * 1000));
  if (!Number.isSafeInteger(rounded)) throw new RangeError(`${seconds} is no number of seconds`);
  return rounded;
}

// ---- what comes from the host ----

export class Answer {
  constructor(body) {
    const read = new Reader(body);
    read.u64();  // its id
    this.error = wordOf(ERRORS, read.i32(), "broken");
    this.reach = wordOf(REACHES, read.i32(), "maybe_sent");
    this.status = read.i32();
    this.isTruncated = read.u32() !== 0;
    const retryAfter = read.i64();
    this.retryAfter = retryAfter < 0 ? null : retryAfter / 1000;
    this.body = read.bytes();
    this.errorText = read.string();
    this.headerList = read.pairs();
  }

  get code() {
    return this.status;
  }

  get headers() {
    return Object.fromEntries([...this.headerList].reverse());
  }

  get text() {
    return this.body.toString();
  }

  json() {
    return readJson(this.body);
  }

  toString() {
    return `<answer ${this.error ?? this.status}, ${this.reach}>`;
  }
}

export class Reply {
  retryAfter = null;

  constructor(body, addresses) {
    const read = new Reader(body);
    read.u64();  // its id
    this.error = wordOf(ERRORS, read.i32(), "broken");
    this.reach = wordOf(REACHES, read.i32(), "maybe_sent");
    this.stage = wordOf(STAGES, read.i32(), "none");
    this.code = read.i32();
    this.text = read.string();
    this.errorText = read.string();
    this.recipients = Array.from({ length: read.count(8) },
                                 (_, index) => ({ address: addresses[index] ?? "", code: read.i32(), text: read.string() }));
  }

  get isTaken() {
    return this.error === null && this.stage === "data" && isTaken(this.code);
  }

  toString() {
    return `<reply ${this.error ?? this.code} at ${this.stage}, ${this.reach}>`;
  }
}

// The texts of a job, in the order in which they travel.
export const JOB_TEXTS = ["actionId", "target", "idempotencyKey", "destination", "payload", "context", "artifactType", "artifact",
                          "providerRef", "progress"];
const [ACTION_ID, TARGET, IDEMPOTENCY_KEY, DESTINATION, PAYLOAD, CONTEXT, ARTIFACT_TYPE, ARTIFACT, PROVIDER_REF, PROGRESS] =
  JOB_TEXTS.keys();

export class Job {
  #body;
  #spans;
  #read = [];  // what was made of the JSON, so that each has it once

  constructor(read, body) {
    this.#body = body;
    this.attempt = read.u32();
    this.maybeSentBefore = read.u32() !== 0;
    this.deadline = read.i64() / 1000;
    this.#spans = JOB_TEXTS.map(() => read.span());
    this.since = read.i64();
    this.page = read.string();
  }

  get actionId() {
    return this.#string(ACTION_ID);
  }

  get target() {
    return this.#string(TARGET);
  }

  get idempotencyKey() {
    return this.#string(IDEMPOTENCY_KEY);
  }

  get destination() {
    return this.#json(DESTINATION) ?? {};
  }

  get payload() {
    return this.#json(PAYLOAD);
  }

  get payloadBytes() {
    return this.#bytes(PAYLOAD);
  }

  get context() {
    return this.#json(CONTEXT) ?? {};
  }

  get artifactType() {
    return this.#string(ARTIFACT_TYPE);
  }

  get artifact() {
    return this.#bytes(ARTIFACT);
  }

  get providerRef() {
    return this.#string(PROVIDER_REF);
  }

  get progress() {
    return this.#json(PROGRESS);
  }

  #string(index) {
    return this.#body.toString("utf8", ...this.#spans[index]);
  }

  #bytes(index) {
    return this.#body.subarray(...this.#spans[index]);
  }

  #json(index) {
    if (this.#read[index] === undefined) {
      const text = this.#bytes(index);
      this.#read[index] = text.length === 0 ? null : readJson(text);
    }
    return this.#read[index];
  }
}

export class Failure {
  constructor({ providerRef = "", idempotencyKey = "", reason = "", detail = "", failedAt = 0 } = {}) {
    this.providerRef = providerRef;
    this.idempotencyKey = idempotencyKey;
    this.reason = reason;
    this.detail = detail;
    this.failedAt = failedAt;
  }
}

export class NextPage {
  constructor(name) {
    this.name = name;
  }
}

export class Secret {
  constructor(name, form = "raw") {
    this.name = name;
    this.form = form;
    numberOf(SECRET_FORMS, form, "form of a secret");
  }
}

// ---- what goes to the host ----

const OF_A_REQUEST = ["headers", "body", "json", "timeout", "maxResponseBytes", "basicUser", "basicPassword", "sigv4Region",
                      "sigv4Service", "sigv4KeyId", "sigv4SecretKey", "signal"];
const OF_A_MAIL = ["tls", "user", "password", "timeout", "signal"];

function writeRequest(frame, method, url, options) {
  expectNames(options, OF_A_REQUEST, "a request");
  const headers = pairsOf(options.headers ?? []);
  let { body = "" } = options;
  if (options.json !== undefined && options.json !== null) {
    body = writeJson(options.json);
    const saysWhatItIs = headers.some(([name]) => String(name).toLowerCase() === "content-type");
    if (!saysWhatItIs) headers.push(["Content-Type", "application/json"]);
  }
  if (headers.length > MAX_HEADERS) throw new RangeError(`a request has ${MAX_HEADERS} headers at most, not ${headers.length}`);
  const [bytes, secrets] = bodyAndSecrets(body);
  if (bytes.length > MAX_SENT_BYTES) throw new RangeError("a request has 64 MiB at most");
  const size = frame.size;
  frame.u32(Math.min(milliseconds(options.timeout ?? 0), 0xffffffff)).u32(options.maxResponseBytes ?? 0)
    .text(method).text(url).text(bytes)
    .text(options.basicUser ?? "").text(options.basicPassword ?? "").text(options.sigv4Region ?? "")
    .text(options.sigv4Service ?? "").text(options.sigv4KeyId ?? "").text(options.sigv4SecretKey ?? "")
    .pairs(headers).u32(secrets.length);
  for (const [at, secret] of secrets) frame.u64(at).text(secret.name).i32(SECRET_FORMS.get(secret.form));
  if (frame.size - size > MAX_SENT_BYTES) throw new RangeError("a request has 64 MiB at most");
  return frame;
}

/** Of an object, or of anything that gives pairs, such as a Map. */
function pairsOf(headers) {
  return typeof headers[Symbol.iterator] === "function" ? [...headers] : Object.entries(headers);
}

/** The bytes of a body, and its secrets as [the byte in front of which it goes, Secret]. */
function bodyAndSecrets(body) {
  if (!Array.isArray(body)) return [bytesOf(body), []];
  const pieces = [], secrets = [];
  let length = 0;
  for (const piece of body) {
    if (piece instanceof Secret) {
      secrets.push([length, piece]);
      continue;
    }
    pieces.push(bytesOf(piece));
    length += pieces.at(-1).length;
  }
  if (secrets.length > MAX_BODY_SECRETS)
    throw new RangeError(`a body has ${MAX_BODY_SECRETS} secrets at most, not ${secrets.length}`);
  return [Buffer.concat(pieces), secrets];
}

function writeMail(frame, relay, mailFrom, recipients, data, options) {
  expectNames(options, OF_A_MAIL, "a mail");
  const { tls = "if_offered", user = "", password = "", timeout = 0 } = options;
  if (recipients.length > MAX_RECIPIENTS)
    throw new RangeError(`a mail has ${MAX_RECIPIENTS} recipients at most, not ${recipients.length}`);
  const isTooLong = [relay, mailFrom, user, password, ...recipients].some((one) => one.length > MAX_NAME_BYTES);
  if (isTooLong || bytesOf(data).length > MAX_SENT_BYTES)
    throw new RangeError("a mail has 64 MiB at most, and an address or a relay 64 KiB");
  return frame.u32(0).u32(Math.min(milliseconds(timeout), 0xffffffff)).i32(numberOf(TLS, tls, "way of TLS"))
    .text(relay).text(user).text(password).text(mailFrom).text(data).texts(recipients);
}

const REFUSALS = {
  [Kind.SIGN]: { 1: ["unknown", "the host has no secret %"] },
  [Kind.SIGNATURE]: { 1: ["unknown", "the host has no secret %"],
                      2: ["wrong_key", "the secret % is no private key of this algorithm"] },
  [Kind.SECRET]: { 1: ["unknown", "the host has no secret %"],
                   2: ["not_allowed", "the secret % is not listed under `secrets` in the sender's settings"] },
  [Kind.RENDER]: { 1: ["unknown", "the registry has no template %"],
                   2: ["malformed", "the template % or its data is malformed"] },
  [Kind.RENDER_TEXT]: { 2: ["malformed", "the template % or its data is malformed"] },
  [Kind.LINK]: { 1: ["unavailable", "the host has no key to sign links with"],
                 2: ["invalid", "% is no object that can be linked, or not for so long"] },
};

export class Host {
  #guest;
  #call;

  constructor(guest, call) {
    this.#guest = guest;
    this.#call = call;
  }

  get settings() {
    return this.#guest.settings;
  }

  get isCancelled() {
    return this.#call.isCancelled;
  }

  async fetch(method, url, options = {}) {
    return await this.#call.request(Kind.FETCH, Kind.ABORT_FETCH, (frame) => writeRequest(frame, method, url, options),
                                    (body) => new Answer(body), options.signal);
  }

  async submit(relay, mailFrom, recipients, data, options = {}) {
    const addresses = [...recipients];
    return await this.#call.request(Kind.SUBMIT, Kind.ABORT_SUBMISSION,
                                    (frame) => writeMail(frame, relay, mailFrom, addresses, data, options),
                                    (body) => new Reply(body, addresses), options.signal);
  }

  async sleep(seconds, options = {}) {
    await this.#call.sleep(seconds, options.signal);
  }

  unixSeconds() {
    return this.#guest.unixSeconds();
  }

  sign(secret, ...parts) {
    return this.#ask(Kind.SIGN, secret, this.#asking(Kind.SIGN).text(words(secret)).texts(signed(parts)));
  }

  signature(algorithm, secret, ...parts) {
    const question = this.#asking(Kind.SIGNATURE).i32(numberOf(ALGORITHMS, algorithm, "algorithm"));
    return this.#ask(Kind.SIGNATURE, secret, question.text(words(secret)).texts(signed(parts)))[0];
  }

  secret(name) {
    return this.#ask(Kind.SECRET, name, this.#asking(Kind.SECRET).text(words(name))).map(String);
  }

  render(template, data) {
    const said = this.#ask(Kind.RENDER, template, new Frame(Kind.RENDER).text(template).text(writeJson(data))).map(String);
    return Object.fromEntries(said.flatMap((name, i) => (i % 2 === 0 ? [[name, said[i + 1]]] : [])));
  }

  renderText(template, data) {
    return String(this.#ask(Kind.RENDER_TEXT, template, new Frame(Kind.RENDER_TEXT).text(template).text(writeJson(data)))[1]);
  }

  link(object, seconds) {
    return String(this.#ask(Kind.LINK, object, new Frame(Kind.LINK).text(object).i64(Math.trunc(seconds)))[0]);
  }

  hasOauth2Client(client) {
    return this.#guest.ask(new Frame(Kind.FIND_CLIENT).text(words(client)).bytes())[0] === 0;
  }

  forgetOauth2Token(client) {
    this.#guest.ask(new Frame(Kind.FORGET_TOKEN).text(words(client)).bytes());
  }

  log(message, { level = "info", ...fields } = {}) {
    const number = numberOf(LEVELS, level, "level");
    const pairs = Object.entries(fields).slice(0, MAX_LOG_FIELDS).map(([name, value]) => [words(name), words(value)]);
    if (this.#call.isOver) return;
    this.#guest.put(new Frame(Kind.LOG).u64(this.#call.number).i32(number).text(words(message)).pairs(pairs).bytes());
    this.#guest.sendNow();  // heard also if the code behind it does not come back
  }

  count(name, by = 1) {
    return this.#guest.count(words(name), by);
  }

  report(failure) {
    this.#call.report(failure);
  }

  nextPage(name) {
    this.#call.report(new NextPage(name));
  }

  #asking(kind) {
    return new Frame(kind).u64(this.#call.isOver ? 0 : this.#call.number);
  }

  #ask(kind, about, question) {
    const [status, values] = this.#guest.ask(question.bytes());
    if (status === 0) return values;
    const [word, message] = REFUSALS[kind][status] ?? ["no_answer", "the host cannot answer about %"];
    throw new HostError(word, message.replace("%", () => JSON.stringify(about)));
  }
}

function signed(parts) {
  if (parts.length > MAX_PARTS) throw new RangeError(`${MAX_PARTS} parts at most are signed, not ${parts.length}`);
  return parts;
}

// ---- calls ----

/** One call of the host's: its function, and what it has asked for. */
class Call {
  isCancelled = false;
  isOver = false;  // nothing more is said for it
  #guest;
  #role;
  #function;
  #job;
  #hasAsked = false;  // the host was handed a request
  #requests = new Map();  // by id: the kind that aborts it, and how its promise is rejected
  #timers = new Map();  // by id: how its promise is rejected
  #grace = 0;  // the timer that ends it after a cancel

  constructor(guest, number, role, takes, job) {
    this.number = number;
    this.#guest = guest;
    this.#role = role;
    this.#function = takes;
    this.#job = job;
  }

  async begin() {
    let message;
    try {
      message = this.#checked(await this.#attempt()).message(this.number);
    } catch (error) {
      if (this.isOver && error instanceof Ended) return;
      message = this.#endOf(error).message(this.number);
    }
    this.#complete(message);
  }

  #attempt() {
    if (this.#function === undefined) throw new Error(`the plugin has no function for ${this.#role}`);
    const said = this.#function(this.#job, new Host(this.#guest, this));
    return typeof said?.next === "function" ? this.#list(said) : said;
  }

  async #list(items) {
    for await (const item of items) {
      if (item instanceof Outcome) return item;
      this.report(item);
    }
    return accepted();
  }

  #checked(said) {
    if (said instanceof Outcome) return said;
    return this.#failed(`the ${this.#role} function returned ${typeOf(said)} in place of an outcome: return ` +
                        "waybill.accepted(), rejected(), transient(), deferred() or judge()");
  }

  #endOf(error) {
    if (error instanceof Cancelled) return transient("cancelled", { reach: this.#reach() });
    tell(error);
    return this.#failed(wordsOf(error));
  }

  #failed(detail) {
    return transient("plugin_error", { reach: this.#reach(), detail });
  }

  #reach() {
    return this.#hasAsked || this.#guest.sendsItself() ? "maybe_sent" : "not_sent";
  }

  #complete(message) {
    if (this.isOver) return;
    this.#guest.put(message);
    this.end();
  }

  /** The host wants it to end: what it waits for ends, and CANCEL_GRACE later so does the call. */
  cancel() {
    if (this.isCancelled) return;
    this.isCancelled = true;
    for (const [id, { abort }] of this.#requests) this.#guest.put(new Frame(abort).u64(id).bytes());
    for (const [id, reject] of [...this.#timers]) {
      this.#dropTimer(id);
      reject(new Cancelled("the host cancelled the call"));
    }
    this.#grace = this.#guest.nextId();
    this.#guest.waiting.set(this.#grace, () => this.#losePatience());
    this.#putTimer(this.#grace, CANCEL_GRACE);
  }

  #losePatience() {
    const outcome = transient("cancelled", { reach: this.#reach(), detail: "its code went on after the cancel" });
    this.#complete(outcome.message(this.number));
  }

  /** The call is over: what its code still waits for is rejected. */
  end() {
    this.isOver = true;
    this.#guest.forget(this.number, [...this.#requests.keys(), ...this.#timers.keys(), this.#grace]);
    for (const { reject } of this.#requests.values()) reject(new Ended("the call is over"));
    for (const reject of this.#timers.values()) reject(new Ended("the call is over"));
  }

  /** Lists a Failure or names a NextPage. */
  report(item) {
    if (!(item instanceof Failure || item instanceof NextPage))
      throw new TypeError(`the failures function gave ${typeOf(item)}: yield Failure, NextPage or an outcome`);
    if (this.isOver) throw new Ended("the call is over");
    if (item instanceof NextPage) {
      this.#guest.put(new Frame(Kind.NEXT_PAGE).u64(this.number).text(words(item.name)).bytes());
      return;
    }
    const frame = new Frame(Kind.FAILURE).u64(this.number).i64(Math.trunc(item.failedAt));
    for (const text of [item.providerRef, item.idempotencyKey, item.reason, item.detail]) frame.text(words(text));
    this.#guest.put(frame.bytes());
  }

  /** Asks for a fetch or a submission, and gives `read` of what the host says. */
  async request(kind, abort, write, read, signal) {
    if (this.isOver || this.isCancelled) {
      await this.#beTooLate();
      return read(cancelledAnswer(kind));
    }
    if (this.#requests.size >= MAX_REQUESTS)
      throw new RangeError(`a call has ${MAX_REQUESTS} open requests at most: wait for some of them`);
    const id = this.#guest.nextId();
    const message = write(new Frame(kind).u64(this.number).u64(id)).bytes();
    this.#hasAsked = true;
    const giveUp = () => this.#requests.has(id) && this.#guest.put(new Frame(abort).u64(id).bytes());
    try {
      return await new Promise((resolve, reject) => {
        this.#requests.set(id, { abort, reject });
        this.#guest.waiting.set(id, (body) => {
          this.#requests.delete(id);
          resolve(read(body));
        });
        this.#guest.put(message);
        whenAborted(signal, giveUp);
      });
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  async sleep(seconds, signal) {
    if (this.isOver || this.isCancelled) {
      await this.#beTooLate();
      throw new Cancelled("the host cancelled the call");
    }
    if (this.#timers.size >= MAX_TIMERS) throw new RangeError(`a call has ${MAX_TIMERS} timers at most`);
    const id = this.#guest.nextId();
    let giveUp;
    try {
      await new Promise((resolve, reject) => {
        this.#putTimer(id, seconds);
        this.#timers.set(id, reject);
        this.#guest.waiting.set(id, () => {
          this.#timers.delete(id);
          resolve();
        });
        giveUp = () => {
          if (!this.#timers.has(id)) return;
          this.#dropTimer(id);
          reject(signal.reason);
        };
        whenAborted(signal, giveUp);
      });
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  #putTimer(id, seconds) {
    this.#guest.put(new Frame(Kind.TIMER).u64(this.number).u64(id).i64(milliseconds(seconds)).bytes());
  }

  #dropTimer(id) {
    this.#guest.put(new Frame(Kind.CANCEL_TIMER).u64(id).bytes());
    this.#guest.waiting.delete(id);
    this.#timers.delete(id);
  }

  /** Lets others run, so that code that tries for ever does not keep them from it. Ended: the call is over. */
  async #beTooLate() {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.isOver) throw new Ended("the call is over");
  }
}

function whenAborted(signal, act) {
  if (signal?.aborted) act();
  else signal?.addEventListener("abort", act);
}

/** What the host would say to a request of a call that it cancelled. */
function cancelledAnswer(kind) {
  const frame = new Frame(kind).u64(0).i32(ERRORS.get("cancelled")).i32(REACHES.get("not_sent"));
  if (kind === Kind.FETCH) frame.i32(0).u32(0).i64(-1);
  else frame.i32(STAGES.get("none")).i32(0);
  return frame.text("").text("the host cancelled the call").u32(0).bytes().subarray(HEAD_BYTES);
}

/** The type and text of what was thrown, in one line. */
function wordsOf(error) {
  try {
    const said = error instanceof Error ? oneLine(String(error.message)) : oneLine(String(error));
    const name = error instanceof Error ? String(error.name) : typeOf(error);
    return (said ? `${name}: ${said}` : name).slice(0, MAX_ERROR_CHARACTERS);
  } catch {  // a toString of the plugin's own
    return "an error that cannot say what it is";
  }
}

/** Writes a line, or an error with its stack, to the standard error, if that can be written to. */
function tell(what) {
  try {
    writeSync(2, `${what?.stack ?? what}\n`);
  } catch {  // closed, or full
  }
}

// ---- the plugin: its functions, and what plugin.json says of it ----

/** What a plugin.json says of its actions, by their types. Error: what is wrong and, in a second line, what would help. */
export function readActions(path) {
  let text;
  try {
    text = readFileSync(path);
  } catch (error) {
    throw new Error(`plugin.json cannot be read: ${error.code}\nput it beside the program`);
  }
  try {
    return new Map(readJson(text).actions.map((action) => [typeIn(action), { type: action.type, reasons: reasonsIn(action) }]));
  } catch (error) {
    throw new Error(`plugin.json cannot be understood: ${wordsOf(error)}\nwrite it as docs/plugins-typescript.md shows`);
  }
}

function typeIn(action) {
  if (typeof action.type !== "string") throw new TypeError("an action has no type");
  return action.type;
}

function reasonsIn(action) {
  return new Set((action.reasons ?? []).map((one) => one.name ?? one));
}

const FUNCTION_NAMES = { check_settings: "checkSettings", check_destination: "checkDestination" };
const nameOf = (role, type) => `waybill.${FUNCTION_NAMES[role] ?? role}("${type}")`;

/** The functions of a plugin, by action type and role. */
export class Plugin {
  #functions = new Map();  // of [type, role, function], by type and role

  take(role, type, takes) {
    if (typeof type !== "string") throw new TypeError(`name the action type: ${nameOf(role, "my_destination")}`);
    if (typeof takes !== "function") throw new TypeError(`${nameOf(role, type)} is given no function`);
    if (this.find(type, role) !== undefined) throw new Error(`there are two functions of ${nameOf(role, type)}`);
    this.#functions.set(`${type} ${role}`, [type, role, takes]);
    return takes;
  }

  find(type, role) {
    return this.#functions.get(`${type} ${role}`)?.[2];
  }

  /** Why the functions do not fit plugin.json, and in a second line what would help. Empty: they do. */
  fault(actions) {
    const functions = [...this.#functions.values()];
    for (const [type, role] of functions)
      if (!actions.has(type))
        return `${nameOf(role, type)} names no action type of plugin.json\n${didYouMean(type, [...actions.keys()])}`;
    for (const type of actions.keys())
      if (this.find(type, "sender") === undefined)
        return `plugin.json lists the action type "${type}", and no function sends it\n` +
          `write waybill.sender("${type}", async (job, host) => { ... })`;
    return functions.map((one) => faultInFunction(...one)).find(Boolean) ?? "";
  }
}

function faultInFunction(type, role, takes) {
  const kind = takes.constructor.name, name = `the function of ${nameOf(role, type)}`;
  if (!ROLES.includes(role))
    return kind.startsWith("Async") ? `${name} is async, and a check asks nobody\nwrite it without async` : "";
  if (role !== "failures" && kind.endsWith("GeneratorFunction"))
    return `${name} yields\nreturn one outcome, such as waybill.accepted()`;
  return "";
}

function didYouMean(word, known) {
  const near = known.map((one) => [one, distance(word, one)]).sort((a, b) => a[1] - b[1])[0];
  const isNear = near !== undefined && near[1] * 3 <= word.length;
  return isNear ? `did you mean "${near[0]}"?` : 'list it under "actions" there';
}

/** How many letters must be put in, left out or changed to make one word the other. */
function distance(from, to) {
  let row = [...Array(to.length + 1).keys()];
  for (const letter of from) {
    const next = [row[0] + 1];
    for (let i = 1; i < row.length; ++i)
      next.push(Math.min(next[i - 1] + 1, row[i] + 1, row[i - 1] + (to[i - 1] === letter ? 0 : 1)));
    row = next;
  }
  return row.at(-1);
}

export const thePlugin = new Plugin();  // of this process

export const sender = (type, takes) => thePlugin.take("sender", type, takes);
export const compose = (type, takes) => thePlugin.take("compose", type, takes);
export const status = (type, takes) => thePlugin.take("status", type, takes);
export const probe = (type, takes) => thePlugin.take("probe", type, takes);
export const failures = (type, takes) => thePlugin.take("failures", type, takes);
export const checkSettings = (type, takes) => thePlugin.take("check_settings", type, takes);
export const checkDestination = (type, takes) => thePlugin.take("check_destination", type, takes);

/** What a check says of JSON, as pairs of a JSON pointer and a message. */
function problemsOf(check, data) {
  try {
    const problems = [];
    for (const [path, message] of check(readJson(data)) ?? []) {
      problems.push([words(path), words(message)]);
      if (problems.length === MAX_PROBLEMS) break;
    }
    return problems;
  } catch (error) {
    tell(error);
    return [["", `the plugin failed while it checked this: ${wordsOf(error)}`]];
  }
}

// ---- the process ----

/**
 * A plugin in the host's service: what the host says becomes calls of functions.
 *
 * `put` sends a frame soon, sendNow() all that was put. `ask` sends a question, a frame, and gives [status, values]. `inside`
 * is told whose code runs. `sendsItself` tells whether the plugin can have sent something without the host.
 */
export class Guest {
  settings = {};
  waiting = new Map();  // what takes what the host says of a request or a timer, by its id
  settles = [];  // the numbers of those who asked for `settled`
  #plugin;
  #actions;
  #action;
  #calls = new Map();
  #lastId = 0;
  #counted = new Set();
  #handlers = new Map([
    [Kind.WELCOME, (read) => this.#greet(read)], [Kind.CHECK, (read) => this.#check(read)],
    [Kind.CREATE, (read) => this.#create(read)], [Kind.BEGIN, (read, body) => this.#begin(read, body)],
    [Kind.CANCEL, (read) => this.#calls.get(read.u64())?.cancel()], [Kind.END, (read) => this.#calls.get(read.u64())?.end()],
    [Kind.RESPONSE, (read, body) => this.#give(read, body)], [Kind.REPLY, (read, body) => this.#give(read, body)],
    [Kind.FIRE, (read, body) => this.#give(read, body)], [Kind.DESTROY, () => this.#destroy()],
    [Kind.SETTLE, (read) => this.settles.push(read.u64())],
    [Kind.PING, (read) => this.put(new Frame(Kind.PONG).u64(read.u64()).bytes())],
  ]);

  constructor({ plugin, actions, put, sendNow, ask, inside, sendsItself, unixSeconds }) {
    Object.assign(this, { put, sendNow, ask, inside, sendsItself, unixSeconds });
    this.#plugin = plugin;
    this.#actions = actions;
  }

  /** Does what the host says. Kinds that it does not know are a newer host's. Malformed: it cannot be read. */
  take(kind, body) {
    this.#handlers.get(kind)?.(new Reader(body), body);
  }

  nextId() {
    return ++this.#lastId;
  }

  forget(call, ids) {
    this.#calls.delete(call);
    for (const id of ids) this.waiting.delete(id);
  }

  /** The first of a name is a question, so that a bad one is told. */
  count(name, by) {
    if (this.#counted.has(name)) {
      this.put(new Frame(Kind.COUNT).text(name).u64(by).bytes());
      return true;
    }
    const isGood = this.ask(new Frame(Kind.COUNT_FIRST).text(name).u64(by).bytes())[0] === 0;
    if (isGood) this.#counted.add(name);
    return isGood;
  }

  #greet(read) {
    const major = read.u32();
    const refusal = major === PROTOCOL_MAJOR ? this.#plugin.fault(this.#actions)
      : `its kit speaks version ${PROTOCOL_MAJOR} of the protocol, and this host version ${major}\n` +
        "copy waybill_plugin.mjs of this host's release into the plugin's folder";
    this.put(hello(refusal));
  }

  #check(read) {
    const role = read.u32() === 1 ? "check_settings" : "check_destination";
    const check = this.#plugin.find(read.string(), role);
    const data = read.bytes();
    this.inside.enter(0);
    const problems = check === undefined ? [] : problemsOf(check, data);
    this.inside.leave();
    this.put(new Frame(Kind.CHECKED).u32(problems.length).pairs(problems).bytes());
  }

  #create(read) {
    const action = this.#actions.get(read.string());
    const settings = read.bytes();
    const refuse = (why) => this.put(new Frame(Kind.CREATED).u32(0).u32(0).pairs([["", why]]).bytes());
    if (action === undefined) return refuse("it sends no such action type");
    if (this.#action !== undefined) return refuse("it has a sender already");
    try {
      this.settings = settings.length === 0 ? {} : readJson(settings);
    } catch (error) {
      return refuse(`its settings are no JSON: ${error.message}`);
    }
    this.#action = action;
    let abilities = 0;
    for (const [role, bit] of ABILITIES) if (this.#plugin.find(action.type, role) !== undefined) abilities |= bit;
    this.put(new Frame(Kind.CREATED).u32(1).u32(abilities).u32(0).bytes());
  }

  #begin(read, body) {
    const number = read.u64(), asked = read.u32();
    const job = new Job(read, body);
    if (this.#action === undefined) return this.inside.begin(undefined);
    const role = ROLES[asked] ?? "what this host asks";
    const call = new Call(this, number, role, this.#plugin.find(this.#action.type, role), job);
    this.#calls.set(number, call);
    this.inside.begin(number);
    call.begin();
  }

  #give(read, body) {
    const id = read.u64();
    const take = this.waiting.get(id);
    this.waiting.delete(id);
    take?.(body);
  }

  #destroy() {
    for (const call of [...this.#calls.values()]) call.end();
    this.#action = undefined;
    this.settings = {};
    this.#counted.clear();
  }
}

/**
 * The first message: `refusal` says why the plugin cannot be used and, in a second line, what would help. The last number: it
 * can be told `create` once more after `destroy`.
 */
function hello(refusal) {
  return new Frame(Kind.HELLO).u32(PROTOCOL_MAJOR).u32(PROTOCOL_MINOR).text("").text(words(refusal)).u32(1).bytes();
}

/** Three numbers that the host reads. They are written, not mapped: the page is a file in memory, so the host sees the same. */
class Page {
  #numbers = new BigUint64Array(3);  // the call whose code runs, since when (0: none runs), how many begins were taken up
  #bytes = new Uint8Array(this.#numbers.buffer);

  constructor() {
    try {
      writeSync(PAGE, this.#bytes, 0, 24, 0);
    } catch (error) {
      throw new Error(`the page cannot be written to: ${error.code}\nuse the kit of this host's release`);
    }
  }

  takeUp() {
    ++this.#numbers[2];  // seen with what is written next
  }

  /** The host must see the call before the time. One write does: it copies upwards, and the call comes first. */
  enter(call) {
    this.#numbers[0] = BigInt(call);
    this.#numbers[1] = process.hrtime.bigint();
    writeSync(PAGE, this.#bytes, 0, 24, 0);
  }

  leave() {
    this.#numbers[1] = 0n;
    writeSync(PAGE, this.#bytes, 8, 16, 8);
  }
}

const CALL = Symbol("call");

/**
 * Knows whose code runs, and writes it on the page. What a call's code begins to wait for, be it a promise, a timer or a file,
 * is the call's, and so is the code that runs when it has come. So of two calls that wait for one promise, each is named while
 * its own code runs. `call` is a number; 0: a check; undefined: no code of the plugin's.
 */
class Inside {
  #page;
  #beforeEntry;
  #call;

  /** `beforeEntry` runs before code of another call does. */
  constructor(page, beforeEntry) {
    this.#page = page;
    this.#beforeEntry = beforeEntry;
    const init = (_id, _type, _trigger, resource) => {
      if (this.#call !== undefined) resource[CALL] = this.#call;
    };
    createHook({ init, before: () => this.enter(executionAsyncResource()[CALL]) }).enable();
  }

  begin(call) {
    this.leave();
    this.#page.takeUp();
    if (call === undefined) this.#page.leave();
    this.enter(call);
  }

  enter(call) {
    if (call === this.#call) return;
    if (this.#call !== undefined) this.#page.leave();
    this.#call = undefined;
    if (call === undefined) return;
    this.#beforeEntry();
    this.#page.enter(call);
    this.#call = call;
  }

  leave() {
    this.enter(undefined);
  }
}

const nobodyWakesIt = new Int32Array(new SharedArrayBuffer(4));

function pauseForAMillisecond() {
  Atomics.wait(nobodyWakesIt, 0, 0, 1);
}

/** What `act`, a system call, returns; undefined: it would have to wait. */
function atOnce(act) {
  try {
    return act();
  } catch (error) {
    if (error.code === "EAGAIN") return undefined;
    if (error.code === "EPIPE" || error.code === "ECONNRESET") leave(EXIT_HOST_IS_GONE);
    throw error;
  }
}

/** Messages both ways. */
class Stream {
  static #READ_AT_ONCE = 64 << 10;
  static #SEND_AT_ONCE = 256 << 10;
  #frames = new Frames();
  #take;
  #put = [];
  #left = NO_BYTES;  // of what was begun to be sent
  #room = Buffer.allocUnsafe(Stream.#READ_AT_ONCE);

  /** `take` is given what came, a list of [kind, body]. */
  constructor(take) {
    this.#take = take;
    const callback = (size, buffer) => this.#hear(buffer.subarray(0, size));
    new Socket({ fd: STREAM, readable: true, writable: false, onread: { buffer: this.#room, callback } })
      .on("error", () => leave(EXIT_HOST_IS_GONE)).on("end", () => leave(EXIT_HOST_IS_GONE));
  }

  put(message) {
    this.#put.push(message);
  }

  /** False: the host does not read now, and something is left. */
  sendNow() {
    for (;;) {
      if (this.#left.length === 0) {
        if (this.#put.length === 0) return true;
        this.#left = this.#nextBytes();
      }
      const sent = atOnce(() => writeSync(STREAM, this.#left));
      if (sent === undefined) return false;
      this.#left = this.#left.subarray(sent);
    }
  }

  /** Waits until all is gone. */
  flush() {
    while (!this.sendNow()) this.#readOrPause();
  }

  /** A host that does not read may itself wait until this process does. */
  #readOrPause() {
    const size = atOnce(() => readSync(STREAM, this.#room));
    if (size === undefined) return pauseForAMillisecond();
    if (size === 0) leave(EXIT_HOST_IS_GONE);
    this.#hear(this.#room.subarray(0, size));
  }

  #hear(data) {
    orLeave(() => this.#take(this.#frames.cut(Buffer.from(data))));
    return true;
  }

  #nextBytes() {
    let count = 0;
    for (let size = 0; count < this.#put.length && size < Stream.#SEND_AT_ONCE; ++count) size += this.#put[count].length;
    const messages = this.#put.splice(0, count);
    return count === 1 ? messages[0] : Buffer.concat(messages);
  }
}

/** [status, values] of the host, which is asked one question at a time and waited for. */
function askHost(question) {
  for (let at = 0; at < question.length;) {
    const sent = atOnce(() => writeSync(QUESTIONS, question, at));
    if (sent === undefined) pauseForAMillisecond();
    else at += sent;
  }
  return orLeave(() => {
    const read = new Reader(readAnswer(new Frames()));
    return [read.i32(), read.texts()];
  });
}

function readAnswer(frames) {
  for (;;) {
    const room = Buffer.allocUnsafe(4096);
    const size = atOnce(() => readSync(QUESTIONS, room));
    if (size === 0) leave(EXIT_HOST_IS_GONE);
    if (size === undefined) pauseForAMillisecond();
    for (const [kind, body] of frames.cut(room.subarray(0, size ?? 0))) {
      if (kind !== Kind.ANSWER) throw new Malformed(`message ${kind} is no answer`);
      return body;
    }
  }
}

/** What `act` returns. What it throws ends the process. */
function orLeave(act) {
  try {
    return act();
  } catch (error) {
    tell(error instanceof Malformed ? `what the host said cannot be read: ${error.message}` : error);
    return leave(EXIT_MALFORMED);
  }
}

function leave(code) {
  process.exit(code);
}

/**
 * Serves the host, in turns of the loop. Each message has a turn of its own, so that the code that it wakes has run before the
 * next is taken. What was put leaves when all turns are over, and before code of another call runs: one that does not come back
 * holds up nobody's but its own.
 */
class Service {
  #guest;
  #stream;
  #messages = [];
  #next = 0;
  #isEndDue = false;
  #looksAgain;

  constructor(actions) {
    const page = new Page();
    this.#stream = new Stream((messages) => this.#arrive(messages));
    const inside = new Inside(page, () => {
      this.#stream.flush();
      this.#endSoon();
    });
    const put = (message) => {
      this.#stream.put(message);
      this.#endSoon();
    };
    const sendNow = () => this.#stream.sendNow();
    const ask = (question) => {
      sendNow();  // an answer may take its time
      return askHost(question);
    };
    this.#guest = new Guest({ plugin: thePlugin, actions, put, sendNow, ask, inside, sendsItself: hasNetwork,
                              unixSeconds: () => Date.now() / 1000 });
  }

  #arrive(messages) {
    for (const message of messages) {
      this.#messages.push(message);
      setImmediate(() => this.#turn());
    }
    this.#endSoon();
  }

  #turn() {
    this.#endSoon();
    const message = this.#messages[this.#next++];
    if (this.#next === this.#messages.length) {
      this.#messages = [];
      this.#next = 0;
    }
    orLeave(() => this.#guest.take(...message));
  }

  /** It is due whenever code of a call runs, so that it is nobody's. */
  #endSoon() {
    if (this.#isEndDue) return;
    this.#isEndDue = true;
    setImmediate(() => this.#end());
  }

  /** Nothing more is to be done now, or so it seems: who asked for that is told when it is so. */
  #end() {
    this.#isEndDue = false;
    if (this.#guest.settles.length > 0 && countBusy() > 0) {
      this.#looksAgain ??= setTimeout(() => {
        this.#looksAgain = undefined;
        this.#endSoon();
      }, 1);
    } else {
      for (const id of this.#guest.settles.splice(0)) this.#stream.put(new Frame(Kind.SETTLED).u64(id).bytes());
    }
    this.#stream.flush();
  }
}

/** How much of what this process began goes on without the loop's being asked to wait: setImmediate(), files, names of hosts. */
export function countBusy() {
  return process.getActiveResourcesInfo().filter((name) => name === "Immediate" || name.includes("Req")).length;
}

/** Whether this process may open sockets of its own. Only with `network: true` in its isolation may a plugin. */
function hasNetwork() {
  let mayOpen = true;
  const socket = createSocket({ type: "udp4", lookup: (address, _family, done) => done(null, address, 4) });
  socket.on("error", (error) => {
    mayOpen = error.code !== "EACCES";
  });
  socket.bind({ address: "127.0.0.1", port: 0, exclusive: true });
  socket.close();
  return mayOpen;
}

function isStartedByAHost() {
  try {
    return [STREAM, QUESTIONS].every((descriptor) => fstatSync(descriptor).isSocket()) && fstatSync(PAGE).isFile();
  } catch {
    return false;
  }
}

export function run(moduleUrl) {
  if (typeof moduleUrl !== "string") throw new TypeError("say waybill.run(import.meta.url)");
  const [, program] = process.argv;
  if (program === undefined || realpathSync(program) !== fileURLToPath(moduleUrl)) return;
  if (!isStartedByAHost()) {
    tell("Waybill's host starts this program. To try it: node --test, or waybill plugin check FOLDER");
    process.exit(EXIT_STARTED_BY_HAND);
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});  // the host's: it ends this process itself
  process.on("uncaughtException", tell);  // of a callback: the call that waits for it is cancelled at its deadline
  process.on("unhandledRejection", (error) => error instanceof Ended || error instanceof Cancelled || tell(error));
  try {
    new Service(readActions("plugin.json"));
  } catch (error) {
    writeSync(STREAM, hello(error.message));
    leave(EXIT_HOST_IS_GONE);
  }
}

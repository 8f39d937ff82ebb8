/**
 * A host for the unit tests of a Waybill plugin in TypeScript or JavaScript: its network is scripted, and its clock goes only where
 * nothing else is left to do.
 *
 *     import "./sender.mjs"; // the plugin, which says what it has
 *     import { FakeHost } from "./waybill_testing.mjs";
 *
 *     const host = new FakeHost({ secrets: { my_key: "value" } });
 *     host.answer(201, { json: { id: "7" } });
 *     const outcome = await host.send("my_destination", { destination: { url: "https://api.test" }, payload: { text: "Hello" } });
 *     assert.equal(outcome.verdict, "accepted");
 *     assert.deepEqual(host.requests[0].json(), { text: "Hello" });
 *
 * It speaks the protocol of docs/plugin-protocol.md with the kit, without a process of its own and without sockets. What a host would
 * refuse or complain of throws AssertionError. Times are in seconds.
 */
import { AssertionError } from "node:assert";
import { createHash, createHmac } from "node:crypto";
import { fileURLToPath } from "node:url";
import {
  bytesOf, countBusy, ERRORS, Failure, Frame, Frames, Guest, JOB_TEXTS, Kind, LEVELS, milliseconds, numberOf, Outcome, REACHES, ROLES,
  readActions, Reader, readJson, SCOPES, STAGES, thePlugin, TLS, VERDICTS, wordOf, writeJson,
} from "./waybill_plugin.mjs";

const DEFAULT_RESPONSE_BYTES = 4096;
const MAX_LINK_SECONDS = 7 * 24 * 3600;
const MAX_ARTIFACT_BYTES = 1 << 20;
const MAX_PAGES = 1000;
const GRACE = 1;  // from the cancel at a call's deadline to its end

const NOT_SENT_ERRORS = ["refused", "resolve", "connect", "tls"];
const WORD = /^[a-z0-9_]{1,64}$/;
const SECRET = /\{(secret):([^{}]*)\}/g, SECRET_OR_TOKEN = /\{(secret|oauth2):([^{}]*)\}/g;
const FORMS = [(value) => value, (value) => JSON.stringify(value).slice(1, -1), encodeURIComponent];

function complain(message) {
  throw new AssertionError({ message });
}

/** By name, in any case. */
class Headers {
  #values = new Map();

  constructor(pairs) {
    for (const [name, value] of pairs) if (!this.has(name)) this.#values.set(name.toLowerCase(), value);
  }

  get(name) {
    return this.#values.get(name.toLowerCase());
  }

  has(name) {
    return this.#values.has(name.toLowerCase());
  }
}

class Request {
  filledUrl = null;
  filledHeaders = null;
  filledBody = null;
  isAborted = false;

  constructor(read) {
    this.timeout = read.u32() / 1000;
    this.maxResponseBytes = read.u32();
    this.method = read.string();
    this.url = read.string();
    this.body = read.bytes();
    for (const name of ["basicUser", "basicPassword", "sigv4Region", "sigv4Service", "sigv4KeyId", "sigv4SecretKey"])
      this[name] = read.string();
    this.headerList = read.pairs();
    this.headers = new Headers(this.headerList);
    this.bodySecrets = Array.from({ length: read.count(16) }, () => ({ offset: read.u64(), name: read.string(), form: read.i32() }));
  }

  json() {
    return readJson(this.body);
  }
}

class Mail {
  isAborted = false;

  constructor(read) {
    read.u32();  // whether it is too long, which the kit refuses itself
    this.timeout = read.u32() / 1000;
    this.tls = wordOf(TLS, read.i32());
    this.relay = read.string();
    this.user = read.string();
    this.password = read.string();
    this.mailFrom = read.string();
    this.data = read.bytes();
    this.recipients = read.texts().map(String);
  }
}

/** How a request or a mail ends. */
function ending(answer, { error = null, reach, errorText = "as scripted", after = 0, silent = false, ...unknown }) {
  const [word] = Object.keys(unknown);
  if (word !== undefined) throw new TypeError(`an answer has no "${word}"`);
  numberOf(ERRORS, error, "error");
  const usual = error === null && !silent ? "answered" : NOT_SENT_ERRORS.includes(error) ? "not_sent" : "maybe_sent";
  return { ...answer, error, reach: reach ?? usual, errorText, after, silent };
}

function answerOf({ status = 200, body = "", json, headers = {}, retryAfter = null, ...how }) {
  const headerList = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
  const said = new Headers(headerList).get("retry-after");
  return ending({
    status, headerList, body: bytesOf(json === undefined ? body : writeJson(json)),
    retryAfter: retryAfter === null && /^\d+$/.test(said ?? "") ? Number(said) : retryAfter,
  }, how);
}

function mailAnswerOf({ code = 250, text = "2.0.0 Ok", stage = "data", recipients = {}, ...how }) {
  return ending({ code, text, stage, recipients }, how);
}

let waiting = [];  // of all hosts of a process: what each goes on with when nothing is ready to run
let looks = 0;

/** Waits until nothing of this process is ready to run. False: it has been busy for `patience` seconds, of real time. */
async function nothingIsReady(patience) {
  const until = performance.now() + patience * 1000;
  return await new Promise((resolve) => {
    waiting.push({ until, resolve });
    if (waiting.length === 1) setImmediate(look);
  });
}

function look() {
  const now = performance.now();
  const isBusy = countBusy() > 0;
  const stay = waiting.filter((one) => isBusy && now < one.until);
  const go = waiting.filter((one) => !stay.includes(one));
  waiting = stay;
  if (stay.length > 0) ++looks % 100 === 0 ? setTimeout(look, 1) : setImmediate(look);
  for (const one of go) one.resolve(!isBusy);
}

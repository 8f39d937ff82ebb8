/**
 * A host for the unit tests of a Waybill plugin in TypeScript or JavaScript: its network is scripted, and its clock goes only
 * where nothing else is left to do.
 *
 *     import "./sender.mjs"; // the plugin, which says what it has
 *     import { FakeHost } from "./waybill_testing.mjs";
 *
 *     const host = new FakeHost({ secrets: { my_key: "value" } });
 *     host.answer(201, { json: { id: "7" } });
 *     const job = { destination: { url: "https://api.test" }, payload: { text: "Hello" } };
 *     assert.equal((await host.send("my_destination", job)).verdict, "accepted");
 *     assert.deepEqual(host.requests[0].json(), { text: "Hello" });
 *
 * It speaks the protocol of docs/plugin-protocol.md with the kit, without a process of its own and without sockets. What a host
 * would refuse or complain of throws AssertionError. Times are in seconds.
 */
import { AssertionError } from "node:assert";
import { createHash, createHmac } from "node:crypto";
import { fileURLToPath } from "node:url";
import {
  bytesOf, countBusy, ERRORS, expectNames, Failure, Frame, Frames, Guest, JOB_TEXTS, Kind, LEVELS, milliseconds, numberOf,
  Outcome, REACHES, ROLES, readActions, Reader, readJson, SCOPES, STAGES, thePlugin, TLS, VERDICTS, wordOf, writeJson,
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
    this.bodySecrets = Array.from({ length: read.count(16) },
                                  () => ({ offset: read.u64(), name: read.string(), form: read.i32() }));
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

const OF_AN_ENDING = ["error", "reach", "errorText", "after", "silent"];
const OF_AN_ANSWER = ["status", "body", "json", "headers", "retryAfter", ...OF_AN_ENDING];
const OF_A_MAIL_ANSWER = ["code", "text", "stage", "recipients", ...OF_AN_ENDING];
const OF_A_JOB = ["destination", "payload", "idempotencyKey", "attempt", "maybeSentBefore", "deadline", "target", "actionId",
                  "context", "artifact", "artifactType", "providerRef", "progress", "since", "cancelAfter"];
const OF_A_HOST = ["settings", "secrets", "readableSecrets", "oauth2Clients", "templates", "hasLinkKey", "insecure",
                   "unixSeconds", "patience", "plugin", "pluginJson"];

/** How a request or a mail ends. */
function ending(answer, { error = null, reach, errorText = "as scripted", after = 0, silent = false }) {
  numberOf(ERRORS, error, "error");
  const usual = error === null && !silent ? "answered" : NOT_SENT_ERRORS.includes(error) ? "not_sent" : "maybe_sent";
  return { ...answer, error, reach: reach ?? usual, errorText, after, silent };
}

function answerOf(given) {
  expectNames(given, OF_AN_ANSWER, "an answer");
  const { status = 200, body = "", json, headers = {}, retryAfter = null } = given;
  const headerList = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
  const said = new Headers(headerList).get("retry-after");
  return ending({
    status, headerList, body: bytesOf(json === undefined ? body : writeJson(json)),
    retryAfter: retryAfter === null && /^\d+$/.test(said ?? "") ? Number(said) : retryAfter,
  }, given);
}

function mailAnswerOf(given) {
  expectNames(given, OF_A_MAIL_ANSWER, "an answer");
  const { code = 250, text = "2.0.0 Ok", stage = "data", recipients = {} } = given;
  return ending({ code, text, stage, recipients }, given);
}

let waiting = [];  // of all hosts of the process: {until, resolve} of each that waits until nothing is ready to run

/** Waits until nothing of this process is ready to run. False: it has been busy for `patience` seconds, of real time. */
async function nothingIsReady(patience) {
  return await new Promise((resolve) => {
    waiting.push({ until: performance.now() + patience * 1000, resolve });
    if (waiting.length === 1) setImmediate(look);
  });
}

function look() {
  const isBusy = countBusy() > 0, now = performance.now();
  const ready = waiting.filter((one) => !isBusy || now >= one.until);
  waiting = waiting.filter((one) => !ready.includes(one));
  if (waiting.length > 0) setTimeout(look, 1);
  for (const one of ready) one.resolve(!isBusy);
}

export class FakeHost {
  requests = [];
  mails = [];
  sleeps = [];
  logs = [];
  renderings = [];
  counts = {};
  now = 0;
  #terms;
  #secrets;
  #answers = [];
  #mailAnswers = [];
  #answersByUrl = new Map();
  #faults = [];
  #said = [];  // frames of the plugin
  #replies = new Map();  // the last message of each kind that answers something
  #calls = new Map();
  #open = new Map();  // what aborts each request that is not answered, by id; undefined for a timer
  #events = [];
  #lastNumber = 0;
  #action;
  #isBusy = false;
  #plugin;
  #actions;
  #guest;

  constructor(options = {}) {
    expectNames(options, OF_A_HOST, "a FakeHost");
    const { settings = {}, secrets = {}, readableSecrets = [], oauth2Clients = [], templates = {}, hasLinkKey = true,
            insecure = false, unixSeconds = 1_700_000_000, patience = 10, plugin = thePlugin,
            pluginJson = fileURLToPath(new URL("plugin.json", import.meta.url)) } = options;
    this.#terms = { settings, readableSecrets, oauth2Clients, templates, hasLinkKey, insecure, unixSeconds, patience };
    this.#secrets = new Map(Object.entries(secrets).map(([name, value]) => [name, [value].flat()]));
    this.#plugin = plugin;
    try {
      this.#actions = readActions(pluginJson);
    } catch (error) {
      complain(error.message);
    }
    const fault = plugin.fault(this.#actions);
    if (fault) complain(fault);
    const nobodyLooks = { begin() {}, enter() {}, leave() {} };
    this.#guest = new Guest({
      plugin, actions: this.#actions, put: (message) => this.#said.push(message), sendNow() {},
      ask: (question) => this.#answerQuestion(question), inside: nobodyLooks, sendsItself: () => false,
      unixSeconds: () => unixSeconds + this.now,
    });
  }

  // ---- the script ----

  answer(...given) {
    const [first, options = {}] = typeof given[0] === "object" ? [undefined, given[0]] : given;
    const { url, ...how } = options;
    const scripted = typeof first === "function" ? first : answerOf(first === undefined ? how : { status: first, ...how });
    if (url === undefined) this.#answers.push(scripted);
    else this.#answersByUrl.set(url, [...(this.#answersByUrl.get(url) ?? []), scripted]);
  }

  mailAnswer(options = {}) {
    this.#mailAnswers.push(mailAnswerOf(options));
  }

  // ---- what a host asks ----

  async send(type, job = {}) {
    return await this.#alone(async () => {
      this.#create(type);
      if (!this.#has("compose") || job.artifact !== undefined) return (await this.#call("sender", job)).outcome;
      const { outcome } = await this.#call("compose", job);
      if (outcome.verdict !== "accepted") return outcome;
      return (await this.#call("sender", { ...job, artifact: outcome.artifact, artifactType: outcome.artifactType })).outcome;
    });
  }

  async compose(type, job = {}) {
    return (await this.#ability("compose", type, job)).outcome;
  }

  async status(type, job = {}) {
    return (await this.#ability("status", type, job)).outcome;
  }

  async probe(type, job = {}) {
    return (await this.#ability("probe", type, job)).outcome;
  }

  async failures(type, job = {}) {
    const failures = [];
    for (let page = "", pages = 0; pages < MAX_PAGES; ++pages) {
      const call = await this.#ability("failures", type, { ...job, page });
      failures.push(...call.failures);
      page = call.nextPage;
      if (page === "" || call.outcome.verdict !== "accepted") return { failures, outcome: call.outcome };
    }
    return complain(`the list of failures has no end: ${MAX_PAGES} pages`);
  }

  checkSettings(type, settings) {
    return this.#check(1, type, settings);
  }

  checkDestination(type, destination) {
    return this.#check(2, type, destination);
  }

  async #ability(role, type, job) {
    return await this.#alone(async () => {
      this.#create(type);
      if (!this.#has(role)) complain(`the plugin has no ${role} for ${type}`);
      return await this.#call(role, job);
    });
  }

  async #alone(act) {
    if (this.#isBusy) complain("a FakeHost has one call at a time: await the one before");
    this.#isBusy = true;
    try {
      return await act();
    } finally {
      this.#isBusy = false;
    }
  }

  #has(role) {
    return this.#plugin.find(this.#action, role) !== undefined;
  }

  #check(what, type, value) {
    const message = new Frame(Kind.CHECK).u32(what).text(type).text(writeJson(value));
    const first = this.#exchange(message, Kind.CHECKED), second = this.#exchange(message, Kind.CHECKED);
    if (!first.equals(second)) complain("a check must say the same of the same value each time");
    const read = new Reader(first);
    read.u32();
    return read.pairs();
  }

  #create(type) {
    if (this.#action === type) return;
    if (!this.#actions.has(type)) complain(`plugin.json has no action type ${type}`);
    if (this.#action !== undefined) this.#tell(new Frame(Kind.DESTROY));
    this.#action = type;
    this.#exchange(new Frame(Kind.CREATE).text(type).text(writeJson(this.#terms.settings)), Kind.CREATED);
  }

  #tell(message) {
    for (const [kind, body] of new Frames().cut(message.bytes())) this.#guest.take(kind, body);
  }

  #exchange(message, reply) {
    this.#tell(message);
    this.#hear();
    return this.#replies.get(reply);
  }

  async #call(role, job) {
    const { page = "", ...given } = job;
    expectNames(given, OF_A_JOB, "a job");
    const { destination = {}, payload, idempotencyKey = "key-1", attempt = 1, maybeSentBefore = false, deadline = 30,
            target = "target-1", actionId = "1", artifact = "", artifactType = "", providerRef = "", progress, since = 0,
            context = { org: "default", kind: "intent", reference: idempotencyKey }, cancelAfter } = given;
    const number = ++this.#lastNumber;
    const texts = { actionId, target, idempotencyKey, destination: writeJson(destination), payload: jsonOrBytes(payload),
                    context: writeJson(context), artifactType, artifact, providerRef, progress: jsonOrBytes(progress) };
    const call = { role, deadline: this.now + deadline, isCancelled: false, outcome: undefined, failures: [], nextPage: "",
                   payload: Buffer.from(texts.payload) };
    this.#calls.set(number, call);
    const message = new Frame(Kind.BEGIN).u64(number).u32(ROLES.indexOf(role)).u32(attempt).u32(maybeSentBefore ? 1 : 0)
      .i64(milliseconds(deadline));
    for (const name of JOB_TEXTS) message.text(texts[name]);
    this.#tell(message.i64(since).text(page));
    if (cancelAfter !== undefined) this.#at(this.now + cancelAfter, () => this.#cancel(number));
    this.#at(call.deadline, () => this.#cancel(number));
    this.#at(call.deadline + GRACE, () => this.#giveUp(number));
    await this.#run(call);
    this.#calls.delete(number);
    if (call.outcome === undefined) this.#tell(new Frame(Kind.END).u64(number));
    const faults = this.#faults.splice(0);
    if (faults.length > 0) complain(faults.join("\n"));
    return call;
  }

  #cancel(number) {
    const call = this.#calls.get(number);
    if (call === undefined || call.outcome !== undefined) return;
    call.isCancelled = true;
    this.#tell(new Frame(Kind.CANCEL).u64(number));
  }

  #giveUp(number) {
    const call = this.#calls.get(number);
    if (call === undefined || call.outcome !== undefined) return;
    this.#faults.push("the call was not completed by its deadline, nor when it was cancelled");
  }

  // ---- time ----

  #at(due, act) {
    this.#events.push({ due, number: ++this.#lastNumber, act });
    this.#events.sort((a, b) => a.due - b.due || a.number - b.number);
  }

  /** Whenever nothing is ready to run, hears the plugin and makes happen what comes next. */
  async #run(call) {
    for (;;) {
      if (!await nothingIsReady(this.#terms.patience))
        this.#faults.push(`the plugin has been busy for ${this.#terms.patience} seconds`);
      this.#hear();
      if (call.outcome !== undefined || this.#faults.length > 0) return;
      const event = this.#events.shift();
      this.now = Math.max(this.now, event.due);
      event.act();
    }
  }

  // ---- what the plugin says ----

  #hear() {
    const takers = new Map([
      [Kind.FETCH, (read) => this.#fetch(read)], [Kind.SUBMIT, (read) => this.#submit(read)],
      [Kind.ABORT_FETCH, (read) => this.#abort(read)], [Kind.ABORT_SUBMISSION, (read) => this.#abort(read)],
      [Kind.TIMER, (read) => this.#startTimer(read)], [Kind.CANCEL_TIMER, (read) => this.#open.delete(read.u64())],
      [Kind.FAILURE, (read) => this.#fail(read)],
      [Kind.NEXT_PAGE, (read) => {
        this.#calls.get(read.u64()).nextPage = read.string();
      }],
      [Kind.LOG, (read) => this.#log(read)], [Kind.COUNT, (read) => this.#count(read.string(), read.u64())],
      [Kind.COMPLETE, (read, body) => this.#complete(read, body)],
    ]);
    for (const message of this.#said.splice(0)) {
      const [[kind, body]] = new Frames().cut(message);
      if (takers.has(kind)) takers.get(kind)(new Reader(body), body);
      else this.#replies.set(kind, body);
    }
  }

  #fetch(read) {
    const call = this.#calls.get(read.u64()), id = read.u64();
    const request = new Request(read);
    this.requests.push(request);
    const chosen = this.#chooseAnswer(request, call);
    const most = request.maxResponseBytes || DEFAULT_RESPONSE_BYTES;
    this.#beginExchange(call, id, request, chosen, (end) => responseOf(id, end, most));
  }

  #submit(read) {
    const call = this.#calls.get(read.u64()), id = read.u64();
    const mail = new Mail(read);
    this.mails.push(mail);
    this.#beginExchange(call, id, mail, this.#chooseMailAnswer(mail), (end) => replyOf(id, end, mail.recipients));
  }

  #beginExchange(call, id, asked, chosen, encode) {
    const left = call.deadline - this.now;
    const limit = this.now + Math.min(asked.timeout || left, left - Math.min(Math.max(left / 20, 0), 0.1));
    const end = (how) => this.#open.delete(id) && this.#tell(encode(how));
    const { reach } = chosen;
    this.#open.set(id, () => {
      asked.isAborted = true;
      end(ending({}, { error: "cancelled", reach, errorText: "the request was aborted" }));
    });
    if (chosen.silent || this.now + chosen.after > limit)
      this.#at(limit, () => end(ending({}, { error: "timeout", reach, errorText: "no answer came in time" })));
    else
      this.#at(this.now + chosen.after, () => end(chosen));
  }

  #abort(read) {
    const abort = this.#open.get(read.u64());
    if (abort !== undefined) this.#at(this.now, abort);
  }

  #startTimer(read) {
    const call = this.#calls.get(read.u64()), id = read.u64(), seconds = read.i64() / 1000;
    if (!call.isCancelled) this.sleeps.push(seconds);  // after a cancel the timer is the kit's
    this.#open.set(id, undefined);
    this.#at(this.now + seconds, () => this.#open.delete(id) && this.#tell(new Frame(Kind.FIRE).u64(id)));
  }

  #fail(read) {
    const call = this.#calls.get(read.u64()), failedAt = read.i64();
    const [providerRef, idempotencyKey, reason, detail] = Array.from({ length: 4 }, () => read.string());
    this.#expectWords("a failure", providerRef, idempotencyKey, reason, detail);
    call.failures.push(new Failure({ providerRef, idempotencyKey, reason, detail, failedAt }));
  }

  #log(read) {
    read.u64();  // the call
    const level = wordOf(LEVELS, read.i32()), text = read.string(), pairs = read.pairs();
    this.logs.push({ level, text, fields: Object.fromEntries(pairs) });
    this.#expectNoSecret("a log event", text, ...pairs.flat());
  }

  #count(name, by) {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }

  #complete(read, body) {
    const call = this.#calls.get(read.u64());
    if (call === undefined || call.outcome !== undefined) return;
    call.outcome = readOutcome(body);
    this.#open.clear();
    this.#expectGoodOutcome(call);
  }

  // ---- what a host complains of ----

  #expectGoodOutcome({ role, outcome }) {
    const { verdict, reason, artifact } = outcome;
    const isComposed = role === "compose" && verdict === "accepted";
    if (verdict !== "accepted" && !WORD.test(reason))
      this.#faults.push(`the reason "${reason}" is no word of a-z, 0-9 and _: ${outcome}`);
    else if (verdict === "rejected" && !this.#actions.get(this.#action).reasons.has(reason))
      this.#faults.push(`rejected with the reason "${reason}", which plugin.json does not list: ${outcome}`);
    if (artifact.length > 0 && !isComposed)
      this.#faults.push(`an artifact in an outcome that is not of an accepted compose: ${outcome}`);
    if (isComposed && (artifact.length === 0 || artifact.length > MAX_ARTIFACT_BYTES))
      this.#faults.push(`an accepted compose has an artifact of 1 byte to 1 MiB, not ${artifact.length} bytes`);
    this.#expectWords("an outcome", reason, outcome.detail, outcome.providerRef, outcome.artifactType);
    this.#expectNoSecret("an outcome", writeJson(outcome.result));
  }

  #expectWords(what, ...said) {
    for (const one of said)
      if (/[\0-\x1f\x7f]/.test(one)) this.#faults.push(`${what} has more than one line: ${JSON.stringify(one)}`);
    this.#expectNoSecret(what, ...said);
  }

  #expectNoSecret(what, ...said) {
    for (const [name, values] of this.#secrets)
      if (values.some((value) => value && said.some((one) => one.includes(value))))
        this.#faults.push(`${what} gives the secret "${name}" away`);
  }

  // ---- the network ----

  #chooseAnswer(request, call) {
    try {
      this.#fill(request, call);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return ending({}, { error: "refused", errorText: error.message });
    }
    const ofUrl = this.#answersByUrl.get(request.url) ?? [];
    const chosen = (ofUrl.length > 0 ? ofUrl : this.#answers).shift();
    if (chosen === undefined) {
      this.#faults.push(`no answer is scripted for ${request.method} ${request.url}`);
      return ending({}, { error: "connect" });
    }
    return typeof chosen === "function" ? answerOf(chosen(request)) : chosen;
  }

  /** What would leave. Refused: why the host does not send it. */
  #fill(request, call) {
    if (request.body.includes("{secret:") && !call.payload.includes("{secret:"))
      throw new Refused("the body has {secret:, which no host fills in: give it as a list with waybill.Secret");
    const { basicUser, basicPassword, sigv4KeyId, sigv4SecretKey } = request;
    let isSecret = request.bodySecrets.length > 0;
    const valueOf = (_found, kind, name) => {
      isSecret = true;
      return kind === "secret" ? this.#newest(name) : this.#tokenOf(name);
    };
    const url = request.url.replace(SECRET, valueOf);
    const headers = request.headerList.map(([name, value]) => [name, value.replace(SECRET_OR_TOKEN, valueOf)]);
    const named = [basicUser, basicPassword, sigv4KeyId, sigv4SecretKey].filter(Boolean);
    for (const name of named) this.#newest(name);
    isSecret ||= named.length > 0;
    if (isSecret && !request.url.startsWith("https:") && !this.#terms.insecure) throw new Refused("a secret needs https");
    if (basicUser || basicPassword) {
      const login = Buffer.from(`${this.#newest(basicUser)}:${this.#newest(basicPassword)}`);
      headers.push(["Authorization", `Basic ${login.toString("base64")}`]);
    }
    Object.assign(request, { filledUrl: url, filledHeaders: new Headers(headers), filledBody: this.#filledBody(request) });
  }

  #filledBody({ body, bodySecrets }) {
    const pieces = [];
    let last = 0;
    for (const { offset, name, form } of bodySecrets) {
      pieces.push(body.subarray(last, offset), Buffer.from(FORMS[form](this.#newest(name))));
      last = offset;
    }
    return Buffer.concat([...pieces, body.subarray(last)]);
  }

  #newest(name) {
    const [value] = this.#secrets.get(name) ?? [];
    if (value === undefined) throw new Refused(`this host has no secret "${name}"`);
    return value;
  }

  #tokenOf(client) {
    if (!this.#terms.oauth2Clients.includes(client))
      throw new Refused(`a header names the OAuth2 client "${client}", which this host does not have`);
    return `token of ${client}`;
  }

  #chooseMailAnswer(mail) {
    const refuse = (errorText) => ending({}, { error: "refused", errorText });
    if (mail.recipients.length === 0 || !mail.recipients.every((one) => one.includes("@")))
      return refuse("a mail needs recipients, and each an address");
    if (mail.user && !this.#secrets.has(mail.password)) return refuse(`this host has no secret "${mail.password}"`);
    if (/(?<!\r)\n|\r(?!\n)/.test(mail.data.toString("latin1"))) this.#faults.push("a mail has line ends that are not CRLF");
    if (this.#mailAnswers.length > 0) return this.#mailAnswers.shift();
    this.#faults.push(`no answer is scripted for a mail to ${mail.recipients[0]}`);
    return ending({}, { error: "connect" });
  }

  // ---- questions ----

  /** [status, values], as of a host. */
  #answerQuestion(question) {
    const answers = new Map([
      [Kind.SIGN, (read) => this.#sign(read)], [Kind.SIGNATURE, (read) => this.#signature(read)],
      [Kind.SECRET, (read) => this.#secret(read)], [Kind.RENDER, (read) => this.#render(read)],
      [Kind.RENDER_TEXT, (read) => this.#renderText(read)], [Kind.LINK, (read) => this.#link(read)],
      [Kind.FIND_CLIENT, (read) => this.#findClient(read)], [Kind.FORGET_TOKEN, (read) => this.#findClient(read)],
      [Kind.COUNT_FIRST, (read) => this.#countFirst(read)],
    ]);
    const [[kind, body]] = new Frames().cut(question);
    const [status, ...values] = answers.get(kind)(new Reader(body));
    return [status, values.map((value) => Buffer.from(value))];
  }

  #sign(read) {
    read.u64();  // the call
    const values = this.#secrets.get(read.string()) ?? [];
    const message = Buffer.concat(read.texts());
    return [values.length > 0 ? 0 : 1, ...values.map((value) => createHmac("sha256", keyOf(value)).update(message).digest())];
  }

  #signature(read) {
    read.u64();  // the call
    read.i32();  // the algorithm
    const name = read.string();
    if (!this.#secrets.has(name)) return [1];
    const digest = createHash("sha256").update(Buffer.concat(read.texts())).digest();
    return [0, Buffer.concat([Buffer.from(`signed by ${name}: `), digest])];
  }

  #secret(read) {
    read.u64();  // the call
    const name = read.string();
    if (!this.#secrets.has(name)) return [1];
    return this.#terms.readableSecrets.includes(name) ? [0, ...this.#secrets.get(name)] : [2];
  }

  #render(read) {
    const template = read.string();
    this.renderings.push({ template, data: JSON.parse(read.string()) });
    const parts = this.#terms.templates[template];
    return parts === undefined ? [1] : [0, ...Object.entries(parts).flat()];
  }

  #renderText(read) {
    const template = read.string();
    this.renderings.push({ template, data: JSON.parse(read.string()) });
    return [0, "text", template];
  }

  #link(read) {
    const object = read.string(), seconds = read.i64();
    if (!this.#terms.hasLinkKey) return [1];
    if (!object.startsWith("gs://") || seconds < 1 || seconds > MAX_LINK_SECONDS) return [2];
    return [0, `https://signed.test/${object.slice("gs://".length)}?ttl=${seconds}`];
  }

  #findClient(read) {
    return [this.#terms.oauth2Clients.includes(read.string()) ? 0 : 1];
  }

  #countFirst(read) {
    const name = read.string();
    if (!/^[a-z][a-z0-9_]{0,63}$/.test(name)) return [1];
    this.#count(name, read.u64());
    return [0];
  }
}

/** Why a host does not send a request. */
class Refused extends Error {}

function jsonOrBytes(value) {
  if (value === undefined || value === null) return "";
  return value instanceof Uint8Array ? value : writeJson(value);
}

function responseOf(id, end, most) {
  const hasAnswer = end.error === null;
  const { status, body, headerList, retryAfter } = hasAnswer ? end : answerOf({ status: 0 });
  return new Frame(Kind.RESPONSE).u64(id).i32(ERRORS.get(end.error)).i32(numberOf(REACHES, end.reach, "reach")).i32(status)
    .u32(body.length > most ? 1 : 0).i64(retryAfter === null ? -1 : milliseconds(retryAfter))
    .text(body.subarray(0, most)).text(hasAnswer ? "" : end.errorText).pairs(headerList);
}

function replyOf(id, end, addresses) {
  const frame = new Frame(Kind.REPLY).u64(id).i32(ERRORS.get(end.error)).i32(numberOf(REACHES, end.reach, "reach"));
  if (end.error !== null) return frame.i32(STAGES.get("none")).i32(0).text("").text(end.errorText).u32(0);
  const wereAsked = end.stage === "rcpt" || end.stage === "data";
  const recipients = wereAsked ? addresses.map((one) => end.recipients[one] ?? [250, "2.1.5 Ok"]) : [];
  const isForNobody = recipients.length > 0 && recipients.every(([one]) => Math.floor(one / 100) !== 2);
  const isRefusedForAll = end.stage === "data" && isForNobody;
  const [stage, code, text] = isRefusedForAll ? ["rcpt", ...recipients.at(-1)] : [end.stage, end.code, end.text];
  frame.i32(numberOf(STAGES, stage, "stage")).i32(code).text(text).text("").u32(recipients.length);
  for (const [number, said] of recipients) frame.i32(number).text(said);
  return frame;
}

/** The Outcome in the body of a message `complete`. */
export function readOutcome(body) {
  const read = new Reader(body);
  read.u64();  // the call
  read.u32();  // that it can be read
  const verdict = wordOf(VERDICTS, read.i32()), reach = wordOf(REACHES, read.i32()), scope = wordOf(SCOPES, read.i32());
  const code = read.i32(), retryAfter = read.i64();
  const outcome = new Outcome(verdict, read.string(), reach, []);
  Object.assign(outcome, { scope, code, retryAfter: retryAfter < 0 ? null : retryAfter / 1000, detail: read.string(),
                           providerRef: read.string() });
  const result = read.bytes();
  outcome.result = result.length === 0 ? null : readJson(result);
  return Object.assign(outcome, { artifactType: read.string(), artifact: read.bytes() });
}

/** The bytes of a secret that signs: behind "whsec_", Base64 is decoded. */
function keyOf(secret) {
  const encoded = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : "";
  const decoded = Buffer.from(encoded, "base64");
  return encoded !== "" && decoded.toString("base64") === encoded ? decoded : Buffer.from(secret);
}

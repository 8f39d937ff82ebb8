// The client: a method for each thing that programs ask a host for.
import { requestsOf, submitAll } from "./batch.mjs";
import { systemClock } from "./clock.mjs";
import { Exchange } from "./exchange.mjs";
import { Listing } from "./listing.mjs";
import { newId } from "./web_crypto.mjs";

const TIME_LIMIT = 60, TIMEOUT = 10;  // seconds

export class Client {
  #url;
  #organisation;
  #clock;
  #limits;
  #exchange;

  constructor({ url, token, organisation = "default", fetch = globalThis.fetch, timeLimit = TIME_LIMIT, timeout = TIMEOUT,
                clock = systemClock }) {
    if (typeof fetch !== "function") throw new TypeError("there is no fetch: it comes with Node.js 18, or is an option");
    this.#url = baseOf(url);
    this.#organisation = organisation;
    this.#clock = clock;
    this.#limits = { timeLimit, timeout };
    this.#exchange = new Exchange({ fetch: (url, options) => fetch(url, options), token, clock });
  }

  // ---- intents ----

  async submit(intent, { waitSeconds = 0, ...options } = {}) {
    const body = await named(intent, "intentId");
    return this.#send("POST", "/v1/intents", options, {
      body, ids: [body.intentId], isRepeatable: true, waitSeconds, query: waitSeconds > 0 ? { waitSeconds } : {} });
  }

  async submitBatch(intents, options = {}) {
    const items = [];
    for (const intent of intents) {
      const body = await named(intent, "intentId");
      items.push({ id: body.intentId, text: JSON.stringify(body), result: undefined });
    }
    const ids = items.map(({ id }) => id);
    const end = this.#clock.now() + (options.timeLimit ?? this.#limits.timeLimit);
    const send = async (some, timeLimit) => {
      const text = `[${some.map((item) => item.text).join(",")}]`;
      return (await this.#send("POST", "/v1/intents:batch", { ...options, timeLimit }, { text, ids, isRepeatable: true })).results;
    };
    for (const request of requestsOf(items)) await submitAll(request, send, { clock: this.#clock, end, signal: options.signal });
    return items.map(({ id, result }) => ({ intentId: id, ...result }));
  }

  async get(intentId, options) {
    return this.#get(`/v1/intents/${segment(intentId)}`, options);
  }

  async history(intentId, options) {
    return this.#get(`/v1/intents/${segment(intentId)}/history`, options);
  }

  list(query, options) {
    return this.listing("/v1/intents", query, options);
  }

  async cancel(intentId, /** @type {any} */ { reason, ...options } = {}) {
    return this.#send("POST", `/v1/intents/${segment(intentId)}/cancel`, options,
                      { body: { reason }, ids: [intentId], isRepeatable: true });
  }

  async reschedule(intentId, notBefore, options) {
    return this.#send("PATCH", `/v1/intents/${segment(intentId)}`, options,
                      { body: { notBefore }, ids: [intentId], isRepeatable: true });
  }

  async cancelAll(filter, options) {
    let count = 0, cursor = filter.cursor;
    do {
      const part = await this.#send("POST", "/v1/intents:cancel", options, { body: { ...filter, cursor }, isRepeatable: true });
      count += part.count;
      cursor = part.next ?? undefined;
    } while (cursor !== undefined);
    return { count, dryRun: filter.dryRun ?? false };
  }

  // ---- forms and pipelines ----

  async submitForm(submission, options) {
    return this.#submit("/v1/submissions", submission, options);
  }

  async finalize(submissionId, options) {
    return this.#send("POST", `/v1/submissions/${segment(submissionId)}/finalize`, options,
                      { ids: [submissionId], isRepeatable: true });
  }

  async submitJob(pipeline, submission, options) {
    return this.#submit(`/v1/pipelines/${segment(pipeline)}/submissions`, submission, options);
  }

  async postForm(post, options) {
    return this.#submit("/forms", post, options);
  }

  async getSubmission(submissionId, options) {
    return this.#get(`/v1/submissions/${segment(submissionId)}`, options);
  }

  listSubmissions(query, options) {
    return this.listing("/v1/submissions", query, options);
  }

  // ---- events ----

  async publish(rule, event, options) {
    const body = await named(event, "eventId");
    return this.#send("POST", `/orgs/${segment(this.#organisation)}/alert-rules/${segment(rule)}/events`, options,
                      { body, ids: [body.eventId], isRepeatable: true });
  }

  // ---- every other route ----

  async request(method, path, /** @type {any} */ options = {}) {
    const { body, query, isRepeatable = !["POST", "PATCH"].includes(method) } = options;
    return this.#send(method, path, options, { body, query, isRepeatable });
  }

  listing(path, query = {}, options = {}) {
    return new Listing((cursor) => this.#get(path, options, { ...query, cursor }), query.cursor);
  }

  #get(path, options, query) {
    return this.#send("GET", path, options, { query, isRepeatable: true });
  }

  async #submit(path, submission, options) {
    const body = await named(submission, "submissionId");
    return this.#send("POST", path, options, { body, ids: [body.submissionId], isRepeatable: true });
  }

  /** `path` begins with a slash, or it could change the host that gets the token. */
  async #send(method, path, options = {}, /** @type {any} */ { body, text, query = {}, ids, isRepeatable, waitSeconds = 0 }) {
    if (!path.startsWith("/")) throw new TypeError(`the path ${JSON.stringify(path)} does not begin with /`);
    const { signal, timeLimit = this.#limits.timeLimit, timeout = this.#limits.timeout, traceparent, tracestate } = options;
    const bytes = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = Object.entries({ "content-type": bytes && "application/json", traceparent, tracestate });
    const request = { method, name: `${method} ${path}`, url: this.#url + path + queryOf(query), body: bytes, ids, isRepeatable,
                      headers: headers.filter(([, value]) => value !== undefined) };
    return this.#exchange.run(request, { signal, timeLimit: timeLimit + waitSeconds, timeout: timeout + waitSeconds });
  }
}

const ENDS = new Set(["accepted", "rejected", "exhausted", "cancelled"]);

export function hasEnded({ status }) {
  return ENDS.has(status);
}

function baseOf(url) {
  const { protocol, username, password, search, hash, origin, pathname } = new URL(url);
  if (protocol !== "http:" && protocol !== "https:") throw new TypeError(`the URL ${url} is neither http nor https`);
  if (username || password || search || hash)
    throw new TypeError("the URL has more than an origin and a path: the token is an option of its own");
  return origin + pathname.replace(/\/+$/, "");
}

/** The object with an id, made if there is none: once, so that each attempt has the same. */
async function named(object, field) {
  return { ...object, [field]: object[field] ?? (await newId()) };
}

/** Percent-encoded. A URL cannot hold the two that it reads as steps between folders. */
function segment(text) {
  if (text === "." || text === "..") throw new TypeError(`the id ${JSON.stringify(text)} cannot stand in a URL`);
  if (text === "") throw new TypeError("an id is empty");
  return encodeURIComponent(text);
}

function queryOf(query) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]));
  return pairs.length > 0 ? `?${search}` : "";
}

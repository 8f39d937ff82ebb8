/**
 * Types of Waybill's kit for plugins, waybill_plugin.mjs. docs/plugins-typescript.md is the page for authors. Times are in
 * seconds.
 */

declare global {
  interface ImportMeta {
    url: string;
  }
}

/** Any JSON value, which the author knows better than the kit. */
export type Json = any;
export type JsonObject = { [name: string]: Json };

/** How far a request came: no byte of it left, it may have arrived, or the destination answered. */
export type Reach = "not_sent" | "maybe_sent" | "answered";
/** "whole_target": no other delivery would fare better, so the target cools down. */
export type Scope = "this_job" | "whole_target";
/** How the network failed. "refused": it was not tried. */
export type NetworkError = "refused" | "resolve" | "connect" | "tls" | "timeout" | "broken" | "cancelled";

/**
 * The host wants the call to end: host.sleep() rejects with it. A call that lets it out is completed as transient,
 * "cancelled".
 */
export class Cancelled extends Error {}

/** The call is over: nothing can be asked for it any more. */
export class Ended extends Error {}

/** The host says no to a question. */
export class HostError extends Error {
  readonly word: "unknown" | "wrong_key" | "not_allowed" | "malformed" | "unavailable" | "invalid" | "no_answer";
}

// ---- outcomes ----

export interface OutcomeOptions {
  reach?: Reach;
  scope?: Scope;
  /** The protocol's own status. */
  code?: number;
  /** The destination's least wait before a retry, in seconds. */
  retryAfter?: number | null;
  /** One line for people, never a secret. The host cuts it at 1,000 bytes. */
  detail?: string;
  /** The destination's id of what it accepted. */
  providerRef?: string;
  /** Any JSON value, recorded. Of a transient outcome it is job.progress of the next attempt. */
  result?: Json;
  /** Bytes (of a string: UTF-8) and their media type, of an accepted compose only. */
  artifact?: Uint8Array | string;
  artifactType?: string;
}

/** What became of one attempt. accepted(), rejected(), transient(), deferred() and judge() make it. */
export class Outcome {
  private constructor();
  readonly verdict: "accepted" | "rejected" | "transient" | "deferred";
  readonly reason: string;
  reach: Reach;
  scope: Scope;
  code: number;
  retryAfter: number | null;
  detail: string;
  providerRef: string;
  result: Json;
  artifact: Uint8Array | string;
  artifactType: string;
}

/** The destination took responsibility. With the answer, its reach and code are the outcome's. */
export function accepted(answer: Answer | Reply | undefined, options?: OutcomeOptions): Outcome;
export function accepted(options?: OutcomeOptions): Outcome;

/** The destination refused. `reason` is one that plugin.json lists for the action. */
export function rejected(reason: string, answer: Answer | Reply | undefined, options?: OutcomeOptions): Outcome;
export function rejected(reason: string, options?: OutcomeOptions): Outcome;

/** No usable answer: it may be tried again. `reason` is one word of yours. Of an answer it takes retryAfter as well. */
export function transient(reason: string, answer: Answer | Reply | undefined, options?: OutcomeOptions): Outcome;
export function transient(reason: string, options?: OutcomeOptions): Outcome;

/** Nothing to do, by the operator's choice, such as no credentials. Of a status: still under way. */
export function deferred(reason: string, answer: Answer | Reply | undefined, options?: OutcomeOptions): Outcome;
export function deferred(reason: string, options?: OutcomeOptions): Outcome;

/**
 * The outcome of an answer, as most destinations mean it.
 *
 * HTTP: 2xx accepted; 401, 403, 429, 502, 503, 504 transient for the whole target; 408, 425, other 5xx and redirects transient;
 * other 4xx rejected with `permanentReason`. Without an answer: transient, and without a connection for the whole target.
 *
 * Mail: accepted when every recipient was; rejected when the relay refuses one for good; transient otherwise. If only some have
 * the mail, `result` lists them under "accepted": leave out those in job.progress the next time.
 */
export function judge(answer: Answer | Reply, permanentReason: string): Outcome;

// ---- what comes from the host ----

/** The answer to a request. */
export class Answer {
  private constructor();
  /** null: there is an answer. */
  readonly error: NetworkError | null;
  /** One line for people. */
  readonly errorText: string;
  /** As the host saw it. */
  readonly reach: Reach;
  /** The HTTP status, 0 without one; `code` is the same. */
  readonly status: number;
  readonly code: number;
  /** By names in lower case; of several of one name the first. headerList has all of them. */
  readonly headers: { readonly [name: string]: string | undefined };
  readonly headerList: ReadonlyArray<readonly [name: string, value: string]>;
  /** Up to maxResponseBytes; isTruncated: there was more. */
  readonly body: Uint8Array;
  readonly isTruncated: boolean;
  /** Seconds. */
  readonly retryAfter: number | null;
  readonly text: string;
  /** What the body says. It throws if that is no JSON. */
  json(): Json;
}

export interface Recipient {
  address: string;
  /** 0: not asked. */
  code: number;
  text: string;
}

/** A relay's reply to a mail. */
export class Reply {
  private constructor();
  readonly error: NetworkError | null;
  readonly errorText: string;
  readonly reach: Reach;
  /** What the deciding reply answered. */
  readonly stage: "none" | "connect" | "auth" | "mail" | "rcpt" | "data";
  /** That reply's. */
  readonly code: number;
  readonly text: string;
  /** In the order of the mail's. */
  readonly recipients: readonly Recipient[];
  /** The relay took the mail, for the recipients with a code of 2xx. */
  readonly isTaken: boolean;
  readonly retryAfter: null;
}

/** What to send. */
export interface Job {
  readonly destination: { readonly url: string } & JsonObject;
  /** The client's JSON; null if there was none. Reading it throws if it is no JSON. Numbers beyond 2 ** 53 lose digits here. */
  readonly payload: Json;
  /** The client's JSON, unread. */
  readonly payloadBytes: Uint8Array;
  /** {org, kind, reference}, and more for other submissions than intents. */
  readonly context: JsonObject;
  /** The same in every attempt of the delivery. */
  readonly idempotencyKey: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** An earlier attempt may have reached the destination. */
  readonly maybeSentBefore: boolean;
  /** How long this attempt may take, in seconds from its begin. */
  readonly deadline: number;
  readonly target: string;
  /** The delivery's id, for logs. */
  readonly actionId: string;
  /** What compose made. */
  readonly artifact: Uint8Array;
  readonly artifactType: string;
  /** For status: that of the accepted attempt. */
  readonly providerRef: string;
  /** `result` of the latest transient outcome of this delivery, or null. */
  readonly progress: Json;
  /** For failures: from when on, in seconds since 1970. */
  readonly since: number;
  /** For failures: "" for the first. */
  readonly page: string;
}

/** What the destination accepted and then failed to deliver. */
export class Failure {
  constructor(fields: {
    providerRef?: string;
    idempotencyKey?: string;
    reason?: string;
    detail?: string;
    /** Seconds since 1970; 0: unknown. */
    failedAt?: number;
  });
  readonly providerRef: string;
  readonly idempotencyKey: string;
  readonly reason: string;
  readonly detail: string;
  readonly failedAt: number;
}

/** The name of the next page of failures: job.page of the next call. */
export class NextPage {
  constructor(name: string);
  readonly name: string;
}

/**
 * A secret of the host, by its name, in a list of pieces of a body: `body: ['{"key":"', new Secret("desk", "json"), '"}']`.
 * `form`: as it is, escaped for a JSON string, or percent-encoded.
 */
export class Secret {
  constructor(name: string, form?: "raw" | "json" | "form");
  readonly name: string;
  readonly form: "raw" | "json" | "form";
}

// ---- the host ----

/** An AbortSignal: of Node.js, of the DOM, or of anything else that is one. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: any;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface FetchOptions {
  /**
   * An object, or pairs. In the values, and in the URL's path and query, the host replaces {secret:NAME} and {oauth2:NAME}
   * (headers only), which needs https.
   */
  headers?: { readonly [name: string]: string } | Iterable<readonly [name: string, value: string]>;
  /** Bytes, text, or a list of these and secrets. */
  body?: Uint8Array | string | ReadonlyArray<Uint8Array | string | Secret>;
  /** Any value, in place of a body. null: none. */
  json?: Json;
  /** Seconds; left out: until the call's deadline. */
  timeout?: number;
  /** Left out: 4,096. */
  maxResponseBytes?: number;
  /** NAMES of secrets. */
  basicUser?: string;
  basicPassword?: string;
  sigv4KeyId?: string;
  sigv4SecretKey?: string;
  sigv4Region?: string;
  sigv4Service?: string;
  /** Aborts the request, whose answer then has the error "cancelled". */
  signal?: Signal;
}

export interface SubmitOptions {
  tls?: "if_offered" | "required" | "never";
  /** A login; with it `password` is the NAME of a secret. */
  user?: string;
  password?: string;
  timeout?: number;
  signal?: Signal;
}

/** What the host does for one call. Await fetch(), submit() and sleep(); the rest answers at once. */
export interface Host {
  /** The operator's settings of the action type. */
  readonly settings: JsonObject;
  /** The host wants the call to end soon. */
  readonly isCancelled: boolean;

  /** Sends an HTTP request. Whatever the network does, it does not reject. No redirect is followed. */
  fetch(method: string, url: string, options?: FetchOptions): Promise<Answer>;

  /**
   * Hands a mail to a relay ("smtp://host:port" or "smtps://host:port"). `data`: a message with CRLF line ends. Address
   * everybody in `recipients`, each as "a@b".
   */
  submit(relay: string, mailFrom: string, recipients: Iterable<string>, data: Uint8Array | string,
         options?: SubmitOptions): Promise<Reply>;

  /**
   * Waits on the host's clock, which tests can set. Rejects with Cancelled when the host cancels the call, and as `signal`
   * says.
   */
  sleep(seconds: number, options?: { signal?: Signal }): Promise<void>;

  /** Seconds since 1970, on a clock that tests can set. */
  unixSeconds(): number;

  /** HMAC-SHA256 of the parts, with each value that the secret has now: 32 bytes each, the newest first. */
  sign(secret: string, ...parts: Array<Uint8Array | string>): Uint8Array[];

  /** The signature of the parts by the private key of this name. */
  signature(algorithm: "rsa_sha256" | "ecdsa_p256_sha256", secret: string, ...parts: Array<Uint8Array | string>): Uint8Array;

  /** The values of a secret that the operator lists for this action type, the newest first. Keep no copy and log none. */
  secret(name: string): string[];

  /** The parts of a template of the registry: "subject", "text", "html", as far as it has them. */
  render(template: string, data: Json): { [part: string]: string };

  /** A mustache template of the plugin's own, rendered. */
  renderText(template: string, data: Json): string;

  /** A URL that gives access to a stored object ("gs://bucket/key") for so long, seven days at most. */
  link(object: string, seconds: number): string;

  /** Whether the operator configured an OAuth2 client of this name, for {oauth2:NAME} in a header. */
  hasOauth2Client(client: string): boolean;

  /** The client's token is not used again: a destination refused it without a 401. */
  forgetOauth2Token(client: string): void;

  /** Writes one log event, "info" if no `level` says otherwise. Never a secret in here. */
  log(message: string, fields?: { level?: "debug" | "info" | "warn" | "error"; [field: string]: unknown }): void;

  /**
   * Adds to a counter of this action type in the host's metrics. False: the name is not [a-z][a-z0-9_]*, or there are 64
   * others.
   */
  count(name: string, by?: number): boolean;

  /** Lists one Failure; in a function for failures that is no generator. */
  report(failure: Failure): void;

  /** Names the next page of failures; in a function for failures that is no generator. */
  nextPage(name: string): void;
}

// ---- the plugin's functions ----

export type Attempt = (job: Job, host: Host) => Promise<Outcome> | Outcome;
export type Listing = Attempt | ((job: Job, host: Host) => AsyncIterable<Failure | NextPage | Outcome>);
/** A problem is a JSON pointer and a message. */
export type Check = (value: JsonObject) => Iterable<readonly [path: string, message: string]> | undefined | void;

/** The function that makes one attempt. */
export function sender(actionType: string, attempt: Attempt): Attempt;

/** The function that makes, once and before the first attempt, what all attempts send. It sends nothing itself and returns
 *  accepted({artifact, artifactType}). */
export function compose(actionType: string, attempt: Attempt): Attempt;

/**
 * The function that asks what became of job.providerRef. accepted: it arrived; rejected: it failed for good; deferred: still
 * under way; transient: it could not be asked.
 */
export function status(actionType: string, attempt: Attempt): Attempt;

/** The function that tells whether job.destination can be reached, without sending anything that counts. */
export function probe(actionType: string, attempt: Attempt): Attempt;

/** The function that lists one page, job.page, of what failed since job.since after it was accepted. An async generator yields
 *  Failure and NextPage, and at the end an outcome if it is not accepted(). Any other function uses host.report() and
 *  host.nextPage(), and returns an outcome. */
export function failures(actionType: string, listing: Listing): Listing;

/**
 * A function of the settings, which gives each problem, as a generator or in a list. It does no I/O and says the same each
 * time. The host checks the schema of plugin.json before.
 */
export function checkSettings(actionType: string, check: Check): Check;

/** The same of a target's destination. */
export function checkDestination(actionType: string, check: Check): Check;

/**
 * Serves the host until it is gone, if the module that says this is the program: `run(import.meta.url)`, in its last line.
 * Where a test imports it, nothing happens.
 */
export function run(moduleUrl: string): void;

/** The functions of a plugin, which sender() and the others fill in: for FakeHost. */
export class Plugin {}

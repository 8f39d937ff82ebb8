/** Types of Waybill's client, @waybill/client. README.md shows its use. Times are in seconds. */
import type {
  AnySubmission, Batch, BatchResult, CancelMany, EventState, FormListItem, FormPost, History, Intent, IntentPage, ListIntentsQuery,
  ListSubmissionsQuery, NewEvent, NewFormPost, NewIntent, NewPipelineSubmission, NewSubmission, PipelineListItem, PipelineState, Problem,
  SubmissionPage, SubmissionState,
} from "./schemas.mjs";
export * from "./schemas.mjs";

// ---- the client ----

export interface ClientOptions {
  /** Where the host is, such as "https://waybill.example.org". It may have a path. */
  url: string | URL;
  /** A function is asked before each attempt; what it throws ends the call. Left out: the host has `auth: none`. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** The token's organisation, for events; "default" if left out. */
  organisation?: string | undefined;
  /** In place of the global one. */
  fetch?: typeof fetch | undefined;
  /** How long a call may take with all its attempts; 60 if left out. */
  timeLimit?: number | undefined;
  /** How long one attempt may take; 10 if left out. What `waitSeconds` asks for is added to both. */
  timeout?: number | undefined;
  /** For tests. */
  clock?: Clock | undefined;
}

export interface Clock {
  /** Seconds, of a clock that never goes back. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
  /** Rejects with the signal's reason when it is aborted meanwhile. */
  sleep(seconds: number, signal?: AbortSignal): Promise<void>;
}

export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  timeLimit?: number | undefined;
  timeout?: number | undefined;
  /** W3C Trace Context, which destinations get as well. */
  traceparent?: string | undefined;
  tracestate?: string | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** Answer when the intent has ended, its first attempt has ended, or so many seconds have passed: 0 to 60. */
  waitSeconds?: number | undefined;
}

export interface CancelOptions extends CallOptions {
  reason?: string | undefined;
}

/** What is handed in, whose id the client makes if there is none. It repeats a call with the same id. */
export type WithoutId<T, Id extends keyof T> = Omit<T, Id> & { [Name in Id]?: T[Name] | undefined };
export type IntentToSubmit = WithoutId<NewIntent, "intentId">;
export type FormToSubmit = WithoutId<NewSubmission, "submissionId">;
export type JobToSubmit = WithoutId<NewPipelineSubmission, "submissionId">;
export type EventToPublish = WithoutId<NewEvent, "eventId">;

/** One of a batch: `status` is 200 with `intent`, else there is an `error`. */
export type IntentResult = { intentId: string } & BatchResult;

/** A list, newest first: item by item, or by pages, which may be short, even empty, and not be the last. */
export interface Listing<Item, Page> extends AsyncIterable<Item> {
  pages(): AsyncIterable<Page>;
}

/**
 * Calls of one host. Each is repeated while the host answers 429, 502, 503 or 504 and when the connection fails, until the time
 * limit; no sooner than Retry-After says.
 */
export class Client {
  constructor(options: ClientOptions);

  submit(intent: IntentToSubmit, options?: SubmitOptions): Promise<Intent>;
  /** In the order of the intents. Those that the host does not acknowledge are repeated; at the end they keep their 503. */
  submitBatch(intents: Iterable<IntentToSubmit>, options?: CallOptions): Promise<IntentResult[]>;
  get(intentId: string, options?: CallOptions): Promise<Intent>;
  history(intentId: string, options?: CallOptions): Promise<History>;
  list(query?: ListIntentsQuery, options?: CallOptions): Listing<Intent, IntentPage>;
  /** ConflictError, with its `intent`, if it is under way or has ended otherwise. */
  cancel(intentId: string, options?: CancelOptions): Promise<Intent>;
  /** ConflictError if it waits for its time no longer. */
  reschedule(intentId: string, notBefore: string | Date, options?: CallOptions): Promise<Intent>;
  /** All of them, in as many calls as it takes. More may have been cancelled than `count` if an answer was lost. */
  cancelAll(filter: CancelMany, options?: CallOptions): Promise<{ count: number; dryRun: boolean }>;

  submitForm(submission: FormToSubmit, options?: CallOptions): Promise<SubmissionState>;
  finalize(submissionId: string, options?: CallOptions): Promise<SubmissionState>;
  submitJob(pipeline: string, submission: JobToSubmit, options?: CallOptions): Promise<PipelineState>;
  /** A submission of each pipeline whose file has the path /forms. */
  postForm(post: NewFormPost, options?: CallOptions): Promise<FormPost>;
  getSubmission(submissionId: string, options?: CallOptions): Promise<AnySubmission>;
  listSubmissions(query?: ListSubmissionsQuery, options?: CallOptions): Listing<FormListItem | PipelineListItem, SubmissionPage>;

  /** An event of an alert rule, by the rule's id. */
  publish(rule: string, event: EventToPublish, options?: CallOptions): Promise<EventState>;

  /**
   * Any other route. Without `isRepeatable`, a POST or PATCH is repeated only after a 429: the host may have done what it did not
   * answer.
   */
  request<Answer = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Any list that answers {items, next} to `cursor`. */
  listing<Item = unknown>(path: string, query?: Query, options?: CallOptions): Listing<Item, { items: Item[]; next: string | null }>;
}

export type Query = { readonly [name: string]: string | number | boolean | Date | undefined };

export interface RequestOptions extends CallOptions {
  /** Sent as JSON. */
  body?: unknown;
  query?: Query | undefined;
  isRepeatable?: boolean | undefined;
}

/** Accepted, rejected, exhausted or cancelled. A status of a newer host's counts as none of them. */
export function hasEnded(intent: Pick<Intent, "status">): boolean;

// ---- errors of calls ----

/** Everything that a call throws, but for the reason of its signal and the errors of its token function. */
export class WaybillError extends Error {
  /** It may work later. The host may even have done it: repeat it with the same ids. */
  readonly isTransient: boolean;
  /** How many there were. */
  readonly attempts: number;
  /** Those that the call handed in, also those that the client made. */
  readonly ids: readonly string[];
}

/** The host answered, and did not do it. */
export class ApiError extends WaybillError {
  readonly status: number;
  /** Such as "invalid_request"; "redirect" and "unknown" are the client's own. */
  readonly code: string;
  /** All that the answer says of it. */
  readonly problem: Problem & { readonly [name: string]: unknown };
  /** Seconds. */
  readonly retryAfter: number | undefined;
}

/** 400, 413, 415, 422 or 431. */
export class InvalidRequestError extends ApiError {}
export class UnauthorizedError extends ApiError {}
export class ForbiddenError extends ApiError {}
export class NotFoundError extends ApiError {}
/** 409. The id came before with other content, or the state does not allow it. */
export class ConflictError extends ApiError {
  /** Of a cancellation: as it is. */
  readonly intent: Intent | undefined;
}
/** 429, until the time limit. */
export class RateLimitedError extends ApiError {}
/** 502, 503 or 504, until the time limit. */
export class UnavailableError extends ApiError {}
/** No complete answer until the time limit. */
export class ConnectionError extends WaybillError {}
/** The last attempt took too long. */
export class TimeoutError extends ConnectionError {}

// ---- for receivers ----

/** Of a request: of fetch, of Node.js, or anything like them. */
export type WebhookHeaders =
  | Headers
  | ReadonlyMap<string, string>
  | { readonly [name: string]: string | readonly string[] | undefined };

export interface Webhook {
  /** The same in every attempt: drop what you have. */
  readonly id: string;
  /** Of this attempt. */
  readonly timestamp: Date;
  /** The body's JSON. */
  json(): any;
}

export interface VerifyOptions {
  /** How old or how far ahead the request may be; 300 if left out. */
  tolerance?: number | undefined;
  /** Seconds since 1970, in place of the machine's clock. */
  now?: number | undefined;
}

/**
 * The webhook, if one of the secrets ("whsec_...") signed this body; else it throws a WebhookVerificationError. The body is as it came,
 * before any parsing.
 */
export function verify(headers: WebhookHeaders, body: string | Uint8Array | ArrayBuffer, secrets: string | Iterable<string>,
                       options?: VerifyOptions): Promise<Webhook>;

export class WebhookVerificationError extends Error {
  readonly code: "missing_header" | "malformed_header" | "outside_window" | "wrong_signature" | "bad_secret";
}

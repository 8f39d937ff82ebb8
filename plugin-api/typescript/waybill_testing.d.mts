/** Types of waybill_testing.mjs: a host for the unit tests of a plugin. Times are in seconds. */
import type { Failure, Json, JsonObject, NetworkError, Outcome, Plugin, Reach } from "./waybill_plugin.mjs";

/** By name, in any case; of several of one name the first. */
export interface Headers {
  get(name: string): string | undefined;
  has(name: string): boolean;
}

/** One request as the plugin made it. */
export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly headerList: ReadonlyArray<readonly [name: string, value: string]>;
  readonly body: Uint8Array;
  /** 0: until the call's deadline. */
  readonly timeout: number;
  /** 0: 4,096. */
  readonly maxResponseBytes: number;
  /** Names of secrets, and where they go. */
  readonly basicUser: string;
  readonly basicPassword: string;
  readonly sigv4Region: string;
  readonly sigv4Service: string;
  readonly sigv4KeyId: string;
  readonly sigv4SecretKey: string;
  readonly bodySecrets: ReadonlyArray<{ readonly offset: number; readonly name: string; readonly form: number }>;
  /** What would leave, with the values of secrets; null: the host refused it. */
  readonly filledUrl: string | null;
  readonly filledHeaders: Headers | null;
  readonly filledBody: Uint8Array | null;
  readonly isAborted: boolean;
  json(): Json;
}

/** One mail as the plugin handed it in. */
export interface Mail {
  readonly relay: string;
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  readonly data: Uint8Array;
  readonly tls: "if_offered" | "required" | "never";
  readonly user: string;
  /** The name of a secret. */
  readonly password: string;
  readonly timeout: number;
  readonly isAborted: boolean;
}

/** How the network ends what it was asked for. */
export interface Ending {
  error?: NetworkError;
  /** Left out: as a host would see it. */
  reach?: Reach;
  errorText?: string;
  /** Seconds until it comes. */
  after?: number;
  /** Nothing comes before the timeout. */
  silent?: boolean;
}

export interface AnswerOptions extends Ending {
  /** Left out: 200. */
  status?: number;
  headers?: { readonly [name: string]: string | number };
  body?: Uint8Array | string;
  json?: Json;
  /** Left out: the header Retry-After, if it is a number. */
  retryAfter?: number;
}

export interface MailAnswerOptions extends Ending {
  /** Left out: 250, "2.0.0 Ok", at "data". */
  code?: number;
  text?: string;
  stage?: "none" | "connect" | "auth" | "mail" | "rcpt" | "data";
  /** Those that are not taken: {"a@b": [550, "5.1.1 unknown"]}. */
  recipients?: { readonly [address: string]: readonly [code: number, text: string] };
}

export interface JobOptions {
  destination?: JsonObject;
  /** Any JSON, or bytes. */
  payload?: Json;
  idempotencyKey?: string;
  attempt?: number;
  maybeSentBefore?: boolean;
  deadline?: number;
  target?: string;
  actionId?: string;
  context?: JsonObject;
  artifact?: Uint8Array | string;
  artifactType?: string;
  providerRef?: string;
  progress?: Json;
  /** Seconds since 1970. */
  since?: number;
  /** The host cancels the call after so many seconds. */
  cancelAfter?: number;
}

export interface FakeHostOptions {
  /** The operator's settings of the action type. */
  settings?: JsonObject;
  /** By name; of several values the newest first. Private keys are not read: signatures are made up. */
  secrets?: { readonly [name: string]: string | readonly string[] };
  /** Names that host.secret() gives the values of. */
  readableSecrets?: readonly string[];
  /** Names, for {oauth2:NAME}. */
  oauth2Clients?: readonly string[];
  /** By id: what rendering gives, whatever the data. */
  templates?: { readonly [id: string]: { readonly [part: string]: string } };
  /** Whether host.link() works. Left out: it does. */
  hasLinkKey?: boolean;
  /** Secrets may leave without TLS. */
  insecure?: boolean;
  /** The clock's begin. */
  unixSeconds?: number;
  /** How long, of real time, the plugin may be busy. */
  patience?: number;
  /** Left out: that of the modules which the test has imported. */
  plugin?: Plugin;
  /** Its path. Left out: beside waybill_testing.mjs. */
  pluginJson?: string;
}

/**
 * A host with the plugin whose module the test has imported. It has one call at a time. What a host would refuse or complain of
 * rejects, or throws, with AssertionError.
 */
export class FakeHost {
  constructor(options?: FakeHostOptions);

  /** What it saw. `sleeps`: seconds. `now`: seconds since its begin. */
  readonly requests: Request[];
  readonly mails: Mail[];
  readonly sleeps: number[];
  readonly logs: Array<{ level: "debug" | "info" | "warn" | "error"; text: string; fields: { [name: string]: string } }>;
  readonly counts: { [name: string]: number | undefined };
  readonly renderings: Array<{ template: string; data: Json }>;
  readonly now: number;

  /** Scripts the answer to the next request, or to the next for `url`. */
  answer(status: number, options?: Omit<AnswerOptions, "status"> & { url?: string }): void;
  answer(answer: (request: Request) => AnswerOptions, options?: { url?: string }): void;
  answer(options?: AnswerOptions & { url?: string }): void;

  /** Scripts the reply to the next mail. */
  mailAnswer(options?: MailAnswerOptions): void;

  /** One attempt, from its begin to its outcome. A plugin that composes does so first, unless the job has an artifact. */
  send(actionType: string, job?: JobOptions): Promise<Outcome>;
  /** The outcome of compose, with its artifact. */
  compose(actionType: string, job?: JobOptions): Promise<Outcome>;
  /** The outcome of status about providerRef. */
  status(actionType: string, job?: JobOptions): Promise<Outcome>;
  probe(actionType: string, job?: JobOptions): Promise<Outcome>;
  /** Of all pages, and the outcome of the last. */
  failures(actionType: string, job?: JobOptions): Promise<{ failures: Failure[]; outcome: Outcome }>;

  /** The problems, each a JSON pointer and a message. */
  checkSettings(actionType: string, settings: JsonObject): Array<[path: string, message: string]>;
  checkDestination(actionType: string, destination: JsonObject): Array<[path: string, message: string]>;
}

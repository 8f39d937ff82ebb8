// What calls throw: the host's refusals by their status, and what came of the network.

/** Everything that a call throws, but for the caller's own: what its token function or its signal's reason is. */
export class WaybillError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
    this.isTransient = false;
    this.attempts = 1;
    this.ids = [];
  }
}

/** The host answered, and did not do it. */
export class ApiError extends WaybillError {
  constructor(call, status, problem, retryAfter) {
    super(`${call}: ${status} ${problem.code}: ${problem.message}`);
    this.status = status;
    this.code = problem.code;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

export class InvalidRequestError extends ApiError {}
export class UnauthorizedError extends ApiError {}
export class ForbiddenError extends ApiError {}
export class NotFoundError extends ApiError {}

export class ConflictError extends ApiError {
  constructor(call, status, problem, retryAfter) {
    super(call, status, problem, retryAfter);
    this.intent = problem.intent;
  }
}

export class RateLimitedError extends ApiError {
  constructor(call, status, problem, retryAfter) {
    super(call, status, problem, retryAfter);
    this.isTransient = true;
  }
}

export class UnavailableError extends ApiError {
  constructor(call, status, problem, retryAfter) {
    super(call, status, problem, retryAfter);
    this.isTransient = true;
  }
}

/** No complete answer came: the host may have done it. */
export class ConnectionError extends WaybillError {
  constructor(message, options) {
    super(message, options);
    this.isTransient = true;
  }
}

export class TimeoutError extends ConnectionError {}

const CLASSES = new Map([
  [400, InvalidRequestError], [413, InvalidRequestError], [415, InvalidRequestError], [422, InvalidRequestError],
  [431, InvalidRequestError],
  [401, UnauthorizedError], [403, ForbiddenError], [404, NotFoundError], [409, ConflictError], [429, RateLimitedError],
  [502, UnavailableError], [503, UnavailableError], [504, UnavailableError],  // 502 and 504: of a proxy that lost the host
]);
const MAX_SHOWN = 200;  // characters of a body that is none of Waybill's

/** `body`: the text of an answer that is no success. */
export function apiError(call, status, body, retryAfter) {
  const Class = CLASSES.get(status) ?? ApiError;
  return new Class(call, status, problemOf(body), retryAfter);
}

function problemOf(body) {
  try {
    const { error, ...beside } = JSON.parse(body);
    if (typeof error.code === "string" && typeof error.message === "string") return { ...beside, ...error };
  } catch { /* a proxy's page */ }
  return { code: "unknown", message: body.slice(0, MAX_SHOWN) };
}

/** Whether an item of a batch with this status was not acknowledged, so that it is repeated. */
export function isTransientStatus(status) {
  return status === 429 || status === 503;
}

/** What a receiver cannot trust. */
export class WebhookVerificationError extends Error {
  constructor(code, message) {
    super(message);
    this.name = new.target.name;
    this.code = code;
  }
}

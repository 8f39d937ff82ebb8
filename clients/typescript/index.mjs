/* @ts-self-types="./index.d.mts" */
// Waybill's client for TypeScript and JavaScript. index.d.mts says what each function takes and gives. Times are in seconds.
export { Client, hasEnded } from "./client.mjs";
export {
  ApiError, ConflictError, ConnectionError, ForbiddenError, InvalidRequestError, NotFoundError, RateLimitedError, TimeoutError,
  UnauthorizedError, UnavailableError, WaybillError, WebhookVerificationError,
} from "./errors.mjs";
export { verify } from "./webhook.mjs";

// One call as its attempts: which are repeated, when, and until when.
import { backoff, milliseconds, secondsOf } from "./clock.mjs";
import { ApiError, ConnectionError, TimeoutError, WaybillError, apiError } from "./errors.mjs";

export class Exchange {
  #fetch;
  #token;
  #clock;

  constructor({ fetch, token, clock }) {
    this.#fetch = fetch;
    this.#token = token;
    this.#clock = clock;
  }

  /**
   * The JSON of a success; undefined if there is none. The request has method, url, name, headers, body, ids and isRepeatable:
   * what is not is repeated only if the host said that it did nothing (429).
   */
  async run(request, { timeLimit, timeout, signal }) {
    const end = this.#clock.now() + timeLimit;
    for (let attempts = 1; ; ++attempts) {
      const failure = await this.#attempt(request, Math.max(0, Math.min(timeout, end - this.#clock.now())), signal);
      if (!(failure instanceof WaybillError)) return failure.value;
      failure.attempts = attempts;
      failure.ids = request.ids ?? [];
      const wait = backoff(this.#clock, attempts, failure instanceof ApiError ? failure.retryAfter : 0);
      if (!mayRepeat(failure, request) || this.#clock.now() + wait >= end) throw failure;
      await this.#clock.sleep(wait, signal);
    }
  }

  /** {value}, or why there is none. Throws what is the caller's: its signal's reason, its token function's error. */
  async #attempt(request, seconds, signal) {
    signal?.throwIfAborted();
    const limit = new TimeLimit(seconds, signal);
    try {
      return await limit.hold(this.#answer(request, limit.signal));
    } catch (error) {
      if (limit.isOver) return new TimeoutError(`${request.name}: no answer in ${seconds.toFixed(1)} s`);
      if (error instanceof Unanswered) return new ConnectionError(`${request.name}: ${error.message}`, { cause: error.cause });
      throw error;
    } finally {
      limit.end();
    }
  }

  async #answer(request, signal) {
    const headers = new Headers(request.headers);
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    const options = { method: request.method, headers, body: request.body, redirect: "manual", signal };
    const { status, text, retryAfter } = await whatComes(this.#fetch, request.url, options);
    if (status === 0 || (status >= 300 && status < 400)) return redirected(request, status);
    if (status < 200 || status >= 300) return apiError(request.name, status, text, retryAfter);
    if (status === 204) return { value: undefined };
    try {
      return { value: JSON.parse(text) };
    } catch (cause) {  // cut short, or a proxy's page
      throw new Unanswered(`${status} without JSON`, cause);
    }
  }
}

/** No answer, or not all of it. */
class Unanswered extends Error {
  constructor(message, cause) {
    super(message, { cause });
  }
}

async function whatComes(fetch, url, options) {
  try {
    const response = await fetch(url, options);
    return { status: response.status, text: await response.text(), retryAfter: secondsOf(response.headers.get("retry-after")) };
  } catch (cause) {
    throw new Unanswered(`the connection failed: ${cause?.cause?.message ?? cause?.message ?? cause}`, cause);
  }
}

/** Followed, a POST could become a GET. */
function redirected(request, status) {
  return new ApiError(request.name, status, { code: "redirect", message: "the address redirects: use the one that it leads to" });
}

function mayRepeat(failure, request) {
  return failure.isTransient && (request.isRepeatable || (failure instanceof ApiError && failure.status === 429));
}

/** A signal that is aborted by another one, or when the time is over. */
class TimeLimit {
  #controller = new AbortController();
  #timer;
  #outer;
  #stop = () => this.#controller.abort(this.#outer.reason);
  isOver = false;

  constructor(seconds, outer) {
    this.#outer = outer;
    outer?.addEventListener("abort", this.#stop, { once: true });
    const over = () => {
      this.isOver = true;
      this.#controller.abort();
    };
    this.#timer = setTimeout(over, milliseconds(seconds));
  }

  get signal() {
    return this.#controller.signal;
  }

  /** The promise's end, or the signal's if that comes first: also of a fetch that does not look at its signal. */
  hold(promise) {
    return new Promise((resolve, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
      promise.then(resolve, reject);
    });
  }

  end() {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#stop);
  }
}

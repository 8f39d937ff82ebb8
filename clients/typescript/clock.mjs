// Time and chance as a client sees them. Tests give a clock of their own.

/** For setTimeout(), which ends at once for more than it can count. */
export function milliseconds(seconds) {
  return Math.min(seconds * 1000, 2 ** 31 - 1);
}

export const systemClock = {
  /** Seconds, of a clock that never goes back. */
  now: () => performance.now() / 1000,
  /** From 0 to 1. */
  random: Math.random,
  /** Rejects with the signal's reason when it is aborted meanwhile. */
  sleep(seconds, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, milliseconds(seconds));
      signal?.addEventListener("abort", stop, { once: true });
    });
  },
};

const FIRST_WAIT = 0.2, LONGEST_WAIT = 10;  // seconds

/** How long to wait before another attempt: twice as long each time, between half and all of it, behind what was asked for. */
export function backoff(clock, attempts, retryAfter = 0) {
  const most = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1));
  return retryAfter + most * (0.5 + clock.random() / 2);
}

/** Seconds that a Retry-After header asks for: a number, or a date. undefined: none that can be read. */
export function secondsOf(retryAfter) {
  if (retryAfter === null || retryAfter.trim() === "") return undefined;
  if (/^\s*\d+\s*$/.test(retryAfter)) return Number(retryAfter);
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

// A batch in requests that the host takes, whose items are repeated as long as the host does not acknowledge them.
import { backoff } from "./clock.mjs";
import { WaybillError, isTransientStatus } from "./errors.mjs";

const MAX_ITEMS = 10_000;  // that a request may have
const MAX_BYTES = 1_000_000;  // of a request: the host's limit is 1 MiB unless its operator says otherwise

/** Items with `text`, their JSON, in lists that each fit into a request; an item that fits into none has one of its own. */
export function* requestsOf(items) {
  const encoder = new TextEncoder();
  let request = [], bytes = 0;
  for (const item of items) {
    const more = encoder.encode(item.text).length + 1;
    if (request.length === MAX_ITEMS || (request.length > 0 && bytes + more > MAX_BYTES)) {
      yield request;
      request = [];
      bytes = 0;
    }
    request.push(item);
    bytes += more;
  }
  if (request.length > 0) yield request;
}

/**
 * Sets `result` of each item. `send` takes items and seconds, and gives the host's results. What is not acknowledged when the
 * time is over keeps the host's last word.
 */
export async function submitAll(items, send, { clock, end, signal }) {
  let open = items;
  for (let rounds = 1; ; ++rounds) {
    const results = await sentOrNothing(() => send(open, end - clock.now()), rounds);
    if (results === undefined) return;
    if (results.length !== open.length) throw new WaybillError(`the host answered ${results.length} results for ${open.length} intents`);
    open.forEach((item, i) => (item.result = results[i]));
    open = open.filter((item) => isTransientStatus(item.result.status));
    const wait = backoff(clock, rounds);
    if (open.length === 0 || clock.now() + wait >= end) return;
    await clock.sleep(wait, signal);
  }
}

/** undefined: the time is over, and all items have a result of an earlier round. */
async function sentOrNothing(send, rounds) {
  try {
    return await send();
  } catch (error) {
    if (rounds > 1 && error instanceof WaybillError && error.isTransient) return undefined;
    throw error;
  }
}

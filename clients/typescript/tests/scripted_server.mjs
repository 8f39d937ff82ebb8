// A host that misbehaves as it is told, and a clock that jumps to the end of every sleep.
import { createServer } from "node:http";
import { Client } from "../index.mjs";

/**
 * Serves on loopback until the test ends. Request n gets step n: {status, headers, json or text}, or a function of request and
 * response. A request more than that gets 500.
 */
export async function serve(t, ...steps) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    requests.push({ method: request.method, path: request.url, headers: request.headers, text: body, json: () => JSON.parse(body) });
    const step = steps[requests.length - 1] ?? { status: 500, text: "the script has ended" };
    if (typeof step === "function") return step(requests.at(-1), response);
    response.writeHead(step.status ?? 200, step.headers ?? {});
    response.end(step.text ?? (step.json === undefined ? undefined : JSON.stringify(step.json)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

export const drop = (request, response) => response.socket.destroy();
export const neverAnswer = () => undefined;
/** The head promises more than comes. */
export const halfAnswer = (request, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"intentId":', () => response.socket.destroy());
};
/** Without a length, what is cut looks like an end. */
export const cutAnswer = (request, response) => {
  response.useChunkedEncodingByDefault = false;
  response.removeHeader("transfer-encoding");
  response.writeHead(200, { connection: "close" });
  response.end('{"intentId":');
};
export const refusal = (status, code, more = {}) => ({ status, json: { error: { code, message: `about ${code}`, ...more } } });
export const unavailable = (retryAfter) =>
  ({ ...refusal(503, "unavailable"), headers: retryAfter === undefined ? {} : { "retry-after": String(retryAfter) } });

export class JumpingClock {
  time = 1000;
  slept = [];
  now() {
    return this.time;
  }
  random() {
    return 1;  // the longest wait
  }
  async sleep(seconds, signal) {
    signal?.throwIfAborted();
    this.slept.push(seconds);
    this.time += seconds;
  }
}

/** A client of the script, with a clock that jumps, and a time for slow machines. */
export async function clientOf(t, steps, options = {}) {
  const server = await serve(t, ...steps);
  const clock = new JumpingClock();
  return { server, clock, client: new Client({ url: server.url, token: "t0ken", clock, timeout: 60, ...options }) };
}

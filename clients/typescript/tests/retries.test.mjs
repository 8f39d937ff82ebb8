// What a call does when the host or the network misbehaves.  // Q8
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { Client, ConnectionError, ConflictError, RateLimitedError, TimeoutError, UnavailableError } from "../index.mjs";
import { milliseconds, systemClock } from "../clock.mjs";
import { clientOf, cutAnswer, drop, halfAnswer, JumpingClock, neverAnswer, refusal, serve, unavailable } from "./scripted_server.mjs";

const INTENT = { submissionTarget: "ops", payload: { n: 1 } };
const ACCEPTED = { json: { intentId: "i", submissionTarget: "ops", createdAt: "2026-01-01T00:00:00Z", status: "accepted" } };
const tooMany = (retryAfter) => ({ ...refusal(429, "rate_limited"), headers: { "retry-after": String(retryAfter) } });

for (const [name, trouble] of Object.entries({ drop, halfAnswer, cutAnswer, unavailable: unavailable(), "429": tooMany(1),
                                               "502": { status: 502, text: "<html>" }, "504": { status: 504 } }))
  test(`after ${name} the same bytes are sent again, under the same id`, async (t) => {
    const { client, server } = await clientOf(t, [trouble, trouble, ACCEPTED]);
    assert.equal((await client.submit(INTENT)).status, "accepted");
    assert.equal(server.requests.length, 3);
    assert.match(server.requests[0].json().intentId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual(server.requests.map(({ text }) => text), Array(3).fill(server.requests[0].text));
  });

test("two calls have two ids, and an id that is given stays", async (t) => {
  const { client, server } = await clientOf(t, [ACCEPTED, ACCEPTED, ACCEPTED]);
  await client.submit(INTENT);
  await client.submit(INTENT);
  await client.submit({ intentId: "mine", ...INTENT });
  const [first, second, third] = server.requests.map((request) => request.json().intentId);
  assert.notEqual(first, second);
  assert.equal(third, "mine");
});

test("an answer that does not come is given up, and asked for again", async (t) => {
  const { client, server } = await clientOf(t, [neverAnswer, ...Array(99).fill(ACCEPTED)], { timeout: 0.5, timeLimit: 1000 });
  assert.equal((await client.submit(INTENT)).status, "accepted");
  assert.ok(server.requests.length >= 2);
});

test("a body that does not end is given up as well", async (t) => {
  const drip = (request, response) => response.writeHead(200).write('{"intentId":');
  const { client } = await clientOf(t, [drip, ...Array(99).fill(ACCEPTED)], { timeout: 0.5, timeLimit: 1000 });
  assert.equal((await client.submit(INTENT)).status, "accepted");
});

test("nobody listens: a ConnectionError says so at the end of the time limit, with the id", async (t) => {
  const server = await serve(t);
  const clock = new JumpingClock();
  const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }));
  const client = new Client({ url: server.url, clock, fetch, timeLimit: 30 });
  const error = await client.submit({ intentId: "mine", ...INTENT }).catch((caught) => caught);
  assert.ok(error instanceof ConnectionError);
  assert.deepEqual([error.ids, error.isTransient, error.name], [["mine"], true, "ConnectionError"]);
  assert.match(error.message, /^POST \/v1\/intents: the connection failed: connect ECONNREFUSED/);
  assert.equal(error.attempts, clock.slept.length + 1);
  assert.ok(clock.time < 1030 && clock.time > 1015, `${clock.time}`);
});

test("a port without a listener is retried until somebody listens", async (t) => {
  const server = await serve(t, ACCEPTED), closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const nobody = `http://127.0.0.1:${closed.address().port}`;
  await new Promise((resolve) => closed.close(resolve));
  let calls = 0;
  const late = (url, options) => fetch(++calls < 3 ? nobody : url, options);
  const client = new Client({ url: server.url, clock: new JumpingClock(), fetch: late });
  assert.equal((await client.submit(INTENT)).status, "accepted");
  assert.equal(calls, 3);
});

test("waits double, with jitter, up to ten seconds", async (t) => {
  const { client, clock } = await clientOf(t, Array(20).fill(unavailable()), { timeLimit: 35 });
  await assert.rejects(client.submit(INTENT), UnavailableError);
  assert.deepEqual(clock.slept.map((wait) => wait.toFixed(1)), ["0.2", "0.4", "0.8", "1.6", "3.2", "6.4", "10.0", "10.0"]);
  const other = await clientOf(t, [unavailable(), ACCEPTED]);
  other.clock.random = () => 0;
  await other.client.submit(INTENT);
  assert.deepEqual(other.clock.slept, [0.1]);
});

test("Retry-After is the least wait, as seconds and as a date", async (t) => {
  const inAnHour = new Date(Date.now() + 3600_000).toUTCString();
  const steps = [tooMany(7), unavailable(inAnHour), unavailable("soon"), ACCEPTED];
  const { client, clock } = await clientOf(t, steps, { timeLimit: 4000 });
  await client.submit(INTENT);
  const [seconds, date, unreadable] = clock.slept;
  assert.equal(seconds, 7.2);
  assert.ok(date > 3000 && date <= 3600.5, `${date}`);
  assert.equal(unreadable, 0.8);
});

test("a Retry-After beyond the time limit ends the call at once", async (t) => {
  const { client, clock, server } = await clientOf(t, [tooMany(99999999)]);
  const error = await client.submit(INTENT).catch((caught) => caught);
  assert.ok(error instanceof RateLimitedError);
  assert.deepEqual([error.retryAfter, error.attempts, error.ids], [99999999, 1, [server.requests[0].json().intentId]]);
  assert.deepEqual(clock.slept, []);
});

test("a call's own time limit holds, and a TimeoutError is a ConnectionError", async (t) => {
  const { client } = await clientOf(t, Array(9).fill(neverAnswer));
  const error = await client.get("i", { timeLimit: 0.3 }).catch((caught) => caught);
  assert.ok(error instanceof TimeoutError && error instanceof ConnectionError);
  assert.match(error.message, /^GET \/v1\/intents\/i: no answer in 0\.[0-3] s$/);
});

test("waitSeconds is asked for each time, and given to the call on top", async (t) => {
  const clock = new JumpingClock();
  const { client, server } = await clientOf(t, [unavailable(55), ACCEPTED], { clock, timeLimit: 50 });
  assert.equal((await client.submit(INTENT, { waitSeconds: 20 })).status, "accepted");
  assert.deepEqual(server.requests.map(({ path }) => path), Array(2).fill("/v1/intents?waitSeconds=20"));
});

test("waitSeconds is given to each attempt as well", async () => {
  const clock = { ...systemClock, random: () => 1 };
  const client = new Client({ url: "http://host.test", clock, timeout: 0.2, timeLimit: 0.3, fetch: () => new Promise(() => undefined) });
  await assert.rejects(client.submit(INTENT, { waitSeconds: 1 }), { name: "TimeoutError", message: /no answer in 1\.2 s$/ });
});

test("the system's clock sleeps no moment for a signal that is aborted, and knows how far timers count", async () => {
  const reason = new Error("enough");
  await assert.rejects(systemClock.sleep(1e9, AbortSignal.abort(reason)), reason);
  assert.deepEqual([milliseconds(1.5), milliseconds(1e12)], [1500, 2 ** 31 - 1]);
});

test("a refusal is not repeated", async (t) => {
  const { client, server } = await clientOf(t, [refusal(409, "idempotency_conflict")]);
  await assert.rejects(client.submit(INTENT), ConflictError);
  assert.equal(server.requests.length, 1);
});

test("the caller's signal ends a request and a wait, with the caller's reason", async (t) => {
  const reason = new Error("enough");
  const controller = new AbortController();
  const abort = () => controller.abort(reason);
  const { client } = await clientOf(t, [abort], { timeout: 1e9, timeLimit: 1e9 });
  await assert.rejects(client.submit(INTENT, { signal: controller.signal }), reason);

  const waiting = new AbortController();
  const server = await serve(t, unavailable(3000));
  const real = new Client({ url: server.url, timeLimit: 1e9, fetch: async (...call) => {
    setImmediate(() => setTimeout(() => waiting.abort(reason), 100));
    return fetch(...call);
  } });
  await assert.rejects(real.submit(INTENT, { signal: waiting.signal }), reason);

  const before = await clientOf(t, []);
  await assert.rejects(before.client.get("i", { signal: AbortSignal.abort(reason) }), reason);
  assert.equal(before.server.requests.length, 0);
});

test("a fetch that ignores its signal is left alone", async () => {
  const client = new Client({ url: "http://host.test", clock: new JumpingClock(), fetch: () => new Promise(() => undefined) });
  await assert.rejects(client.get("i", { timeLimit: 0.3 }), TimeoutError);
});

test("what the host may have done is repeated only where that does no harm", async (t) => {
  const { client, server } = await clientOf(t, [unavailable(), tooMany(1), ACCEPTED, unavailable(), ACCEPTED]);
  await assert.rejects(client.request("POST", "/v1/dead/d_1/clone", { body: { reference: "x" } }), UnavailableError);
  await client.request("POST", "/v1/dead/d_1/clone", { body: { reference: "x" } });
  assert.equal(server.requests.length, 3);
  await client.request("POST", "/v1/dead/d_1/replay", { isRepeatable: true });
  assert.equal(server.requests.length, 5);
});

test("a redirect is not followed: it could make a GET of a POST", async (t) => {
  const { client, server } = await clientOf(t, [{ status: 301, headers: { location: "/elsewhere" } }]);
  await assert.rejects(client.submit(INTENT), { name: "ApiError", code: "redirect", status: 301 });
  assert.equal(server.requests.length, 1);
});

test("a token function is asked for each attempt, and its error is the caller's", async (t) => {
  let asked = 0;
  const { client, server } = await clientOf(t, [unavailable(), ACCEPTED], { token: async () => `t${++asked}` });
  await client.submit(INTENT);
  assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), ["Bearer t1", "Bearer t2"]);
  const lost = new Error("no token today");
  const other = await clientOf(t, [], { token: () => Promise.reject(lost) });
  await assert.rejects(other.client.get("i"), lost);
});

/** The plugin my_destination on a fake host: what it sends, and what it makes of every answer. */
import * as assert from "node:assert/strict";
import { test } from "node:test";
import "./sender.mjs"; // says what the plugin has
import { type AnswerOptions, FakeHost, type JobOptions } from "./waybill_testing.mjs";

const URL = "https://api.test/messages";
const PAYLOAD = new TextEncoder().encode('{"text": "Hello"}');

function attempt(host: FakeHost, job: JobOptions = {}) {
  return host.send("my_destination", { destination: { url: URL, channel: "ops" }, payload: PAYLOAD, ...job });
}

function attemptWith(host: FakeHost, answer: AnswerOptions) {
  host.answer(answer);
  return attempt(host, { idempotencyKey: "order-4711" });
}

test("it posts the payload as it is", async () => {
  const host = new FakeHost();
  assert.equal((await attemptWith(host, { status: 202 })).verdict, "accepted");
  const [request] = host.requests;
  assert.deepEqual([request.method, request.url], ["POST", URL]);
  assert.equal(request.headers.get("Content-Type"), "application/json");
  assert.equal(request.headers.get("X-Channel"), "ops");
  assert.equal(new TextDecoder().decode(request.body), '{"text": "Hello"}');
});

test("it needs no channel", async () => {
  const host = new FakeHost();
  host.answer(200);
  assert.equal((await attempt(host, { destination: { url: URL } })).verdict, "accepted");
  assert.ok(!host.requests[0].headers.has("X-Channel"));
});

test("every attempt has the same idempotency key", async () => {
  const host = new FakeHost();
  for (const status of [503, 200]) await attemptWith(host, { status });
  assert.deepEqual(host.requests.map((request) => request.headers.get("Idempotency-Key")), ["order-4711", "order-4711"]);
});

test("every success is accepted", async () => {
  const host = new FakeHost();
  for (const status of [200, 201, 202, 204]) {
    const outcome = await attemptWith(host, { status });
    assert.deepEqual([outcome.verdict, outcome.code], ["accepted", status]);
  }
});

test("a busy receiver is tried again when it says", async () => {
  const host = new FakeHost();
  for (const status of [408, 425, 429, 500, 503]) {
    const outcome = await attemptWith(host, { status, retryAfter: 7 });
    assert.deepEqual([outcome.verdict, outcome.retryAfter], ["transient", 7]);
    assert.equal(outcome.scope, status === 429 || status === 503 ? "whole_target" : "this_job");
  }
});

test("refused credentials rest the whole target", async () => {
  const host = new FakeHost();
  for (const status of [401, 403]) {
    const outcome = await attemptWith(host, { status });
    assert.deepEqual([outcome.verdict, outcome.scope], ["transient", "whole_target"]);
  }
});

test("anything else that the receiver refuses is rejected", async () => {
  const host = new FakeHost();
  for (const [status, reason] of [[400, "invalid_request"], [404, "not_found"], [422, "invalid_request"]] as const) {
    const outcome = await attemptWith(host, { status });
    assert.deepEqual([outcome.verdict, outcome.reason, outcome.reach], ["rejected", reason, "answered"]);
  }
});

test("a redirect is not followed", async () => {
  assert.equal((await attemptWith(new FakeHost(), { status: 302 })).verdict, "transient");
});

test("a network error is transient, and reached as far as the host saw", async () => {
  const host = new FakeHost();
  for (const [error, reach] of [["connect", "not_sent"], ["broken", "maybe_sent"]] as const) {
    const outcome = await attemptWith(host, { error });
    assert.deepEqual([outcome.verdict, outcome.reach], ["transient", reach]);
  }
});

test("the operator sets the timeout", async () => {
  const host = new FakeHost({ settings: { timeout_ms: 250 } });
  host.answer({ silent: true });
  assert.equal((await attempt(host)).reason, "timeout");
  assert.equal(host.now, 0.25);
});

test("a cancelled call ends", async () => {
  const host = new FakeHost();
  host.answer({ silent: true });
  const outcome = await attempt(host, { cancelAfter: 1 });
  assert.deepEqual([outcome.verdict, outcome.reason, host.now], ["transient", "cancelled", 1]);
  assert.ok(host.requests[0].isAborted);
});

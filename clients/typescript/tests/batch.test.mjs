// Batches: what is not acknowledged is repeated alone, and everything comes back in its order.  // Q8
import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidRequestError, UnavailableError, WaybillError } from "../index.mjs";
import { clientOf, drop, refusal, unavailable } from "./scripted_server.mjs";

const intents = (...ids) => ids.map((intentId) => ({ intentId, submissionTarget: "ops" }));
const accepted = (id) => ({ status: 200, intent: { intentId: id, status: "pending" } });
const busy = { status: 503, error: { code: "unavailable", message: "try again" } };
const answer = (...results) => ({ json: { results } });
const idsOf = (request) => request.json().map(({ intentId }) => intentId);
/** Accepts all. */
const acceptAll = (request, response) => response.end(JSON.stringify({ results: idsOf(request).map(accepted) }));

test("items that are not acknowledged are repeated alone, in the first order", async (t) => {
  const bad = { status: 400, error: { code: "invalid_request", message: "no such target" } };
  const { client, server } = await clientOf(t, [answer(busy, bad, busy, accepted("d")), answer(accepted("a"), busy), acceptAll]);
  const results = await client.submitBatch(intents("a", "b", "c", "d"));
  assert.deepEqual(results.map(({ intentId, status }) => [intentId, status]), [["a", 200], ["b", 400], ["c", 200], ["d", 200]]);
  assert.equal(results[1].error.code, "invalid_request");
  assert.deepEqual(server.requests.map(idsOf), [["a", "b", "c", "d"], ["a", "c"], ["c"]]);
});

test("ids are made once, for lost answers and for 503 alike", async (t) => {
  const { client, server } = await clientOf(t, [drop, unavailable(), acceptAll]);
  const results = await client.submitBatch([{ submissionTarget: "ops" }, { submissionTarget: "ops" }]);
  assert.equal(new Set(results.map(({ intentId }) => intentId)).size, 2);
  assert.deepEqual(server.requests.map(idsOf), Array(3).fill(results.map(({ intentId }) => intentId)));
});

test("what is busy until the end keeps its 503", async (t) => {
  const { client } = await clientOf(t, Array(20).fill(answer(busy)), { timeLimit: 30 });
  const [result] = await client.submitBatch(intents("a"));
  assert.deepEqual(result, { intentId: "a", ...busy });
  const lost = await clientOf(t, [answer(accepted("a"), busy), ...Array(20).fill(drop)], { timeLimit: 30 });
  const results = await lost.client.submitBatch(intents("a", "b"));
  assert.deepEqual(results.map(({ status }) => status), [200, 503]);
});

test("a batch that is refused as a whole throws, with all ids", async (t) => {
  const { client } = await clientOf(t, [refusal(400, "invalid_request")]);
  await assert.rejects(client.submitBatch(intents("a", "b")), (error) => {
    assert.ok(error instanceof InvalidRequestError);
    assert.deepEqual(error.ids, ["a", "b"]);
    return true;
  });
  const busyHost = await clientOf(t, Array(20).fill(unavailable()), { timeLimit: 10 });
  await assert.rejects(busyHost.client.submitBatch(intents("a")), UnavailableError);
});

test("an answer with too few results is not taken for one", async (t) => {
  const { client } = await clientOf(t, [answer(accepted("a"))]);
  await assert.rejects(client.submitBatch(intents("a", "b")), WaybillError);
});

test("more than a request may have goes in several: by number, and by bytes", async (t) => {
  const many = Array.from({ length: 10_001 }, (_, n) => ({ intentId: `i${n}`, submissionTarget: "t" }));
  const { client, server } = await clientOf(t, [acceptAll, acceptAll, acceptAll, acceptAll, acceptAll]);
  const results = await client.submitBatch(many);
  assert.deepEqual(server.requests.map((request) => idsOf(request).length), [10_000, 1]);
  assert.ok(results.every((result, n) => result.intentId === `i${n}` && result.intent.intentId === `i${n}`));

  const large = ["a", "b", "c", "d"].map((intentId) => (
    { intentId, submissionTarget: "t", payload: "ü".repeat(intentId === "b" ? 600_000 : 200_000) }));
  await client.submitBatch(large);
  assert.deepEqual(server.requests.slice(2).map(idsOf), [["a"], ["b"], ["c", "d"]]);
});

test("nothing to submit is no request", async (t) => {
  const { client, server } = await clientOf(t, []);
  assert.deepEqual(await client.submitBatch([]), []);
  assert.equal(server.requests.length, 0);
});

// Every call against a real host, which ../../tests/live_host.py starts.  // Q8
import assert from "node:assert/strict";
import { Client, ConflictError, hasEnded, InvalidRequestError, NotFoundError, UnauthorizedError, verify } from "../index.mjs";

const { WAYBILL_URL: url, WAYBILL_TOKEN: token, WAYBILL_RULE: rule, WAYBILL_RECEIVED: received, WAYBILL_SECRETS: secrets } = process.env;
const client = new Client({ url, token: async () => token, timeout: 60, timeLimit: 600 });

async function all(listing) {
  const items = [];
  for await (const item of listing) items.push(item);
  return items;
}

const PATIENCE = 300_000;  // milliseconds: for what happens soon, on a machine that is ten times slower

async function until(ask, isThere) {
  for (const end = Date.now() + PATIENCE; ; ) {
    const found = await ask();
    if (isThere(found)) return found;
    assert.ok(Date.now() < end, `not in time: ${JSON.stringify(found)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// An intent, by itself.
const odd = "a/b c%ü?";
const submitted = await client.submit({ intentId: odd, submissionTarget: "hook", payload: { number: 1 } }, { waitSeconds: 60 });
assert.equal(submitted.intentId, odd);
const intent = await until(() => client.get(odd), hasEnded);
assert.equal(intent.status, "accepted");
assert.deepEqual(await client.submit({ intentId: odd, submissionTarget: "hook", payload: { number: 1 } }), intent);
const history = await client.history(odd);
assert.deepEqual(history.intent, intent);
assert.equal(history.attempts.at(-1).outcomeStatus, "accepted");
await assert.rejects(client.submit({ intentId: odd, submissionTarget: "hook", payload: 2 }), (error) =>
  error instanceof ConflictError && error.code === "idempotency_conflict" && error.ids[0] === odd);
await assert.rejects(client.submit({ submissionTarget: "nobody" }), InvalidRequestError);
await assert.rejects(client.get("not there"), NotFoundError);
await assert.rejects(new Client({ url, token: "wrong" }).get(odd), UnauthorizedError);

// What the receiver got: signed with both secrets, of which either is enough, and nothing else is.
const [{ headers, body }] = await (await fetch(received)).json();
const bytes = Buffer.from(body, "base64");
for (const some of [secrets.split(" "), ...secrets.split(" ")])
  assert.deepEqual((await verify(headers, bytes, some)).json(), { number: 1 });
await assert.rejects(verify(headers, bytes, "whsec_AAAA"), { code: "wrong_signature" });
await assert.rejects(verify(headers, `${bytes} `, secrets.split(" ")), { code: "wrong_signature" });

// A batch, and lists.
const results = await client.submitBatch(["hook", "nobody", "hook"].map((submissionTarget) => ({ submissionTarget })));
assert.deepEqual(results.map(({ status }) => status), [200, 400, 200]);
assert.equal(results[1].error.code, "invalid_request");
const listed = await all(client.list({ target: "hook", limit: 1, since: new Date(0) }));
assert.deepEqual(listed.map(({ intentId }) => intentId).sort(), [odd, results[0].intentId, results[2].intentId].sort());

// Forms.
const form = await client.submitForm({ formId: "contact", fields: { name: "Ada" } });
assert.equal(form.status, "received");
assert.ok(["processing", "routed"].includes((await client.finalize(form.submissionId)).status));
const routed = await until(() => client.getSubmission(form.submissionId), ({ status }) => status === "routed");
assert.equal(routed.formId, "contact");
assert.deepEqual((await all(client.listSubmissions({ formId: "contact" }))).map(({ submissionId }) => submissionId), [form.submissionId]);

// Pipelines.
const job = await client.submitJob("parcels", { submissionId: "parcel-1", payload: { weight: 3 }, metadata: { reference: "r1" } });
assert.deepEqual([job.submissionId, job.pipeline], ["parcel-1", "parcels"]);
await until(() => client.getSubmission("parcel-1"), ({ state }) => state === "DONE");
const post = await client.postForm({ answers: { weight: 4 } });
assert.equal(post.submissions.length, 1);
assert.equal((await all(client.listSubmissions({ pipeline: "parcels", limit: 1 }))).length, 2);

// Events, and a route without a method of its own.
const event = await client.publish(rule, { eventId: "e1", snapshot: { n: 1 } });
assert.deepEqual(event, { eventId: "e1", channels: 1, duplicate: false });
assert.equal((await client.publish(rule, { eventId: "e1", snapshot: { n: 1 } })).duplicate, true);
const deliveries = () => all(client.listing("/orgs/default/deliveries", { rule_id: rule }));
const [delivery] = await until(deliveries, ([first]) => first?.status === "succeeded");
assert.deepEqual((await client.request("GET", `/orgs/default/deliveries/${delivery.id}`)).payload, [{ n: 1 }]);

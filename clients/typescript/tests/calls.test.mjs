// What each call sends, and what it makes of answers.  // Q8
import assert from "node:assert/strict";
import { test } from "node:test";
import * as waybill from "../index.mjs";
import { clientOf, refusal } from "./scripted_server.mjs";

/** Each call, and the request that it makes. */
const CALLS = [
  [(c) => c.submit({ intentId: "i", submissionTarget: "ops", payload: 1, notBefore: new Date(0), expiresAt: "2027-01-01T00:00:00Z",
                     orderingKey: "k" }, { traceparent: "00-a", tracestate: "b=c" }),
   "POST /v1/intents", { intentId: "i", submissionTarget: "ops", payload: 1, notBefore: "1970-01-01T00:00:00.000Z",
                         expiresAt: "2027-01-01T00:00:00Z", orderingKey: "k" }],
  [(c) => c.get("a/b c%"), "GET /v1/intents/a%2Fb%20c%25"],
  [(c) => c.history("ü"), "GET /v1/intents/%C3%BC/history"],
  [(c) => c.cancel("i", { reason: "moved" }), "POST /v1/intents/i/cancel", { reason: "moved" }],
  [(c) => c.cancel("i"), "POST /v1/intents/i/cancel", {}],
  [(c) => c.reschedule("i", new Date(0)), "PATCH /v1/intents/i", { notBefore: "1970-01-01T00:00:00.000Z" }],
  [(c) => c.submitForm({ submissionId: "s", formId: "contact", fields: {} }), "POST /v1/submissions",
   { submissionId: "s", formId: "contact", fields: {} }],
  [(c) => c.finalize("s"), "POST /v1/submissions/s/finalize"],
  [(c) => c.submitJob("verification", { submissionId: "s", payload: [] }), "POST /v1/pipelines/verification/submissions",
   { submissionId: "s", payload: [] }],
  [(c) => c.postForm({ submissionId: "s", answers: {} }), "POST /forms", { submissionId: "s", answers: {} }],
  [(c) => c.getSubmission("s"), "GET /v1/submissions/s"],
  [(c) => c.publish("rule", { eventId: "e", snapshot: { n: 1 }, orderingKey: "k" }), "POST /orgs/default/alert-rules/rule/events",
   { eventId: "e", snapshot: { n: 1 }, orderingKey: "k" }],
  [(c) => c.request("DELETE", "/orgs/acme/channels/c"), "DELETE /orgs/acme/channels/c"],
  [(c) => c.request("GET", "/v1/stats", { query: { a: 1, b: undefined } }), "GET /v1/stats?a=1"],
];

for (const [call, line, body] of CALLS)
  test(line, async (t) => {
    const { client, server } = await clientOf(t, [{ status: 202, json: { answer: 1 } }]);
    assert.deepEqual(await call(client), { answer: 1 });
    const [request] = server.requests;
    assert.equal(`${request.method} ${request.path}`, line);
    assert.equal(request.headers.authorization, "Bearer t0ken");
    assert.equal(request.headers["content-type"], body && "application/json");
    if (body) assert.deepEqual(request.json(), body);
    else assert.equal(request.text, "");
    assert.equal(request.headers.traceparent, line === "POST /v1/intents" ? "00-a" : undefined);
  });

test("what is handed in without an id gets one", async (t) => {
  const { client, server } = await clientOf(t, Array(4).fill({ json: {} }));
  await client.submitForm({ formId: "contact", fields: {} });
  await client.submitJob("p", { payload: 1 });
  await client.postForm({ answers: 1 });
  await client.publish("rule", { snapshot: 1 });
  const ids = server.requests.map((request) => request.json().submissionId ?? request.json().eventId);
  assert.equal(new Set(ids).size, 4);
  for (const id of ids) assert.match(id, /^[0-9a-f-]{36}$/);
});

test("the URL may have a path, events go to the client's organisation, and no token is none", async (t) => {
  const { client, server } = await clientOf(t, [{ json: {} }]);
  const below = new waybill.Client({ url: new URL(`${server.url}/waybill/`), organisation: "a b" });
  await below.publish("rule", { snapshot: 1 });
  assert.equal(server.requests[0].path, "/waybill/orgs/a%20b/alert-rules/rule/events");
  assert.equal(server.requests[0].headers.authorization, undefined);
  assert.ok(client);
});

test("nothing comes back of a 204", async (t) => {
  const { client } = await clientOf(t, [{ status: 204 }]);
  assert.equal(await client.request("DELETE", "/orgs/a/channels/c"), undefined);
});

test("an id that no URL can hold is refused, as a rejection", async (t) => {
  const { client, server } = await clientOf(t, []);
  for (const id of [".", "..", ""]) await assert.rejects(client.get(id), TypeError);
  assert.equal(server.requests.length, 0);
});

test("a path that would change the host is refused", async (t) => {
  const { client, server } = await clientOf(t, []);
  for (const path of [".example.org/", "@example.org/", ""]) await assert.rejects(client.request("GET", path), TypeError);
  assert.equal(server.requests.length, 0);
});

test("without a fetch there is no client", () => {
  assert.throws(() => new waybill.Client({ url: "http://host.test", fetch: null }), /there is no fetch/);
});

test("a URL that is none, or says too much, is refused", () => {
  for (const url of ["ftp://host", "host", "http://user:word@host", "http://host?a", "http://host#a"])
    assert.throws(() => new waybill.Client({ url }), TypeError);
});

const CLASSES = { 400: "InvalidRequestError", 401: "UnauthorizedError", 403: "ForbiddenError", 404: "NotFoundError", 409: "ConflictError",
                  413: "InvalidRequestError", 415: "InvalidRequestError", 422: "InvalidRequestError", 405: "ApiError", 500: "ApiError" };
for (const [status, name] of Object.entries(CLASSES))
  test(`${status} is a ${name} with the problem's fields`, async (t) => {
    const problems = [{ file: "targets.json", line: 3 }];
    const { client } = await clientOf(t, [refusal(Number(status), "some_code", { problems })]);
    const error = await client.submit({ intentId: "i", submissionTarget: "t" }).catch((caught) => caught);
    assert.ok(error instanceof waybill[name] && error instanceof waybill.ApiError && error instanceof waybill.WaybillError);
    assert.deepEqual([error.name, error.status, error.code, error.isTransient, error.ids],
                     [name, Number(status), "some_code", false, ["i"]]);
    assert.deepEqual(error.problem, { code: "some_code", message: "about some_code", problems });
    assert.equal(error.message, `POST /v1/intents: ${status} some_code: about some_code`);
  });

test("a cancellation that comes too late has the intent as it is, beside or in the error", async (t) => {
  const intent = { intentId: "i", status: "accepted" };
  const beside = refusal(409, "has_ended");
  beside.json.intent = intent;
  const { client } = await clientOf(t, [refusal(409, "under_way", { intent }), beside]);
  for (const code of ["under_way", "has_ended"])
    await assert.rejects(client.cancel("i"), (error) => {
      assert.ok(error instanceof waybill.ConflictError);
      assert.deepEqual([error.code, error.intent], [code, intent]);
      return true;
    });
});

test("an error that is none of Waybill's is shown, cut", async (t) => {
  const { client } = await clientOf(t, [{ status: 405, text: "x".repeat(1000) }]);
  await assert.rejects(client.get("i"), { code: "unknown", message: `GET /v1/intents/i: 405 unknown: ${"x".repeat(200)}` });
});

test("a filter cancels part after part, and counts all", async (t) => {
  const part = (count, next) => ({ json: { count, dryRun: false, next } });
  const { client, server } = await clientOf(t, [part(2, "c1"), part(0, "c2"), part(3, null)]);
  assert.deepEqual(await client.cancelAll({ target: "ops", olderThanSeconds: 60 }), { count: 5, dryRun: false });
  assert.deepEqual(server.requests.map((request) => request.json()), [
    { target: "ops", olderThanSeconds: 60 }, { target: "ops", olderThanSeconds: 60, cursor: "c1" },
    { target: "ops", olderThanSeconds: 60, cursor: "c2" }]);
});

test("a list is its items over all pages, also behind an empty one; or its pages", async (t) => {
  const pages = [{ items: [1, 2], next: "a&b" }, { items: [], next: "c" }, { items: [3], next: null }];
  const { client, server } = await clientOf(t, [...pages, ...pages].map((json) => ({ json })));
  const items = [];
  for await (const item of client.list({ target: "ops", since: new Date(0), limit: 2 })) items.push(item);
  assert.deepEqual(items, [1, 2, 3]);
  const query = "/v1/intents?target=ops&since=1970-01-01T00%3A00%3A00.000Z&limit=2";
  assert.deepEqual(server.requests.map(({ path }) => path), [query, `${query}&cursor=a%26b`, `${query}&cursor=c`]);
  const seen = [];
  for await (const page of client.listSubmissions({ cursor: "x" }).pages()) seen.push(page);
  assert.deepEqual(seen, pages);
  assert.equal(server.requests[3].path, "/v1/submissions?cursor=x");
});

test("a list that nobody reads to its end asks for no more", async (t) => {
  const { client, server } = await clientOf(t, [{ json: { items: [1, 2], next: "a" } }]);
  for await (const item of client.listing("/v1/dead")) {
    assert.equal(item, 1);
    break;
  }
  assert.equal(server.requests.length, 1);
});

test("ends are those that are known", () => {
  const all = ["pending", "accepted", "rejected", "exhausted", "cancelled", "something_new"];
  assert.deepEqual(all.filter((status) => waybill.hasEnded({ status })), ["accepted", "rejected", "exhausted", "cancelled"]);
});

// Compose, status, probe, failures and checks, in a process. I4
import assert from "node:assert/strict";
import { fields, it, PluginProcess, response, start } from "./host_side.mjs";
import { Kind } from "../waybill_plugin.mjs";

const SENDS = 'waybill.sender("x", async () => waybill.accepted());\n';

it("compose makes the bytes", async (t) => {
  const process = await start(t, `${SENDS}
waybill.compose("x", async (job) => waybill.accepted({ artifact: "Dear " + job.payloadBytes, artifactType: "text/plain" }));`);
  process.begin(1, { asked: "compose", payload: Buffer.from("Ann") });
  const outcome = await process.outcome();
  assert.deepEqual([String(outcome.artifact), outcome.artifactType], ["Dear Ann", "text/plain"]);
});

it("status and probe ask", async (t) => {
  const process = await start(t, `${SENDS}
waybill.status("x", async (job, host) => {
  const answer = await host.fetch("GET", "https://api.test/" + job.providerRef);
  return answer.json() === "there" ? waybill.accepted(answer) : waybill.deferred("under_way", answer);
});
waybill.probe("x", async (job, host) => waybill.judge(await host.fetch("GET", "https://api.test/health"), "refused"));`);
  for (const [asked, url, body, verdict] of [["status", "https://api.test/r7", '"there"', "accepted"],
                                             ["status", "https://api.test/r7", '"soon"', "deferred"],
                                             ["probe", "https://api.test/health", "", "accepted"]]) {
    process.begin(1, { asked, providerRef: "r7" });
    const [, request, asks] = await process.fetched();
    assert.ok(asks.includes(url));
    process.say(response(request, 200, { body }));
    assert.equal((await process.outcome()).verdict, verdict);
  }
});

it("what the plugin has no function for is told", async (t) => {
  const process = await start(t, SENDS);
  process.begin(1, { asked: "probe" });
  assert.equal((await process.outcome()).detail, "Error: the plugin has no function for probe");
});

it("failures are listed by a generator or a function", async (t) => {
  const failure = 'new waybill.Failure({ providerRef: `${job.since} ${job.page}`, idempotencyKey: "k", reason: "bounced", ' +
    'detail: "d", failedAt: 9 })';
  for (const listing of [`async function* (job) { yield ${failure}; yield new waybill.NextPage("3"); }`,
                         `function* (job) { yield ${failure}; yield new waybill.NextPage("3"); }`,
                         `async (job, host) => { host.report(${failure}); host.nextPage("3"); return waybill.accepted(); }`]) {
    const process = await start(t, `${SENDS}waybill.failures("x", ${listing});`);
    process.begin(4, { asked: "failures", since: 1_700_000_000, page: "2" });
    const [, listed] = await process.expect(Kind.FAILURE);
    assert.deepEqual(listed, fields((frame) => frame.u64(4).i64(9).text("1700000000 2").text("k").text("bounced").text("d")));
    const [, next] = await process.expect(Kind.NEXT_PAGE);
    assert.deepEqual(next, fields((frame) => frame.u64(4).text("3")));
    assert.equal((await process.outcome()).verdict, "accepted");
  }
});

it("a generator may end with another outcome, or wrongly", async (t) => {
  for (const [line, reason] of [['yield waybill.transient("not_told")', "not_told"], ["yield 3", "plugin_error"],
                                ["null.no; yield", "plugin_error"]]) {
    const process = await start(t, `${SENDS}waybill.failures("x", async function* () { ${line}; });`);
    process.begin(1, { asked: "failures" });
    assert.equal((await process.outcome()).reason, reason);
  }
});

const CHECKS = `${SENDS}
waybill.checkSettings("x", function* (settings) {
  if (!("a" in settings)) yield ["/a", "it is missing"];
  if (settings.b) throw new RangeError("no b");
});
waybill.checkDestination("x", (destination) => destination.url === "bad" ? [["", "not this one"]] : undefined);`;

it("problems have a place and a message", async (t) => {
  const process = new PluginProcess(t, CHECKS);
  await process.greet();
  assert.deepEqual(await process.check(1, "{}"), [1, [["/a", "it is missing"]]]);
  assert.deepEqual(await process.check(1, '{"a": 1}'), [0, []]);
  assert.deepEqual(await process.check(2, '{"url": "bad"}'), [1, [["", "not this one"]]]);
  assert.deepEqual(await process.check(2, '{"url": "good"}'), [0, []]);
});

it("where there is no check all is good", async (t) => {
  const process = new PluginProcess(t, CHECKS);
  await process.greet();
  assert.deepEqual(await process.check(1, "{}", "y"), [0, []]);
});

it("a check that fails is a problem", async (t) => {
  const process = new PluginProcess(t, CHECKS);
  await process.greet();
  for (const [data, why] of [['{"a": 1, "b": 1}', "RangeError: no b"], ["\0", "SyntaxError: "], ["7", "TypeError: "]]) {
    const [count, [[path, message]]] = await process.check(1, data);
    assert.deepEqual([count, path], [1, ""]);
    assert.ok(message.startsWith(`the plugin failed while it checked this: ${why}`), message);
  }
});

it("a check that asks nevertheless fails", async (t) => {
  const process = new PluginProcess(t, `${SENDS}waybill.checkSettings("x", () => Promise.resolve([]));`);
  await process.greet();
  const [, [[, message]]] = await process.check(1, "{}");
  assert.match(message, /the plugin failed while it checked this: TypeError/);
});

it("more than a thousand problems are as bad as a thousand", async (t) => {
  const process = new PluginProcess(t, `${SENDS}waybill.checkSettings("x", function* () { for (;;) yield ["", "bad"]; });`);
  await process.greet();
  assert.equal((await process.check(1, "{}"))[0], 1000);
});

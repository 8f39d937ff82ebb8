// The fake host for plugins' unit tests: what it scripts, what it saw, its clock, and what it complains of. I4
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { folderOf, it } from "./host_side.mjs";
import * as waybill from "../waybill_plugin.mjs";
import { FakeHost } from "../waybill_testing.mjs";

const ACTIONS = [{ type: "x", reasons: ["refused"] }, { type: "y", reasons: ["refused"] }];
const A_TEST = { destination: { url: "https://a.test" } };
const accepts = async () => waybill.accepted();

const pluginJson = (t) => join(folderOf(t, { "plugin.json": JSON.stringify({ actions: ACTIONS }) }), "plugin.json");

/** A fake host with a plugin that has `send`, and these other functions, for the action type x; y accepts. */
function hostOf(t, send = accepts, { roles = {}, ...options } = {}) {
  const plugin = new waybill.Plugin();
  plugin.take("sender", "x", send);
  plugin.take("sender", "y", accepts);
  for (const [role, takes] of Object.entries(roles)) plugin.take(role, "x", takes);
  return new FakeHost({ plugin, pluginJson: pluginJson(t), ...options });
}

async function complains(words, host, job) {
  await assert.rejects(host.send("x", job), (error) => error.name === "AssertionError" && error.message.includes(words));
}

async function fetches(job, host) {
  const answer = await host.fetch("POST", job.destination.url, { json: job.payload, headers: { Key: job.idempotencyKey } });
  return waybill.judge(answer, "refused");
}

// ---- scripting ----

it("answers come in order, and requests are kept", async (t) => {
  const host = hostOf(t, fetches);
  host.answer(201, { json: { id: 7 }, headers: { "X-Id": "7" }, retryAfter: 3 });
  host.answer(503, { headers: { "Retry-After": 9 } });
  const first = await host.send("x", { ...A_TEST, payload: { t: 1 }, idempotencyKey: "k" });
  const second = await host.send("x", { ...A_TEST, payload: { t: 2 }, idempotencyKey: "k" });
  assert.deepEqual([first.verdict, second.verdict, second.retryAfter], ["accepted", "transient", 9]);
  const request = host.requests[1];
  assert.deepEqual([request.method, request.url, request.json()], ["POST", "https://a.test", { t: 2 }]);
  assert.deepEqual(["KEY", "content-type"].map((name) => request.headers.get(name)), ["k", "application/json"]);
});

it("an answer may be for one URL, or a function of the request", async (t) => {
  const host = hostOf(t, fetches);
  host.answer(400);
  host.answer((request) => ({ status: 200 + request.json() }), { url: "https://b.test" });
  assert.equal((await host.send("x", { destination: { url: "https://b.test" }, payload: 2 })).code, 202);
  assert.equal((await host.send("x", A_TEST)).code, 400);
});

it("errors have the reach that a host would see", async (t) => {
  const host = hostOf(t, fetches);
  for (const [error, reach] of [["connect", "not_sent"], ["refused", "not_sent"], ["timeout", "maybe_sent"],
                                ["broken", "maybe_sent"]]) {
    host.answer({ error });
    assert.equal((await host.send("x", A_TEST)).reach, reach);
  }
  host.answer({ error: "timeout", reach: "not_sent" });
  assert.equal((await host.send("x", A_TEST)).reach, "not_sent");
});

it("a misspelt word is an error", async (t) => {
  assert.throws(() => hostOf(t).answer({ stats: 200 }), TypeError);
  assert.throws(() => hostOf(t).answer({ error: "conect" }), TypeError);
  assert.throws(() => hostOf(t).mailAnswer({ status: 250 }), TypeError);
  assert.throws(() => hostOf(t, accepts, { secretes: {} }), TypeError);
  await assert.rejects(hostOf(t).send("x", { paylod: 1 }), TypeError);
});

it("an exception reached as far as what was asked before", async (t) => {
  const host = hostOf(t, async (job, asked) => {
    if (job.payload) await asked.fetch("GET", "https://a.test");
    throw new Error("no");
  });
  host.answer();
  assert.equal((await host.send("x", { payload: false })).reach, "not_sent");
  assert.equal((await host.send("x", { payload: true })).reach, "maybe_sent");
});

it("a body is cut as a host cuts it", async (t) => {
  const host = hostOf(t, async (job, asked) => {
    const answers = [];
    for (const options of [{}, { maxResponseBytes: 5000 }]) answers.push(await asked.fetch("GET", "https://a.test", options));
    return waybill.accepted({ result: answers.map((one) => [one.body.length, one.isTruncated]) });
  });
  for (let n = 0; n < 2; ++n) host.answer({ body: "b".repeat(5000) });
  assert.deepEqual((await host.send("x")).result, [[4096, true], [5000, false]]);
});

it("secrets are filled in and never seen", async (t) => {
  const host = hostOf(t, async (job, asked) => waybill.judge(await asked.fetch("POST", "https://a.test/{secret:key}", {
    headers: { Authorization: "Bearer {oauth2:crm}" }, body: ['{"key":"', new waybill.Secret("odd", "json"), '"}'],
  }), "refused"), { secrets: { key: ["new", "old"], odd: 'a"b' }, oauth2Clients: ["crm"] });
  host.answer();
  assert.equal((await host.send("x")).verdict, "accepted");
  const [request] = host.requests;
  assert.deepEqual([request.filledUrl, String(request.filledBody)], ["https://a.test/new", '{"key":"a\\"b"}']);
  assert.equal(request.filledHeaders.get("authorization"), "Bearer token of crm");
  assert.equal(request.headers.get("authorization"), "Bearer {oauth2:crm}");
});

it("so is a login", async (t) => {
  const host = hostOf(t, async (job, asked) => waybill.judge(
    await asked.fetch("GET", "https://a.test", { basicUser: "user", basicPassword: "password" }), "refused"),
                      { secrets: { user: "ann", password: "pw" } });
  host.answer();
  await host.send("x");
  assert.equal(host.requests[0].filledHeaders.get("authorization"), `Basic ${Buffer.from("ann:pw").toString("base64")}`);
});

it("a host refuses secrets that it does not have, in clear, or where it fills none in", async (t) => {
  const host = hostOf(t, async (job, asked) => waybill.judge(
    await asked.fetch("GET", job.destination.url, { headers: { A: job.payload }, body: job.destination.body }), "refused"),
                      { secrets: { key: "value" } });
  for (const [url, payload, body, why] of [
    ["https://a.test", "{secret:no}", "", 'this host has no secret "no"'],
    ["https://a.test", "{oauth2:no}", "", 'a header names the OAuth2 client "no"'],
    ["http://a.test", "{secret:key}", "", "a secret needs https"],
    ["https://a.test", "plain", "{secret:key}", "the body has {secret:, which no host fills in"]]) {
    const outcome = await host.send("x", { destination: { url, body }, payload });
    assert.deepEqual([outcome.reason, outcome.reach], ["refused_by_host", "not_sent"]);
    assert.ok(outcome.detail.includes(why), outcome.detail);
    assert.equal(host.requests.at(-1).filledUrl, null);
  }
});

it("a mail and its reply", async (t) => {
  const host = hostOf(t, async (job, asked) => waybill.judge(
    await asked.submit("smtp://relay", "a@b", ["c@d", "e@f"], "Subject: x\r\n\r\n", { user: "u", password: "key" }), "refused"),
                      { secrets: { key: "value" } });
  host.mailAnswer({ recipients: { "c@d": [550, "5.1.1 unknown"] } });
  host.mailAnswer();
  host.mailAnswer({ recipients: { "c@d": [550, "no"], "e@f": [550, "no"] } });
  host.mailAnswer({ error: "connect" });
  const reasons = [];
  for (let n = 0; n < 4; ++n) reasons.push((await host.send("x")).reason);
  assert.deepEqual(reasons, ["refused", "", "refused", "connect_failed"]);
  const [mail] = host.mails;
  assert.deepEqual([mail.recipients, mail.password, mail.tls], [["c@d", "e@f"], "key", "if_offered"]);
});

it("questions are answered", async (t) => {
  const host = hostOf(t, async (job, asked) => {
    const said = [String(asked.sign("key", "a")[0].length), asked.sign("key", "a").length, asked.secret("key"),
                  asked.render("t", { n: 1 }), asked.renderText("hi", {}), asked.link("gs://b/k", 60),
                  asked.hasOauth2Client("crm"), asked.unixSeconds(), asked.signature("rsa_sha256", "key", "a").length];
    for (const ask of [() => asked.sign("no", "a"), () => asked.secret("hidden"), () => asked.render("no", {}),
                       () => asked.link("b", 1)])
      try {
        ask();
      } catch (error) {
        said.push(error.word);
      }
    asked.log("said", { parts: 2 });
    asked.count("parts", 2);
    asked.count("parts");
    return waybill.transient("later", { result: said });
  }, { secrets: { key: ["vvvv1", "vvvv2"], hidden: "hhhh" }, readableSecrets: ["key"], templates: { t: { text: "T" } },
       oauth2Clients: ["crm"], unixSeconds: 1000 });
  await complains('an outcome gives the secret "key" away', host);
  assert.deepEqual(host.logs, [{ level: "info", text: "said", fields: { parts: "2" } }]);
  assert.deepEqual([host.counts.parts, host.renderings[0]], [3, { template: "t", data: { n: 1 } }]);
});

it("abilities and checks", async (t) => {
  const host = hostOf(t, async (job) => waybill.accepted({ result: [String(job.artifact), job.artifactType] }), { roles: {
    compose: async () => waybill.accepted({ artifact: "made", artifactType: "text/plain" }),
    status: async (job) => waybill.deferred("under_way", { detail: job.providerRef }),
    async *failures(job) {
      yield new waybill.Failure({ providerRef: job.page || "first", failedAt: job.since });
      if (!job.page) yield new waybill.NextPage("second");
    },
    check_settings: () => [["/a", "missing"]],
  } });
  assert.deepEqual((await host.send("x")).result, ["made", "text/plain"]);
  assert.deepEqual((await host.send("x", { artifact: "given" })).result, ["given", ""]);
  assert.equal(String((await host.compose("x")).artifact), "made");
  assert.equal((await host.status("x", { providerRef: "r" })).detail, "r");
  const { failures, outcome } = await host.failures("x", { since: 9 });
  assert.deepEqual(failures.map((one) => [one.providerRef, one.failedAt]), [["first", 9], ["second", 9]]);
  assert.equal(outcome.verdict, "accepted");
  assert.deepEqual(host.checkSettings("x", {}), [["/a", "missing"]]);
  assert.deepEqual(host.checkDestination("x", {}), []);
  await assert.rejects(host.probe("x"), /the plugin has no probe for x/);
});

it("a compose that fails is the end", async (t) => {
  const host = hostOf(t, accepts, { roles: { compose: async () => waybill.transient("no_paper") } });
  assert.equal((await host.send("x")).reason, "no_paper");
});

it("action types follow each other", async (t) => {
  const host = hostOf(t, fetches, { settings: { a: 1 } });
  assert.equal((await host.send("y")).verdict, "accepted");
  host.answer(404);
  assert.equal((await host.send("x", A_TEST)).verdict, "rejected");
});

// ---- time ----

it("time passes only where something waits", async (t) => {
  const host = hostOf(t, async (job, asked) => {
    await Promise.all([asked.sleep(3600), asked.sleep(7200)]);
    return waybill.accepted({ result: asked.unixSeconds() });
  }, { unixSeconds: 1000 });
  assert.equal((await host.send("x", { deadline: 10_000 })).result, 1000 + 7200);
  assert.deepEqual([host.sleeps, host.now], [[3600, 7200], 7200]);
});

it("it does not pass while the plugin works", async (t) => {
  const host = hostOf(t, async (job, asked) => {
    for (let n = 0; n < 100; ++n) await new Promise((resolve) => setImmediate(resolve));
    await readFile(new URL(import.meta.url));
    return waybill.accepted({ result: asked.unixSeconds() });
  }, { unixSeconds: 1000 });
  assert.equal((await host.send("x")).result, 1000);
});

it("an answer may take its time, or never come", async (t) => {
  const host = hostOf(t, fetches);
  host.answer({ after: 5 });
  host.answer({ silent: true });
  host.answer({ after: 60 });
  for (const [reason, now] of [["", 5], ["timeout", 5 + 29.9], ["timeout", 5 + 2 * 29.9]]) {
    assert.equal((await host.send("x", A_TEST)).reason, reason);
    assert.ok(Math.abs(host.now - now) < 1e-6, `${host.now}`);
  }
});

it("a cancel comes when the test says", async (t) => {
  const host = hostOf(t, fetches);
  host.answer({ silent: true });
  const outcome = await host.send("x", { ...A_TEST, cancelAfter: 2 });
  assert.deepEqual([outcome.reason, outcome.reach, host.now], ["cancelled", "maybe_sent", 2]);
  assert.ok(host.requests[0].isAborted);
});

it("a call that does not heed it is ended", async (t) => {
  const host = hostOf(t, () => new Promise(() => {}));
  const outcome = await host.send("x", { cancelAfter: 2 });
  assert.deepEqual([outcome.reason, outcome.reach, host.now, host.sleeps], ["cancelled", "not_sent", 2.5, []]);
});

it("the deadline is a cancel", async (t) => {
  const host = hostOf(t, async (job, asked) => await asked.sleep(3600));
  assert.deepEqual([(await host.send("x")).reason, host.now], ["cancelled", 30]);
});

it("a request that its code gives up ends as aborted", async (t) => {
  const host = hostOf(t, async (job, asked) => {
    const hurry = new AbortController();
    asked.sleep(3).then(() => hurry.abort());
    return waybill.judge(await asked.fetch("GET", "https://a.test", { signal: hurry.signal }), "refused");
  });
  host.answer({ silent: true });
  assert.deepEqual([(await host.send("x")).reason, host.now, host.requests[0].isAborted], ["cancelled", 3, true]);
});

it("many hosts at once have a clock each", async (t) => {
  const sleeps = (seconds) => async (job, asked) => {
    await asked.sleep(seconds);
    return waybill.accepted();
  };
  const hosts = [1, 2, 3].map((seconds) => hostOf(t, sleeps(seconds)));
  await Promise.all(hosts.map((host) => host.send("x")));
  assert.deepEqual(hosts.map((host) => host.now), [1, 2, 3]);
});

// ---- what it complains of ----

it("of outcomes that no host takes", async (t) => {
  for (const [outcome, words] of [
    [waybill.rejected("unknown"), 'rejected with the reason "unknown", which plugin.json does not list'],
    [waybill.transient("Try later"), 'the reason "Try later" is no word'], [waybill.transient(""), 'the reason "" is no word'],
    [waybill.accepted({ providerRef: "a\nb" }), "more than one line"],
    [waybill.accepted({ artifact: "a" }), "an artifact in an outcome that is not of an accepted compose"],
    [waybill.accepted({ detail: "it was s3cret" }), 'an outcome gives the secret "key" away']])
    await complains(words, hostOf(t, async () => outcome, { secrets: { key: "s3cret" } }));
});

it("of a compose without an artifact", async (t) => {
  await complains("an accepted compose has an artifact", hostOf(t, accepts, { roles: { compose: accepts } }));
});

it("of a request or a mail without a script", async (t) => {
  await complains("no answer is scripted for POST https://a.test", hostOf(t, fetches), A_TEST);
  await complains("no answer is scripted for a mail to c@d",
                  hostOf(t, async (job, asked) => await asked.submit("smtp://relay", "a@b", ["c@d"], "Subject: x\r\n\r\n")));
});

it("of a mail with bare line ends", async (t) => {
  const host = hostOf(t, async (job, asked) => waybill.judge(
    await asked.submit("smtp://r", "a@b", ["c@d"], "Subject: x\n\n"), "refused"));
  host.mailAnswer();
  await complains("line ends that are not CRLF", host);
});

it("of a secret in the log", async (t) => {
  const host = hostOf(t, async (job, asked) => {
    asked.log("it is", { key: "s3cret" });
    return waybill.accepted();
  }, { secrets: { key: "s3cret" } });
  await complains('a log event gives the secret "key" away', host);
});

it("of a check that says something else each time", (t) => {
  const said = [];
  const host = hostOf(t, accepts, { roles: { check_settings: () => [["", String(said.push("more"))]] } });
  assert.throws(() => host.checkSettings("x", {}), /the same of the same value/);
});

it("of functions that do not fit plugin.json, and of a plugin.json that is not there", (t) => {
  const plugin = new waybill.Plugin();
  assert.throws(() => new FakeHost({ plugin, pluginJson: pluginJson(t) }), /no function sends it/);
  assert.throws(() => new FakeHost({ plugin }), /plugin.json cannot be read: ENOENT/);
});

it("of an action type that plugin.json does not have", async (t) => {
  await assert.rejects(hostOf(t).send("z"), /plugin.json has no action type z/);
});

it("of a plugin that works on and on", async (t) => {
  let isEnough = false;
  const goOn = () => isEnough || setImmediate(goOn);
  const host = hostOf(t, () => new Promise(goOn), { patience: 0.01 });
  await complains("the plugin has been busy for 0.01 seconds", host);
  isEnough = true;
});

it("of a second call beside the first", async (t) => {
  const host = hostOf(t, fetches);
  host.answer();
  const first = host.send("x", A_TEST);
  await assert.rejects(host.send("x", A_TEST), /a FakeHost has one call at a time/);
  assert.equal((await first).verdict, "accepted");
});

it("and works on after a complaint", async (t) => {
  const host = hostOf(t, fetches);
  await complains("no answer is scripted", host, A_TEST);
  host.answer(204);
  assert.equal((await host.send("x", A_TEST)).verdict, "accepted");
});

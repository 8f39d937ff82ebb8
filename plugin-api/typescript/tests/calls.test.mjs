// Calls in a process: what their functions are given, ask for and return, and what a cancel does. I4
import assert from "node:assert/strict";
import { begin, fields, it, response, start } from "./host_side.mjs";
import { Frame, Kind, Reader } from "../waybill_plugin.mjs";

const ACCEPTS = 'waybill.sender("x", async (job) => waybill.accepted({ providerRef: job.idempotencyKey }));';
const FETCHES = `waybill.sender("x", async (job, host) => {
  const answer = await host.fetch("POST", job.destination.url, { body: job.payloadBytes, headers: { Key: job.idempotencyKey } });
  return waybill.judge(answer, "refused");
});`;
const URL_OF_IT = { url: "https://api.test" };
const sends = (body) => `waybill.sender("x", async (job, host) => { ${body} });`;

it("a stream that comes byte by byte is understood", async (t) => {
  const process = await start(t, ACCEPTS);
  for (const byte of begin(7).bytes()) process.say(Buffer.of(byte));
  assert.equal((await process.outcome()).providerRef, "key-7");
});

it("the job is in the terms of JavaScript", async (t) => {
  const process = await start(t, sends(`return waybill.accepted({ result: [
    job.attempt, job.maybeSentBefore, job.deadline, job.actionId, job.target, job.idempotencyKey, job.destination, job.payload,
    String(job.payloadBytes), job.context, job.artifactType, String(job.artifact), job.providerRef, job.progress,
    job.payload === job.payload, host.settings] });`), { settings: '{"a": 1}' });
  process.begin(1, { attempt: 2, maybeSentBefore: 1, deadline: 1.5, actionId: "17", target: "ops", destination: { url: "u" },
                     payload: ' {"t": "ü"}', context: { org: "o" }, artifactType: "text/plain", artifact: "letter",
                     providerRef: "r", progress: [1] });
  assert.deepEqual((await process.outcome()).result,
                   [2, true, 1.5, "17", "ops", "key-1", { url: "u" }, { t: "ü" }, ' {"t": "ü"}', { org: "o" }, "text/plain",
                    "letter", "r", [1], true, { a: 1 }]);
});

it("what is not there is null", async (t) => {
  const process = await start(t, sends(`return waybill.accepted({ result: [job.payload, job.progress, job.payloadBytes.length,
    job.artifact.length, job.destination, job.context] });`));
  process.begin(1, { destination: "", context: "" });
  assert.deepEqual((await process.outcome()).result, [null, null, 0, 0, {}, {}]);
});

it("a request has all that it was given", async (t) => {
  const process = await start(t, sends(`
    await host.fetch("PUT", "https://api.test/a", { headers: [["A", "1"], ["a", "2"]], timeout: 2.5, maxResponseBytes: 9,
      body: ['{"key":"', new waybill.Secret("desk", "json"), Buffer.from('","x":"'), new waybill.Secret("y"), '"}'],
      basicUser: "user", basicPassword: "password", sigv4Region: "eu", sigv4Service: "ses", sigv4KeyId: "id",
      sigv4SecretKey: "secret" });
    return waybill.accepted();`));
  process.begin(1);
  const [, , asked] = await process.fetched();
  assert.deepEqual(asked, fields((frame) => {
    frame.u32(2500).u32(9);
    for (const text of ["PUT", "https://api.test/a", '{"key":"","x":""}', "user", "password", "eu", "ses", "id", "secret"])
      frame.text(text);
    return frame.pairs([["A", "1"], ["a", "2"]]).u32(2).u64(8).text("desk").i32(1).u64(15).text("y").i32(0);
  }));
});

it("JSON has its content type, unless the author gives another", async (t) => {
  const process = await start(t, sends('await host.fetch("POST", "u", { json: job.payload, headers: job.destination });'));
  const asked = async (number, job) => {
    process.begin(number, job);
    return (await process.fetched())[2].toString();
  };
  assert.match(await asked(1, { payload: { a: 1 } }), /\{"a":1\}.*Content-Type.*application\/json/s);
  const other = await asked(2, { payload: "1", destination: { "content-type": "text/x" } });
  assert.ok(other.includes("text/x") && !other.includes("application/json"));
  assert.ok(!(await asked(3, { payload: "" })).includes("application/json"));
});

it("an answer has all that the host said", async (t) => {
  const process = await start(t, sends(`
    const a = await host.fetch("GET", "https://api.test", { json: [1] });
    return waybill.accepted({ result: [a.error, a.reach, a.status, a.isTruncated, a.retryAfter, a.json(), a.text, a.headers,
      a.headerList, a.errorText] });`));
  process.begin(1);
  const [, id] = await process.fetched();
  const headers = [["x-id", "7"], ["x-id", "8"]];
  process.say(response(id, 201, { body: '{"id": 7}', headers, retryAfterMs: 1500 }));
  assert.deepEqual((await process.outcome()).result,
                   [null, "answered", 201, false, 1.5, { id: 7 }, '{"id": 7}', { "x-id": "7" }, headers, ""]);
});

it("many calls are open at once, and each gets its own answer", async (t) => {
  const process = await start(t, FETCHES);
  const calls = Array.from({ length: 500 }, (_, n) => n + 1);
  process.say(...calls.map((number) => begin(number, { destination: URL_OF_IT })));
  const asked = [];
  for (const _ of calls) asked.push(await process.fetched());
  assert.deepEqual(asked.map(([number]) => number), calls);
  for (const [number, id] of asked.reverse()) process.say(response(id, number % 2 === 1 ? 200 : 404));
  for (const _ of calls) {
    const [number, outcome] = await process.completed();
    assert.equal(outcome.verdict, number % 2 === 1 ? "accepted" : "rejected");
  }
});

it("promises are the author's to use", async (t) => {
  const process = await start(t, `
const one = async (host, n) => (await host.fetch("GET", "https://api.test/" + n)).status;
${sends(`
    const first = await Promise.race([one(host, 0), host.sleep(60)]);
    await new Promise((resolve) => setTimeout(resolve, 1));
    return waybill.accepted({ result: [first, ...await Promise.all([one(host, 1), one(host, 2)])] });`)}`);
  process.begin(1);
  const [, id] = await process.fetched();
  await process.timed();
  process.say(response(id, 200));
  for (const status of [201, 202]) process.say(response((await process.fetched())[1], status));
  assert.deepEqual((await process.outcome()).result, [200, 201, 202]);
});

it("a request that its code gives up is aborted", async (t) => {
  const process = await start(t, sends(`
    const answer = await host.fetch("GET", "https://api.test", { signal: AbortSignal.timeout(1) });
    return waybill.judge(answer, "refused");`));
  process.begin(1);
  const [, id] = await process.fetched();
  assert.equal(await process.expectId(Kind.ABORT_FETCH), id);
  process.say(response(id, 0, { error: "cancelled", reach: "maybe_sent" }));
  assert.equal((await process.outcome()).reason, "cancelled");
});

it("also when it gave it up beforehand", async (t) => {
  const process = await start(t, sends('await host.fetch("GET", "https://api.test", { signal: AbortSignal.abort() });'));
  process.begin(1);
  const [, id] = await process.fetched();
  assert.equal(await process.expectId(Kind.ABORT_FETCH), id);
});

it("a sleep that its code gives up is over", async (t) => {
  const process = await start(t, sends(`
    const hurry = new AbortController();
    const sleep = host.sleep(3600, { signal: hurry.signal });
    hurry.abort(new RangeError("too long"));
    await sleep;`));
  process.begin(1);
  const [, id] = await process.timed();
  assert.equal(await process.expectId(Kind.CANCEL_TIMER), id);
  assert.equal((await process.outcome()).detail, "RangeError: too long");
});

it("more than 64 open requests are an error in the sender", async (t) => {
  const process = await start(t, sends('await Promise.all(Array.from({ length: 65 }, () => host.fetch("GET", "u")));'));
  process.begin(1);
  for (let n = 0; n < 64; ++n) await process.fetched();
  const outcome = await process.outcome();
  assert.deepEqual([outcome.reason, outcome.reach], ["plugin_error", "maybe_sent"]);
  assert.equal(outcome.detail, "RangeError: a call has 64 open requests at most: wait for some of them");
});

it("what is more than a host takes is an error in the sender", async (t) => {
  const many = (count, of) => `Array.from({ length: ${count} }, () => ${of})`;
  for (const [line, detail] of [
    [`await Promise.all(${many(1025, "host.sleep(9)")})`, "RangeError: a call has 1024 timers at most"],
    [`await host.fetch("GET", "u", { headers: ${many(257, '["a", "b"]')} })`,
     "RangeError: a request has 256 headers at most, not 257"],
    [`await host.fetch("GET", "u", { body: ${many(17, 'new waybill.Secret("a")')} })`,
     "RangeError: a body has 16 secrets at most, not 17"],
    [`await host.submit("r", "a@b", ${many(1001, '"a@b"')}, "")`, "RangeError: a mail has 1000 recipients at most, not 1001"],
    ['await host.submit("r", "a@b", ["a".repeat(65537)], "")',
     "RangeError: a mail has 64 MiB at most, and an address or a relay 64 KiB"],
    [`host.sign("s", ...${many(65, '"p"')})`, "RangeError: 64 parts at most are signed, not 65"],
    ['await host.fetch("GET", "u", { body: Buffer.alloc(1 << 26) })', "RangeError: a request has 64 MiB at most"],
    ['await host.fetch("GET", "u", { body: Buffer.alloc((1 << 26) + 1) })', "RangeError: a request has 64 MiB at most"]]) {
    const process = await start(t, sends(line));
    process.begin(1);
    let came = await process.read();
    while (came[0] === Kind.TIMER) came = await process.read();
    assert.equal(came[0], Kind.COMPLETE);
    assert.ok(came[2].includes(detail), `${detail}: ${came[2]}`);
  }
});

it("timers are the host's", async (t) => {
  const process = await start(t, sends("await host.sleep(0.25); return waybill.accepted();"));
  process.begin(1);
  const [call, id, delay] = await process.timed();
  assert.deepEqual([call, delay], [1, 250]);
  process.fire(id);
  assert.equal((await process.outcome()).verdict, "accepted");
});

it("a mail goes as it was given, and its reply is judged", async (t) => {
  const process = await start(t, sends(`
    const reply = await host.submit("smtp://relay.test", "a@test", ["b@test", "c@test"], "Subject: x\\r\\n\\r\\ny\\r\\n",
      { tls: "required", user: "login", password: "name", timeout: 3 });
    return waybill.judge(reply, "refused");`));
  process.begin(1);
  const [read, body] = await process.expect(Kind.SUBMIT);
  assert.equal(read.u64(), 1);
  const id = read.u64();
  assert.deepEqual(body.subarray(16), fields((frame) => {
    frame.u32(0).u32(3000).i32(1);
    for (const text of ["smtp://relay.test", "login", "name", "a@test", "Subject: x\r\n\r\ny\r\n"]) frame.text(text);
    return frame.texts(["b@test", "c@test"]);
  }));
  process.say(new Frame(Kind.REPLY).u64(id).i32(0).i32(3).i32(5).i32(250).text("2.0.0 Ok").text("").u32(2)
    .i32(250).text("Ok").i32(550).text("5.1.1 unknown"));
  const outcome = await process.outcome();
  assert.deepEqual([outcome.verdict, outcome.code, outcome.detail], ["rejected", 550, "c@test: 550 5.1.1 unknown"]);
  assert.deepEqual(outcome.result, { accepted: ["b@test"], refused: [{ address: "c@test", code: 550, text: "5.1.1 unknown" }] });
});

it("logs and counts go to the host", async (t) => {
  const process = await start(t, sends(`
    host.log("it is sent", { level: "warn", parts: 3 });
    host.log("plainly");
    return waybill.accepted({ result: [host.count("parts", 3), host.count("parts"), host.count("Bad name")] });`));
  process.begin(5);
  for (const status of [0, 1]) await process.answer(status);
  const [, first] = await process.expect(Kind.LOG);
  assert.deepEqual(first, fields((frame) => frame.u64(5).i32(3).text("it is sent").pairs([["parts", "3"]])));
  const [, second] = await process.expect(Kind.LOG);
  assert.deepEqual(second, fields((frame) => frame.u64(5).i32(2).text("plainly").pairs([])));
  const [, counted] = await process.expect(Kind.COUNT);
  assert.deepEqual(counted, fields((frame) => frame.text("parts").u64(1)));
  assert.deepEqual((await process.outcome()).result, [true, true, false]);
});

it("what is printed comes line by line", async (t) => {
  const process = await start(t, sends('console.log("a line"); await host.fetch("GET", "https://api.test");'));
  process.begin(1);
  assert.equal(await process.line(), "a line");
});

// ---- questions ----

it("questions carry the call, and their answers come back", async (t) => {
  const process = await start(t, sends(`
    return waybill.accepted({ result: [
      host.sign("key", "a", Buffer.from("b")).length, String(host.signature("ecdsa_p256_sha256", "pem", "c")),
      host.secret("name"), host.render("contact", { n: 1 }), host.renderText("hi {{n}}", { n: 1 }), host.link("gs://b/k", 60),
      host.hasOauth2Client("crm"), host.forgetOauth2Token("crm") ?? null] });`));
  process.begin(8);
  for (const [status, values, kind, write] of [
    [0, ["m".repeat(32), "n".repeat(32)], Kind.SIGN, (frame) => frame.u64(8).text("key").texts(["a", "b"])],
    [0, ["s"], Kind.SIGNATURE, (frame) => frame.u64(8).i32(2).text("pem").texts(["c"])],
    [0, ["v", "w"], Kind.SECRET, (frame) => frame.u64(8).text("name")],
    [0, ["subject", "S", "text", "T"], Kind.RENDER, (frame) => frame.text("contact").text('{"n":1}')],
    [0, ["text", "hi 1"], Kind.RENDER_TEXT, (frame) => frame.text("hi {{n}}").text('{"n":1}')],
    [0, ["https://signed"], Kind.LINK, (frame) => frame.text("gs://b/k").i64(60)],
    [1, [], Kind.FIND_CLIENT, (frame) => frame.text("crm")], [0, [], Kind.FORGET_TOKEN, (frame) => frame.text("crm")]])
    assert.deepEqual(await process.answer(status, values), [kind, fields(write)]);
  assert.deepEqual((await process.outcome()).result,
                   [2, "s", ["v", "w"], { subject: "S", text: "T" }, "hi 1", "https://signed", false, null]);
});

it("a long answer comes whole", async (t) => {
  const process = await start(t, sends('return waybill.accepted({ result: host.renderText("t", {}).length });'));
  process.begin(1);
  await process.answer(0, ["text", "x".repeat(300_000)]);
  assert.equal((await process.outcome()).result, 300_000);
});

it("a no of the host is an error with a word", async (t) => {
  const process = await start(t, sends(`
    const said = [];
    for (const ask of [() => host.sign("k", "a"), () => host.signature("rsa_sha256", "k", "a"), () => host.secret("k"),
                       () => host.render("t", {}), () => host.link("gs://b", 1), () => host.secret("k")])
      try {
        ask();
      } catch (error) {
        said.push(error instanceof waybill.HostError && error.word);
      }
    return waybill.accepted({ result: said });`));
  process.begin(1);
  for (const status of [1, 2, 2, 2, 1, -1]) await process.answer(status);
  assert.deepEqual((await process.outcome()).result,
                   ["unknown", "wrong_key", "not_allowed", "malformed", "unavailable", "no_answer"]);
});

// ---- failing ----

/** [its outcome, the process] of a sender with this body. */
async function outcomeOf(t, body, isAnswered = false) {
  const process = await start(t, sends(body));
  process.begin(1);
  if (isAnswered) process.say(response((await process.fetched())[1]));
  return [await process.outcome(), process];
}

it("an exception completes the call and goes to the log", async (t) => {
  const [outcome, process] = await outcomeOf(t, 'throw new RangeError("no such\\nfield");');
  assert.deepEqual([outcome.verdict, outcome.reason, outcome.scope], ["transient", "plugin_error", "this_job"]);
  assert.equal(outcome.detail, "RangeError: no such field");
  process.stream.destroy();
  await process.wait();
  assert.match(process.errors, /RangeError: no such\nfield\n +at .*sender\.mjs/);
});

it("its text is one line of bounded length", async (t) => {
  const [outcome] = await outcomeOf(t, 'throw new Error("a\\nb".repeat(10000));');
  assert.ok(outcome.detail.startsWith("Error: a ba b"));
  assert.equal(outcome.detail.length, 500);
});

it("what is no error is told as well", async (t) => {
  for (const [thrown, detail] of [['"a text"', "string: a text"], ["{ code: 7 }", "Object: [object Object]"],
                                  ["undefined", "undefined: undefined"],
                                  ["Object.create(null)", "an error that cannot say what it is"]])
    assert.equal((await outcomeOf(t, `throw ${thrown};`))[0].detail, detail);
});

it("after a request it may have been sent", async (t) => {
  const [outcome] = await outcomeOf(t, 'await host.fetch("GET", "https://api.test"); null.no;', true);
  assert.deepEqual([outcome.reason, outcome.reach], ["plugin_error", "maybe_sent"]);
});

it("what a callback throws, or a promise that nobody waits for, is logged, and the process goes on", async (t) => {
  const process = await start(t, sends(`
    if (job.payload === null) return waybill.accepted();
    setTimeout(() => { throw new Error("thrown in a callback"); });
    Promise.reject(new Error("rejected unseen"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    return waybill.accepted();`));
  process.begin(1, { payload: "1" });
  await process.completed();
  process.begin(2);
  await process.completed();
  process.stream.destroy();
  await process.wait();
  assert.match(process.errors, /thrown in a callback/);
  assert.match(process.errors, /rejected unseen/);
});

it("what is no outcome is told", async (t) => {
  for (const [body, name] of [["", "undefined"], ['return "accepted";', "string"], ["return waybill.accepted;", "function"],
                              ["return null;", "null"], ["return { verdict: 1 };", "Object"]]) {
    const [outcome] = await outcomeOf(t, body);
    assert.equal(outcome.reason, "plugin_error");
    assert.ok(outcome.detail.startsWith(`the sender function returned ${name} in place of an outcome`), outcome.detail);
  }
});

it("so is what an outcome cannot have", async (t) => {
  for (const [body, detail] of [
    ['return waybill.transient("a", { reach: "far" });',
     'TypeError: "far" is no reach: say one of "not_sent", "maybe_sent", "answered"'],
    ["return waybill.accepted(Promise.resolve());", "TypeError: a promise is no answer: await it"],
    ['await host.fetch("GET", "u", { jsn: 1 });', 'TypeError: a request has no "jsn"; it has headers, body, json'],
    ['await host.submit("r", "a@b", [], "", { tsl: 1 });', 'TypeError: a mail has no "tsl"; it has tls, user'],
    ['return waybill.transient("a", { retry: 3 });', 'TypeError: an outcome has no "retry"; it has reach, scope'],
    ["return waybill.rejected(7);", "TypeError: a reason is a word and comes first, not number"],
    ['return waybill.rejected("a", { code: "b" });', "TypeError: a code is an integer, not b"],
    ['return waybill.transient("a", { retryAfter: NaN });', "RangeError: NaN is no number of seconds"],
    ["return waybill.accepted({ result: 1n });", "TypeError: Do not know how to serialize a BigInt"],
    ["return waybill.accepted({ artifact: 7 });", "TypeError: text or bytes are wanted, not number"]])
    assert.ok((await outcomeOf(t, body))[0].detail.startsWith(detail), detail);
});

it("a payload that is no JSON is an exception when it is touched", async (t) => {
  const process = await start(t, sends("return waybill.accepted({ result: job.payload });"));
  for (const payload of [Buffer.of(0xff), "{", "NaN"]) {
    process.begin(1, { payload });
    assert.equal((await process.outcome()).reason, "plugin_error");
  }
});

// ---- cancelling ----

it("a cancel aborts open requests, and the function returns its outcome", async (t) => {
  const process = await start(t, FETCHES);
  process.begin(1, { destination: URL_OF_IT });
  const [, id] = await process.fetched();
  process.cancel(1);
  assert.equal(await process.expectId(Kind.ABORT_FETCH), id);
  const [call, , delay] = await process.timed();
  assert.deepEqual([call, delay], [1, 500]);
  process.say(response(id, 0, { error: "cancelled", reach: "maybe_sent" }));
  const outcome = await process.outcome();
  assert.deepEqual([outcome.reason, outcome.reach], ["cancelled", "maybe_sent"]);
});

it("a sleep is over with an error", async (t) => {
  const process = await start(t, sends(`
    try {
      await host.sleep(3600);
    } catch (error) {
      return waybill.transient("gave_up", { reach: "not_sent", result: [error instanceof waybill.Cancelled, host.isCancelled] });
    }`));
  process.begin(1);
  const [, id] = await process.timed();
  process.cancel(1);
  assert.equal(await process.expectId(Kind.CANCEL_TIMER), id);
  assert.equal((await process.timed())[2], 500);
  const outcome = await process.outcome();
  assert.deepEqual([outcome.reason, outcome.result], ["gave_up", [true, true]]);
});

it("an error that is let out is cancelled", async (t) => {
  const process = await start(t, sends("await host.sleep(3600);"));
  process.begin(1);
  await process.timed();
  process.cancel(1);
  await process.expect(Kind.CANCEL_TIMER);
  await process.timed();
  const outcome = await process.outcome();
  assert.deepEqual([outcome.verdict, outcome.reason], ["transient", "cancelled"]);
  process.stream.destroy();
  await process.wait();
  assert.equal(process.errors, "");
});

it("a function that goes on is ended half a second later", async (t) => {
  const process = await start(t, sends("await new Promise(() => {});"));
  process.begin(1);
  process.cancel(1);
  process.cancel(1);
  const [, id, delay] = await process.timed();
  assert.equal(delay, 500);
  process.fire(id);
  const [call, outcome] = await process.completed();
  assert.deepEqual([call, outcome.verdict, outcome.reason, outcome.detail],
                   [1, "transient", "cancelled", "its code went on after the cancel"]);
});

it("nothing new leaves after a cancel", async (t) => {
  const process = await start(t, sends(`
    try {
      await host.sleep(3600);
    } catch {
      return waybill.judge(await host.fetch("GET", "https://api.test"), "refused");
    }`));
  process.begin(1);
  await process.timed();
  process.cancel(1);
  await process.expect(Kind.CANCEL_TIMER);
  await process.timed();
  const outcome = await process.outcome();
  assert.deepEqual([outcome.reason, outcome.reach], ["cancelled", "not_sent"]);
});

it("nor does a mail or a sleep", async (t) => {
  const process = await start(t, sends(`
    await host.sleep(3600).catch(() => {});
    const reply = await host.submit("smtp://r", "a@b", ["c@d"], "");
    await host.sleep(1).catch((error) => console.log(error.name));
    return waybill.judge(reply, "refused");`));
  process.begin(1);
  await process.timed();
  process.cancel(1);
  await process.expect(Kind.CANCEL_TIMER);
  await process.timed();
  assert.equal((await process.outcome()).reason, "cancelled");
  assert.equal(await process.line(), "Cancelled");
});

it("an end is quiet and final", async (t) => {
  const process = await start(t, sends(`
    try {
      await host.fetch("GET", "https://api.test");
    } finally {
      host.log("ended");
      await host.fetch("GET", "https://api.test").catch((error) => console.log(error.name));
    }`));
  process.begin(1);
  const [, id] = await process.fetched();
  process.say(new Frame(Kind.END).u64(1), response(id), new Frame(Kind.CANCEL).u64(1));
  assert.equal(await process.line(), "Ended");
  process.settle();
  await process.expect(Kind.SETTLED);
  process.stream.destroy();
  await process.wait();
  assert.equal(process.errors, "");
});

it("code that asks for ever for a call that is over keeps nobody from running", async (t) => {
  const process = await start(t, sends(`
    if (job.payload === null) return waybill.accepted();
    for (;;) await host.fetch("GET", "https://api.test").catch(() => {});`));
  process.begin(1, { payload: "1" });
  await process.fetched();
  process.say(new Frame(Kind.END).u64(1));
  process.begin(2);
  assert.equal((await process.completed())[0], 2);
});

it("what a call leaves behind ends with it", async (t) => {
  const process = await start(t, sends(`
    host.sleep(3600);
    (async () => { try { await host.fetch("GET", "https://api.test"); } catch (error) { console.log(error.name); } })();
    return waybill.accepted();`));
  process.begin(1);
  await process.timed();
  const [, id] = await process.fetched();
  assert.equal((await process.completed())[0], 1);
  assert.equal(await process.line(), "Ended");
  process.say(response(id));
  process.begin(2);
  await process.timed();
  process.stream.destroy();
  await process.wait();
  assert.equal(process.errors, "");
});

it("numbers of 53 bits are told apart", async (t) => {
  const process = await start(t, ACCEPTS);
  const number = 2 ** 53 - 1;
  process.begin(number);
  const [, body] = await process.expect(Kind.COMPLETE);
  assert.equal(new Reader(body).u64(), number);
  assert.equal(process.inside[0], BigInt(number));
});

// A plugin's process from its greeting to its end, over real sockets. I4
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { begin, bodyOf, folderOf, it, KIT, ONE_ACTION, PluginProcess, start } from "./host_side.mjs";
import { Frame, Kind } from "../waybill_plugin.mjs";

const ACCEPTS = 'waybill.sender("x", async (job) => waybill.accepted({ providerRef: job.idempotencyKey }));\n';
const kit = new URL("waybill_plugin.mjs", KIT);

it("it says its version, no descriptor, and that it lives again", async (t) => {
  const process = new PluginProcess(t, ACCEPTS);
  assert.equal(await process.greet(), "");
  assert.deepEqual([process.versions, process.descriptor, process.livesAgain], [[1, 1], "", 1]);
});

it("another major version is refused with a remedy", async (t) => {
  assert.equal(await new PluginProcess(t, ACCEPTS).greet(2),
               "its kit speaks version 1 of the protocol, and this host version 2\n" +
               "copy waybill_plugin.mjs of this host's release into the plugin's folder");
});

it("functions that do not fit plugin.json are refused with a remedy", async (t) => {
  const sends = (type) => `waybill.sender("${type}", async () => {});\n`;
  for (const [source, actions, what, remedy] of [
    [sends("xy_destinatoin"), [{ type: "xy_destination" }],
     'waybill.sender("xy_destinatoin") names no action type of plugin.json', 'did you mean "xy_destination"?'],
    [`${sends("x")}waybill.probe("far_off", async () => {});`, ONE_ACTION,
     'waybill.probe("far_off") names no action type of plugin.json', 'list it under "actions" there'],
    ["", ONE_ACTION, 'plugin.json lists the action type "x", and no function sends it',
     'write waybill.sender("x", async (job, host) => { ... })'],
    [`${sends("x")}waybill.checkSettings("x", async () => []);`, ONE_ACTION,
     'the function of waybill.checkSettings("x") is async, and a check asks nobody', "write it without async"],
    ['waybill.sender("x", async function* () { yield 1; });', ONE_ACTION, 'the function of waybill.sender("x") yields',
     "return one outcome, such as waybill.accepted()"]])
    assert.equal(await new PluginProcess(t, source, { actions }).greet(), `${what}\n${remedy}`);
});

it("a plugin.json that is none is refused", async (t) => {
  for (const pluginJson of ["{", '{"actions": 1}', '{"actions": [{}]}', "[]"]) {
    const process = new PluginProcess(t, ACCEPTS, { pluginJson });
    assert.match(await process.greet(), /^plugin.json cannot be understood: .*\nwrite it as docs\/plugins-typescript.md shows$/);
    assert.equal(await process.wait(), 0);
  }
});

const node = (t, program, ...flags) => {
  const isOld = 'Object.defineProperty(process.versions, "node", { value: "16.20.2" });';
  const folder = folderOf(t, { "sender.mjs": program, "old.cjs": isOld });
  return spawnSync(process.execPath, [...flags, "sender.mjs"], { cwd: folder, encoding: "utf8" });
};

it("without a host it says who starts it", (t) => {
  const done = node(t, `import * as waybill from "${kit}";\n${ACCEPTS}waybill.run(import.meta.url);`);
  assert.deepEqual([done.status, done.stdout], [2, ""]);
  assert.match(done.stderr, /Waybill's host starts this program/);
});

it("where it is imported it does not run", (t) => {
  const folder = folderOf(t, { "sender.mjs": `import * as waybill from "${kit}";\nwaybill.run(import.meta.url);`,
                               "other.mjs": 'import "./sender.mjs"; console.log("went on");' });
  const done = spawnSync(process.execPath, [join(folder, "other.mjs")], { encoding: "utf8" });
  assert.deepEqual([done.status, done.stdout], [0, "went on\n"]);
});

it("an older Node.js is told", (t) => {
  const done = node(t, `import "${kit}";`, "--require", "./old.cjs");
  assert.deepEqual([done.status, done.stderr], [1, "waybill_plugin needs Node.js 18 or later; this is 16.20.2\n"]);
});

it("what registers wrongly ends the start", async (t) => {
  for (const [source, why] of [[ACCEPTS + ACCEPTS, 'there are two functions of waybill.sender("x")'],
                               ['waybill.probe(async () => {});', 'name the action type: waybill.probe("my_destination")'],
                               ['waybill.checkSettings("x");', 'waybill.checkSettings("x") is given no function'],
                               ["waybill.run();", "say waybill.run(import.meta.url)"]]) {
    const process = new PluginProcess(t, source);
    assert.equal(await process.wait(), 1);
    assert.ok(process.errors.includes(why), process.errors);
  }
});

it("abilities are those of the functions", async (t) => {
  const process = new PluginProcess(t, `${ACCEPTS}waybill.status("x", async () => {}); waybill.failures("x", async () => {});`);
  await process.greet();
  assert.deepEqual(await process.create(), [1, 2 | 8, []]);
});

it("what cannot be created is told", async (t) => {
  const process = new PluginProcess(t, ACCEPTS);
  await process.greet();
  assert.deepEqual(await process.create("y"), [0, 0, [["", "it sends no such action type"]]]);
  const [done, , [[, message]]] = await process.create("x", "{");
  assert.deepEqual([done, message.slice(0, 24)], [0, "its settings are no JSON"]);
  assert.equal((await process.create())[0], 1);
  assert.deepEqual(await process.create(), [0, 0, [["", "it has a sender already"]]]);
});

it("after destroy another sender can be made, and the calls of the first are over", async (t) => {
  const process = await start(t, `
waybill.sender("x", async (job, host) => {
  try {
    await host.sleep(3600);
  } catch (error) {
    console.log(error.name);
  }
});
waybill.sender("y", async (job, host) => waybill.accepted({ result: host.settings }));`,
                              { actions: [...ONE_ACTION, { type: "y" }], settings: '{"first": true}' });
  process.begin(1);
  await process.timed();
  process.say(new Frame(Kind.DESTROY));
  assert.equal((await process.create("y", '{"second": true}'))[0], 1);
  assert.equal(await process.line(), "Ended");
  process.begin(2);
  const [call, outcome] = await process.completed();
  assert.deepEqual([call, outcome.result], [2, { second: true }]);
});

it("a begin without a sender counts as taken up", async (t) => {
  const process = new PluginProcess(t, ACCEPTS);
  await process.greet();
  process.begin(1);
  process.settle();
  await process.expect(Kind.SETTLED);
  assert.equal(process.takenUp, 1n);
});

it("it ends when the host is gone", async (t) => {
  const process = await start(t, ACCEPTS);
  process.stream.destroy();
  assert.equal(await process.wait(), 0);
});

it("also when a call is open and a timer runs", async (t) => {
  const process = await start(t, `
waybill.sender("x", async (job, host) => {
  setInterval(() => {}, 3600_000);
  await host.fetch("GET", "https://api.test");
});`);
  process.begin(1);
  await process.fetched();
  process.stream.destroy();
  assert.equal(await process.wait(), 0);
});

it("and when it waits for the answer to a question", async (t) => {
  const process = await start(t, 'waybill.sender("x", async (job, host) => waybill.accepted({ result: host.secret("s") }));');
  process.begin(1);
  await process.question();
  process.questions.destroy();
  assert.equal(await process.wait(), 0);
});

it("what cannot be read ends it with 70", async (t) => {
  const whole = bodyOf(begin(1));
  const endless = Buffer.alloc(8, 0xff);
  const raw = (kind, body) => new Frame(kind).raw(body);
  for (const message of [endless, Buffer.from("\x03\0\0\0..."), raw(Kind.BEGIN, whole.subarray(0, 20)),
                         raw(Kind.BEGIN, whole.subarray(0, -1)), new Frame(Kind.CANCEL), new Frame(Kind.CREATE).u32(9)]) {
    const process = await start(t, ACCEPTS);
    process.say(message);
    assert.equal(await process.wait(), 70);
    assert.match(process.errors, /what the host said cannot be read/);
  }
});

it("so does half an answer to a request", async (t) => {
  const process = await start(t, 'waybill.sender("x", async (job, host) => { await host.fetch("GET", "https://api.test"); });');
  process.begin(1);
  const [, id] = await process.fetched();
  process.say(new Frame(Kind.RESPONSE).u64(id).i32(0));
  assert.equal(await process.wait(), 70);
});

it("so does an answer to a question", async (t) => {
  for (const answer of [new Frame(Kind.ANSWER).i32(0).u32(1000), new Frame(Kind.SIGN)]) {
    const process = await start(t, 'waybill.sender("x", async (job, host) => { host.sign("key", "part"); });');
    process.begin(1);
    await process.question();
    process.questions.write(answer.bytes());
    assert.equal(await process.wait(), 70);
  }
});

it("messages of a newer host are passed over", async (t) => {
  const process = await start(t, ACCEPTS);
  process.say(new Frame(99).raw(Buffer.from("news")), begin(1).raw(Buffer.from("a later field")));
  assert.equal((await process.completed())[0], 1);
});

it("the signals that a terminal or a service manager sends to all are the host's", async (t) => {
  const process = await start(t, ACCEPTS);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.kill(signal);
  process.begin(1);
  assert.equal((await process.completed())[0], 1);
});

it("a page that cannot be written to is refused", async (t) => {
  const process = new PluginProcess(t, ACCEPTS, { hasPage: false });
  assert.equal(await process.greet(), "the page cannot be written to: EBADF\nuse the kit of this host's release");
});

// Whose code runs, when a process has nothing to do, and that nobody holds up what others said. I4
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { begin, folderOf, it, PluginProcess, response, start } from "./host_side.mjs";
import { Frame, Kind } from "../waybill_plugin.mjs";

const sends = (body) => `waybill.sender("x", async (job, host) => { ${body} });`;

/** A file for which a plugin's code stands still: standStill(path). */
const gateOf = (t) => join(folderOf(t), "gate");
const open = (gate) => writeFileSync(gate, "");

// ---- the page ----

/** Begins a call that stands still, sees it named, and lets it go on. `lead` leads its code there. */
async function isNamed(t, process, number, job, lead = async () => {}) {
  const gate = gateOf(t), before = globalThis.process.hrtime.bigint();
  process.begin(number, { ...job, destination: { gate } });
  await lead();
  assert.equal(await process.line(), "inside");
  const [call, since] = process.inside;
  assert.equal(call, BigInt(number));
  assert.ok(before <= since && since <= globalThis.process.hrtime.bigint());
  open(gate);
  assert.equal((await process.completed())[0], number);
  process.settle();
  await process.expect(Kind.SETTLED);
  assert.equal(process.inside[1], 0n);
}

it("the page names the call whose code runs, however it came to run", async (t) => {
  const process = await start(t, `
import { EventEmitter } from "node:events";
import { readFile } from "node:fs";
const waits = {
  now: async () => {},
  child: () => Promise.all([null, Promise.resolve()]),
  late: (host) => host.fetch("GET", "https://api.test"),
  tick: () => new Promise((resolve) => process.nextTick(resolve)),
  timer: () => new Promise((resolve) => setTimeout(resolve, 1)),
  immediate: () => new Promise((resolve) => setImmediate(resolve)),
  file: () => new Promise((resolve) => readFile("plugin.json", resolve)),
};
${sends(`
  await waits[job.payload](host);
  await null;
  standStill(job.destination.gate);
  return waybill.accepted();`)}`);
  let number = 40;
  for (const payload of ["now", "child", "tick", "timer", "immediate", "file"])
    await isNamed(t, process, ++number, { payload: JSON.stringify(payload) });
  await isNamed(t, process, ++number, { payload: '"late"' }, async () => {
    const [, id] = await process.fetched();
    process.settle();
    await process.expect(Kind.SETTLED);
    assert.equal(process.inside[1], 0n);
    process.say(response(id));
  });
});

it("also code in a callback", async (t) => {
  const process = await start(t, sends(`
    await new Promise((resolve) => setTimeout(() => { standStill(job.destination.gate); resolve(); }, 1));
    return waybill.accepted();`));
  await isNamed(t, process, 7);
});

it("of calls that wait for one promise, each is named while its own code runs", async (t) => {
  const process = await start(t, `let token;
${sends(`
    token ??= host.fetch("POST", "https://api.test/token");
    await token;
    if (job.payload !== null) standStill(job.destination.gate);
    return waybill.accepted();`)}`);
  process.begin(1);
  const [, id] = await process.fetched();
  const gate = gateOf(t);
  process.begin(2, { payload: "1", destination: { gate } });
  process.begin(3);
  process.say(response(id));
  assert.equal(await process.line(), "inside");
  assert.equal(process.inside[0], 2n);
  open(gate);
  for (const number of [1, 2, 3]) assert.equal((await process.completed())[0], number);
});

it("code that runs for no call is of none", async (t) => {
  const gate = gateOf(t);
  const process = await start(t, `let isArmed = false;
setInterval(() => { if (isArmed) standStill("${gate}"); }, 1).unref();
${sends('isArmed = true; await host.fetch("GET", "https://api.test");')}`);
  process.begin(1);
  assert.equal(await process.line(), "inside");
  assert.equal(process.inside[1], 0n);
  open(gate);
});

it("it counts the begins that were taken up, and no others", async (t) => {
  const process = await start(t, sends("if (job.payload !== null) standStill(job.destination.gate); return waybill.accepted();"));
  const gate = gateOf(t);
  process.say(begin(1), begin(2, { payload: "1", destination: { gate } }), begin(3));
  assert.equal(await process.line(), "inside");
  assert.equal(process.takenUp, 2n);
  open(gate);
  for (const number of [1, 2, 3]) assert.equal((await process.completed())[0], number);
  assert.equal(process.takenUp, 3n);
});

it("a check is of no call", async (t) => {
  const gate = gateOf(t);
  const process = new PluginProcess(t, `${sends("")}
waybill.checkSettings("x", () => { standStill("${gate}"); });`);
  await process.greet();
  process.say(new Frame(Kind.CHECK).u32(1).text("x").text("{}"));
  assert.equal(await process.line(), "inside");
  const [call, since] = process.inside;
  assert.deepEqual([call, since > 0n], [0n, true]);
  open(gate);
  await process.expect(Kind.CHECKED);
  assert.equal(process.inside[1], 0n);
});

// ---- settling ----

it("it is told when nothing is ready to run", async (t) => {
  const process = await start(t, sends(`
    for (let n = 0; n < 100; ++n) await new Promise((resolve) => setImmediate(resolve));
    await host.fetch("GET", "https://api.test");
    for (let n = 0; n < 100; ++n) await null;
    await (await import("node:fs/promises")).readFile("plugin.json");
    return waybill.accepted();`));
  process.say(new Frame(Kind.SETTLE).u64(3), begin(1), new Frame(Kind.SETTLE).u64(4));
  const [, id] = await process.fetched();
  assert.deepEqual([await process.expectId(Kind.SETTLED), await process.expectId(Kind.SETTLED)], [3, 4]);
  process.say(response(id), new Frame(Kind.SETTLE).u64(5));
  await process.completed();
  assert.equal(await process.expectId(Kind.SETTLED), 5);
});

it("a timer of the plugin's is not waited for", async (t) => {
  const process = await start(t, sends("await new Promise((resolve) => setTimeout(resolve, 3600_000));"));
  process.begin(1);
  process.settle(6);
  assert.equal(await process.expectId(Kind.SETTLED), 6);
});

// ---- writing ----

it("big bodies go both ways while neither side reads first", async (t) => {
  const process = await start(t, sends(`
    const answer = await host.fetch("POST", "https://api.test", { body: job.payloadBytes, maxResponseBytes: 1 << 21 });
    return waybill.accepted(answer, { result: answer.body.length });`));
  const payload = Buffer.alloc(1 << 20, "p");
  process.stream.pause();
  process.say(...Array.from({ length: 32 }, (_, n) => begin(n + 1, { payload })));
  process.stream.resume();
  const ids = [];
  for (let n = 0; n < 32; ++n) {
    const [, id, asked] = await process.fetched();
    assert.ok(asked.includes(payload));
    ids.push(id);
  }
  process.say(...ids.map((id) => response(id, 200, { body: payload })));
  for (let n = 0; n < 32; ++n) assert.equal((await process.outcome()).result, payload.length);
});

it("what the host did not read leaves when it reads, and what it says meanwhile is heard", async (t) => {
  const process = await start(t, sends(`
    if (job.payload === null) return waybill.accepted();
    console.log("asks");
    await host.fetch("POST", "https://api.test", { body: Buffer.alloc(8 << 20, "b") });`));
  process.stream.pause();
  process.begin(1, { payload: "1" });
  assert.equal(await process.line(), "asks");
  process.say(...Array.from({ length: 1000 }, (_, n) => begin(n + 2, { context: { filler: "f".repeat(1000) } })));
  process.stream.resume();
  assert.ok((await process.fetched())[2].includes(Buffer.alloc(8 << 20, "b")));
  for (let n = 0; n < 1000; ++n) assert.equal((await process.completed())[0], n + 2);
});

it("the longest body fits", async (t) => {
  const process = await start(t, sends('await host.fetch("POST", "https://api.test", { body: job.payloadBytes });'));
  const payload = Buffer.alloc((64 << 20) - 1000, "p");
  process.begin(1, { payload });
  assert.ok((await process.fetched())[2].includes(payload));
});

const SPINS = sends(`
    host.log("begins " + job.idempotencyKey);
    if (job.payload !== null) standStill(job.destination.gate);
    return waybill.accepted();`);

it("what others said leaves while a call spins, and what it said itself in a log", async (t) => {
  const process = await start(t, SPINS), gate = gateOf(t);
  process.say(begin(1), begin(2, { payload: "1", destination: { gate } }));
  await process.expect(Kind.LOG);
  assert.equal((await process.completed())[0], 1);
  await process.expect(Kind.LOG);
  assert.equal(await process.line(), "inside");
  assert.equal(process.inside[0], 2n);
  open(gate);
  assert.equal((await process.completed())[0], 2);
});

it("also while it spins in promises", async (t) => {
  const process = await start(t, sends(`
    if (job.payload === null) return waybill.accepted();
    console.log("inside");
    while (!existsSync(job.destination.gate)) await null;
    return waybill.accepted();`)), gate = gateOf(t);
  process.say(begin(1), begin(2, { payload: "1", destination: { gate } }), begin(3));
  assert.equal((await process.completed())[0], 1);
  assert.equal(await process.line(), "inside");
  assert.equal(process.inside[0], 2n);
  open(gate);
  assert.deepEqual([(await process.completed())[0], (await process.completed())[0]], [2, 3]);
});

// ---- the network ----

it("whether a plugin may have sent something itself is tried out", async (t) => {
  const kit = readFileSync(new URL("../waybill_plugin.mjs", import.meta.url), "utf8");
  const place = 'import { createSocket } from "node:dgram";';
  assert.ok(kit.includes(place));
  for (const [code, reach] of [["EACCES", "not_sent"], ["EMFILE", "maybe_sent"], [null, "maybe_sent"]]) {
    const socket = `import { EventEmitter } from "node:events";
const createSocket = () => Object.assign(new EventEmitter(), { close() {}, bind() {
  if (${JSON.stringify(code)} !== null) this.emit("error", Object.assign(new Error(), { code: ${JSON.stringify(code)} })); } });`;
    const folder = folderOf(t, { "kit.mjs": kit.replace(place, socket) });
    const program = `import * as waybill from "${join(folder, "kit.mjs")}";
${sends("throw new Error();")}
waybill.run(import.meta.url);
`;
    const process = new PluginProcess(t, "", { program });
    await process.greet();
    await process.create();
    process.begin(1);
    assert.equal((await process.outcome()).reach, reach, code);
  }
});

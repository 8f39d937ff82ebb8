// A plugin in a process of its own, and the host's end of its sockets: what the tests of the kit hold in their hands.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, copyFileSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { ERRORS, Frame, Frames, JOB_TEXTS, Kind, REACHES, ROLES, Reader } from "../waybill_plugin.mjs";
import { readOutcome } from "../waybill_testing.mjs";

export const KIT = new URL("../", import.meta.url);
const LIMIT_MS = 60_000;  // for what never comes
export const ONE_ACTION = [{ type: "x", reasons: ["refused"] }];
const PAGE_BYTES = 4096;
const HEADER = `import { existsSync } from "node:fs";
import * as waybill from "${new URL("waybill_plugin.mjs", KIT)}";
const standStill = (flag) => { console.log("inside"); while (!existsSync(flag)); };
`;
const FOOTER = "\nwaybill.run(import.meta.url);\n";

/** A test of a name. */
export const it = (name, run) => test(name, { timeout: LIMIT_MS }, run);

/** What a frame's fields are as bytes. */
export const bodyOf = (frame) => frame.bytes().subarray(8);

/** The same as a Frame writes them: `write` appends them. */
export const fields = (write) => bodyOf(write(new Frame(0)));

/** A `begin`. The job's texts are strings, bytes, or what is written as JSON. */
export function begin(number, { asked = "sender", attempt = 1, maybeSentBefore = 0, deadline = 30, since = 0, page = "",
                                ...texts } = {}) {
  const given = { idempotencyKey: `key-${number}`, destination: "{}", context: "{}", ...texts };
  const frame = new Frame(Kind.BEGIN).u64(number).u32(ROLES.indexOf(asked)).u32(attempt).u32(maybeSentBefore)
    .i64(deadline * 1000);
  for (const name of JOB_TEXTS) frame.text(textOf(given[name] ?? ""));
  return frame.i64(since).text(page);
}

const textOf = (value) => (typeof value === "string" || value instanceof Uint8Array ? value : JSON.stringify(value));

export function response(id, status = 200, { body = "", error = null, reach = "answered", headers = [],
                                             retryAfterMs = -1 } = {}) {
  return new Frame(Kind.RESPONSE).u64(id).i32(ERRORS.get(error)).i32(REACHES.get(reach)).i32(status).u32(0).i64(retryAfterMs)
    .text(body).text(error === null ? "" : "as scripted").pairs(headers);
}

/** A folder that is gone after the test. */
export function folderOf(test, files = {}) {
  const folder = mkdtempSync(join(tmpdir(), "waybill-kit-"));
  test.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

/** Things that come one by one, in their order, and who waits for them. */
class Arrivals {
  #came = [];
  #waits = [];

  push(thing) {
    if (this.#waits.length > 0) this.#waits.shift()(thing);
    else this.#came.push(thing);
  }

  async next() {
    return this.#came.length > 0 ? this.#came.shift() : await new Promise((resolve) => this.#waits.push(resolve));
  }
}

const ENDED = Symbol("ended");

/** Its program is `source` between HEADER and FOOTER, or a whole `program`, with these files of the kit beside it. */
export class PluginProcess {
  #page;
  #frames = new Frames();
  #asked = new Frames();
  #messages = new Arrivals();
  #questions = new Arrivals();
  #lines = new Arrivals();
  #errors = "";
  #child;
  #ended;

  constructor(test, source, { actions = ONE_ACTION, pluginJson, program, kit = [], hasPage = true } = {}) {
    const described = { id: "t", version: "1", command: ["node", "sender.mjs"], actions };
    this.folder = folderOf(test, { "sender.mjs": program ?? HEADER + source + FOOTER,
                                   "plugin.json": pluginJson ?? JSON.stringify(described) });
    for (const file of kit) copyFileSync(new URL(file, KIT), join(this.folder, file));
    this.#page = openSync(join(folderOf(test, { page: Buffer.alloc(PAGE_BYTES) }), "page"), hasPage ? "r+" : "r");
    const stdio = ["ignore", "pipe", "pipe", "pipe", "pipe", this.#page];
    this.#child = spawn(process.execPath, ["sender.mjs"], { cwd: this.folder, stdio, env: {} });
    this.#listen();
    test.after(async () => {
      this.kill("SIGKILL");
      await this.wait();
      closeSync(this.#page);
    });
  }

  #listen() {
    const [, output, errors, stream, questions] = this.#child.stdio;
    this.stream = stream;
    this.questions = questions;
    stream.on("data", (data) => this.#frames.cut(data).forEach((message) => this.#messages.push(message)));
    stream.on("close", () => this.#messages.push([ENDED]));
    questions.on("data", (data) => this.#asked.cut(data).forEach((question) => this.#questions.push(question)));
    for (const end of [stream, questions]) end.on("error", () => {});  // of a process that has ended: read() tells
    createInterface(output).on("line", (line) => this.#lines.push(line));
    errors.setEncoding("utf8").on("data", (text) => {
      this.#errors += text;
    });
    this.#ended = new Promise((resolve) => this.#child.on("close", (code, signal) => resolve(signal ?? code)));
  }

  get pid() {
    return this.#child.pid;
  }

  /** What it wrote to its standard error: all of it once it has ended. */
  get errors() {
    return this.#errors;
  }

  /** The exit code, or the signal that killed it. */
  async wait() {
    return await this.#ended;
  }

  kill(signal) {
    this.#child.kill(signal);
  }

  // ---- the stream ----

  /** Each is a Frame, or bytes. */
  say(...messages) {
    this.stream.write(Buffer.concat(messages.map((one) => (one instanceof Frame ? one.bytes() : one))));
  }

  /** The next message: [kind, Reader]. */
  async read() {
    const [kind, body] = await this.#messages.next();
    if (kind === ENDED) throw new Error(`its process has ended with ${await this.wait()}: ${this.errors}`);
    return [kind, new Reader(body), body];
  }

  /** The next message, which is of this kind. */
  async expect(kind) {
    const [came, read, body] = await this.read();
    assert.equal(came, kind, `message ${came} came: ${body.toString("latin1").slice(0, 1000)}; ${this.errors}`);
    return [read, body];
  }

  /** The refusal in its hello. */
  async greet(major = 1) {
    this.say(new Frame(Kind.WELCOME).u32(major).u32(1).text("9.9.9"));
    const [read] = await this.expect(Kind.HELLO);
    this.versions = [read.u32(), read.u32()];
    this.descriptor = read.string();
    const refusal = read.string();
    this.livesAgain = read.u32();
    return refusal;
  }

  /** [done, abilities, problems] */
  async create(type = "x", settings = "{}") {
    this.say(new Frame(Kind.CREATE).text(type).text(settings));
    const [read] = await this.expect(Kind.CREATED);
    return [read.u32(), read.u32(), read.pairs()];
  }

  /** [number, problems] */
  async check(what, data, type = "x") {
    this.say(new Frame(Kind.CHECK).u32(what).text(type).text(data));
    const [read] = await this.expect(Kind.CHECKED);
    return [read.u32(), read.pairs()];
  }

  begin(number, job) {
    this.say(begin(number, job));
  }

  /** [call, outcome] of the next message. */
  async completed() {
    const [, body] = await this.expect(Kind.COMPLETE);
    return [new Reader(body).u64(), readOutcome(body)];
  }

  async outcome() {
    return (await this.completed())[1];
  }

  /** [call, id, the other fields] of the next message. */
  async fetched() {
    const [read, body] = await this.expect(Kind.FETCH);
    return [read.u64(), read.u64(), body.subarray(16)];
  }

  /** [call, id, milliseconds] of the next message. */
  async timed() {
    const [read] = await this.expect(Kind.TIMER);
    return [read.u64(), read.u64(), read.i64()];
  }

  cancel(number) {
    this.say(new Frame(Kind.CANCEL).u64(number));
  }

  fire(id) {
    this.say(new Frame(Kind.FIRE).u64(id));
  }

  settle(number = 1) {
    this.say(new Frame(Kind.SETTLE).u64(number));
  }

  async expectId(kind) {
    return (await this.expect(kind))[0].u64();
  }

  // ---- questions, lines, the page ----

  /** The next question: [kind, body]. */
  async question() {
    return await this.#questions.next();
  }

  /** Answers the next question, and gives it. */
  async answer(status, values = []) {
    const question = await this.question();
    this.questions.write(new Frame(Kind.ANSWER).i32(status).texts(values).bytes());
    return question;
  }

  /** The next line of its standard output. */
  async line() {
    return await this.#lines.next();
  }

  /** [call, since in nanoseconds] of the page. */
  get inside() {
    return this.#numbers().slice(0, 2);
  }

  get takenUp() {
    return this.#numbers()[2];
  }

  #numbers() {
    const page = Buffer.alloc(24);
    readSync(this.#page, page, 0, 24, 0);
    return [0, 8, 16].map((at) => page.readBigUInt64LE(at));
  }
}

/** A process that was greeted and has a sender. */
export async function start(test, source, { create = "x", settings = "{}", ...more } = {}) {
  const process = new PluginProcess(test, source, more);
  assert.equal(await process.greet(), "");
  assert.equal((await process.create(create, settings))[0], 1);
  return process;
}

// What authors begin with works: the example of docs/plugins-typescript.md, and the template of `waybill plugin new`. I4
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { folderOf, it, KIT, PluginProcess } from "./host_side.mjs";
import * as waybill from "../waybill_plugin.mjs";
import { FakeHost } from "../waybill_testing.mjs";

const SOURCES = new URL("../../", KIT);
const PAGE = new URL("docs/plugins-typescript.md", SOURCES);
const TEMPLATE = new URL("plugin-api/template_typescript/", SOURCES);
const KIT_FILES = ["waybill_plugin.mjs", "waybill_plugin.d.mts", "waybill_testing.mjs", "waybill_testing.d.mts"];
const MOST_LINES = 20;  // of the example's program
const MUST_RUN = process.env.WAYBILL_TEST_MUST_RUN === "1";
const HAS_COMPILER = spawnSync("tsc", ["--version"]).status === 0;

/** The snippets of the page that have a name, by that name. */
function filesOfPage() {
  const snippets = readFileSync(PAGE, "utf8").matchAll(/^```\w+ file=(\S+)\n(.*?)^```$/gms);
  return Object.fromEntries([...snippets].map(([, name, content]) => [name, content]));
}

/** The template's files under another name. */
function filesOfTemplate(name) {
  const camel = name.split("_").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  const renamed = (text) => text.replaceAll("MY_DESTINATION", name.toUpperCase()).replaceAll("MyDestination", camel)
    .replaceAll("my_destination", name);
  return Object.fromEntries(readdirSync(TEMPLATE).map((file) => [file, renamed(readFileSync(new URL(file, TEMPLATE), "utf8"))]));
}

function run(folder, program, ...words) {
  const done = spawnSync(program, words, { cwd: folder, encoding: "utf8", env: { PATH: process.env.PATH } });
  assert.equal(done.status, 0, done.stdout + done.stderr);
  return done.stdout;
}

/** A plugin's folder with the kit. */
function pluginOf(t, files) {
  const folder = folderOf(t, files);
  for (const name of KIT_FILES) copyFileSync(new URL(name, KIT), join(folder, name));
  return folder;
}

/** A plugin's folder with what the compiler makes of these files, which are those of an author without packages. */
function compiled(t, files) {
  const folder = pluginOf(t, files);
  run(folder, "tsc");
  return folder;
}

function passesTests(folder, least) {
  const said = run(folder, process.execPath, "--test", "--test-reporter=tap", "sender.test.mjs");
  assert.ok(Number(/^# pass (\d+)$/m.exec(said)?.[1]) >= least, said);
}

async function isTakenUp(t, folder, type) {
  const read = (name) => readFileSync(join(folder, name), "utf8");
  const process = new PluginProcess(t, "", { program: read("sender.mjs"), pluginJson: read("plugin.json"), kit: KIT_FILES });
  assert.equal(await process.greet(), "");
  assert.equal((await process.create(type))[0], 1);
}

/** A test that needs the compiler. */
function compilerTest(name, test) {
  it(name, async (t) => {
    if (!HAS_COMPILER && !MUST_RUN) return t.skip("there is no tsc");
    await test(t);
  });
}

const { "tsconfig.json": CONFIGURATION, "node_test.d.ts": NODE_TYPES } = filesOfTemplate("fax");
const exampleOfPage = () => ({ ...filesOfPage(), "tsconfig.json": CONFIGURATION, "node_test.d.ts": NODE_TYPES });

it("the page's example is short, and taken up by a host as it stands", async (t) => {
  const files = filesOfPage();
  assert.ok(files["sender.mts"].split("\n").length - 1 <= MOST_LINES);
  await isTakenUp(t, folderOf(t, { ...files, "sender.mjs": files["sender.mts"] }), "fax");
});

it("it passes its tests as JavaScript", (t) => {
  const files = filesOfPage();
  passesTests(pluginOf(t, { "plugin.json": files["plugin.json"], "sender.mjs": files["sender.mts"],
                            "sender.test.mjs": files["sender.test.mts"] }), 2);
});

compilerTest("it compiles and passes its tests", (t) => {
  passesTests(compiled(t, exampleOfPage()), 2);
});

compilerTest("the template compiles, and passes its tests under any name", (t) => {
  for (const name of ["my_destination", "fax_2"]) passesTests(compiled(t, filesOfTemplate(name)), 10);
});

compilerTest("the template is taken up by a host", async (t) => {
  await isTakenUp(t, compiled(t, filesOfTemplate("fax_2")), "fax_2");
});

// Each line that is wrong has to be an error, and no other line.
const TYPED = `import * as waybill from "./waybill_plugin.mjs";
import { FakeHost } from "./waybill_testing.mjs";

waybill.sender("x", async (job, host) => {
  const answer = await host.fetch("GET", job.destination.url, {
    headers: new Map([["A", "1"]]), signal: new AbortController().signal,
    body: ["a", new Uint8Array(1), new waybill.Secret("s", "json")],
  });
  const reply = await host.submit("smtp://r", "a@b", new Set(["c@d"]), new Uint8Array(0), { tls: "required" });
  await host.sleep(1, { signal: new AbortController().signal });
  host.log("said", { level: "warn", parts: 3 });
  const text: string | undefined = answer.headers["x-id"] ?? host.sign("s", "a", new Uint8Array(1))[0]?.toString();
  if (reply.isTaken) return waybill.accepted(answer, { result: { text }, retryAfter: answer.retryAfter });
  return waybill.accepted({ artifact: "text", artifactType: "text/plain" });
});
waybill.failures("x", async function* (job) {
  yield new waybill.Failure({ providerRef: job.page, failedAt: job.since });
  yield new waybill.NextPage("2");
  yield waybill.transient("later");
});
waybill.failures("y", async () => waybill.accepted());
waybill.checkSettings("x", function* (settings) {
  if (!settings.a) yield ["/a", "missing"];
});
waybill.checkDestination("x", (destination) => (destination.url ? undefined : [["", "none"]]));
waybill.sender("x", async () => "accepted"); // wrong
waybill.sender("x", async () => waybill.transient("a", { retry: 3 })); // wrong
waybill.sender("x", async () => waybill.transient("a", { scope: "target" })); // wrong
waybill.sender("x", async () => waybill.rejected(7)); // wrong
waybill.sender("x", async (job, host) => host.fetch("GET", "u")); // wrong
waybill.sender("x", async (job) => { job.attempt = 2; return waybill.accepted(); }); // wrong
waybill.sender("x", async (job, host) => waybill.judge(await host.fetch("GET", "u", { jsn: 1 }), "r")); // wrong
waybill.checkSettings("x", async () => []); // wrong
waybill.run(); // wrong
const fake = new FakeHost({ secrets: { a: "b", c: ["d", "e"] }, plugin: new waybill.Plugin(), patience: 1 });
fake.answer((request) => ({ status: 200, json: request.json() }), { url: "u" });
fake.answer({ error: "conect" }); // wrong
fake.answer(200, { stats: 1 }); // wrong
void fake.send("x", { paylod: 1 }); // wrong
waybill.run(import.meta.url);
`;

compilerTest("the types let through what is right, and nothing else", (t) => {
  const folder = pluginOf(t, { "sender.mts": TYPED, "tsconfig.json": CONFIGURATION });
  const { stdout } = spawnSync("tsc", ["--noEmit"], { cwd: folder, encoding: "utf8" });
  const found = [...new Set([...stdout.matchAll(/^sender\.mts\((\d+),/gm)].map(([, line]) => Number(line)))];
  const wrong = TYPED.split("\n").flatMap((line, index) => (line.endsWith("// wrong") ? [index + 1] : []));
  assert.deepEqual(found, wrong, stdout);
});

it("the types name what the kit has", () => {
  for (const [file, module] of [["waybill_plugin", waybill], ["waybill_testing", { FakeHost }]]) {
    const types = readFileSync(new URL(`${file}.d.mts`, KIT), "utf8");
    for (const [, name] of types.matchAll(/^export (?:class|function) (\w+)/gm)) assert.ok(name in module, name);
  }
});

it("every word of the page is one of the kit", () => {
  const page = readFileSync(PAGE, "utf8");
  for (const [, name] of page.matchAll(/\bwaybill\.(\w+)/g)) assert.ok(name === "yaml" || name in waybill, name);
  const known = [...[waybill.Host, FakeHost].flatMap((one) => Object.getOwnPropertyNames(one.prototype)), "requests"];
  for (const [, name] of page.matchAll(/\bhost\.(\w+)/g)) assert.ok(known.includes(name), name);
});

// The package as users get it: packed, installed into an empty folder, compiled against, imported, and as its README uses it.  // Q8
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const CLIENT = fileURLToPath(new URL("..", import.meta.url)), REPOSITORY = join(CLIENT, "../..");
const README = await readFile(join(CLIENT, "README.md"), "utf8");
const BLOCKS = README.matchAll(/^```(\w+)(?: file=(\S+))?\n([\s\S]*?)^```$/gm);
const SNIPPETS = [...BLOCKS].map(([, language, file, text]) => ({ language, file, text }));

let folder, environment;

async function run(program, ...words) {
  const { stdout } = await promisify(execFile)(program, words, { cwd: folder, env: environment }).catch((error) => {
    throw new Error(`${program} ${words.join(" ")}: ${error.stdout}${error.stderr}`);
  });
  return stdout;
}

/** Rejects with what the compiler says. */
async function compile(files, options) {
  const compilerOptions = { noEmit: true, target: "es2022", lib: ["es2022", "dom"], types: [], ...options };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  await run("tsc", "-p", ".");
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "waybill-client-"));
  // No network: npm has nothing to ask, and would wait for it.
  environment = { PATH: process.env.PATH, HOME: folder, npm_config_offline: "true", npm_config_audit: "false", npm_config_fund: "false",
                  npm_config_update_notifier: "false" };
  await symlink(REPOSITORY, join(folder, "waybill"));
  for (const { text } of SNIPPETS.filter(({ language }) => language === "sh"))
    for (const command of text.trim().split("\n")) await run("sh", "-c", command);
  for (const { file, text } of SNIPPETS.filter(({ language }) => language === "js")) await writeFile(join(folder, file), text);
});
after(() => rm(folder, { recursive: true }));

test("every snippet of the README is one that runs here", () => {
  assert.deepEqual(SNIPPETS.map(({ language, file }) => file ?? language), ["sh", "submit.mjs", "repeat.mjs", "receive.mjs"]);
});

test("the package has its modules with their types and the README, and nothing else", async () => {
  const packed = await readdir(join(folder, "node_modules/@waybill/client"));
  const modules = (await readdir(CLIENT)).filter((name) => /\.m(js|ts)$/.test(name));
  assert.deepEqual(packed.sort(), [...modules, "README.md", "package.json"].sort());
});

test("its version is the repository's", async () => {
  const { version, dependencies } = JSON.parse(await readFile(join(CLIENT, "package.json"), "utf8"));
  assert.equal(version, (await readFile(join(REPOSITORY, "CMakeLists.txt"), "utf8")).match(/project\(waybill VERSION (\S+)/)[1]);
  assert.equal(dependencies, undefined);
  assert.ok(README.includes(`waybill-client-${version}.tgz`));
});

test("what it exports is what its types declare, and the same of a client's methods", async () => {
  const types = await readFile(join(CLIENT, "index.d.mts"), "utf8");
  const declared = [...types.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  const program = `import * as waybill from "@waybill/client";
    console.log(JSON.stringify([Object.keys(waybill), Object.getOwnPropertyNames(waybill.Client.prototype)]));`;
  const [exported, methods] = JSON.parse(await run(process.execPath, "--input-type=module", "-e", program));
  assert.deepEqual(exported, declared.sort());
  const client = types.match(/^export class Client \{([\s\S]*?)^\}/m)[1];
  assert.deepEqual(methods.sort(), [...client.matchAll(/^  (\w+)[(<]/gm)].map(([, name]) => name).sort());
});

test("a strict program that uses everything compiles, and what must not compile does not", async () => {
  await cp(join(CLIENT, "tests/everything.mts"), join(folder, "everything.mts"));
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  await compile(["everything.mts"], { ...strict, module: "node16" });
  await compile(["everything.mts"], { ...strict, module: "es2022", moduleResolution: "node" });  // as bundlers' templates have it
});

// Of the year of Node.js 18 is what this tsc knows; a later language or a later API is a mistake here.
test("its modules are of the language and the APIs of Node.js 18", async () => {
  const check = (files) => compile(files, { allowJs: true, checkJs: true, module: "node16", lib: ["es2022", "dom", "dom.iterable"] });
  const modules = (await readdir(CLIENT)).filter((name) => name.endsWith(".mjs") && name !== "schemas.mjs");
  for (const name of modules) await cp(join(CLIENT, name), join(folder, "modules", name));  // without types of others beside them
  await check(modules.map((name) => `modules/${name}`));
  const later = ["AbortSignal.any([])", "[1].toSorted()", "Promise.withResolvers()"];
  for (const [n, text] of later.entries()) await writeFile(join(folder, `modules/later${n}.mjs`), `export const x = ${text};`);
  await assert.rejects(check(later.map((text, n) => `modules/later${n}.mjs`)), ({ message }) => {
    assert.deepEqual(message.match(/later\d\.mjs.* does not exist on/g)?.length, later.length, message);
    return true;
  });
});

async function hostOf(t, answer) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    response.end(JSON.stringify(answer(request, body)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => (server.closeAllConnections(), server.close()));
  environment = { ...environment, WAYBILL_URL: `http://127.0.0.1:${server.address().port}`, WAYBILL_TOKEN: "t0ken" };
}

test("the README's programs submit, list and repeat", async (t) => {
  await hostOf(t, (request, body) => {
    assert.equal(request.headers.authorization, "Bearer t0ken");
    if (request.url === "/v1/intents?waitSeconds=30") return { intentId: "i1", status: "accepted" };
    if (request.url === "/v1/intents:batch") return { results: JSON.parse(body).map((intent) => ({ status: 200, intent })) };
    if (request.url === "/v1/intents?target=hook") return { items: [{ intentId: "i2", status: "pending" }], next: null };
    if (request.url === "/v1/intents") return { intentId: JSON.parse(body).intentId };
    assert.match(request.url, /^\/v1\/intents\/[0-9a-f-]{36}\/history$/);
    return { attempts: [1, 2] };
  });
  assert.equal(await run(process.execPath, "submit.mjs"), "i1 accepted\n[ 200, 200, 200 ]\ni2 pending\n");
  assert.equal(await run(process.execPath, "repeat.mjs"), "2\n");
});

test("the README's receiver takes what is signed, once, and nothing else", async (t) => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  const receiver = spawn(process.execPath, ["receive.mjs"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"],
                                                              env: { ...environment, PORT: `${port}`, WAYBILL_SECRETS: "old new" } });
  t.after(() => receiver.kill());
  const post = async (secret) => {
    const now = `${Math.floor(Date.now() / 1000)}`, body = '{"order":1}';
    const signature = `v1,${createHmac("sha256", secret).update(`id-1.${now}.${body}`).digest("base64")}`;
    const headers = { "webhook-id": "id-1", "webhook-timestamp": now, "webhook-signature": signature };
    for (;;)
      try {
        return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body })).status;
      } catch {  // it does not listen yet
        assert.equal(receiver.exitCode, null);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
  };
  assert.deepEqual([await post("wrong"), await post("new"), await post("old")], [401, 204, 204]);
  receiver.kill();
  let printed = "";
  for await (const chunk of receiver.stdout) printed += chunk;
  assert.equal(printed, "id-1 { order: 1 }\n");
});

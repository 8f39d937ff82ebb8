// Usage: node make_jobs.mjs PACKAGE URL SCHEMA. Makes jobs in every state with the real pg-boss; prints the ids of those that wait.
const [, , name, connectionString, schema] = process.argv;
const { default: PgBoss } = await import(name);
const boss = new PgBoss({ connectionString, schema });
boss.on("error", (error) => { throw error; });
await boss.start();
const is_old = name === "pg-boss-9";
const queues = ["NOTIFY_SEND", "SES_SEND", "UNKNOWN"];
if (!is_old) for (const queue of queues) await boss.createQueue(queue);
const fetch = async (queue) => (is_old ? await boss.fetch(queue) : (await boss.fetch(queue))[0]);
const send = (queue, data, options = {}) => boss.send(queue, data, { retryLimit: 5, retryDelay: 3600, ...options });
const end = (how, queue, id) => (is_old ? boss[how](id) : boss[how](queue, id));

const active = await send("NOTIFY_SEND", { n: "active" });
await fetch("NOTIFY_SEND");
const completed = await send("NOTIFY_SEND", { n: "completed" });
await fetch("NOTIFY_SEND");
await end("complete", "NOTIFY_SEND", completed);
const retry = await send("NOTIFY_SEND", { n: "retry", metadata: { reference: "B-1" } });
await fetch("NOTIFY_SEND");
await end("fail", "NOTIFY_SEND", retry);
const later = await send("NOTIFY_SEND", { n: "later" }, { startAfter: 3600 });
const created = [];
for (let i = 0; i < 7; ++i) created.push(await send("NOTIFY_SEND", { n: `created ${i}`, text: "Grüße" }));
const ses = await send("SES_SEND", { body: "<p>Dear</p>" });
const unknown = await send("UNKNOWN", { n: "unknown" });
console.log(JSON.stringify({ active, completed, retry, later, created, ses, unknown }));
await boss.stop({ graceful: false });
process.exit(0);

// A strict program that uses everything of the package, for the compiler only.  // Q8
import {
  ApiError, Client, ConflictError, ConnectionError, ForbiddenError, hasEnded, InvalidRequestError, NotFoundError, RateLimitedError,
  TimeoutError, UnauthorizedError, UnavailableError, verify, WaybillError, WebhookVerificationError,
} from "@waybill/client";
import type {
  CallOptions, ClientOptions, Clock, EventToPublish, FormToSubmit, History, Intent, IntentResult, IntentToSubmit, JobToSubmit, Listing,
  NewIntent, Submission, Webhook, WebhookHeaders,
} from "@waybill/client";

const clock: Clock = { now: () => 0, random: () => 0, sleep: async (seconds, signal) => void [seconds, signal?.aborted] };
const options: ClientOptions = {
  url: new URL("https://host.test"), token: async () => "t", organisation: "acme", fetch, timeLimit: 1, timeout: 1, clock,
};
const client = new Client(options);
new Client({ url: "https://host.test" });
new Client({ url: "https://host.test", token: "t" });

const intent: IntentToSubmit = {
  submissionTarget: "ops", payload: { any: [1] }, notBefore: new Date(), expiresAt: "2027-01-01T00:00:00Z", orderingKey: "k",
};
const named: NewIntent = { intentId: "i", submissionTarget: "ops" };
const { signal } = new AbortController();
const call: CallOptions = { signal, timeLimit: 1, timeout: 1, traceparent: "00", tracestate: "a=b" };
const answer: Intent = await client.submit(intent, { ...call, waitSeconds: 1 });
const isKnown: boolean = answer.status === "cancelled" || answer.status === "a newer host's";
const results: IntentResult[] = await client.submitBatch(new Set([intent, named]), call);
const first: string | undefined = results[0]?.intent?.status;
const history: History = await client.history((await client.get("i")).intentId);
const code: number | null | undefined = history.attempts[0]?.code;
const query = { target: "ops", status: "accepted" as const, since: new Date(), limit: 1 };
const listing: Listing<Intent, { items: Intent[]; next: string | null }> = client.list(query);
for await (const one of listing) if (hasEnded(one)) break;
for await (const page of listing.pages()) void page.next;
await client.cancel("i", { reason: "moved", ...call });
const { count, dryRun }: { count: number; dryRun: boolean } = await client.cancelAll({ target: "ops", olderThanSeconds: 1, dryRun: true });
await client.reschedule("i", new Date());

const form: FormToSubmit = { formId: "contact", fields: { name: "Ada" }, finalize: true, retentionExpiresAt: new Date() };
const state: "received" | "processing" | "routed" | "failed" | "purged" | (string & {}) = (await client.submitForm(form)).status;
await client.finalize("s");
const job: JobToSubmit = { payload: 1, metadata: { reference: "r" } };
await client.submitJob("parcels", job);
for (const one of (await client.postForm({ answers: 1 })).submissions) void one.state;
const submission = await client.getSubmission("s");
if ("formId" in submission) void (submission as Submission).routingResult["1"]?.attempts;
else void submission.results;
for await (const one of client.listSubmissions({ formId: "contact" })) void one.createdAt;
const event: EventToPublish = { snapshot: 1, suppressDelivery: true };
const duplicate: boolean = (await client.publish("rule", event)).duplicate;
interface Stats { pipelines: object }
const stats: Stats = await client.request<Stats>("GET", "/v1/stats", { query: { a: 1 }, isRepeatable: true });
for await (const letter of client.listing<{ id: string }>("/v1/dead", { limit: 1 })) void letter.id;

function told(error: unknown): string {
  if (error instanceof ConflictError) return error.intent?.status ?? error.problem.code;
  if (error instanceof RateLimitedError || error instanceof UnavailableError) return `${error.retryAfter} ${error.attempts}`;
  if (error instanceof InvalidRequestError || error instanceof UnauthorizedError) return `${error.status} ${error.code}`;
  if (error instanceof ForbiddenError || error instanceof NotFoundError) return String(error.problem["problems"]);
  if (error instanceof ApiError) return error.message;
  if (error instanceof TimeoutError || error instanceof ConnectionError) return error.ids.join();
  if (error instanceof WaybillError) return `${error.isTransient}`;
  if (error instanceof WebhookVerificationError) return error.code === "wrong_signature" ? "no" : error.message;
  throw error;
}

const headers: WebhookHeaders[] = [new Headers(), new Map([["webhook-id", "i"]]), { "webhook-id": ["i"], other: undefined }];
for (const one of headers) {
  const webhook: Webhook = await verify(one, new Uint8Array(), ["whsec_"], { tolerance: 1, now: 1 });
  void [webhook.id, webhook.timestamp.getTime(), webhook.json().anything];
}
await verify({}, "body", "whsec_");
await verify({}, new ArrayBuffer(1), new Set(["whsec_"]));
void [isKnown, first, code, count, dryRun, state, duplicate, stats, told];

// What must not compile.
// @ts-expect-error: no URL
new Client({});
// @ts-expect-error: no target
client.submit({ payload: 1 });
// @ts-expect-error: a field that no intent has
client.submit({ submissionTarget: "ops", paylaod: 1 });
// @ts-expect-error: a status that no intent has
client.list({ status: "finished" });
// @ts-expect-error: JSON that was parsed
verify({}, { test: 1 }, "whsec_");
// @ts-expect-error: what comes from the host is not known
client.request("GET", "/v1/stats").then((answer) => answer.pipelines);

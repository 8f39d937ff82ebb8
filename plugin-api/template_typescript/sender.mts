/** Action type my_destination: posts the payload as it is to an HTTP API that takes JSON. */
import * as waybill from "./waybill_plugin.mjs";

const DEFAULT_TIMEOUT_MS = 10_000;

/** What this API says in a way of its own goes here; the rest is judged as with any HTTP API. */
function verdict(answer: waybill.Answer): waybill.Outcome {
  if (answer.status === 404) return waybill.rejected("not_found", answer, { detail: "there is nothing at this url" });
  return waybill.judge(answer, "invalid_request");
}

waybill.sender("my_destination", async (job, host) => {
  const headers: Record<string, string> = { "Content-Type": "application/json", "Idempotency-Key": job.idempotencyKey };
  if (job.destination.channel !== undefined) headers["X-Channel"] = job.destination.channel;
  const timeout = (host.settings.timeout_ms ?? DEFAULT_TIMEOUT_MS) / 1000;
  return verdict(await host.fetch("POST", job.destination.url, { headers, body: job.payloadBytes, timeout }));
});

waybill.run(import.meta.url);

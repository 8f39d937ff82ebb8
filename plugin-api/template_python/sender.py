"""Action type my_destination: posts the payload as it is to an HTTP API that takes JSON."""
import waybill_plugin as waybill

DEFAULT_TIMEOUT_MS = 10_000


def verdict(answer):
    """What this API says in a way of its own goes here; the rest is judged as with any HTTP API."""
    if answer.status == 404:
        return waybill.rejected("not_found", answer, detail="there is nothing at this url")
    return waybill.judge(answer, "invalid_request")


@waybill.sender("my_destination")
async def send(job, host):
    headers = {"Content-Type": "application/json", "Idempotency-Key": job.idempotency_key}
    if "channel" in job.destination:
        headers["X-Channel"] = job.destination["channel"]
    timeout = host.settings.get("timeout_ms", DEFAULT_TIMEOUT_MS) / 1000
    answer = await host.fetch("POST", job.destination["url"], headers=headers, body=job.payload_bytes, timeout=timeout)
    return verdict(answer)


if __name__ == "__main__":
    waybill.run()

//! Action type note: posts the payload to an HTTP API, under its idempotency key.

use waybill_plugin::{action, judge, number_field, permanent, plugin, text_field};
use waybill_plugin::{Action, Call, Host, Job, Outcome, Reach, Report, Request, Sender, Verdict};

struct Note {
    host: Host,
    timeout_ms: u32,
}

impl Sender for Note {
    fn create(host: Host, settings: &str) -> Result<Note, String> {
        Ok(Note { host, timeout_ms: number_field(settings, "timeout_ms").unwrap_or(10_000.0) as u32 })
    }

    fn send(&mut self, call: Call, job: &Job<'_>) {
        let url = match text_field(&job.destination(), "url") {
            Some(url) => url,
            None => return call.complete(Outcome::transient("no_url").reach(Reach::NotSent)),
        };
        let mut request = Request::post(&url)
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer {secret:note}")
            .header("Idempotency-Key", &job.idempotency_key())
            .body(job.payload());
        request.timeout_ms = self.timeout_ms;
        let host = self.host.clone();
        self.host.fetch(call, request, move |call, response| {
            let outcome = judge(response, "refused");
            if outcome.verdict == Verdict::Accepted {
                host.count("notes", 1);
            }
            call.complete(outcome)
        });
    }

    fn check_destination(json: &str, report: &mut Report<'_>) {
        if text_field(json, "url").map_or(false, |url| url.contains(' ')) {
            report.problem("/url", "must not hold blanks");
        }
    }
}

const NOTE: Action = action::<Note>("note")
    .reasons(&[permanent("refused")])
    .settings_schema(
        r#"{"type":"object","additionalProperties":false,
            "properties":{"timeout_ms":{"type":"integer","minimum":1,"maximum":600000}}}"#,
    )
    .destination_schema(
        r#"{"type":"object","required":["url"],"additionalProperties":false,
            "properties":{"url":{"type":"string","minLength":1}},"examples":[{"url":"https://notes.example.org/v1"}]}"#,
    )
    .payload_schema(r#"{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}"#);

plugin!("org.example.note", "1.0.0", NOTE);

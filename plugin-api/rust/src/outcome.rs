//! What a plugin says of one attempt, and the table of verdicts that HTTP plugins share.

use crate::http::{NetError, Response};

/// How far a request got: whether a retry may duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    NotSent = 1,
    MaybeSent = 2,
    Answered = 3,
}

/// What failed: this delivery, or the whole target (an outage, bad credentials), which then cools down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    ThisJob = 1,
    WholeTarget = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted = 1,
    Rejected = 2,
    Transient = 3,
    Deferred = 4,
}

/// The end of one attempt. Texts are UTF-8, never a secret; `detail` is one line.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    pub reach: Reach,
    pub scope: Scope,
    pub code: i32,
    /// Milliseconds; none if the destination named no time.
    pub retry_after_ms: Option<i64>,
    pub reason: String,
    pub detail: String,
    pub provider_ref: String,
    /// JSON, or empty.
    pub result: String,
}

impl Outcome {
    fn new(verdict: Verdict, reach: Reach, reason: &str) -> Outcome {
        Outcome {
            verdict,
            reach,
            scope: Scope::ThisJob,
            code: 0,
            retry_after_ms: None,
            reason: reason.to_string(),
            detail: String::new(),
            provider_ref: String::new(),
            result: String::new(),
        }
    }
    pub fn accepted() -> Outcome {
        Outcome::new(Verdict::Accepted, Reach::Answered, "")
    }
    /// `reason` is one that the action declares.
    pub fn rejected(reason: &str) -> Outcome {
        Outcome::new(Verdict::Rejected, Reach::Answered, reason)
    }
    /// `reason` is one short word.
    pub fn transient(reason: &str) -> Outcome {
        Outcome::new(Verdict::Transient, Reach::MaybeSent, reason)
    }
    pub fn reach(mut self, reach: Reach) -> Outcome {
        self.reach = reach;
        self
    }
    pub fn scope(mut self, scope: Scope) -> Outcome {
        self.scope = scope;
        self
    }
    pub fn code(mut self, code: i32) -> Outcome {
        self.code = code;
        self
    }
    pub fn retry_after_ms(mut self, wait: Option<i64>) -> Outcome {
        self.retry_after_ms = wait;
        self
    }
    pub fn detail(mut self, line: &str) -> Outcome {
        self.detail = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
        self
    }
    pub fn provider_ref(mut self, id: &str) -> Outcome {
        self.provider_ref = id.chars().filter(|c| !c.is_control()).take(500).collect();
        self
    }
}

/// The usual verdict on an HTTP answer; `refused` is the declared reason for a 4xx that would refuse the same again.
pub fn judge(response: &Response<'_>, refused: &str) -> Outcome {
    if let Some(error) = response.error {
        let word = match error {
            NetError::Refused => "refused_by_host",
            NetError::Resolve => "resolve_failed",
            NetError::Connect => "connect_failed",
            NetError::Tls => "tls_failed",
            NetError::Timeout => "timeout",
            NetError::Cancelled => "cancelled",
            NetError::Broken => "connection_broken",
        };
        // What the host refuses is about this delivery: others of the target may pass.
        let no_connection = matches!(error, NetError::Resolve | NetError::Connect | NetError::Tls);
        let scope = if no_connection { Scope::WholeTarget } else { Scope::ThisJob };
        return Outcome::transient(word).reach(response.reach).scope(scope).detail(&response.error_text());
    }
    let status = response.status;
    let outcome = match status {
        200..=299 => Outcome::accepted(),
        401 | 403 => Outcome::transient("unauthorized").scope(Scope::WholeTarget),
        429 => Outcome::transient("try_later").scope(Scope::WholeTarget),
        502..=504 => Outcome::transient("server_error").scope(Scope::WholeTarget),
        408 | 425 => Outcome::transient("try_later"),
        400..=499 => Outcome::rejected(refused),
        500..=599 => Outcome::transient("server_error"),
        _ => Outcome::transient("invalid_answer"),
    };
    outcome.reach(response.reach).code(status).retry_after_ms(response.retry_after_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;

    fn judged(status: i32) -> Outcome {
        let mut raw: abi::wb_http_response = unsafe { std::mem::zeroed() };
        raw.status = status;
        judge(&unsafe { Response::new(&raw) }, "refused")
    }

    // T14: as verdicts.hpp has it for plugins in C++.
    #[test]
    fn a_proxy_in_front_of_a_target_that_is_away_blames_the_target() {
        for (status, verdict, reason, scope) in [
            (200, Verdict::Accepted, "", Scope::ThisJob),
            (400, Verdict::Rejected, "refused", Scope::ThisJob),
            (401, Verdict::Transient, "unauthorized", Scope::WholeTarget),
            (403, Verdict::Transient, "unauthorized", Scope::WholeTarget),
            (408, Verdict::Transient, "try_later", Scope::ThisJob),
            (425, Verdict::Transient, "try_later", Scope::ThisJob),
            (429, Verdict::Transient, "try_later", Scope::WholeTarget),
            (500, Verdict::Transient, "server_error", Scope::ThisJob),
            (501, Verdict::Transient, "server_error", Scope::ThisJob),
            (502, Verdict::Transient, "server_error", Scope::WholeTarget),
            (503, Verdict::Transient, "server_error", Scope::WholeTarget),
            (504, Verdict::Transient, "server_error", Scope::WholeTarget),
            (505, Verdict::Transient, "server_error", Scope::ThisJob),
            (302, Verdict::Transient, "invalid_answer", Scope::ThisJob),
        ] {
            let outcome = judged(status);
            assert_eq!((outcome.verdict, outcome.reason.as_str(), outcome.scope), (verdict, reason, scope), "{status}");
        }
    }
}

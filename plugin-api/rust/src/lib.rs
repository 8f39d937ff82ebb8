//! Sender plugins for Waybill in safe Rust. One type that implements [`Sender`], one constant that describes it, one macro:
//!
//! ```
//! use waybill_plugin::{action, judge, permanent, plugin, Action, Call, Host, Job, Request, Sender};
//!
//! struct Shout {
//!     host: Host,
//! }
//!
//! impl Sender for Shout {
//!     fn create(host: Host, _settings: &str) -> Result<Shout, String> {
//!         Ok(Shout { host })
//!     }
//!     fn send(&mut self, call: Call, job: &Job<'_>) {
//!         let request = Request::post("https://example.org/shout").body(job.payload());
//!         self.host.fetch(call, request, |call, response| call.complete(judge(response, "refused")));
//!     }
//! }
//!
//! const SHOUT: Action = action::<Shout>("shout").reasons(&[permanent("refused")]).destination_schema(r#"{"type":"object"}"#);
//! plugin!("org.example.shout", "1.0.0", SHOUT);
//! # fn main() {}
//! ```
//!
//! A [`Call`] is completed exactly once: `complete` takes it, and one that is dropped, by a panic too, is completed as transient,
//! `plugin_error`. No panic leaves the plugin. A cancelled call has its requests aborted by this crate; their callbacks still come, with
//! [`NetError::Cancelled`], and complete it.

pub mod abi;
mod descriptor;
mod http;
mod json;
mod outcome;
mod sender;

#[doc(hidden)]
pub use descriptor::Constant;
pub use descriptor::{action, duplicate, permanent, reason, Action, Reason};
pub use http::{NetError, Request, Response};
pub use json::{number_field, text_field};
pub use outcome::{judge, Outcome, Reach, Scope, Verdict};
pub use sender::{Call, Host, Job, Level, Report, Sender};

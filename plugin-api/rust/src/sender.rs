//! A sender, its host, its calls and jobs; and the C functions behind them, which no panic leaves.

use crate::abi::{self, wb_str};
use crate::http::{Request, Response};
use crate::outcome::{Outcome, Reach, Scope, Verdict};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

/// What an action type sends with. One thread at a time enters it; the host may make several.
pub trait Sender: Send + Sized + 'static {
    /// No I/O. `settings` is the operator's JSON object. An error refuses the sender, with these words.
    fn create(host: Host, settings: &str) -> Result<Self, String>;
    /// Begin one attempt. Do not block, unless the action is `blocking`.
    fn send(&mut self, call: Call, job: &Job<'_>);
    /// What a schema cannot express; no I/O, the same answer for the same text.
    fn check_settings(_json: &str, _report: &mut Report<'_>) {}
    fn check_destination(_json: &str, _report: &mut Report<'_>) {}
}

#[derive(Clone, Copy, Debug)]
pub enum Level {
    Debug = 1,
    Info = 2,
    Warn = 3,
    Error = 4,
}

struct Shared {
    raw: *const abi::wb_host,
    http: *const abi::wb_http_service,
    timer: *const abi::wb_timer_service,
    counter: *const abi::wb_counter_service,
    fetches: Mutex<HashMap<u64, Vec<u64>>>, // open ones, by call
}

// The host outlives every sender; its functions say from which thread they may be called, and Host passes that on.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

/// The host as a sender sees it.
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

impl Host {
    /// # Safety
    /// `raw` is what the host gave to create, and outlives the sender.
    unsafe fn new(raw: *const abi::wb_host) -> Result<Host, String> {
        let service = |id: &str| ((*raw).get_service)(raw, wb_str::of(id));
        let http = service(abi::HTTP_SERVICE) as *const abi::wb_http_service;
        let timer = service(abi::TIMER_SERVICE) as *const abi::wb_timer_service;
        if http.is_null() || timer.is_null() {
            return Err(format!("this host has no service {} or {}", abi::HTTP_SERVICE, abi::TIMER_SERVICE));
        }
        let counter = service(abi::COUNTER_SERVICE) as *const abi::wb_counter_service;
        Ok(Host { shared: Arc::new(Shared { raw, http, timer, counter, fetches: Mutex::new(HashMap::new()) }) })
    }

    /// On the sender's thread. Begins a request for this call; `done` gets the call back with the answer, exactly once.
    pub fn fetch(&self, call: Call, request: Request, done: impl FnOnce(Call, &Response<'_>) + Send + 'static) {
        let headers: Vec<abi::wb_header> = request
            .headers
            .iter()
            .map(|(name, value)| abi::wb_header { name: wb_str::of(name), value: wb_str::of(value) })
            .collect();
        let raw = abi::wb_http_request {
            size: std::mem::size_of::<abi::wb_http_request>(),
            timeout_ms: request.timeout_ms,
            max_response_bytes: request.max_response_bytes,
            method: wb_str::of(&request.method),
            url: wb_str::of(&request.url),
            headers: headers.as_ptr(),
            header_count: headers.len(),
            body: wb_str::bytes(&request.body),
        };
        let raw_call = call.raw();
        let pending = Box::new(Pending { host: self.clone(), call, done: Box::new(done) });
        let user = Box::into_raw(pending) as *mut c_void;
        // The host copies the request, and calls `answered` once, never before this returns.
        let fetch = unsafe { ((*self.shared.http).fetch)(self.shared.raw, raw_call, &raw, answered, user) };
        self.open_fetches().entry(raw_call.id).or_default().push(fetch);
    }

    /// From any thread. Never a secret in here.
    pub fn log(&self, level: Level, text: &str, fields: &[(&str, &str)]) {
        let fields: Vec<abi::wb_field> =
            fields.iter().map(|(key, value)| abi::wb_field { key: wb_str::of(key), value: wb_str::of(value) }).collect();
        let no_call = abi::wb_call { id: 0 };
        unsafe { ((*self.shared.raw).log)(self.shared.raw, no_call, level as i32, wb_str::of(text), fields.as_ptr(), fields.len()) }
    }

    /// From any thread. Adds to a counter in the host's metrics; `name` is `[a-z][a-z0-9_]*`. False: not counted.
    pub fn count(&self, name: &str, by: u64) -> bool {
        let service = self.shared.counter;
        !service.is_null() && unsafe { ((*service).add)(self.shared.raw, wb_str::of(name), by) } == 0
    }

    /// From any thread. The host's clock, in seconds since 1970.
    pub fn unix_seconds(&self) -> i64 {
        unsafe { ((*self.shared.timer).unix_seconds)(self.shared.raw) }
    }

    fn open_fetches(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Vec<u64>>> {
        self.shared.fetches.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn abort(&self, call: abi::wb_call) {
        let fetches = self.open_fetches().get(&call.id).cloned().unwrap_or_default();
        for fetch in fetches {
            unsafe { ((*self.shared.http).abort)(self.shared.raw, fetch) }
        }
    }

    fn complete(&self, call: abi::wb_call, outcome: &Outcome) {
        let raw = abi::wb_outcome {
            size: std::mem::size_of::<abi::wb_outcome>(),
            verdict: outcome.verdict as i32,
            reach: outcome.reach as i32,
            scope: outcome.scope as i32,
            code: outcome.code,
            retry_after_ms: outcome.retry_after_ms.unwrap_or(-1),
            reason: wb_str::of(&outcome.reason),
            detail: wb_str::of(&outcome.detail),
            provider_ref: wb_str::of(&outcome.provider_ref),
            result: wb_str::of(&outcome.result),
        };
        self.open_fetches().remove(&call.id);
        unsafe { ((*self.shared.raw).complete)(self.shared.raw, call, &raw) };
    }
}

/// One attempt of one delivery, to be completed exactly once, from any thread.
pub struct Call {
    host: Host,
    id: u64,
    open: bool,
}

impl Call {
    pub fn complete(mut self, outcome: Outcome) {
        self.open = false;
        self.host.complete(self.raw(), &outcome);
    }
    pub fn id(&self) -> u64 {
        self.id
    }
    fn raw(&self) -> abi::wb_call {
        abi::wb_call { id: self.id }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.open {
            self.host.complete(self.raw(), &Outcome::transient("plugin_error").detail("the plugin dropped the call"));
        }
    }
}

/// What to send: valid in `send`. Copy what a callback needs.
pub struct Job<'a> {
    raw: &'a abi::wb_job,
}

impl<'a> Job<'a> {
    /// 1 for the first.
    pub fn attempt(&self) -> u32 {
        self.raw.attempt
    }
    /// An earlier attempt may have reached the destination.
    pub fn maybe_sent_before(&self) -> bool {
        self.raw.maybe_sent_before != 0
    }
    pub fn deadline_ms(&self) -> i64 {
        self.raw.deadline_ms
    }
    /// JSON object with `url` and the target's further fields.
    pub fn destination(&self) -> Cow<'a, str> {
        text(self.raw.destination)
    }
    /// The client's bytes, unchanged.
    pub fn payload(&self) -> &'a [u8] {
        unsafe { self.raw.payload.view() }
    }
    /// JSON object.
    pub fn context(&self) -> Cow<'a, str> {
        text(self.raw.context)
    }
    pub fn target(&self) -> Cow<'a, str> {
        text(self.raw.target)
    }
    /// The same in every attempt of this delivery.
    pub fn idempotency_key(&self) -> Cow<'a, str> {
        text(self.raw.idempotency_key)
    }
}

fn text<'a>(raw: wb_str) -> Cow<'a, str> {
    String::from_utf8_lossy(unsafe { raw.view() })
}

/// Takes the problems of a check; `path` is a JSON pointer such as "/url".
pub struct Report<'a> {
    tell: &'a mut dyn FnMut(&str, &str),
    count: i32,
}

impl Report<'_> {
    pub fn problem(&mut self, path: &str, message: &str) {
        (self.tell)(path, message);
        self.count = self.count.saturating_add(1);
    }
}

// ---- the C functions ----

type Done = Box<dyn FnOnce(Call, &Response<'_>) + Send>;

struct Pending {
    host: Host,
    call: Call,
    done: Done,
}

struct State<S> {
    host: Host,
    sender: S,
}

unsafe extern "C" fn answered(user: *mut c_void, response: *const abi::wb_http_response) {
    let pending = Box::from_raw(user as *mut Pending);
    let _ = catch_unwind(AssertUnwindSafe(move || {
        let Pending { host, call, done } = *pending;
        if let Some(open) = host.open_fetches().get_mut(&call.id) {
            open.clear(); // of those that are under way at once, a call of this crate has one
        }
        done(call, &Response::new(&*response));
    }));
}

pub(crate) unsafe extern "C" fn create<S: Sender>(
    host: *const abi::wb_host,
    settings: wb_str,
    vt: *mut *const abi::wb_sender_vt,
    report: abi::wb_report,
    user: *mut c_void,
) -> *mut abi::wb_sender {
    let refuse = |why: &str| {
        report(user, wb_str::of(""), wb_str::of(why));
        std::ptr::null_mut()
    };
    let made = catch_unwind(AssertUnwindSafe(|| {
        let host = Host::new(host)?;
        let sender = S::create(host.clone(), &text(settings))?;
        Ok::<_, String>(Box::new(State { host, sender }))
    }));
    match made {
        Ok(Ok(state)) => {
            *vt = &Table::<S>::TABLE;
            Box::into_raw(state) as *mut abi::wb_sender
        }
        Ok(Err(why)) => refuse(&why),
        Err(_) => refuse("the plugin panicked while it made a sender"),
    }
}

struct Table<S>(std::marker::PhantomData<S>);

impl<S: Sender> Table<S> {
    const TABLE: abi::wb_sender_vt =
        abi::wb_sender_vt { send: send::<S>, cancel: cancel::<S>, get_extension: no_extension, destroy: destroy::<S> };
}

unsafe extern "C" fn send<S: Sender>(sender: *mut abi::wb_sender, call: abi::wb_call, job: *const abi::wb_job) {
    let state = &mut *(sender as *mut State<S>);
    let call = Call { host: state.host.clone(), id: call.id, open: true };
    let _ = catch_unwind(AssertUnwindSafe(|| state.sender.send(call, &Job { raw: &*job })));
}

unsafe extern "C" fn cancel<S: Sender>(sender: *mut abi::wb_sender, call: abi::wb_call) {
    let state = &*(sender as *const State<S>);
    let _ = catch_unwind(AssertUnwindSafe(|| state.host.abort(call)));
}

unsafe extern "C" fn no_extension(_: *mut abi::wb_sender, _: wb_str) -> *const c_void {
    std::ptr::null()
}

unsafe extern "C" fn destroy<S: Sender>(sender: *mut abi::wb_sender) {
    let state = Box::from_raw(sender as *mut State<S>);
    let _ = catch_unwind(AssertUnwindSafe(move || drop(state)));
}

unsafe fn check(json: wb_str, report: abi::wb_report, user: *mut c_void, ask: fn(&str, &mut Report<'_>)) -> i32 {
    catch_unwind(AssertUnwindSafe(|| {
        let mut tell = |path: &str, message: &str| report(user, wb_str::of(path), wb_str::of(message));
        let mut problems = Report { tell: &mut tell, count: 0 };
        ask(&text(json), &mut problems);
        problems.count
    }))
    .unwrap_or(1)
}

pub(crate) unsafe extern "C" fn validate_settings<S: Sender>(json: wb_str, report: abi::wb_report, user: *mut c_void) -> i32 {
    check(json, report, user, S::check_settings)
}

pub(crate) unsafe extern "C" fn validate_destination<S: Sender>(json: wb_str, report: abi::wb_report, user: *mut c_void) -> i32 {
    check(json, report, user, S::check_destination)
}

const _: () = assert!(Verdict::Deferred as i32 == 4 && Reach::Answered as i32 == 3 && Scope::WholeTarget as i32 == 2);

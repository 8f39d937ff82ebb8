//! The C structs of `waybill/plugin.h`, minor 4, as far as this crate uses them. The header is the specification.
#![allow(non_camel_case_types)]

use std::ffi::c_void;

pub const ABI_MINOR: u32 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct wb_str {
    pub ptr: *const u8,
    pub len: usize,
}

impl wb_str {
    pub const fn of(text: &str) -> wb_str {
        wb_str { ptr: text.as_ptr(), len: text.len() }
    }
    pub const fn bytes(bytes: &[u8]) -> wb_str {
        wb_str { ptr: bytes.as_ptr(), len: bytes.len() }
    }
    /// # Safety
    /// The bytes must live for `'a`; a null pointer is the empty text.
    pub unsafe fn view<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() {
            return &[];
        }
        std::slice::from_raw_parts(self.ptr, self.len)
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct wb_call {
    pub id: u64,
}

#[repr(C)]
pub struct wb_sender {
    _opaque: [u8; 0],
}

pub type wb_report = unsafe extern "C" fn(user: *mut c_void, path: wb_str, message: wb_str);

#[repr(C)]
pub struct wb_field {
    pub key: wb_str,
    pub value: wb_str,
}

#[repr(C)]
pub struct wb_host {
    pub size: usize,
    pub abi_minor: u32,
    pub reserved: u32,
    pub name: wb_str,
    pub version: wb_str,
    pub get_service: unsafe extern "C" fn(host: *const wb_host, id: wb_str) -> *const c_void,
    pub complete: unsafe extern "C" fn(host: *const wb_host, call: wb_call, outcome: *const wb_outcome) -> i32,
    pub log: unsafe extern "C" fn(*const wb_host, wb_call, level: i32, text: wb_str, fields: *const wb_field, count: usize),
}

#[repr(C)]
pub struct wb_outcome {
    pub size: usize,
    pub verdict: i32,
    pub reach: i32,
    pub scope: i32,
    pub code: i32,
    pub retry_after_ms: i64,
    pub reason: wb_str,
    pub detail: wb_str,
    pub provider_ref: wb_str,
    pub result: wb_str,
}

/// As of minor 0; what came later is read where `size` says that it is there.
#[repr(C)]
pub struct wb_job {
    pub size: usize,
    pub attempt: u32,
    pub maybe_sent_before: u32,
    pub deadline_ms: i64,
    pub action_id: wb_str,
    pub target: wb_str,
    pub idempotency_key: wb_str,
    pub destination: wb_str,
    pub payload: wb_str,
    pub context: wb_str,
}

#[repr(C)]
pub struct wb_sender_vt {
    pub send: unsafe extern "C" fn(*mut wb_sender, wb_call, *const wb_job),
    pub cancel: unsafe extern "C" fn(*mut wb_sender, wb_call),
    pub get_extension: unsafe extern "C" fn(*mut wb_sender, wb_str) -> *const c_void,
    pub destroy: unsafe extern "C" fn(*mut wb_sender),
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct wb_reason {
    pub name: wb_str,
    pub flags: u32,
    pub reserved: u32,
}

pub type wb_validate = unsafe extern "C" fn(json: wb_str, report: wb_report, user: *mut c_void) -> i32;
pub type wb_create = unsafe extern "C" fn(
    host: *const wb_host,
    settings: wb_str,
    vt: *mut *const wb_sender_vt,
    report: wb_report,
    user: *mut c_void,
) -> *mut wb_sender;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct wb_action {
    pub size: usize,
    pub flags: u32,
    pub reason_count: u32,
    pub kind: wb_str,
    pub settings_schema: wb_str,
    pub destination_schema: wb_str,
    pub reasons: *const wb_reason,
    pub validate_settings: Option<wb_validate>,
    pub validate_destination: Option<wb_validate>,
    pub create: wb_create,
    pub payload_schema: wb_str,
}

#[repr(C)]
pub struct wb_plugin {
    pub size: usize,
    pub abi_minor: u32,
    pub needs_minor: u32,
    pub id: wb_str,
    pub version: wb_str,
    pub action_count: usize,
    pub actions: *const *const wb_action,
}

#[repr(C)]
pub struct wb_header {
    pub name: wb_str,
    pub value: wb_str,
}

/// As of minor 0, which every host reads.
#[repr(C)]
pub struct wb_http_request {
    pub size: usize,
    pub timeout_ms: u32,
    pub max_response_bytes: u32,
    pub method: wb_str,
    pub url: wb_str,
    pub headers: *const wb_header,
    pub header_count: usize,
    pub body: wb_str,
}

#[repr(C)]
pub struct wb_http_response {
    pub size: usize,
    pub error: i32,
    pub reach: i32,
    pub status: i32,
    pub truncated: u32,
    pub retry_after_ms: i64,
    pub headers: *const wb_header,
    pub header_count: usize,
    pub body: wb_str,
    pub error_text: wb_str,
}

pub type wb_http_done = unsafe extern "C" fn(user: *mut c_void, response: *const wb_http_response);

#[repr(C)]
pub struct wb_http_service {
    pub fetch: unsafe extern "C" fn(*const wb_host, wb_call, *const wb_http_request, wb_http_done, *mut c_void) -> u64,
    pub abort: unsafe extern "C" fn(*const wb_host, fetch: u64),
}

#[repr(C)]
pub struct wb_timer_service {
    pub monotonic_ms: unsafe extern "C" fn(*const wb_host) -> i64,
    pub unix_seconds: unsafe extern "C" fn(*const wb_host) -> i64,
}

#[repr(C)]
pub struct wb_counter_service {
    pub add: unsafe extern "C" fn(*const wb_host, name: wb_str, by: u64) -> i32,
}

pub const HTTP_SERVICE: &str = "waybill.http/1";
pub const TIMER_SERVICE: &str = "waybill.timer/1";
pub const COUNTER_SERVICE: &str = "waybill.counter/1";

// The layout that plugin-api/abi/layout_test.c freezes.
const _: () = {
    assert!(std::mem::size_of::<wb_host>() == 72);
    assert!(std::mem::size_of::<wb_outcome>() == 96);
    assert!(std::mem::size_of::<wb_job>() == 120);
    assert!(std::mem::size_of::<wb_sender_vt>() == 32);
    assert!(std::mem::size_of::<wb_reason>() == 24);
    assert!(std::mem::size_of::<wb_action>() == 112);
    assert!(std::mem::size_of::<wb_plugin>() == 64);
    assert!(std::mem::size_of::<wb_http_request>() == 80);
    assert!(std::mem::size_of::<wb_http_response>() == 80);
};

//! The HTTP service: asynchronous, on the strand; the host adds secrets, limits and deadlines.

use crate::abi;
use crate::outcome::Reach;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetError {
    /// Not tried: bad URL, unknown secret, or an address that is not allowed.
    Refused,
    Resolve,
    Connect,
    Tls,
    Timeout,
    Broken,
    /// Aborted, or its call ended.
    Cancelled,
}

/// `headers` may name secrets, `{secret:NAME}`, which the host fills in on the way out.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// 0: until the call's deadline.
    pub timeout_ms: u32,
    /// 0: the host's default of 4,096.
    pub max_response_bytes: u32,
}

impl Request {
    pub fn post(url: &str) -> Request {
        Request {
            method: "POST".to_string(),
            url: url.to_string(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: 0,
            max_response_bytes: 0,
        }
    }
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }
    pub fn body(mut self, bytes: &[u8]) -> Request {
        self.body = bytes.to_vec();
        self
    }
}

/// Valid until the callback returns.
pub struct Response<'a> {
    /// None: there is an answer.
    pub error: Option<NetError>,
    pub reach: Reach,
    /// 0 if none came.
    pub status: i32,
    /// The body was longer than `max_response_bytes`.
    pub truncated: bool,
    pub retry_after_ms: Option<i64>,
    pub body: &'a [u8],
    raw: &'a abi::wb_http_response,
}

impl<'a> Response<'a> {
    /// # Safety
    /// `raw` is what the host gave to `done`, which has not returned.
    pub(crate) unsafe fn new(raw: &'a abi::wb_http_response) -> Response<'a> {
        Response {
            error: match raw.error {
                0 => None,
                1 => Some(NetError::Refused),
                2 => Some(NetError::Resolve),
                3 => Some(NetError::Connect),
                4 => Some(NetError::Tls),
                5 => Some(NetError::Timeout),
                7 => Some(NetError::Cancelled),
                _ => Some(NetError::Broken), // 6, and what later hosts know
            },
            reach: match raw.reach {
                1 => Reach::NotSent,
                3 => Reach::Answered,
                _ => Reach::MaybeSent,
            },
            status: raw.status,
            truncated: raw.truncated != 0,
            retry_after_ms: (raw.retry_after_ms >= 0).then_some(raw.retry_after_ms),
            body: raw.body.view(),
            raw,
        }
    }
    /// The first of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<Cow<'a, str>> {
        if self.raw.headers.is_null() {
            return None;
        }
        // The host lends as many headers as it says, until the callback returns.
        let headers = unsafe { std::slice::from_raw_parts(self.raw.headers, self.raw.header_count) };
        let found = headers.iter().find(|header| unsafe { header.name.view() } == name.as_bytes())?;
        Some(String::from_utf8_lossy(unsafe { found.value.view() }))
    }
    /// One line for people.
    pub fn error_text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(unsafe { self.raw.error_text.view() })
    }
}

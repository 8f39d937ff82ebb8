//! The descriptor as constants: one `action` per action type, then `plugin!` for the one exported symbol.

use crate::abi::{self, wb_str};
use crate::sender::{create, validate_destination, validate_settings, Sender};

/// A word of an action's outcomes; a target's `terminalOutcomes` may list it.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Reason(abi::wb_reason);

pub const fn reason(name: &'static str) -> Reason {
    Reason(abi::wb_reason { name: wb_str::of(name), flags: 0, reserved: 0 })
}
/// A retry cannot help.
pub const fn permanent(name: &'static str) -> Reason {
    Reason(abi::wb_reason { name: wb_str::of(name), flags: 1, reserved: 0 })
}
/// The destination has this idempotency key already.
pub const fn duplicate(name: &'static str) -> Reason {
    Reason(abi::wb_reason { name: wb_str::of(name), flags: 2, reserved: 0 })
}

/// One action type of a plugin.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Action(abi::wb_action);

// Constant data, and functions that may be called from any thread.
unsafe impl Sync for Action {}

pub const fn action<S: Sender>(kind: &'static str) -> Action {
    Action(abi::wb_action {
        size: std::mem::size_of::<abi::wb_action>(),
        flags: 0,
        reason_count: 0,
        kind: wb_str::of(kind),
        settings_schema: wb_str::of(""),
        destination_schema: wb_str::of(""),
        reasons: std::ptr::null(),
        validate_settings: Some(validate_settings::<S>),
        validate_destination: Some(validate_destination::<S>),
        create: create::<S>,
        payload_schema: wb_str::of(""),
    })
}

impl Action {
    pub const fn settings_schema(mut self, json: &'static str) -> Action {
        self.0.settings_schema = wb_str::of(json);
        self
    }
    pub const fn destination_schema(mut self, json: &'static str) -> Action {
        self.0.destination_schema = wb_str::of(json);
        self
    }
    /// The host refuses an intent whose payload does not match when it is handed in.
    pub const fn payload_schema(mut self, json: &'static str) -> Action {
        self.0.payload_schema = wb_str::of(json);
        self
    }
    pub const fn reasons(mut self, list: &'static [Reason]) -> Action {
        self.0.reasons = list.as_ptr() as *const abi::wb_reason;
        self.0.reason_count = list.len() as u32;
        self
    }
    /// `send` may block until the job's deadline; each sender gets a thread of its own.
    pub const fn blocking(mut self) -> Action {
        self.0.flags |= 1;
        self
    }
    #[doc(hidden)]
    pub const fn raw(&'static self) -> *const abi::wb_action {
        &self.0
    }
}

#[doc(hidden)]
pub struct Constant<T>(pub T);
unsafe impl<T> Sync for Constant<T> {}

/// At the top of the crate, once: the plugin's id, its version, then its actions.
#[macro_export]
macro_rules! plugin {
    ($id:expr, $version:expr, $($action:expr),+ $(,)?) => {
        #[no_mangle]
        pub extern "C" fn wb_plugin_v1() -> *const $crate::abi::wb_plugin {
            const COUNT: usize = [$(stringify!($action)),+].len();
            static ACTIONS: $crate::Constant<[*const $crate::abi::wb_action; COUNT]> = $crate::Constant([$({
                static ONE: $crate::Action = $action;
                ONE.raw()
            }),+]);
            static PLUGIN: $crate::Constant<$crate::abi::wb_plugin> = $crate::Constant($crate::abi::wb_plugin {
                size: ::std::mem::size_of::<$crate::abi::wb_plugin>(),
                abi_minor: $crate::abi::ABI_MINOR,
                needs_minor: 0,
                id: $crate::abi::wb_str::of($id),
                version: $crate::abi::wb_str::of($version),
                action_count: COUNT,
                actions: &ACTIONS.0 as *const _,
            });
            &PLUGIN.0
        }
    };
}

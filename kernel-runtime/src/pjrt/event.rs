//! Events: what an asynchronous call leaves behind.
use super::api::{Api, Handle};
use super::error::{Code, Error, Result};
use super::plugin::Plugin;
use super::sys::{self, Call};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Something that will have happened: a transfer, or an execution.
#[derive(Debug)]
pub struct Event {
    plugin: Plugin,
    raw: Handle<sys::RawEvent>,
}

/// What [`Event::on_ready`] hands to the plugin.
struct Callback {
    api: Arc<Api>,
    run: Box<dyn FnOnce(Result<()>) + Send>,
}

impl Event {
    /// # Safety
    /// `raw` is null or an event of `plugin` that the caller owns.
    pub(crate) unsafe fn from_raw(
        plugin: &Plugin,
        raw: *mut sys::RawEvent,
        call: &'static str,
    ) -> Result<Self> {
        Ok(Self { plugin: plugin.clone(), raw: Handle::new(raw, call)? })
    }

    /// Whether it has happened, without waiting.
    ///
    /// # Errors
    /// When the plugin refuses; an error of the event itself is told by [`Event::wait`].
    pub fn is_ready(&self) -> Result<bool> {
        let mut args = sys::EventIsReady { event: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the event lives as long as `self`.
        unsafe { self.plugin.api.call(&mut args)? };
        Ok(args.is_ready)
    }

    /// Blocks until it has happened.
    ///
    /// # Errors
    /// The error of the asynchronous call.
    pub fn wait(&self) -> Result<()> {
        let mut args = sys::EventAwait { event: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the event lives as long as `self`.
        unsafe { self.plugin.api.call(&mut args) }
    }

    /// Runs `callback` when it has happened, on a thread of the plugin, or at once on this thread if
    /// it has happened already. A panic of the callback ends there.
    ///
    /// The callback must not wait for other work of the same client: it may hold the thread that
    /// would do that work.
    ///
    /// # Errors
    /// When the plugin refuses; the callback is then dropped unrun.
    pub fn on_ready(&self, callback: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        let boxed = Box::new(Callback { api: self.plugin.api.clone(), run: Box::new(callback) });
        let user_arg = Box::into_raw(boxed);
        let mut args = sys::EventOnReady {
            event: self.raw.raw(),
            callback: Some(run_callback),
            user_arg: user_arg.cast(),
            ..Call::zeroed()
        };
        // SAFETY: the event lives as long as `self`; the plugin calls `run_callback` exactly once
        // with `user_arg` if it accepts the call.
        let registered = unsafe { self.plugin.api.call(&mut args) };
        if registered.is_err() {
            // SAFETY: a refused registration never runs the callback, so the box is still ours.
            drop(unsafe { Box::from_raw(user_arg) });
        }
        registered
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let mut args = sys::EventDestroy { event: self.raw.raw(), ..Call::zeroed() };
        // SAFETY: the event is ours and is not used again. Destruction has no failure to report.
        let _ignored = unsafe { self.plugin.api.call(&mut args) };
    }
}

/// Called by the plugin once per registered callback.
unsafe extern "C" fn run_callback(error: *mut sys::RawError, user_arg: *mut c_void) {
    // SAFETY: `user_arg` is the box that `on_ready` leaked, and this is its only call.
    let callback = unsafe { Box::from_raw(user_arg.cast::<Callback>()) };
    // SAFETY: the plugin passes ownership of the error.
    let result = unsafe { callback.api.take_error(error, "PJRT_Event_OnReady") };
    // Unwinding into C++ is undefined behaviour; the panic hook has reported the panic.
    let _reported = catch_unwind(AssertUnwindSafe(move || (callback.run)(result)));
}

/// An error for a list that has the wrong length.
pub(crate) fn length_error(call: &'static str, what: &str, want: usize, got: usize) -> Error {
    Error::new(Code::InvalidArgument, call, format!("{what}: expected {want}, got {got}"))
}

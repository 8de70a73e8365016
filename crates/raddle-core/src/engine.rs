//! Owns: the door for engines: what another crate may run on our workers, and the way in from outside.
//! May use: `runtime`, `worker::engine`, `worker::shared`, `raddle-protocol`, `raddle-trace`.
//! Never: knowing what an engine's processes are.

pub use crate::runtime::Caller;
use crate::runtime::Runtime;
use crate::worker::Shared;
pub use crate::worker::engine::{Alarm, Engine, Handle, Link, Turn, is_outside};
use raddle_protocol::header::Runnable;
use raddle_trace::Event;
pub use raddle_trace::StopReason;
use std::ptr::NonNull;
use std::sync::Arc;

/// A way into a runtime for who is no worker of it.
pub struct Gate {
    shared: Arc<Shared>,
}

impl Runtime {
    /// A way in.
    pub fn gate(&self) -> Gate {
        Gate { shared: self.hold() }
    }
}

impl Gate {
    /// Queues one of an engine's.
    ///
    /// # Safety
    /// As [`Turn::ready`]; and the link was never queued in another runtime, and the workers have not ended.
    pub unsafe fn ready(&self, link: NonNull<Link>) {
        // SAFETY: passed on to the caller.
        self.shared.inject(unsafe { self.arriving(link, None) });
    }

    /// Queues one of an engine's at the worker of that number.
    ///
    /// # Safety
    /// As [`ready`](Gate::ready).
    ///
    /// # Panics
    /// If there is no such worker.
    pub unsafe fn ready_at(&self, worker: usize, link: NonNull<Link>) {
        // SAFETY: passed on to the caller.
        self.shared.worker(worker).deliver(unsafe { self.arriving(link, Some(worker)) });
    }

    /// One that is about to be queued from outside, for the trace too.
    ///
    /// # Safety
    /// As [`ready`](Gate::ready).
    unsafe fn arriving(&self, link: NonNull<Link>, at: Option<usize>) -> Runnable {
        // SAFETY: passed on to the caller.
        let runnable = unsafe { Runnable::from_raw(link.as_ptr().cast()) };
        let runnable = runnable.expect("it is not null");
        if self.shared.trace.looks_outside() {
            self.shared.worker(0).trace_outside(Event::WakeOutside, runnable.header(), at);
        }
        runnable
    }

    /// Takes an alarm back that was set on this runtime.
    pub fn cancel(&self, alarm: Alarm) {
        self.shared.cancel_alarm(alarm.keeper, alarm.id);
    }

    /// As [`Turn::stop`].
    pub fn stop(&self) {
        self.shared.stop_now();
    }
}

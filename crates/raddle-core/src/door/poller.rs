//! Owns: `Poller`: what workers ask, when they are idle and at boundaries, for what ends elsewhere.
//! May use: `runtime`, `worker`.
//! Never: an OS thread of its own.
//!
//! For a library that makes progress only when it is called (MPI), or a poll of descriptors. Who has begun something
//! says so ([`Poller::begin`]), waits by a [futex](super::futex) or whatever, and is woken by the poller's call, which
//! finds out what has ended and says so ([`Asking::end`]).
//!
//! ```
//! use raddle_core::door::poller::Poller;
//! use std::sync::{Arc, Mutex, mpsc};
//! use std::time::Duration;
//!
//! # raddle::Runtime::builder().workers(1).build()?.run(|| -> Result<(), raddle::BuildError> {
//! // Stands for a network: what is sent comes back.
//! let (network, arrives) = mpsc::channel::<u32>();
//! let (waiting, waits) = raddle::channel::bounded(1);
//! let poller = Poller::new("network", Duration::from_micros(20), move |asking| {
//!     for message in arrives.try_iter() {
//!         waiting.try_send(message).unwrap();
//!         asking.end(1);
//!     }
//!     Duration::from_micros(50)
//! })?;
//! poller.begin(1);
//! std::thread::spawn(move || network.send(42).unwrap());
//! assert_eq!(waits.recv(), Ok(42));
//! # Ok(())
//! # })?;
//! # Ok::<(), raddle::BuildError>(())
//! ```
//!
//! *When it is called.* Only while something is outstanding at it.
//! - By a worker that has nothing to run, before it sleeps, and again when the time has passed that the answer gives;
//!   zero has it not sleep at all. Of several idle workers one asks, the last that fell idle.
//! - By busy workers at their boundaries, every 25 us or so between two slices, but not within the gap after the last
//!   call. One whose slice goes on comes to no boundary.
//! - If all that are awake are in long slices, a worker that sleeps looks within the tick (10 ms).
//!
//! *How.* On the worker's own stack and with its OS thread's storage, by one worker at a time; two calls need not be on
//! one OS thread. It sees what was done before a `begin`. It is to be short: what it wakes waits for it, and so does
//! all else on the worker. It may wake, spawn, send what need not wait, begin and end, make pollers and take itself
//! away. It must not wait: a wait panics and says so, and frames of C, which cannot be unwound, ask
//! [`is_asked_here`] first. It must not fork.
//!
//! *If it panics* the poller is over, what is outstanding at it counts no more, and the panic goes to the runtime's
//! handler of panics; without one the program ends.
//!
//! *While something is outstanding* the runtime does not end, and that all wait is no deadlock: reports and dumps say
//! how much is outstanding at whom instead.

pub use crate::worker::polling::{Asking, is_asked_here};

#[doc(hidden)]
pub use crate::worker::in_den::InDen;
#[doc(hidden)]
pub use crate::worker::polling::Den;

use crate::runtime::{BuildError, Runtime, Shared, with_here};
use crate::worker::polling::PollerBody;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The right to have something outstanding at a poller. Dropped, it takes the poller away.
#[must_use = "dropped, it takes the poller away"]
pub struct Poller {
    body: Arc<PollerBody>,
    shared: Arc<Shared>,
}

impl Poller {
    /// Has the workers of the caller's runtime - the default one, on an OS thread - call `ask` while something is
    /// outstanding; at boundaries not within `gap` after the last call. It answers within what time it is to be asked
    /// again by a worker that is idle, for what is outstanding then and what begins later.
    ///
    /// # Errors
    /// What starting the default runtime answers.
    pub fn new(
        name: &str,
        gap: Duration,
        ask: impl FnMut(&Asking<'_>) -> Duration + Send + 'static,
    ) -> Result<Poller, BuildError> {
        Ok(Poller::begin_at(with_here(Shared::hold)?, name, gap, ask))
    }

    /// The same, by the workers of that runtime.
    pub fn at(
        runtime: &Runtime,
        name: &str,
        gap: Duration,
        ask: impl FnMut(&Asking<'_>) -> Duration + Send + 'static,
    ) -> Poller {
        Poller::begin_at(runtime.hold(), name, gap, ask)
    }

    fn begin_at(
        shared: Arc<Shared>,
        name: &str,
        gap: Duration,
        ask: impl FnMut(&Asking<'_>) -> Duration + Send + 'static,
    ) -> Poller {
        let body = Arc::new(PollerBody::new(name, gap, Box::new(ask)));
        shared.add_poller(body.clone());
        Poller { body, shared }
    }

    /// So much more is outstanding. The calls from now on see what was done before.
    pub fn begin(&self, count: usize) {
        self.body.begin(&self.shared, count);
    }

    /// So much has come to its end; most often [by the call itself](Asking::end).
    ///
    /// # Panics
    /// If less than that is outstanding.
    pub fn end(&self, count: usize) {
        self.body.end(&self.shared, count);
    }

    /// What is outstanding may end sooner than was answered: the idle worker that asks, if there is one, asks anew. The
    /// call sees what was done before.
    pub fn ask_anew(&self) {
        self.body.ask_anew(&self.shared);
    }

    /// How much is outstanding at it.
    pub fn outstanding(&self) -> usize {
        self.body.outstanding()
    }

    /// Takes the poller away, with what is outstanding at it, as dropping does. When this returns it is not called,
    /// and will not be: a call on another worker is waited for, whose locks the caller must not have. Within a call,
    /// its own or another poller's, nothing is waited for: one that is under way goes on, and is the last.
    pub fn remove(self) {}
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.shared.remove_poller(&self.body);
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outstanding = self.outstanding();
        f.debug_struct("Poller").field("name", &self.body.name).field("outstanding", &outstanding).finish()
    }
}

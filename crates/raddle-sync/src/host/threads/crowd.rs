//! Owns: `Crowd`, the gates of workers before a queue lock, of which an OS thread has none.
//! May use: `raddle-protocol`.
//! Never: a wait.

use raddle_protocol::call::WaitCall;

/// Whether a lock is crowded: it never is.
#[derive(Debug)]
pub(crate) struct Crowd;

/// That one has come through no gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Through;

impl Through {
    pub(crate) const NO_GATE: Through = Through;
}

impl Crowd {
    pub(crate) const fn new() -> Crowd {
        Crowd
    }

    /// Somebody waits far back.
    pub(crate) const fn note(&self) {}

    /// Whether newcomers go through gates.
    #[inline(always)]
    pub(crate) const fn is_there(&self) -> bool {
        false
    }

    /// Goes past the gates.
    pub(crate) const fn come(&self, _call: &'static WaitCall) -> Through {
        Through
    }

    /// The caller has released the lock.
    #[inline(always)]
    pub(crate) const fn leave(&self, _through: Through) {}
}

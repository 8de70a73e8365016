//! Owns: `EndBell`: by it who waits at an end learns that something has come, be it parked or in a choice.
//! May use: `gate`, `raddle-core`.
//! Never: a wait; whoever looks after MPI rings.

use crate::gate::lock;
use raddle_core::door::futex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Who is told, once, that an end is ready.
pub(crate) trait ReadyListener: Send + Sync {
    fn is_ready(&self);
}

/// Rung when something has come for an end.
#[derive(Default)]
pub(crate) struct EndBell {
    /// Counts: on it one is parked.
    pub(crate) word: AtomicU32,
    listeners: Mutex<Vec<(u64, Arc<dyn ReadyListener>)>>,
}

impl EndBell {
    /// Something has come; whether the end is ready now.
    pub(crate) fn ring(&self, is_ready: bool) {
        // Release pairs with the acquire of who waits: it sees what has come.
        self.word.fetch_add(1, Ordering::Release);
        futex::wake(&raw const self.word, u32::MAX, futex::ANY);
        if is_ready {
            let listeners = std::mem::take(&mut *lock(&self.listeners));
            listeners.iter().for_each(|(_, listener)| listener.is_ready());
        }
    }

    /// Tells this one when the end is ready; under the engine's lock, where somebody has found that it is not.
    pub(crate) fn listen(&self, key: u64, listener: Arc<dyn ReadyListener>) {
        lock(&self.listeners).push((key, listener));
    }

    /// It is not to be told any more.
    pub(crate) fn unlisten(&self, key: u64) {
        lock(&self.listeners).retain(|(other, _)| *other != key);
    }
}

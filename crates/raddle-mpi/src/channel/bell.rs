//! Owns: `EndBell`: by it who waits at an end learns that something has come, be it parked or in a choice.
//! May use: `gate`, `raddle-core`.
//! Never: a wait; whoever looks after MPI rings.

use crate::gate::lock;
use raddle_core::door::futex::{self, WaitOptions, WaitOutcome};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Who is told, once, that an end is ready, or that it is not in time.
pub(crate) trait ReadyListener: Send + Sync {
    fn is_ready(&self);

    fn is_late(&self);
}

/// One of them.
struct KeyedListener {
    key: u64,
    /// When it is late, on the engine's clock.
    until_ns: u64,
    listener: Arc<dyn ReadyListener>,
}

/// Rung when something has come for an end.
#[derive(Default)]
pub(crate) struct EndBell {
    /// Counts: on it one is parked.
    pub(crate) word: AtomicU32,
    /// How many wait at the end, and how many of them are parked, or about to be.
    waiting: AtomicU32,
    parked: AtomicU32,
    listeners: Mutex<Vec<KeyedListener>>,
}

/// One who waits at an end, as long as it does.
pub(crate) struct WaitsForBell<'b>(&'b EndBell);

impl Drop for WaitsForBell<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One who is parked; a cancellation may unwind it.
struct ParkedAtBell<'b>(&'b EndBell);

impl Drop for ParkedAtBell<'_> {
    fn drop(&mut self) {
        self.0.parked.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A bell that is to be rung, and who is told then.
pub(crate) struct DueRing {
    bell: Arc<EndBell>,
    listeners: Vec<KeyedListener>,
}

impl DueRing {
    /// Whether somebody waits for it, or listens.
    pub(crate) fn is_awaited(&self) -> bool {
        self.bell.waiting.load(Ordering::Relaxed) != 0 || !self.listeners.is_empty()
    }

    pub(crate) fn ring(self) {
        // Release pairs with the acquire of who waits: it sees what has come.
        self.bell.word.fetch_add(1, Ordering::Release);
        // PERF: most often who waits looks itself, and a wake of nobody takes as long as a look; example `ring`.
        fence(Ordering::SeqCst); // pairs with the one in `park`: who is about to park sees the word, or is seen here
        if self.bell.parked.load(Ordering::Relaxed) != 0 {
            futex::wake(&raw const self.bell.word, u32::MAX, futex::ANY);
        }
        self.listeners.iter().for_each(|each| each.listener.is_ready());
    }
}

impl EndBell {
    /// Something has come, and the end is ready, or not: under the engine's lock, and rung without it. Told are those
    /// that listen now: when a later one began, what has come was perhaps received.
    pub(crate) fn due(self: &Arc<Self>, is_ready: bool) -> DueRing {
        let listeners = if is_ready { std::mem::take(&mut *lock(&self.listeners)) } else { Vec::new() };
        DueRing { bell: self.clone(), listeners }
    }

    /// Whether somebody waits, parked or about to be.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0
    }

    /// From now on somebody waits.
    pub(crate) fn wait(&self) -> WaitsForBell<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitsForBell(self)
    }

    /// Parks the caller until the bell is rung, unless it has been since the word was `seen`, or the time is over.
    pub(crate) fn park(&self, seen: u32, until: Instant) -> WaitOutcome {
        self.parked.fetch_add(1, Ordering::Relaxed);
        let _parked = ParkedAtBell(self);
        fence(Ordering::SeqCst); // pairs with the one in `ring`
        futex::wait(&self.word, seen, &WaitOptions { until: Some(until), ..WaitOptions::default() })
    }

    /// Tells this one when the end is ready, or late; under the engine's lock, where somebody has found that it is not.
    pub(crate) fn listen(&self, key: u64, until_ns: u64, listener: Arc<dyn ReadyListener>) {
        lock(&self.listeners).push(KeyedListener { key, until_ns, listener });
    }

    /// Whether somebody listens.
    pub(super) fn is_listened_to(&self) -> bool {
        !lock(&self.listeners).is_empty()
    }

    /// Those that are late now, which are not told anything else any more; and when the next one is.
    pub(super) fn late(&self, now: u64) -> (Vec<Arc<dyn ReadyListener>>, u64) {
        let mut listeners = lock(&self.listeners);
        let late = listeners.extract_if(.., |each| each.until_ns <= now).map(|each| each.listener).collect();
        (late, listeners.iter().map(|each| each.until_ns).min().unwrap_or(u64::MAX))
    }

    /// It is not to be told any more.
    pub(crate) fn unlisten(&self, key: u64) {
        lock(&self.listeners).retain(|other| other.key != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct CountsTells(AtomicU32);

    impl ReadyListener for CountsTells {
        fn is_ready(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn is_late(&self) {
            self.0.fetch_add(100, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_is_late_is_told_so_and_nothing_else() {
        let bell = Arc::<EndBell>::default();
        let [soon, later] = [(); 2].map(|()| Arc::new(CountsTells(AtomicU32::new(0))));
        bell.listen(0, 10, soon.clone());
        bell.listen(1, 20, later.clone());
        assert!(bell.late(9).0.is_empty());
        let (late, next) = bell.late(10);
        late.iter().for_each(|listener| listener.is_late());
        assert_eq!((late.len(), next), (1, 20));
        bell.due(true).ring();
        let told = [&soon, &later].map(|one| one.0.load(Ordering::Relaxed));
        assert_eq!((told, bell.late(u64::MAX).1), ([100, 1], u64::MAX));
    }

    #[test]
    fn who_listens_after_something_was_heard_is_not_told_of_it() {
        let bell = Arc::<EndBell>::default();
        let [early, late, gone] = [(); 3].map(|()| Arc::new(CountsTells(AtomicU32::new(0))));
        bell.listen(0, u64::MAX, gone.clone());
        bell.listen(1, u64::MAX, early.clone());
        bell.unlisten(0);
        let unready = bell.due(false);
        let due = bell.due(true);
        assert!(due.is_awaited() && !unready.is_awaited());
        let waits = bell.wait();
        assert!(unready.is_awaited());
        drop(waits);
        assert!(!unready.is_awaited());
        // What was heard is received meanwhile, and its receiver asks for the next.
        bell.listen(2, u64::MAX, late.clone());
        unready.ring();
        due.ring();
        let told = [&early, &late, &gone].map(|one| one.0.load(Ordering::Relaxed));
        assert_eq!((told, bell.word.load(Ordering::Relaxed)), ([1, 0, 0], 2));
        bell.due(true).ring();
        assert_eq!(late.0.load(Ordering::Relaxed), 1);
    }
}

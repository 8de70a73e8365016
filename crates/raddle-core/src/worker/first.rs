//! Owns: whose turn is next where slices are long: that of who has just been woken.
//! May use: `counters`, `raddle-protocol`.
//! Never: more than a few of these between two that have waited for their turn.
//!
//! First come, first served is fair, and where slices are short nobody waits for long. But among processes that
//! compute for 10 us and yield, who is woken (a server whose request has come, a sleeper whose time is up) would wait
//! until each of them has had a slice. So while slices of [`LONG_NS`] have been seen lately, a thread that is woken is
//! put before those that wait for their turn in the ready list, where anybody who is idle may take it at once. A slice
//! that is long because it fills a channel is none of these: see [`hunger`](super::hunger).
//!
//! *Nobody starves*: at most [`IN_A_ROW`] are put first between two that were not. Two that wake each other for ever so
//! have four slices, and then wait as all others do.
//!
//! *What it costs*: where slices are short nothing, as the question is asked together with another one
//! ([`WakeTo`]). Where they are long, a locked instruction a wake.
//!
//! What else was considered:
//!
//! - *Always, as Go's `runnext` and tokio's LIFO slot.* Who talks would be served last in, first out: a pipeline's
//!   stages then run one message at a time, where a batch of them passes now. Where slices are short that costs more
//!   than it brings: a hundred waiting ones take 5 us.
//! - *A slot of the worker's own.* Who is idle would not see it, while the slice of its waker goes on.
//! - *A second list, for those that yield.* Thieves, counts and looks would all have one more.
//!
//! PERF: bench `latency`, from wake to run beside four that compute for 10 us each, a process, p50 in us on one worker
//! and two: 53.5, 80 before, 13.6, 14 now (Go 13.6, 14.1).

use super::wake_to::WakeTo;
use super::{LocalWorker, OPEN};
use crate::counters::Counters;
use raddle_protocol::header::Runnable;

/// Slices are long from here on.
const LONG_NS: u64 = 1_000;
/// So many have their turn before those that wait, at most, until one of these has had its own.
const IN_A_ROW: usize = 4;

impl LocalWorker {
    /// At a boundary: the longest mean slice that is remembered is so long.
    pub(super) fn note_slices(&self, longest_ns: u64) {
        let wakes_to = &self.own().wakes_to;
        if matches!(wakes_to.get(), WakeTo::Here | WakeTo::First) {
            let are_long = longest_ns >= LONG_NS && self.operations_are_rare() && self.seeded().is_none();
            wakes_to.set(if are_long { WakeTo::First } else { WakeTo::Here });
        }
    }

    /// What has been woken and would wait here. Given back if it is to wait as all do.
    pub(super) fn queue_first(&self, runnable: Runnable) -> Option<Runnable> {
        let is_thread = runnable.header().flags.get() & OPEN == OPEN && self.ways.threads_are_open;
        if !is_thread {
            return Some(runnable);
        }
        let runnable = self.feed(runnable)?;
        let first = &self.own().first;
        let passed = self.ready.passed();
        let waiting = first.until.get().saturating_sub(passed);
        let others = (self.ready.taken() + waiting).wrapping_sub(first.put.get());
        if first.others.replace(others) != others {
            first.in_a_row.set(0);
        }
        if first.in_a_row.get() == IN_A_ROW {
            return Some(runnable);
        }
        if self.ready.is_empty_for_owner() {
            // The first is the last there. It counts, so that those who come next go behind it.
            first.note(self.ready.reach() + 1);
            return Some(runnable);
        }
        if let Err(runnable) = self.my_ready().push_first(runnable, waiting) {
            return Some(runnable);
        }
        first.note(if waiting == 0 { passed } else { first.until.get() });
        Counters::add(&self.counters.local_wakes, 1);
        if self.shared().idle.wants_knock() {
            self.knock_for_threads();
        }
        None
    }
}

//! Owns: what the processor counts while a worker's OS thread runs: instructions, cycles, misses of the cache.
//! May use: `raddle-core`, `raddle-syscall`.
//! Never: a count of what others ran on the core; an error where there are no counters.
//!
//! The kernel counts, and the workers pay nothing: the helper opens the counters of each when it first sees its OS
//! thread, and reads them when the file ends, where they join the worker's own counters by name. Virtual machines often
//! have none, and `perf_event_paranoid` may refuse them: then the names are missing.

use raddle_core::runtime::Shared;
use raddle_syscall::{ProcessorEvent, open_counter};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;

/// The names in the file, in the order of [`EVENTS`].
const NAMES: [&str; 3] = ["hardware_instructions", "hardware_cycles", "hardware_cache_misses"];
const EVENTS: [ProcessorEvent; 3] =
    [ProcessorEvent::Instructions, ProcessorEvent::Cycles, ProcessorEvent::CacheMisses];

/// The counters of all workers.
#[derive(Default)]
pub(crate) struct Hardware {
    workers: Vec<Counters>,
}

/// The counters of one.
enum Counters {
    /// Its OS thread has not been seen yet.
    Unknown,
    /// There are none.
    Refused,
    /// The first of them is the leader.
    Open([File; 3]),
}

impl Hardware {
    /// Opens the counters of those whose OS threads have come since the last time.
    pub(crate) fn look(&mut self, shared: &Shared) {
        let workers = shared.workers();
        self.workers.resize_with(workers.len(), || Counters::Unknown);
        for (worker, counters) in workers.iter().zip(&mut self.workers) {
            let os_thread = worker.tracer().os_thread();
            if matches!(counters, Counters::Unknown) && os_thread != 0 {
                *counters = open(os_thread).map_or(Counters::Refused, Counters::Open);
            }
        }
    }

    /// What has been counted on this worker, by names; nothing where there are no counters.
    pub(crate) fn of(&self, worker: usize) -> Vec<(&'static str, u64)> {
        let Some(Counters::Open([leader, ..])) = self.workers.get(worker) else { return Vec::new() };
        read(leader).map_or_else(Vec::new, |counts| NAMES.into_iter().zip(counts).collect())
    }
}

fn open(os_thread: i32) -> Option<[File; 3]> {
    let leader = File::from(open_counter(os_thread, EVENTS[0], None).ok()?);
    let member = |event| open_counter(os_thread, event, Some(leader.as_fd())).map(File::from).ok();
    let (cycles, misses) = (member(EVENTS[1])?, member(EVENTS[2])?);
    Some([leader, cycles, misses])
}

/// How many there are, and the count of each. Zeros say that the processor had no counter free.
fn read(mut leader: &File) -> Option<[u64; 3]> {
    let mut bytes = [0; 32];
    leader.read_exact(&mut bytes).ok()?;
    let word = |place: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * place + byte]));
    let counts = [word(1), word(2), word(3)];
    (word(0) == 3 && counts[..2].iter().all(|count| *count > 0)).then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_grows_or_nothing_is() {
        let Some([leader, ..]) = open(raddle_syscall::thread_number()) else { return };
        let Some(before) = read(&leader) else { return };
        let sum: u64 = std::hint::black_box((0..10_000_u64).map(std::hint::black_box).sum());
        assert_eq!(sum, 49_995_000);
        let after = read(&leader).expect("it was there before");
        assert!(after[0] > before[0] && after[1] > before[1], "{before:?} {after:?}");
    }

    #[test]
    fn of_a_worker_without_counters_nothing_is_told() {
        let none = Hardware { workers: vec![Counters::Unknown, Counters::Refused] };
        assert!((0..3).all(|worker| none.of(worker).is_empty()));
    }
}

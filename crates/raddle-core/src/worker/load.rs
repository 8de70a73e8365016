//! Owns: how much waits at each worker, sampled every 10 ms. Always counted.
//! May use: `counters`, `idle_times`.
//! Never: a clock, a thread of its own, a sample of a program that is idle.
//!
//! Workers publish what waits with them once a batch, and the times of that are as uneven as batches. A mean over time
//! needs samples at even distances: whoever passes a boundary, or looks around idly, and sees that the last sample is
//! 10 ms old, takes one of all workers. So a program of which every worker sleeps is not sampled, and one that is busy
//! pays a load and a comparison a batch.

use crate::counters::Stats;
use crate::idle_times::{DECADES, IdleDecade};
use crate::worker::Shared;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many lengths of a ready queue are told apart.
pub const READY_LENGTHS: usize = 8;

/// The names of the lengths, from the shortest to the longest.
pub const READY_NAMES: [&str; READY_LENGTHS] =
    ["0", "1", "2-9", "10-99", "100-999", "1000-9999", "10000-99999", ">= 100000"];

/// Samples are so far apart, at least.
const SAMPLE_NS: u64 = 10_000_000;

/// When the next sample is due.
#[derive(Debug)]
pub(crate) struct Sampler(AtomicU64);

/// What the samples of one worker come to.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Loads {
    lengths: [AtomicU64; READY_LENGTHS],
    ready: AtomicU64,
    most: AtomicU64,
    backlog_ns: AtomicU64,
}

/// How much waited at a worker, by samples 10 ms apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// The samples by how many were ready then: see [`READY_NAMES`].
    pub lengths: [u64; READY_LENGTHS],
    /// How many were ready, added up over all samples.
    pub ready: u64,
    /// The most that were ready in a sample.
    pub most_ready: u64,
    /// The nanoseconds that they would take, added up over all samples.
    pub backlog_ns: u64,
}

/// The place of a length in the histogram.
fn place(ready: u64) -> usize {
    match ready {
        0 | 1 => ready as usize,
        _ => (ready.ilog10() as usize + 2).min(READY_LENGTHS - 1),
    }
}

impl Sampler {
    pub(crate) fn new() -> Sampler {
        Sampler(AtomicU64::new(SAMPLE_NS))
    }

    /// Takes a sample of each worker if it is time to.
    #[inline(always)]
    pub(crate) fn look(&self, shared: &Shared, now: u64) {
        if !cfg!(raddle_uncounted) && now >= self.0.load(Ordering::Relaxed) {
            self.sample(shared, now);
        }
    }

    #[cold]
    fn sample(&self, shared: &Shared, now: u64) {
        let due = self.0.load(Ordering::Relaxed);
        // Of several that come at once, one.
        let won = now >= due
            && self.0.compare_exchange(due, now + SAMPLE_NS, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if won {
            for worker in shared.everybody() {
                let ready = worker.published.ready.load(Ordering::Relaxed) as u64;
                worker.loads.add(ready, worker.published.backlog_ns.load(Ordering::Relaxed));
            }
            shared.live.look(shared, now);
        }
    }
}

impl Loads {
    /// A sample. By whoever takes it: a slow one and the next may meet here.
    fn add(&self, ready: u64, backlog_ns: u64) {
        self.lengths[place(ready)].fetch_add(1, Ordering::Relaxed);
        self.ready.fetch_add(ready, Ordering::Relaxed);
        self.most.fetch_max(ready, Ordering::Relaxed);
        self.backlog_ns.fetch_add(backlog_ns, Ordering::Relaxed);
    }

    /// Reads each figure once; together they need not be of one instant.
    pub(crate) fn snapshot(&self) -> Load {
        let read = |from: &AtomicU64| from.load(Ordering::Relaxed);
        Load {
            lengths: std::array::from_fn(|at| read(&self.lengths[at])),
            ready: read(&self.ready),
            most_ready: read(&self.most),
            backlog_ns: read(&self.backlog_ns),
        }
    }
}

impl Load {
    /// How many samples there are.
    pub fn samples(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// How many were ready on average.
    pub fn mean_ready(&self) -> f64 {
        self.ready as f64 / self.samples().max(1) as f64
    }
}

impl std::ops::AddAssign for Load {
    fn add_assign(&mut self, other: Load) {
        self.lengths.iter_mut().zip(other.lengths).for_each(|(to, more)| *to += more);
        self.ready += other.ready;
        self.most_ready = self.most_ready.max(other.most_ready);
        self.backlog_ns += other.backlog_ns;
    }
}

/// All that is always counted of a worker, or of all together: what `RADDLE_STATS=on` prints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Always {
    pub(crate) stats: Stats,
    pub(crate) idle: [IdleDecade; DECADES],
    pub(crate) load: Load,
}

impl Always {
    /// Name and value of each figure that is not in [`Stats`].
    pub(crate) fn beside(&self) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        for (name, decade) in crate::idle_times::DECADE_NAMES.into_iter().zip(self.idle) {
            all.push((format!("idle {name}"), decade.incidents));
            all.push((format!("idle {name}, ns"), decade.ns));
        }
        for (name, samples) in READY_NAMES.into_iter().zip(self.load.lengths) {
            all.push((format!("ready {name}"), samples));
        }
        all.push(("ready, sum".to_owned(), self.load.ready));
        all.push(("ready, most".to_owned(), self.load.most_ready));
        all.push(("backlog, sum of ns".to_owned(), self.load.backlog_ns));
        all
    }
}

impl std::ops::AddAssign for Always {
    fn add_assign(&mut self, other: Always) {
        self.stats += other.stats;
        for (to, more) in self.idle.iter_mut().zip(other.idle) {
            to.incidents += more.incidents;
            to.ns += more.ns;
        }
        self.load += other.load;
    }
}

impl fmt::Display for Always {
    /// The counters, then a line for each length of idle times and of ready queues that there was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stats.fmt(f)?;
        let idle = crate::idle_times::DECADE_NAMES.into_iter().zip(self.idle);
        for (name, decade) in idle.filter(|(_, decade)| decade.incidents > 0) {
            writeln!(f, "{:20} {} in {} ns", format!("idle {name}"), decade.incidents, decade.ns)?;
        }
        let samples = self.load.samples();
        if samples == 0 {
            return Ok(());
        }
        let lengths = READY_NAMES.into_iter().zip(self.load.lengths).filter(|(_, samples)| *samples > 0);
        for (name, some) in lengths {
            writeln!(f, "{:20} {some} of {samples} samples", format!("ready {name}"))?;
        }
        // What formats floating-point numbers would be in every program for this line: 19 KB.
        let tenths = (self.load.ready.saturating_mul(10).saturating_add(samples / 2)) / samples;
        let (ready, most) = (tenths / 10, self.load.most_ready);
        writeln!(f, "{:20} {ready}.{} on average, {most} at most", "ready", tenths % 10)?;
        writeln!(f, "{:20} {} ns on average", "backlog", self.load.backlog_ns / samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_their_places() {
        let lengths = [0, 1, 2, 9, 10, 99, 100, 999, 1000, 10_000, 100_000, u64::MAX];
        assert_eq!(lengths.map(place), [0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 7]);
    }

    #[test]
    fn samples_add_up() {
        let loads = Loads::default();
        [(0, 0), (1, 50), (12, 600), (12, 700)].into_iter().for_each(|(ready, ns)| loads.add(ready, ns));
        let mut load = loads.snapshot();
        assert_eq!(load.lengths, [1, 1, 0, 2, 0, 0, 0, 0]);
        assert_eq!((load.samples(), load.ready, load.most_ready, load.backlog_ns), (4, 25, 12, 1350));
        load += load;
        assert_eq!((load.samples(), load.most_ready), (8, 12));
        assert!((load.mean_ready() - 6.25).abs() < 1e-9);
    }
}

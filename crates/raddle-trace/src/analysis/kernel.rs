//! Owns: what of a worker's time the kernel gave to others.
//! May use: `timeline`, after `idle` has said why gaps were.
//! Never: time in which the worker's OS thread wanted no core.
//!
//! Linux counts for how long an OS thread was ready and did not run, but not when; the helper asks once a tick. Between
//! two samples the thread was ready while something ran on it, and while it had been woken and something was on its way
//! to it. The kernel's share is taken from these two alike.
//!
//! To be woken takes time on the calmest of machines, and Linux counts that as waiting for a core, too: 0.7 us where
//! the waker's core is free at once, 17 us where the core must leave a sleep (means of 20 000 and of 300 wakes on two
//! virtual cores with nothing else to do), while a thread that spins beside them waits for 0.06 % of its time. So a
//! little of each wake is the hand-off's own, and nobody has taken anything.

use super::idle::Class;
use super::timeline::{Gap, WorkerTime};

/// So much of a wait for a core is the wake's own.
pub(super) const WAKE_NS: u64 = 25_000;

/// Takes the kernel's time out of running and out of hand-offs.
pub(super) fn charge(worker: &mut WorkerTime) {
    for (from, until, took) in std::mem::take(&mut worker.took) {
        let running = running_ns(worker, from, until);
        let gaps = gaps_between(&worker.gaps, from, until);
        let handed: u64 = worker.gaps[gaps.clone()].iter().map(handed_ns).sum();
        let wanted = running + handed;
        let took = took.saturating_sub(gaps.len() as u64 * WAKE_NS);
        if wanted == 0 {
            continue;
        }
        let part = |of: u64| (u128::from(of) * u128::from(took.min(wanted)) / u128::from(wanted)) as u64;
        worker.kernel_ns += part(running);
        worker.running_ns -= part(running).min(worker.running_ns);
        for gap in &mut worker.gaps[gaps] {
            let taken = part(handed_ns(gap));
            if let Some(hand_off) = gap.parts.last_mut()
                && taken > 0
            {
                hand_off.1 -= taken;
                gap.parts.push((Class::Kernel, taken));
            }
        }
    }
}

/// The way to this worker, at the end of the gap; before that, what was on its way was for others, and it slept.
fn handed_ns(gap: &Gap) -> u64 {
    gap.parts.last().filter(|(class, _)| *class == Class::HandOff).map_or(0, |(_, ns)| *ns)
}

/// The gaps that end in that time, by their places.
fn gaps_between(gaps: &[Gap], from: u64, until: u64) -> std::ops::Range<usize> {
    let first = gaps.partition_point(|gap| gap.end_ns <= from);
    first..gaps.partition_point(|gap| gap.end_ns <= until).max(first)
}

/// How long something ran in that time.
fn running_ns(worker: &WorkerTime, from: u64, until: u64) -> u64 {
    let first = worker.slices.partition_point(|slice| slice.end_ns <= from);
    let within = worker.slices[first..].iter().take_while(|slice| slice.begin_ns < until);
    within.map(|slice| slice.end_ns.min(until) - slice.begin_ns.max(from).min(slice.end_ns.min(until))).sum()
}

//! Owns: the part of a worker's time in which the kernel gave its core to others.
//! May use: nothing.
//! Never: time in which the worker's OS thread slept.
//!
//! Linux counts how long an OS thread was runnable without running, but not when; the helper thread reads the count
//! once per tick. Between two samples the OS thread was runnable while something ran on it, and while it was being
//! woken for a thread handed to it. The kernel's share is taken from both in proportion.
//!
//! A wake takes time even on a quiet machine, and Linux counts that as waiting for a core, too: 0.7 us where the
//! waker's core is free at once, 17 us where the core must leave a sleep state (means of 20 000 and of 300 wakes on two
//! virtual cores with nothing else to do), while a thread that spins beside them waits for 0.06 % of its time. So a
//! little of each wake belongs to the hand-off itself, and is not counted as the kernel's.

use super::idle::Class;
use super::timeline::{Gap, WorkerTime};

/// The part of a wait for a core that belongs to the wake itself.
pub(super) const WAKE_NS: u64 = 25_000;

/// Moves the kernel's share out of running time and hand-offs.
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
        // A damaged file may say it of one time twice.
        let taken = part(running).min(worker.running_ns);
        worker.kernel_ns += taken;
        worker.running_ns -= taken;
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

/// The hand-off to this worker, at the end of the gap; earlier ones were for other workers, while this one slept.
fn handed_ns(gap: &Gap) -> u64 {
    gap.parts.last().filter(|(class, _)| *class == Class::HandOff).map_or(0, |(_, ns)| *ns)
}

/// The indices of the gaps that end in this time.
fn gaps_between(gaps: &[Gap], from: u64, until: u64) -> std::ops::Range<usize> {
    let first = gaps.partition_point(|gap| gap.end_ns <= from);
    first..gaps.partition_point(|gap| gap.end_ns <= until).max(first)
}

/// The running time within this time.
fn running_ns(worker: &WorkerTime, from: u64, until: u64) -> u64 {
    let first = worker.slices.partition_point(|slice| slice.end_ns <= from);
    let within = worker.slices[first..].iter().take_while(|slice| slice.begin_ns < until);
    within.map(|slice| slice.end_ns.min(until) - slice.begin_ns.max(from).min(slice.end_ns.min(until))).sum()
}

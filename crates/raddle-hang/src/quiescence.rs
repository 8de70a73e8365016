//! Owns: whether the program stands still for good: nothing runs, and nothing ever will.
//! May use: `runtimes`, `raddle-core`.
//! Never: a false alarm.
//!
//! *A deadlock* is when nothing will ever run again. False alarms would be worse than none, so each of these must hold,
//! twice, a tick apart, with nothing having moved between:
//!
//! 1. all workers of all runtimes sleep, no alarm is set, no `blocking` call is out, and nothing is outstanding at a
//!    poller (as at a runtime's quiet end);
//! 2. every other OS thread of the program is a helper of ours, an idle spare, or sleeps in a call of ours without a
//!    deadline; one that does anything else may hold a channel's end, or a waker, and use it yet;
//! 3. no OS thread has been woken that has not noticed it.
//!
//! Who sleeps can only be woken by one that runs. All slept at both looks, and the counts of sleeps are the same:
//! so all slept at every moment between, and nobody is left who could wake anybody. (The design counted as outstanding
//! only OS threads that have used an object of ours. One that was given a sender and has not used it yet is none of
//! them, so that all are counted here; a program with such threads asks by `SIGQUIT`.)
//!
//! It uses the list of runtimes, records of OS threads, the kernel's list of OS threads.

use crate::runtimes::runtimes;
use raddle_core::blocking::spares_are_idle;
use raddle_core::os_thread::{self, Role};
use std::sync::atomic::{Ordering, fence};

/// What stood still at a look: if the next one finds the same, it stood still all the time.
pub(crate) type Counts = Vec<u64>;

/// The counts, if nothing runs, nothing will, and somebody waits.
pub(crate) fn look() -> Option<Counts> {
    let runtimes = runtimes();
    let mut counts = Counts::new();
    for watched in runtimes.iter() {
        counts.push(watched.shared().is_quiet()?);
    }
    if runtimes.is_empty() || !spares_are_idle() {
        return None;
    }
    counts.push(os_thread::wakes()?);
    let waiting = outside(&mut counts)?;
    // SeqCst pairs with the sleepers' fences: who went to sleep after waking another is seen with that.
    fence(Ordering::SeqCst);
    counts.push(os_thread::wakes()?);
    (waiting > 0).then_some(counts)
}

/// Adds the OS threads of the program, if all of them sleep; returns how many there are.
fn outside(counts: &mut Counts) -> Option<usize> {
    let records = os_thread::records();
    let (mut listed, mut waiting) = (0, 0);
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        listed += 1;
        let number: i32 = task.ok()?.file_name().to_str()?.parse().ok()?;
        let record = records.iter().find(|record| record.tid() == number)?;
        if record.is(Role::Program) {
            counts.extend([number as u64, record.sleeps()?]);
            waiting += 1;
        }
    }
    // The list is read in pieces, between which OS threads come and go: one may stand in none of them.
    (os_threads()? == listed).then_some(waiting)
}

/// How many OS threads the program has.
fn os_threads() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
}

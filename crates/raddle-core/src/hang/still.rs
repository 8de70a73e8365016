//! Owns: whether the program stands still for good: nothing runs, and nothing ever will.
//! May use: the list of runtimes, `seat`, the kernel's list of OS threads.
//! Never: a false alarm.
//!
//! *A deadlock* is when nothing will ever run again. False alarms would be worse than none, so each of these must hold,
//! twice, a tick apart, with nothing having moved between:
//!
//! 1. all workers of all runtimes sleep, no alarm is set, no `blocking` call is out (as at a runtime's quiet end);
//! 2. every other OS thread of the program is a helper of ours, an idle spare, or sleeps in a call of ours without a
//!    deadline; one that does anything else may hold a channel's end, or a waker, and use it yet;
//! 3. no OS thread has been woken that has not noticed it.
//!
//! Who sleeps can only be woken by one that runs. All slept at both looks, and the counts of lying down are the same:
//! so all slept at every moment between, and nobody is left who could wake anybody. (DESIGN.md counted as outstanding
//! only OS threads that have used an object of ours. One that was given a sender and has not used it yet is none of
//! them, so that all are counted here; a program with such threads asks by `SIGQUIT`.)

use super::seat::{self, Sitter};
use super::watch::runtimes;
use crate::blocking;
use std::sync::atomic::{Ordering, fence};

/// What stood still at a look: if the next one finds the same, it stood still all the time.
pub(super) type Stamp = Vec<u64>;

/// The stamp, if nothing runs, nothing will, and somebody waits.
pub(super) fn look() -> Option<Stamp> {
    let runtimes = runtimes();
    let mut stamp = Stamp::new();
    for watched in runtimes.iter() {
        stamp.push(watched.shared().is_quiet()?);
    }
    if runtimes.is_empty() || !blocking::lock_pool().is_idle() {
        return None;
    }
    stamp.push(seat::wakes()?);
    let waiting = outside(&mut stamp)?;
    fence(Ordering::SeqCst); // pairs with the sleepers' fences: who lay down after waking another is seen with that
    stamp.push(seat::wakes()?);
    (waiting > 0).then_some(stamp)
}

/// Adds the OS threads of the program, if all of them sleep; returns how many there are.
fn outside(stamp: &mut Stamp) -> Option<usize> {
    let seats = seat::seats();
    let (mut listed, mut waiting) = (0, 0);
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        listed += 1;
        let number: i32 = task.ok()?.file_name().to_str()?.parse().ok()?;
        let seat = seats.iter().find(|seat| seat.os_thread() == number)?;
        if seat.is(Sitter::Outside) {
            stamp.extend([number as u64, seat.sleeps()?]);
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

//! Owns: whether the program stands still for good: nothing runs, and nothing ever will.
//! May use: `kernel`, `runtimes`, `raddle-core`, `raddle-syscall`.
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
//! *A hang on a lock that is none of ours* is told the same way, though its worker does not sleep by our means. Then
//! each OS thread must be as above, or wait, without a deadline, at a futex that no other program has (the kernel says
//! so); no worker may have an alarm; and the program must handle no signal by itself, since a handler may end such a
//! wait. What was found must be the same for half a second: the calls, their numbers, and the turns of all workers.
//!
//! It uses the list of runtimes, records of OS threads, the kernel's list of OS threads.

use crate::kernel::{self, Stay};
use crate::runtimes::{Watched, runtimes};
use raddle_core::blocking::spares_are_idle;
use raddle_core::door::tick::Interruption;
use raddle_core::os_thread::{self, Role};
use raddle_core::worker::Worker;
use raddle_syscall::thread_number;
use std::sync::atomic::{Ordering, fence};

/// What stood still at a look: if the next one finds the same, it stood still all the time.
pub(crate) type Counts = Vec<u64>;

/// The counts, if nothing runs, nothing will, and somebody waits.
pub(crate) fn look() -> Option<Counts> {
    if Interruption::get().is_some_and(|said| (said.waits_for_signals)()) {
        return None;
    }
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
    let mut waiting = 0;
    for number in kernel::os_threads()? {
        let record = records.iter().find(|record| record.tid() == number)?;
        if record.is(Role::Program) {
            counts.extend([number as u64, record.sleeps()?]);
            waiting += 1;
        }
    }
    Some(waiting)
}

/// So many looks in a row must find the same: a worker that sleeps with a deadline gets up between them, looks for
/// something to do, and finds nothing.
const LOOKS_AT_BLOCKED: u32 = 6;

/// Whether the program stands still for good because workers are blocked by locks that are none of ours.
#[derive(Default)]
pub(crate) struct Blocked {
    turns: Option<TurnsOfAll>,
    before: Option<Counts>,
    looks: u32,
}

impl Blocked {
    /// Looks. True if it has found the same often enough, once.
    ///
    /// The kernel is asked from the second look on that finds the same turns. A program that has just begun would pay
    /// for it twice, since files in `/proc` that were opened are put away as it ends: together 0.1 ms.
    pub(crate) fn look(&mut self) -> bool {
        let turns = turns();
        if turns.is_none() || turns != self.turns {
            *self = Blocked { turns, ..Blocked::default() };
            return false;
        }
        let now = turns.and_then(blocked);
        self.looks = if now.is_some() && now == self.before { self.looks.saturating_add(1) } else { 0 };
        self.before = now;
        self.looks == LOOKS_AT_BLOCKED
    }
}

/// Of all workers, how many turns they have had; and how many of them are awake, and asleep.
#[derive(PartialEq)]
struct TurnsOfAll {
    counts: Counts,
    awake: usize,
    asleep: usize,
}

/// None if no worker is awake, or anything is outstanding.
fn turns() -> Option<TurnsOfAll> {
    let runtimes = runtimes();
    let mut counts = Counts::new();
    let (mut awake, mut asleep) = (0, 0);
    for watched in runtimes.iter() {
        let shared = watched.shared();
        let workers = || shared.everybody();
        if shared.waits_for_elsewhere() || workers().any(|worker| worker.has_alarm()) {
            return None;
        }
        counts.extend(workers().map(|worker| worker.turns()));
        asleep += workers().filter(|worker| shared.worker_sleeps(worker.index)).count();
        awake += workers().filter(|worker| !shared.worker_sleeps(worker.index)).count();
    }
    // Before the kernel is asked for anything: most programs are busy.
    (awake > 0 && spares_are_idle()).then_some(TurnsOfAll { counts, awake, asleep })
}

/// The counts, if workers wait at futexes that only this program could wake, and all else sleeps.
fn blocked(TurnsOfAll { mut counts, awake, asleep }: TurnsOfAll) -> Option<Counts> {
    let runtimes = runtimes();
    let all = kernel::os_threads()?;
    let records = os_thread::records();
    let me = thread_number();
    let mut blocked_workers = 0;
    for number in &all {
        let record = records.iter().find(|record| record.tid() == *number);
        let role = |role| record.is_some_and(|record| record.is(role));
        if role(Role::Helper) {
            // One that writes, to a pipe or a file, may hold a lock meanwhile, and comes back by itself.
            if *number != me && !Stay::of(*number)?.is_at_futex() {
                return None;
            }
            continue;
        }
        if role(Role::Spare) {
            continue;
        }
        counts.push(u64::from(number.unsigned_abs()));
        if let Some(sleeps) = record.filter(|record| record.is(Role::Program)).and_then(|one| one.sleeps()) {
            counts.push(sleeps);
            continue;
        }
        let is_asleep = |watched: &Watched| {
            let shared = watched.shared();
            let own = |worker: &&Worker| record.is_some_and(|record| record.worker() == address(worker));
            shared.everybody().find(own).is_some_and(|worker| shared.worker_sleeps(worker.index))
        };
        if role(Role::Worker) && runtimes.iter().any(is_asleep) {
            continue;
        }
        let stay = Stay::of(*number).filter(|stay| stay.is_ended_from_inside_only(&all))?;
        blocked_workers += usize::from(role(Role::Worker));
        counts.extend([stay.arguments[0], stay.stands_at as u64, stay.given_away]);
    }
    let is_whole = blocked_workers == awake && blocked_workers + asleep > 0;
    (is_whole && !kernel::handles_signals()).then_some(counts)
}

fn address(worker: &Worker) -> *const () {
    std::ptr::from_ref(worker).cast()
}

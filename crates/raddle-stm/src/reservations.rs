//! Owns: which pessimistic transactions run, how old they are, and who waits until one has ended.
//! May use: `host`, `protocol::reserve`, `raddle-core`, `raddle-protocol`, `raddle-sync`.
//! Never: a variable.
//!
//! A transaction has one ticket for all its attempts: the lower, the older. What it has reserved has its ticket. Who
//! finds a variable reserved waits until the attempt has ended that reserved it: a commit of another kind always; a
//! pessimistic transaction only if it is the older of the two, and else it ends its own attempt first (*wait-die*). So
//! one that has reserved waits for younger ones only, which is no circle; and the oldest of all gives way to nobody.
//! Who must not wait, a task, or who is in the holder's own body, breaks the reservation: the holder begins anew.
//!
//! A transaction in a holder's body may have to wait: at the gate, for the token, for a change, for what an older one
//! has reserved. Then the holder waits for anybody. So it says that (`let_go_while`), and nobody waits for it as long:
//! a commit breaks its reservations, and who would reserve ends its attempt, and runs by versions.
//!
//! An attempt gives back all its reservations and then, under the lock, leaves the list: who has found one before, and
//! looks into the list under the lock, either does not find it there, or is woken.

use crate::host::{self, InTurn};
use crate::prim::{AtomicU64, AtomicUsize, Ordering};
use crate::protocol::reserve::Breaks;
use raddle_sync::sync::{Condvar, Mutex, MutexGuard};
use std::panic::Location;

/// One attempt.
struct RunningAttempt {
    ticket: u64,
    /// Nobody else's number.
    attempt: u64,
    /// Who runs it.
    caller: usize,
    /// So many waits it is in, of transactions in its body.
    waits: u32,
    /// Who took a fork of the caller's would wait for what is reserved, and the caller for him.
    _in_turn: InTurn,
}

impl RunningAttempt {
    /// Whether others may wait for its end.
    const fn goes_on(&self) -> bool {
        self.waits == 0
    }
}

/// Read by each commit, and hardly ever written: alone on its cache lines.
#[repr(align(128))]
struct Reserving {
    /// So many attempts run.
    count: AtomicUsize,
    running: Mutex<Vec<RunningAttempt>>,
    ended: Condvar,
    numbers: AtomicU64,
}

static RESERVING: Reserving = Reserving {
    count: AtomicUsize::new(0),
    running: Mutex::new(Vec::new()),
    ended: Condvar::new(),
    numbers: AtomicU64::new(1),
};

/// How often reservations were broken.
pub(crate) static BREAKS: Breaks = Breaks::new();

/// A ticket: younger than all before.
pub(crate) fn ticket() -> u64 {
    RESERVING.numbers.fetch_add(1, Ordering::Relaxed)
}

fn lock() -> MutexGuard<'static, Vec<RunningAttempt>> {
    RESERVING.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether somebody may have reserved something. Asked behind the full fence of a commit: who is not seen here takes
/// its reservations, each with a full fence, after this was looked at.
#[inline(always)]
pub(crate) fn are_there() -> bool {
    RESERVING.count.load(Ordering::Relaxed) != 0
}

/// An attempt with this ticket begins. The caller is in no task.
pub(crate) fn enter(ticket: u64) {
    let (attempt, caller) = (self::ticket(), host::caller());
    let one = RunningAttempt { ticket, attempt, caller, waits: 0, _in_turn: InTurn::begin() };
    host::shield(|| {
        let mut running = lock();
        running.push(one);
        // Before each of its reservations: see `are_there`.
        RESERVING.count.store(running.len(), Ordering::Relaxed);
    });
}

/// The attempt with this ticket has ended, and given back what it had reserved.
pub(crate) fn leave(ticket: u64) {
    // A cancellation here would leave it in the list for ever.
    host::shield(|| {
        let mut running = lock();
        let at = running.iter().position(|one| one.ticket == ticket).expect("it has entered");
        // Its forks are anybody's again when all know that it has ended.
        let _ended = running.swap_remove(at);
        RESERVING.count.store(running.len(), Ordering::Relaxed);
        drop(running);
        RESERVING.ended.notify_all();
    });
}

/// Whether the caller's is in the body of a pessimistic transaction. It is in no task.
pub(crate) fn is_inside() -> bool {
    are_there() && {
        let caller = host::caller();
        lock().iter().any(|one| one.caller == caller)
    }
}

/// Whether the caller's is in the body of the one with this ticket. It is in no task.
pub(crate) fn is_inside_of(ticket: u64) -> bool {
    let caller = host::caller();
    lock().iter().any(|one| one.ticket == ticket && one.caller == caller)
}

/// Waits, for the transaction at `site`, until the attempt that runs now with this ticket has ended, if there is one.
/// False if it does not go on, and so must not be waited for.
///
/// # Panics
/// If the caller is cancelled.
#[cold]
pub(crate) fn wait_until_ended(ticket: u64, site: &'static Location<'static>) -> bool {
    let mut running = lock();
    let find = |running: &[RunningAttempt]| {
        running.iter().find(|one| one.ticket == ticket).map(|one| (one.attempt, one.goes_on()))
    };
    let Some((of_now, _)) = find(&running) else { return true };
    loop {
        match find(&running) {
            Some((attempt, true)) if attempt == of_now => {}
            Some((attempt, false)) if attempt == of_now => return false,
            _ => return true,
        }
        let woken = RESERVING.ended.wait_in_transaction(running, site);
        running = woken.unwrap_or_else(|poisoned| poisoned.into_inner());
    }
}

/// Runs `wait`, in which a transaction waits for others. If it is in the body of one that has reserved something, that
/// one has it broken meanwhile, should anybody want it.
#[cold]
pub(crate) fn let_go_while<R>(wait: impl FnOnce() -> R) -> R {
    struct GoesOn(usize);
    impl Drop for GoesOn {
        fn drop(&mut self) {
            host::shield(|| count_waits(self.0, |waits| waits - 1));
        }
    }

    let _goes_on = (!host::at_home() && is_inside()).then(|| {
        let caller = host::caller();
        host::shield(|| count_waits(caller, |waits| waits + 1));
        RESERVING.ended.notify_all();
        GoesOn(caller)
    });
    wait()
}

fn count_waits(caller: usize, count: impl Fn(u32) -> u32) {
    for one in lock().iter_mut().filter(|one| one.caller == caller) {
        one.waits = count(one.waits);
    }
}

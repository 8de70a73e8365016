//! Owns: the one token by which a transaction that has failed too often commits for certain; and who waits for that.
//! May use: `host`, `reservations`, `raddle-core`, `raddle-protocol`, `raddle-sync`.
//! Never: what makes a transaction right: with or without a token it validates.
//!
//! Who has the token has closed the gate: no other commit stores anything until it opens. A commit looks at the gate
//! when it has locked all its variables, and steps back if it is closed. Both sides announce first and look then, with
//! a full fence between: so either the commit sees the gate closed, or the holder sees its locks, and waits for those
//! few instructions. Hence what the holder has read stays as it is, and its commit finds no conflict.
//!
//! | | |
//! |---|---|
//! | several want the token | they get it in the order in which they came: each waits for as many as are before it |
//! | a commit finds the gate closed | it waits in the scheduler until the gate opens, and then locks anew |
//! | a transaction that writes nothing | does not look at the gate |
//! | a task, which must not wait | passes, and takes no token: the holder may have to run once more |
//! | a transaction inside of another's body, which has the token | passes, or it would wait for itself |
//! | such a one retries | the gate is open while it waits for others, and closed then: the holder may run once more |
//!
//! A holder that does what cannot be undone seals the gate: then a task does not pass either. It is run again until the
//! seal is gone, and has others run meanwhile. The seal is announced and looked at as the gate is.

use crate::host;
use crate::prim::{AtomicU32, AtomicUsize, Ordering, fence};
use crate::reservations;
use raddle_sync::sync::{Condvar, Mutex, Permit, Semaphore};
use std::panic::Location;

/// Nobody has the token.
const NOBODY: usize = 0;

/// The gate of all transactions. Its word is read by each commit and hardly ever written: alone on its cache lines.
static GATE: CommitGate = CommitGate {
    holder: AtomicUsize::new(NOBODY),
    sealed: AtomicU32::new(0),
    token: Semaphore::new(1),
    lock: Mutex::new(()),
    opened: Condvar::new(),
};

#[repr(align(128))]
struct CommitGate {
    /// What tells the one who has the token from all others.
    holder: AtomicUsize,
    /// Not 0 if tasks do not pass.
    sealed: AtomicU32,
    token: Semaphore,
    lock: Mutex<()>,
    opened: Condvar,
}

/// That the caller's next commit finds no conflict.
pub(crate) struct CommitToken {
    _permit: Permit<'static>,
    /// Who took a fork of the caller's would wait for it at his commit, and the caller for him.
    _in_turn: host::InTurn,
}

impl CommitToken {
    /// Waits for the token; none for who must not wait for it.
    pub(crate) fn take() -> Option<CommitToken> {
        if must_not_wait() {
            return None;
        }
        let permit = reservations::let_go_while(|| GATE.token.acquire().expect("nobody closes it"));
        close();
        Some(CommitToken { _permit: permit, _in_turn: host::InTurn::begin() })
    }
}

/// That nobody else commits, not even a task.
pub(crate) struct GateSeal(());

impl GateSeal {
    /// The caller has the token, or is a transaction in the body of one that has. None if the gate is sealed already,
    /// by the same.
    pub(crate) fn set() -> Option<GateSeal> {
        debug_assert!(is_holder());
        seal().then_some(GateSeal(()))
    }
}

impl Drop for GateSeal {
    fn drop(&mut self) {
        unseal();
    }
}

/// Tasks do not pass from now on. False if they did not before.
pub(crate) fn seal() -> bool {
    let is_first = GATE.sealed.swap(1, Ordering::Relaxed) == 0;
    // Pairs with `fence_after_locked` in `commit`: see the module.
    fence(Ordering::SeqCst);
    is_first
}

/// Tasks pass again. By who has sealed the gate.
pub(crate) fn unseal() {
    GATE.sealed.store(0, Ordering::Relaxed);
}

impl Drop for CommitToken {
    fn drop(&mut self) {
        open();
    }
}

/// For all but the caller.
fn close() {
    GATE.holder.store(host::caller(), Ordering::Relaxed);
    // Pairs with `fence_after_locked` in `commit`: see the module.
    fence(Ordering::SeqCst);
}

fn open() {
    // A cancellation here would leave the gate closed for ever.
    host::shield(|| {
        let guard = lock();
        GATE.holder.store(NOBODY, Ordering::Relaxed);
        drop(guard);
        GATE.opened.notify_all();
    });
}

/// Runs `wait`, a wait for what others commit: so the gate is open meanwhile, and the token anybody's, if the caller's
/// is a transaction that has it, or one in the body of such a one.
pub(crate) fn open_while<R>(wait: impl FnOnce() -> R) -> R {
    struct Closes;
    impl Drop for Closes {
        fn drop(&mut self) {
            // Whoever has had it believes to have it.
            let takes = || GATE.token.acquire().expect("nobody closes it").forget();
            host::shield(|| reservations::let_go_while(takes));
            close();
        }
    }

    let _closes = (is_holder() && !is_sealed()).then(|| {
        open();
        GATE.token.add_permits(1);
        Closes
    });
    wait()
}

/// Whether tasks do not pass either.
#[inline(always)]
pub(crate) fn is_sealed() -> bool {
    GATE.sealed.load(Ordering::Relaxed) != 0
}

/// Whether the caller's is a transaction that has sealed the gate, or one in the body of such a one.
pub(crate) fn has_sealed() -> bool {
    is_holder() && is_sealed()
}

pub(crate) fn is_holder() -> bool {
    GATE.holder.load(Ordering::Relaxed) == host::caller()
}

fn lock() -> raddle_sync::sync::MutexGuard<'static, ()> {
    GATE.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether commits of others than the holder may go on, asked after a full fence.
#[inline(always)]
pub(crate) fn is_open() -> bool {
    GATE.holder.load(Ordering::Relaxed) == NOBODY
}

/// What becomes of a commit that has found the gate closed.
pub(crate) enum Passage {
    /// It is open now.
    Opened,
    /// It passes: it is the holder's own, or in its body.
    Own,
    /// It passes, unless the gate is sealed: a task's.
    Unsealed,
    /// It does not pass, and cannot wait.
    Shut,
}

/// Waits until the gate is open, if the caller may: the transaction at `site`.
#[cold]
pub(crate) fn wait_until_open(site: &'static Location<'static>) -> Passage {
    if is_holder() {
        return Passage::Own;
    }
    if host::at_home() {
        return if is_sealed() { Passage::Shut } else { Passage::Unsealed };
    }
    reservations::let_go_while(|| {
        let mut guard = lock();
        while !is_open() {
            let woken = GATE.opened.wait_in_transaction(guard, site);
            guard = woken.unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    });
    Passage::Opened
}

/// A task, or who would wait for itself: its transaction is in the body of the holder's.
fn must_not_wait() -> bool {
    host::at_home() || is_holder()
}

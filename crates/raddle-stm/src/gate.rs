//! Owns: the one token by which a transaction that has failed too often commits for certain; and who waits for that.
//! May use: `host`, `raddle-core`, `raddle-protocol`, `raddle-sync`.
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

use crate::host;
use crate::prim::{AtomicUsize, Ordering, fence};
use raddle_sync::sync::{Condvar, Mutex, Permit, Semaphore};

/// Nobody has the token.
const NOBODY: usize = 0;

/// The gate of all transactions. Its word is read by each commit and hardly ever written: alone on its cache lines.
static GATE: CommitGate = CommitGate {
    holder: AtomicUsize::new(NOBODY),
    token: Semaphore::new(1),
    lock: Mutex::new(()),
    opened: Condvar::new(),
};

#[repr(align(128))]
struct CommitGate {
    /// What tells the one who has the token from all others.
    holder: AtomicUsize,
    token: Semaphore,
    lock: Mutex<()>,
    opened: Condvar,
}

/// That the caller's next commit finds no conflict.
pub(crate) struct CommitToken {
    _permit: Permit<'static>,
}

impl CommitToken {
    /// Waits for the token; none for who must not wait for it.
    pub(crate) fn take() -> Option<CommitToken> {
        if must_not_wait() {
            return None;
        }
        let permit = GATE.token.acquire().expect("nobody closes it");
        close();
        Some(CommitToken { _permit: permit })
    }
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

/// Runs `wait`, a wait for what others commit: so the gate is open meanwhile, if the caller's is a transaction in the
/// body of one that has the token.
pub(crate) fn open_while<R>(wait: impl FnOnce() -> R) -> R {
    struct Closes;
    impl Drop for Closes {
        fn drop(&mut self) {
            close();
        }
    }

    let _closes = is_holder().then(|| {
        open();
        Closes
    });
    wait()
}

fn is_holder() -> bool {
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

/// Waits until the gate is open. False if the caller must not wait for that.
#[cold]
pub(crate) fn wait_until_open() -> bool {
    if must_not_wait() {
        return false;
    }
    let mut guard = lock();
    while !is_open() {
        guard = GATE.opened.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
    }
    true
}

/// A task, or who would wait for itself: its transaction is in the body of the holder's.
fn must_not_wait() -> bool {
    host::at_home() || is_holder()
}

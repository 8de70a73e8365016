//! Owns: that no fork falls into the beginning or the end of an OS thread of ours.
//! May use: nothing.
//! Never: a wait for an OS thread that runs.
//!
//! The standard library has each of its OS threads enter itself into a table when it begins, and leave it when it ends,
//! under a lock that `fork` knows nothing of (of its handler for overflows of the stack). A child that was forked
//! meanwhile finds it taken by a thread that it does not have, and every OS thread that it starts waits for ever.
//!
//! So an OS thread of ours is *in passage* from before it is made until its body runs, and from its body's end until
//! the first of its thread-local variables is destroyed, which is after it has left the table; and a fork waits until
//! none is in passage, and lets none begin. Who is in passage waits for no lock of ours. What the program starts by the
//! standard library itself has that fault still.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Held by who begins a passage, for a moment; and by who forks.
static GATE: Mutex<()> = Mutex::new(());
static IN_PASSAGE: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// The body of an OS thread that is about to be made by the standard library. If it is refused, this is to be dropped.
pub fn passing<T>(body: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let begins = Passage::begin();
    move || {
        drop(begins);
        let _ends = Ending;
        body()
    }
}

/// An OS thread in passage.
struct Passage;

impl Passage {
    fn begin() -> Passage {
        let _open = lock(&GATE);
        *lock(&IN_PASSAGE) += 1;
        Passage
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        IS_LEAVING.set(false);
        *lock(&IN_PASSAGE) -= 1;
        ENDED.notify_all();
    }
}

thread_local! {
    /// Of an OS thread that ends. It is the last that is made, and so the first that is destroyed.
    static LEAVES: Cell<Option<Passage>> = const { Cell::new(None) };
    /// Without a destructor: whether it is so.
    static IS_LEAVING: Cell<bool> = const { Cell::new(false) };
}

/// At the end of a body.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        let passage = Passage::begin();
        IS_LEAVING.set(true);
        if LEAVES.try_with(|leaves| leaves.set(Some(passage))).is_err() {
            IS_LEAVING.set(false);
        }
    }
}

/// None is in passage.
pub(crate) struct NoPassage {
    _closed: MutexGuard<'static, ()>,
    _none: MutexGuard<'static, usize>,
}

impl NoPassage {
    /// Waits until none is in passage, but for the calling OS thread.
    pub(crate) fn wait() -> NoPassage {
        let closed = lock(&GATE);
        let own = usize::from(IS_LEAVING.get());
        let none = ENDED.wait_while(lock(&IN_PASSAGE), |all| *all > own);
        NoPassage { _closed: closed, _none: none.unwrap_or_else(PoisonError::into_inner) }
    }
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Owns: that no fork falls into the beginning or the end of an OS thread of ours.
//! May use: `raddle-syscall`.
//! Never: a wait for an OS thread that runs.
//!
//! The standard library has each of its OS threads enter itself into a table when it begins, and leave it when it ends,
//! under a lock that `fork` knows nothing of (of its handler for overflows of the stack). A child that was forked
//! meanwhile finds it taken by a thread that it does not have, and every OS thread that it starts waits for ever.
//!
//! So an OS thread of ours is *in passage* from before it is made until its body runs, and from its body's end until
//! the first of its thread-local variables is destroyed, which is after it has left the table; and a fork waits until
//! none is in passage, and lets none begin. Who is in passage waits for no lock of ours. It may wait for one
//! of the allocator or the loader, which whoever forks holds in rare programs: so a fork waits for about a second at
//! most, and then goes ahead. What the program starts by the standard library itself has that fault still.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// Who forks gives its processor away so often at most: for about a second. A passage takes some microseconds, where
/// there is a processor for it.
const LOOKS: usize = 1_000_000;

/// Somebody forks, one at a time: no passage begins.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// How many are in passage, and `CLOSED`. Not a lock: whoever finds it closed gives its processor away, as rarely as
/// a fork meets an OS thread that is to be made; and it would be a kilobyte of each program.
static IN_PASSAGE: AtomicUsize = AtomicUsize::new(0);

/// Starts an OS thread of ours. One function for all: each kind of body would bring the standard library's once more.
///
/// # Errors
/// As [`thread::Builder::spawn`]; the body is dropped.
pub fn begin(name: String, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name).spawn(passing(body))
}

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
    #[inline(never)]
    fn begin() -> Passage {
        // Relaxed: of the same word who forks learns that this one has come before, or this one that it forks.
        let one_more = |seen| (seen & CLOSED == 0).then_some(seen + 1);
        while IN_PASSAGE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err() {
            raddle_syscall::yield_processor();
        }
        Passage
    }
}

impl Drop for Passage {
    #[inline(never)]
    fn drop(&mut self) {
        IN_PASSAGE.fetch_sub(1, Ordering::Release); // pairs with the acquire in `NoPassage::wait`
    }
}

thread_local! {
    /// Of an OS thread that ends. It is the last that is made, and so the first that is destroyed.
    static LEAVES: Leaves = const { Leaves(Cell::new(None)) };
    /// Without a destructor: whether it is so.
    static IS_LEAVING: Cell<bool> = const { Cell::new(false) };
}

struct Leaves(Cell<Option<Passage>>);

impl Drop for Leaves {
    fn drop(&mut self) {
        IS_LEAVING.set(false);
    }
}

/// At the end of a body.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        // It is made before the passage begins: the C library has a lock for what is to be destroyed.
        if LEAVES.try_with(|_| ()).is_err() {
            return;
        }
        let passage = Passage::begin();
        IS_LEAVING.set(true);
        LEAVES.with(|leaves| leaves.0.set(Some(passage)));
    }
}

/// None is in passage.
pub(crate) struct NoPassage;

impl NoPassage {
    /// Waits until none is in passage, but for the calling OS thread; not for ever. By one at a time: under a lock.
    pub(crate) fn wait() -> NoPassage {
        IN_PASSAGE.fetch_or(CLOSED, Ordering::Relaxed);
        for _ in 0..LOOKS {
            // Acquire pairs with the release of who ends a passage: the child sees what that one has done.
            if IN_PASSAGE.load(Ordering::Acquire) & !CLOSED <= own() {
                break;
            }
            raddle_syscall::yield_processor();
        }
        NoPassage
    }

    /// In a forked child: none of the others is there.
    pub(crate) fn in_child(&self) {
        IN_PASSAGE.store(CLOSED | own(), Ordering::Relaxed);
    }
}

impl Drop for NoPassage {
    fn drop(&mut self) {
        IN_PASSAGE.fetch_and(!CLOSED, Ordering::Relaxed);
    }
}

/// How many of those in passage the calling OS thread is.
fn own() -> usize {
    usize::from(IS_LEAVING.get())
}

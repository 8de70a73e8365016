//! Owns: `Short`, a lock for a few instructions, with a note that may be read without it.
//! May use: `order`, `prim::model`, `prim::real`, `loom`.
//! Never: a switch, a call of the user's code, or a wait for anything else while it is held.
//!
//! | word | meaning | who leaves it |
//! |---|---|---|
//! | `FREE` | nobody is inside | whoever takes it |
//! | `HELD` | one is inside | that one |
//!
//! It gives no thought to who has waited longest, and puts nobody to sleep: so taking it is one locked instruction and
//! giving it back is a store. A holder runs to its end in nanoseconds unless the kernel stops it; then those who want
//! in give their processors away, and after a while sleep for moments, until it has gone on. A futex was considered:
//! giving back then is a second locked instruction, each time, for what hardly ever happens.
//!
//! The *note* is what the last holder left for those who only want to know whether entering would serve them: a bit
//! mask. Who reads it without the lock knows what was true a moment ago, which is enough before a wait, since that
//! enters the lock before it sleeps. It is not enough for an answer to the user: of two who each send into one channel
//! and then look into the other's, one must find something. [`Short::look_surely`] has the fence for that; the other
//! side's is its own look.

use crate::order;
use crate::prim::{AtomicU32, Guarded, Ordering, give_way};

const FREE: u32 = 0;
const HELD: u32 = 1;

/// What is inside says what the note is.
pub trait Noted {
    /// The note after what was done last.
    fn note(&self) -> u32;
}

/// The lock with what it guards.
#[derive(Debug)]
pub struct Short<T> {
    word: AtomicU32,
    note: AtomicU32,
    inside: Guarded<T>,
}

// SAFETY: `inside` is touched by the holder of the lock only.
unsafe impl<T: Send> Sync for Short<T> {}

impl<T: Noted> Short<T> {
    /// A free lock with a note beside it.
    #[inline]
    pub fn new(inside: T) -> Self {
        let note = inside.note();
        Short { word: AtomicU32::new(FREE), note: AtomicU32::new(note), inside: Guarded::new(inside) }
    }

    /// Runs `f` inside.
    #[inline]
    pub fn enter<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let (acquire, relaxed) = (order::SHORT_TAKE(), Ordering::Relaxed);
        if self.word.compare_exchange(FREE, HELD, acquire, relaxed).is_err() {
            self.enter_late();
        }
        let act = |inside: &mut T| {
            let result = f(inside);
            (result, inside.note())
        };
        // SAFETY: the word says that we are the only one inside.
        let (result, note) = unsafe { self.inside.with_mut(act) };
        if self.note.load(Ordering::Relaxed) != note {
            self.note.store(note, Ordering::Relaxed);
        }
        self.word.store(FREE, order::SHORT_GIVE());
        result
    }

    #[cold]
    fn enter_late(&self) {
        let (acquire, relaxed) = (order::SHORT_TAKE(), Ordering::Relaxed);
        let mut round = 0;
        loop {
            give_way(round);
            round += 1;
            let free = self.word.load(relaxed) == FREE;
            if free && self.word.compare_exchange(FREE, HELD, acquire, relaxed).is_ok() {
                return;
            }
        }
    }

    /// The note of a moment ago.
    #[inline]
    pub fn look(&self) -> u32 {
        self.note.load(Ordering::Relaxed)
    }

    /// The note, not older than the end of anything that the caller has done inside such a lock.
    #[inline]
    pub fn look_surely(&self) -> u32 {
        order::SHORT_LOOK_FENCE();
        self.look()
    }

    /// The word of the note, for those who look at many at once.
    #[cfg(not(loom))]
    #[inline]
    pub fn note_word(&self) -> &AtomicU32 {
        &self.note
    }
}

//! Owns: `Short`, a lock for a few instructions, with a note that may be read without it.
//! May use: `order`, `prim`, `loom`.
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
//! *Who comes late stays away.* Two workers that use one channel all the time would take its lines from each other at
//! each step: that costs several times what the step itself does. So who finds the lock taken pauses before it looks
//! again, and the other one goes on with lines that are its own; the longer the pause, the more it does meanwhile. How
//! long is learnt by each lock: it counts how often it is entered, and if fewer than `OFTEN` have entered since the
//! last one came late, the pauses double; if more than `SELDOM`, they are halved. Where two meet now and then, a
//! pause is one turn of the spin loop, as it was before. The counts are hints: whatever they say, the lock is right.
//!
//! The *note* is what the last holder left for those who only want to know whether entering would serve them: a bit
//! mask. Who reads it without the lock knows what was true a moment ago, which is enough before a wait, since that
//! enters the lock before it sleeps. It is not enough for an answer to the user: of two who each send into one channel
//! and then look into the other's, one must find something. [`Short::look_surely`] has the fence for that; the other
//! side's is its own look.

use crate::order;
use crate::prim::{AtomicU32, Guarded, Hint, Ordering, give_way, pause};

const FREE: u32 = 0;
const HELD: u32 = 1;

/// Those who are late come often if not so many have entered between two of them ...
const OFTEN: u32 = 256;
/// ... and seldom if so many have.
const SELDOM: u32 = 2048;
/// The longest pause, in turns of the spin loop: 14 microseconds of the machine below.
///
/// PERF: 100 000 messages of 8 bytes through one unbounded channel, 2 workers, ns a message, median (worst) of five
/// runs, Xeon (Sapphire Rapids, virtual, 2 cores), in its fast mode, by `LONGEST_PAUSE`, `OFTEN`, `SELDOM`; one worker
/// takes 26 in each row, Go 63, 63, 50 on one and 95, 105, 111 on two:
///
/// | | 8 to 1 | 4 to 4 | 1 to 8 |
/// |---|---|---|---|
/// | before: 1 to 16 turns, rising | 131 to 144 (158) | 186 to 226 (236) | 185 to 201 (211) |
/// | 64, 16, 128 | 42 to 47 (64) | 55 to 57 (58) | not measured |
/// | 256, 128, 1024 | 31 (32) | 34 (34) | 37 (38) |
/// | 512, 128, 1024 | 30 to 33 (37) | 34 (36) | 37 (42) |
/// | 1024, 256, 2048 | 30 to 34 (35) | 31 to 36 (36) | 34 to 36 (37) |
/// | 2048, 512, 4096 | 28 (29) | 30 (32) | 31 (39) |
///
/// The first row is of this code before, the others are of a build in which the three could be set. The last one is
/// fastest; but a pause is time in which the worker does nothing else, and 28 us were thought too long.
/// On one worker nobody is late: with 512, 128, 1024 the count of those who enter costs 0.3 to 0.5 ns there, a message
/// 25.8 and 26.1, a rendezvous and back 75.3 and 76.8 (the least of twelve runs each, before and after).
const LONGEST_PAUSE: u32 = 1024;
/// After so many turns the holder is taken to be stopped.
const TURNS: u32 = 1024;

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
    /// How often it has been entered. Written inside, as the next two.
    entered: Hint,
    /// How often when the last one came who was late.
    late_at: Hint,
    /// How long that one pauses.
    pause: Hint,
    inside: Guarded<T>,
}

// SAFETY: `inside` is touched by the holder of the lock only.
unsafe impl<T: Send> Sync for Short<T> {}

impl<T: Noted> Short<T> {
    /// A free lock with a note beside it.
    #[inline]
    pub fn new(inside: T) -> Self {
        let note = inside.note();
        Short {
            word: AtomicU32::new(FREE),
            note: AtomicU32::new(note),
            entered: Hint::new(0),
            late_at: Hint::new(0),
            pause: Hint::new(1),
            inside: Guarded::new(inside),
        }
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
        self.entered.set(self.entered.get().wrapping_add(1));
        self.word.store(FREE, order::SHORT_GIVE());
        result
    }

    #[cold]
    fn enter_late(&self) {
        let (acquire, relaxed) = (order::SHORT_TAKE(), Ordering::Relaxed);
        let (turns, mut spent) = (self.pause.get(), 0);
        loop {
            if spent < TURNS {
                pause(turns);
                spent += turns;
            } else {
                // From where on it gives the processor away.
                give_way(spent - TURNS + 64);
                spent += 1;
            }
            let free = self.word.load(relaxed) == FREE;
            if free && self.word.compare_exchange(FREE, HELD, acquire, relaxed).is_ok() {
                return self.learn(turns);
            }
        }
    }

    /// The caller is inside, came late, and has paused so long each time.
    fn learn(&self, turns: u32) {
        let entered = self.entered.get();
        let others = entered.wrapping_sub(self.late_at.get());
        self.late_at.set(entered);
        if others < OFTEN {
            self.pause.set((2 * turns).min(LONGEST_PAUSE));
        } else if others > SELDOM {
            self.pause.set((turns / 2).max(1));
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

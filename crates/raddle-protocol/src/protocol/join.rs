//! Owns: `JoinWord`, where the end of something and the one who waits for it meet.
//! May use: `order`, `loom`.
//! Never: the result itself; the word only says who may touch it.
//!
//! | word | the result belongs to | the block is freed by |
//! |---|---|---|
//! | `RUNNING` | the running one | - |
//! | a joiner's address | the running one | - |
//! | the same, `LOOSE` | the running one | - |
//! | `DONE` | the handle | the handle |
//! | `DETACHED` | nobody: dropped by the running one | the running one, at its end |
//!
//! Transitions: `RUNNING -> joiner -> DONE`, `RUNNING -> DONE`, `RUNNING -> DETACHED`. The joiner registers *after*
//! it has left its stack (the next context does it), so whoever finds the address may queue it at once. A loose joiner
//! may give up: `RUNNING -> LOOSE -> RUNNING`; so it is taken out by a locked instruction, and looked at only then.

use crate::order;
use crate::prim::{AtomicPtr, Ordering};

/// What the one who ends must do next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Finished<T> {
    /// The handle will come for the result.
    HandleHasIt,
    /// Wake this joiner; the result is its.
    Wake(*mut T),
    /// Nobody will come: drop the result, free the block.
    Free,
}

/// What a joiner that wanted to wait must do next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Registered {
    /// It will be woken.
    Waits,
    /// Too late to wait: the end has come.
    AlreadyDone,
}

/// The word. `T` is what a joiner's address points to.
#[derive(Debug)]
pub struct JoinWord<T>(AtomicPtr<T>);

#[inline]
fn running<T>() -> *mut T {
    std::ptr::null_mut()
}

#[inline]
fn done<T>() -> *mut T {
    std::ptr::without_provenance_mut(1)
}

#[inline]
fn detached<T>() -> *mut T {
    std::ptr::without_provenance_mut(2)
}

/// On the address of a joiner that may give up. `DONE`, `DETACHED` and this are the three lowest bits.
const LOOSE: usize = 4;

#[inline]
fn loose<T>(joiner: *mut T) -> *mut T {
    const { assert!(align_of::<T>() >= 2 * LOOSE, "a joiner's address leaves no room for the bits") };
    joiner.map_addr(|address| address | LOOSE)
}

/// A joiner that waits until it is woken.
#[inline]
fn is_firm<T>(word: *mut T) -> bool {
    !word.is_null() && word.addr() & (2 * LOOSE - 1) == 0
}

impl<T> JoinWord<T> {
    /// Of something that runs and that nobody waits for.
    #[inline]
    pub fn new() -> Self {
        JoinWord(AtomicPtr::new(running()))
    }

    /// Makes the word ready for the next life of its block. The caller is the block's only holder.
    #[inline]
    pub fn reset(&self) {
        self.0.store(running(), Ordering::Relaxed);
    }

    /// The end: publishes the result.
    #[inline]
    pub fn finish(&self) -> Finished<T> {
        // A firm joiner waits: nobody else will change the word, so a store is enough.
        let seen = self.0.load(order::JOIN_SEE_JOINER());
        if is_firm(seen) {
            // Relaxed: the joiner looks at the result when it has been woken, and the wake publishes.
            self.0.store(done(), Ordering::Relaxed);
            return Finished::Wake(seen);
        }
        let before = self.0.swap(done(), order::JOIN_FINISH());
        if before == running() {
            Finished::HandleHasIt
        } else if before == detached() {
            Finished::Free
        } else {
            Finished::Wake(before.map_addr(|address| address & !LOOSE))
        }
    }

    /// Whether the end has come; after `true` the result may be taken.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.0.load(order::JOIN_SEE_DONE()) == done()
    }

    /// Whether the handle has gone, so that the result is the running one's to drop. By that one, before its end.
    #[inline]
    pub fn is_detached(&self) -> bool {
        // Relaxed: the word does not change any more until the end, and nothing of the handle's is looked at.
        self.0.load(Ordering::Relaxed) == detached()
    }

    /// Registers `joiner`, whose context is saved, to be woken at the end.
    #[inline]
    pub fn register(&self, joiner: *mut T) -> Registered {
        let (release, acquire) = (order::JOIN_REGISTER(), order::JOIN_REGISTER_LOST());
        match self.0.compare_exchange(running(), joiner, release, acquire) {
            Ok(_) => Registered::Waits,
            Err(_) => Registered::AlreadyDone,
        }
    }

    /// As [`register`](Self::register), for one that may [give up](Self::withdraw).
    #[inline]
    pub fn register_loosely(&self, joiner: *mut T) -> Registered {
        self.register(loose(joiner))
    }

    /// The loose joiner gives up: nobody will wake it. False if the end has come, and its wake with it.
    #[must_use]
    #[inline]
    pub fn withdraw(&self, joiner: *mut T) -> bool {
        // Relaxed: whoever ends looks at a joiner only when it has taken it out; and a joiner that comes too late waits
        // for its wake.
        self.0.compare_exchange(loose(joiner), running(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Registers `joiner` while nobody else can see the word: the one to be joined has not started, and is held by the
    /// caller, who also has its handle.
    #[inline]
    pub fn register_before_start(&self, joiner: *mut T) {
        // Relaxed: the same OS thread starts it next.
        self.0.store(joiner, Ordering::Relaxed);
    }

    /// The handle goes without waiting. True if the end has come: the caller drops the result and frees the block.
    #[must_use]
    #[inline]
    pub fn detach(&self) -> bool {
        self.0.swap(detached(), order::JOIN_DETACH()) == done()
    }
}

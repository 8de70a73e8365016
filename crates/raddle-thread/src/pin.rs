//! Owns: the guard that keeps a thread on its worker.
//! May use: `handle`, `raddle-core`, `raddle-protocol`.
//! Never: another thread's flags.
//!
//! It uses the header's flags, which the one who runs may write.

use super::handle::{Thread, current};
use raddle_core::block::Block;
use raddle_core::worker::current_header;
use raddle_protocol::header::{Kind, MOVABLE, OWN_TLS, PLACED};
use std::fmt;
use std::marker::PhantomData;

/// Keeps its thread on the worker that it runs on; see [`Thread::pin`].
#[must_use = "a pin holds as long as its guard lives"]
pub struct PinGuard {
    /// And the number of its life. None for what never moves: a light process, an OS thread.
    block: Option<(&'static Block, u64)>,
    /// Only the thread itself lets itself go.
    stays: PhantomData<*mut ()>,
}

impl Thread {
    /// Keeps the calling thread on the worker that it runs on, until the guard and all others like it are dropped.
    ///
    /// For what belongs to the worker's OS thread or its core and not to the thread: a device context, a processor's
    /// counter. Inside of a `blocking` call it holds for the worker that the thread comes back to. A light process and
    /// an OS thread never move, and need no guard.
    ///
    /// # Panics
    /// If it is not the calling thread.
    ///
    /// ```
    /// use raddle::thread;
    /// thread::spawn(|| {
    ///     let _stays = thread::current().pin();
    ///     thread::yield_now(); // and is on the same worker after it
    /// })
    /// .join()
    /// .unwrap();
    /// ```
    ///
    /// The guard stays with its thread:
    ///
    /// ```compile_fail
    /// let guard = raddle::thread::current().pin();
    /// raddle::thread::spawn(move || drop(guard));
    /// ```
    pub fn pin(&self) -> PinGuard {
        assert_eq!(self.id(), current().id(), "only the thread that runs may pin itself");
        let header = current_header();
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let running = unsafe { header.as_ref() };
        let block =
            running.filter(|running| running.kind == Kind::Process && running.is(OWN_TLS)).map(|_| {
                // SAFETY: the kind says that it is a block.
                unsafe { Block::of_header(header) }
            });
        let block = block.and_then(|block| Some((block, block.number()?)));
        if let Some((block, _)) = block {
            block.pins.set(block.pins.get() + 1);
            block.header.flags.set(block.header.flags.get() & !MOVABLE);
        }
        PinGuard { block, stays: PhantomData }
    }
}

impl Drop for PinGuard {
    fn drop(&mut self) {
        let Some((block, life)) = self.block else { return };
        // A guard in a thread-local variable of a process's lives on in its storage, when the process has ended.
        if current_header() != block.as_header() || block.number() != Some(life) {
            return;
        }
        block.pins.set(block.pins.get() - 1);
        let flags = &block.header.flags;
        // A guard that lives in a thread-local is dropped at the thread's end, when it moves no more.
        if block.pins.get() == 0 && block.header.is(OWN_TLS) && !block.header.is(PLACED) {
            flags.set(flags.get() | MOVABLE);
        }
    }
}

impl fmt::Debug for PinGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinGuard").finish_non_exhaustive()
    }
}

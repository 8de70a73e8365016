//! Owns: the twin's stand-in: each context is an OS thread there, and so has storage of its own.
//! May use: `stack`, `libc`.
//! Never: a register.

use super::Unsupported;
use crate::stack::{Stack, StackError};
use core::ops::Range;
use std::sync::Arc;

/// Whether this machine can do it: always.
///
/// # Errors
/// None.
pub fn supported() -> Result<(), Unsupported> {
    Ok(())
}

/// Whether an OS thread is joined at that word: not known here.
pub fn is_number_of_thread(_address: usize, _peek: impl Fn(usize) -> Option<usize>) -> bool {
    false
}

/// Stands for the storage of the OS thread that the context is.
#[derive(Debug)]
pub struct TlsBlock;

impl TlsBlock {
    /// What a transfer to its context gets, and ignores.
    pub fn base(&self) -> usize {
        1
    }
}

impl TlsBlock {
    /// As [`TlsPool::take_early`], for whoever has no pool.
    pub fn take_from_depot() -> Option<TlsBlock> {
        Some(TlsBlock)
    }

    /// None is needed.
    pub fn make_ahead() {}

    /// For whoever has no pool.
    pub fn give_to_depot(self) {}

    /// What `pthread_self` gives in its context is not known here.
    pub fn pthread(&self) -> usize {
        0
    }

    /// Nobody asks.
    pub fn note_memory(&self, _low: *mut u8, _bytes: usize) {}

    /// Nobody asks.
    pub fn note_stack_if_none(&self, _stack: &Stack) {}
}

/// Nothing that a cache could use.
///
/// # Safety
/// None.
pub unsafe fn announce(_place: *const Option<TlsBlock>) {}

/// The locks that a fork must hold: none.
#[derive(Debug)]
pub struct ForkGuard;

impl ForkGuard {
    /// Takes them.
    pub fn take() -> ForkGuard {
        ForkGuard
    }

    /// Nothing to put right.
    pub fn in_child(&self) {}
}

/// An OS thread that runs no contexts but as OS threads.
#[derive(Debug)]
pub struct Host;

impl Host {
    /// For the OS thread that calls.
    pub fn here() -> Host {
        Host
    }
}

/// A pool of what needs no pool.
#[derive(Debug, Default)]
pub struct TlsPool;

impl TlsPool {
    /// A pool.
    pub fn new() -> Self {
        TlsPool
    }

    /// There is always one.
    ///
    /// # Errors
    /// None.
    pub fn take(&mut self, _stack: &Stack) -> Result<TlsBlock, StackError> {
        Ok(TlsBlock)
    }

    /// As [`take`](Self::take), without a stack.
    pub fn take_early(&mut self) -> Option<TlsBlock> {
        Some(TlsBlock)
    }

    /// Never: none is made.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Its OS thread ends by itself.
    pub fn give(&mut self, _block: TlsBlock) {}

    /// As [`new`](Self::new).
    pub fn sharing(_shared: Arc<UsedBlocks>) -> Self {
        TlsPool
    }

    /// There is always one: of a new OS thread, on which nobody has left anything.
    ///
    /// # Errors
    /// None.
    pub fn take_as_is(&mut self, _stack: &Stack) -> Result<TlsBlock, StackError> {
        Ok(TlsBlock)
    }

    /// Its OS thread ends by itself.
    pub fn give_as_is(&mut self, _block: TlsBlock) {}

    /// Each has retired with its OS thread.
    pub fn take_retired(&mut self) -> Option<TlsBlock> {
        None
    }
}

/// What pools share: nothing.
#[derive(Debug, Default)]
pub struct UsedBlocks;

/// What a transfer gets, and ignores.
pub fn base() -> usize {
    1
}

/// As [`base`].
pub fn home_base() -> usize {
    base()
}

/// Nothing to begin: the OS thread is new, and the baton brought the word.
///
/// # Safety
/// None.
pub unsafe fn begin(_word: *mut ()) {}

/// As [`begin`].
///
/// # Safety
/// None.
pub unsafe fn begin_as_is(_word: *mut ()) {}

/// The OS thread runs its destructors when it ends.
///
/// # Safety
/// None.
pub unsafe fn end() {}

/// Nothing to return to.
///
/// # Safety
/// None.
pub unsafe fn return_to(_base: usize, _stack: Range<*mut u8>) {}

/// Nowhere to go.
///
/// # Safety
/// None.
pub unsafe fn go_over(_base: usize) {}

/// Nothing to leave.
///
/// # Safety
/// None.
pub unsafe fn make_way_for(_base: usize) {}

/// What an adaptor would do in place of the C library.
#[derive(Clone, Copy, Debug)]
pub struct ThreadEnds {
    /// `pthread_exit`.
    pub exit: unsafe extern "C-unwind" fn(*mut core::ffi::c_void) -> !,
    /// `pthread_cancel`.
    pub cancel: unsafe extern "C-unwind" fn(libc::pthread_t) -> core::ffi::c_int,
}

/// Nobody asks for it.
pub fn set_ends(_ends: ThreadEnds) {}

/// Not told apart.
pub fn pthread_self() -> usize {
    0
}

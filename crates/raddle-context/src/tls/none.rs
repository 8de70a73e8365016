//! Owns: the stand-in of builds that cannot give contexts storage of their own.
//! May use: `stack`, `libc`.
//! Never: a block.

use super::Unsupported;
use crate::stack::{Stack, StackError};
use core::ops::Range;
use std::convert::Infallible;
use std::sync::Arc;

/// Whether this machine can do it.
///
/// # Errors
/// Always: the C library is none of those whose internals are known.
pub fn supported() -> Result<(), Unsupported> {
    Err(Unsupported { missing: "this C library is not supported" })
}

/// Whether an OS thread is joined at that word: not known here.
pub fn is_number_of_thread(_address: usize, _peek: impl Fn(usize) -> Option<usize>) -> bool {
    false
}

/// A context's own storage; there is none here.
#[derive(Debug)]
pub struct TlsBlock(Infallible);

impl TlsBlock {
    /// What a transfer to its context loads.
    pub fn base(&self) -> usize {
        match self.0 {}
    }
}

impl TlsBlock {
    /// As [`TlsPool::take_early`], for whoever has no pool.
    pub fn take_from_depot() -> Option<TlsBlock> {
        None
    }

    /// None.
    pub fn make_ahead() {}

    /// For whoever has no pool.
    pub fn give_to_depot(self) {
        match self.0 {}
    }

    /// What `pthread_self` gives in its context is not known here.
    pub fn pthread(&self) -> usize {
        match self.0 {}
    }

    /// Nobody asks.
    pub fn note_memory(&self, _low: *mut u8, _bytes: usize) {
        match self.0 {}
    }

    /// Nobody asks.
    pub fn note_stack_if_none(&self, _stack: &Stack) {
        match self.0 {}
    }
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

/// An OS thread that may run contexts with storage of their own: here none does.
#[derive(Debug)]
pub struct Host;

impl Host {
    /// For the OS thread that calls.
    pub fn here() -> Host {
        Host
    }
}

/// A pool of blocks that is always empty.
#[derive(Debug, Default)]
pub struct TlsPool;

impl TlsPool {
    /// An empty pool.
    pub fn new() -> Self {
        TlsPool
    }

    /// There is never one.
    ///
    /// # Errors
    /// Always.
    pub fn take(&mut self, stack: &Stack) -> Result<TlsBlock, StackError> {
        Err(StackError::no_storage(stack.class()))
    }

    /// As [`take`](Self::take), without a stack.
    pub fn take_early(&mut self) -> Option<TlsBlock> {
        None
    }

    /// Always.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// Nobody has one to give.
    pub fn give(&mut self, block: TlsBlock) {
        match block.0 {}
    }

    /// As [`new`](Self::new).
    pub fn sharing(_shared: Arc<UsedBlocks>) -> Self {
        TlsPool
    }

    /// There is never one.
    ///
    /// # Errors
    /// Always.
    pub fn take_as_is(&mut self, stack: &Stack) -> Result<TlsBlock, StackError> {
        Err(StackError::no_storage(stack.class()))
    }

    /// Nobody has one to give.
    pub fn give_as_is(&mut self, block: TlsBlock) {
        match block.0 {}
    }

    /// There is never one.
    pub fn take_retired(&mut self) -> Option<TlsBlock> {
        None
    }
}

/// What pools share: nothing.
#[derive(Debug, Default)]
pub struct UsedBlocks;

/// All contexts of an OS thread share its storage.
pub fn base() -> usize {
    0
}

/// As [`base`].
pub fn home_base() -> usize {
    base()
}

/// Nothing to begin.
///
/// # Safety
/// None.
pub unsafe fn begin(_word: *mut ()) {}

/// Nothing to begin.
///
/// # Safety
/// None.
pub unsafe fn begin_as_is(_word: *mut ()) {}

/// Nothing to end.
///
/// # Safety
/// None.
pub unsafe fn end() {}

/// Nowhere to return to.
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

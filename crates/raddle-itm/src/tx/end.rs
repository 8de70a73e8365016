//! Owns: how a transaction ends: by a commit, by a cancellation, or in vain, to begin anew.
//! May use: `abi`, `begin`, `turns`, `tx`, `libc`.
//! Never: a read or a write of the program's.
//!
//! It holds `unsafe` for the jump to where the transaction began.

use super::{Mode, Tx, current, fail, own};
use crate::abi::{action, reason};
use crate::begin::{Caller, resume};
use crate::turns::{self, CLOCK};
use std::ffi::c_void;
use std::mem::take;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_commitTransaction() {
    current().commit(null_mut());
}

/// As above, with an exception on its way out.
#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_commitTransactionEH(thrown: *mut c_void) {
    current().commit(thrown);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_abortTransaction(why: u32) {
    if why & reason::CANCEL == 0 {
        fail("a transaction is given up for a reason that is not known");
    }
    current().cancel(why & reason::OUTERMOST != 0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_changeTransactionMode(_irrevocable: u32) {
    super::go_irrevocable();
}

impl Tx {
    #[inline(always)]
    fn commit(&mut self, thrown: *mut c_void) {
        if self.depth > 1 {
            return self.commit_inside();
        }
        match self.mode {
            Mode::Speculative if self.written.is_empty() => {}
            Mode::Speculative => {
                turns::let_go_first();
                while !CLOCK.lock(self.moment) {
                    match self.later() {
                        Some(moment) => self.moment = moment,
                        None => self.restart(thrown),
                    }
                }
                self.written.store();
                CLOCK.unlock(self.moment);
            }
            Mode::Alone => {
                self.written.store();
                turns::end(self.moment);
            }
            Mode::Irrevocable => turns::end(self.moment),
            Mode::Outside => fail("a transaction ends that has not begun"),
        }
        self.clear();
        if !(self.blocks.is_empty() && self.actions.is_empty() && self.exceptions.is_empty()) {
            self.committed();
        }
    }

    #[cold]
    fn commit_inside(&mut self) {
        self.depth -= 1;
        if self.checkpoints.last().is_none_or(|checkpoint| checkpoint.depth != self.depth) {
            return;
        }
        let checkpoint = self.checkpoints.pop().expect("looked at above");
        if checkpoint.mode == Mode::Irrevocable {
            // What goes on cannot be undone, and has the clock.
            self.written.store();
            self.written.clear();
            self.mode = Mode::Irrevocable;
        }
    }

    /// Nothing is left of it, but what is for afterwards.
    #[inline(always)]
    fn clear(&mut self) {
        self.mode = Mode::Outside;
        self.depth = 0;
        self.number = 0;
        self.written.clear();
        self.read.clear();
        self.locals.clear();
        self.captured.clear();
    }

    /// What is for afterwards. It may begin transactions.
    #[cold]
    fn committed(&mut self) {
        self.exceptions.clear();
        let (blocks, actions) = (take(&mut self.blocks), take(&mut self.actions));
        blocks.commit();
        actions.commit();
    }

    /// Rolls back to where the innermost transaction began that can be cancelled, or to the outermost's.
    #[cold]
    fn cancel(&mut self, outermost: bool) -> ! {
        let checkpoint = if outermost { None } else { self.checkpoints.pop() };
        let Some(checkpoint) = checkpoint else {
            if self.mode == Mode::Irrevocable {
                fail("a transaction that cannot be undone is cancelled");
            }
            self.roll_back(null_mut());
            self.leave(action::ABORTED)
        };
        let gone = own::stack_pointer()..checkpoint.caller.stack;
        self.actions.undo(checkpoint.actions);
        // SAFETY: the frames above the transaction's beginning are there.
        unsafe { self.locals.put_back(checkpoint.locals, &gone) };
        self.blocks.undo(checkpoint.blocks);
        self.exceptions.undo(checkpoint.exceptions, null_mut());
        self.captured.truncate(checkpoint.captured);
        self.written = checkpoint.written;
        self.mode = checkpoint.mode;
        self.depth = checkpoint.depth;
        jump(checkpoint.caller, action::ABORTED | action::RESTORE)
    }

    /// It was in vain, and begins anew. So does an exception that was on its way out.
    #[cold]
    pub(super) fn restart(&mut self, thrown: *mut c_void) -> ! {
        self.roll_back(thrown);
        self.failures += 1;
        for _ in 0..8_u32 << self.failures.min(6) {
            std::hint::spin_loop();
        }
        let action = self.attempt();
        self.leave(action)
    }

    fn roll_back(&mut self, thrown: *mut c_void) {
        self.actions.undo((0, 0));
        let gone = own::stack_pointer()..self.caller.stack;
        // SAFETY: the frames above the transaction's beginning are there.
        unsafe { self.locals.put_back(0, &gone) };
        self.blocks.undo((0, 0));
        self.exceptions.undo((0, 0), thrown);
        self.checkpoints.clear();
        if self.mode == Mode::Alone {
            turns::end(self.moment);
        }
        self.clear();
    }

    /// Goes to where it began.
    fn leave(&mut self, action: u32) -> ! {
        jump(self.caller, action | action::RESTORE)
    }
}

fn jump(caller: Caller, action: u32) -> ! {
    // SAFETY: the transaction's beginning is a frame above, and those between have nothing to drop: code that the compiler
    // made for a transaction knows that it may end at each call, and what is ours has dropped what it had.
    unsafe { resume(&raw const caller, action) }
}

/// Where the clock was when the process was forked: by whom it forks.
static FORKED_AT: AtomicU64 = AtomicU64::new(0);

/// A child of `fork` has a clock that nobody has locked who is not there.
pub(super) fn prepare() {
    // SAFETY: functions of this type, which take no lock but the clock.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
}

/// Whether the forking thread has the clock anyway.
fn has_clock() -> bool {
    matches!(super::mode(), Mode::Alone | Mode::Irrevocable)
}

unsafe extern "C" fn before_fork() {
    if !has_clock() {
        FORKED_AT.store(turns::take(), Ordering::Relaxed);
    }
}

unsafe extern "C" fn after_fork() {
    if !has_clock() {
        turns::end(FORKED_AT.load(Ordering::Relaxed));
    }
}

unsafe extern "C" fn in_child() {
    // SAFETY: as in the parent.
    unsafe { after_fork() };
    turns::forget_others(has_clock());
}

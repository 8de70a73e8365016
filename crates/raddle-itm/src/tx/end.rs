//! Owns: how a transaction ends: by a commit, by a cancellation, or in vain, to begin anew.
//! May use: `abi`, `blocks`, `jump`, `turns`, `libc`.
//! Never: a read or a write of the program's.
//!
//! It holds `unsafe` for the jump to where the transaction began.

use super::{Checkpoint, Conflict, Mode, Tx, current, fail, own};
use crate::abi::{action, reason};
use crate::blocks::HeapBlock;
use crate::jump::{BeginCaller, resume};
use crate::turns::{self, CLOCK};
use std::ffi::c_void;
use std::mem::take;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_commitTransaction() {
    commit(null_mut());
}

/// As above, with an exception on its way out.
#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_commitTransactionEH(thrown: *mut c_void) {
    commit(thrown);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_abortTransaction(why: u32) {
    if why & reason::CANCEL == 0 {
        fail("a transaction is given up for a reason that is not known");
    }
    cancel(why & reason::OUTERMOST != 0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_changeTransactionMode(_irrevocable: u32) {
    super::go_irrevocable();
}

#[inline(always)]
fn commit(thrown: *mut c_void) {
    match current().commit() {
        Ok(Afterwards::Nothing) => {}
        Ok(Afterwards::Something) => committed(),
        Err(Conflict) => restart(thrown),
    }
}

/// What there is to do when a transaction has committed.
enum Afterwards {
    Nothing,
    Something,
}

impl Tx {
    #[inline(always)]
    fn commit(&mut self) -> Result<Afterwards, Conflict> {
        if self.depth > 1 {
            self.commit_inside();
            return Ok(Afterwards::Nothing);
        }
        match self.mode {
            Mode::Speculative if self.written.is_empty() => {}
            Mode::Speculative => {
                turns::let_go_first();
                while !CLOCK.lock(self.moment) {
                    self.go_on_later()?;
                    if self.mode == Mode::Alone {
                        break;
                    }
                }
                self.written.store();
                if self.mode == Mode::Alone { turns::end(self.moment) } else { CLOCK.unlock(self.moment) }
            }
            Mode::Alone => {
                self.written.store();
                turns::end(self.moment);
            }
            Mode::Irrevocable => turns::end(self.moment),
            Mode::Outside => fail("a transaction ends that has not begun"),
        }
        self.clear();
        let is_all = self.blocks.is_empty() && self.actions.is_empty() && self.exceptions.is_empty();
        Ok(if is_all { Afterwards::Nothing } else { Afterwards::Something })
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
        self.is_fork = false;
        self.written.clear();
        self.read.clear();
        self.locals.clear();
        self.captured.clear();
    }
}

/// What is for afterwards. It is code of the program's, which may begin transactions.
#[cold]
fn committed() {
    let (blocks, actions, exceptions) = {
        let tx = current();
        (take(&mut tx.blocks), take(&mut tx.actions), take(&mut tx.exceptions))
    };
    exceptions.commit();
    blocks.commit();
    actions.commit();
}

/// Rolls back to where the innermost transaction began that can be cancelled, or to the outermost's.
#[cold]
fn cancel(outermost: bool) -> ! {
    let checkpoint = if outermost { None } else { current().checkpoints.pop() };
    let Some(checkpoint) = checkpoint else {
        if super::mode() == Mode::Irrevocable {
            fail("a transaction that cannot be undone is cancelled");
        }
        roll_back(null_mut());
        jump(current().caller, action::ABORTED);
    };
    undo(&checkpoint, null_mut());
    let tx = current();
    tx.written = checkpoint.written;
    tx.mode = checkpoint.mode;
    tx.depth = checkpoint.depth;
    jump(checkpoint.caller, action::ABORTED)
}

/// It was in vain, and begins anew. So does an exception that was on its way out.
#[cold]
pub(super) fn restart(thrown: *mut c_void) -> ! {
    roll_back(thrown);
    let tx = current();
    tx.failures += 1;
    for _ in 0..8_u32 << tx.failures.min(6) {
        std::hint::spin_loop();
    }
    let action = tx.attempt();
    jump(tx.caller, action)
}

fn roll_back(thrown: *mut c_void) {
    let beginning = Checkpoint { caller: current().caller, ..Checkpoint::default() };
    undo(&beginning, thrown);
    let tx = current();
    tx.exceptions.count_anew();
    tx.checkpoints.clear();
    if tx.mode == Mode::Alone {
        turns::end(tx.moment);
    }
    tx.clear();
}

/// What was done since `checkpoint` was not so, but for what was written. Some of it is code of the program's, or of
/// libraries, which may ask about the transaction.
fn undo(checkpoint: &Checkpoint, thrown: *mut c_void) {
    while let Some(undone) = current().actions.undone(checkpoint.actions) {
        undone.call();
    }
    // SAFETY: the frames above the transaction's beginning are there.
    unsafe { current().locals.put_back(checkpoint.locals, checkpoint.caller.stack) };
    current().captured.truncate(checkpoint.captured);
    let blocks = current().blocks.undone(checkpoint.blocks);
    blocks.into_iter().for_each(HeapBlock::free);
    let exceptions = current().exceptions.undone(checkpoint.exceptions);
    exceptions.clean_up(thrown);
}

fn jump(caller: BeginCaller, action: u32) -> ! {
    // SAFETY: the transaction's beginning is a frame above, and those between have nothing to drop: code that the
    // compiler made for a transaction knows that it may end at each call, and what is ours has dropped what it had.
    unsafe { resume(&raw const caller, action | action::RESTORE) }
}

/// How a process that is being forked has the clock. Whoever forks has it.
static FORK: AtomicU8 = AtomicU8::new(0);
static FORKED_AT: AtomicU64 = AtomicU64::new(0);

/// By its transaction.
const ANYWAY: u8 = 0;
/// By a transaction of its own, of which those are parts that others' handlers of a fork run.
const BY_FORK: u8 = 1;
/// Since a moment, for a transaction that has not committed.
const WITHIN: u8 = 2;

/// A child of `fork` has a clock that nobody has locked who is not there. For who forks without [`fork`]: `daemon`,
/// `forkpty`.
pub(super) fn prepare() {
    // SAFETY: functions of this type, which take no lock but the clock.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
}

/// As the C library's, and has the clock before any handler of a fork has taken a lock.
///
/// Who waits for the clock lets others run, and one of them may need such a lock, those of the scheduler among them:
/// with the handlers alone, of which this library's come last, a program hung whose threads were in transactions.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> libc::pid_t {
    type Fork = unsafe extern "C" fn() -> libc::pid_t;
    // SAFETY: a name.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"fork".as_ptr()) };
    if next.is_null() {
        fail("the C library has no `fork`");
    }
    // SAFETY: it is a function of this type.
    let next = unsafe { std::mem::transmute::<*mut c_void, Fork>(next) };
    // SAFETY: the other half follows, here and in the child.
    unsafe { before_fork() };
    // SAFETY: the caller's call.
    let child = unsafe { next() };
    let refused = std::io::Error::last_os_error().raw_os_error();
    after_fork(child == 0);
    if let Some(refused) = refused.filter(|_| child < 0) {
        // SAFETY: it has no arguments.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: this thread's word.
        unsafe { *errno = refused };
    }
    child
}

unsafe extern "C" fn before_fork() {
    let tx = own::get().unwrap_or_else(own::make);
    tx.forks += 1;
    if tx.forks > 1 {
        return;
    }
    let how = match tx.mode {
        Mode::Alone | Mode::Irrevocable => ANYWAY,
        Mode::Speculative => {
            FORKED_AT.store(turns::take(), Ordering::Relaxed);
            WITHIN
        }
        Mode::Outside => {
            tx.moment = turns::take();
            tx.mode = Mode::Irrevocable;
            tx.depth = 1;
            tx.is_fork = true;
            BY_FORK
        }
    };
    FORK.store(how, Ordering::Relaxed);
}

fn after_fork(is_child: bool) {
    let tx = current();
    tx.forks -= 1;
    if tx.forks > 0 {
        return;
    }
    let how = FORK.load(Ordering::Relaxed);
    let afterwards = match how {
        BY_FORK => current().commit().unwrap_or(Afterwards::Nothing),
        WITHIN => {
            turns::end(FORKED_AT.load(Ordering::Relaxed));
            Afterwards::Nothing
        }
        _ => Afterwards::Nothing,
    };
    if is_child {
        turns::forget_others(how == ANYWAY);
    }
    if matches!(afterwards, Afterwards::Something) {
        committed();
    }
}

unsafe extern "C" fn in_parent() {
    after_fork(false);
}

unsafe extern "C" fn in_child() {
    after_fork(true);
}

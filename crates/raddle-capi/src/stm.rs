//! Owns: `raddle_var_t` and `raddle_stm_t`: transactions on words and on blocks of bytes.
//! May use: `call`, `fault`, `handle`, `time`, `raddle`, `raddle-core`.
//! Never: a commit of what a body has done that has returned another code than `RADDLE_OK`.
//!
//! Where a transaction is to be run again, Rust passes an error up by `?`. C passes up the code `RADDLE_EAGAIN`; and a
//! body that returns something else all the same is run again, since the transaction itself remembers what it has said.

use crate::call::{CCall, Word};
use crate::fault::{CResult, Fault, entry, entry_of_code};
use crate::handle::{Handle, InFrame, Object, bytes, end, expect, get, make, put, put_if, room};
use crate::time::deadline;
use raddle::stm::{Algorithm, Expired, Stop, StopOr, TVar, Tx, abort, atomically_or_err, atomically_until};
use raddle_core::door::futex::Owner;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// `raddle_var_t`.
enum VarObject {
    Word(TVar<usize>),
    Block(TVar<Box<[u8]>>),
}

impl Object for VarObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlvar");
}

impl VarObject {
    fn word(&self) -> CResult<&TVar<usize>> {
        if let VarObject::Word(variable) = self { Ok(variable) } else { Err(Fault::Unsupported) }
    }

    fn block(&self) -> CResult<&TVar<Box<[u8]>>> {
        if let VarObject::Block(variable) = self { Ok(variable) } else { Err(Fault::Unsupported) }
    }
}

/// `raddle_stm_t`: one attempt, in the frame of the one who runs it.
pub(crate) struct Attempt {
    /// Null but in a body that may use it.
    tx: AtomicPtr<Tx<'static>>,
    owner: Owner,
    has_read: AtomicBool,
    /// It runs once for certain: it does not retry.
    is_once: AtomicBool,
}

impl Object for Attempt {
    const TAG: u64 = u64::from_le_bytes(*b"raddlstm");
}

/// `raddle_stm_body`.
type StmFn = unsafe extern "C-unwind" fn(*const Handle<Attempt>, *mut c_void) -> c_int;
pub(crate) type StmBody = Option<StmFn>;

/// A body with its argument.
#[derive(Clone, Copy)]
pub(crate) struct CTransaction {
    body: StmFn,
    argument: Word,
}

impl CTransaction {
    pub(crate) fn new(body: StmBody, argument: *mut c_void) -> CResult<CTransaction> {
        Ok(CTransaction { body: body.ok_or(Fault::Invalid)?, argument: Word(argument) })
    }

    /// One attempt of all of it.
    pub(crate) fn attempt(self, tx: &mut Tx<'_>) -> Result<(), StopOr<c_int>> {
        let (tx_place, has_read) = (AtomicPtr::new(null_mut()), AtomicBool::new(false));
        let (owner, is_once) = (Owner::nobody(), AtomicBool::new(false));
        let attempt = InFrame::new(Attempt { tx: tx_place, owner, has_read, is_once });
        attempt.object().owner.set();
        self.part(attempt.object(), attempt.handle(), tx)
    }

    /// One attempt of what may be a part of a transaction.
    fn part(
        self,
        attempt: &Attempt,
        handle: *const Handle<Attempt>,
        tx: &mut Tx<'_>,
    ) -> Result<(), StopOr<c_int>> {
        let lent = std::ptr::from_mut(tx).cast::<Tx<'static>>();
        // Relaxed, here and below: only the caller looks at it.
        let outer = attempt.tx.swap(lent, Ordering::Relaxed);
        // SAFETY: the interface asks for a function that may be called so, as often as others are faster.
        let code = unsafe { (self.body)(handle, self.argument.0) };
        attempt.tx.store(outer, Ordering::Relaxed);
        if code == 0 {
            return Ok(());
        }
        if Fault::Again.is(code) {
            return match attempt.may_retry() {
                Ok(()) => tx.retry().map_err(Stop::into),
                Err(fault) => abort(fault.code()),
            };
        }
        abort(code)
    }

    /// An attempt whose error is a result: where there is a deadline, or a task.
    pub(crate) fn nested(self, tx: &mut Tx<'_>) -> Result<c_int, Stop> {
        Ok(tx.nested(|tx| self.attempt(tx))?.err().unwrap_or(0))
    }
}

#[cold]
fn nothing_read() -> Fault {
    Fault::Invalid.told("a transaction retries and has read nothing: no change could end its wait")
}

#[cold]
fn once_for_certain() -> Fault {
    Fault::Invalid.told("an irrevocable transaction retries: look for what it waits for before")
}

impl Attempt {
    fn may_retry(&self) -> CResult<()> {
        match () {
            () if self.is_once.load(Ordering::Relaxed) => Err(once_for_certain()),
            () if !self.has_read.load(Ordering::Relaxed) => Err(nothing_read()),
            () => Ok(()),
        }
    }

    /// Uses the transaction, which nobody else does meanwhile.
    fn with<R>(&self, f: impl FnOnce(&mut Tx<'static>) -> R) -> CResult<R> {
        if !self.owner.is_caller() {
            return Err(Fault::Permission);
        }
        let lent = self.tx.swap(null_mut(), Ordering::Relaxed);
        // SAFETY: null, or what `part` has lent, in whose body the caller is: and nobody has it but this call.
        let tx = unsafe { lent.as_mut() }.ok_or(Fault::Permission)?;
        let _given_back = GivesBack(self, lent);
        Ok(f(tx))
    }
}

/// The transaction may be used again when it goes.
struct GivesBack<'a>(&'a Attempt, *mut Tx<'static>);

impl Drop for GivesBack<'_> {
    fn drop(&mut self) {
        self.0.tx.store(self.1, Ordering::Relaxed);
    }
}

/// What a body is told that must be run again.
fn again(_stop: Stop) -> Fault {
    Fault::Again
}

#[unsafe(no_mangle)]
extern "C" fn raddle_var_create(word: usize, out: *mut *mut Handle<VarObject>) -> c_int {
    entry(|| make(out, VarObject::Word(TVar::new(word))))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_var_create_block(
    data: *const u8,
    size: usize,
    out: *mut *mut Handle<VarObject>,
) -> c_int {
    entry(|| make(out, VarObject::Block(TVar::new(bytes(data, size)?.into()))))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_var_destroy(variable: *mut Handle<VarObject>) -> c_int {
    entry(|| end(variable).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_var_load(variable: *const Handle<VarObject>, out: *mut usize) -> c_int {
    entry(|| put(out, get(variable)?.word()?.load()))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_var_store(variable: *const Handle<VarObject>, word: usize) -> c_int {
    entry(|| {
        get(variable)?.word()?.store(word);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_atomically(body: StmBody, argument: *mut c_void) -> c_int {
    entry_of_code(|| {
        let body = CTransaction::new(body, argument)?;
        Ok(atomically_or_err(|tx| body.attempt(tx)).err().unwrap_or(0))
    })
}

/// `enum raddle_algorithm`, by its numbers.
const ALGORITHMS: [Algorithm; 3] = [Algorithm::Versioned, Algorithm::Norec, Algorithm::Pessimistic];

#[unsafe(no_mangle)]
extern "C" fn raddle_atomically_by(algorithm: c_int, body: StmBody, argument: *mut c_void) -> c_int {
    entry_of_code(|| {
        let by = usize::try_from(algorithm).ok().and_then(|at| ALGORITHMS.get(at)).ok_or(Fault::Invalid)?;
        let body = CTransaction::new(body, argument)?;
        Ok(by.atomically_or_err(|tx| body.attempt(tx)).err().unwrap_or(0))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_atomically_for(timeout_ns: i64, body: StmBody, argument: *mut c_void) -> c_int {
    let Some(deadline) = deadline(timeout_ns) else { return raddle_atomically(body, argument) };
    entry_of_code(|| {
        let body = CTransaction::new(body, argument)?;
        atomically_until(deadline, |tx| body.nested(tx)).map_err(|Expired { .. }| Fault::TimedOut)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_read(
    stm: *const Handle<Attempt>,
    variable: *const Handle<VarObject>,
    out: *mut usize,
) -> c_int {
    entry(|| {
        let (attempt, variable) = (get(stm)?, get(variable)?.word()?);
        expect(out)?;
        attempt.has_read.store(true, Ordering::Relaxed);
        put(out, attempt.with(|tx| tx.read(variable))?.map_err(again)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_write(
    stm: *const Handle<Attempt>,
    variable: *const Handle<VarObject>,
    word: usize,
) -> c_int {
    entry(|| {
        let (attempt, variable) = (get(stm)?, get(variable)?.word()?);
        attempt.with(|tx| tx.write(variable, word))?.map_err(again)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_read_block(
    stm: *const Handle<Attempt>,
    variable: *const Handle<VarObject>,
    data: *mut u8,
    capacity: usize,
    size: *mut usize,
) -> c_int {
    entry(|| {
        let (attempt, variable) = (get(stm)?, get(variable)?.block()?);
        let room = room(data, capacity)?;
        attempt.has_read.store(true, Ordering::Relaxed);
        let copied = attempt.with(|tx| {
            tx.with(variable, |block| {
                let common = block.len().min(room.len());
                room[..common].copy_from_slice(&block[..common]);
                block.len()
            })
        })?;
        put_if(size, copied.map_err(again)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_write_block(
    stm: *const Handle<Attempt>,
    variable: *const Handle<VarObject>,
    data: *const u8,
    size: usize,
) -> c_int {
    entry(|| {
        let (attempt, variable) = (get(stm)?, get(variable)?.block()?);
        let block: Box<[u8]> = bytes(data, size)?.into();
        attempt.with(|tx| tx.write(variable, block))?.map_err(again)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_retry(stm: *const Handle<Attempt>) -> c_int {
    entry(|| {
        let attempt = get(stm)?;
        attempt.may_retry()?;
        attempt.with(Tx::retry)?.map_err(again)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_irrevocable(stm: *const Handle<Attempt>) -> c_int {
    entry(|| {
        let attempt = get(stm)?;
        attempt.with(Tx::irrevocable)?.map_err(again)?;
        attempt.is_once.store(true, Ordering::Relaxed);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_or_else(
    stm: *const Handle<Attempt>,
    first: StmBody,
    first_argument: *mut c_void,
    second: StmBody,
    second_argument: *mut c_void,
) -> c_int {
    entry_of_code(|| {
        let attempt = get(stm)?;
        let first = CTransaction::new(first, first_argument)?;
        let second = CTransaction::new(second, second_argument)?;
        let part = |body: CTransaction| move |tx: &mut Tx<'static>| body.part(attempt, stm, tx);
        of_part(attempt.with(|tx| tx.or_else(part(first), part(second)))?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_nested(stm: *const Handle<Attempt>, body: StmBody, argument: *mut c_void) -> c_int {
    entry_of_code(|| {
        let attempt = get(stm)?;
        let body = CTransaction::new(body, argument)?;
        let done = attempt.with(|tx| tx.nested(|tx| body.part(attempt, stm, tx)))?;
        Ok(done.map_err(again)?.err().unwrap_or(0))
    })
}

/// What the body of the whole is told of a part: its code, if that was rolled back alone.
fn of_part(done: Result<(), StopOr<c_int>>) -> CResult<c_int> {
    match done {
        Ok(()) => Ok(0),
        Err(StopOr::Stop(stop)) => Err(again(stop)),
        Err(StopOr::Abort(code)) => Ok(code),
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_on_commit(
    stm: *const Handle<Attempt>,
    function: crate::call::Start,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        get(stm)?.with(|tx| tx.on_commit(move || drop_word(call.run())))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_stm_on_abort(
    stm: *const Handle<Attempt>,
    function: crate::call::Start,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        get(stm)?.with(|tx| tx.on_abort(move || drop_word(call.run())))
    })
}

/// Nobody asks what a hook has returned.
fn drop_word(_unwanted: Word) {}

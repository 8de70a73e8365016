//! Owns: forks, parallel calls and loops, scopes.
//! May use: `call`, `fault`, `handle`, `raddle`, `raddle-core`.
//! Never: a fork that a cancelled caller leaves behind, whose argument may be the caller's: no join here is cancelled.

use crate::call::{CCall, Start, Word};
use crate::fault::{CResult, Fault, entry, entry_of_code};
use crate::handle::{Handle, InFrame, Object, get, put, put_if};
use raddle::Fork;
use raddle::cancel::{self, CancelScope};
use raddle_core::door::futex::Owner;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `raddle_fork_t *`: the word that is a fork's handle.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct ForkWord(*mut ());

impl ForkWord {
    #[inline(always)]
    fn take(self) -> CResult<Fork<Word>> {
        if self.0.is_null() {
            return Err(Fault::Invalid);
        }
        // SAFETY: the interface asks for a fork that was neither joined nor dropped.
        Ok(unsafe { Fork::from_raw(self.0) })
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fork(out: *mut ForkWord, function: Start, argument: *mut c_void) -> c_int {
    entry(|| {
        crate::handle::expect(out)?;
        let call = CCall::new(function, argument)?;
        put(out, ForkWord(raddle::fork(move || call.run()).into_raw()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fork_join(fork: ForkWord, result: *mut Word) -> c_int {
    entry(|| {
        put_if(result, fork.take()?.join());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fork_drop(fork: ForkWord) -> c_int {
    entry(|| fork.take().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_both(
    first: Start,
    first_argument: *mut c_void,
    second: Start,
    second_argument: *mut c_void,
) -> c_int {
    entry(|| {
        let (first, second) = (CCall::new(first, first_argument)?, CCall::new(second, second_argument)?);
        raddle::join(move || first.run(), move || second.run());
        Ok(())
    })
}

/// `raddle_turn`.
type TurnFn = Option<unsafe extern "C-unwind" fn(usize, *mut c_void)>;

#[unsafe(no_mangle)]
extern "C" fn raddle_for(begin: usize, end: usize, turn: TurnFn, argument: *mut c_void) -> c_int {
    entry(|| {
        let turn = turn.ok_or(Fault::Invalid)?;
        let argument = Word(argument);
        raddle::par_for(begin..end, |number| {
            let argument = &argument;
            // SAFETY: the interface asks for a function that may be called so, anywhere, several at a time.
            unsafe { turn(number, argument.0) }
        });
        Ok(())
    })
}

/// `raddle_scope_t`: lies in the frame of the one who opened it, until all that was spawned has ended: those it tells
/// that they may not use it.
struct ScopeObject {
    /// Null but in the body.
    scope: AtomicPtr<CancelScope<'static, 'static>>,
    owner: Owner,
}

impl Object for ScopeObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlscp");
}

impl ScopeObject {
    fn open(&self, scope: *mut CancelScope<'static, 'static>) {
        self.owner.set();
        // Relaxed: only the caller goes on to look at it.
        self.scope.store(scope, Ordering::Relaxed);
    }

    fn close(&self) {
        self.owner.clear();
        // Relaxed: as above.
        self.scope.store(null_mut(), Ordering::Relaxed);
    }

    fn get(&self) -> CResult<&CancelScope<'static, 'static>> {
        if !self.owner.is_caller() {
            return Err(Fault::Permission);
        }
        // Relaxed: the caller has written it.
        // SAFETY: null, or the one who opened the scope runs here, in the body: so the scope is open.
        unsafe { self.scope.load(Ordering::Relaxed).as_ref() }.ok_or(Fault::Permission)
    }
}

/// `raddle_scope_body`.
type ScopeBody = Option<unsafe extern "C-unwind" fn(*const Handle<ScopeObject>, *mut c_void) -> c_int>;

#[unsafe(no_mangle)]
extern "C" fn raddle_scope(body: ScopeBody, argument: *mut c_void) -> c_int {
    entry_of_code(|| {
        let body = body.ok_or(Fault::Invalid)?;
        let object = ScopeObject { scope: AtomicPtr::new(null_mut()), owner: Owner::nobody() };
        let kept = InFrame::new(object);
        Ok(cancel::scope(|scope| {
            let scope = std::ptr::from_ref(scope).cast::<CancelScope<'static, 'static>>();
            kept.object().open(scope.cast_mut());
            // SAFETY: the interface asks for a function that may be called so.
            let code = unsafe { body(kept.handle(), argument) };
            kept.object().close();
            code
        }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_scope_spawn(
    scope: *const Handle<ScopeObject>,
    function: Start,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        let scope = get(scope)?.get()?;
        let spawned = scope.spawn_by(raddle::csp::Builder::new(), move || call.run());
        spawned.map(drop).map_err(|error| Fault::of_start(&error))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_scope_cancel(scope: *const Handle<ScopeObject>) -> c_int {
    entry(|| {
        get(scope)?.get()?.cancel();
        Ok(())
    })
}

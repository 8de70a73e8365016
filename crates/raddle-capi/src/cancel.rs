//! Owns: tokens, and calls in a region of one, with a deadline, or shielded.
//! May use: `call`, `fault`, `handle`, `time`, `raddle`.
//! Never: a cancellation that unwinds a frame of the program's: its function is told by a code.

use crate::call::{BodyFn, CBodyCall};
use crate::fault::{CResult, Fault, entry, entry_of_code};
use crate::handle::{Handle, Object, end, get, make, put};
use crate::time::{deadline, span};
use raddle::cancel::{self, Cancelled, Token};
use std::ffi::{c_int, c_void};

/// `raddle_token_t`.
pub(crate) struct TokenObject(pub(crate) Token);

impl Object for TokenObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddltok");
}

#[unsafe(no_mangle)]
extern "C" fn raddle_token_create(out: *mut *mut Handle<TokenObject>) -> c_int {
    entry(|| make(out, TokenObject(Token::new())))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_token_child(
    token: *const Handle<TokenObject>,
    out: *mut *mut Handle<TokenObject>,
) -> c_int {
    entry(|| make(out, TokenObject(get(token)?.0.child())))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_token_destroy(token: *mut Handle<TokenObject>) -> c_int {
    entry(|| end(token).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_token_cancel(token: *const Handle<TokenObject>) -> c_int {
    entry(|| {
        get(token)?.0.cancel();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_token_is_cancelled(token: *const Handle<TokenObject>, out: *mut c_int) -> c_int {
    entry(|| put(out, get(token)?.0.is_cancelled().into()))
}

/// What the function has returned, if it has run.
fn code(ran: Result<c_int, Cancelled>) -> CResult<c_int> {
    ran.map_err(|_| Fault::Cancelled)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_token_run(
    token: *const Handle<TokenObject>,
    function: BodyFn,
    argument: *mut c_void,
) -> c_int {
    entry_of_code(|| {
        let body = CBodyCall::new(function, argument)?;
        // The program may destroy the token meanwhile.
        let token = get(token)?.0.clone();
        code(token.run(|| body.run()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_within(timeout_ns: i64, function: BodyFn, argument: *mut c_void) -> c_int {
    entry_of_code(|| {
        let body = CBodyCall::new(function, argument)?;
        match deadline(timeout_ns) {
            Some(deadline) => code(cancel::until(deadline, || body.run())),
            None if span(timeout_ns).is_some() => Err(Fault::Invalid),
            None => Ok(body.run()),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_shield(function: BodyFn, argument: *mut c_void) -> c_int {
    entry_of_code(|| {
        let body = CBodyCall::new(function, argument)?;
        Ok(cancel::shield(|| body.run()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_check() -> c_int {
    entry(|| if cancel::is_cancelled() { Err(Fault::Cancelled) } else { Ok(()) })
}

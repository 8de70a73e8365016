//! Owns: `raddle_once_t`, what is done once: it lies in the program's memory, and begins as zeros.
//! May use: `call`, `fault`, `handle`, `raddle-core`.
//! Never: memory for it; a call in vain that counts.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | nothing was done, or in vain |
//! | 1 | somebody is at it |
//! | 2 | the same, and somebody may wait |
//! | 3 | it is done |

use crate::call::{BodyFn, CBodyCall};
use crate::fault::{CResult, Fault, entry_of_code};
use raddle_core::door::futex::{self, Owner, WaitOptions};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

const NEW: u32 = 0;
const UNDER_WAY: u32 = 1;
const WAITED_FOR: u32 = 2;
const DONE: u32 = 3;

/// `raddle_once_t`.
#[repr(C)]
struct OnceObject {
    word: AtomicU32,
    owner: Owner,
}

/// The right to say what has come of it. Dropped, nothing has.
struct AtIt<'o>(&'o OnceObject, u32);

impl Drop for AtIt<'_> {
    fn drop(&mut self) {
        self.0.owner.clear();
        // Release pairs with the acquires in `run`: whoever finds it done sees what was done, and who tries anew what
        // was begun.
        if self.0.word.swap(self.1, Ordering::Release) == WAITED_FOR {
            futex::wake(&raw const self.0.word, u32::MAX, futex::ANY);
        }
    }
}

impl OnceObject {
    fn run(&self, body: CBodyCall) -> CResult<c_int> {
        loop {
            // Acquire pairs with the release at the end of the call that has done it.
            let seen = self.word.load(Ordering::Acquire);
            // Acquire pairs with the release of a call in vain.
            let to = |to| self.word.compare_exchange(seen, to, Ordering::Acquire, Ordering::Relaxed).is_ok();
            match seen {
                DONE => return Ok(0),
                NEW if to(UNDER_WAY) => {
                    self.owner.set();
                    let mut at_it = AtIt(self, NEW);
                    let code = body.run();
                    if code == 0 {
                        at_it.1 = DONE;
                    }
                    return Ok(code);
                }
                UNDER_WAY | WAITED_FOR if self.owner.is_caller() => return Err(Fault::Deadlock),
                WAITED_FOR => {
                    let options = WaitOptions { owner: Some(&self.owner), ..WaitOptions::default() };
                    futex::wait(&self.word, WAITED_FOR, &options);
                }
                UNDER_WAY => {
                    let _marked = to(WAITED_FOR);
                }
                NEW => {}
                _ => return Err(Fault::Invalid),
            }
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_once(once: *const OnceObject, function: BodyFn, argument: *mut c_void) -> c_int {
    entry_of_code(|| {
        let body = CBodyCall::new(function, argument)?;
        crate::handle::expect(once.cast_mut())?;
        // SAFETY: the interface asks for a `raddle_once_t` that began as zeros and stays.
        unsafe { &*once }.run(body)
    })
}

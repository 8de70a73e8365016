//! Owns: `pthread_once`.
//! May use: `thread::told`, `thread::wait`.
//! Never: a second call of a routine that has returned.
//!
//! 0 is new, 2 done, as the C library has it; 1 under way, 3 under way and waited for. A routine that ends by an
//! exception or a cancellation has not been called.

use crate::thread::told::{self, ToldWait};
use crate::thread::wait;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

const NEW: u32 = 0;
const RUNS: u32 = 1;
const DONE: u32 = 2;
const WANTED: u32 = 3;

type Routine = unsafe extern "C-unwind" fn();

/// Says how the routine has ended: unless it is told otherwise, by unwinding.
struct Ends<'w>(&'w AtomicU32, u32);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        // pairs with the acquires in `pthread_once`
        if self.0.swap(self.1, Ordering::Release) == WANTED {
            wait::wake(&raw const *self.0, u32::MAX);
        }
    }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_once(once: &AtomicU32, routine: Routine) -> c_int {
    loop {
        // pairs with the release in `Ends::drop`
        match once.compare_exchange(NEW, RUNS, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                let mut ends = Ends(once, NEW);
                // SAFETY: the program's.
                unsafe { routine() };
                ends.1 = DONE;
                return 0;
            }
            Err(DONE) => return 0,
            Err(seen) => {
                let marked = seen == WANTED
                    || once.compare_exchange(RUNS, WANTED, Ordering::Relaxed, Ordering::Relaxed).is_ok();
                if marked {
                    wait::sleep(once, WANTED, None, &ToldWait::of(&told::ONCE, once));
                }
            }
        }
    }
}

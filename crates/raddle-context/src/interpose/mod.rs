//! Owns: `interpose!`, by which an adaptor exports a function of the C library and does not call itself.
//! May use: `libc`.
//! Never: a frame of its own while the function runs.
//!
//! An adaptor is a shared library that holds the runtime and exports, say, `syscall`, which it makes a call of Raddle's
//! if it is a futex. The runtime asks the kernel itself for what it can (`raddle-syscall`). But the standard library,
//! which is linked into the adaptor too, calls the C library by name: the futex of its locks is `syscall`, its threads
//! are `pthread_create`. These calls must go on to the C library, the same calls of the program must not.
//!
//! They are told apart by where they come from: the return address lies within the adaptor's own code, or it does not.
//! The linker knows the bounds of that code, so that this takes two comparisons, right from the first call on, before
//! any initialiser has run.
//!
//! What it does not see: a call that stands at the end of a function of the adaptor's may be compiled to a jump, and
//! then returns to whoever called that function. Does the program call it, the call looks like the program's own. For
//! what is said by raw system calls this does not matter. Of the standard library's calls it can happen to the wake of
//! all sleepers of a futex, which returns nothing. So an adaptor that finds nobody to wake among its own sleepers
//! passes the wake on to the kernel.
//!
//! It uses the bounds of the code that the adaptor was linked to; the dynamic linker's next definition of a
//! name.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The next definition of a name: the C library's, behind an adaptor that exports it.
#[derive(Debug)]
#[repr(C)]
pub struct Next {
    /// Null until it is first asked for.
    found: AtomicPtr<c_void>,
    name: &'static CStr,
}

impl Next {
    /// The next definition of `name`.
    pub const fn of(name: &'static CStr) -> Next {
        Next { found: AtomicPtr::new(null_mut()), name }
    }

    /// Its address; to be made a function of the type that this name has.
    ///
    /// # Panics
    /// There is none.
    ///
    /// ```
    /// use raddle_context::interpose::Next;
    ///
    /// static NEXT: Next = Next::of(c"getppid");
    /// // SAFETY: its type.
    /// let getppid: unsafe extern "C" fn() -> i32 = unsafe { std::mem::transmute(NEXT.address()) };
    /// // SAFETY: no preconditions.
    /// assert_eq!(unsafe { getppid() }, std::os::unix::process::parent_id() as i32);
    /// ```
    pub fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: looks a name up among the loaded libraries, behind the one that this is part of.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        assert!(!address.is_null(), "nothing behind this library is called {:?}", self.name);
        self.found.store(address, Ordering::Relaxed);
        address
    }
}

/// Finds what a call is passed on to, for [`interpose!`](crate::interpose!).
#[doc(hidden)]
pub extern "C" fn find(next: &Next) {
    next.address();
}

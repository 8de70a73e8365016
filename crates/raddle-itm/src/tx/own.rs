//! Owns: which transaction is the calling thread's.
//! May use: `fault`, `libc`.
//! Never: what it does.
//!
//! It holds `unsafe` for a word in thread-local storage, found as in a program itself: a library that is loaded at the
//! start, as this one is, has its storage beside the program's. The standard library's way is a call for each access.

use super::Tx;
use crate::fault;
use std::arch::{asm, global_asm};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl raddle_itm_own",
    ".hidden raddle_itm_own",
    ".type raddle_itm_own, @object",
    ".size raddle_itm_own, 8",
    "raddle_itm_own:",
    ".zero 8",
    ".popsection",
);

#[inline(always)]
fn load() -> *mut Tx {
    let own: *mut Tx;
    // SAFETY: it reads a word of the thread's own.
    unsafe {
        asm!(
            "mov {own}, qword ptr [rip + raddle_itm_own@GOTTPOFF]",
            "mov {own}, qword ptr fs:[{own}]",
            own = out(reg) own,
            options(nostack, readonly, preserves_flags, pure),
        );
    }
    own
}

fn store(own: *mut Tx) {
    // SAFETY: it writes a word of the thread's own.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + raddle_itm_own@GOTTPOFF]",
            "mov qword ptr fs:[{place}], {own}",
            own = in(reg) own,
            place = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// The thread's, if it ever had one.
#[inline(always)]
pub(super) fn get() -> Option<&'static mut Tx> {
    // SAFETY: it lives until its thread ends, and nobody else has its address. No two references are used at the same
    // time: each call of the interface takes it once.
    unsafe { load().as_mut() }
}

/// The one of a thread that runs a transaction.
#[inline(always)]
pub(crate) fn current() -> &'static mut Tx {
    let own = load();
    debug_assert!(!own.is_null(), "code of a transaction runs in one");
    // SAFETY: as in `get`; the compiler's code calls this between begin and end.
    unsafe { &mut *own }
}

/// Makes it.
#[cold]
pub(super) fn make() -> &'static mut Tx {
    fault::prepare();
    fault::unblock();
    let own = Box::into_raw(Box::<Tx>::default());
    store(own);
    let key = KEY.load(Ordering::Relaxed);
    if key != 0 {
        // SAFETY: a key of ours. Without memory for it, or without a key, the memory stays when the thread ends.
        unsafe { libc::pthread_setspecific(key - 1, own.cast()) };
    }
    // SAFETY: it was made above.
    unsafe { &mut *own }
}

static KEY: AtomicU32 = AtomicU32::new(0);

/// Before the program begins, and so before it could be forked by another thread: a child must not wait for one that
/// has begun this.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    super::end::prepare();
    let mut key = 0;
    // SAFETY: a place for the key, and a destructor of this type.
    if unsafe { libc::pthread_key_create(&mut key, Some(free)) } == 0 {
        KEY.store(key + 1, Ordering::Relaxed);
    }
}

unsafe extern "C" fn free(own: *mut c_void) {
    // SAFETY: as in `get`.
    if unsafe { (*own.cast::<Tx>()).depth } > 0 {
        super::fail("a thread ends within a transaction");
    }
    store(std::ptr::null_mut());
    // SAFETY: made in `make`, by this thread, which ends.
    drop(unsafe { Box::from_raw(own.cast::<Tx>()) });
}

#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: it reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

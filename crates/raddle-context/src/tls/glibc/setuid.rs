//! Owns: `setuid` and its relatives in a program whose OS threads run contexts with storage of their own.
//! May use: `libc`, `raddle-syscall`.
//! Never: a lock, an allocation, a thread-local variable: this runs in a signal handler, between any two instructions.
//!
//! The kernel gives each thread rights of its own, POSIX gives them to the program. So glibc has each thread of the
//! program make the call: it marks each descriptor in its list, sends each a signal that no program may touch
//! (`SIGSETXID`, 33), and repeats that until no mark is left. Its handler makes the call and clears the mark in the
//! descriptor that the thread pointer finds. Where a context with storage of its own runs that is the context's, and
//! the OS thread's own mark would stay: for ever, if it is that context that calls.
//!
//! So our handler runs before glibc's: it switches to the OS thread's own storage, and back to the context's
//! afterwards. Meanwhile all signals are blocked, so that no other handler sees the wrong storage. What is carried with
//! an OS thread (`arch/carried.rs`) is not: glibc's handler allocates nothing, and a switch that was interrupted may
//! have put it into the OS thread's storage already. The marks in descriptors of ours do no harm: the kernel does not
//! know their numbers, and glibc takes that for a thread that has ended.
//!
//! If a context makes the call, the signal makes its OS thread do so, too; then the context repeats it. The second call
//! sets the same ids again: it changes nothing, and fails if the first one failed.
//!
//! It uses the kernel's table of signal handlers.

use super::facts;
use super::{host, machine};
use core::ffi::{c_int, c_ulong, c_void};
use core::mem::MaybeUninit;
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};

/// glibc's signal for it (`SIGSETXID`): the second of those that `sigaction` refuses to touch.
const SIGSETXID: c_int = 33;

/// What the kernel keeps of a handler.
#[derive(Clone, Copy)]
#[repr(C)]
struct Action {
    handler: usize,
    flags: c_ulong,
    restorer: usize,
    mask: u64,
}

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// glibc's handler; 0 until it has been found.
static BEHIND: AtomicUsize = AtomicUsize::new(0);

/// Installs our handler before glibc's, unless it is installed. glibc has set its own when it made its first thread,
/// and may do so again in a forked child.
pub(super) fn install() {
    let Some(now) = exchange(null()) else { return };
    let ours = handle as Handler as usize;
    if now.handler <= libc::SIG_IGN || now.handler == ours {
        return;
    }
    BEHIND.store(now.handler, Ordering::Relaxed);
    // With all signals blocked; the rest, of which the way back from the handler is one, stays as glibc has it.
    let wrapped = Action { handler: ours, mask: u64::MAX, ..now };
    exchange(&raw const wrapped);
}

/// Like [`install`], if there may be contexts with storage of their own.
pub(super) fn install_if_known() {
    if facts::known().is_some() {
        install();
    }
}

/// The kernel's entry, which is replaced unless `new` is null. The C library's function does not touch this signal.
fn exchange(new: *const Action) -> Option<Action> {
    const MASK_BYTES: usize = size_of::<u64>();
    let mut old = MaybeUninit::<Action>::uninit();
    let (new, place) = (new.expose_provenance(), old.as_mut_ptr().expose_provenance());
    let arguments = [SIGSETXID as usize, new, place, MASK_BYTES];
    // SAFETY: `new` is null or an entry, and the kernel writes the old one.
    let result = unsafe { raddle_syscall::call(libc::SYS_rt_sigaction, arguments) };
    // SAFETY: the kernel has written it.
    result.is_ok().then(|| unsafe { old.assume_init() })
}

unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let found = BEHIND.load(Ordering::Relaxed);
    // SAFETY: the kernel called it with these arguments before we stood there.
    let behind = unsafe { core::mem::transmute::<usize, Handler>(found) };
    let storage = machine::thread_pointer();
    let own = if facts::known().is_some_and(|f| f.is_ours(storage)) { host::storage_of_this() } else { None };
    if let Some(own) = own {
        // SAFETY: this OS thread's own storage; nothing between here and the way back has looked for a variable.
        unsafe { machine::set_thread_pointer_alone(own) };
    }
    // SAFETY: the kernel's arguments, passed on.
    unsafe { behind(signal, info, context) };
    if own.is_some() {
        // SAFETY: what was interrupted goes on with it.
        unsafe { machine::set_thread_pointer_alone(storage) };
    }
}

//! Owns: `pthread_getattr_np` for threads with storage of their own.
//! May use: `firm`, `libc`.
//! Never: a probe; before the first block was made all threads are the C library's.
//!
//! glibc's own asks the kernel for the processors of the thread's number, which the kernel does not know, and refuses.
//! Collectors, runtimes of languages and AddressSanitizer ask for the bounds of the stack by it. A linker exports a
//! program's definition of a name that a shared library has, too, so that libraries find this one.
//!
//! It uses the C library's, for all others.

use super::facts;
use crate::firm::firmly;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

type GetAttributes = unsafe extern "C" fn(libc::pthread_t, *mut libc::pthread_attr_t) -> c_int;

/// The attributes of a running thread, as the C library's function of this name.
///
/// # Safety
/// `thread` is alive, and `attributes` can be written.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_getattr_np(
    thread: libc::pthread_t,
    attributes: *mut libc::pthread_attr_t,
) -> c_int {
    // SAFETY: passed on to the caller.
    if let Some((stack, bytes)) = unsafe { stack_of(thread as usize) } {
        // SAFETY: the caller lets it be written.
        let error = unsafe { libc::pthread_attr_init(attributes) };
        if error != 0 {
            return error;
        }
        // SAFETY: initialised above; the bounds are those of a live stack.
        return unsafe { libc::pthread_attr_setstack(attributes, stack, bytes) };
    }
    // SAFETY: passed on to the caller.
    firmly(|| unsafe { next()(thread, attributes) })
}

/// The stack of a thread of ours; `None` for all others.
///
/// # Safety
/// `thread` is the descriptor of a live thread.
unsafe fn stack_of(thread: usize) -> Option<(*mut c_void, usize)> {
    let facts = facts::known()?;
    // SAFETY: passed on to the caller.
    if !unsafe { facts.is_descriptor_of_ours(thread) } {
        return None;
    }
    let descriptor: *const u8 = core::ptr::with_exposed_provenance(thread);
    let bounds: *const [usize; 2] = descriptor.wrapping_byte_add(facts.stack).cast();
    // SAFETY: a field of a live thread's descriptor.
    let [stack, bytes] = unsafe { bounds.read_volatile() };
    Some((core::ptr::with_exposed_provenance_mut(stack), bytes))
}

fn next() -> GetAttributes {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    let mut found = NEXT.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: looks a name up among the loaded libraries, behind this program.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_getattr_np".as_ptr()) };
        NEXT.store(found, Ordering::Relaxed);
    }
    if found.is_null() {
        return refuse;
    }
    // SAFETY: the C library's function of this name has this signature.
    unsafe { core::mem::transmute::<*mut c_void, GetAttributes>(found) }
}

unsafe extern "C" fn refuse(_: libc::pthread_t, _: *mut libc::pthread_attr_t) -> c_int {
    libc::ENOSYS
}

//! Owns: thread-local storage by glibc's own allocator.
//! May use: `sanitizer`, `libc`, `raddle-syscall`.
//! Never: an offset that was not read from glibc itself or seen in a live thread.

mod anchor;
mod attributes;
mod block;
mod carried;
mod early;
mod ends;
mod facts;
mod host;
mod keys;
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;
mod room;
mod setuid;
mod used;

pub use block::{ForkGuard, TlsBlock, TlsPool, announce, begin, end};
pub use early::pthread_self;
pub use ends::{ThreadEnds, set_ends};
pub use host::Host;
pub use used::{UsedBlocks, begin_as_is};

use super::Unsupported;
use crate::sanitizer;
use core::ops::Range;

/// Whether this machine can do it. The first call probes, which takes about 100 us; the others read the answer.
///
/// # Errors
/// What the probe did not find.
///
/// ```
/// match raddle_context::tls::supported() {
///     Ok(()) => println!("threads are possible"),
///     Err(why) => println!("{why}"),
/// }
/// ```
pub fn supported() -> Result<(), Unsupported> {
    facts::get().map(|_| ())
}

/// Where the thread-local storage of whoever runs is: what a transfer loads to come back to it.
#[inline(always)]
pub fn base() -> usize {
    machine::thread_pointer()
}

/// As [`base`], on an OS thread that is about to run contexts with storage of their own: who keeps words for OS
/// threads, which a transfer is to carry along, is asked where they are.
pub fn home_base() -> usize {
    carried::settle();
    base()
}

/// Whether the word at `address` is the one in which the C library keeps the number of an OS thread, and at which one
/// waits who joins it: then it lies where such a word does in a `struct pthread`, whose neighbours in the library's
/// list of threads point back to it. `peek` reads a word if there is one.
pub fn is_number_of_thread(address: usize, peek: impl Fn(usize) -> Option<usize>) -> bool {
    let Some(facts) = facts::known() else { return false };
    let entry = address.wrapping_sub(facts.tid).wrapping_add(facts.list);
    let at = |address: usize, second: usize| peek(address.wrapping_add(second * size_of::<usize>()));
    let (next, before) = (at(entry, 0), at(entry, 1));
    let points_back =
        |neighbour: Option<usize>, second| neighbour.and_then(|it| at(it, second)) == Some(entry);
    points_back(next, 1) && points_back(before, 0)
}

/// A context whose own storage is over goes on with its OS thread's, at `base`.
///
/// # Safety
/// The context runs on the memory `stack`, on the OS thread whose [`base`] that is. The caller holds no address of a
/// thread-local variable, nor does the function that it returns into.
#[inline(never)]
pub unsafe fn return_to(base: usize, stack: Range<*mut u8>) {
    // SAFETY: passed on to the caller.
    unsafe { machine::set_thread_pointer(base) };
    sanitizer::back_home(stack);
}

/// A context that is over, and has storage of its own, makes way for one with such storage, too, at `base`.
///
/// # Safety
/// As [`return_to`]; the context transfers next, to the one whose storage that is.
#[inline(never)]
pub unsafe fn go_over(base: usize) {
    // To write the register takes longer than to read it.
    if base != machine::thread_pointer() {
        // SAFETY: passed on to the caller.
        unsafe { machine::set_thread_pointer(base) };
    }
}

/// A context that is over, and has the OS thread's storage, makes way for one with storage of its own, at `base`.
///
/// # Safety
/// As [`return_to`]; the context transfers next, to the one whose storage that is.
#[inline(never)]
pub unsafe fn make_way_for(base: usize) {
    sanitizer::leave_behind();
    // SAFETY: passed on to the caller.
    unsafe { machine::set_thread_pointer(base) };
}

/// In a forked child whose only thread has storage of its own: the kernel no longer writes the number of its processor
/// to the OS thread's, at `base`, whose memory the C library may now give to others.
fn leave_in_fork(base: usize) {
    const UNREGISTER: usize = 1;
    /// What the C library registers on this architecture: the area's size and signature.
    const BYTES: usize = 32;
    const SIGNATURE: usize = if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 };
    if let Some(offset) = facts::known().and_then(|facts| facts.rseq) {
        let area = base.wrapping_add_signed(offset);
        // SAFETY: ends a registration; a refusal says that there was none.
        let _refused = unsafe { raddle_syscall::call(libc::SYS_rseq, [area, BYTES, UNREGISTER, SIGNATURE]) };
    }
}

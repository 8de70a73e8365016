//! Owns: the alternate signal stack of a worker's fault handler.
//! May use: `stack`, `libc`, `raddle-syscall`.
//! Never: another OS thread's alternate stack.

use core::marker::PhantomData;
use std::io;

/// Room for the handler: the kernel's frame (with AVX-512, 3.5 KiB), the message, and what formatting takes.
const BYTES: usize = 64 << 10;

/// An alternate signal stack for this OS thread, as long as the value lives; then the previous one is restored.
///
/// Without it, a stack overflow kills the process without a message, since the handler cannot run.
#[derive(Debug)]
pub struct AltStack {
    memory: *mut libc::c_void,
    before: libc::stack_t,
    /// It belongs to the OS thread that made it.
    _thread: PhantomData<*mut ()>,
}

impl AltStack {
    /// Gives this OS thread an alternate signal stack of 64 KiB, guarded below.
    ///
    /// # Errors
    /// The kernel refused the memory.
    ///
    /// ```
    /// let _alt_stack = raddle_context::overflow::AltStack::for_this_thread()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn for_this_thread() -> io::Result<AltStack> {
        let page = crate::stack::PAGE;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let memory = unsafe { libc::mmap(core::ptr::null_mut(), page + BYTES, protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the lowest page of the mapping just made, which nobody uses yet.
        unsafe { libc::mprotect(memory, page, libc::PROT_NONE) };
        let ours = libc::stack_t { ss_sp: memory.wrapping_byte_add(page), ss_flags: 0, ss_size: BYTES };
        // SAFETY: the memory stays mapped until Drop has undone this.
        match unsafe { raddle_syscall::set_alternate_stack(&ours) } {
            Ok(before) => Ok(AltStack { memory, before, _thread: PhantomData }),
            Err(refused) => {
                // SAFETY: the mapping made above, which nobody uses.
                unsafe { libc::munmap(memory, page + BYTES) };
                Err(refused.into())
            }
        }
    }
}

impl Drop for AltStack {
    fn drop(&mut self) {
        // SAFETY: the description that the kernel gave us; a thread's earlier alternate stack outlives
        // this value.
        let _refused = unsafe { raddle_syscall::set_alternate_stack(&self.before) };
        // SAFETY: our mapping, which is no alternate stack any more, and which we do not run on: no
        // handler drops this.
        unsafe { libc::munmap(self.memory, crate::stack::PAGE + BYTES) };
    }
}

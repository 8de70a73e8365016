//! Owns: the calls that tell Valgrind of our stacks.
//! May use: nothing.
//! Never: a cost on a path that is taken more than once per stack.
//!
//! Valgrind takes a jump of the stack pointer between two known stacks for a switch, and any other large
//! jump for a huge frame, whose contents it then forgets. So each stack is registered when it is cut.
//!
//! A client request is a sequence of instructions without effect that Valgrind's translator recognises: it
//! finds the address of six words (request, five arguments) in one register and puts its answer into another.
//!
//! It uses Valgrind's client requests, which are a few rotations that do nothing outside of it.

use core::ops::Range;

const RUNNING_ON_VALGRIND: usize = 0x1001;
const STACK_REGISTER: usize = 0x1501;
const STACK_DEREGISTER: usize = 0x1502;

/// Valgrind's number for a registered stack.
pub(crate) type StackId = usize;

/// Registers a stack; `None` when Valgrind is not there.
pub(crate) fn register(stack: Range<usize>) -> Option<StackId> {
    let there = request([RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0]) != 0;
    there.then(|| request([STACK_REGISTER, stack.start, stack.end, 0, 0, 0]))
}

/// Takes back a registration.
pub(crate) fn deregister(id: StackId) {
    request([STACK_DEREGISTER, id, 0, 0, 0, 0]);
}

#[cfg(target_arch = "x86_64")]
fn request(words: [usize; 6]) -> usize {
    let mut answer = 0_usize;
    // SAFETY: outside Valgrind, rotations by 64 in all and an exchange of a register with itself; inside,
    // it reads `words`.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") &raw const words, inout("rdx") answer, options(nostack),
        );
    }
    answer
}

#[cfg(target_arch = "aarch64")]
fn request(words: [usize; 6]) -> usize {
    let mut answer = 0_usize;
    // SAFETY: outside Valgrind, rotations by 128 in all and an `or` of a register with itself; inside, it
    // reads `words`.
    unsafe {
        core::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") &raw const words, inout("x3") answer, options(nostack),
        );
    }
    answer
}

//! Owns: what is alike on all Cortex-M: the first instruction, sleep, what an exception comes to, the end.
//! May use: assembly; the processor's own registers.
//! Never: an interrupt handler. All are masked: a device that wants one ends a sleep, and is asked then.

use core::arch::{asm, global_asm};

const ENABLE: usize = 0xe000_e100;
const DISABLE: usize = 0xe000_e180;
const FORGET: usize = 0xe000_e280;
const STATE: usize = 0xe000_ed04;

// The stack is filled with what `stack` looks for.
global_asm!(
    ".section .vectors, \"a\"",
    ".word stack_top",
    ".word start",
    ".rept 14",
    ".word fault",
    ".endr",
    ".text",
    ".thumb_func",
    ".global start",
    "start:",
    "cpsid i",
    "ldr r0, =stack_bottom",
    "ldr r1, =stack_top",
    "ldr r2, =0xa5a5a5a5",
    "1:",
    "str r2, [r0]",
    "adds r0, #4",
    "cmp r0, r1",
    "bne 1b",
    "bl begin",
    ".thumb_func",
    "fault:",
    "bl failed",
    ".pool",
);

pub(crate) fn read(at: usize) -> u32 {
    // SAFETY: the callers name registers of their board, which may be read at any time.
    unsafe { (at as *const u32).read_volatile() }
}

pub(crate) fn write(at: usize, value: u32) {
    // SAFETY: the callers name registers of their board, none of which touches memory.
    unsafe { (at as *mut u32).write_volatile(value) }
}

/// Those lines of all end a sleep.
pub(crate) fn listen(lines: u32, all: u32) {
    write(DISABLE, all & !lines);
    write(ENABLE, lines);
}

/// Sleeps until one of the lines that are listened to.
pub(crate) fn wait() {
    // SAFETY: it waits for an interrupt that is masked, which ends the wait.
    unsafe { asm!("wfi") };
}

/// Those lines, which have ended a sleep, end the next one when they come again.
pub(crate) fn forget(lines: u32) {
    write(FORGET, lines);
    write(STATE, 1 << 25);
}

/// Tells whoever emulates or debugs the board that it has come to its end; without one, stands.
pub(crate) fn end(well: bool) -> ! {
    let reason = if well { 0x20026 } else { 0x20023 };
    // SAFETY: the call does not come back, or the processor stands at the instruction.
    unsafe { asm!("bkpt 0xab", in("r0") 0x18, in("r1") reason) };
    loop {
        wait();
    }
}

//! Owns: the LM3S6965 evaluation board: its first instruction, its clock, serial line, light, sleep and end.
//! May use: assembly; the registers of a Cortex-M3 and of Stellaris' devices.
//! Never: an interrupt handler. All are masked: a device that wants one ends a sleep, and is asked then.

use core::arch::{asm, global_asm};

/// How much of the memory a program's processes get.
pub(crate) const MEMORY_BYTES: u32 = 24 * 1024;

/// Cycles of the processor in a microsecond, times two: 12.5 MHz after a reset.
const HALF_CYCLES: u64 = 25;

const UART: usize = 0x4000_c000;
const DATA: usize = UART;
const FLAGS: usize = UART + 0x18;
const UART_MASK: usize = UART + 0x38;
const UART_CLEAR: usize = UART + 0x44;
const NO_BYTE: u32 = 1 << 4;
const FULL: u32 = 1 << 5;
/// A byte has come, or bytes have lain there for a while.
const RECEIVED: u32 = 1 << 4 | 1 << 6;

const CLOCKS: usize = 0x400f_e000;
const TIMER: usize = 0x4003_0000;
const LIGHT: usize = 0x4002_5000;

const TICKS: usize = 0xe000_e010;
const TICKS_MAX: u32 = 0x00ff_ffff;
const WRAPPED: u32 = 1 << 16;
const ENABLE: usize = 0xe000_e100;
const FORGET: usize = 0xe000_e280;
const STATE: usize = 0xe000_ed04;
const UART_LINE: u32 = 1 << 5;
const TIMER_LINE: u32 = 1 << 19;

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
    "bl begin",
    ".thumb_func",
    "fault:",
    "b failed",
);

/// What the processor comes to when something has gone wrong that no check has found.
#[unsafe(no_mangle)]
extern "C" fn failed() -> ! {
    end(false)
}

fn read(at: usize) -> u32 {
    // SAFETY: the callers name registers of this board, which may be read at any time.
    unsafe { (at as *const u32).read_volatile() }
}

fn write(at: usize, value: u32) {
    // SAFETY: the callers name registers of this board, none of which touches memory.
    unsafe { (at as *mut u32).write_volatile(value) }
}

pub(crate) fn prepare() {
    write(CLOCKS + 0x104, 1 << 16 | 1);
    write(CLOCKS + 0x108, 1 << 5);
    write(LIGHT + 0x400, 1);
    write(LIGHT + 0x51c, 1);
    write(UART + 0x30, 0x301);
    write(UART_MASK, RECEIVED);
    write(TICKS + 4, TICKS_MAX);
    write(TICKS + 8, 0);
    write(TICKS, 0b111);
    write(ENABLE, UART_LINE | TIMER_LINE);
}

/// Cycles until now. The counter goes down and around in 1.3 s, and no sleep is longer.
pub(crate) fn microseconds(wraps: &mut u32) -> u64 {
    loop {
        if read(TICKS) & WRAPPED != 0 {
            *wraps += 1;
        }
        let left = read(TICKS + 8) & TICKS_MAX;
        let before = *wraps;
        if read(TICKS) & WRAPPED != 0 {
            *wraps += 1;
        }
        if before == *wraps {
            let cycles = u64::from(before) * u64::from(TICKS_MAX + 1) + u64::from(TICKS_MAX - left);
            return cycles * 2 / HALF_CYCLES;
        }
    }
}

/// Sleeps until a byte comes, or for so long; `None` is for ever.
pub(crate) fn sleep(microseconds: Option<u64>) {
    if let Some(time) = microseconds {
        let cycles = (time.min(1_000_000) * HALF_CYCLES / 2).max(1) as u32;
        write(TIMER + 0x0c, 0);
        write(TIMER, 0);
        write(TIMER + 0x04, 1);
        write(TIMER + 0x28, cycles);
        write(TIMER + 0x18, 1);
        write(TIMER + 0x0c, 1);
    }
    // SAFETY: it waits for an interrupt that is masked, which ends the wait.
    unsafe { asm!("wfi") };
    write(TIMER + 0x24, 1);
    write(UART_CLEAR, RECEIVED);
    write(FORGET, UART_LINE | TIMER_LINE);
    write(STATE, 1 << 25);
}

pub(crate) fn byte() -> Option<u8> {
    (read(FLAGS) & NO_BYTE == 0).then(|| read(DATA) as u8)
}

pub(crate) fn put(byte: u8) {
    while read(FLAGS) & FULL != 0 {}
    write(DATA, u32::from(byte));
}

pub(crate) fn light(on: bool) {
    write(LIGHT + 4, u32::from(on));
}

/// Tells whoever emulates or debugs the board that it has come to its end; without one, stands.
pub(crate) fn end(well: bool) -> ! {
    let reason = if well { 0x20026 } else { 0x20023 };
    // SAFETY: the call does not come back, or the processor stands at the instruction.
    unsafe { asm!("bkpt 0xab", in("r0") 0x18, in("r1") reason) };
    loop {
        // SAFETY: it waits.
        unsafe { asm!("wfi") };
    }
}

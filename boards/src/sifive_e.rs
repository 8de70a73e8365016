//! Owns: SiFive's E31 on a HiFive1: its first instruction, clock, serial line, light, sleep, and pins as lines.
//! May use: assembly; the registers of that processor and of its devices.
//! Never: an interrupt handler. All are masked: a device that wants one ends a sleep, and is asked then.

use core::arch::{asm, global_asm};

/// How much of the memory a program's processes get, if the program does not say.
pub(crate) const MEMORY_BYTES: u32 = 4096;

/// Of the clock, as qemu has it. That of a HiFive1 has 32768 a second.
const TICKS_A_MICROSECOND: u64 = 10;

/// Bits of `mie`.
const TIMER_ENDS: u32 = 1 << 7;
const DEVICES_END: u32 = 1 << 11;

const TIME: usize = 0x0200_bff8;
const ALARM: usize = 0x0200_4000;
const LINES: usize = 0x0c00_0000;
const CLAIM: usize = LINES + 0x20_0004;
const UART: usize = 0x1001_3000;
const UART_LINE: u32 = 3;
const PINS: usize = 0x1001_2000;
const FIRST_PIN_LINE: u32 = 8;
const ROSE: usize = PINS + 0x1c;
const FELL: usize = PINS + 0x24;
/// The green light, which is on while its pin is low.
const LIGHT: u32 = 1 << 19;

// The stack is filled with what `stack` looks for.
global_asm!(
    ".section .vectors, \"ax\"",
    ".global start",
    "start:",
    "la sp, stack_top",
    "la t0, fault",
    "csrw mtvec, t0",
    "csrw mstatus, zero",
    "la t0, stack_bottom",
    "li t1, 0xa5a5a5a5",
    "1:",
    "sw t1, 0(t0)",
    "addi t0, t0, 4",
    "bltu t0, sp, 1b",
    "call begin",
    ".balign 4",
    "fault:",
    "call failed",
);

fn read(at: usize) -> u32 {
    // SAFETY: the callers name registers of this board, which may be read at any time.
    unsafe { (at as *const u32).read_volatile() }
}

fn write(at: usize, value: u32) {
    // SAFETY: the callers name registers of this board, none of which touches memory.
    unsafe { (at as *mut u32).write_volatile(value) }
}

fn listen_to(line: u32) {
    write(LINES + 4 * line as usize, 1);
    let enabled = LINES + 0x2000 + 4 * (line / 32) as usize;
    write(enabled, read(enabled) | 1 << (line % 32));
}

pub(crate) fn prepare() {
    write(ALARM + 4, u32::MAX);
    write(UART + 0x08, 1);
    write(UART + 0x0c, 1);
    write(UART + 0x10, 2);
    write(PINS + 0x0c, LIGHT);
    write(PINS + 0x08, LIGHT);
    listen_to(UART_LINE);
}

fn ticks() -> u64 {
    loop {
        let (high, low) = (read(TIME + 4), read(TIME));
        if read(TIME + 4) == high {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

/// The time.
pub(crate) fn microseconds(_: &mut u32) -> u64 {
    ticks() / TICKS_A_MICROSECOND
}

fn set_alarm(at: u64) {
    // In between it is never early.
    write(ALARM + 4, u32::MAX);
    write(ALARM, at as u32);
    write(ALARM + 4, (at >> 32) as u32);
}

/// Sleeps for so long, `None` is for ever; with `keys`, until a byte comes, or a pin that is listened to changes.
pub(crate) fn sleep(microseconds: Option<u64>, keys: bool) {
    let ends = TIMER_ENDS | if keys { DEVICES_END } else { 0 };
    // SAFETY: it says which interrupts, all of them masked, end a sleep.
    unsafe { asm!("csrw mie, {}", in(reg) ends) };
    if let Some(time) = microseconds {
        set_alarm(ticks().saturating_add(time.saturating_mul(TICKS_A_MICROSECOND)));
    }
    // SAFETY: it waits for an interrupt that is masked, which ends the wait.
    unsafe { asm!("wfi") };
    set_alarm(u64::MAX);
    let line = read(CLAIM);
    if line != 0 {
        write(CLAIM, line);
    }
}

/// A line is a pin, whose every change is an interrupt; that of the light is 19, which it changes itself.
pub(crate) fn listen(line: u32, _: u32) -> bool {
    if line < 32 {
        for register in [0x04, 0x18, 0x20] {
            write(PINS + register, read(PINS + register) | 1 << line);
        }
        listen_to(FIRST_PIN_LINE + line);
    }
    line < 32
}

/// Which pin has changed.
pub(crate) fn interrupt() -> Option<u8> {
    for register in [ROSE, FELL] {
        let changed = read(register) & read(register - 4);
        if changed != 0 {
            let pin = changed.trailing_zeros();
            write(register, 1 << pin);
            return Some(pin as u8);
        }
    }
    None
}

pub(crate) fn byte() -> Option<u8> {
    let word = read(UART + 0x04);
    (word >> 31 == 0).then_some(word as u8)
}

pub(crate) fn put(byte: u8) {
    while read(UART) >> 31 != 0 {}
    write(UART, u32::from(byte));
}

pub(crate) fn light(on: bool) {
    let others = read(PINS + 0x0c) & !LIGHT;
    write(PINS + 0x0c, if on { others } else { others | LIGHT });
}

/// Tells whoever emulates or debugs the board that it has come to its end; without one, stands.
pub(crate) fn end(well: bool) -> ! {
    let reason = if well { 0x20026 } else { 0x20023 };
    // SAFETY: the call does not come back, or the processor stands at the instruction. The two around it, which do
    // nothing, say what it is.
    unsafe {
        asm!(
            ".balign 16", ".option push", ".option norvc",
            "slli zero, zero, 0x1f", "ebreak", "srai zero, zero, 7",
            ".option pop",
            in("a0") 0x18,
            in("a1") reason,
        );
    }
    loop {
        sleep(None, false);
    }
}

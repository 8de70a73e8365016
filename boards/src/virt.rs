//! Owns: qemu's RISC-V board `virt`: its first instruction, its clock, serial line, sleep and end.
//! May use: assembly; the registers of CLINT, PLIC and a 16550.
//! Never: an interrupt handler. All are masked: a device that wants one ends a sleep, and is asked then.

use core::arch::{asm, global_asm};

/// How much of the memory a program's processes get.
pub(crate) const MEMORY_BYTES: u32 = 64 * 1024;

/// The clock's ticks in a microsecond.
const TICKS: u64 = 10;

const TIME: usize = 0x0200_bff8;
const ALARM: usize = 0x0200_4000;
const UART: usize = 0x1000_0000;
const UART_LINE: usize = 10;
const PLIC: usize = 0x0c00_0000;
const END: usize = 0x0010_0000;

global_asm!(
    ".section .start, \"ax\"",
    ".global start",
    "start:",
    "csrw mie, zero",
    "csrci mstatus, 8",
    "la sp, stack_top",
    "la t0, fault",
    "csrw mtvec, t0",
    "call begin",
    ".align 2",
    "fault:",
    "la sp, stack_top",
    "call failed",
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

fn read_byte(at: usize) -> u8 {
    // SAFETY: as of `read`.
    unsafe { (at as *const u8).read_volatile() }
}

fn write_byte(at: usize, value: u8) {
    // SAFETY: as of `write`.
    unsafe { (at as *mut u8).write_volatile(value) }
}

pub(crate) fn prepare() {
    write(PLIC + 4 * UART_LINE, 1);
    write(PLIC + 0x2000, 1 << UART_LINE);
    write(PLIC + 0x20_0000, 0);
    write_byte(UART + 1, 1);
}

fn ticks() -> u64 {
    loop {
        let high = read(TIME + 4);
        let low = read(TIME);
        if read(TIME + 4) == high {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

pub(crate) fn microseconds(_: &mut u32) -> u64 {
    ticks() / TICKS
}

/// Sleeps until a byte comes, or for so long; `None` is for ever.
pub(crate) fn sleep(microseconds: Option<u64>) {
    let until = microseconds.map_or(u64::MAX, |time| ticks().saturating_add(time.saturating_mul(TICKS)));
    write(ALARM + 4, u32::MAX);
    write(ALARM, until as u32);
    write(ALARM + 4, (until >> 32) as u32);
    // SAFETY: the timer and the devices end a sleep from here on; they interrupt nothing.
    unsafe { asm!("csrw mie, {}", in(reg) 1 << 7 | 1 << 11) };
    // SAFETY: it waits for one of them.
    unsafe { asm!("wfi") };
    let line = read(PLIC + 0x20_0004);
    write(PLIC + 0x20_0004, line);
}

pub(crate) fn byte() -> Option<u8> {
    (read_byte(UART + 5) & 1 != 0).then(|| read_byte(UART))
}

pub(crate) fn put(byte: u8) {
    while read_byte(UART + 5) & 1 << 5 == 0 {}
    write_byte(UART, byte);
}

/// It has none.
pub(crate) fn light(_: bool) {}

/// Tells qemu that it has come to its end.
pub(crate) fn end(well: bool) -> ! {
    write(END, if well { 0x5555 } else { 1 << 16 | 0x3333 });
    loop {
        // SAFETY: it waits.
        unsafe { asm!("wfi") };
    }
}

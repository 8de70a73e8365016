//! Owns: the LM3S6965 evaluation board: its clock, serial line, light, sleep, and a timer's interrupt as line 0.
//! May use: `cortex_m`; the registers of Stellaris' devices.
//! Never: waits for anything but in `sleep`, and for room in the serial line.

pub(crate) use crate::cortex_m::end;
use crate::cortex_m::{self, read, write};

/// How much of the memory a program's processes get, if the program does not say.
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
/// That of `sleep`, and that of line 0.
const TIMER: usize = 0x4003_0000;
const LINE: usize = 0x4003_1000;
const LIGHT: usize = 0x4002_5000;

const TICKS: usize = 0xe000_e010;
const TICKS_MAX: u32 = 0x00ff_ffff;
const WRAPPED: u32 = 1 << 16;
const KEYS: u32 = 1 << 5 | 1 << 21;
const LINES: u32 = KEYS | 1 << 19;

pub(crate) fn prepare() {
    write(CLOCKS + 0x104, 1 << 17 | 1 << 16 | 1);
    write(CLOCKS + 0x108, 1 << 5);
    write(LIGHT + 0x400, 1);
    write(LIGHT + 0x51c, 1);
    write(UART + 0x30, 0x301);
    write(UART_MASK, RECEIVED);
    write(TICKS + 4, TICKS_MAX);
    write(TICKS + 8, 0);
    write(TICKS, 0b111);
}

/// The time. The counter goes down and around in 1.3 s, and no sleep is longer.
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

/// Once, or again and again if it `repeats`.
fn start(timer: usize, microseconds: u64, repeats: bool) {
    let cycles = (microseconds.min(1_000_000) * HALF_CYCLES / 2).max(1) as u32;
    write(timer + 0x0c, 0);
    write(timer, 0);
    write(timer + 0x04, if repeats { 2 } else { 1 });
    write(timer + 0x28, cycles);
    write(timer + 0x18, 1);
    write(timer + 0x0c, 1);
}

/// Sleeps for so long, `None` is for ever; with `keys`, until a byte comes, or line 0.
pub(crate) fn sleep(microseconds: Option<u64>, keys: bool) {
    cortex_m::listen(if keys { LINES } else { LINES & !KEYS }, LINES);
    if let Some(time) = microseconds {
        start(TIMER, time, false);
    }
    cortex_m::wait();
    write(TIMER + 0x24, 1);
    write(UART_CLEAR, RECEIVED);
    cortex_m::forget(LINES);
}

/// Line 0 is a timer that interrupts every so many microseconds.
pub(crate) fn listen(line: u32, microseconds: u32) -> bool {
    if line == 0 && microseconds > 0 {
        start(LINE, microseconds.into(), true);
    }
    line == 0
}

/// Which line has interrupted.
pub(crate) fn interrupt() -> Option<u8> {
    let came = read(LINE + 0x1c) & 1 != 0;
    if came {
        write(LINE + 0x24, 1);
    }
    came.then_some(0)
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

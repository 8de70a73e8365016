//! Owns: the BBC micro:bit (nRF51): its clock, serial line, light, sleep, and a timer's interrupt as line 0.
//! May use: `cortex_m`; the registers of nRF51's devices.
//! Never: waits for anything but in `sleep`, and for the byte before in the serial line.

pub(crate) use crate::cortex_m::end;
use crate::cortex_m::{self, read, write};

/// How much of the memory a program's processes get, if the program does not say.
pub(crate) const MEMORY_BYTES: u32 = 2048;

const UART: usize = 0x4000_2000;
const SENT: usize = UART + 0x11c;
const RECEIVED: usize = UART + 0x108;

/// The clock of the program, which wakes sleepers, too; and that of line 0. Both count microseconds.
const CLOCK: usize = 0x4000_8000;
const LINE: usize = 0x4000_9000;
const REACHED: usize = 0x140;

const PINS: usize = 0x5000_0000;
/// The light in the first row and column.
const ROW: u32 = 1 << 13;
const COLUMN: u32 = 1 << 4;

const KEYS: u32 = 1 << 2 | 1 << 9;
const LINES: u32 = KEYS | 1 << 8;

fn count_microseconds(timer: usize) {
    write(timer + 0x504, 0);
    write(timer + 0x508, 3);
    write(timer + 0x510, 4);
    write(timer, 1);
}

pub(crate) fn prepare() {
    write(PINS + 0x518, ROW | COLUMN);
    write(UART + 0x50c, 24);
    write(UART + 0x514, 25);
    write(UART + 0x524, 0x01d7_e000);
    write(UART + 0x500, 4);
    write(UART + 0x304, 1 << 2);
    write(UART, 1);
    write(UART + 0x08, 1);
    // So that `put` need not know whether it is the first.
    write(UART + 0x51c, u32::from(b'\n'));
    count_microseconds(CLOCK);
}

/// The time. The counter goes around in 71 minutes, and no sleep is longer than half of that.
pub(crate) fn microseconds(wraps: &mut u32) -> u64 {
    write(CLOCK + 0x44, 1);
    let now = read(CLOCK + 0x544);
    // The low half of `wraps` counts; the top bit is that of the last time seen.
    let (seen, count) = (*wraps >> 31, *wraps & 0x7fff_ffff);
    let count = count + u32::from(seen == 1 && now >> 31 == 0);
    *wraps = now & 1 << 31 | count;
    u64::from(count) << 32 | u64::from(now)
}

/// Sleeps for so long, `None` is for ever; with `keys`, until a byte comes, or line 0.
pub(crate) fn sleep(microseconds: Option<u64>, keys: bool) {
    cortex_m::listen(if keys { LINES } else { LINES & !KEYS }, LINES);
    let time = microseconds.unwrap_or(u64::MAX).clamp(2, 1 << 30) as u32;
    write(CLOCK + 0x44, 1);
    write(CLOCK + 0x540, read(CLOCK + 0x544).wrapping_add(time));
    write(CLOCK + REACHED, 0);
    write(CLOCK + 0x304, 1 << 16);
    cortex_m::wait();
    write(CLOCK + 0x308, 1 << 16);
    write(CLOCK + REACHED, 0);
    cortex_m::forget(LINES);
}

/// Line 0 is a timer that interrupts every so many microseconds.
pub(crate) fn listen(line: u32, microseconds: u32) -> bool {
    if line == 0 && microseconds > 0 {
        write(LINE + 0x200, 1);
        write(LINE + 0x540, microseconds);
        write(LINE + 0x304, 1 << 16);
        count_microseconds(LINE);
    }
    line == 0
}

/// Which line has interrupted.
pub(crate) fn interrupt() -> Option<u8> {
    let came = read(LINE + REACHED) != 0;
    if came {
        write(LINE + REACHED, 0);
    }
    came.then_some(0)
}

pub(crate) fn byte() -> Option<u8> {
    if read(RECEIVED) == 0 {
        return None;
    }
    write(RECEIVED, 0);
    Some(read(UART + 0x518) as u8)
}

pub(crate) fn put(byte: u8) {
    while read(SENT) == 0 {}
    write(SENT, 0);
    write(UART + 0x51c, u32::from(byte));
}

pub(crate) fn light(on: bool) {
    write(PINS + if on { 0x508 } else { 0x50c }, ROW);
}

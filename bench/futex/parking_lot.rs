//! Owns: parking_lot_core's parking lot as a futex: OS threads that wait and wake, and a mutex on it.
//! May use: parking_lot_core.
//! Never: a runtime.

use std::process::ExitCode;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use bench_common::futex_lock::Futex;
use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN};
use raddle_measure::program;

struct ParkingLot;

impl Futex for ParkingLot {
    fn wait(word: &AtomicU32, expected: u32) {
        let unchanged = || word.load(Relaxed) == expected;
        let (before_sleep, timed_out) = (|| (), |_, _| ());
        // SAFETY: the address is this program's own, and the closures neither panic nor park.
        unsafe {
            parking_lot_core::park(key(word), unchanged, before_sleep, timed_out, DEFAULT_PARK_TOKEN, None);
        }
    }

    fn wake(word: &AtomicU32) {
        // SAFETY: as above.
        unsafe { parking_lot_core::unpark_one(key(word), |_| DEFAULT_UNPARK_TOKEN) };
    }
}

fn key(word: &AtomicU32) -> usize {
    word.as_ptr().addr()
}

fn main() -> ExitCode {
    program::main(bench_common::futex_threads::run::<ParkingLot>)
}

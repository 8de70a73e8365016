//! Owns: the kernel's futex: OS threads that wait and wake, and a mutex on it.
//! May use: the futex system call.
//! Never: spinning.

use std::process::ExitCode;
use std::sync::atomic::AtomicU32;

use bench_common::futex;
use bench_common::futex_lock::Futex;
use raddle_measure::program;

struct Kernel;

impl Futex for Kernel {
    fn wait(word: &AtomicU32, expected: u32) {
        futex::wait(word, expected);
    }

    fn wake(word: &AtomicU32) {
        futex::wake(word);
    }
}

fn main() -> ExitCode {
    program::main(bench_common::futex_threads::run::<Kernel>)
}

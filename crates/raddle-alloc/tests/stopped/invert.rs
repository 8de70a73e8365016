//! Owns: T4: threads of different priorities on one processor do not starve each other of memory.
//! May use: `work`, `park`, `libc`.
//! Never: a demand for rights: who may not raise a priority has threads lower theirs.
//!
//! The thread of the lowest priority is at work all the time, so that it loses the processor in the middle of calls;
//! those above have to finish. Who waited for it by spinning would never.

use super::{park, work};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

static STARTED: AtomicUsize = AtomicUsize::new(0);
static REAL_TIME: AtomicUsize = AtomicUsize::new(0);

/// Sets the priority of the thread that calls: of real time, or idle.
fn priority(policy: i32, value: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: value };
    // SAFETY: it reads the parameters; 0 is the thread that calls.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

extern "C" fn low(_number: *mut libc::c_void) -> *mut libc::c_void {
    STARTED.fetch_add(1, Ordering::SeqCst); // pairs with the look of `run`
    priority(libc::SCHED_IDLE, 0);
    let mut random = work::Random(77);
    loop {
        work::operation(&mut random, work::Sizes::Mixed);
    }
}

extern "C" fn high(number: *mut libc::c_void) -> *mut libc::c_void {
    if priority(libc::SCHED_FIFO, 10 + number.addr() as i32) {
        REAL_TIME.fetch_add(1, Ordering::Relaxed);
    }
    let mut random = work::Random(number.addr() as u64 * 31 + 5);
    for round in 0..200 {
        (0..200).for_each(|_| work::operation(&mut random, work::Sizes::Mixed));
        // The low one comes to run, and is interrupted somewhere.
        raddle_syscall::sleep(std::time::Duration::from_micros(50 + round % 7));
    }
    number
}

pub(crate) fn run() -> ExitCode {
    park::watchdog();
    // SAFETY: all zeroes is a set.
    let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let ours = raddle_syscall::affinity().expect("a thread has processors");
    let first = (0..1024).find(|number| {
        // SAFETY: within the set.
        unsafe { libc::CPU_ISSET(*number, &ours) }
    });
    // SAFETY: as above.
    unsafe { libc::CPU_SET(first.expect("a thread has a processor"), &mut one) };
    raddle_syscall::set_affinity(&one).expect("one of ours");
    let _lows: Vec<_> = (0..3).map(|number| work::start(low, number)).collect();
    while STARTED.load(Ordering::SeqCst) < 3 {
        // pairs with `low`
        std::thread::yield_now();
    }
    let highs: Vec<_> = (1..4).map(|number| work::start(high, number)).collect();
    highs.into_iter().for_each(work::join);
    println!("priorities: {} of 3 threads of real time", REAL_TIME.load(Ordering::Relaxed));
    work::exit(0)
}

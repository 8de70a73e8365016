//! Owns: T2: threads that a signal stops for ever at random instructions; all others go on.
//! May use: `work`, `libc`, `raddle-alloc`, `raddle-syscall`.
//! Never: a thread that is stopped in the C library: its locks are none of ours.

use super::work::{self, Random, Sizes};
use std::cell::Cell;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(crate) const KINDS: [&str; 4] = ["small", "mixed", "huge", "churn"];

static PARKED: AtomicUsize = AtomicUsize::new(0);
static READY: AtomicUsize = AtomicUsize::new(0);
static CHURNS: AtomicUsize = AtomicUsize::new(0);
static KIND: AtomicUsize = AtomicUsize::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The thread is in a call of the allocator's.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

extern "C" fn stop(_signal: i32) {
    if INSIDE.get() {
        PARKED.fetch_add(1, Ordering::SeqCst); // pairs with the parent's look
        loop {
            raddle_syscall::sleep(std::time::Duration::from_secs(1 << 20));
        }
    }
}

fn sizes() -> Sizes {
    [Sizes::Small, Sizes::Mixed, Sizes::Huge, Sizes::Mixed][KIND.load(Ordering::Relaxed)]
}

extern "C" fn victim(number: *mut libc::c_void) -> *mut libc::c_void {
    let mut random = Random((number.addr() as u64 + 1) * 7919 + SEED.load(Ordering::Relaxed) * 104_729);
    let churns = KIND.load(Ordering::Relaxed) == 3;
    READY.fetch_add(1, Ordering::SeqCst); // pairs with the parent's look
    loop {
        INSIDE.set(true);
        for _ in 0..if churns { 20 } else { 1000 } {
            work::operation(&mut random, sizes());
        }
        // A thread's end as the allocator sees it, and a start with the next operation.
        if churns {
            raddle_alloc::leave_heap();
        }
        INSIDE.set(false);
    }
}

pub(crate) fn run(kind: &str, victims: usize, seed: u64) -> ExitCode {
    KIND.store(KINDS.iter().position(|name| *name == kind).expect("a kind"), Ordering::Relaxed);
    SEED.store(seed, Ordering::Relaxed);
    CHURNS.store(0, Ordering::Relaxed);
    // SAFETY: the handler is async-signal-safe.
    unsafe { libc::signal(libc::SIGUSR1, stop as *const () as libc::sighandler_t) };
    let threads: Vec<_> = (0..victims).map(|number| work::start(victim, number)).collect();
    while READY.load(Ordering::SeqCst) < victims {
        // pairs with the victim's count
        std::thread::yield_now();
    }
    // The victims are at random places by now; how far they have come depends on the machine, and on the seed.
    work::peers(1, 200 + seed % 7 * 500, sizes());
    let mut asked = 0;
    while PARKED.load(Ordering::SeqCst) < victims {
        // pairs with `stop`
        // SAFETY: the threads do not end.
        threads.iter().for_each(|thread| _ = unsafe { libc::pthread_kill(*thread, libc::SIGUSR1) });
        asked += 1;
        std::thread::sleep(std::time::Duration::from_millis(1));
        // Who is between two calls has to come to the next one: it does, but a machine may take its time.
        assert!(asked < 600_000, "the victims are not stopped");
    }
    watchdog();
    work::peers(2, 20_000, sizes());
    work::exit(0)
}

/// Ends the program if it is still there after minutes.
pub(crate) fn watchdog() {
    // SAFETY: the signal ends the program.
    unsafe { libc::alarm(600) };
}

//! Owns: T2: threads that a signal stops for ever at random instructions; all others go on.
//! May use: `witness`, `work`, `libc`, `raddle-alloc`, `raddle-syscall`.
//! Never: a thread that is stopped in the C library beside an allocator's calls: its locks are none of ours.
//!
//! A victim works, and ends where the kind is *churn*: what the allocator does at a thread's end is part of a call. The
//! first thread stops them, and starts new ones for those that have ended; then two peers work, and a third one that is
//! new. Whoever of these gets nothing done while the witness had a second of the processor is frozen.

use super::witness::{self, Watched};
use super::work::{self, Random, Sizes};
use std::cell::Cell;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) const KINDS: [&str; 4] = ["small", "mixed", "huge", "churn"];

const MOST_VICTIMS: usize = 1024;
/// So much does a victim of the kind *churn* do in its life.
const LIFE: u64 = 20;
const PEER_OPERATIONS: u64 = 20_000;

static PARKED: AtomicUsize = AtomicUsize::new(0);
/// As many of those were at work in their heap, which their handler found busy. Of a control it says nothing.
static BUSY: AtomicUsize = AtomicUsize::new(0);
static READY: AtomicUsize = AtomicUsize::new(0);
static STARTED: AtomicU64 = AtomicU64::new(0);
static ENDED: [AtomicBool; MOST_VICTIMS] = [const { AtomicBool::new(false) }; MOST_VICTIMS];
static KIND: AtomicUsize = AtomicUsize::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);
/// The key whose destructor comes after the allocator's: with it a thread's end is over.
static END: AtomicU32 = AtomicU32::new(0);

/// The first thread, and the peers.
static FIRST: Watched = Watched::new();
static PEERS: [Watched; 3] = [const { Watched::new() }; 3];

thread_local! {
    /// The thread is in a call of the allocator's.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

extern "C" fn stop(_signal: i32) {
    if INSIDE.get() {
        if raddle_alloc::is_in_heap() {
            BUSY.fetch_add(1, Ordering::Relaxed);
        }
        PARKED.fetch_add(1, Ordering::SeqCst); // pairs with the first thread's look
        loop {
            raddle_syscall::sleep(Duration::from_secs(1 << 20));
        }
    }
}

fn sizes() -> Sizes {
    [Sizes::Small, Sizes::Mixed, Sizes::Huge, Sizes::Mixed][KIND.load(Ordering::Relaxed)]
}

fn churns() -> bool {
    KIND.load(Ordering::Relaxed) == 3
}

extern "C" fn victim(number: *mut libc::c_void) -> *mut libc::c_void {
    let started = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
    let mut random = Random(started * 7919 + SEED.load(Ordering::Relaxed) * 104_729);
    READY.fetch_add(1, Ordering::SeqCst); // pairs with the first thread's look
    loop {
        INSIDE.set(true);
        for _ in 0..if churns() { LIFE } else { 1000 } {
            work::operation(&mut random, sizes());
        }
        if churns() {
            // SAFETY: the key was made. `ends` runs when the allocator's own destructor has.
            unsafe { libc::pthread_setspecific(END.load(Ordering::Relaxed), number.wrapping_byte_add(1)) };
            return number;
        }
        INSIDE.set(false);
    }
}

extern "C" fn ends(number_and_one: *mut libc::c_void) {
    INSIDE.set(false);
    ENDED[number_and_one.addr() - 1].store(true, Ordering::Release); // pairs with the look of `renew`
}

extern "C" fn peer(number: *mut libc::c_void) -> *mut libc::c_void {
    let watched = &PEERS[number.addr()];
    let mut random = Random((number.addr() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..PEER_OPERATIONS {
        work::operation(&mut random, sizes());
        watched.goes_on();
    }
    watched.ends();
    number
}

/// Peers work, each in a thread that is new, and end.
fn peers(numbers: std::ops::Range<usize>) {
    let mut threads = [0; PEERS.len()];
    numbers.clone().for_each(|number| {
        PEERS[number].goes_on();
        threads[number] = work::start(peer, number);
        FIRST.goes_on();
    });
    numbers.for_each(|number| {
        while PEERS[number].is_awaited() {
            FIRST.goes_on();
            raddle_syscall::sleep(Duration::from_millis(1));
        }
        work::join(threads[number]);
        FIRST.goes_on();
    });
}

/// New victims for those that have ended.
fn renew(threads: &mut [libc::pthread_t]) {
    for (number, thread) in threads.iter_mut().enumerate() {
        // pairs with `ends`
        if ENDED[number].swap(false, Ordering::Acquire) {
            work::join(*thread);
            *thread = work::start(victim, number);
            FIRST.goes_on();
        }
    }
}

/// Stops all victims; those that end meanwhile are replaced.
fn park(threads: &mut [libc::pthread_t]) {
    while PARKED.load(Ordering::SeqCst) < threads.len() {
        // pairs with `stop`
        renew(threads);
        // SAFETY: the threads were not joined.
        threads.iter().for_each(|thread| _ = unsafe { libc::pthread_kill(*thread, libc::SIGUSR1) });
        FIRST.goes_on();
        raddle_syscall::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn run(kind: &str, victims: usize, seed: u64) -> ExitCode {
    KIND.store(KINDS.iter().position(|name| *name == kind).expect("a kind"), Ordering::Relaxed);
    SEED.store(seed, Ordering::Relaxed);
    work::operation(&mut Random(seed + 1), Sizes::Small);
    let mut key = 0;
    // SAFETY: it writes the key. The allocator has made its own before, since this thread has allocated.
    assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(ends)) }, 0);
    END.store(key, Ordering::Relaxed);
    // SAFETY: the handler is async-signal-safe.
    unsafe { libc::signal(libc::SIGUSR1, stop as *const () as libc::sighandler_t) };
    let mut threads: Vec<_> = (0..victims).map(|number| work::start(victim, number)).collect();
    witness::starts([&FIRST, &PEERS[0], &PEERS[1], &PEERS[2]]);
    FIRST.goes_on();
    while READY.load(Ordering::SeqCst) < victims {
        // pairs with the victim's count
        FIRST.goes_on();
        raddle_syscall::sleep(Duration::from_micros(200));
    }
    // The victims are at random places by now; how far they have come depends on the machine, and on the seed.
    raddle_syscall::sleep(Duration::from_micros(200 + seed * 777 % 5000));
    park(&mut threads);
    peers(0..2);
    peers(2..3);
    said("went on")
}

/// The trial's words, and its end. It allocates nothing.
pub(crate) fn said(what: &str) -> ! {
    let (parked, busy) = (PARKED.load(Ordering::Relaxed), BUSY.load(Ordering::Relaxed));
    let mut line = [0_u8; 80];
    let mut left = &mut line[..];
    let _too_long = std::io::Write::write_fmt(&mut left, format_args!("{parked} {busy} {what}\n"));
    let unused = left.len();
    let _told = raddle_syscall::write(1, &line[..line.len() - unused]);
    work::exit(0)
}

/// Ends the program if it is still there after minutes.
pub(crate) fn watchdog() {
    // SAFETY: the signal ends the program.
    unsafe { libc::alarm(600) };
}

//! Owns: T1: one thread is single-stepped through scripts of slow paths; at each instruction, or each so many, it is
//! stopped, and others allocate, free, start and end.
//! May use: `work`, `park`, `libc`, `raddle-alloc`.
//! Never: a step within a system call; the kernel ends what it has begun.
//!
//! The parent of the trial traces one thread of its child, by `ptrace`. At a boundary it writes a byte to the child,
//! whose first thread has peers work, and writes one back: if none comes, somebody waits for the thread that is
//! stopped.
//!
//! A call is lock-free, not wait-free: a thread that is stopped between the load and the exchange of a loop, each time,
//! with others at work in between, never leaves the loop. The scripts are stepped through once without others, so that
//! one that takes far more instructions than that is noticed; it is let through such a loop, and this is told.

use super::{park, work};
use raddle_alloc::{allocate, allocate_aligned, free, leave_heap, purge, reallocate};
use std::process::ExitCode;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// A path: its name, what is done before the thread is traced, and what is stepped through.
pub(crate) struct Script(pub(crate) &'static str, fn(), fn());

static KEPT: [AtomicPtr<u8>; 8192] = [const { AtomicPtr::new(ptr::null_mut()) }; 8192];

fn keep(from: usize, to: usize, size: usize) {
    KEPT[from..to].iter().for_each(|slot| slot.store(allocate(size), Ordering::Relaxed));
}

fn drop_kept(from: usize, to: usize) {
    // SAFETY: what is there is ours.
    KEPT[from..to].iter().for_each(|slot| unsafe { free(slot.swap(ptr::null_mut(), Ordering::Relaxed)) });
}

/// Blocks that another thread has allocated, and whose pages it has left.
fn keep_of_another(size: usize) {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn keeps(number: *mut libc::c_void) -> *mut libc::c_void {
        keep(0, 4000, SIZE.load(Ordering::Relaxed));
        number
    }
    SIZE.store(size, Ordering::Relaxed);
    work::join(work::start(keeps, 0));
}

fn one(size: usize, align: usize) {
    // SAFETY: ours.
    unsafe { free(allocate_aligned(size, align)) };
}

fn grows(from: usize, to: usize) {
    let block = allocate(from);
    // SAFETY: ours.
    let block = unsafe { reallocate(block, to, 16) };
    // SAFETY: ours.
    unsafe { free(block) };
}

pub(crate) const SCRIPTS: [Script; 13] = [
    Script("first allocation", leave_heap, || one(100, 16)),
    Script("refill", || keep(0, 100, 64), || keep(100, 400, 64)),
    Script("new page", || keep(0, 10, 8000), || keep(10, 30, 8000)),
    Script("medium page", || one(40_000, 16), || keep(0, 20, 40_000)),
    Script("new arena", || keep(0, 1, 15 << 20), || keep(1, 5, 14 << 20)),
    Script("flush to own pages", || keep(0, 600, 64), || drop_kept(0, 600)),
    Script("give back to pages of nobody", || keep_of_another(64), || drop_kept(0, 1200)),
    Script(
        "give back scattered",
        || keep_of_another(1000),
        || (0..500).for_each(|at| drop_kept(at * 8, at * 8 + 1)),
    ),
    Script("leave", || keep(0, 2000, 200), leave_heap),
    Script(
        "adopt",
        || {
            keep_of_another(300);
            drop_kept(0, 100);
        },
        || {
            leave_heap();
            keep(0, 50, 300);
        },
    ),
    Script(
        "large, aligned",
        || one(1, 16),
        || {
            one(200_000, 16);
            one(70_000, 1 << 20);
            one(1000, 4096);
        },
    ),
    Script(
        "huge",
        || one(1, 16),
        || {
            one(40 << 20, 16);
            grows(17 << 20, 40 << 20);
        },
    ),
    Script(
        "grow, shrink, purge",
        || one(1, 16),
        || {
            grows(100, 5000);
            grows(100_000, 400_000);
            grows(400_000, 100_000);
            let _bytes = purge();
        },
    ),
];

/// The victim's number at the kernel, once it is ready; the child's peers stop it by nothing.
static VICTIM: AtomicI32 = AtomicI32::new(0);
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn victim(_number: *mut libc::c_void) -> *mut libc::c_void {
    let Script(_, prepare, act) = &SCRIPTS[CHOSEN.load(Ordering::Relaxed)];
    prepare();
    VICTIM.store(raddle_syscall::thread_number(), Ordering::Release); // pairs with the child's look
    // The tracer stops it here, and says so by the signal that it delivers.
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: it makes the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the set is made.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGUSR2) };
    let mut number = 0;
    // SAFETY: as above.
    unsafe { libc::sigwait(set.as_ptr(), &raw mut number) };
    act();
    // The tracer hears of the end.
    work::exit(0)
}

/// The child: starts the victim, then has peers work whenever it is told to.
fn child(read: i32, write: i32) -> ! {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: it makes the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the set is made.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGUSR2) };
    // SAFETY: as above; the victim inherits it.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut()) };
    let _victim = work::start(victim, 0);
    let number = loop {
        match VICTIM.load(Ordering::Acquire) {
            // pairs with the victim's store
            0 => std::thread::yield_now(),
            number => break number,
        }
    };
    let _told = raddle_syscall::write(write, &number.to_ne_bytes());
    let mut byte = [0_u8];
    loop {
        // SAFETY: the buffer is ours.
        if unsafe { libc::read(read, byte.as_mut_ptr().cast(), 1) } != 1 {
            work::exit(0);
        }
        work::peers(1, 300, work::Sizes::Mixed);
        let _told = raddle_syscall::write(write, &byte);
    }
}

fn pipe() -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: it writes both.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    ends
}

/// Waits for the traced thread to stop; its status.
fn stopped(thread: i32) -> i32 {
    let mut status = 0;
    // SAFETY: it writes the status. Of a thread that has ended nothing may be left to be told: that is 0.
    unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) };
    status
}

fn trace(request: u32, thread: i32, data: usize) -> bool {
    // SAFETY: none of these requests touches memory of ours.
    let answer = unsafe { libc::ptrace(request, thread, 0_usize, data) };
    answer == 0
}

/// Reads bytes of the child; false if it has ended, or none came in minutes.
fn hears(read: i32, bytes: &mut [u8]) -> bool {
    let mut file = [libc::pollfd { fd: read, events: libc::POLLIN, revents: 0 }];
    let ready = raddle_syscall::poll(&mut file, Some(std::time::Duration::from_secs(300)));
    // SAFETY: the buffer is ours.
    ready == Ok(1)
        && unsafe { libc::read(read, bytes.as_mut_ptr().cast(), bytes.len()) } == bytes.len() as isize
}

pub(crate) fn run(script: &str, every: usize) -> ExitCode {
    let chosen = SCRIPTS.iter().position(|known| known.0 == script).expect("a script");
    CHOSEN.store(chosen, Ordering::Relaxed);
    // Without others first: what it takes then.
    let Some(alone) = traced(script, usize::MAX, usize::MAX) else { return ExitCode::SUCCESS };
    if let Some(walk) = traced(script, every, alone.steps * 3 + 1000) {
        let Walk { steps, boundaries, let_through } = walk;
        println!(
            "{script}: {} instructions alone, {steps} with others at {boundaries} boundaries; let through {let_through} \
             times",
            alone.steps
        );
    }
    ExitCode::SUCCESS
}

/// Steps through the chosen script in a new process; `None` if that cannot be done here.
fn traced(script: &str, every: usize, patience: usize) -> Option<Walk> {
    let (to, from) = (pipe(), pipe());
    // SAFETY: this program has one thread.
    let process = unsafe { libc::fork() };
    if process == 0 {
        child(to[0], from[1]);
    }
    let mut number = [0; 4];
    assert!(hears(from[0], &mut number), "the child does not start");
    let victim = i32::from_ne_bytes(number);
    if !trace(libc::PTRACE_SEIZE, victim, 0) {
        eprintln!("{script}: this machine lets nobody trace; left out");
        end(process);
        return None;
    }
    // It waits for a signal, or is about to. It is stopped there first: with the signal it would run, perhaps to its
    // end.
    assert!(trace(libc::PTRACE_INTERRUPT, victim, 0));
    stopped(victim);
    // SAFETY: the thread is there.
    unsafe { libc::syscall(libc::SYS_tgkill, process, victim, libc::SIGUSR2) };
    let walk = walk(victim, (every, patience), to[1], from[0], script);
    end(process);
    Some(walk)
}

/// What a script has taken.
#[derive(Default)]
struct Walk {
    steps: usize,
    /// At so many instructions others worked.
    boundaries: usize,
    /// So often the thread was let run a few instructions, since others kept it in a loop.
    let_through: usize,
}

/// Steps to the end of the script.
fn walk(victim: i32, (every, patience): (usize, usize), write: i32, read: i32, script: &str) -> Walk {
    /// Longer than any loop around an exchange.
    const LET: usize = 100;
    const LET_EACH: usize = 128;
    let mut walk = Walk::default();
    let mut free_until = 0;
    loop {
        assert!(trace(libc::PTRACE_SINGLESTEP, victim, 0), "{script}: it cannot be stepped");
        if !libc::WIFSTOPPED(stopped(victim)) {
            return walk;
        }
        walk.steps += 1;
        if walk.steps > patience && walk.steps.is_multiple_of(LET_EACH) {
            free_until = walk.steps + LET;
            walk.let_through += 1;
        }
        if walk.steps >= free_until && walk.steps.is_multiple_of(every) {
            walk.boundaries += 1;
            let _told = raddle_syscall::write(write, b"x");
            if !hears(read, &mut [0]) {
                eprintln!(
                    "{script}: others wait for a thread that is stopped after {} instructions",
                    walk.steps
                );
                work::exit(1);
            }
        }
    }
}

fn end(process: i32) {
    // SAFETY: it is our child.
    unsafe { libc::kill(process, libc::SIGKILL) };
    park::watchdog();
    let mut status = 0;
    // SAFETY: it writes the status.
    unsafe { libc::waitpid(process, &raw mut status, libc::__WALL) };
    // SAFETY: it takes back what `watchdog` has ordered.
    unsafe { libc::alarm(0) };
}

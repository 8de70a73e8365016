//! Owns: `Seat`, what is known of an OS thread that the runtime knows: its number, what it is, in what call it sleeps.
//! May use: a lock of the standard library, when an OS thread comes or goes.
//! Never: freeing a seat: a signal that comes late may still look at it.
//!
//! Workers, spare OS threads and our helpers take a seat when they begin. An OS thread of the program takes one when
//! it first waits in a call of ours. Seats are used again, and never freed.
//!
//! | field | who may touch it |
//! |---|---|
//! | `os_thread`, `kind`, `worker`, `address` | written under the lock of the list, by who sits down or gets up |
//! | `sleeps`, `wait` | the OS thread itself; anybody reads |
//! | `arrived`, `running`, where it was interrupted | the signal handler on it (see `stop`); who has stopped it reads |

use crate::orphan;
use crate::wait::Wait;
use crate::worker::Worker;
use raddle_context::walk::{Interrupted, REGISTERS};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::gate::Arrived;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an OS thread is to the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Sitter {
    /// Runs runnables.
    Worker,
    /// Makes calls that block; its pool says whether it does now.
    Spare,
    /// Watches, or writes a trace. Wakes nobody.
    Helper,
    /// One of the program's own.
    Outside,
}

/// One OS thread. See the module for who may touch what.
#[derive(Debug)]
pub(crate) struct Seat {
    os_thread: AtomicI32,
    kind: AtomicU8,
    worker: AtomicPtr<Worker>,
    /// By which a lock knows it as its holder.
    address: AtomicPtr<()>,
    /// Odd while it sleeps, without a deadline, until somebody wakes it.
    sleeps: AtomicU64,
    wait: AtomicPtr<Wait<'static>>,
    pub(super) arrived: Arrived,
    pub(super) running: AtomicPtr<Header>,
    /// Where it was interrupted.
    interrupted_at: AtomicUsize,
    registers: [AtomicUsize; REGISTERS],
    /// Of a worker, and of one of the program's own: its stack.
    stack: [AtomicUsize; 2],
}

static SEATS: Mutex<Vec<&'static Seat>> = Mutex::new(Vec::new());

/// Holds the list: nobody sits down or gets up.
pub(crate) type Seats = MutexGuard<'static, Vec<&'static Seat>>;

/// Locks the list.
pub(crate) fn seats() -> Seats {
    SEATS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In a forked child: none of these OS threads is there.
pub(crate) fn forget(seats: &mut Seats) {
    seats.clear();
}

/// The right to a seat, until the OS thread ends.
pub struct Seated {
    seat: &'static Seat,
    generation: u64,
}

impl Seat {
    fn empty() -> Seat {
        Seat {
            os_thread: AtomicI32::new(0),
            kind: AtomicU8::new(Sitter::Outside as u8),
            worker: AtomicPtr::new(std::ptr::null_mut()),
            address: AtomicPtr::new(std::ptr::null_mut()),
            sleeps: AtomicU64::new(0),
            wait: AtomicPtr::new(std::ptr::null_mut()),
            arrived: Arrived::nowhere(),
            running: AtomicPtr::new(std::ptr::null_mut()),
            interrupted_at: AtomicUsize::new(0),
            registers: [const { AtomicUsize::new(0) }; REGISTERS],
            stack: [const { AtomicUsize::new(0) }; 2],
        }
    }

    /// The kernel's number of the OS thread; 0 if nobody sits here.
    pub(crate) fn os_thread(&self) -> i32 {
        self.os_thread.load(Ordering::Relaxed)
    }

    pub(crate) fn is(&self, kind: Sitter) -> bool {
        self.kind.load(Ordering::Relaxed) == kind as u8
    }

    /// By which a lock knows it as its holder.
    pub(super) fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed).addr()
    }

    /// The worker that sits here, by its address.
    pub(super) fn worker(&self) -> *const Worker {
        self.worker.load(Ordering::Relaxed)
    }

    /// If it sleeps until somebody wakes it: the number of this sleep.
    pub(super) fn sleeps(&self) -> Option<u64> {
        // Acquire pairs with the release in `Asleep::new`: what the sleeper did before is seen.
        Some(self.sleeps.load(Ordering::Acquire)).filter(|sleeps| sleeps % 2 == 1)
    }

    /// By the handler: where the OS thread was, and with which registers.
    pub(super) fn note(&self, interrupted: &Interrupted) {
        self.interrupted_at.store(interrupted.address, Ordering::Relaxed);
        for (place, register) in self.registers.iter().zip(interrupted.registers) {
            place.store(register, Ordering::Relaxed);
        }
    }

    /// What the handler has noted.
    pub(super) fn interrupted(&self) -> Interrupted {
        let registers = std::array::from_fn(|at| self.registers[at].load(Ordering::Relaxed));
        Interrupted { address: self.interrupted_at.load(Ordering::Relaxed), registers }
    }

    /// Of a worker, and of one of the program's own: its stack.
    pub(super) fn stack(&self) -> Range<usize> {
        self.stack[0].load(Ordering::Relaxed)..self.stack[1].load(Ordering::Relaxed)
    }

    /// What it has said that it waits for. To be followed only if it certainly sleeps.
    pub(super) fn wait(&self) -> *const Wait<'static> {
        self.wait.load(Ordering::Relaxed)
    }
}

impl Seated {
    /// The calling OS thread, which is no worker, sits down.
    pub fn here(kind: Sitter) -> Seated {
        Seated::at(kind, std::ptr::null())
    }

    /// The calling OS thread, which is about to be this worker, sits down.
    pub(crate) fn worker(worker: &Worker) -> Seated {
        Seated::at(Sitter::Worker, worker)
    }

    fn at(kind: Sitter, worker: *const Worker) -> Seated {
        // SAFETY: touches no memory of ours.
        let os_thread = unsafe { libc::gettid() };
        let mut seats = seats();
        let free = seats.iter().copied().find(|seat| seat.os_thread() == 0);
        let seat = free.unwrap_or_else(|| {
            let new: &'static Seat = Box::leak(Box::new(Seat::empty()));
            seats.push(new);
            new
        });
        seat.kind.store(kind as u8, Ordering::Relaxed);
        seat.worker.store(worker.cast_mut(), Ordering::Relaxed);
        seat.address.store(crate::wait::who_runs().0, Ordering::Relaxed);
        seat.wait.store(std::ptr::null_mut(), Ordering::Relaxed);
        seat.arrived.forget();
        let has_frames = matches!(kind, Sitter::Worker | Sitter::Outside);
        let stack = if has_frames { own_stack() } else { 0..0 };
        seat.stack[0].store(stack.start, Ordering::Relaxed);
        seat.stack[1].store(stack.end, Ordering::Relaxed);
        seat.os_thread.store(os_thread, Ordering::Relaxed);
        Seated { seat, generation: orphan::generation() }
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        if self.generation == orphan::generation() {
            let _nobody_looks = seats();
            self.seat.os_thread.store(0, Ordering::Relaxed);
        }
    }
}

/// The program's first stack, if the calling OS thread is the one that has it. The C library would read a list of all
/// mappings for it (PERF: 50 us).
#[cfg(target_env = "gnu")]
fn first_stack() -> Option<Range<usize>> {
    // SAFETY: the loader exports it under that name and with that type, for debuggers among others.
    unsafe extern "C" {
        /// Where the program's first stack began, as glibc's loader found it.
        #[link_name = "__libc_stack_end"]
        static STACK_END: *const u8;
    }
    // SAFETY: touches no memory of ours.
    let thread = unsafe { libc::gettid() };
    // SAFETY: as above.
    if thread != unsafe { libc::getpid() } || orphan::generation() != 0 {
        return None;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the limits.
    if unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } != 0 {
        return None;
    }
    // SAFETY: written before the program began.
    let end = unsafe { STACK_END }.addr();
    let bytes = usize::try_from(limit.rlim_cur).ok().filter(|&bytes| bytes < end)?;
    let here = std::ptr::from_ref(&limit).addr();
    (end - bytes..end).contains(&here).then_some(end - bytes..end)
}

#[cfg(not(target_env = "gnu"))]
fn first_stack() -> Option<Range<usize>> {
    None
}

/// The stack of the calling OS thread, on which it runs; empty if it is not known.
fn own_stack() -> Range<usize> {
    if let Some(first) = first_stack() {
        return first;
    }
    // SAFETY: all zeroes is a value of this struct.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: touches no memory of ours.
    let own = unsafe { libc::pthread_self() };
    // SAFETY: writes the attributes, which are destroyed below.
    if unsafe { libc::pthread_getattr_np(own, &raw mut attributes) } != 0 {
        return 0..0;
    }
    let (mut begin, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: reads the attributes, and writes the two.
    let known = unsafe { libc::pthread_attr_getstack(&raw const attributes, &raw mut begin, &raw mut bytes) };
    // SAFETY: made above.
    unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
    if known == 0 { begin.addr()..begin.addr() + bytes } else { 0..0 }
}

thread_local! {
    static OWN: RefCell<Option<Seated>> = const { RefCell::new(None) };
}

/// The seat of the calling OS thread of the program; it takes one if it has none. None if it is about to end.
fn own_seat() -> Option<&'static Seat> {
    let find = |own: &RefCell<Option<Seated>>| {
        let mut own = own.try_borrow_mut().ok()?;
        let valid = own.as_ref().is_some_and(|seated| seated.generation == orphan::generation());
        if !valid {
            *own = Some(Seated::here(Sitter::Outside));
        }
        own.as_ref().map(|seated| seated.seat)
    };
    OWN.try_with(find).ok().flatten()
}

/// The calling OS thread of the program shows what it waits for. Returns what it showed before.
pub(crate) fn show_outside(wait: *const Wait<'static>) -> *const Wait<'static> {
    own_seat().map_or(std::ptr::null(), |seat| seat.wait.swap(wait.cast_mut(), Ordering::Relaxed))
}

/// How many OS threads have been woken, and how many of them have noticed.
static WOKEN: AtomicU64 = AtomicU64::new(0);
static NOTICED: AtomicU64 = AtomicU64::new(0);

/// How often an OS thread of the program has gone to sleep without a deadline.
static LAIN_DOWN: AtomicU64 = AtomicU64::new(0);

/// A number that is another when one more has gone to sleep.
pub(super) fn lain_down() -> u64 {
    // Acquire pairs with the release in `Asleep::new`: who is counted is seen asleep.
    LAIN_DOWN.load(Ordering::Acquire)
}

/// An OS thread that sleeps is about to be woken.
pub(crate) fn note_wake() {
    // Release pairs with the acquire in `wakes`.
    WOKEN.fetch_add(1, Ordering::Release);
}

/// How many wakes there have been, if each of them has been noticed.
pub(super) fn wakes() -> Option<u64> {
    // Acquire pairs with the releases of both counts: who has noticed one has been woken before.
    let noticed = NOTICED.load(Ordering::Acquire);
    // Acquire pairs with the release in `note_wake`.
    (WOKEN.load(Ordering::Acquire) == noticed).then_some(noticed)
}

/// Marks an OS thread of the program as one that sleeps until somebody wakes it.
pub(crate) struct Asleep(Option<&'static Seat>);

impl Asleep {
    /// The calling OS thread goes to sleep, without a deadline if `for_good`.
    pub(crate) fn new(for_good: bool) -> Asleep {
        let seat = (for_good && crate::worker::current_header().is_null()).then(own_seat).flatten();
        if let Some(seat) = seat {
            // Release pairs with the acquire in `Seat::sleeps`.
            seat.sleeps.fetch_add(1, Ordering::Release);
            // Perhaps the last that could have woken anybody. Release pairs with the acquire in `lain_down`.
            LAIN_DOWN.fetch_add(1, Ordering::Release);
            super::watch::note_change();
        }
        Asleep(seat)
    }

    /// It has been woken.
    pub(crate) fn woken(self) {
        drop(self);
        // Release pairs with the acquire in `wakes`: it is not seen as one that sleeps any more.
        NOTICED.fetch_add(1, Ordering::Release);
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        if let Some(seat) = self.0 {
            // Release pairs with the acquire in `Seat::sleeps`.
            seat.sleeps.fetch_add(1, Ordering::Release);
        }
    }
}

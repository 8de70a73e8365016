//! Owns: `ThreadRecord`, what is kept of each thread; finding one by a `pthread_t`.
//! May use: `libc`, `raddle-core`.
//! Never: a table: a record lies in the thread's own storage.
//!
//! The library is preloaded, so its thread-local variables lie at the same distance from every thread's pointer: who
//! knows a `pthread_t` knows where that thread's record is. The storage of a thread of ours stays until it has been
//! joined, and is never given back to the C library; so a record of one who is gone can still be read, and says so.

use raddle_core::wait::who_runs;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::ptr::{null_mut, with_exposed_provenance};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Of a thread. All zeroes for an OS thread that the library has not made.
pub(crate) struct ThreadRecord {
    /// Its own `pthread_t` while it may be joined or runs: then it is a thread of ours.
    pub(crate) own: AtomicUsize,
    /// The right to join it, as a word; null when somebody has taken it, or nobody will.
    pub(crate) right: AtomicPtr<c_void>,
    /// [`JOINABLE`], [`DETACHED`], or [`JOINING`]: somebody waits for its end.
    pub(crate) state: AtomicU32,
    /// 1 when it has ended; who joins it waits here.
    pub(crate) ended: AtomicU32,
    /// Bits of `cancel`.
    pub(crate) cancel: AtomicU32,
    /// The address of the word at which it waits, if a cancellation ends that.
    pub(crate) waits_at: AtomicUsize,
    /// The descriptor for which it waits, and one more; 0 if for none.
    pub(crate) waits_for: AtomicI32,
    /// Its number, as `gettid` has it.
    pub(crate) number: AtomicI32,
    /// Its name.
    pub(crate) name: [AtomicU8; 16],
    /// The innermost clean-up of the old kind: see `cleanup`.
    pub(crate) cleanups: Cell<*mut c_void>,
    /// What is unwound by when it ends from within.
    pub(crate) exception: UnsafeCell<[u64; 8]>,
    /// The signals that it believes to block.
    pub(crate) blocked: AtomicU64,
    /// How many handlers have run for it, and how many of those end what can be begun again.
    pub(crate) signals: AtomicU32,
    pub(crate) breaks: AtomicU32,
    /// The signals that other threads have sent to this one, and whose handlers have not begun: see `handlers`.
    pub(crate) sent: AtomicU64,
    /// The address of a robust mutex that it holds, which has that of the next; 0 if it holds none.
    pub(crate) robust: AtomicUsize,
    /// The OS thread in which it blocks, if a handler is to end that.
    pub(crate) away: AtomicI32,
    /// What reports know it by: its control block. Null before it has run.
    pub(crate) block: AtomicPtr<()>,
    /// How it was made: the size of its guard.
    pub(crate) guard: AtomicUsize,
    /// The processors to which it was bound, in words; all zero if to none: see `scheduling`.
    pub(crate) processors: [AtomicU64; PROCESSOR_WORDS],
    /// Its scheduling class, and its priority there.
    pub(crate) class: AtomicU8,
    pub(crate) priority: AtomicU8,
    /// Whether these are what it was made with, or later ones.
    pub(crate) is_scheduled: AtomicU8,
}

/// Enough for 256 processors.
pub(crate) const PROCESSOR_WORDS: usize = 4;

pub(crate) const JOINABLE: u32 = 0;
pub(crate) const DETACHED: u32 = 1;
pub(crate) const JOINING: u32 = 2;

#[repr(align(16))]
struct Aligned(ThreadRecord);

thread_local! {
    static RECORD: Aligned = const {
        Aligned(ThreadRecord {
            own: AtomicUsize::new(0),
            right: AtomicPtr::new(null_mut()),
            state: AtomicU32::new(JOINABLE),
            ended: AtomicU32::new(0),
            cancel: AtomicU32::new(0),
            waits_at: AtomicUsize::new(0),
            waits_for: AtomicI32::new(0),
            number: AtomicI32::new(0),
            name: [const { AtomicU8::new(0) }; 16],
            cleanups: Cell::new(null_mut()),
            exception: UnsafeCell::new([0; 8]),
            blocked: AtomicU64::new(0),
            signals: AtomicU32::new(0),
            breaks: AtomicU32::new(0),
            sent: AtomicU64::new(0),
            robust: AtomicUsize::new(0),
            away: AtomicI32::new(0),
            block: AtomicPtr::new(null_mut()),
            guard: AtomicUsize::new(0),
            processors: [const { AtomicU64::new(0) }; PROCESSOR_WORDS],
            class: AtomicU8::new(0),
            priority: AtomicU8::new(0),
            is_scheduled: AtomicU8::new(0),
        })
    };
}

/// How far the record lies from a thread's pointer.
fn distance() -> usize {
    static DISTANCE: AtomicUsize = AtomicUsize::new(0);
    let known = DISTANCE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let here = RECORD.with(|record| (&raw const record.0).expose_provenance());
    // The C library's: a library of the program's may ask before there is a runtime, which knows.
    // SAFETY: no preconditions.
    let distance = here.wrapping_sub(unsafe { libc::pthread_self() } as usize);
    DISTANCE.store(distance, Ordering::Relaxed);
    distance
}

/// The record of a thread that was just made, or of one that has not been joined.
///
/// # Safety
/// `thread` is the descriptor of a thread whose storage is there.
pub(crate) unsafe fn at(thread: usize) -> &'static ThreadRecord {
    let record = with_exposed_provenance::<ThreadRecord>(thread.wrapping_add(distance()));
    // SAFETY: the caller's; all but the cells, which are its thread's alone, is atomic.
    unsafe { &*record }
}

/// The record of a thread of ours that has not been joined. None for all others, and for nonsense that is zero.
pub(crate) fn of(thread: libc::pthread_t) -> Option<&'static ThreadRecord> {
    if thread == 0 {
        return None;
    }
    // SAFETY: the caller of C's vouches for its thread, and that of one of ours is never unmapped.
    let record = unsafe { at(thread as usize) };
    (record.own.load(Ordering::Relaxed) == thread as usize).then_some(record)
}

/// The caller's, if it is a thread of ours.
#[inline]
pub(crate) fn here() -> Option<&'static ThreadRecord> {
    let record = RECORD.with(|record| &raw const record.0);
    // SAFETY: this thread's own, which stays as long as it runs.
    let record = unsafe { &*record };
    (record.own.load(Ordering::Relaxed) != 0).then_some(record)
}

impl ThreadRecord {
    /// Which `pthread_t` this is of.
    pub(crate) fn thread(&self) -> usize {
        self.own.load(Ordering::Relaxed)
    }

    /// Begins a life, by the thread itself.
    pub(crate) fn begin(&self, thread: usize) {
        static NUMBERS: AtomicI32 = AtomicI32::new(0);
        /// Above all numbers of the kernel's.
        const FIRST: i32 = 1 << 22;
        self.number.store(FIRST + NUMBERS.fetch_add(1, Ordering::Relaxed) % FIRST, Ordering::Relaxed);
        self.block.store(who_runs().0, Ordering::Relaxed);
        self.own.store(thread, Ordering::Relaxed);
    }
}

/// What else is to be done as a thread ends: said by `mutex`, before the first robust one.
pub(crate) static AT_END: OnceLock<fn(&ThreadRecord)> = OnceLock::new();

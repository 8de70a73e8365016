//! Owns: sleeping at a word and waking who sleeps; deadlines; waits that a cancellation ends.
//! May use: `libc`, `raddle-context`, `raddle-core`, `raddle-syscall`.
//! Never: a queue of its own.

use crate::thread::record::{self, ThreadRecord};
use crate::thread::told::ToldWait;
use crate::thread::{cancel, handlers};
use raddle_context::firm::is_firm;
use raddle_core::door::futex::{self, ANY, FutexWord, WaitOutcome};
use raddle_core::door::tick;
use raddle_core::wait::park::may_wait;
use std::ffi::c_int;
use std::panic::Location;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Sleeps while the word has this value, for what is told; false when the time has passed. For no reason, too.
#[inline]
#[track_caller]
pub(crate) fn sleep<W: FutexWord>(word: &W, seen: W::Value, until: Option<Instant>, told: &ToldWait) -> bool {
    if must_stay() {
        stay(word, seen, until);
        return until.is_none_or(|until| Instant::now() < until);
    }
    let Some(here) = record::here() else { return futex_sleep(word, seen, until, told) };
    // Who kicks does so again: no order is needed.
    here.waits_at.store(std::ptr::from_ref(word).addr(), Ordering::Relaxed);
    let in_time = handlers::has_arrived(here) || futex_sleep(word, seen, until, told);
    here.waits_at.store(0, Ordering::Relaxed);
    if handlers::has_arrived(here) {
        handlers::run_arrived(here, null_mut());
    }
    in_time
}

/// Whether the caller is the runtime itself, by an allocator of the program's for which the C library has asked: it
/// waits on its OS thread. It is not the holder's, or that holder waits in turn, and is woken elsewhere.
pub(crate) fn must_stay() -> bool {
    is_firm() || !may_wait()
}

/// Where the caller has tried in vain, or often: lets others run if its time slice is over.
///
/// PERF: inlined, the first look of `must_stay`, a call for a thread's variable, came before the question how often: 2
/// of the 10 ns of a mutex.
#[cold]
#[inline(never)]
pub(crate) fn let_others_run() {
    if !must_stay() {
        tick::yield_if_due();
    }
}

/// OS threads that sleep in the kernel at a word of the program's.
static STAYING: AtomicU32 = AtomicU32::new(0);

/// Sleeps in the kernel while the word has this value; also for no reason. Without a look at a clock or a word until
/// then: who watches sees that this worker stands, and has an extra one take what waits behind it, the holder of an
/// allocator's lock, say.
#[cold]
fn stay<W: FutexWord>(word: &W, seen: W::Value, until: Option<Instant>) {
    const AT_MOST: Duration = Duration::from_millis(50);
    const { assert!(cfg!(target_endian = "little")) };
    let left = until.map_or(AT_MOST, |until| until.saturating_duration_since(Instant::now()).min(AT_MOST));
    STAYING.fetch_add(1, Ordering::SeqCst); // pairs with the load in `wake`
    // SAFETY: the lower half of the word, which only the kernel reads as such.
    let low = unsafe { AtomicU32::from_ptr(std::ptr::from_ref(word).cast_mut().cast()) };
    raddle_syscall::futex_wait(low, W::low(seen), Some(left));
    STAYING.fetch_sub(1, Ordering::Relaxed);
}

/// As [`sleep`] of who [must stay](must_stay), by a futex of the program's: what wakes it wakes those of the scheduler
/// first, so that it looks again by itself.
pub(crate) fn stay_at(word: &AtomicU32, seen: u32) {
    stay(word, seen, None);
}

#[inline]
#[track_caller]
fn futex_sleep<W: FutexWord>(word: &W, seen: W::Value, until: Option<Instant>, told: &ToldWait) -> bool {
    futex::wait_in(word, seen, until, (told.call, told, Location::caller())) != WaitOutcome::TimedOut
}

/// How a cancellation point's wait has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointEnd {
    /// By a wake, since the word has changed, or for no reason.
    Woken,
    TimedOut,
    /// By a handler of a signal.
    Interrupted,
    /// The caller is to be cancelled, which is its affair.
    Cancelled,
}

/// Which handlers end a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handlers {
    None,
    /// Those that were not installed with `SA_RESTART`.
    Breaking,
    All,
    /// All; also one that has run since the caller's number of signals was this.
    Since(u32),
}

/// As [`sleep`], and ends when the caller is to be cancelled, or a handler has run for it.
#[track_caller]
pub(crate) fn sleep_at_point(
    word: &AtomicU32,
    seen: u32,
    until: Option<Instant>,
    (handlers, told): (Handlers, &ToldWait),
) -> PointEnd {
    let can_end = |here: &ThreadRecord| handlers != Handlers::None || !cancel::is_disabled(here);
    let Some(here) = record::here().filter(|here| can_end(here)) else {
        return if sleep(word, seen, until, told) { PointEnd::Woken } else { PointEnd::TimedOut };
    };
    let address = std::ptr::from_ref(word).addr();
    let run = || match handlers {
        Handlers::None => 0,
        Handlers::Breaking => here.breaks.load(Ordering::SeqCst), // pairs with the additions in `note`
        Handlers::All | Handlers::Since(_) => here.signals.load(Ordering::SeqCst), // pairs with the same
    };
    let before = if let Handlers::Since(seen) = handlers { seen } else { run() };
    here.waits_at.store(address, Ordering::SeqCst); // pairs with the load in `cancel::cancel`
    let is_over = || cancel::is_wanted(here) || run() != before || handlers::has_arrived(here);
    let in_time = is_over() || futex_sleep(word, seen, until, told);
    // Who reads the address still wakes nobody here, and looks again.
    here.waits_at.store(0, Ordering::Relaxed);
    if handlers::has_arrived(here) {
        handlers::run_arrived(here, null_mut());
    }
    if cancel::is_wanted(here) {
        PointEnd::Cancelled
    } else if run() != before {
        PointEnd::Interrupted
    } else if in_time {
        PointEnd::Woken
    } else {
        PointEnd::TimedOut
    }
}

/// Wakes so many of those who sleep at the word, which may be gone.
#[inline]
pub(crate) fn wake<W: FutexWord>(word: *const W, count: u32) -> u32 {
    let woken = futex::wake(word, count, ANY);
    // Pairs with the addition in `stay`. Who stores to the word by no locked instruction may miss a sleeper; that one
    // looks again by itself.
    if STAYING.load(Ordering::SeqCst) > 0 {
        wake_who_stays(word.cast());
    }
    woken
}

#[cold]
fn wake_who_stays(word: *const AtomicU32) {
    raddle_syscall::futex_wake(word, i32::MAX as u32);
}

/// A span of time of C's; `EINVAL` if it is none.
pub(crate) fn span(time: &libc::timespec) -> Result<Duration, c_int> {
    let nanoseconds = u32::try_from(time.tv_nsec).ok().filter(|&nanoseconds| nanoseconds < 1_000_000_000);
    let seconds = u64::try_from(time.tv_sec).ok();
    seconds.zip(nanoseconds).map(|(seconds, rest)| Duration::new(seconds, rest)).ok_or(libc::EINVAL)
}

/// When it is `time` by `clock`; `EINVAL` if that is no time, or no clock that one can wait by. A time before the
/// epoch has passed.
pub(crate) fn until(clock: libc::clockid_t, time: &libc::timespec) -> Result<Option<Instant>, c_int> {
    if !(0..1_000_000_000).contains(&time.tv_nsec) {
        return Err(libc::EINVAL);
    }
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    if unsafe { libc::clock_gettime(clock, &raw mut now) } != 0 {
        return Err(libc::EINVAL);
    }
    let nanoseconds =
        |time: &libc::timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    let left = (nanoseconds(time) - nanoseconds(&now)).max(0);
    let left = Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX));
    Ok(futex::deadline(left))
}

/// Whether this is a time by one of the two clocks of `clockwait` and `clocklock`.
pub(crate) fn is_time(clock: libc::clockid_t, time: &libc::timespec) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC)
        && (0..1_000_000_000).contains(&time.tv_nsec)
}

/// As [`until`] for those two clocks.
pub(crate) fn until_by(clock: libc::clockid_t, time: &libc::timespec) -> Result<Option<Instant>, c_int> {
    if is_time(clock, time) { until(clock, time) } else { Err(libc::EINVAL) }
}

/// A short wait for one who is in the middle of something.
pub(crate) fn breathe(times: &mut u32) {
    *times += 1;
    if *times < 100 {
        std::hint::spin_loop();
    } else if must_stay() {
        raddle_syscall::yield_processor();
    } else {
        raddle_core::door::thread::yield_now();
    }
}

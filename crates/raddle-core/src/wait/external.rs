//! Owns: how an OS thread that is no worker waits for one of ours, and is woken.
//! May use: `block::current`, `os_thread::sleep`, `report`, `worker::choice`, `worker::lent`,
//! `libc`, `raddle-protocol`.
//! Never: a queue.
//!
//! An OS thread that waits looks to its waker like anything else that waits: a header. Its kind says that waking it
//! is a store and a futex call.
//!
//! *It looks out before it sleeps*, for 20 us, where that has helped lately: to lie down and to be woken takes as
//! long. PERF: bench `call`, `Runtime::run` from outside, us on one worker and two: 70, 61 before, 2.3, 3.8 now (a task
//! of tokio's 76, 44, `install` of Rayon's 67, 13).

use crate::os_thread::{Asleep, note_noticed, note_wake};
use crate::report;
use crate::worker::choice;
use crate::worker::current_header;
use crate::worker::lent::while_waiting;
use raddle_protocol::header::{AWAY, Header, Kind};
use raddle_protocol::prim::{AtomicU32, Hint, Ordering, futex_wait, futex_wake_one};
use std::time::{Duration, Instant};

/// So long at most, about as long as a sleep and a wake take.
const LOOK: Duration = Duration::from_micros(20);
/// So often is looked before the clock is read.
const LOOKS: u32 = 32;
/// So often more it may be in vain than not, before only one wait in [`PROBE`] looks out.
const HOPE_MAX: u32 = 8;
const PROBE: u32 = 16;

/// Whether to look out, of all waits of OS threads: up by one where it helped, down by one where not.
static HOPE: Hint = Hint::new(HOPE_MAX);
/// How many waits have not looked out since one did.
static PASSED: Hint = Hint::new(0);

/// Where an OS thread sleeps until it is woken once. Looks to its waker like anything else that waits: a header.
#[derive(Debug)]
#[repr(C)]
pub struct External {
    header: Header,
    woken: AtomicU32,
}

impl External {
    pub fn new() -> Self {
        External { header: Header::acting(Kind::OsThread, 0, wake), woken: AtomicU32::new(0) }
    }

    /// What is woken. It stays where it is until then.
    pub fn header(&self) -> *mut Header {
        (&raw const self.header).cast_mut()
    }

    /// Blocks the OS thread until it is woken. False if the deadline passes first.
    #[must_use]
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        while_waiting(|| self.sleep_until_woken(deadline))
    }

    fn sleep_until_woken(&self, deadline: Option<Instant>) -> bool {
        if in_process() {
            choice::abandons();
        } else if self.looks_out(deadline) {
            note_noticed();
            return true;
        }
        let asleep = Asleep::new(deadline.is_none());
        let mut patience = in_process().then(|| Instant::now() + Duration::from_secs(1));
        // Acquire pairs with the release in `wake`.
        while self.woken.load(Ordering::Acquire) == 0 {
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return false;
            }
            if patience.is_some_and(|patience| now >= patience) {
                report::blocks_its_worker();
                patience = None;
            }
            let first = deadline.into_iter().chain(patience).min();
            futex_wait(&self.woken, 0, first.map(|first| first - now));
        }
        asleep.woken();
        true
    }

    /// Looks for the wake for a moment, if that seems to be worth it. True if it has come.
    #[inline(never)]
    fn looks_out(&self, deadline: Option<Instant>) -> bool {
        if HOPE.get() == 0 && PASSED.get() < PROBE {
            PASSED.set(PASSED.get() + 1);
            return false;
        }
        if !has_several_processors() {
            return false;
        }
        let begun = Instant::now();
        if deadline.is_some_and(|deadline| deadline.saturating_duration_since(begun) < LOOK) {
            return false; // It says nothing of others.
        }
        if PASSED.get() > 0 {
            PASSED.set(0);
        }
        let is_woken = self.is_woken_within(LOOK, begun);
        let hope = if is_woken { HOPE.get() + 1 } else { HOPE.get().saturating_sub(1) };
        if hope <= HOPE_MAX {
            HOPE.set(hope);
        }
        is_woken
    }

    fn is_woken_within(&self, time: Duration, begun: Instant) -> bool {
        loop {
            for _ in 0..LOOKS {
                // Acquire pairs with the release in `wake`.
                if self.woken.load(Ordering::Acquire) != 0 {
                    return true;
                }
                std::hint::spin_loop();
            }
            if begun.elapsed() >= time {
                return false;
            }
        }
    }
}

/// On one alone nobody wakes it while it looks. Who is bound to one of several finds that out by [`HOPE`].
fn has_several_processors() -> bool {
    /// 0 before it is known. Not behind a lock, which a forked child could find taken.
    static PROCESSORS: Hint = Hint::new(0);
    if PROCESSORS.get() == 0 {
        // SAFETY: it reads a number.
        let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        PROCESSORS.set(if count > 1 { 2 } else { 1 });
    }
    PROCESSORS.get() > 1
}

/// Blocks the OS thread until whoever got the header by `register` wakes it. If `register` returns false, nobody will.
pub fn wait(register: impl FnOnce(*mut Header) -> bool) {
    let parker = External::new();
    if register(parker.header()) {
        let woken = parker.sleep(None);
        debug_assert!(woken, "there is no deadline to pass");
    }
}

/// A process comes here only while it unwinds, and then holds its worker; or as a job that holds its OS thread always.
fn in_process() -> bool {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    unsafe { current_header().as_ref() }
        .is_some_and(|running| running.kind == Kind::Process && !running.is(AWAY) && !running.holds_thread())
}

/// Wakes the OS thread behind a header of kind `OsThread`.
///
/// # Safety
/// `header` is that of an [`External`] whose owner sleeps or is about to, and this is its one wake.
unsafe fn wake(header: *mut Header) {
    // SAFETY: the owner does not leave before `woken` is set; the header is its first field.
    let parker = unsafe { &*header.cast::<External>() };
    let word: *const AtomicU32 = &raw const parker.woken;
    note_wake();
    // Release pairs with the acquire in `sleep`. After it the owner's frame may be gone.
    parker.woken.store(1, Ordering::Release);
    futex_wake_one(word);
}

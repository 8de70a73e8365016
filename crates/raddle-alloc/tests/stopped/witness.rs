//! Owns: the witness of a trial: a thread that notices when another one gets nothing done.
//! May use: `park`, `work`, `libc`, `raddle-syscall`.
//! Never: an allocation; a limit by the clock alone, which a machine at other work would break.
//!
//! The witness takes a millisecond of the processor whenever somebody who is awaited has not gone on since it last
//! looked. A thread that may run gets about as much of the processor as the witness does: whoever has done not one
//! operation while the witness used up a second waits for something that does not come.

use super::{park, work};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

/// So much of the processor the witness uses up before it says that somebody is frozen.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);

/// How far a thread has come, and whether anybody waits for it.
pub(crate) struct Watched {
    count: AtomicU64,
    is_awaited: AtomicBool,
}

impl Watched {
    pub(crate) const fn new() -> Watched {
        Watched { count: AtomicU64::new(0), is_awaited: AtomicBool::new(false) }
    }

    /// It has come further, and is going to.
    pub(crate) fn goes_on(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    pub(crate) fn ends(&self) {
        self.is_awaited.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.is_awaited.load(Ordering::Relaxed)
    }
}

const MOST: usize = 4;
static WATCHED: [AtomicPtr<Watched>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];

/// The processor time of the thread that calls.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

extern "C" fn looks(_number: *mut libc::c_void) -> *mut libc::c_void {
    let mut seen = [(0, Duration::ZERO); MOST];
    loop {
        let mut stands = false;
        let now = processor_time();
        for (watched, (count, since)) in WATCHED.iter().zip(&mut seen) {
            // SAFETY: these are statics.
            let watched = unsafe { &*watched.load(Ordering::Relaxed) };
            let new = watched.count.load(Ordering::Relaxed);
            if new != *count || !watched.is_awaited() {
                (*count, *since) = (new, now);
            } else if now - *since > PATIENCE {
                park::said("frozen");
            } else {
                stands = true;
            }
        }
        if stands {
            while processor_time() - now < LOOK {}
        } else {
            raddle_syscall::sleep(LOOK);
        }
    }
}

/// Starts the witness. If it notices something it ends the trial.
pub(crate) fn starts(watched: [&'static Watched; MOST]) {
    for (place, one) in WATCHED.iter().zip(watched) {
        place.store(ptr::from_ref(one).cast_mut(), Ordering::Relaxed);
    }
    work::start(looks, 0);
}

//! Owns: who holds a mutex, and where it was taken.
//! May use: `worker` to know who runs.
//! Never: following an address that it has kept: whoever it names may be gone.
//!
//! Written by the holder after it has the lock, plainly (relaxed stores are plain ones): three stores into the line
//! that the lock's own instruction has just brought here. They are what a deadlock report says, and what tells a waiter
//! whether to spin: it does so only if the holder took the lock on *another* worker, since one that took it on the
//! waiter's own worker cannot go on while the waiter spins.

use crate::worker::current_header;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Who holds a lock: compared, never followed.
#[derive(Debug)]
pub(super) struct Holder {
    /// The header of the process, or an address of the OS thread's own.
    who: AtomicPtr<()>,
    /// The worker on which it was taken; null for OS threads.
    worker: AtomicPtr<()>,
    site: AtomicPtr<Location<'static>>,
}

thread_local! {
    /// Its address is the name of an OS thread.
    static OS_THREAD: u8 = const { 0 };
}

/// Who runs here, and on which worker.
#[inline(always)]
fn who_runs() -> (*mut (), *mut ()) {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    match unsafe { header.as_ref() } {
        Some(running) => (header.cast(), running.worker.get()),
        None => (OS_THREAD.with(|name| std::ptr::from_ref(name).cast_mut().cast()), std::ptr::null_mut()),
    }
}

impl Holder {
    pub(super) const fn nobody() -> Holder {
        let null = std::ptr::null_mut();
        Holder {
            who: AtomicPtr::new(null),
            worker: AtomicPtr::new(null),
            site: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The caller has just taken the lock, at `site`.
    #[inline(always)]
    pub(super) fn note(&self, site: &'static Location<'static>) {
        let (who, worker) = who_runs();
        self.who.store(who, Ordering::Relaxed);
        self.worker.store(worker, Ordering::Relaxed);
        self.site.store(std::ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
    }

    /// Whether the holder may be running while the caller is: it took the lock on another worker, or either is an OS
    /// thread.
    pub(super) fn may_run_meanwhile(&self) -> bool {
        let (_, mine) = who_runs();
        mine.is_null() || self.worker.load(Ordering::Relaxed) != mine
    }

    /// What is known, of a lock that is held.
    pub(super) fn held(&self) -> Option<Held> {
        let site = self.site.load(Ordering::Relaxed);
        // SAFETY: null, or the address of a `'static` location.
        let site = unsafe { site.as_ref() }?;
        let by_os_thread = self.worker.load(Ordering::Relaxed).is_null();
        let by_caller = self.who.load(Ordering::Relaxed) == who_runs().0;
        Some(Held { site, by_os_thread, by_caller })
    }
}

/// Where a lock that is held was taken, and by what kind of thread; [`Mutex::held`](super::Mutex::held) tells.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    site: &'static Location<'static>,
    by_os_thread: bool,
    by_caller: bool,
}

impl Held {
    /// Where it was taken.
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }

    /// Whether it is the one that asks that holds it.
    pub fn by_caller(&self) -> bool {
        self.by_caller
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match (self.by_caller, self.by_os_thread) {
            (true, _) => "the caller",
            (_, true) => "an OS thread",
            _ => "a process",
        };
        write!(f, "held by {by}, since {}:{}:{}", self.site.file(), self.site.line(), self.site.column())
    }
}

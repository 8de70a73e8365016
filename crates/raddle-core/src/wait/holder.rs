//! Owns: who holds a mutex, and where it was taken.
//! May use: `block::current`, `describe::held`, `os_thread`, `worker`.
//! Never: following an address that it has kept: whoever it names may be gone.
//!
//! Written by the holder after it has the lock, plainly (relaxed stores are plain ones), into the line that the lock's
//! own instruction has just brought here. It is what a deadlock report says, and what tells a waiter whether to spin:
//! it does so only if the holder took the lock on *another* worker, since one that took it on the waiter's own worker
//! cannot go on while the waiter spins.
//!
//! PERF: what stands there already is not written again, since a locked instruction waits for each store before it:
//! bench `mutex`, one process, 0.977 (0.972 to 0.982) of the time with three stores; two and 64 processes on two
//! workers, 0.997 and 0.996. No note at all: 0.974.

use crate::describe::Held;
use crate::os_thread;
use crate::worker::{OPERATIONS, SEEDED, Worker, current_header};
use std::panic::Location;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Who holds a lock: compared, never followed.
#[derive(Debug)]
#[repr(C)]
pub struct Holder {
    /// The header of the process, or an address of the OS thread's own.
    who: AtomicPtr<()>,
    /// The worker on which it was taken; null for OS threads.
    worker: AtomicPtr<()>,
    site: AtomicPtr<Location<'static>>,
}

/// Who runs here, and on which worker: right until it waits.
#[derive(Clone, Copy)]
pub struct Running {
    who: *mut (),
    worker: *mut (),
}

impl Running {
    #[inline(always)]
    pub fn here() -> Running {
        let header = current_header();
        // SAFETY: the word is null or the header of what runs here, which is alive.
        match unsafe { header.as_ref() } {
            Some(running) => Running { who: header.cast(), worker: running.worker.get() },
            None => Running::on_os_thread(),
        }
    }

    /// As [`here`](Self::here); none on an OS thread of the program's, to find out whose name may take a call.
    #[inline(always)]
    pub fn in_runtime() -> Option<Running> {
        let header = current_header();
        // SAFETY: as in `here`.
        let running = unsafe { header.as_ref() }?;
        Some(Running { who: header.cast(), worker: running.worker.get() })
    }

    #[inline(always)]
    fn on_os_thread() -> Running {
        Running { who: os_thread::own_address(), worker: std::ptr::null_mut() }
    }

    /// Whether its worker follows a seed, or records every operation.
    #[inline(always)]
    pub fn has_points(self) -> bool {
        self.is_watched(SEEDED | OPERATIONS)
    }

    /// Whether its worker follows a seed.
    pub fn is_seeded(self) -> bool {
        self.is_watched(SEEDED)
    }

    #[inline(always)]
    fn is_watched(self, by: u8) -> bool {
        // SAFETY: null, or the worker of what runs here, which lives as long.
        unsafe { self.worker.cast::<Worker>().as_ref() }.is_some_and(|worker| worker.watched() & by != 0)
    }
}

/// Who runs here, and on which worker.
#[inline(always)]
pub fn who_runs() -> (*mut (), *mut ()) {
    let Running { who, worker } = Running::here();
    (who, worker)
}

/// Relaxed: the lock orders it.
#[inline(always)]
fn store_if_new<T>(word: &AtomicPtr<T>, to: *mut T) {
    if word.load(Ordering::Relaxed) != to {
        word.store(to, Ordering::Relaxed);
    }
}

impl Holder {
    /// Where the name of the holder lies, and where that of its worker: C writes them itself.
    pub const WHO: usize = std::mem::offset_of!(Holder, who);
    pub const WORKER: usize = std::mem::offset_of!(Holder, worker);

    pub const fn nobody() -> Holder {
        let null = std::ptr::null_mut();
        Holder {
            who: AtomicPtr::new(null),
            worker: AtomicPtr::new(null),
            site: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The caller has just taken the lock, at `site`.
    #[inline(always)]
    pub fn note(&self, site: &'static Location<'static>) {
        self.note_as(Running::here(), site);
    }

    /// As [`note`](Self::note), for a caller that has found out who it is.
    #[inline(always)]
    pub(crate) fn note_as(&self, caller: Running, site: &'static Location<'static>) {
        if cfg!(raddle_unnoted) {
            return;
        }
        let Running { who, worker } = caller;
        store_if_new(&self.who, who);
        store_if_new(&self.worker, worker);
        store_if_new(&self.site, std::ptr::from_ref(site).cast_mut());
    }

    /// As [`note`](Self::note), at the line that was last noted.
    #[inline(always)]
    pub fn note_without_line(&self, caller: Running) {
        self.who.store(caller.who, Ordering::Relaxed);
        store_if_new(&self.worker, caller.worker);
    }

    /// Where all take the lock who [do not say so](Self::note_without_line).
    pub fn note_line(&self, site: &'static Location<'static>) {
        self.site.store(std::ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
    }

    /// Whether that one is noted.
    #[inline(always)]
    pub fn is(&self, one: Running) -> bool {
        self.who.load(Ordering::Relaxed) == one.who
    }

    /// The caller is about to give the lock back: nobody is noted. If each does that, [`is`](Self::is) tells exactly
    /// whether the caller holds the lock.
    #[inline(always)]
    pub fn clear(&self) {
        self.who.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// As [`note`](Self::note), if nobody is noted: one of several holders of something takes this as its place.
    #[inline]
    pub fn claim(&self, site: &'static Location<'static>) -> bool {
        if cfg!(raddle_unnoted) {
            return false;
        }
        let Running { who, worker } = Running::here();
        let nobody = std::ptr::null_mut();
        let is_free = self.who.load(Ordering::Relaxed).is_null();
        // Acquire pairs with the release in `give_up`: the site that was taken away is not written after this one.
        if !is_free || self.who.compare_exchange(nobody, who, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.worker.store(worker, Ordering::Relaxed);
        self.site.store(std::ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
        true
    }

    /// Who has claimed it holds nothing any more, wherever this is called.
    #[inline]
    pub fn give_up(&self) {
        self.site.store(std::ptr::null_mut(), Ordering::Relaxed);
        // Release pairs with the acquire in `claim`.
        self.who.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// The caller is about to hand the lock to another, who will note itself when it runs: nobody is known until then.
    #[cfg(debug_assertions)]
    #[inline(always)]
    pub fn forget(&self) {
        self.site.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Whether the holder may be running while the caller is: it took the lock on another worker, or either is an OS
    /// thread.
    pub fn may_run_meanwhile(&self) -> bool {
        let (_, mine) = who_runs();
        mine.is_null() || self.worker.load(Ordering::Relaxed) != mine
    }

    /// What is known, of a lock that is held.
    pub fn held(&self) -> Option<Held> {
        let site = self.site.load(Ordering::Relaxed);
        // SAFETY: null, or the address of a `'static` location.
        let site = unsafe { site.as_ref() }?;
        let by_os_thread = self.worker.load(Ordering::Relaxed).is_null();
        let who = self.who.load(Ordering::Relaxed).cast_const();
        let by_caller = who == who_runs().0.cast_const();
        (!who.is_null()).then(|| Held::new(site, who, by_os_thread, by_caller))
    }
}

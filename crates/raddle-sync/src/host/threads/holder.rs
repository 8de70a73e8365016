//! Owns: which OS thread holds a lock, and where it was taken.
//! May use: nothing.
//! Never: following the address of a holder, which may be gone.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Where a lock that is held was taken, and by which OS thread; `Mutex::held` tells.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    site: &'static Location<'static>,
    who: usize,
    by_caller: bool,
}

impl Held {
    /// Where it was taken.
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }

    /// What tells the holder from all others that live: compared, never followed.
    pub fn who(&self) -> *const () {
        std::ptr::without_provenance(self.who)
    }

    /// Whether it is the one that asks that holds it.
    pub fn by_caller(&self) -> bool {
        self.by_caller
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.by_caller { "the caller" } else { "an OS thread" };
        write!(f, "held by {who} since {}", self.site)
    }
}

thread_local! {
    /// Its address is the name of an OS thread.
    static OS_THREAD: u8 = const { 0 };
}

#[inline(always)]
fn who_runs() -> usize {
    OS_THREAD.with(|name| std::ptr::from_ref(name).addr())
}

/// Who holds a lock. Written by the holder after it has the lock: relaxed, for the lock orders it.
#[derive(Debug)]
pub(crate) struct Holder {
    who: AtomicUsize,
    site: AtomicPtr<Location<'static>>,
}

impl Holder {
    pub(crate) const fn nobody() -> Holder {
        Holder { who: AtomicUsize::new(0), site: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The caller has just taken the lock, at `site`.
    #[inline(always)]
    pub(crate) fn note(&self, site: &'static Location<'static>) {
        self.who.store(who_runs(), Ordering::Relaxed);
        self.site.store(std::ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
    }

    /// As [`note`](Self::note), if nobody is noted: one of several holders of something takes this as its place.
    #[inline]
    pub(crate) fn claim(&self, site: &'static Location<'static>) -> bool {
        let is_free = self.who.load(Ordering::Relaxed) == 0;
        // Acquire pairs with the release in `give_up`: the site that was taken away is not written after this one.
        let (got, or) = (Ordering::Acquire, Ordering::Relaxed);
        if !is_free || self.who.compare_exchange(0, who_runs(), got, or).is_err() {
            return false;
        }
        self.site.store(std::ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
        true
    }

    /// Who has claimed it holds nothing any more, wherever this is called.
    #[inline]
    pub(crate) fn give_up(&self) {
        self.site.store(std::ptr::null_mut(), Ordering::Relaxed);
        // Release pairs with the acquire in `claim`.
        self.who.store(0, Ordering::Release);
    }

    /// The caller is about to hand the lock to another: nobody is known until that one notes itself.
    #[cfg(debug_assertions)]
    #[inline(always)]
    pub(crate) fn forget(&self) {
        self.site.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Whether the holder may be running while the caller is: an OS thread always may.
    #[inline(always)]
    pub(crate) const fn may_run_meanwhile(&self) -> bool {
        true
    }

    /// What is known, of a lock that is held.
    pub(crate) fn held(&self) -> Option<Held> {
        let site = self.site.load(Ordering::Relaxed);
        // SAFETY: null, or the address of a `'static` location.
        let site = unsafe { site.as_ref() }?;
        let who = self.who.load(Ordering::Relaxed);
        Some(Held { site, who, by_caller: who == who_runs() })
    }
}

/// Who runs here: an OS thread, which follows no seed.
#[derive(Clone, Copy)]
pub(crate) struct OsThread;

impl OsThread {
    #[inline(always)]
    pub(crate) const fn here() -> OsThread {
        OsThread
    }

    /// Whether another may be chosen to go on at an operation.
    #[inline(always)]
    pub(crate) const fn has_points(self) -> bool {
        false
    }

    /// Whether it follows a seed.
    pub(crate) const fn is_seeded(self) -> bool {
        false
    }
}

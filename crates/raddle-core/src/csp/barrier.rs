//! Owns: `Barrier`, which its members wait at for each other, and which one may join and leave.
//! May use: `protocol::barrier`, `process::wait`.
//! Never: a member that waits twice: `sync` takes `&mut self`.

use crate::explore::point;
use crate::header::Header;
use crate::process::wait;
use crate::protocol::barrier::{self, Place, Released};
use crate::wait::{CallOn, Subject, Wait};
use crate::worker;
use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Whom to wake.
type Waiting = Cell<*mut Header>;

struct Inner(barrier::Barrier<Waiting>);

// SAFETY: places are touched by the one who waits there, and then by whoever completes its phase.
unsafe impl Sync for Inner {}
// SAFETY: nothing in it is tied to a thread.
unsafe impl Send for Inner {}

const SYNC: CallOn<Inner> = CallOn::new("csp::Barrier::sync");

impl Subject for Inner {
    const KIND: &'static str = "barrier";

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "{} of {} members have not come", self.0.missing(), self.0.members())
    }
}

/// One membership of a barrier. All members wait in [`sync`](Self::sync) until each has come.
///
/// [`enrol`](Self::enrol) makes a further membership, to be given to another process; dropping one resigns it, so that
/// a member that ends, even by a panic, holds nobody up.
///
/// ```
/// use raddle_core::csp::{self, Barrier};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// let steps = [const { AtomicU32::new(0) }; 3];
/// csp::scope(|s| {
///     let first = Barrier::new();
///     for mut member in (0..4).map(|_| first.enrol()) {
///         let steps = &steps;
///         s.spawn(move || {
///             for step in steps {
///                 step.fetch_add(1, Ordering::Relaxed);
///                 member.sync();
///                 assert_eq!(step.load(Ordering::Relaxed), 4);
///             }
///         });
///     }
/// });
/// ```
pub struct Barrier(Arc<Inner>);

impl Barrier {
    /// A barrier with one member, who has it.
    #[allow(clippy::new_without_default, reason = "a default that can hold others up is none")]
    pub fn new() -> Barrier {
        Barrier(Arc::new(Inner(barrier::Barrier::new())))
    }

    /// One more member, for whom the others wait from now on.
    #[must_use = "a membership that is dropped has resigned"]
    pub fn enrol(&self) -> Barrier {
        self.0.0.enrol();
        Barrier(self.0.clone())
    }

    /// How many members there are.
    pub fn members(&self) -> usize {
        // 31 bits.
        self.0.0.members() as usize
    }

    /// Waits until all members have come here. What each did before, all see after.
    ///
    /// # Panics
    /// Inside a cell, which must not wait.
    #[track_caller]
    pub fn sync(&mut self) {
        point("csp::Barrier::sync");
        let place = Place::new(Cell::new(std::ptr::null_mut()));
        let place: *mut Place<Waiting> = std::ptr::from_ref(&place).cast_mut();
        let inner: *const Inner = &raw const *self.0;
        let shown = Wait::on(const { &SYNC }, &*self.0, Location::caller());
        let _shown = shown.show();
        wait::wait_registered(SYNC.name(), |header| {
            // SAFETY: the caller's own place, which nobody sees yet.
            unsafe { &*place }.who.set(header);
            // SAFETY: this member keeps the barrier, at least until it is woken.
            match unsafe { &*inner }.0.arrive(place) {
                None => true,
                Some(released) => {
                    // All but the caller, who just goes on. From the last wake on the barrier may be gone.
                    released.filter(|other| *other != place).for_each(wake);
                    false
                }
            }
        });
    }
}

fn wake(place: *mut Place<Waiting>) {
    // SAFETY: it waits until this wakes it.
    let header = unsafe { &*place }.who.get();
    // SAFETY: who completes a phase wakes each that was in its list, once.
    unsafe { worker::wake(header) };
}

fn wake_all(released: Released<Waiting>) {
    released.for_each(wake);
}

impl Drop for Barrier {
    fn drop(&mut self) {
        point("csp::Barrier::drop");
        if let Some(released) = self.0.0.resign() {
            wake_all(released);
        }
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("members", &self.members()).finish_non_exhaustive()
    }
}

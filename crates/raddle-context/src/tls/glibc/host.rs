//! Owns: `Host`, an OS thread that runs contexts with storage of their own; found by the kernel's number of it.
//! May use: a list that only grows, whose places are used again.
//! Never: a lock, nor anything else that a signal handler must not touch.
//!
//! A signal finds its OS thread with whatever storage runs there. The kernel's number of the OS thread always says
//! which one it is, so a handler that needs the OS thread's own storage looks the number up here. Only the OS thread
//! itself writes its place, and only a handler on it looks for it: everything but the claim of a place is in the order
//! of one program.

use super::machine;
use core::marker::PhantomData;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// Says that this OS thread may run contexts with storage of their own, as long as the value lives.
///
/// ```
/// let _host = raddle_context::tls::Host::here();
/// ```
#[derive(Debug)]
pub struct Host {
    place: &'static Place,
    /// It belongs to the OS thread that made it.
    _thread: PhantomData<*mut ()>,
}

/// | `number` | the place |
/// |---|---|
/// | 0 | is free |
/// | -1 | is claimed, and not filled yet |
/// | another | is that OS thread's, whose storage is at `base` |
#[derive(Debug)]
struct Place {
    number: AtomicI32,
    base: AtomicUsize,
    next: AtomicPtr<Place>,
}

const FREE: i32 = 0;
const CLAIMED: i32 = -1;

static FIRST: AtomicPtr<Place> = AtomicPtr::new(null_mut());

impl Host {
    /// For the OS thread that calls, which has its own storage. One for each is enough: the first that ends counts.
    pub fn here() -> Host {
        super::setuid::install_if_known();
        let own = number();
        let place = place_of(own).or_else(free_place).unwrap_or_else(new_place);
        place.base.store(machine::thread_pointer(), Ordering::Relaxed);
        place.number.store(own, Ordering::Relaxed);
        Host { place, _thread: PhantomData }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let own = number();
        // Not in a forked child, whose OS thread has another number than the parent's that it was.
        let (free, relaxed) = (FREE, Ordering::Relaxed);
        let _others = self.place.number.compare_exchange(own, free, relaxed, relaxed);
    }
}

/// The kernel's number of this OS thread. Not by the C library's function, which need not ask the kernel.
fn number() -> i32 {
    // SAFETY: no preconditions.
    let number = unsafe { libc::syscall(libc::SYS_gettid) };
    number as i32
}

/// All places, the newest first.
fn places() -> impl Iterator<Item = &'static Place> {
    // Acquire pairs with the release in `new_place`.
    let first = FIRST.load(Ordering::Acquire);
    // SAFETY: null, or a place, which stays.
    core::iter::successors(unsafe { first.as_ref() }, |place| {
        // SAFETY: as above; it does not change any more.
        unsafe { place.next.load(Ordering::Relaxed).as_ref() }
    })
}

/// The place with this number. If its OS thread has not made it, it is that of one that a fork left in the parent.
fn place_of(number: i32) -> Option<&'static Place> {
    places().find(|place| place.number.load(Ordering::Relaxed) == number)
}

fn free_place() -> Option<&'static Place> {
    // Relaxed: what the last owner left in the place is not looked at.
    let claim = |place: &Place| {
        place.number.compare_exchange(FREE, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    places().find(|place| claim(place))
}

#[cold]
fn new_place() -> &'static Place {
    let (number, base) = (AtomicI32::new(CLAIMED), AtomicUsize::new(0));
    let place = Box::leak(Box::new(Place { number, base, next: AtomicPtr::new(null_mut()) }));
    let mut first = FIRST.load(Ordering::Relaxed);
    loop {
        place.next.store(first, Ordering::Relaxed);
        // Release pairs with the acquire in `places`.
        match FIRST.compare_exchange_weak(first, place, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return place,
            Err(now) => first = now,
        }
    }
}

/// The own storage of the OS thread that calls, whatever storage runs there; `None` if it is no host.
pub(super) fn storage_of_this() -> Option<usize> {
    place_of(number()).map(|place| place.base.load(Ordering::Relaxed))
}

//! Owns: `Host`, an OS thread that runs contexts with storage of their own; found by its thread id.
//! May use: `raddle-syscall`.
//! Never: a lock, nor anything else that a signal handler must not touch.
//!
//! A signal finds its OS thread with whatever storage runs there. The kernel's number of the OS thread always says
//! which one it is, so a handler that needs the OS thread's own storage looks the number up here. Only the OS thread
//! itself writes its entry, and only a handler on it looks for it: everything but the claim of a entry is in the order
//! of one program.
//!
//! It uses a list that only grows, whose entries are reused.

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
    entry: &'static HostEntry,
    /// It belongs to the OS thread that made it.
    _thread: PhantomData<*mut ()>,
}

/// | `number` | the entry |
/// |---|---|
/// | 0 | is free |
/// | -1 | is claimed, and not filled yet |
/// | another | is that OS thread's, whose storage is at `base` |
#[derive(Debug)]
struct HostEntry {
    number: AtomicI32,
    base: AtomicUsize,
    next: AtomicPtr<HostEntry>,
}

const FREE: i32 = 0;
const CLAIMED: i32 = -1;

static FIRST: AtomicPtr<HostEntry> = AtomicPtr::new(null_mut());

impl Host {
    /// For the OS thread that calls, which has its own storage. One for each is enough: the first that ends counts.
    pub fn here() -> Host {
        super::setuid::install_if_known();
        super::carried::settle();
        let own = number();
        let entry = entry_of(own).or_else(free_entry).unwrap_or_else(new_entry);
        entry.base.store(machine::thread_pointer(), Ordering::Relaxed);
        entry.number.store(own, Ordering::Relaxed);
        Host { entry, _thread: PhantomData }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let own = number();
        // Not in a forked child, where the OS thread has another id than in the parent.
        let (free, relaxed) = (FREE, Ordering::Relaxed);
        let _others = self.entry.number.compare_exchange(own, free, relaxed, relaxed);
    }
}

/// The kernel's number of this OS thread. Not by the C library's function, which need not ask the kernel.
fn number() -> i32 {
    raddle_syscall::thread_number()
}

/// All entries, the newest first.
fn entries() -> impl Iterator<Item = &'static HostEntry> {
    // Acquire pairs with the release in `new_entry`.
    let first = FIRST.load(Ordering::Acquire);
    // SAFETY: null, or a entry, which stays.
    core::iter::successors(unsafe { first.as_ref() }, |entry| {
        // SAFETY: as above; it does not change any more.
        unsafe { entry.next.load(Ordering::Relaxed).as_ref() }
    })
}

/// The entry with this number. If this OS thread did not make it, it is left over from the parent of a fork.
fn entry_of(number: i32) -> Option<&'static HostEntry> {
    entries().find(|entry| entry.number.load(Ordering::Relaxed) == number)
}

fn free_entry() -> Option<&'static HostEntry> {
    // Relaxed: what the last owner left in the entry is not looked at.
    let claim = |entry: &HostEntry| {
        entry.number.compare_exchange(FREE, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    entries().find(|entry| claim(entry))
}

#[cold]
fn new_entry() -> &'static HostEntry {
    let (number, base) = (AtomicI32::new(CLAIMED), AtomicUsize::new(0));
    let entry = Box::leak(Box::new(HostEntry { number, base, next: AtomicPtr::new(null_mut()) }));
    let mut first = FIRST.load(Ordering::Relaxed);
    loop {
        entry.next.store(first, Ordering::Relaxed);
        // Release pairs with the acquire in `entries`.
        match FIRST.compare_exchange_weak(first, entry, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return entry,
            Err(now) => first = now,
        }
    }
}

/// The calling OS thread's own storage, whatever storage is in use; `None` if it is not a host.
pub(super) fn storage_of_this() -> Option<usize> {
    entry_of(number()).map(|entry| entry.base.load(Ordering::Relaxed))
}

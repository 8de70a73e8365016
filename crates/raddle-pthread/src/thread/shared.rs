//! Owns: `SharedMutex`, a robust `pthread_mutex_t` that is shared with other programs, and the list for the kernel.
//! May use: `libc`, `raddle-core`, `raddle-syscall`.
//! Never: another layout, or other steps, than the C library's: another program may use that.
//!
//! The kernel marks a mutex whose holder's OS thread ends, if that is in the OS thread's list and has its number. A
//! thread of ours has no OS thread of its own. So all such mutexes are in one list, that of the OS thread in which the
//! process began, and have its number: it ends with the process. Which thread of this process it is stands in a word
//! that the C library only counts in, and when that thread ends, this library does what the kernel would have done.
//!
//! | word | the C library's | here |
//! |---|---|---|
//! | 0 | number of the holder, [`WAITERS`], [`DIED`] | the same, with the number of the first OS thread |
//! | 1 | how often a recursive one is taken | the same |
//! | 2 | number of the holder; [`INCONSISTENT`], [`LOST`] | the thread's own number, and the same |
//! | 3 | counts users | the thread's own number while it has it |
//! | 4 | the kind | the same |
//! | 6-9 | its place in the list | the same, under a lock of this process |
//!
//! A condition variable that is shared is the C library's, and gives the mutex up and takes it itself. For that time
//! the mutex is [lent](SharedMutex::lend) to it: it has the number that the C library believes the thread to have, and
//! is in the thread's own list, which no kernel knows.

use crate::thread::record::{self, ThreadRecord};
use raddle_core::blocking;
use raddle_syscall::Errno;
use std::ffi::{c_int, c_long};
use std::ptr::{from_ref, with_exposed_provenance};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Such a `pthread_mutex_t`.
#[repr(C)]
pub(crate) struct SharedMutex {
    lock: AtomicU32,
    count: AtomicU32,
    owner: AtomicU32,
    holder: AtomicU32,
    kind: AtomicU32,
    spins: AtomicU32,
    /// The places of two others, or of the list's head.
    prev: AtomicUsize,
    next: AtomicUsize,
}

const _: () = assert!(size_of::<SharedMutex>() == size_of::<libc::pthread_mutex_t>());

/// In the kind of a mutex: what it is, ...
pub(crate) const TYPE: u32 = 3;
pub(crate) const RECURSIVE: u32 = 1;
pub(crate) const ERROR_CHECK: u32 = 2;
/// ... robust, ...
pub(crate) const ROBUST: u32 = 16;
/// ... shared with other programs. One that was destroyed has all bits.
pub(crate) const OF_C: u32 = 128;
/// Priorities go by it. Such a one is the C library's alone.
const PRIORITIES: u32 = 32 | 64;

/// In the lock, as `futex(2)` has it: the number, that somebody sleeps, that the holder has ended.
const NUMBER: u32 = 0x3fff_ffff;
const WAITERS: u32 = 1 << 31;
const DIED: u32 = 1 << 30;
/// Of the owner: the one before has ended, and nobody has said that what it guards is sound again; ...
const INCONSISTENT: u32 = i32::MAX as u32;
/// ... nobody ever has. It is taken no more.
const LOST: u32 = INCONSISTENT - 1;

/// What the kernel goes through: `struct robust_list_head`, behind the word that an entry has before its place.
#[repr(C)]
struct List {
    prev: AtomicUsize,
    next: AtomicUsize,
    /// From a place to its lock.
    offset: isize,
    /// One that is being taken, or given back.
    pending: AtomicUsize,
}

static LIST: List = List {
    prev: AtomicUsize::new(0),
    next: AtomicUsize::new(0),
    offset: -(std::mem::offset_of!(SharedMutex, next) as isize),
    pending: AtomicUsize::new(0),
};
static LIST_LOCK: AtomicU32 = AtomicU32::new(0);

/// The number of the OS thread whose list it is; 0 if there is none.
static HOLDER: AtomicU32 = AtomicU32::new(0);
/// How far the C library's number of a thread lies from its pointer.
static NUMBER_AT: AtomicUsize = AtomicUsize::new(0);

fn call(number: c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: words and lists of the process, which stay.
    unsafe { raddle_syscall::call(number, arguments) }
}

/// Where the head's next one stands: a place.
fn head() -> usize {
    (&raw const LIST.next).expose_provenance()
}

/// From the head of a thread's list, as the C library has it, back to the thread's number.
const BEHIND: usize = 16;

/// By the OS thread that ends with the process, before there are others; or by the only one of a forked child.
pub(crate) fn register() {
    let own = raddle_syscall::thread_number();
    if NUMBER_AT.load(Ordering::Relaxed) == 0 {
        let (mut list, mut bytes) = (0_usize, 0_usize);
        let places = [(&raw mut list).expose_provenance(), (&raw mut bytes).expose_provenance()];
        if call(libc::SYS_get_robust_list, [0, places[0], places[1], 0, 0, 0]).is_err() || list == 0 {
            return;
        }
        let distance = list.wrapping_sub(descriptor()).wrapping_sub(BEHIND);
        // The list lies in the thread's descriptor, as every glibc has it; its number is checked.
        if distance > 4096 || number_by_c(distance) != own.cast_unsigned() {
            return;
        }
        NUMBER_AT.store(distance, Ordering::Relaxed);
    }
    LIST_LOCK.store(0, Ordering::Relaxed);
    LIST.pending.store(0, Ordering::Relaxed);
    LIST.next.store(head(), Ordering::Relaxed);
    LIST.prev.store(head(), Ordering::Relaxed);
    let bytes = size_of::<List>() - std::mem::offset_of!(List, next);
    let is_registered = call(libc::SYS_set_robust_list, [head(), bytes, 0, 0, 0, 0]).is_ok();
    HOLDER.store(if is_registered { own.cast_unsigned() } else { 0 }, Ordering::Relaxed);
}

/// By the same one, if there is no runtime: its list is the C library's again.
pub(crate) fn unregister() {
    if HOLDER.swap(0, Ordering::Relaxed) != 0 {
        let head = descriptor().wrapping_add(NUMBER_AT.load(Ordering::Relaxed)).wrapping_add(BEHIND);
        let bytes = size_of::<List>() - std::mem::offset_of!(List, next);
        // It was registered so when the process began.
        let _same = call(libc::SYS_set_robust_list, [head, bytes, 0, 0, 0, 0]);
    }
}

/// The caller's, before there is a runtime, too.
fn descriptor() -> usize {
    // SAFETY: no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// Which number the C library believes the caller to have.
fn number_by_c(distance: usize) -> u32 {
    let place = with_exposed_provenance::<AtomicU32>(descriptor().wrapping_add(distance));
    // SAFETY: a word of the caller's descriptor.
    unsafe { &*place }.load(Ordering::Relaxed)
}

/// Within the list's lock.
fn with_list<T>(f: impl FnOnce() -> T) -> T {
    // pairs with the release below
    while LIST_LOCK.swap(1, Ordering::Acquire) == 1 {
        raddle_core::door::thread::yield_now();
    }
    let result = f();
    LIST_LOCK.store(0, Ordering::Release); // pairs with the acquire above
    result
}

/// The words of a place: its next one, and before it its previous one.
///
/// # Safety
/// A mutex that is in a list is in memory, as the kernel and the C library have it, too; so is the head.
unsafe fn words(place: usize) -> (&'static AtomicUsize, &'static AtomicUsize) {
    let next = with_exposed_provenance::<AtomicUsize>(place);
    let prev = with_exposed_provenance::<AtomicUsize>(place - size_of::<usize>());
    // SAFETY: the caller's.
    let next = unsafe { &*next };
    // SAFETY: the caller's.
    (unsafe { &*prev }, next)
}

/// How long one waits.
#[derive(Clone, Copy)]
pub(crate) enum SharedWait<'t> {
    Not,
    Ever,
    Until(libc::clockid_t, &'t libc::timespec),
}

impl SharedMutex {
    /// If a mutex is one, and the caller is a thread of ours.
    ///
    /// # Safety
    /// `M` is a `pthread_mutex_t` of atomic words.
    pub(crate) unsafe fn of<M>(mutex: &M) -> Option<&SharedMutex> {
        const { assert!(size_of::<M>() == size_of::<SharedMutex>()) };
        // SAFETY: the caller's.
        let shared = unsafe { &*from_ref(mutex).cast::<SharedMutex>() };
        let kind = shared.kind.load(Ordering::Relaxed) & (ROBUST | OF_C | PRIORITIES);
        let is_kept = HOLDER.load(Ordering::Relaxed) != 0 && record::here().is_some();
        (kind == ROBUST | OF_C && is_kept).then_some(shared)
    }

    fn place(&self) -> usize {
        (&raw const self.next).expose_provenance()
    }

    /// Enters it into the list. Within the lock.
    fn enter(&self) {
        let first = LIST.next.load(Ordering::Relaxed);
        self.next.store(first, Ordering::Relaxed);
        self.prev.store(head(), Ordering::Relaxed);
        // SAFETY: one of the list, or the head.
        let (prev, _) = unsafe { words(first) };
        prev.store(self.place(), Ordering::Relaxed);
        // The kernel may go through it from here on. pairs with nothing: it does so when the process has ended
        LIST.next.store(self.place(), Ordering::Release);
    }

    /// Takes it from the list that it is in. Within the lock.
    fn leave(&self) {
        let (before, behind) = (self.prev.load(Ordering::Relaxed), self.next.load(Ordering::Relaxed));
        // SAFETY: its neighbours.
        let (prev, _) = unsafe { words(behind) };
        prev.store(before, Ordering::Relaxed);
        // SAFETY: as above.
        let (_, next) = unsafe { words(before) };
        next.store(behind, Ordering::Relaxed);
        self.prev.store(0, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
    }

    /// Takes it, if its word is this, for the thread of this number.
    fn take(&self, word: u32, new: u32, number: u32) -> bool {
        with_list(|| {
            LIST.pending.store(self.place(), Ordering::Relaxed);
            // pairs with the release in `give`, and of whoever has it in another program
            let taken = self.lock.compare_exchange(word, new, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if taken {
                self.holder.store(number, Ordering::Relaxed);
                self.count.store(1, Ordering::Relaxed);
                self.enter();
            }
            LIST.pending.store(0, Ordering::Relaxed);
            taken
        })
    }

    /// Gives it back, with this as its owner.
    fn give(&self, owner: u32) {
        let word = &raw const self.lock;
        let before = with_list(|| {
            LIST.pending.store(self.place(), Ordering::Relaxed);
            self.leave();
            self.owner.store(owner, Ordering::Relaxed);
            self.holder.store(0, Ordering::Relaxed);
            let before = self.lock.swap(0, Ordering::Release); // pairs with the acquire in `take`
            LIST.pending.store(0, Ordering::Relaxed);
            before
        });
        wake_if(before, word);
    }

    fn is_of(&self, number: u32) -> bool {
        let own = HOLDER.load(Ordering::Relaxed);
        self.lock.load(Ordering::Relaxed) & NUMBER == own && self.holder.load(Ordering::Relaxed) == number
    }

    /// If the caller has it: the answer, by its kind.
    fn again(&self, number: u32) -> Option<c_int> {
        let kind = self.kind.load(Ordering::Relaxed) & TYPE;
        if !matches!(kind, RECURSIVE | ERROR_CHECK) || !self.is_of(number) {
            return None;
        }
        let count = self.count.load(Ordering::Relaxed);
        if kind == ERROR_CHECK {
            return Some(libc::EDEADLK);
        }
        if count == u32::MAX {
            return Some(libc::EAGAIN);
        }
        self.count.store(count + 1, Ordering::Relaxed);
        Some(0)
    }

    /// Locks it.
    pub(crate) fn lock(&self, wait: SharedWait<'_>) -> c_int {
        let number = own_number();
        let own = HOLDER.load(Ordering::Relaxed);
        let mut waiters = 0;
        loop {
            let word = self.lock.load(Ordering::Relaxed);
            if word & DIED != 0 {
                if self.take(word, own | word & WAITERS | waiters, number) {
                    self.owner.store(INCONSISTENT, Ordering::Relaxed);
                    return libc::EOWNERDEAD;
                }
            } else if word == 0 {
                if self.take(0, own | waiters, number) {
                    return self.is_taken_by(number);
                }
            } else if let Some(answer) = self.again(number) {
                return answer;
            } else if matches!(wait, SharedWait::Not) {
                return libc::EBUSY;
            } else if word & WAITERS != 0 || self.says_that_it_waits(word) {
                waiters = WAITERS;
                let ended = sleep(&self.lock, word | WAITERS, wait);
                if matches!(ended, libc::ETIMEDOUT | libc::EINVAL) {
                    return ended;
                }
            }
        }
    }

    fn says_that_it_waits(&self, word: u32) -> bool {
        self.lock.compare_exchange(word, word | WAITERS, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// It was free.
    fn is_taken_by(&self, number: u32) -> c_int {
        if self.owner.load(Ordering::Relaxed) == LOST {
            self.count.store(0, Ordering::Relaxed);
            self.give(LOST);
            return libc::ENOTRECOVERABLE;
        }
        self.owner.store(number, Ordering::Relaxed);
        0
    }

    /// Unlocks it.
    pub(crate) fn unlock(&self) -> c_int {
        if !self.is_of(own_number()) {
            return libc::EPERM;
        }
        let count = self.count.load(Ordering::Relaxed).saturating_sub(1);
        if self.kind.load(Ordering::Relaxed) & TYPE == RECURSIVE && count > 0 {
            self.count.store(count, Ordering::Relaxed);
            return 0;
        }
        self.count.store(0, Ordering::Relaxed);
        let is_lost = self.owner.load(Ordering::Relaxed) == INCONSISTENT;
        self.give(if is_lost { LOST } else { 0 });
        0
    }

    /// What it guards is sound again.
    pub(crate) fn make_consistent(&self) -> c_int {
        if self.owner.load(Ordering::Relaxed) != INCONSISTENT {
            return libc::EINVAL;
        }
        self.owner.store(own_number(), Ordering::Relaxed);
        0
    }

    fn renumber(&self, from: u32, to: u32) -> bool {
        let change = |word: u32| (word & NUMBER == from).then_some(word & !NUMBER | to);
        self.lock.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).is_ok()
    }

    /// Lets the C library have it, for a call in the caller's name that gives it up and takes it. False if the caller
    /// has it not.
    pub(crate) fn lend(&self) -> bool {
        let number = own_number();
        if !self.is_of(number) {
            return false;
        }
        let by_c = number_by_c(NUMBER_AT.load(Ordering::Relaxed));
        with_list(|| {
            self.leave();
            // A list of its own, from which it can be taken.
            self.prev.store(self.place(), Ordering::Relaxed);
            self.next.store(self.place(), Ordering::Relaxed);
        });
        let owner = self.owner.load(Ordering::Relaxed);
        self.owner.store(if owner == number { by_c } else { owner }, Ordering::Relaxed);
        self.renumber(HOLDER.load(Ordering::Relaxed), by_c)
    }

    /// Has it back from the C library, if the call has taken it.
    pub(crate) fn take_back(&self) {
        let number = own_number();
        let by_c = number_by_c(NUMBER_AT.load(Ordering::Relaxed));
        if self.lock.load(Ordering::Relaxed) & NUMBER != by_c {
            return;
        }
        with_list(|| {
            LIST.pending.store(self.place(), Ordering::Relaxed);
            self.leave();
            self.enter();
            self.holder.store(number, Ordering::Relaxed);
            self.renumber(by_c, HOLDER.load(Ordering::Relaxed));
            LIST.pending.store(0, Ordering::Relaxed);
        });
        let owner = self.owner.load(Ordering::Relaxed);
        self.owner.store(if owner == by_c { number } else { owner }, Ordering::Relaxed);
    }

    /// Its holder, a thread of ours, has ended. As the kernel.
    fn is_left(&self) {
        let word = &raw const self.lock;
        let mark = |word: u32| Some(word & WAITERS | DIED);
        self.leave();
        self.holder.store(0, Ordering::Relaxed);
        // pairs with the acquire in `take`
        let (Ok(before) | Err(before)) = self.lock.fetch_update(Ordering::Release, Ordering::Relaxed, mark);
        wake_if(before, word);
    }
}

fn own_number() -> u32 {
    record::here().map_or(0, |here| here.number.load(Ordering::Relaxed).cast_unsigned())
}

/// Until the word is no more this; what `futex(2)` has refused with, or zero.
fn sleep(word: &AtomicU32, seen: u32, wait: SharedWait<'_>) -> c_int {
    let (clock, time) = match wait {
        SharedWait::Until(clock, time) => (clock, from_ref(time).expose_provenance()),
        _ => (libc::CLOCK_MONOTONIC, 0),
    };
    let flag = if clock == libc::CLOCK_REALTIME { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let operation = (libc::FUTEX_WAIT_BITSET | flag) as usize;
    let place = from_ref(word).expose_provenance();
    let all = u32::MAX as usize;
    let slept = blocking(move || call(libc::SYS_futex, [place, operation, seen as usize, time, 0, all]));
    slept.map_or_else(|refused| refused.0, |_| 0)
}

/// Wakes one who sleeps in the kernel, if the word before said that somebody does.
fn wake_if(before: u32, word: *const AtomicU32) {
    if before & WAITERS != 0 {
        // It may be gone, and is no word then.
        let _gone = call(libc::SYS_futex, [word.expose_provenance(), libc::FUTEX_WAKE as usize, 1, 0, 0, 0]);
    }
}

/// A thread ends: whoever takes one of those that it has is told so.
pub(crate) fn end(here: &ThreadRecord) {
    let number = here.number.load(Ordering::Relaxed).cast_unsigned();
    if HOLDER.load(Ordering::Relaxed) == 0 {
        return;
    }
    with_list(|| {
        let mut place = LIST.next.load(Ordering::Relaxed);
        while place != head() {
            let first = place - std::mem::offset_of!(SharedMutex, next);
            // SAFETY: one of the list, which is in memory.
            let mutex = unsafe { &*with_exposed_provenance::<SharedMutex>(first) };
            place = mutex.next.load(Ordering::Relaxed);
            if mutex.holder.load(Ordering::Relaxed) == number {
                mutex.is_left();
            }
        }
    });
}

/// In a forked child: nothing that its parent's threads have is its own.
pub(crate) fn in_child(is_ours: bool) {
    HOLDER.store(0, Ordering::Relaxed);
    if is_ours {
        register();
    }
}

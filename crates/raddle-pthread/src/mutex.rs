//! Owns: `PthreadMutex`, a `pthread_mutex_t`: its kinds, and its calls.
//! May use: `thread`, `libc`, `raddle-core`.
//! Never: an allocation; a word of memory beyond the program's forty bytes.
//!
//! | word | the C library's | here |
//! |---|---|---|
//! | 0 | the lock | [`TAKEN`], [`WANTED`], [`AWAKE`]; of a robust one [`DIED`], [`LOST`], too |
//! | 1 | how often a recursive one is taken | the same |
//! | 3 | how many use it | how many have had to sleep, and have it not yet |
//! | 4 | the kind, as static initialisers set it | the same |
//! | 5 | how long to spin | counts unlocks: now and then one lets others run, if a time slice is over |
//! | 6-7 | its place in the list of robust ones | who holds it |
//! | 8-9 | the same | the next robust one that its holder has |
//!
//! Who gives back a mutex that somebody sleeps for wakes one, and says so: until that one runs, and has taken it or
//! sleeps again, others that give it back wake nobody. So a queue of sleepers costs those nothing that take it in
//! passing. Who sleeps takes the word back that says so: after each sleeper's last look there is a wake.
//!
//! Mutexes that priorities go by are plain ones. Those that are shared with other programs are the C library's, in a
//! `blocking` call, but for robust ones: see `thread::shared`. Robust ones that are not are in their holder's list,
//! which is gone through when that ends.

use crate::next::next;
use crate::thread::record::{self, ThreadRecord};
use crate::thread::shared::{ERROR_CHECK, OF_C, RECURSIVE, ROBUST, SharedMutex, SharedWait, TYPE};
use crate::thread::told::{self, ToldWait};
use crate::thread::wait;
use raddle_core::blocking;
use raddle_core::door::futex::Owner;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

/// A `pthread_mutex_t`.
#[repr(C)]
pub(crate) struct PthreadMutex {
    lock: AtomicU32,
    count: AtomicU32,
    unused: AtomicU32,
    sleepers: AtomicU32,
    kind: AtomicU32,
    unlocks: AtomicU32,
    owner: Owner,
    next: AtomicUsize,
}

const _: () = assert!(size_of::<PthreadMutex>() == size_of::<libc::pthread_mutex_t>());

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Somebody sleeps, perhaps.
const WANTED: u32 = 2;
/// One of those has been woken.
const AWAKE: u32 = 4;
/// Of a robust one: its holder has ended, and nobody has said since that what it guards is sound again.
const DIED: u32 = 8;
/// Of a robust one: somebody has given it back without saying so. It is taken no more.
const LOST: u32 = 16;
/// So often one looks before it sleeps, after twice as many pauses each time: who holds a contended mutex for short
/// sections does several of them while the others stay away from its cache line.
///
/// PERF: `bench/pthreads contended`, two workers, us a section: 6 looks from 4 pauses on 0.10, 4 from 16 0.075, 4 from
/// 32 0.06, 3 from 64 0.057, where who waits for a longer section would come 3 us late.
const LOOKS: u32 = 4;
const PAUSES: u32 = 32;
/// One of so many unlocks looks at the time slice.
const UNLOCKS: u32 = 64;

type MutexCall = unsafe extern "C" fn(&PthreadMutex) -> c_int;
type MutexTimed = unsafe extern "C" fn(&PthreadMutex, &libc::timespec) -> c_int;
type MutexClocked = unsafe extern "C" fn(&PthreadMutex, libc::clockid_t, &libc::timespec) -> c_int;

impl PthreadMutex {
    /// Whether it is the C library's.
    #[inline]
    pub(crate) fn is_of_c(&self) -> bool {
        self.kind.load(Ordering::Relaxed) & OF_C != 0
    }

    /// If it is a robust one that is shared, and the caller a thread of ours.
    pub(crate) fn shared(&self) -> Option<&SharedMutex> {
        // SAFETY: it is one, of atomic words.
        unsafe { SharedMutex::of(self) }
    }

    /// Whether every lock of it is a plain one.
    #[inline]
    fn is_plain(&self) -> bool {
        matches!(self.kind.load(Ordering::Relaxed) & (TYPE | ROBUST | OF_C), 0 | 3)
    }

    fn is_robust(&self) -> bool {
        self.kind.load(Ordering::Relaxed) & (ROBUST | OF_C) == ROBUST
    }

    #[inline]
    fn take(&self) -> bool {
        // pairs with the release in `release`
        let taken = match self.lock.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => true,
            Err(word) => self.take_in_passing(word),
        };
        if taken {
            self.owner.set();
        }
        taken
    }

    /// While one who was woken is on its way, which takes care of what the word says, it may be taken in passing.
    #[inline]
    fn take_in_passing(&self, word: u32) -> bool {
        let is_free = word & (TAKEN | LOST | AWAKE) == AWAKE;
        // pairs with the release in `release`
        is_free
            && self.lock.compare_exchange(word, word | TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes it if it is free, as one who was woken for it, or sleeps for it, or neither.
    #[inline]
    fn take_among(&self, sleeps: bool, woken: bool) -> bool {
        let word = self.lock.load(Ordering::Acquire); // pairs with the release in `take_slowly`
        if word & (TAKEN | LOST) != 0 {
            return false;
        }
        let others = self.sleepers.load(Ordering::Relaxed) > u32::from(sleeps);
        let still_awake = if woken { 0 } else { word & AWAKE };
        let new = if others { TAKEN | WANTED | still_awake } else { TAKEN } | word & DIED;
        // pairs with the release in `release`
        self.lock.compare_exchange(word, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes it, if need be after a wait; false when the time has passed.
    #[cold]
    pub(crate) fn take_slowly(&self, until: Option<Instant>) -> bool {
        let (mut sleeps, mut woken) = (false, false);
        let in_time = 'takes: loop {
            for look in 0..LOOKS {
                if self.take_among(sleeps, woken) {
                    break 'takes true;
                }
                (0..PAUSES << look).for_each(|_| std::hint::spin_loop());
            }
            if !sleeps {
                self.sleepers.fetch_add(1, Ordering::Relaxed);
                sleeps = true;
            }
            let word = self.lock.load(Ordering::Relaxed);
            if word & LOST != 0 {
                break false;
            }
            let marked = (word | WANTED) & !AWAKE;
            // Release, so that who sees the mark sees the sleeper counted. pairs with the acquire in `take_among`
            let set =
                || self.lock.compare_exchange(word, marked, Ordering::Release, Ordering::Relaxed).is_ok();
            if word & TAKEN == 0 || !set() {
                continue;
            }
            let told = ToldWait::of(&told::MUTEX, self).held_by(&self.owner);
            if !wait::sleep(&self.lock, marked, until, &told) {
                break false;
            }
            woken = true;
        };
        if sleeps {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
        if in_time {
            self.owner.set();
        }
        in_time
    }

    #[inline]
    fn release(&self) {
        self.owner.clear();
        let unlocks = self.unlocks.load(Ordering::Relaxed).wrapping_add(1);
        self.unlocks.store(unlocks, Ordering::Relaxed);
        // While others look for it an exchange in vain costs more than a look.
        let word = self.lock.load(Ordering::Relaxed);
        let is_awaited = word & (WANTED | AWAKE) == WANTED;
        // pairs with the acquire in `take`; it may be gone from here on
        let free = || self.lock.compare_exchange(word, word & !TAKEN, Ordering::Release, Ordering::Relaxed);
        if is_awaited || free().is_err() {
            self.release_wanted();
        }
        if unlocks.is_multiple_of(UNLOCKS) {
            wait::let_others_run();
        }
    }

    #[cold]
    fn release_wanted(&self) {
        let place = &raw const self.lock;
        let wakes = |word: u32| word & (WANTED | AWAKE) == WANTED;
        let without = |word: u32| Some(word & !TAKEN | if wakes(word) { AWAKE } else { 0 });
        // pairs with the acquire in `take_among`; it may be gone from here on
        let before = self.lock.fetch_update(Ordering::Release, Ordering::Relaxed, without);
        if before.is_ok_and(wakes) {
            wait::wake(place, 1);
        }
    }

    fn is_mine(&self) -> bool {
        self.lock.load(Ordering::Relaxed) & TAKEN != 0 && self.owner.is_caller()
    }

    /// If the caller has it: the answer, by its kind.
    fn again(&self) -> Option<c_int> {
        let kind = self.kind.load(Ordering::Relaxed) & TYPE;
        if !matches!(kind, RECURSIVE | ERROR_CHECK) || !self.is_mine() {
            return None;
        }
        if kind == ERROR_CHECK {
            return Some(libc::EDEADLK);
        }
        let count = self.count.load(Ordering::Relaxed);
        if count == u32::MAX {
            return Some(libc::EAGAIN);
        }
        self.count.store(count + 1, Ordering::Relaxed);
        Some(0)
    }

    fn begin(&self) {
        if self.kind.load(Ordering::Relaxed) & TYPE == RECURSIVE {
            self.count.store(1, Ordering::Relaxed);
        }
    }

    /// Locks one that is not the C library's.
    fn lock_until(&self, until: Option<Instant>) -> c_int {
        if let Some(answer) = self.again() {
            return answer;
        }
        if !self.take() && !self.take_slowly(until) {
            let is_lost = self.lock.load(Ordering::Relaxed) & LOST != 0;
            return if is_lost { libc::ENOTRECOVERABLE } else { libc::ETIMEDOUT };
        }
        self.begin();
        self.note_robust()
    }

    /// The caller has taken it: if it is robust, it is in its holder's list from here on, and says whether another
    /// holder has ended with it.
    fn note_robust(&self) -> c_int {
        if !self.is_robust() {
            return 0;
        }
        if let Some(here) = record::here() {
            self.next.store(here.robust.load(Ordering::Relaxed), Ordering::Relaxed);
            here.robust.store(std::ptr::from_ref(self).expose_provenance(), Ordering::Relaxed);
        }
        if self.lock.load(Ordering::Relaxed) & DIED != 0 { libc::EOWNERDEAD } else { 0 }
    }

    /// The caller gives a robust one back: it leaves the list. If nobody has said that it is sound again, it is lost.
    fn forget_robust(&self) {
        if let Some(here) = record::here() {
            let own = std::ptr::from_ref(self).addr();
            let mut place = &here.robust;
            while place.load(Ordering::Relaxed) != own {
                // SAFETY: who holds a robust mutex has it in memory until it gives it back.
                let Some(next) = (unsafe { robust_at(place.load(Ordering::Relaxed)) }) else { break };
                place = &next.next;
            }
            if place.load(Ordering::Relaxed) == own {
                place.store(self.next.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        if self.lock.load(Ordering::Relaxed) & DIED != 0 {
            self.lock.fetch_or(LOST, Ordering::Relaxed);
        }
    }

    /// Gives back one that was lost: nobody who waits for it gets it.
    fn release_lost(&self) {
        self.owner.clear();
        self.lock.fetch_and(!TAKEN, Ordering::Release); // pairs with the acquire in `take_among`
        wait::wake(&raw const self.lock, u32::MAX);
    }

    /// Gives it up wholly for a wait; how often the caller had it, for [`take_back`](Self::take_back).
    pub(crate) fn give_up(&self) -> Result<u32, c_int> {
        if self.is_of_c() || self.is_robust() {
            return match pthread_mutex_unlock(self) {
                0 => Ok(0),
                error => Err(error),
            };
        }
        let kind = self.kind.load(Ordering::Relaxed) & TYPE;
        if kind == ERROR_CHECK && !self.is_mine() {
            return Err(libc::EPERM);
        }
        let count = if kind == RECURSIVE { self.count.swap(0, Ordering::Relaxed) } else { 0 };
        self.release();
        Ok(count)
    }

    /// Zero, or what taking a robust one has answered.
    pub(crate) fn take_back(&self, count: u32) -> c_int {
        if self.is_of_c() || self.is_robust() {
            return pthread_mutex_lock(self);
        }
        if !self.take() {
            self.take_slowly(None);
        }
        if count != 0 {
            self.count.store(count, Ordering::Relaxed);
        }
        0
    }
}

/// # Safety
/// Zero, or the address of a mutex.
unsafe fn robust_at(address: usize) -> Option<&'static PthreadMutex> {
    // SAFETY: the caller's.
    unsafe { std::ptr::with_exposed_provenance::<PthreadMutex>(address).as_ref() }
}

/// A thread ends: whoever takes a robust mutex of its next is told so.
fn end(here: &ThreadRecord) {
    // SAFETY: as in `forget_robust`.
    while let Some(mutex) = unsafe { robust_at(here.robust.load(Ordering::Relaxed)) } {
        here.robust.store(mutex.next.load(Ordering::Relaxed), Ordering::Relaxed);
        mutex.count.store(0, Ordering::Relaxed);
        mutex.lock.fetch_or(DIED, Ordering::Relaxed);
        mutex.release();
    }
}

#[unsafe(no_mangle)]
extern "C" fn pthread_mutex_consistent(mutex: &PthreadMutex) -> c_int {
    if let Some(shared) = mutex.shared() {
        return shared.make_consistent();
    }
    if !mutex.is_robust() {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_mutex_consistent": MutexCall)(mutex) };
    }
    if !mutex.is_mine() || mutex.lock.load(Ordering::Relaxed) & DIED == 0 {
        return libc::EINVAL;
    }
    mutex.lock.fetch_and(!DIED, Ordering::Relaxed);
    0
}

unsafe extern "C" {
    fn pthread_mutexattr_getpshared(
        attributes: *const libc::pthread_mutexattr_t,
        shared: *mut c_int,
    ) -> c_int;
}

/// As the C library's, which knows the attributes.
#[unsafe(no_mangle)]
extern "C" fn pthread_mutex_init(
    mutex: &PthreadMutex,
    attributes: *const libc::pthread_mutexattr_t,
) -> c_int {
    type MutexInit = unsafe extern "C" fn(&PthreadMutex, *const libc::pthread_mutexattr_t) -> c_int;
    // SAFETY: the caller's arguments.
    let answer = unsafe { next!(c"pthread_mutex_init": MutexInit)(mutex, attributes) };
    // The C library says of each robust one that it is shared.
    if answer == 0 && mutex.kind.load(Ordering::Relaxed) & ROBUST != 0 {
        record::AT_END.get_or_init(|| end);
        let mut shared = 0;
        // SAFETY: there are attributes, or it would not be robust.
        unsafe { pthread_mutexattr_getpshared(attributes, &raw mut shared) };
        if shared == libc::PTHREAD_PROCESS_PRIVATE {
            mutex.kind.fetch_and(!OF_C, Ordering::Relaxed);
        }
    }
    answer
}

#[unsafe(no_mangle)]
extern "C" fn pthread_mutex_destroy(mutex: &PthreadMutex) -> c_int {
    if mutex.is_of_c() {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_mutex_destroy": MutexCall)(mutex) };
    }
    if mutex.is_robust() {
        if mutex.is_mine() {
            mutex.forget_robust();
        }
    } else if mutex.lock.load(Ordering::Relaxed) & TAKEN != 0 {
        return libc::EBUSY;
    }
    mutex.kind.store(u32::MAX, Ordering::Relaxed);
    0
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pthread_mutex_lock(mutex: &PthreadMutex) -> c_int {
    if mutex.is_plain() {
        if !mutex.take() {
            mutex.take_slowly(None);
        }
        return 0;
    }
    lock_special(mutex)
}

/// One that is not plain. PERF: what it saves at its begin and end the usual one need not.
#[cold]
#[inline(never)]
fn lock_special(mutex: &PthreadMutex) -> c_int {
    if !mutex.is_of_c() {
        return mutex.lock_until(None);
    }
    if let Some(shared) = mutex.shared() {
        return shared.lock(SharedWait::Ever);
    }
    // A robust one may have been taken with a word about its owner's death.
    let tried = pthread_mutex_trylock(mutex);
    if tried != libc::EBUSY {
        return tried;
    }
    let next = next!(c"pthread_mutex_lock": MutexCall);
    // SAFETY: the caller's argument.
    blocking(|| unsafe { next(mutex) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pthread_mutex_trylock(mutex: &PthreadMutex) -> c_int {
    if mutex.is_of_c() {
        if let Some(shared) = mutex.shared() {
            return shared.lock(SharedWait::Not);
        }
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_mutex_trylock": MutexCall)(mutex) };
    }
    if mutex.kind.load(Ordering::Relaxed) & TYPE == RECURSIVE
        && let Some(answer) = mutex.again()
    {
        return answer;
    }
    if !mutex.take() && !mutex.take_among(false, false) {
        wait::let_others_run();
        let is_lost = mutex.lock.load(Ordering::Relaxed) & LOST != 0;
        return if is_lost { libc::ENOTRECOVERABLE } else { libc::EBUSY };
    }
    mutex.owner.set();
    mutex.begin();
    mutex.note_robust()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pthread_mutex_timedlock(mutex: &PthreadMutex, time: &libc::timespec) -> c_int {
    if mutex.is_of_c() {
        if let Some(shared) = mutex.shared() {
            return shared.lock(SharedWait::Until(libc::CLOCK_REALTIME, time));
        }
        let next = next!(c"pthread_mutex_timedlock": MutexTimed);
        // SAFETY: the caller's arguments.
        return blocking(|| unsafe { next(mutex, time) });
    }
    lock_by(mutex, libc::CLOCK_REALTIME, time)
}

#[unsafe(no_mangle)]
extern "C" fn pthread_mutex_clocklock(
    mutex: &PthreadMutex,
    clock: libc::clockid_t,
    time: &libc::timespec,
) -> c_int {
    if mutex.is_of_c() {
        if let Some(shared) = mutex.shared() {
            return match clock {
                libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC => shared.lock(SharedWait::Until(clock, time)),
                _ => libc::EINVAL,
            };
        }
        let next = next!(c"pthread_mutex_clocklock": MutexClocked);
        // SAFETY: the caller's arguments.
        return blocking(|| unsafe { next(mutex, clock, time) });
    }
    lock_by(mutex, clock, time)
}

fn lock_by(mutex: &PthreadMutex, clock: libc::clockid_t, time: &libc::timespec) -> c_int {
    if clock != libc::CLOCK_REALTIME && clock != libc::CLOCK_MONOTONIC {
        return libc::EINVAL;
    }
    // Who need not wait need not know a time.
    if let Some(answer) = mutex.again() {
        return answer;
    }
    if mutex.take() {
        mutex.begin();
        return mutex.note_robust();
    }
    match wait::until_by(clock, time) {
        Ok(until) => mutex.lock_until(until),
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pthread_mutex_unlock(mutex: &PthreadMutex) -> c_int {
    if mutex.is_plain() {
        mutex.release();
        return 0;
    }
    unlock_special(mutex)
}

/// As [`lock_special`].
#[cold]
#[inline(never)]
fn unlock_special(mutex: &PthreadMutex) -> c_int {
    if mutex.is_of_c() {
        if let Some(shared) = mutex.shared() {
            return shared.unlock();
        }
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_mutex_unlock": MutexCall)(mutex) };
    }
    if !mutex.is_mine() {
        return libc::EPERM;
    }
    if mutex.kind.load(Ordering::Relaxed) & TYPE == RECURSIVE {
        let count = mutex.count.load(Ordering::Relaxed);
        mutex.count.store(count.saturating_sub(1), Ordering::Relaxed);
        if count > 1 {
            return 0;
        }
    }
    if mutex.is_robust() {
        mutex.forget_robust();
        if mutex.lock.load(Ordering::Relaxed) & LOST != 0 {
            mutex.release_lost();
            return 0;
        }
    }
    mutex.release();
    0
}

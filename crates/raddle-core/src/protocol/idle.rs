//! Owns: `IdleSet`: who sleeps, who searches, and how somebody with work finds one to wake.
//! May use: `prim`, `order`.
//! Never: the work itself; callers publish before they notify and look again before they sleep.
//!
//! An event count without a counter: a sleeper announces itself, runs a full fence, and looks everywhere once more;
//! a notifier publishes, runs a full fence, and reads the announcements. One of the two sees the other. `idle.md`
//! beside this file has the states, the rules and the argument.
//!
//! Three ways to wake, by price:
//! * [`IdleSet::wake_owner`]: mail for one worker, which the inbox's own word says is asleep: no fence.
//! * [`IdleSet::notify`]: work for anybody, published rarely: a full fence, and a futex call if somebody sleeps.
//! * [`IdleSet::knock`]: a spawn, which happens every 20 ns: one relaxed load of a word that changes once in a
//!   millisecond; at worst the knock comes late by the looker's doze.

use crate::order;
use crate::prim::{AtomicU32, AtomicU64, Ordering, futex_wait, futex_wake_one};
use std::ops::Range;
use std::time::Duration;

const ONE_SLEEPER: u64 = 1;
const ONE_SEARCHER: u64 = 1 << 16;
const COUNT: u64 = 0xffff;
/// Somebody sleeps and nobody will look soon: who spawns should knock.
const KNOCK: u64 = 1 << 32;
/// One of the sleepers has a time-out and will look around.
const LOOKER: u64 = 1 << 33;
/// Counts announcements, up to the top of the word, and wraps.
const ONE_ANNOUNCEMENT: u64 = 1 << 34;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const WOKEN_TO_SEARCH: u32 = 2;
const WOKEN_BY_MAIL: u32 = 3;

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A notifier counted this worker as a searcher already: it must search.
    ToSearch,
    /// There is mail in the inbox.
    ByMail,
    /// The time is up, or for no reason.
    ByItself,
}

/// How long a sleeper may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Somebody is busy and nobody else looks: sleep at most a doze, then look around.
    Looker,
    /// Another one looks.
    OffDuty,
    /// Everybody sleeps: no time-out but for a timer.
    NobodyBusy,
}

/// One worker's futex word, alone on its line.
#[derive(Debug)]
#[repr(align(128))]
struct Bed(AtomicU32);

/// Who sleeps and who searches, of a fixed set of workers.
#[derive(Debug)]
pub(crate) struct IdleSet {
    word: AtomicU64,
    beds: Box<[Bed]>,
}

impl IdleSet {
    pub(crate) fn new(workers: usize) -> Self {
        assert!(workers > 0 && workers < COUNT as usize, "the counts have 16 bits");
        let beds = (0..workers).map(|_| Bed(AtomicU32::new(AWAKE))).collect();
        IdleSet { word: AtomicU64::new(0), beds }
    }

    /// How many sleep at a glance.
    pub(crate) fn sleepers(&self) -> usize {
        (self.word.load(Ordering::Relaxed) & COUNT) as usize
    }

    /// When everybody is awake and nobody searches, only the wish for knocks may be left in the word.
    #[cfg(any(loom, test))]
    pub(crate) fn is_balanced(&self) -> bool {
        self.word.load(Ordering::Relaxed) & !KNOCK == 0
    }

    /// A busy worker has run dry and wants to search. At most one searches; the others sleep at once.
    pub(crate) fn try_search(&self) -> bool {
        let seen = self.word.load(Ordering::Relaxed);
        let nobody_searches = (seen / ONE_SEARCHER) & COUNT == 0;
        // Relaxed: who is refused goes to sleep, which has its own fence and last look.
        let relaxed = Ordering::Relaxed;
        nobody_searches && self.word.compare_exchange(seen, seen + ONE_SEARCHER, relaxed, relaxed).is_ok()
    }

    /// The searcher has found work and is busy again. True if others sleep and might search in its place.
    pub(crate) fn found(&self) -> bool {
        let before = self.word.fetch_sub(ONE_SEARCHER, Ordering::Relaxed);
        before & COUNT > 0
    }

    /// Announces that `worker` is about to sleep, and runs the sleeper's fence: the caller now looks everywhere once
    /// more, and calls [`cancel`](Self::cancel) if it finds something, [`sleep`](Self::sleep) if not.
    pub(crate) fn announce(&self, worker: usize, was_searcher: bool) -> Watch {
        self.beds[worker].0.store(ASLEEP, Ordering::Relaxed);
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let searchers_less = if was_searcher { ONE_SEARCHER } else { 0 };
            let mut to = seen.wrapping_add(ONE_ANNOUNCEMENT + ONE_SLEEPER) - searchers_less;
            let watch = if to & COUNT == self.beds.len() as u64 {
                to |= KNOCK;
                Watch::NobodyBusy
            } else if seen & LOOKER == 0 {
                to |= LOOKER;
                Watch::Looker
            } else {
                Watch::OffDuty
            };
            // Release pairs with the acquire in `all_asleep`: what this worker handed over can be seen there.
            match self.word.compare_exchange_weak(seen, to, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    order::IDLE_SLEEPER_FENCE();
                    return watch;
                }
                Err(now) => seen = now,
            }
        }
    }

    /// If everybody has announced itself asleep: a number that is another as soon as anybody gets up.
    ///
    /// An announcement comes before the last look, so that the one who announced may still find mail and get up
    /// again: see `idle.md` for how the end of a runtime tells the two apart.
    pub(crate) fn all_asleep(&self) -> Option<u64> {
        // Acquire pairs with the release of every announcement: all changes of the word are read-modify-writes.
        let word = self.word.load(Ordering::Acquire);
        (word & COUNT == self.beds.len() as u64).then_some(word & !(KNOCK | LOOKER))
    }

    /// Whether one of the sleepers looks around from time to time.
    pub(crate) fn is_watched(&self) -> bool {
        self.word.load(Ordering::Relaxed) & LOOKER != 0
    }

    /// The looker's doze will be a long one: whoever spawns may knock.
    pub(crate) fn ask_for_knocks(&self) {
        self.word.fetch_or(KNOCK, Ordering::Relaxed);
    }

    /// Gets up again without having slept, or when the doze is over.
    pub(crate) fn cancel(&self, worker: usize, watch: Watch) -> Woken {
        let bed = &self.beds[worker].0;
        let state = bed.swap(AWAKE, Ordering::Relaxed);
        let change = |word: u64| word & !if watch == Watch::Looker { LOOKER } else { 0 };
        let woken = match state {
            WOKEN_TO_SEARCH => Woken::ToSearch,
            WOKEN_BY_MAIL => Woken::ByMail,
            _ => Woken::ByItself,
        };
        let left = if woken == Woken::ByItself { ONE_SLEEPER } else { 0 };
        let update = |word| Some(change(word) - left);
        let _always_some = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        woken
    }

    /// Sleeps for a while, and stays announced as asleep. False if it has been woken.
    pub(crate) fn doze(&self, worker: usize, at_most: Duration) -> bool {
        let bed = &self.beds[worker].0;
        futex_wait(bed, ASLEEP, Some(at_most));
        bed.load(Ordering::Relaxed) == ASLEEP
    }

    /// Sleeps until woken, or until `at_most` has passed. The caller has marked its inbox asleep and takes the mark
    /// back afterwards.
    pub(crate) fn sleep(&self, worker: usize, watch: Watch, at_most: Option<Duration>) -> Woken {
        let bed = &self.beds[worker].0;
        if bed.load(Ordering::Relaxed) == ASLEEP {
            futex_wait(bed, ASLEEP, at_most);
        }
        self.cancel(worker, watch)
    }

    /// Wakes the owner of an inbox in which a push found it asleep.
    pub(crate) fn wake_owner(&self, worker: usize) {
        self.wake(worker, WOKEN_BY_MAIL);
    }

    /// An alarm was set for `worker` from outside: if it sleeps, it must reckon its time-out anew.
    pub(crate) fn wake_for_alarm(&self, worker: usize) {
        order::IDLE_NOTIFIER_FENCE();
        self.wake(worker, WOKEN_BY_MAIL);
    }

    /// Work for anybody has been published: wakes one sleeper, unless somebody searches already. True if it woke one.
    pub(crate) fn notify(&self) -> bool {
        order::IDLE_NOTIFIER_FENCE();
        let seen = self.word.load(Ordering::Relaxed);
        let searching = (seen / ONE_SEARCHER) & COUNT > 0;
        seen & COUNT > 0 && !searching && self.wake_any()
    }

    /// Work for `some` only has been published: wakes one of them that sleeps, whoever searches. True if it woke one.
    pub(crate) fn notify_one_of(&self, some: Range<usize>) -> bool {
        order::IDLE_NOTIFIER_FENCE();
        some.into_iter().any(|worker| self.wake(worker, WOKEN_TO_SEARCH))
    }

    /// Whether a spawner should [`knock`](Self::knock). One relaxed load.
    #[inline(always)]
    pub(crate) fn wants_knock(&self) -> bool {
        self.word.load(Ordering::Relaxed) & KNOCK != 0
    }

    /// Wakes one sleeper to look at what has been spawned; only the first of many knockers does.
    #[cold]
    pub(crate) fn knock(&self) {
        if self.word.fetch_and(!KNOCK, Ordering::Relaxed) & KNOCK != 0 {
            self.wake_any();
        }
    }

    /// Wakes everybody: the set is being shut down.
    pub(crate) fn wake_all(&self) {
        order::IDLE_NOTIFIER_FENCE();
        for worker in 0..self.beds.len() {
            self.wake(worker, WOKEN_TO_SEARCH);
        }
    }

    /// Some worker that sleeps, for who wants to hand it something.
    pub(crate) fn some_sleeper(&self, but_not: usize) -> Option<usize> {
        let asleep =
            |&worker: &usize| worker != but_not && self.beds[worker].0.load(Ordering::Relaxed) == ASLEEP;
        (0..self.beds.len()).find(asleep)
    }

    fn wake_any(&self) -> bool {
        (0..self.beds.len()).any(|worker| self.wake(worker, WOKEN_TO_SEARCH))
    }

    /// Whoever moves a bed away from `ASLEEP` also moves the counts.
    fn wake(&self, worker: usize, how: u32) -> bool {
        let bed = &self.beds[worker].0;
        let relaxed = Ordering::Relaxed;
        if bed.load(relaxed) != ASLEEP || bed.compare_exchange(ASLEEP, how, relaxed, relaxed).is_err() {
            return false;
        }
        let joins = if how == WOKEN_TO_SEARCH { ONE_SEARCHER } else { 0 };
        self.word.fetch_add(joins.wrapping_sub(ONE_SLEEPER), Ordering::Relaxed);
        futex_wake_one(bed);
        true
    }
}

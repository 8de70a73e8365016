//! Owns: `IdleSet`: who sleeps, who searches, and how somebody with work finds one to wake.
//! May use: `order`, `prim`, `loom`, `raddle-syscall`.
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
//!   millisecond; at worst the knock comes late by the watcher's doze.

use crate::order;
use crate::prim::{AtomicBool, AtomicU32, AtomicU64, Ordering, futex_wait, futex_wake_one, overwrite};
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

/// Somebody sleeps and nobody will look soon: who spawns should knock.
const KNOCK: u64 = 1;
/// One of the sleepers has a time-out and will look around.
const WATCHER: u64 = 2;
/// The counts stand above the flags, and wrap: a count that is briefly negative, because a waker moved a sleep word and
/// has not counted yet, borrows from above and never disturbs a flag.
const ONE_SEARCHER: u64 = 1 << 16;
const ONE_SLEEPER: u64 = 1 << 40;

/// How many search; negative while a waker has still to count one that has found work already.
#[inline]
fn searchers(word: u64) -> i64 {
    (word << 24).cast_signed() >> 40
}

/// How many sleep; negative while one is announced that was woken first.
#[inline]
fn sleepers(word: u64) -> i64 {
    word.wrapping_sub(searchers(word).cast_unsigned() << 16).cast_signed() >> 40
}

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const WOKEN_TO_SEARCH: u32 = 2;
const WOKEN_BY_MAIL: u32 = 3;
/// Asleep, but not at its word: in the poll, which the bell ends.
const IN_POLL: u32 = 4;

#[inline]
fn says_asleep(word: u32) -> bool {
    word == ASLEEP || word == IN_POLL
}

/// Ends a sleep in the poll.
struct Bell(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]
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
#[cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]
pub enum Watch {
    /// Nobody else looks, and somebody is busy, or was a moment ago: sleep at most a doze, then look around.
    Watcher,
    /// Another one looks, but may do so rarely, since it was one more than there are cores: as the watcher.
    Beside,
    /// Another one looks.
    OffDuty,
    /// Everybody sleeps, and has for a while: no time-out but for a timer.
    NobodyBusy,
}

/// Who is to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Nobody.
    Nobody,
    /// This one, if it sleeps.
    This(usize),
    /// Some sleeper.
    Any,
    /// Some sleeper, if none of them looks around from time to time.
    AnyIfNobodyLooks,
}

/// One worker's futex word, alone on its line.
#[derive(Debug)]
#[repr(align(128))]
struct SleepWord(AtomicU32);

/// Who sleeps and who searches, of a fixed set of workers.
#[derive(Debug)]
pub struct IdleSet {
    word: AtomicU64,
    /// How often anybody has lain down.
    announcements: AtomicU64,
    /// So many can run at once: the cores that there are for them.
    room: usize,
    sleep_words: Box<[SleepWord]>,
    /// Somebody is in the poll.
    is_polled: AtomicBool,
    bell: OnceLock<Bell>,
}

/// Who stops looking, or searching, leaves the rest of the sleepers without a watcher: the next spawner is to knock.
#[inline]
fn asking_if_nobody_looks(word: u64) -> u64 {
    if sleepers(word) > 0 && word & WATCHER == 0 { word | KNOCK } else { word }
}

impl IdleSet {
    /// The state of so many workers, all awake, of which `room` can run at once.
    #[inline]
    pub fn new(workers: usize, room: usize) -> Self {
        assert!(workers > 0 && workers < 1 << 23, "the counts have 24 bits, one of them for the sign");
        let sleep_words = (0..workers).map(|_| SleepWord(AtomicU32::new(AWAKE))).collect();
        let (word, announcements) = (AtomicU64::new(0), AtomicU64::new(0));
        let (is_polled, bell) = (AtomicBool::new(false), OnceLock::new());
        IdleSet { word, announcements, room, sleep_words, is_polled, bell }
    }

    /// How many are awake, by the word.
    #[inline]
    fn awake(&self, word: u64) -> i64 {
        self.sleep_words.len() as i64 - sleepers(word)
    }

    /// Whether as many are awake as can run at once. For one that has announced itself, and run the sleeper's fence:
    /// whether it can leave the work of others to others, which is what they will find when they run dry.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.awake(self.word.load(Ordering::Relaxed)) >= self.room as i64
    }

    /// For one that is awake: whether more are than can run at once.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.awake(self.word.load(Ordering::Relaxed)) > self.room as i64
    }

    /// Of more workers than there are cores one lies down that had one.
    #[inline]
    fn leaves_a_core(&self, word: u64) -> bool {
        self.room < self.sleep_words.len() && self.awake(word) < self.room as i64
    }

    /// Whether to wake one more for work that those who are awake will come to: only if it has a core to run on, or
    /// nobody else would look around.
    #[inline]
    fn has_use_for_one_more(&self, word: u64) -> bool {
        self.awake(word) < self.room as i64 || word & WATCHER == 0
    }

    /// How many there are.
    #[cfg(not(loom))]
    #[inline]
    pub fn workers(&self) -> usize {
        self.sleep_words.len()
    }

    /// How many sleep at a glance.
    #[inline]
    pub fn sleepers(&self) -> usize {
        usize::try_from(sleepers(self.word.load(Ordering::Relaxed))).unwrap_or(0)
    }

    /// When everybody is awake and nobody searches, only the wish for knocks may be left in the word.
    #[cfg(loom)]
    #[inline]
    pub fn is_balanced(&self) -> bool {
        self.word.load(Ordering::Relaxed) & !KNOCK == 0
    }

    /// A busy worker has run dry and wants to search. At most one searches; the others sleep at once.
    #[inline]
    pub fn try_search(&self) -> bool {
        let seen = self.word.load(Ordering::Relaxed);
        // Relaxed: who is refused goes to sleep, which has its own fence and last look.
        let (relaxed, to) = (Ordering::Relaxed, seen.wrapping_add(ONE_SEARCHER));
        searchers(seen) <= 0 && self.word.compare_exchange(seen, to, relaxed, relaxed).is_ok()
    }

    /// The searcher has found work and is busy again. True if others sleep: the caller now looks whether there is more
    /// work anywhere, since who published it while this one searched has woken nobody, and notifies if there is.
    #[inline]
    pub fn found(&self) -> bool {
        let leave = |word: u64| Some(asking_if_nobody_looks(word.wrapping_sub(ONE_SEARCHER)));
        let before = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, leave);
        order::IDLE_FOUND_FENCE();
        sleepers(before.unwrap_or_else(|unchanged| unchanged)) > 0
    }

    /// Announces that `worker` is about to sleep, and runs the sleeper's fence: the caller now looks everywhere once
    /// more, and calls [`cancel`](Self::cancel) if it finds something, [`sleep`](Self::sleep) if not. Who `lingers` is
    /// the watcher if there is none, even if nobody is busy: the next who gets up for a moment need wake nobody then.
    /// So is the last one who lies down if anybody is up `beside` the set, which is asked after the fence.
    #[inline]
    pub fn announce(
        &self,
        worker: usize,
        was_searcher: bool,
        lingers: bool,
        beside: impl FnOnce() -> bool,
    ) -> Watch {
        self.sleep_words[worker].0.store(ASLEEP, Ordering::Relaxed);
        // Relaxed: published by the announcement that follows.
        self.announcements.fetch_add(1, Ordering::Relaxed);
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let searched = if was_searcher { ONE_SEARCHER } else { 0 };
            let mut to = seen.wrapping_add(ONE_SLEEPER).wrapping_sub(searched);
            let is_anybody_up = sleepers(to) < self.sleep_words.len() as i64;
            let watch = if seen & WATCHER == 0 && (lingers || is_anybody_up) {
                to |= WATCHER;
                Watch::Watcher
            } else if seen & WATCHER == 0 {
                to |= KNOCK;
                Watch::NobodyBusy
            } else if is_anybody_up && self.leaves_a_core(to) {
                Watch::Beside
            } else {
                Watch::OffDuty
            };
            match self.word.compare_exchange_weak(seen, to, order::IDLE_ANNOUNCE(), Ordering::Relaxed) {
                Ok(_) => {
                    order::IDLE_SLEEPER_FENCE();
                    return if watch == Watch::NobodyBusy {
                        self.unless_somebody_is_up(watch, beside)
                    } else {
                        watch
                    };
                }
                Err(now) => seen = now,
            }
        }
    }

    /// All are counted as asleep; but one that was woken is counted until its waker comes to it, and may be up already,
    /// and who works beside the set is never counted.
    #[inline]
    fn unless_somebody_is_up(&self, nobody_busy: Watch, beside: impl FnOnce() -> bool) -> Watch {
        if self.sleep_words.iter().all(|word| says_asleep(word.0.load(Ordering::Relaxed))) && !beside() {
            return nobody_busy;
        }
        let before = self.word.fetch_or(WATCHER, Ordering::Relaxed);
        if before & WATCHER == 0 { Watch::Watcher } else { Watch::OffDuty }
    }

    /// If everybody is asleep: a number that is another as soon as anybody has lain down anew.
    ///
    /// An announcement comes before the last look, so that the one who announced may still find mail and get up
    /// again: see `idle.md` for how the end of a runtime tells the two apart.
    #[inline]
    pub fn all_asleep(&self) -> Option<u64> {
        // All changes of the word are read-modify-writes, so every announcement before the last one is seen, too.
        let all_counted =
            || sleepers(self.word.load(order::IDLE_ALL_ASLEEP())) == self.sleep_words.len() as i64;
        let announcements = self.announcements.load(Ordering::Relaxed);
        let all_say_asleep =
            || self.sleep_words.iter().all(|word| says_asleep(word.0.load(Ordering::Relaxed)));
        let unchanged = || self.announcements.load(Ordering::Relaxed) == announcements;
        (all_counted() && all_say_asleep() && unchanged()).then_some(announcements)
    }

    /// Whether one of the sleepers looks around from time to time.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WATCHER != 0
    }

    /// The watcher's doze will be a long one: whoever spawns may knock.
    #[inline]
    pub fn ask_for_knocks(&self) {
        self.word.fetch_or(KNOCK, Ordering::Relaxed);
    }

    /// Gets up again without having slept, or when the doze is over.
    #[inline(never)]
    pub fn cancel(&self, worker: usize, watch: Watch) -> Woken {
        let word = &self.sleep_words[worker].0;
        let state = word.swap(AWAKE, Ordering::Relaxed);
        let woken = match state {
            WOKEN_TO_SEARCH => Woken::ToSearch,
            WOKEN_BY_MAIL => Woken::ByMail,
            _ => Woken::ByItself,
        };
        let left = if woken == Woken::ByItself { ONE_SLEEPER } else { 0 };
        let update = |word: u64| {
            let word = word.wrapping_sub(left);
            Some(if watch == Watch::Watcher { asking_if_nobody_looks(word & !WATCHER) } else { word })
        };
        let _always_some = self.word.fetch_update(order::IDLE_CANCEL(), Ordering::Relaxed, update);
        woken
    }

    /// Sleeps for a while, and stays announced as asleep. False if it has been woken.
    #[inline]
    pub fn doze(&self, worker: usize, at_most: Duration) -> bool {
        let word = &self.sleep_words[worker].0;
        futex_wait(word, ASLEEP, Some(at_most));
        word.load(Ordering::Relaxed) == ASLEEP
    }

    /// Sleeps until woken, or until `at_most` has passed. The caller has marked its inbox asleep and takes the mark
    /// back afterwards.
    #[inline(never)]
    pub fn sleep(&self, worker: usize, watch: Watch, at_most: Option<Duration>) -> Woken {
        let word = &self.sleep_words[worker].0;
        if word.load(Ordering::Relaxed) == ASLEEP {
            futex_wait(word, ASLEEP, at_most);
        }
        self.cancel(worker, watch)
    }

    /// From now on one may sleep in a poll, which `ring` ends: the one that is under way, or else the next. Once.
    pub fn set_bell(&self, ring: Box<dyn Fn() + Send + Sync>) {
        let _twice = self.bell.set(Bell(ring));
    }

    /// Whether somebody sleeps in the poll, or has just left it, or is about to.
    #[inline]
    pub fn is_polled(&self) -> bool {
        self.is_polled.load(Ordering::Relaxed)
    }

    /// As [`sleep`](Self::sleep), in `poll`. `None` if somebody else is there: the caller sleeps at its word.
    ///
    /// One at a time, since what rings does not choose whom it wakes: of two, the wrong one might hear it.
    #[inline]
    pub fn sleep_in(&self, worker: usize, watch: Watch, poll: impl FnOnce()) -> Option<Woken> {
        if self.bell.get().is_none() || self.is_polled.swap(true, Ordering::Relaxed) {
            return None;
        }
        let (word, relaxed) = (&self.sleep_words[worker].0, Ordering::Relaxed);
        // Who wakes from now on rings; if the word has changed already, this one is up.
        if word.compare_exchange(ASLEEP, IN_POLL, relaxed, relaxed).is_ok() {
            poll();
        }
        let woken = self.cancel(worker, watch);
        // Before the fence of this one's next announcement: see `Outstanding`.
        overwrite!(self.is_polled, false, Ordering::Relaxed);
        Some(woken)
    }

    /// Wakes the owner of an inbox in which a push found it asleep.
    #[inline]
    pub fn wake_owner(&self, worker: usize) {
        self.wake(worker, WOKEN_BY_MAIL);
    }

    /// As [`wake_owner`](Self::wake_owner). False if it is awake already.
    #[cfg(loom)]
    pub fn wakes_owner(&self, worker: usize) -> bool {
        self.wake(worker, WOKEN_BY_MAIL)
    }

    /// An alarm was set for `worker` from outside: if it sleeps, it must reckon its time-out anew.
    #[inline]
    pub fn wake_for_alarm(&self, worker: usize) {
        order::IDLE_NOTIFIER_FENCE();
        self.wake(worker, WOKEN_BY_MAIL);
    }

    /// Something has changed that one sleeper is to see before it sleeps on: `whom` is asked after the fence.
    #[inline]
    pub(crate) fn wake_to_ask(&self, whom: impl FnOnce() -> Whom) {
        order::IDLE_NOTIFIER_FENCE();
        match whom() {
            Whom::Nobody => {}
            // Beside one who lingers nobody is up: nobody asks before that one's doze is over.
            Whom::AnyIfNobodyLooks if self.is_watched() && self.sleepers() < self.sleep_words.len() => {}
            Whom::This(worker) => {
                self.wake(worker, WOKEN_BY_MAIL);
            }
            Whom::Any | Whom::AnyIfNobodyLooks => {
                (0..self.sleep_words.len()).any(|worker| self.wake(worker, WOKEN_BY_MAIL));
            }
        }
    }

    /// Work for anybody has been published: wakes one sleeper, unless somebody searches already. True if it woke one.
    #[inline]
    pub fn notify(&self) -> bool {
        order::IDLE_NOTIFIER_FENCE();
        let seen = self.word.load(Ordering::Relaxed);
        sleepers(seen) > 0 && searchers(seen) <= 0 && self.wake_any()
    }

    /// As [`notify`](Self::notify), for work of a worker's own, to which it will come itself if nobody else does: wakes
    /// nobody if as many are awake as can run at once.
    #[inline]
    pub fn notify_if_room(&self) -> bool {
        order::IDLE_NOTIFIER_FENCE();
        let seen = self.word.load(Ordering::Relaxed);
        let wanted = sleepers(seen) > 0 && searchers(seen) <= 0 && self.has_use_for_one_more(seen);
        wanted && self.wake_any()
    }

    /// Work for `some` only has been published: wakes one of them that sleeps, whoever else searches. True if it woke
    /// one.
    #[inline]
    pub fn notify_one_of(&self, some: Range<usize>) -> bool {
        order::IDLE_NOTIFIER_FENCE();
        some.into_iter().any(|worker| self.wake(worker, WOKEN_TO_SEARCH))
    }

    /// Whether a spawner should [`knock`](Self::knock). One relaxed load.
    #[inline(always)]
    pub fn wants_knock(&self) -> bool {
        self.word.load(Ordering::Relaxed) & KNOCK != 0
    }

    /// Wakes one sleeper to look at what has been spawned; only the first of many knockers does.
    #[cold]
    pub fn knock(&self) {
        let before = self.word.fetch_and(!KNOCK, order::IDLE_KNOCK());
        if before & KNOCK != 0 && self.has_use_for_one_more(before) {
            self.wake_any();
        }
    }

    /// Somebody who is none of the set, and works beside it, has got up, and shows that: from now on one who sleeps
    /// looks around, as beside any other who is up. If one searches, that one finds out when it lies down.
    #[inline]
    pub fn note_up_beside(&self) {
        order::IDLE_NOTIFIER_FENCE();
        let seen = self.word.load(Ordering::Relaxed);
        if seen & WATCHER == 0 && sleepers(seen) > 0 && searchers(seen) <= 0 {
            self.wake_any();
        }
    }

    /// Wakes everybody: the set is being shut down.
    #[inline]
    pub fn wake_all(&self) {
        order::IDLE_NOTIFIER_FENCE();
        for worker in 0..self.sleep_words.len() {
            self.wake(worker, WOKEN_TO_SEARCH);
        }
    }

    /// Whether this worker sleeps at a glance.
    #[cfg(not(loom))]
    #[inline]
    pub fn is_asleep(&self, worker: usize) -> bool {
        says_asleep(self.sleep_words[worker].0.load(Ordering::Relaxed))
    }

    /// Some worker that sleeps, for who wants to hand it something.
    #[inline]
    pub fn some_sleeper(&self, but_not: usize) -> Option<usize> {
        let asleep = |&worker: &usize| {
            worker != but_not && says_asleep(self.sleep_words[worker].0.load(Ordering::Relaxed))
        };
        (0..self.sleep_words.len()).find(asleep)
    }

    #[inline]
    fn wake_any(&self) -> bool {
        (0..self.sleep_words.len()).any(|worker| self.wake(worker, WOKEN_TO_SEARCH))
    }

    /// Whoever moves a sleep word away from `ASLEEP` also moves the counts.
    #[inline]
    fn wake(&self, worker: usize, how: u32) -> bool {
        let word = &self.sleep_words[worker].0;
        let relaxed = Ordering::Relaxed;
        let mut seen = word.load(relaxed);
        loop {
            if !says_asleep(seen) {
                return false;
            }
            // It may go from its word into the poll meanwhile.
            match word.compare_exchange(seen, how, relaxed, relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        let joins = if how == WOKEN_TO_SEARCH { ONE_SEARCHER } else { 0 };
        self.word.fetch_add(joins.wrapping_sub(ONE_SLEEPER), Ordering::Relaxed);
        match self.bell.get() {
            Some(bell) if seen == IN_POLL => (bell.0)(),
            _ => futex_wake_one(word),
        }
        true
    }
}

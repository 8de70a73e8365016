//! Owns: `Share`: whether the bodies of a replicated `par` are worth another worker.
//! May use: `raddle-protocol`.
//! Never: a body, a process.
//!
//! Bodies that talk to each other, or to one collector, are cheap on one worker and dear on two: each message takes
//! another core's attention. PERF: 200 000 bodies that send to one collector, ns each on two workers where one takes
//! 42, 18, 14 (channels of 0, 16, 1024): 290 to 590, 330 to 590, 77 to 290 if whoever is idle takes a half.
//!
//! Bodies that wait for others may gain as well, though: what they compute between may be long. Neither how often they
//! wait nor how long one of them takes tells the two apart once they are shared; and where a channel has much room, it
//! is the collector who waits. So it is *tried*: how fast the loop as a whole ends bodies before an idle worker takes a
//! half, and after. If it is no faster, the half goes back, and the next trial comes later each time; if it is, and
//! bodies wait, it is tried again after some milliseconds. Dear bodies are shared out without a trial.
//!
//! The home of a loop of cheap bodies goes where its runners are woken: else the worker that they have left has nothing
//! better to do than to start others, which are woken there as well.
//!
//! Considered: the rule by which `raddle::par_for` finds turns that talk (by the time of a turn, below 300 ns), whose
//! loop is cut by the flow that runs it, at any time, and so later than it knows; here a thief comes at any time, and
//! for a channel of 1024 only one body in a thousand waits.

use raddle_protocol::prim::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A loop must be known for so long before it is shared: a steal takes as long.
const KNOWN_NS: u64 = 2_000;

/// Bodies that take so long each, by the loop as a whole, are shared out: a message takes less from core to core.
const DEAR_NS: u64 = 2_000;

/// So long a trial takes: some dozens of messages from core to core.
const TRIAL_NS: u64 = 20_000;

/// So long nobody tries again after the first failure; twice as long after each that follows.
const FIRST_PAUSE_NS: u64 = 1_000_000;
const LAST_PAUSE_NS: u64 = 64_000_000;

/// What pays is looked at again after so long, by so long without it.
const PROVEN_NS: u64 = 16_000_000;
const AGAIN_NS: u64 = 100_000;

/// Where bodies wait, the rest of a loop is shared only if it takes so long by itself: else it is over with the trial.
const LEFT_NS: u64 = 10 * TRIAL_NS;

/// No worker.
const NOWHERE: usize = usize::MAX;

/// Indices that nobody has taken yet.
pub(super) struct Indices {
    /// The next in the upper half, the end in the lower.
    word: AtomicU64,
    /// How many runners take from them.
    pub(super) runners: AtomicU32,
    /// So many bodies have waited. A guess: they count without locks.
    waits: AtomicU32,
    /// Which worker runs them; `NOWHERE` on an OS thread.
    home: AtomicUsize,
    /// Which worker had those of which these were a part.
    from: usize,
    first: u32,
}

impl Indices {
    /// Those from `next` on, to be run by the worker `home`.
    pub(super) fn new((next, end): (u32, u32), home: Option<usize>) -> Self {
        let home = home.unwrap_or(NOWHERE);
        Indices {
            word: AtomicU64::new(word(next, end)),
            runners: AtomicU32::new(0),
            waits: AtomicU32::new(0),
            home: AtomicUsize::new(home),
            from: home,
            first: next,
        }
    }

    // Relaxed throughout: what the bodies' users share comes with the processes, and who finds another home than there
    // is by now asks again.

    /// What is left, as `(next, end)`.
    pub(super) fn left(&self) -> (u32, u32) {
        parts(self.word.load(Ordering::Relaxed))
    }

    pub(super) fn home(&self) -> Option<usize> {
        let home = self.home.load(Ordering::Relaxed);
        (home != NOWHERE).then_some(home)
    }

    /// To be run by whom they were taken from.
    pub(super) fn give_back(&self) {
        self.home.store(self.from, Ordering::Relaxed);
    }

    /// Whoever ran them for the worker `before` was woken on another. Returns their home: another than that one, if
    /// they were given back, or another runner has come first.
    pub(super) fn follow(&self, before: Option<usize>, at: usize) -> Option<usize> {
        let (relaxed, before) = (Ordering::Relaxed, before.unwrap_or(NOWHERE));
        let _ = self.home.compare_exchange(before, at, relaxed, relaxed);
        self.home()
    }

    pub(super) fn take(&self) -> Option<u32> {
        let step = |before| matches!(parts(before), (next, end) if next < end).then_some(before + (1 << 32));
        let before = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).ok()?;
        Some(parts(before).0)
    }

    /// Takes the upper half of what is left, and at least one, for the worker `home`.
    pub(super) fn split(&self, home: Option<usize>) -> Option<Indices> {
        let middle = |next, end| next + (end - next) / 2;
        let halve = |before| match parts(before) {
            (next, end) if next < end => Some(word(next, middle(next, end))),
            _ => None,
        };
        let before = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, halve).ok()?;
        let (next, end) = parts(before);
        let from = self.home.load(Ordering::Relaxed);
        Some(Indices { from, ..Indices::new((middle(next, end), end), home) })
    }

    /// Whether, since `next` was the next, each runner has taken one, or as many have been taken: they get on, and do
    /// not wait.
    pub(super) fn get_on_since(&self, next: u32) -> bool {
        let taken = self.left().0 - next;
        taken > 0 && taken >= self.runners.load(Ordering::Relaxed)
    }

    /// A body has waited.
    pub(super) fn note_wait(&self) {
        self.waits.store(self.waits.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn taken(&self) -> u64 {
        u64::from(self.left().0 - self.first)
    }
}

fn word(next: u32, end: u32) -> u64 {
    u64::from(next) << 32 | u64::from(end)
}

fn parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// What is to become of the half that somebody idle would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Taken,
    /// Too little is known of the loop: ask again soon.
    Unknown,
    Left,
}

/// See the module.
pub(super) struct Share {
    known: Mutex<Findings>,
    /// The bodies were dear when somebody came for a half.
    is_dear: AtomicBool,
}

struct Findings {
    /// Those of which some may be left.
    indices: Vec<Arc<Indices>>,
    /// Of all others.
    ended: Sum,
    sample: Reached,
    trial: Option<Trial>,
    /// Until then nobody is to take a half.
    pause_ends_ns: u64,
    pause_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// So many indices were taken, to run their bodies.
    taken: u64,
    /// So many bodies have waited.
    waits: u64,
}

/// What was known at some time.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    now_ns: u64,
    sum: Sum,
}

/// Somebody has taken a half, at the time of the sample; if no body waited, others may have.
struct Trial {
    halves: Vec<Arc<Indices>>,
    /// What a body took before, in picoseconds.
    before_ps: u64,
    /// Then it is looked at.
    ends_ns: u64,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Open,
    Pays,
    /// The halves that are left are to be given back.
    Fails,
}

impl Share {
    /// Of a loop that begins.
    pub(super) fn new(indices: Arc<Indices>, now_ns: u64) -> Self {
        let known = Findings {
            indices: vec![indices],
            ended: Sum::default(),
            sample: Reached { now_ns, sum: Sum::default() },
            trial: None,
            pause_ends_ns: 0,
            pause_ns: FIRST_PAUSE_NS,
        };
        Share { known: Mutex::new(known), is_dear: AtomicBool::new(false) }
    }

    /// Whether the bodies are worth a start on a worker that has nothing else to do.
    pub(super) fn is_dear(&self) -> bool {
        // Relaxed: a guess.
        self.is_dear.load(Ordering::Relaxed)
    }

    fn known(&self) -> MutexGuard<'_, Findings> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody idle may take a half of these.
    pub(super) fn may_take(&self, indices: &Indices, now_ns: u64) -> Half {
        self.known().may_take(indices, now_ns)
    }

    /// Somebody has taken this half, which was allowed.
    pub(super) fn took(&self, half: &Arc<Indices>, now_ns: u64) {
        let each_ps = self.known().took(half, now_ns);
        self.is_dear.store(each_ps >= 1000 * DEAR_NS, Ordering::Relaxed);
    }

    /// Whether it was right to take this half, as far as is known. If not, what is left of it is to be given back.
    pub(super) fn pays(&self, half: &Arc<Indices>, now_ns: u64) -> bool {
        self.known().pays(half, now_ns)
    }
}

impl Findings {
    /// What is known now.
    fn look(&mut self, now_ns: u64) -> Reached {
        let Findings { indices, ended, .. } = self;
        let mut sum = Sum::default();
        indices.retain(|indices| {
            let (next, end) = indices.left();
            let part = if next < end { &mut sum } else { &mut *ended };
            part.taken += indices.taken();
            part.waits += u64::from(indices.waits.load(Ordering::Relaxed));
            next < end
        });
        let sum = Sum { taken: sum.taken + ended.taken, waits: sum.waits + ended.waits };
        Reached { now_ns, sum }
    }

    fn may_take(&mut self, indices: &Indices, now_ns: u64) -> Half {
        let now = self.look(now_ns);
        self.judge(now);
        let waits = now.sum.waits > self.sample.sum.waits;
        let is_open = self.trial.as_ref().is_some_and(|trial| trial.verdict == Verdict::Open);
        if now_ns < self.pause_ends_ns || is_open && waits {
            // What was known before the pause says little of the time after it.
            if !is_open && now_ns.saturating_sub(self.sample.now_ns) > AGAIN_NS / 2 {
                self.sample = now;
            }
            return Half::Left;
        }
        if is_open {
            return Half::Taken;
        }
        if now_ns.saturating_sub(self.sample.now_ns) < KNOWN_NS {
            return Half::Unknown;
        }
        let (next, end) = indices.left();
        let left_ps = self.sample.each_ps(now).saturating_mul(u64::from(end - next));
        if !waits || left_ps >= 1000 * LEFT_NS {
            return Half::Taken;
        }
        // What bodies took long ago says nothing of one that takes long, or stands, now.
        if now_ns.saturating_sub(self.sample.now_ns) >= LEFT_NS {
            self.sample = now;
        }
        Half::Left
    }

    /// Returns what a body took until now, in picoseconds.
    fn took(&mut self, half: &Arc<Indices>, now_ns: u64) -> u64 {
        let now = self.look(now_ns);
        self.indices.push(half.clone());
        if let Some(trial) = self.trial.as_mut().filter(|trial| trial.verdict == Verdict::Open) {
            trial.halves.push(half.clone());
            return trial.before_ps;
        }
        let before_ps = self.sample.each_ps(now);
        self.sample = now;
        let (halves, ends_ns) = (vec![half.clone()], now_ns + TRIAL_NS);
        let trial = Trial { halves, before_ps, ends_ns, verdict: Verdict::Open };
        self.trial = (before_ps < 1000 * DEAR_NS).then_some(trial);
        before_ps
    }

    fn pays(&mut self, half: &Arc<Indices>, now_ns: u64) -> bool {
        let is_tried = |trial: &Trial| trial.halves.iter().any(|tried| Arc::ptr_eq(tried, half));
        if !self.trial.as_ref().is_some_and(is_tried) {
            return true;
        }
        let now = self.look(now_ns);
        self.judge(now);
        !self.trial.as_ref().is_some_and(|trial| trial.verdict == Verdict::Fails && is_tried(trial))
    }

    /// Looks at the trial, if it is time.
    fn judge(&mut self, now: Reached) {
        let Some(trial) = &mut self.trial else { return };
        trial.halves.retain(|half| matches!(half.left(), (next, end) if next < end));
        if trial.halves.is_empty() {
            self.trial = None;
            return;
        }
        if now.now_ns < trial.ends_ns || trial.verdict == Verdict::Fails {
            return;
        }
        let (each_ps, waits) = (self.sample.each_ps(now), now.sum.waits > self.sample.sum.waits);
        self.sample = now;
        match trial.verdict {
            // Not known to be wrong, but old.
            Verdict::Pays if waits => {
                trial.verdict = Verdict::Fails;
                self.pause_ends_ns = now.now_ns + AGAIN_NS;
            }
            Verdict::Open if each_ps < 1000 * DEAR_NS && each_ps.saturating_mul(10) > 9 * trial.before_ps => {
                trial.verdict = Verdict::Fails;
                self.pause_ends_ns = now.now_ns + self.pause_ns;
                self.pause_ns = (2 * self.pause_ns).min(LAST_PAUSE_NS);
            }
            _ => {
                (trial.verdict, trial.ends_ns) = (Verdict::Pays, now.now_ns + PROVEN_NS);
                self.pause_ns = FIRST_PAUSE_NS;
            }
        }
    }
}

impl Reached {
    /// What a body took from then to `now`, in picoseconds: no end, if none has begun.
    fn each_ps(self, now: Reached) -> u64 {
        let passed_ps = now.now_ns.saturating_sub(self.now_ns).saturating_mul(1000);
        passed_ps.checked_div(now.sum.taken.saturating_sub(self.sum.taken)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_get_on_if_each_has_taken_one() {
        let indices = Indices::new((0, 100), None);
        let begin = || indices.runners.fetch_add(1, Ordering::Relaxed);
        begin();
        assert!(!indices.get_on_since(0));
        indices.take();
        assert!(indices.get_on_since(0) && !indices.get_on_since(1));
        // A second one has taken its first: the first may wait.
        begin();
        indices.take();
        assert!(!indices.get_on_since(1));
        indices.take();
        assert!(indices.get_on_since(1));
        indices.runners.fetch_sub(1, Ordering::Relaxed);
        assert!(indices.get_on_since(2));
    }

    /// A long loop.
    struct Loop {
        share: Share,
        whole: Arc<Indices>,
        now_ns: u64,
    }

    impl Loop {
        fn begin() -> Loop {
            let whole = Arc::new(Indices::new((0, u32::MAX), Some(0)));
            Loop { share: Share::new(whole.clone(), 1000), whole, now_ns: 1000 }
        }

        fn run(&mut self, turns: u64, each_ns: u64, wait: bool) {
            for _ in 0..turns {
                self.whole.take().unwrap();
            }
            if wait {
                self.whole.note_wait();
            }
            self.now_ns += turns * each_ns;
        }

        fn may_take(&self) -> Half {
            self.share.may_take(&self.whole, self.now_ns)
        }

        fn take(&self) -> Arc<Indices> {
            assert_eq!(self.may_take(), Half::Taken);
            let half = Arc::new(self.whole.split(Some(1)).unwrap());
            self.share.took(&half, self.now_ns);
            half
        }

        fn pays(&self, half: &Arc<Indices>) -> bool {
            self.share.pays(half, self.now_ns)
        }
    }

    #[test]
    fn what_is_slower_by_two_goes_back_and_is_tried_later_each_time() {
        let mut all = Loop::begin();
        let mut pause_ns = FIRST_PAUSE_NS;
        assert_eq!(all.may_take(), Half::Unknown);
        for _ in 0..4 {
            all.run(KNOWN_NS / 40, 40, true);
            let half = all.take();
            all.run(10, 400, true);
            assert!(all.pays(&half), "it is too early to tell");
            assert_eq!(all.may_take(), Half::Left, "one trial at a time");
            all.run(TRIAL_NS / 400, 400, true);
            assert!(!all.pays(&half));
            half.give_back();
            assert_eq!((half.home(), all.may_take()), (Some(0), Half::Left));
            all.run(pause_ns / 80, 40, true);
            assert_eq!(all.may_take(), Half::Left);
            all.run(pause_ns / 80, 40, true);
            pause_ns *= 2;
        }
    }

    #[test]
    fn what_is_faster_by_two_stays_and_is_tried_again_if_bodies_wait() {
        for waits in [true, false] {
            let mut all = Loop::begin();
            all.run(100, 40, waits);
            let half = all.take();
            all.run(TRIAL_NS / 20, 20, waits);
            assert!(all.pays(&half));
            all.run(10, PROVEN_NS / 10, waits);
            assert_eq!(all.pays(&half), !waits);
        }
    }

    #[test]
    fn dear_bodies_are_shared_whatever_comes_of_it() {
        let mut all = Loop::begin();
        all.run(10, DEAR_NS, true);
        let half = all.take();
        assert!(all.share.is_dear());
        all.run(100, 2 * DEAR_NS, true);
        assert!(all.pays(&half));
    }

    #[test]
    fn what_is_soon_over_is_left_alone_if_bodies_wait() {
        for waits in [true, false] {
            let whole = Arc::new(Indices::new((0, 1000), Some(0)));
            let mut all = Loop { share: Share::new(whole.clone(), 0), whole, now_ns: 0 };
            all.run(100, 40, waits);
            assert_eq!(all.may_take(), if waits { Half::Left } else { Half::Taken });
        }
    }

    /// The last body but one stands, since it waits for the last, and its OS thread with it.
    #[test]
    fn a_half_is_taken_of_a_loop_that_does_not_get_on() {
        let whole = Arc::new(Indices::new((0, 2000), Some(0)));
        let mut all = Loop { share: Share::new(whole.clone(), 0), whole, now_ns: 0 };
        all.run(1999, 40, true);
        assert_eq!(all.may_take(), Half::Left);
        all.now_ns += LEFT_NS;
        assert_eq!(all.may_take(), Half::Left);
        all.now_ns += LEFT_NS;
        assert_eq!(all.may_take(), Half::Taken);
    }

    #[test]
    fn a_home_is_followed_once() {
        let indices = Indices::new((0, 10), None);
        assert_eq!(indices.follow(None, 3), Some(3));
        assert_eq!(indices.follow(Some(2), 4), Some(3));
        let half = indices.split(Some(5)).unwrap();
        half.give_back();
        assert_eq!(half.home(), Some(3));
    }
}

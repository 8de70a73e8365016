//! Owns: how many turns of a loop run before it looks whether somebody would help.
//! May use: nothing.
//! Never: the code of a turn.
//!
//! A look costs 2 ns and a reading of the clock 25 to 50, while the cheapest turn takes a third of one, if the compiler
//! can run several at once. So a loop looks after a *block* of turns. Somebody who is idle waits for a block at most,
//! so that a block is to be short, in time: what turns of the last block took says how many make [`BLOCK_NS`]. Blocks
//! that should take less than [`READ_NS`] together are timed together.
//!
//! And a part that will take less than [`CUT_NS`] is not cut: it is over when somebody has come for its half. Nor is
//! one whose turns are cheap while a job lies open: the next look is soon. (A dear turn may be the last for long: then
//! several lie open.) As long as nobody knows, as many lie open as there are other workers. With four of them on two
//! workers, a loop of 50 us was in eight pieces before its first block was over; the thief came to whichever lay open
//! then, and each time other lines of the array changed cores.
//!
//! What if turns become dear? The helper waits for one block too long: for a quarter of what is left, or for what used
//! to take [`LEAST_NS`], or for [`MOST`] turns.
//!
//! Considered: a look at each turn, as it was (PERF: bench `loops`, of Rayon 2.5 for numbers, 2 for elements, 6 to 8
//! for values); a cut whenever a job is wanted, which cut parts of a microsecond (50 a worker in 0.5 ms, of Rayon 2.5
//! on two workers); a number of parts chosen beforehand, as Rayon does, with which dear turns that lie together stay
//! together (the rows with dear turns: 0.65 of Rayon on two workers).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A block is to take so long: a hundred times what a look and a reading of the clock cost, and less than it takes to
/// wake a worker that sleeps.
const BLOCK_NS: u64 = 3_000;

/// So much of a block, even where little is left.
const LEAST_NS: u64 = BLOCK_NS / 10;

/// So long a block should have taken, or several, before the clock is read.
const READ_NS: u64 = 500;

/// What takes less is not cut.
const CUT_NS: u64 = 8 * BLOCK_NS;

/// A tick: for so long a loop runs whose worker has no peers, without a look. But for at most [`GROWTH`] times as many
/// turns as have been timed.
const SHORT_NS: u64 = 10_000_000;

/// The most turns of a block.
const MOST: usize = 8192;

/// A block is at most so many times the one before: that one may have been lucky.
const GROWTH: usize = 64;

/// Turns that wait for others talk, and are not shared out, if one of the loop's ends each so many nanoseconds, whoever
/// runs them: more cannot be gained by another worker than it costs that they talk to each other from there.
///
/// PERF: a turn that sends to a collector takes 15 to 50 ns on one worker, and 130 to 265 where two share the loop. Not
/// by the turns of one flow: of several that wait for one another each takes as long as all of them.
const TALK_NS: u64 = 300;

/// And if they wait often: a wait for another worker, or its wake, costs about so much, and the other worker can gain
/// a half. PERF: with a channel of 64, of which one turn in 64 waits, 15 ns became 130.
const WAIT_NS: u64 = 1000;

/// So often the clock is read without many waits before since turns that talked do not any more.
const SILENT: u32 = 64;

/// What who has run turns of a loop tells those who begin a part of it: what a turn took, in picoseconds, 0 as long as
/// nobody knows, and of so many that is known.
#[derive(Debug, Default)]
pub(super) struct Heard {
    turn_ps: AtomicU64,
    known: AtomicUsize,
    talks: AtomicBool,
    /// How many have ended.
    turns: AtomicUsize,
}

impl Heard {
    /// So many turns have ended.
    #[inline]
    pub(super) fn count(&self, turns: usize) {
        self.turns.fetch_add(turns, Ordering::Relaxed);
    }

    /// Whether turns wait for others, and are cheap.
    #[inline]
    pub(super) fn talks(&self) -> bool {
        // Relaxed: a guess.
        self.talks.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// What a turn took, in picoseconds; 0 as long as nobody knows.
    turn_ps: u64,
    /// Of so many turns that is known.
    known: usize,
    /// So many turns take [`BLOCK_NS`], and [`LEAST_NS`]; 1 as long as nobody knows.
    enough: usize,
    least: usize,
    /// The last block.
    block: usize,
    /// When the clock was read, 0 if it was not, and how many turns have begun since.
    read_ns: u64,
    since: usize,
    /// What counts who runs on the worker, when the last block began.
    dispatches: Option<u32>,
    /// So many others have run since the clock was read, at least.
    waits: u32,
    /// What was found out since it was told: so many nanoseconds have passed, and so many others have run meanwhile.
    found: Option<(u64, u32)>,
    /// How many turns of the loop had ended then.
    turns: usize,
    /// So often the clock has been read since many others have run.
    silent: u32,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace {
            turn_ps: 0,
            known: 0,
            enough: 1,
            least: 1,
            block: 0,
            read_ns: 0,
            since: 0,
            dispatches: None,
            waits: 0,
            found: None,
            turns: 0,
            silent: 0,
        }
    }

    /// For a part: it has not begun, but takes what the whole took.
    pub(super) fn of_part(self) -> Pace {
        Pace { read_ns: 0, since: 0, dispatches: None, waits: 0, found: None, silent: 0, ..self }
    }

    /// A part begins: if nobody knew when it was cut, somebody may have found out since.
    pub(super) fn hear(&mut self, heard: &Heard) {
        self.turns = heard.turns.load(Ordering::Relaxed);
        if self.turn_ps == 0 {
            // Relaxed: numbers, which are no more than a guess.
            self.turn_ps = heard.turn_ps.load(Ordering::Relaxed);
            self.known = heard.known.load(Ordering::Relaxed);
            (self.enough, self.least) = (self.turns_in(BLOCK_NS), self.turns_in(LEAST_NS));
        }
    }

    /// A block begins.
    #[inline]
    pub(super) fn begin(&mut self, dispatches: u32) {
        self.dispatches = Some(dispatches);
    }

    /// A block has ended, if one had begun.
    #[inline]
    pub(super) fn see(&mut self, dispatches: u32) {
        // Counted down; what is larger than before has been set anew since.
        let ran = |before: u32| before.checked_sub(dispatches).unwrap_or(before.max(1));
        self.waits = self.waits.saturating_add(self.dispatches.take().map_or(0, ran));
    }

    /// Tells those who begin later what a turn takes, once, and whether turns talk.
    pub(super) fn tell(&mut self, heard: &Heard) {
        if let Some((took_ns, waits)) = self.found.take() {
            self.tell_whether_turns_talk(heard, took_ns, waits);
        }
        if self.known > 0 && heard.turn_ps.load(Ordering::Relaxed) == 0 {
            heard.known.store(self.known, Ordering::Relaxed);
            heard.turn_ps.store(self.turn_ps, Ordering::Relaxed);
        }
    }

    /// How many turns to run now, of the `left` that there are.
    #[inline]
    pub(super) fn block(&mut self, left: usize, now_ns: impl FnOnce() -> u64) -> usize {
        let took_ps = self.turn_ps.saturating_mul(self.since as u64);
        if self.read_ns == 0 || self.turn_ps == 0 || took_ps >= 1000 * READ_NS {
            self.learn(now_ns().max(1));
        }
        let enough = self.enough.min(self.block * GROWTH);
        self.block = enough.min((left / 4).max(self.least)).clamp(1, left);
        self.since += self.block;
        self.block
    }

    /// What has begun since the clock was read has ended by now. A clock that stands still says nothing.
    fn learn(&mut self, now_ns: u64) {
        if self.read_ns > 0 {
            self.turn_ps = now_ns.saturating_sub(self.read_ns).saturating_mul(1000) / self.since as u64;
            self.known = self.since;
            (self.enough, self.least) = (self.turns_in(BLOCK_NS), self.turns_in(LEAST_NS));
            self.found = Some((now_ns.saturating_sub(self.read_ns), self.waits));
        }
        (self.read_ns, self.since, self.waits) = (now_ns, 0, 0);
    }

    fn tell_whether_turns_talk(&mut self, heard: &Heard, took_ns: u64, waits: u32) {
        let turns = heard.turns.load(Ordering::Relaxed);
        let ended = turns.wrapping_sub(self.turns) as u64;
        self.turns = turns;
        let often = 2 * WAIT_NS * u64::from(waits) >= took_ns.max(1);
        self.silent = if often { 0 } else { self.silent.saturating_add(1) };
        let each_ns = took_ns.checked_div(ended).unwrap_or(u64::MAX);
        let talks = match heard.talks() {
            // One turn alone may have been lucky.
            false => often && ended > 1 && each_ns < TALK_NS,
            true => each_ns < 2 * TALK_NS && self.silent < SILENT,
        };
        if talks != heard.talks() {
            heard.talks.store(talks, Ordering::Relaxed);
        }
    }

    /// How many turns take so long: one if nobody knows.
    fn turns_in(&self, ns: u64) -> usize {
        let turns = (1000 * ns).checked_div(self.turn_ps).unwrap_or(1);
        turns.min(MOST as u64) as usize
    }

    /// Whether so many turns should take less than [`SHORT_NS`]. No, if nobody knows, or of too few.
    #[inline]
    pub(super) fn is_short(&self, left: usize) -> bool {
        self.turn_ps > 0
            && left <= self.known * GROWTH
            && self.turn_ps.saturating_mul(left as u64) <= 1000 * SHORT_NS
    }

    /// Whether somebody would come in time for the half of so many turns, where so many jobs lie open. If nobody knows,
    /// there is to be one for each of the others.
    #[inline]
    pub(super) fn is_worth_a_cut(&self, left: usize, open: usize, others: usize) -> bool {
        if self.turn_ps == 0 {
            return open < others;
        }
        self.takes_long(left) && (open == 0 || self.turn_ps >= 1000 * BLOCK_NS)
    }

    /// Whether so many turns take as long as a part that is worth a cut. No, if nobody knows.
    #[inline]
    pub(super) fn takes_long(&self, turns: usize) -> bool {
        self.turn_ps.saturating_mul(turns as u64) >= 1000 * CUT_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of so many turns, each of which takes so many picoseconds.
    fn blocks(turns: usize, turn_ps: impl Fn(usize) -> u64) -> Vec<usize> {
        let (mut pace, mut now_ps, mut done, mut all) = (Pace::new(), 1000, 0, Vec::new());
        while done < turns {
            let mut clock_ps = 0;
            let block = pace.block(turns - done, || {
                clock_ps = 25_000;
                now_ps / 1000
            });
            now_ps += clock_ps + (done..done + block).map(&turn_ps).sum::<u64>();
            done += block;
            all.push(block);
        }
        assert_eq!(done, turns);
        all
    }

    #[test]
    fn blocks_of_cheap_turns_grow_at_once_and_end_small() {
        let blocks = blocks(1_000_000, |_| 350);
        assert_eq!(blocks[..2], [1, 64]);
        assert!(blocks[2] > 4000);
        assert_eq!(blocks.iter().max(), Some(&MOST));
        assert!(blocks.len() < 1_000_000 / MOST + 50, "{}", blocks.len());
    }

    #[test]
    fn a_short_loop_takes_few_looks() {
        assert!(blocks(500, |_| 350).len() <= 4);
    }

    #[test]
    fn dear_turns_are_looked_at_each() {
        assert!(blocks(1000, |_| 10_000_000).iter().all(|block| *block == 1));
    }

    #[test]
    fn a_block_takes_about_as_long_as_it_should() {
        let blocks = blocks(10_000, |_| 100_000);
        let longest = blocks.iter().max().unwrap();
        assert!((25..=30).contains(longest), "{longest}");
    }

    #[test]
    fn what_begins_dear_becomes_cheap() {
        let blocks = blocks(100_000, |n| if n < 10 { 50_000_000 } else { 1000 });
        assert!(*blocks.iter().max().unwrap() > 2000);
    }

    #[test]
    fn what_becomes_dear_is_soon_looked_at_again() {
        let blocks = blocks(10_000, |n| if n < 5_000 { 1000 } else { 50_000_000 });
        // All but those of the one block that met it.
        assert!(blocks.iter().filter(|block| **block == 1).count() > 4000);
    }

    #[test]
    fn a_part_is_cut_if_it_takes_long_or_nobody_knows() {
        let mut pace = Pace::new();
        assert!(pace.is_worth_a_cut(2, 3, 4) && !pace.is_worth_a_cut(2, 3, 3));
        pace.block(1000, || 1);
        pace.block(999, || 1001);
        assert!(pace.is_worth_a_cut(24, 0, 1) && !pace.is_worth_a_cut(23, 0, 1));
        assert!(!pace.is_worth_a_cut(1000, 1, 4));
        pace.block(998, || 1001 + 100_000_000);
        assert!(pace.is_worth_a_cut(2, 3, 1));
    }

    #[test]
    fn a_part_hears_what_a_turn_takes() {
        let (heard, mut first) = (Heard::default(), Pace::new());
        let mut second = first.of_part();
        first.tell(&heard);
        second.hear(&heard);
        assert!(second.is_worth_a_cut(2, 0, 1));
        first.block(1000, || 1);
        first.block(999, || 1001);
        first.tell(&heard);
        second.hear(&heard);
        assert!(second.is_worth_a_cut(24, 0, 1) && !second.is_worth_a_cut(23, 0, 1));
        assert!(second.is_short(GROWTH) && !second.is_short(GROWTH + 1));
        // It has not run a turn of its own, and begins with one.
        assert_eq!(second.block(1000, || 5000), 1);
    }

    #[test]
    fn what_takes_a_tick_is_short() {
        let mut pace = Pace::new();
        assert!(!pace.is_short(1));
        pace.block(20_000, || 1);
        pace.block(19_999, || 1001);
        let now_ns = 1001 + 1000 * pace.block as u64;
        pace.block(19_000, || now_ns);
        let known = GROWTH * pace.known;
        assert!(pace.is_short(known) && !pace.is_short(known + 1));
        pace.known = 10_000;
        assert!(pace.is_short(10_000) && !pace.is_short(10_001));
    }

    /// The first may have been lucky: others, that wait, would then wait one after the other.
    #[test]
    fn one_turn_says_little_of_a_thousand() {
        let mut pace = Pace::new();
        pace.block(1000, || 1);
        let block = pace.block(999, || 101);
        assert!(block <= GROWTH && !pace.is_short(999));
        // They took a millisecond each.
        pace.block(999 - block, || 101 + 1_000_000 * block as u64);
        assert!(!pace.is_short(999 - block));
    }

    /// So many blocks, in each of which others run if `waits`, of turns that take so many nanoseconds.
    fn talks(
        pace: &mut Pace,
        heard: &Heard,
        now_ns: &mut u64,
        blocks: usize,
        waits: bool,
        turn_ns: u64,
    ) -> bool {
        for _ in 0..blocks {
            pace.see(100 - if waits { 20 } else { 0 });
            let block = pace.block(1_000_000, || *now_ns);
            pace.tell(heard);
            pace.begin(100);
            heard.count(block);
            *now_ns += turn_ns * block as u64;
        }
        heard.talks()
    }

    #[test]
    fn cheap_turns_that_wait_talk_until_they_do_not_any_more() {
        let (mut pace, heard, mut now_ns) = (Pace::new(), Heard::default(), 1);
        assert!(!talks(&mut pace, &heard, &mut now_ns, 10, false, 50));
        assert!(talks(&mut pace, &heard, &mut now_ns, 3, true, 50));
        assert!(talks(&mut pace, &heard, &mut now_ns, SILENT as usize / 2, false, 50));
        assert!(!talks(&mut pace, &heard, &mut now_ns, SILENT as usize, false, 50));
        // Dear turns are shared out, whether they wait or not.
        assert!(!talks(&mut pace, &heard, &mut now_ns, 10, true, 5000));
        assert!(talks(&mut pace, &heard, &mut now_ns, 3, true, 50));
        assert!(!talks(&mut pace, &heard, &mut now_ns, 3, true, 5000));
    }

    #[test]
    fn a_clock_that_stands_still_says_nothing() {
        let mut pace = Pace::new();
        let says_nothing = |pace: &Pace| pace.is_worth_a_cut(2, 3, 4) && !pace.is_short(1);
        assert!((0..100).all(|_| pace.block(1000, || 7) == 1 && says_nothing(&pace)));
    }
}

//! Owns: how many turns of a loop run before it looks whether somebody would help.
//! May use: nothing.
//! Never: the code of a turn.
//!
//! A look costs 2 ns and a reading of the clock 25, while the cheapest turn takes a third of one, if the compiler can
//! run several at once. So a loop looks after a *block* of turns. Somebody who is idle waits for a block at most, so
//! that a block is to be short, in time: what turns of the last block took says how many make [`BLOCK_NS`].
//!
//! And a part that will take less than [`CUT_NS`] is not cut: it is over when somebody has come for its half. Nor is
//! one whose turns are cheap while a job lies open: the next look is soon. (A dear turn may be the last for long: then
//! several lie open.)
//!
//! What if turns become dear? The helper waits for one block too long: for an eighth of what is left, or for what used
//! to take [`LEAST_NS`], or for [`MOST`] turns.
//!
//! Considered: a look at each turn, as it was (PERF: bench `loops`, of Rayon 2.5 for numbers, 2 for elements, 6 to 8
//! for values); a cut whenever a job is wanted, which cut parts of a microsecond (50 a worker in 0.5 ms, of Rayon 2.5
//! on two workers); a number of parts chosen beforehand, as Rayon does, with which dear turns that lie together stay
//! together (the rows with dear turns: 0.65 of Rayon on two workers).

/// A block is to take so long: a hundred times what a look and a reading of the clock cost, and less than it takes to
/// wake a worker that sleeps.
const BLOCK_NS: u64 = 3_000;

/// So much of a block, even where little is left.
const LEAST_NS: u64 = BLOCK_NS / 10;

/// What takes less is not cut.
const CUT_NS: u64 = 8 * BLOCK_NS;

/// The most turns of a block.
const MOST: usize = 8192;

/// A block is at most so many times the one before: that one may have been lucky.
const GROWTH: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// What a turn took, in picoseconds; 0 as long as nobody knows.
    turn_ps: u64,
    /// The last block, and when it began; 0 for none.
    block: usize,
    began_ns: u64,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { turn_ps: 0, block: 0, began_ns: 0 }
    }

    /// For a part: it has not begun, but takes what the whole took.
    pub(super) fn of_part(self) -> Pace {
        Pace { began_ns: 0, ..self }
    }

    /// How many turns to run now, of the `left` that there are.
    #[inline]
    pub(super) fn block(&mut self, left: usize, now_ns: u64) -> usize {
        if self.began_ns > 0 {
            self.learn(now_ns.saturating_sub(self.began_ns));
        }
        self.began_ns = now_ns.max(1);
        let enough = self.turns_in(BLOCK_NS).min(self.block * GROWTH);
        self.block = enough.min((left / 8).max(self.turns_in(LEAST_NS))).clamp(1, left);
        self.block
    }

    /// The block has taken so long. A clock that stands still says nothing.
    fn learn(&mut self, took_ns: u64) {
        self.turn_ps = took_ns.saturating_mul(1000) / self.block as u64;
    }

    /// How many turns take so long: one if nobody knows.
    fn turns_in(&self, ns: u64) -> usize {
        let turns = (1000 * ns).checked_div(self.turn_ps).unwrap_or(1);
        turns.min(MOST as u64) as usize
    }

    /// Whether somebody would come in time for the half of so many turns, where so many jobs lie open. Yes, if nobody
    /// knows.
    #[inline]
    pub(super) fn is_worth_a_cut(&self, left: usize, open: usize) -> bool {
        let takes_long = || self.turn_ps.saturating_mul(left as u64) >= 1000 * CUT_NS;
        self.turn_ps == 0 || takes_long() && (open == 0 || self.turn_ps >= 1000 * BLOCK_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of so many turns, each of which takes so many picoseconds.
    fn blocks(turns: usize, turn_ps: impl Fn(usize) -> u64) -> Vec<usize> {
        let (mut pace, mut now_ps, mut done, mut all) = (Pace::new(), 1000, 0, Vec::new());
        while done < turns {
            let block = pace.block(turns - done, now_ps / 1000);
            // And the clock.
            now_ps += 25_000 + (done..done + block).map(&turn_ps).sum::<u64>();
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
        assert!(pace.is_worth_a_cut(2, 3));
        pace.block(1000, 1);
        pace.block(999, 1001);
        assert!(pace.is_worth_a_cut(24, 0) && !pace.is_worth_a_cut(23, 0));
        assert!(!pace.is_worth_a_cut(1000, 1));
        pace.block(998, 1001 + 100_000_000);
        assert!(pace.is_worth_a_cut(2, 3));
    }

    #[test]
    fn a_clock_that_stands_still_says_nothing() {
        let mut pace = Pace::new();
        assert!((0..100).all(|_| pace.block(1000, 7) == 1 && pace.is_worth_a_cut(2, 3)));
    }
}

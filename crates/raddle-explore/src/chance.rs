//! Owns: how a choice follows from a seed: at random, by priorities, or as a schedule says.
//! May use: `options`, `schedule`.
//! Never: anything but its own state: the same calls give the same choices, on every machine.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
//!
//! *At random* each of those who could run is as likely as the others. That finds what needs many switches, and seldom
//! keeps one process back for long. *By priorities* is PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte: "A Randomized
//! Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010): every process has a random priority, the
//! highest runs, and at `depth - 1` random steps whoever would run falls below all others. It finds a bug that `depth`
//! ordered events bring about with a probability of at least 1 in `n * k^(depth - 1)`, for `n` processes and `k` steps.
//! The paper takes `k` from an earlier run; here it is drawn from the powers of two, so that a seed alone says it all.

use crate::options::Strategy;
use crate::schedule::Schedule;

/// Random numbers from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

/// One round of mixing: each bit of the input changes half of the output's.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        // Neighbouring seeds shall not begin alike.
        Chance(mix(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// Who runs, by priorities.
#[derive(Debug)]
pub(crate) struct Priorities {
    chance: Chance,
    /// By number of process.
    of: Vec<u64>,
    /// The next to fall gets this, below all before.
    lowest: u64,
    /// The steps at which whoever would run falls, last first.
    changes: Vec<u64>,
}

impl Priorities {
    fn new(mut chance: Chance, depth: u32) -> Priorities {
        let steps = 8_usize << chance.below(9);
        let mut changes: Vec<u64> = (1..depth).map(|_| 1 + chance.below(steps) as u64).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Priorities { chance, of: Vec::new(), lowest: 1 << 32, changes }
    }

    fn of(&mut self, process: u32) -> u64 {
        while self.of.len() <= process as usize {
            self.of.push(1 << 32 | self.chance.next() >> 32);
        }
        self.of[process as usize]
    }

    fn fall(&mut self, process: u32) {
        self.of(process);
        self.lowest -= 1;
        self.of[process as usize] = self.lowest;
    }

    fn pick(&mut self, step: u64, who: &[u32]) -> usize {
        while self.changes.last().is_some_and(|change| *change <= step) {
            self.changes.pop();
            let first = self.highest(who);
            self.fall(who[first]);
        }
        self.highest(who)
    }

    fn highest(&mut self, who: &[u32]) -> usize {
        let of: Vec<u64> = who.iter().map(|process| self.of(*process)).collect();
        // The first of equals.
        (0..of.len()).rev().max_by_key(|at| of[*at]).unwrap_or(0)
    }
}

/// Where choices come from.
#[derive(Debug)]
pub(crate) enum Chooser {
    Random(Chance),
    Priorities(Priorities),
    Steps(Schedule),
}

impl Chooser {
    pub(crate) fn new(strategy: Strategy, seed: u64) -> Chooser {
        let chance = Chance::new(seed);
        match strategy {
            Strategy::Random => Chooser::Random(chance),
            Strategy::Pct { depth } => Chooser::Priorities(Priorities::new(chance, depth)),
            Strategy::Mixed if seed.is_multiple_of(2) => Chooser::Random(chance),
            Strategy::Mixed => Chooser::Priorities(Priorities::new(chance, 2 + (seed / 2 % 3) as u32)),
        }
    }

    /// Whether it is a schedule that was found with early alarms.
    pub(crate) fn rings_early(&self) -> bool {
        matches!(self, Chooser::Steps(schedule) if schedule.rules().early_alarms)
    }

    /// Who of these runs next; the first one is whom nobody need make way for.
    pub(crate) fn pick(&mut self, step: u64, who: &[u32]) -> usize {
        match self {
            Chooser::Random(chance) => chance.below(who.len()),
            Chooser::Priorities(priorities) => priorities.pick(step, who),
            Chooser::Steps(schedule) => schedule.at(step) as usize % who.len(),
        }
    }

    /// A number below `n`.
    pub(crate) fn choose(&mut self, step: u64, n: usize) -> usize {
        match self {
            Chooser::Random(chance) => chance.below(n),
            Chooser::Priorities(priorities) => priorities.chance.below(n),
            Chooser::Steps(schedule) => schedule.at(step) as usize % n,
        }
    }

    /// The process says that others should run: it may be waiting for them in a loop.
    pub(crate) fn yields(&mut self, process: u32) {
        if let Chooser::Priorities(priorities) = self {
            priorities.fall(process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix() {
        // The first numbers of the reference implementation for the state 1234567.
        let mut chance = Chance(1_234_567);
        assert_eq!(chance.next(), 6_457_827_717_110_365_317);
        assert_eq!(chance.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_seed_says_it_all() {
        for strategy in [Strategy::Random, Strategy::Pct { depth: 3 }, Strategy::Mixed] {
            for seed in 0..20 {
                let walk = |mut chooser: Chooser| -> Vec<usize> {
                    (1..100).map(|step| chooser.pick(step, &[0, 1, 2, 3][..2 + step as usize % 3])).collect()
                };
                let first = walk(Chooser::new(strategy, seed));
                assert_eq!(first, walk(Chooser::new(strategy, seed)));
                let next = walk(Chooser::new(strategy, seed + 2));
                // Priorities among four know few ways.
                assert!(first != next || strategy != Strategy::Random, "{seed}");
            }
        }
    }

    #[test]
    fn priorities_change_only_at_the_changes() {
        for seed in 0..100 {
            let mut chooser = Priorities::new(Chance::new(seed), 4);
            let changes = chooser.changes.clone();
            assert_eq!(changes.len(), 3);
            let mut before = chooser.pick(0, &[0, 1, 2]);
            for step in 1..3000 {
                let now = chooser.pick(step, &[0, 1, 2]);
                assert!(now == before || changes.contains(&step), "step {step} of {changes:?}");
                before = now;
            }
        }
    }

    #[test]
    fn who_yields_comes_last() {
        let mut chooser = Chooser::new(Strategy::Pct { depth: 1 }, 7);
        let first = chooser.pick(1, &[0, 1]) as u32;
        chooser.yields(first);
        assert_ne!(chooser.pick(2, &[0, 1]) as u32, first);
        chooser.yields(1 - first);
        assert_eq!(chooser.pick(3, &[0, 1]) as u32, first);
    }
}

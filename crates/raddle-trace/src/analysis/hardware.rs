//! Owns: what the processor counted while the workers ran, and why work took longer on more of them.
//! May use: `log`.
//! Never: a cause without counters on both sides.
//!
//! Cores that write to one line of the cache wait for it, and so do cores that share the bandwidth of memory: either
//! way, an instruction takes more cycles than on one worker. What tells them apart is whether the program needed memory
//! in the first place. A loop over more than the caches hold misses the last of them once for each line, some ten times
//! in a thousand instructions, on one worker too. A line that two cores pass to and fro is in a cache all the time: the
//! misses are few, or, where no cache is common to the cores, they were few on one worker.
//!
//! If the program executed more instructions, neither is the cause: it did other work, as one who waits by looking.

use crate::log::Log;
use std::fmt;

/// From so many misses of the last cache in a thousand instructions on, a program lives on memory.
const LIVES_ON_MEMORY: f64 = 5.0;
/// So many times the instructions are other work.
const MORE_WORK: f64 = 1.3;

/// Of all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Instructions of the program.
    pub instructions: u64,
    /// Cycles in which it had a core.
    pub cycles: u64,
    /// How often the last level of the cache did not have what was asked for.
    pub cache_misses: u64,
}

/// Why the same work took longer on more workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowerBy {
    /// Nobody has counted.
    Unknown,
    /// Cores write to the same lines.
    Lines {
        /// Cycles an instruction, before and now.
        cycles: [f64; 2],
        /// Misses in a thousand instructions, before and now.
        misses: [f64; 2],
    },
    /// Cores share the bandwidth of memory.
    Memory {
        /// Cycles an instruction, before and now.
        cycles: [f64; 2],
        /// Misses in a thousand instructions, before and now.
        misses: [f64; 2],
    },
    /// It executed so many times as many instructions.
    Instructions(f64),
}

impl Hardware {
    /// What a trace says, if it says it of all workers that ran.
    pub fn of(log: &Log) -> Option<Hardware> {
        let mut all = Hardware { instructions: 0, cycles: 0, cache_misses: 0 };
        for worker in log.workers.iter().filter(|worker| !worker.events.is_empty()) {
            all.instructions += worker.counter("hardware_instructions")?;
            all.cycles += worker.counter("hardware_cycles")?;
            all.cache_misses += worker.counter("hardware_cache_misses")?;
        }
        Some(all).filter(|all| all.instructions > 0)
    }

    fn cycles_each(&self) -> f64 {
        self.cycles as f64 / self.instructions as f64
    }

    fn misses_in_thousand(&self) -> f64 {
        self.cache_misses as f64 * 1000.0 / self.instructions as f64
    }
}

impl SlowerBy {
    /// Of a run on few workers, and one on more.
    pub(super) fn of(before: Option<Hardware>, now: Option<Hardware>) -> SlowerBy {
        let (Some(before), Some(now)) = (before, now) else { return SlowerBy::Unknown };
        let times = now.instructions as f64 / before.instructions as f64;
        if times >= MORE_WORK {
            return SlowerBy::Instructions(times);
        }
        let both = |f: fn(&Hardware) -> f64| [f(&before), f(&now)];
        let (cycles, misses) = (both(Hardware::cycles_each), both(Hardware::misses_in_thousand));
        if misses[0] >= LIVES_ON_MEMORY {
            SlowerBy::Memory { cycles, misses }
        } else {
            SlowerBy::Lines { cycles, misses }
        }
    }
}

impl fmt::Display for SlowerBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = |cycles: &[f64; 2], misses: &[f64; 2]| {
            let ([c1, c2], [m1, m2]) = (cycles, misses);
            format!(
                "an instruction took {c2:.1} cycles, {c1:.1} before, and of 1000, {m2:.1} missed the caches, \
                 {m1:.1} before"
            )
        };
        match self {
            SlowerBy::Unknown => {
                f.write_str("shared cache lines or memory bandwidth, unless others used the machine")
            }
            SlowerBy::Lines { cycles, misses } => {
                write!(f, "shared cache lines: {}", figures(cycles, misses))
            }
            SlowerBy::Memory { cycles, misses } => {
                write!(f, "memory bandwidth: {}", figures(cycles, misses))
            }
            SlowerBy::Instructions(times) => {
                write!(
                    f,
                    "it executed {times:.1} times as many instructions, as one who looks while it waits"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StopReason;
    use crate::log::tests::Script;

    const fn counted(instructions: u64, cycles: u64, cache_misses: u64) -> Option<Hardware> {
        Some(Hardware { instructions, cycles, cache_misses })
    }

    fn said(before: Option<Hardware>, now: Option<Hardware>) -> String {
        SlowerBy::of(before, now).to_string()
    }

    #[test]
    fn misses_before_are_memory_and_none_are_lines() {
        let (few, memory) = (counted(1000, 500, 0), counted(1_000, 1_500, 20));
        assert!(
            said(few, counted(1010, 1500, 1)).starts_with("shared cache lines: an instruction took 1.5 cycl")
        );
        // Between cores without a common cache, the line comes from memory, or counts as if it did.
        assert!(said(few, counted(1010, 1500, 60)).starts_with("shared cache lines: "));
        let words = "memory bandwidth: an instruction took 4.0 cycles, 1.5 before, and of 1000, 21.0 missed the \
                     caches, 20.0 before";
        assert_eq!(said(memory, counted(1000, 4000, 21)), words);
    }

    #[test]
    fn more_instructions_are_other_work() {
        let said = said(counted(1000, 500, 20), counted(2700, 1500, 20));
        assert!(said.starts_with("it executed 2.7 times as many instructions"), "{said}");
    }

    #[test]
    fn without_counters_on_both_sides_the_cause_is_not_known() {
        for (before, now) in [(None, counted(1, 1, 1)), (counted(1, 1, 1), None)] {
            assert_eq!(SlowerBy::of(before, now), SlowerBy::Unknown);
        }
    }

    #[test]
    fn a_worker_that_ran_and_has_no_counters_makes_all_unknown() {
        let mut script = Script::new(2, 100);
        script.switch(0, 10, StopReason::None, 1).switch(1, 10, StopReason::None, 2);
        let mut log = script.log();
        assert_eq!(Hardware::of(&log), None);
        let counters = |n: u64| {
            let names = ["hardware_instructions", "hardware_cycles", "hardware_cache_misses"];
            names.into_iter().zip(1..).map(|(name, times)| (name.to_owned(), n * times)).collect()
        };
        log.workers[0].counters = counters(10);
        assert_eq!(Hardware::of(&log), None);
        log.workers[1].counters = counters(100);
        assert_eq!(Hardware::of(&log), counted(110, 220, 330));
    }
}

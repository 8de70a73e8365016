//! Owns: what the scheduler finds when a program has linked this crate.
//! May use: `board`, `plan`, `schedule`, `seeded`, `raddle-core`.
//! Never: a choice.

use crate::board::Board;
use crate::plan::Plan;
use crate::schedule::NoSchedule;
use crate::schedule::Schedule;
use crate::seeded::seeded;
use raddle_core::observe::{EXPLORER, Explorer, Seed, Seeded};
use std::sync::Arc;

// SAFETY: such a section holds addresses of functions that can be called before `main`. After the standard library's
// own, and before those of a program, which may use a runtime there.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static ATTACH: extern "C" fn() = attach;

extern "C" fn attach() {
    EXPLORER.attach(&BySeed);
}

fn is_schedule(text: &str) -> bool {
    let schedule: Result<Schedule, NoSchedule> = text.parse();
    schedule.is_ok()
}

/// For runtimes of a program that sets a seed.
#[derive(Debug)]
struct BySeed;

impl Explorer for BySeed {
    fn is_schedule(&self, text: &str) -> bool {
        is_schedule(text)
    }

    fn follow(&self, seed: &Seed) -> Seeded {
        seeded(Plan::of(seed).chooser(), None)
    }
}

/// For a runtime of an exploration, which gets its plans from a board.
#[derive(Debug)]
pub(crate) struct ByOrder(pub(crate) Arc<Board>);

impl Explorer for ByOrder {
    fn is_schedule(&self, text: &str) -> bool {
        is_schedule(text)
    }

    fn follow(&self, _no_choices: &Seed) -> Seeded {
        seeded(Plan::Steps(Schedule::default()).chooser(), Some(self.0.clone()))
    }
}

#[cfg(test)]
mod tests {
    use raddle_core::{BuildError, Runtime};

    #[test]
    fn a_program_that_links_this_crate_can_follow_a_seed() {
        for seed in ["7", "12:1,30:2"] {
            let builder = Runtime::builder().setting("RADDLE_SEED", seed).unwrap();
            assert_eq!(builder.build().unwrap().schedule_hash(), Some(0));
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_what_is_allowed() {
        for wrong in ["nonsense", "", "late,1:1"] {
            let refused: BuildError = Runtime::builder().setting("RADDLE_SEED", wrong).unwrap_err();
            let said = refused.to_string();
            assert!(said.starts_with(&format!("RADDLE_SEED is `{wrong}`; it can be a number")), "{said}");
        }
    }
}

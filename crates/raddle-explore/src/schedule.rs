//! Owns: `Schedule`, the choices of a run that were not the obvious ones, and its text.
//! May use: nothing.
//! Never: what a choice means.
//!
//! A choice has a number, its *step*, and is a number itself: 0 is the obvious one (whoever runs goes on, else who has
//! waited longest; a fork stays with its flow; the first possible case of a selection). A schedule lists the others, so
//! that it is as short as it is strange, and leaving one out gives a schedule again: that is how one shrinks.
//!
//! Steps are counted where the options have them made: with early alarms there are more. So a schedule carries those
//! options by which runs differ, its *rules*, and who follows it need not know them.

use std::fmt;
use std::str::FromStr;

/// The choices of a run that differ from the default, by step. Its text, as `12:1,30:2`, names one run of a program.
/// Options that are not the usual ones stand before them: `early`, `daemons`, `turns=2000`.
///
/// ```
/// use raddle::explore::Schedule;
/// let schedule: Schedule = "12:1,30:2".parse()?;
/// assert_eq!(schedule.to_string(), "12:1,30:2");
/// assert_eq!(schedule.len(), 2);
/// assert_eq!("early,4:1".parse::<Schedule>()?.to_string(), "early,4:1");
/// # Ok::<(), raddle::explore::NoSchedule>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    rules: Rules,
    steps: Vec<(u64, u32)>,
}

/// The options of the run, as far as they are not the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) early_alarms: bool,
    pub(crate) daemons: bool,
    pub(crate) turns_max: Option<u64>,
}

impl Rules {
    /// Takes the name of one; false if it is none.
    fn add(&mut self, word: &str) -> bool {
        match (word, word.strip_prefix("turns=").and_then(|turns| turns.parse().ok())) {
            ("early", _) => self.early_alarms = true,
            ("daemons", _) => self.daemons = true,
            (_, Some(turns)) => self.turns_max = Some(turns),
            _ => return false,
        }
        true
    }
}

/// The text given to [`Schedule::from_str`] is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSchedule {
    found: String,
}

impl Schedule {
    /// That of a run by these rules, which has not begun.
    pub(crate) fn by(rules: Rules) -> Schedule {
        Schedule { rules, steps: Vec::new() }
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// How many choices differ from the default.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether every choice was the default.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The choice at this step.
    pub(crate) fn at(&self, step: u64) -> u32 {
        self.steps.binary_search_by_key(&step, |choice| choice.0).map_or(0, |at| self.steps[at].1)
    }

    /// The next choice. Steps grow.
    pub(crate) fn note(&mut self, step: u64, choice: u32) {
        debug_assert!(self.steps.last().is_none_or(|last| last.0 < step), "steps grow");
        if choice != 0 {
            self.steps.push((step, choice));
        }
    }

    /// Without `count` choices from the one of this index on.
    pub(crate) fn without(&self, from: usize, count: usize) -> Schedule {
        let to = (from + count).min(self.len());
        Schedule { rules: self.rules, steps: [&self.steps[..from], &self.steps[to..]].concat() }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rules { early_alarms, daemons, turns_max } = self.rules;
        let rules = [early_alarms.then(|| "early".to_owned()), daemons.then(|| "daemons".to_owned())];
        let turns = turns_max.map(|turns| format!("turns={turns}"));
        let obvious = self.is_empty().then(|| "obvious".to_owned());
        let steps = self.steps.iter().map(|(step, choice)| format!("{step}:{choice}"));
        let words = rules.into_iter().chain([turns, obvious]).flatten().chain(steps);
        for (at, word) in words.enumerate() {
            write!(f, "{}{word}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Schedule, NoSchedule> {
        let none = || NoSchedule { found: text.to_owned() };
        let mut schedule = Schedule::default();
        for choice in text.split(',').map(str::trim) {
            if choice == "obvious" || schedule.rules.add(choice) {
                continue;
            }
            let (step, choice) = choice.split_once(':').ok_or_else(none)?;
            let (step, choice): (u64, u32) = step.parse().ok().zip(choice.parse().ok()).ok_or_else(none)?;
            if schedule.steps.last().is_some_and(|last| last.0 >= step) {
                return Err(none());
            }
            schedule.note(step, choice);
        }
        Ok(schedule)
    }
}

impl fmt::Display for NoSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = "one is `obvious`, or steps with their choices in growing order, as `12:1,30:2`, after \
                      `early`, `daemons`, `turns=N`";
        write!(f, "`{}` is no schedule; {wanted}", self.found)
    }
}

impl std::error::Error for NoSchedule {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_its_text() {
        for text in ["obvious", "1:1", "3:2,4:1,1000000000000:7", "early,4:1", "daemons,turns=20,obvious"] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        assert_eq!("3:0, 4:1".parse::<Schedule>().unwrap().to_string(), "4:1");
        for text in ["", "7", "1:x", "turns=x,1:1", "late,1:1", "4:1,3:1", "3:1,3:2", "-1:1"] {
            let said = text.parse::<Schedule>().unwrap_err().to_string();
            assert!(said.starts_with(&format!("`{text}` is no schedule; one is")), "{said}");
        }
    }

    #[test]
    fn what_it_does_not_name_is_obvious() {
        let schedule: Schedule = "3:2,5:1".parse().unwrap();
        let choices: Vec<u32> = (1..8).map(|step| schedule.at(step)).collect();
        assert_eq!(choices, [0, 0, 2, 0, 1, 0, 0]);
        assert_eq!(schedule.without(0, 1).to_string(), "5:1");
        assert_eq!(schedule.without(1, 9).to_string(), "3:2");
        let early: Schedule = "early,3:2".parse().unwrap();
        assert_eq!(early.without(0, 1).to_string(), "early,obvious");
    }
}

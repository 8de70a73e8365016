//! Owns: what the traced program is written in, and an advice in words that its author can follow.
//! May use: `verdict`.
//! Never: another advice.

use super::verdict::Advice;
use crate::log::Log;
use std::fmt;

/// What a program is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// Rust, with the crate `raddle`.
    #[default]
    Rust,
    /// occam: processes go where there is work for them, and nobody places them.
    Occam,
}

impl Door {
    /// By what the trace says of itself.
    pub(super) fn of(log: &Log) -> Door {
        match log.about("door") {
            Some("occam") => Door::Occam,
            _ => Door::Rust,
        }
    }

    /// Whether a program can say on which worker something is to be.
    pub(super) fn places(self) -> bool {
        self == Door::Rust
    }
}

/// An advice for somebody.
pub struct Said<'a>(&'a Advice, Door);

impl Advice {
    /// Whether it says where something is to be.
    pub(super) fn is_place(&self) -> bool {
        matches!(self, Advice::Segments(..) | Advice::Together(..) | Advice::MakeMovable | Advice::Spread(_))
    }

    /// In words for the author of a program that is written so.
    pub fn to_whom(&self, door: Door) -> Said<'_> {
        Said(self, door)
    }
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Said(advice, Door::Occam) = self else { return self.0.fmt(f) };
        let say_more =
            "let them do more between two messages, or send more in each; or use one worker: --workers 1";
        match advice {
            Advice::Segments(one, _) => write!(f, "{one} are too small to be on several workers: {say_more}"),
            Advice::Together(one, two) if one == two => {
                write!(f, "{one} are too small to be on several workers: {say_more}")
            }
            Advice::Together(one, two) => {
                write!(f, "{one} and {two} are too small to be on several workers: {say_more}")
            }
            Advice::MakeMovable | Advice::Spread(_) => {
                f.write_str("have more processes than workers, each with more to do between two messages")
            }
            Advice::Migrate => f.write_str("let idle workers take them: --migration on --balance steal"),
            Advice::MoreWork => {
                f.write_str("have more processes that can run at once, or fewer workers: --workers")
            }
            Advice::FewerWorkers(n) => {
                write!(f, "use no more workers than there are free cores: --workers {n}")
            }
            Advice::Inside(from, to) => {
                write!(
                    f,
                    "{to} waits for the world outside, which {from} serves: have it ask less often for more"
                )
            }
            Advice::None | Advice::Split(..) | Advice::Coarser => advice.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What only a Rust program can do is not said to others.
    #[test]
    fn nobody_is_told_to_do_what_occam_cannot() {
        let text = |text: &str| text.to_owned();
        let all = [
            Advice::None,
            Advice::Segments(text("stage"), vec![(0, 3), (4, 7)]),
            Advice::Together(text("stage"), text("stage")),
            Advice::Together(text("stage"), text("main")),
            Advice::Migrate,
            Advice::MakeMovable,
            Advice::Spread(text("stage")),
            Advice::Split(text("stage"), 1000),
            Advice::MoreWork,
            Advice::Coarser,
            Advice::FewerWorkers(1),
            Advice::Inside(text("OS thread main"), text("stage")),
        ];
        for advice in &all {
            let said = advice.to_whom(Door::Occam).to_string();
            assert!(!said.contains("spawn_on") && !said.contains("RADDLE_"), "{said}");
            assert_eq!(advice.to_whom(Door::Rust).to_string(), advice.to_string());
        }
    }
}

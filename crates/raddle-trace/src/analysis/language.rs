//! Owns: the language of the traced program, and each advice in terms of that language.
//! May use: `log`.
//! Never: a change of the advice itself.

use super::verdict::{Advice, at};
use crate::log::Log;
use std::fmt;

/// The language of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Rust, with the crate `raddle`.
    #[default]
    Rust,
    /// occam: the runtime decides where processes run; a program cannot place them.
    Occam,
}

impl Language {
    /// The language that the trace names.
    pub(super) fn of(log: &Log) -> Language {
        match log.about("door") {
            Some("occam") => Language::Occam,
            _ => Language::Rust,
        }
    }

    /// Whether programs can place threads on workers.
    pub(super) fn has_placement(self) -> bool {
        self == Language::Rust
    }
}

/// An advice, displayed in terms of a language.
pub struct InLanguage<'a> {
    advice: &'a Advice,
    language: Language,
    one_worker: bool,
}

impl InLanguage<'_> {
    /// Whether the figures say that one worker would take no longer: that is advised only then.
    pub fn or_on_one_worker(mut self, is_no_slower: bool) -> Self {
        self.one_worker = is_no_slower;
        self
    }
}

impl Advice {
    /// Whether it is about placement.
    pub(super) fn is_place(&self) -> bool {
        matches!(self, Advice::Segments(..) | Advice::Together(..) | Advice::MakeMovable | Advice::Spread(_))
    }

    /// In terms of a language.
    pub fn in_language(&self, language: Language) -> InLanguage<'_> {
        InLanguage { advice: self, language, one_worker: false }
    }
}

impl fmt::Display for InLanguage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InLanguage { advice, language: Language::Occam, one_worker } = self else {
            return self.advice.fmt(f);
        };
        let or_one = if *one_worker { "; or use one worker: --workers 1" } else { "" };
        let say_more = format!("let them do more between two messages, or send more in each{or_one}");
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
            Advice::MoreWork => f.write_str("have more processes that can run at once"),
            Advice::Blocking(label, place) => {
                let place = place.as_deref().unwrap_or("a call that blocks its worker");
                write!(f, "{label} waits in {place}: read or write more at a time, less often")
            }
            Advice::FewerWorkers(n) => {
                write!(f, "use no more workers than there are free cores: --workers {n}")
            }
            Advice::Inside(from, to) => {
                write!(
                    f,
                    "{to} waits for input or output, which {from} does: read or write more at a time, less often"
                )
            }
            Advice::Convoy(label, site) => {
                let place = at(site.as_deref());
                write!(
                    f,
                    "do less in the CLAIM{place}, or share several channels, so that {label} need not queue"
                )
            }
            Advice::WakeOne(label, _) => write!(f, "wake as many of {label} as can go on"),
            Advice::None
            | Advice::Split(..)
            | Advice::Time(_)
            | Advice::Peer(_)
            | Advice::Coarser
            | Advice::Larger(..)
            | Advice::Team(_)
            | Advice::Elsewhere => advice.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advice that only a Rust program can follow is not given to others.
    #[test]
    fn advice_for_occam_names_nothing_of_rust() {
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
            Advice::Time(text("stage")),
            Advice::Peer(text("stage")),
            Advice::Coarser,
            Advice::Larger(text("main"), 1000, 300),
            Advice::Elsewhere,
            Advice::Blocking(text("client"), None),
            Advice::FewerWorkers(1),
            Advice::Inside(text("OS thread main"), text("stage")),
            Advice::Convoy(text("stage"), Some(text("ring.occ:5"))),
            Advice::WakeOne(text("stage"), None),
        ];
        for advice in &all {
            let said = advice.in_language(Language::Occam).to_string();
            assert!(!said.contains("spawn_on") && !said.contains("RADDLE_"), "{said}");
            assert_eq!(advice.in_language(Language::Rust).to_string(), advice.to_string());
        }
    }

    #[test]
    fn occam_is_told_to_use_one_worker_only_if_that_is_no_slower() {
        let stages = Advice::Segments("stage".to_owned(), vec![(0, 3), (4, 7)]);
        let said =
            |is_no_slower| stages.in_language(Language::Occam).or_on_one_worker(is_no_slower).to_string();
        assert!(said(true).ends_with("; or use one worker: --workers 1"), "{}", said(true));
        assert!(said(false).ends_with("or send more in each"), "{}", said(false));
    }
}

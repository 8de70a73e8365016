//! Owns: the listed exceptions to the rules, each with its reason.
//! May use: `xtask/tidy-exceptions.txt`.
//! Never: deciding whether a reason is good.
//!
//! A line reads `RULE PATH[::FUNCTION] - REASON`. An exception that nothing needs any more is a finding too.

use std::cell::Cell;

use super::Finding;
use crate::house;

const PATH: &str = "xtask/tidy-exceptions.txt";

/// The rules that allow exceptions.
pub(super) const RULES: [&str; 3] = ["function-length", "line-length", "ordering"];

/// All exceptions to one rule.
pub(super) struct Exceptions {
    entries: Vec<Entry>,
}

struct Entry {
    line: usize,
    subject: String,
    used: Cell<bool>,
}

impl Exceptions {
    /// Those of the house to `rule`.
    pub(super) fn of(rule: &str) -> Self {
        let text = std::fs::read_to_string(house::root().join(PATH)).expect(PATH);
        Exceptions::parse(&text, rule).unwrap_or_else(|finding| panic!("{finding}"))
    }

    /// Reads a list. A line without reason or with an unknown rule is refused.
    pub(super) fn parse(text: &str, rule: &str) -> Result<Self, Finding> {
        let mut entries = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let refuse = |what| Err(Finding::new(PATH, number, what));
            let Some((place, _reason)) =
                line.split_once(" - ").filter(|(_, reason)| !reason.trim().is_empty())
            else {
                return refuse("expected `RULE PATH[::FUNCTION] - REASON`");
            };
            match place.split_once(' ') {
                Some((known, subject)) if RULES.contains(&known) => {
                    if known == rule {
                        entries.push(Entry {
                            line: number,
                            subject: subject.trim().to_owned(),
                            used: Cell::new(false),
                        });
                    }
                }
                _ => return refuse("unknown rule; known are function-length, line-length, ordering"),
            }
        }
        Ok(Exceptions { entries })
    }

    /// Whether `subject` is listed; remembers that the entry is needed.
    pub(super) fn allow(&self, subject: &str) -> bool {
        let entry = self.entries.iter().find(|entry| entry.subject == subject);
        if let Some(entry) = entry {
            entry.used.set(true);
        }
        entry.is_some()
    }

    /// A finding for each entry that nothing asked for.
    pub(super) fn unused(&self) -> Vec<Finding> {
        let unused = self.entries.iter().filter(|entry| !entry.used.get());
        unused
            .map(|entry| {
                Finding::new(PATH, entry.line, format!("nothing needs `{}`: strike it", entry.subject))
            })
            .collect()
    }
}

#[test]
fn an_entry_allows_its_subject_and_only_for_its_rule() {
    let text = "# note\nline-length a.rs - a table\nordering b.rs - the table of orderings\n";
    let list = Exceptions::parse(text, "line-length").unwrap_or_else(|finding| panic!("{finding}"));
    assert!(list.allow("a.rs"));
    assert!(!list.allow("b.rs"));
    assert_eq!(list.unused(), []);
}

#[test]
fn an_entry_that_nothing_needs_is_found() {
    let list =
        Exceptions::parse("line-length a.rs - a table\n", "line-length").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(list.unused().len(), 1);
}

#[test]
fn an_entry_without_reason_or_rule_is_refused() {
    assert!(Exceptions::parse("line-length a.rs\n", "line-length").is_err());
    assert!(Exceptions::parse("line-length a.rs - \n", "line-length").is_err());
    assert!(Exceptions::parse("beauty a.rs - it is mine\n", "line-length").is_err());
}

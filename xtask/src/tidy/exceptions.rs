//! Owns: the listed exceptions to the rules, each with its reason.
//! May use: `house`.
//! Never: deciding whether a reason is good.
//!
//! A line reads `RULE SUBJECT - REASON`. What the subject is, each rule says; one that ends in a slash is a folder and
//! covers everything in it. An exception that nothing needs any more is a finding too.

use std::cell::Cell;

use super::Finding;
use crate::house;

const PATH: &str = "xtask/tidy-exceptions.txt";

/// The rules that allow exceptions.
pub(super) const RULES: [&str; 11] = [
    "cited-path",
    "circle",
    "commit-title",
    "crate-size",
    "function-length",
    "glossary",
    "line-length",
    "may-use",
    "ordering",
    "type-name",
    "upward",
];

impl Exception {
    fn covers(&self, subject: &str) -> bool {
        self.subject == subject || (self.subject.ends_with('/') && subject.starts_with(&self.subject))
    }
}

/// All exceptions to one rule.
pub(super) struct Exceptions {
    entries: Vec<Exception>,
}

struct Exception {
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
                return refuse("expected `RULE SUBJECT - REASON`".to_owned());
            };
            match place.split_once(' ') {
                Some((known, subject)) if RULES.contains(&known) => {
                    if known == rule {
                        entries.push(Exception {
                            line: number,
                            subject: subject.trim().to_owned(),
                            used: Cell::new(false),
                        });
                    }
                }
                _ => return refuse(format!("unknown rule; known are {}", RULES.join(", "))),
            }
        }
        Ok(Exceptions { entries })
    }

    /// Whether `subject` is listed, itself or a folder that it lies in; remembers that the entry is needed.
    pub(super) fn allow(&self, subject: &str) -> bool {
        let entry = self.entries.iter().find(|entry| entry.covers(subject));
        if let Some(entry) = entry {
            entry.used.set(true);
        }
        entry.is_some()
    }

    /// Those of `findings` whose paths are not listed.
    pub(super) fn sift(&self, findings: Vec<Finding>) -> Vec<Finding> {
        findings.into_iter().filter(|finding| !self.allow(&finding.path)).collect()
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
fn an_entry_for_a_folder_covers_what_lies_in_it() {
    let list =
        Exceptions::parse("may-use crates/a/ - for now\n", "may-use").unwrap_or_else(|e| panic!("{e}"));
    assert!(list.allow("crates/a/src/lib.rs"));
    assert!(!list.allow("crates/ab/src/lib.rs"));
    let found = vec![Finding::new("crates/a/src/b.rs", 1, "x"), Finding::new("crates/b/src/b.rs", 1, "x")];
    assert_eq!(list.sift(found).len(), 1);
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

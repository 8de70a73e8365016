//! Owns: the rules of the house that a machine can check, as tests.
//! May use: the files of the repository, git's list of them, `cargo metadata`.
//! Never: changing a file; judging what only a reader can judge.
//!
//! Each rule is a function from text to findings, held against the whole tree by one test and shown by others to
//! refuse what it must: a check that cannot fail is no check. Rules read tokens rather than lines wherever a word in
//! a comment or a string would fool them.

mod exceptions;
mod forbidden;
mod ignored;
mod layers;
mod links;
mod lints;
mod orderings;
mod plates;
mod sizes;
mod tokens;
mod tree;
mod unsafe_rooms;

use std::fmt;

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Finding { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Fails with every finding on a line of its own.
fn hold(rule: &str, findings: &[Finding]) {
    let lines: Vec<_> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "{rule}\n{}\n", lines.join("\n"));
}

//! Owns: the rules of the house that a machine can check, as tests.
//! May use: `graph`, `tree`.
//! Never: changing a file; judging what only a reader can judge.
//!
//! Each rule is a function from text to findings, held against the whole tree by one test and shown by others to
//! refuse what it must: a check that cannot fail is no check. Rules read tokens rather than lines wherever a word in
//! a comment or a string would fool them.

mod arrows;
mod cited;
mod commits;
mod exceptions;
mod forbidden;
mod glossary;
mod ignored;
mod layers;
mod links;
mod lints;
mod may_use;
mod nonblocking;
mod orderings;
mod orphans;
mod packaged;
mod plates;
mod sizes;
mod tokens;
mod type_names;
mod unsafe_rooms;

use std::fmt;
use std::sync::OnceLock;

use crate::graph::Graph;
use crate::tree;

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

/// The modules of every crate and their arrows, read once.
fn graphs() -> &'static [Graph] {
    static GRAPHS: OnceLock<Vec<Graph>> = OnceLock::new();
    GRAPHS.get_or_init(|| Graph::all(&tree::files()).unwrap_or_else(|error| panic!("{error}")))
}

/// Fails with every finding on a line of its own.
fn hold(rule: &str, findings: &[Finding]) {
    let lines: Vec<_> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "{rule}\n{}\n", lines.join("\n"));
}

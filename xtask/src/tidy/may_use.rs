//! Owns: the rule that the `May use:` line of a plate is what its module imports, no more and no less.
//! May use: `graph`, `plate`, `tree`.
//! Never: the grammar of the line; `plate` has it.

use super::exceptions::Exceptions;
use super::{Finding, graphs, hold};
use crate::graph::Graph;
use crate::plate::command::{by_path, check};
use crate::tree;

fn findings(graph: &Graph, files: &[tree::File]) -> Vec<Finding> {
    let faults = check(graph, &by_path(files)).into_iter();
    faults.map(|fault| Finding::new(&fault.path, fault.line, fault.what)).collect()
}

#[test]
fn plates_list_what_modules_import() {
    let exceptions = Exceptions::of("may-use");
    let files = tree::files();
    let found: Vec<_> = graphs().iter().flat_map(|graph| findings(graph, &files)).collect();
    let mut found = exceptions.sift(found);
    found.extend(exceptions.unused());
    hold("`May use:` lists what the module imports; `cargo xtask plates --write` writes it.", &found);
}

#[test]
fn a_plate_that_is_not_true_is_refused() {
    let told = |may_use: &str| {
        let text = format!("//! Owns: a.\n//! May use: {may_use}\n//! Never: c.\nuse crate::b;\n");
        let (package, files) =
            crate::graph::made_up(&[("lib.rs", "mod a; mod b;"), ("a.rs", &text), ("b.rs", "")]);
        let graph = Graph::read(package, &files).expect("Rust");
        findings(&graph, &files)
    };
    assert_eq!(told("`b`."), []);
    assert_eq!(
        told("nothing."),
        [Finding::new("crates/a/src/a.rs", 2, "line 4 uses `b`, which the plate does not list")]
    );
    assert_eq!(told("`b`, `a`.").len(), 1);
    assert_eq!(told("`b` for its c.").len(), 1);
}

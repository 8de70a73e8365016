//! Owns: the rule that every module opens with a door plate.
//! May use: the text of modules.
//! Never: judging what stands on the plate.

use super::tree::{is_module, rust_files};
use super::{Finding, hold};

const PLATE: [&str; 3] = ["//! Owns: ", "//! May use: ", "//! Never: "];

/// The first three lines must be the plate; a story, if there is one, is set off by an empty line.
fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut lines = text.lines();
    let mut findings = Vec::new();
    for (number, opening) in (1..).zip(PLATE) {
        let line = lines.next().unwrap_or("");
        if line.strip_prefix(opening).is_none_or(|rest| rest.trim().is_empty()) {
            findings.push(Finding::new(path, number, format!("expected `{opening}...`, found `{line}`")));
        }
    }
    if lines.next().is_some_and(|line| line.starts_with("//!") && line.trim_end() != "//!") {
        findings.push(Finding::new(path, 4, "expected an empty `//!` line between the plate and the story"));
    }
    findings
}

#[test]
fn every_module_has_its_door_plate() {
    let modules = rust_files().into_iter().filter(|file| is_module(&file.path));
    let findings: Vec<_> = modules.flat_map(|file| check(&file.path, &file.text)).collect();
    hold("A module opens with `//! Owns: `, `//! May use: `, `//! Never: `, one line each.", &findings);
}

#[test]
fn a_missing_empty_or_swollen_plate_is_refused() {
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: b.\n//! Never: c.\n//!\n//! Story.\n"), []);
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: b.\n//! Never: c.\nfn f() {}\n"), []);
    assert_eq!(check("a.rs", "fn f() {}\n").len(), 3);
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: \n//! Never: c.\n").len(), 1);
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: b.\n//! Never: c,\n//! d.\n").len(), 1);
}

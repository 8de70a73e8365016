//! Owns: the rule that every module opens with a door plate.
//! May use: `plate`, `tree`.
//! Never: judging what stands on the plate; `may_use` does for the second line.

use super::{Finding, hold};
use crate::plate::OPENING;
use crate::tree::{is_module, rust_files};

const PLATE: [&str; 3] = ["//! Owns: ", OPENING, "//! Never: "];

/// The first lines must be the plate, of which only the second may break; a story is set off by an empty line.
fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut lines = (1..).zip(text.lines()).peekable();
    let mut findings = Vec::new();
    for opening in PLATE {
        let (number, line) = lines.next().unwrap_or((1, ""));
        if line.strip_prefix(opening).is_none_or(|rest| rest.trim().is_empty()) {
            findings.push(Finding::new(path, number, format!("expected `{opening}...`, found `{line}`")));
        } else if opening == OPENING {
            while lines.next_if(|(_, line)| line.starts_with("//! ") && !line.starts_with(PLATE[2])).is_some()
            {
            }
        }
    }
    if let Some((number, line)) = lines.next()
        && line.starts_with("//!")
        && line.trim_end() != "//!"
    {
        findings.push(Finding::new(
            path,
            number,
            "expected an empty `//!` line between the plate and the story",
        ));
    }
    findings
}

#[test]
fn every_module_has_its_door_plate() {
    let modules = rust_files().into_iter().filter(|file| is_module(&file.path));
    let findings: Vec<_> = modules.flat_map(|file| check(&file.path, &file.text)).collect();
    hold(
        "A module opens with `//! Owns: `, `//! May use: `, `//! Never: `; only the second may break.",
        &findings,
    );
}

#[test]
fn a_missing_empty_or_swollen_plate_is_refused() {
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: b.\n//! Never: c.\n//!\n//! Story.\n"), []);
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: b.\n//! Never: c.\nfn f() {}\n"), []);
    assert_eq!(
        check("a.rs", "//! Owns: a.\n//! May use: `b`,\n//! `c`.\n//! Never: c.\n//!\n//! Story.\n"),
        []
    );
    assert_eq!(check("a.rs", "//! Owns: a,\n//! b.\n//! May use: c.\n//! Never: d.\n").len(), 3);
    assert_eq!(check("a.rs", "fn f() {}\n").len(), 3);
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: \n//! Never: c.\n").len(), 1);
    assert_eq!(check("a.rs", "//! Owns: a.\n//! May use: b.\n//! Never: c,\n//! d.\n").len(), 1);
}

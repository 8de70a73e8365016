//! Owns: the rule that nothing in the repository names a place that only its authors can reach.
//! May use: `tree`.
//! Never: lock files' own notation of where a crate comes from.

use super::{Finding, hold};
use crate::tree::files;

/// Hosts of package registries, and the folders of the machines that the work is done on.
const PATTERNS: [&str; 9] = [
    concat!("crates", ".io"),
    concat!("proxy.", "golang.org"),
    concat!("pypi", ".org"),
    concat!("files.", "pythonhosted.org"),
    concat!("registry.", "npmjs.org"),
    concat!("repo1.", "maven.org"),
    concat!("deb.", "debian.org"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
];

/// What cargo itself writes into a lock file for a public crate.
const LOCK_SOURCE: &str =
    concat!("source = \"registry+https://github.com/rust-lang/", "crates", ".io-index\"");

fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if path.ends_with("Cargo.lock") && line == LOCK_SOURCE {
            continue;
        }
        let named = PATTERNS.iter().filter(|pattern| line.contains(**pattern));
        findings.extend(named.map(|pattern| Finding::new(path, number, format!("names `{pattern}`"))));
    }
    findings
}

#[test]
fn nothing_names_a_registry_or_a_machine() {
    let findings: Vec<_> = files().iter().flat_map(|file| check(&file.path, &file.text)).collect();
    hold("No file names the host of a registry or a folder of one machine.", &findings);
}

#[test]
fn a_host_or_a_folder_is_refused() {
    assert_eq!(check("a.md", &format!("see {}", PATTERNS[0])).len(), 1);
    assert_eq!(check("a.rs", &format!("open(\"{}x\")", PATTERNS[7])).len(), 1);
    assert_eq!(check("Cargo.lock", LOCK_SOURCE), []);
    assert_eq!(check("a.toml", LOCK_SOURCE).len(), 1);
    assert_eq!(check("Cargo.lock", &LOCK_SOURCE.replace("rust-lang", "elsewhere")).len(), 1);
}

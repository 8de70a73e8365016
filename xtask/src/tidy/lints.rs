//! Owns: the rule that every crate of the workspace inherits its lints and its package fields.
//! May use: `tree`, `toml`.
//! Never: which lints there are; the root manifest says that.

use toml::Table;

use super::{Finding, hold};
use crate::tree::files;

const INHERITED: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

fn check(path: &str, text: &str) -> Vec<Finding> {
    let manifest: Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
    let inherits = |table: &str, key: Option<&str>| {
        let table = manifest.get(table);
        let field = key.map_or(table, |key| table?.get(key));
        field.and_then(|field| field.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
    };
    let mut findings = Vec::new();
    if !inherits("lints", None) {
        findings.push(Finding::new(path, 1, "expected `[lints] workspace = true`"));
    }
    let own = INHERITED.iter().filter(|field| !inherits("package", Some(field)));
    findings.extend(own.map(|field| Finding::new(path, 1, format!("expected `{field}.workspace = true`"))));
    if manifest.get("package").and_then(|package| package.get("description")).is_none() {
        findings.push(Finding::new(path, 1, "expected a description"));
    }
    findings
}

/// A manifest of a member of the root workspace.
fn is_member(path: &str) -> bool {
    let folder = path.strip_suffix("/Cargo.toml");
    folder.is_some_and(|folder| {
        folder == "xtask" || folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/'))
    })
}

#[test]
fn every_crate_inherits_the_lints() {
    let manifests = files().into_iter().filter(|file| is_member(&file.path));
    let findings: Vec<_> = manifests.flat_map(|file| check(&file.path, &file.text)).collect();
    hold("A crate inherits lints and package fields from the workspace.", &findings);
}

#[test]
fn a_crate_that_goes_its_own_way_is_refused() {
    let fields: String = INHERITED.iter().map(|field| format!("{field}.workspace = true\n")).collect();
    let good = format!("[package]\nname = \"a\"\ndescription = \"x\"\n{fields}[lints]\nworkspace = true\n");
    assert_eq!(check("crates/a/Cargo.toml", &good), []);
    assert_eq!(check("crates/a/Cargo.toml", &good.replace("[lints]\nworkspace = true\n", "")).len(), 1);
    assert_eq!(
        check("crates/a/Cargo.toml", &good.replace("edition.workspace = true", "edition = \"2024\"")).len(),
        1
    );
    assert_eq!(check("crates/a/Cargo.toml", &good.replace("description = \"x\"\n", "")).len(), 1);
}

#[test]
fn members_are_told_from_other_manifests() {
    assert!(is_member("crates/raddle-core/Cargo.toml"));
    assert!(is_member("xtask/Cargo.toml"));
    assert!(!is_member("Cargo.toml"));
    assert!(!is_member("bench/Cargo.toml"));
}

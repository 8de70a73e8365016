//! Owns: the rule that crates inherit lints and package fields, and that published ones say what they are.
//! May use: `house`, `tree`, `toml`.
//! Never: which lints there are; the root manifest says that.

use toml::Table;

use super::{Finding, hold};
use crate::house;
use crate::tree::files;

const INHERITED: [&str; 4] = ["version", "edition", "rust-version", "license"];

/// What a registry shows of a package.
const SHOWN: [&str; 5] = ["readme", "documentation", "keywords", "categories", "include"];

/// What its folder has.
const SHIPPED: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

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
    let has = |field: &str| manifest.get("package").and_then(|package| package.get(field));
    if is_published(&manifest) {
        let absent = SHOWN.iter().filter(|field| has(field).is_none());
        findings.extend(
            absent.map(|field| Finding::new(path, 1, format!("expected `{field}`, or `publish = false`"))),
        );
    }
    findings
}

/// Whether a crate is published, by its manifest.
fn is_published(manifest: &Table) -> bool {
    let publish = manifest.get("package").and_then(|package| package.get("publish"));
    publish.and_then(toml::Value::as_bool) != Some(false)
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
fn a_published_crate_has_its_page_and_its_licences() {
    let manifests = files().into_iter().filter(|file| {
        is_member(&file.path) && file.text.parse().is_ok_and(|manifest| is_published(&manifest))
    });
    let folders = manifests.filter_map(|file| file.path.strip_suffix("/Cargo.toml").map(str::to_owned));
    let all = folders.flat_map(|folder| SHIPPED.map(|name| (folder.clone(), name)));
    let text = |path: &str| std::fs::read_to_string(house::root().join(path)).ok();
    // A link would be a file with a path in it on systems, and in archives, that have none.
    let is_wrong = |folder: &str, name: &str| {
        let found = text(&format!("{folder}/{name}"));
        found.is_none() || (name.starts_with("LICENSE") && found != text(name))
    };
    let wrong = all.filter(|(folder, name)| is_wrong(folder, name));
    let findings: Vec<_> =
        wrong.map(|(folder, name)| Finding::new(&folder, 1, format!("expected `{name}`"))).collect();
    hold("What is published has a README.md and the two licences, in full, in its folder.", &findings);
}

#[test]
fn a_crate_that_goes_its_own_way_is_refused() {
    let fields: String = INHERITED.iter().map(|field| format!("{field}.workspace = true\n")).collect();
    let good = format!(
        "[package]\nname = \"a\"\ndescription = \"x\"\npublish = false\n{fields}[lints]\nworkspace = true\n"
    );
    assert_eq!(check("crates/a/Cargo.toml", &good), []);
    assert_eq!(check("crates/a/Cargo.toml", &good.replace("[lints]\nworkspace = true\n", "")).len(), 1);
    assert_eq!(
        check("crates/a/Cargo.toml", &good.replace("edition.workspace = true", "edition = \"2024\"")).len(),
        1
    );
    assert_eq!(check("crates/a/Cargo.toml", &good.replace("description = \"x\"\n", "")).len(), 1);
    let published = good.replace("publish = false\n", "readme = \"README.md\"\n");
    assert_eq!(check("crates/a/Cargo.toml", &published).len(), SHOWN.len() - 1);
    let is_published = |text: &str| is_published(&text.parse().expect("a manifest"));
    assert!(is_published(&published) && !is_published(&good));
}

#[test]
fn members_are_told_from_other_manifests() {
    assert!(is_member("crates/raddle-core/Cargo.toml"));
    assert!(is_member("xtask/Cargo.toml"));
    assert!(!is_member("Cargo.toml"));
    assert!(!is_member("bench/Cargo.toml"));
}

//! Owns: the test that the recipes for an operator and for an instruction name all files that such a one touches.
//! May use: the page, the sources of the crates that it is about.
//! Never: a list of files of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that a section of the page names.
fn named(section: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(root().join("docs/recipes-occam.md")).expect("the page is there");
    let (_, rest) = page.split_once(&format!("\n## {section}\n")).expect("the page has this recipe");
    let text = rest.split("\n## ").next().unwrap_or(rest);
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|it| ["crates/", "docs/", "corpus/"].iter().any(|top| it.starts_with(top)))
        .map(str::to_owned)
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The files that mention two or more variants of an enumeration, `Op::Add`, `Op::Sub`, or import all of them.
fn listing(crates: &[&str], enumeration: &str) -> BTreeSet<String> {
    let mut all = Vec::new();
    crates.iter().for_each(|name| sources(&root().join("crates").join(name).join("src"), &mut all));
    let prefix = format!("{enumeration}::");
    let lists = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a text");
        let variant = |rest: &str| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_owned();
        // Neither a function nor a constant.
        let is_variant = |name: &String| {
            name.starts_with(|c: char| c.is_uppercase()) && name.contains(|c: char| c.is_lowercase())
        };
        let variants: BTreeSet<String> =
            text.split(&prefix).skip(1).map(variant).filter(is_variant).collect();
        variants.len() > 1 || text.contains(&format!("{prefix}*"))
    };
    let shown =
        |path: PathBuf| path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
    all.into_iter().filter(lists).map(shown).collect()
}

#[test]
fn each_file_of_a_recipe_exists() {
    for section in ["An occam operator", "An instruction"] {
        let named = named(section);
        assert!(named.len() > 2, "{section}: {named:?}");
        for path in named {
            assert!(root().join(&path).exists(), "{section}: there is no `{path}`");
        }
    }
}

#[test]
fn a_file_that_lists_operators_is_in_their_recipe() {
    let listing = listing(&["raddle-occam", "raddle-occam-syntax"], "Dyadic");
    assert!(!listing.is_empty(), "the table lists them");
    let missing: Vec<_> = listing.difference(&named("An occam operator")).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}: derive it from the table, or name it in docs/recipes-occam.md");
}

#[test]
fn a_file_that_lists_instructions_is_in_their_recipe() {
    let listing = listing(&["raddle-bytecode", "raddle-vm", "raddle-host", "raddle-cli"], "Op");
    assert!(!listing.is_empty(), "the machine has an arm for each");
    let missing: Vec<_> = listing.difference(&named("An instruction")).cloned().collect();
    assert!(
        missing.is_empty(),
        "{missing:?}: derive it from the effect, or name it in docs/recipes-occam.md"
    );
}

//! Owns: the rule that what a crate's source includes is in the package that is made of it.
//! May use: `house`, `tree`, `toml`.
//! Never: making a package; the group `package` does.

use std::path::{Component, Path};

use toml::Table;

use super::{Finding, hold};
use crate::house;
use crate::tree::rust_files;

/// What names a file beside the source.
const OPENINGS: [&str; 4] = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];

/// How the files of a package begin, of a root manifest: its list is of patterns `/src/**`, `/LICENSE-*`.
fn packaged(manifest: &str) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap_or_else(|error| panic!("Cargo.toml: {error}"));
    let list = manifest["workspace"]["package"]["include"].as_array().cloned().unwrap_or_default();
    let patterns = list.iter().filter_map(toml::Value::as_str);
    patterns.map(|pattern| pattern.trim_start_matches('/').trim_end_matches('*').to_owned()).collect()
}

/// A path from a folder of a package; `None` if it leaves the package.
fn join(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<_> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

/// The source at `path` of the package in `member`.
fn check(member: &str, path: &str, text: &str, packaged: &[String]) -> Vec<Finding> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let parts = OPENINGS.iter().flat_map(|opening| line.split(opening).skip(1));
        for target in parts.filter_map(|part| part.split_once('"')).map(|(target, _)| target) {
            let is_in = |inside: String| packaged.iter().any(|begin| inside.starts_with(begin.as_str()));
            if !join(folder, target).is_some_and(is_in) {
                let what = format!("`{target}` is not in the package");
                findings.push(Finding::new(&format!("{member}/{path}"), number, what));
            }
        }
    }
    findings
}

#[test]
fn what_a_source_includes_is_in_its_package() {
    let manifest = std::fs::read_to_string(house::root().join("Cargo.toml")).expect("there is a manifest");
    let packaged = packaged(&manifest);
    let sources = rust_files().into_iter().filter_map(|file| {
        let rest = file.path.strip_prefix("crates/")?;
        let (name, path) = rest.split_once('/')?;
        path.starts_with("src/").then(|| (format!("crates/{name}"), path.to_owned(), file.text))
    });
    let findings: Vec<_> =
        sources.flat_map(|(member, path, text)| check(&member, &path, &text, &packaged)).collect();
    hold("What the source of a crate includes is in its package, by `include` of Cargo.toml.", &findings);
}

#[test]
fn a_file_of_another_folder_is_refused() {
    let packaged = packaged("[workspace.package]\ninclude = [\"/src/**\", \"/README.md\"]\n");
    let of = |text: &str| check("crates/a", "src/b/c.rs", text, &packaged).len();
    assert_eq!(of(concat!("x(include", "_str!(\"page.html\"))\n#[pa", "th = \"x.rs\"]\n")), 0);
    assert_eq!(of(concat!("include", "_str!(\"../../README.md\")")), 0);
    assert_eq!(of(concat!("include", "_str!(\"../../docs/A.md\")")), 1);
    assert_eq!(of(concat!("#[pa", "th = \"../../../src/x.rs\"]")), 1, "of another crate");
    assert_eq!(of(concat!("include", "_bytes!(\"../../../../x\"), include", "_str!(\"../../y\")")), 2);
}

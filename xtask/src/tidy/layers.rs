//! Owns: the rule that the edges between crates are those of `xtask/layers.toml`.
//! May use: `house`, `serde_json`, `toml`.
//! Never: transitive dependencies; cargo resolves those.
//!
//! The table and the manifests must agree both ways: an edge that is not listed and a listed edge that is not used
//! are findings, and so is a crate that the table does not know. What is there under `cfg(loom)` alone is for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use toml::Table;

use super::{Finding, hold};
use crate::house;

const LIST: &str = "xtask/layers.toml";

/// The keys of a crate's entry: edges that ship, and those that only tests use; within the house and outside it.
const KEYS: [&str; 4] = ["uses", "uses-in-tests", "outside", "outside-in-tests"];

/// Key of the entry to names of crates.
type Edges = BTreeMap<&'static str, BTreeSet<String>>;

/// The edges that the table allows, by crate.
fn allowed(list: &str) -> Result<BTreeMap<String, Edges>, String> {
    let table: Table = list.parse().map_err(|error| format!("{error}"))?;
    table.into_iter().map(|(name, entry)| Ok((name.clone(), entry_edges(&name, &entry)?))).collect()
}

fn entry_edges(name: &str, entry: &toml::Value) -> Result<Edges, String> {
    let entry = entry.as_table().ok_or_else(|| format!("`{name}`: expected a table"))?;
    if let Some(key) = entry.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("`{name}`: unknown key `{key}`; known are {}", KEYS.join(", ")));
    }
    let names = |key: &str| -> Option<BTreeSet<String>> {
        let list = entry.get(key).and_then(toml::Value::as_array)?;
        list.iter().map(|value| value.as_str().map(str::to_owned)).collect()
    };
    KEYS.iter()
        .map(|key| {
            names(key).map(|set| (*key, set)).ok_or_else(|| format!("`{name}`: `{key}` is no list of names"))
        })
        .collect()
}

/// The edges that the manifests have, by crate.
fn actual(metadata: &Value) -> BTreeMap<String, Edges> {
    let packages = metadata["packages"].as_array().expect("`cargo metadata` lists packages");
    packages.iter().map(|package| (text(&package["name"]), package_edges(package))).collect()
}

fn package_edges(package: &Value) -> Edges {
    let mut edges: Edges = KEYS.iter().map(|key| (*key, BTreeSet::new())).collect();
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let inside = !dependency["path"].is_null();
        let in_tests = dependency["kind"] == "dev" || dependency["target"] == "cfg(loom)";
        let key = KEYS[2 * usize::from(!inside) + usize::from(in_tests)];
        edges.entry(key).or_default().insert(text(&dependency["name"]));
    }
    edges
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn check(list: &str, metadata: &Value) -> Vec<Finding> {
    let finding = |what: String| Finding::new(LIST, 1, what);
    let allowed = match allowed(list) {
        Ok(allowed) => allowed,
        Err(what) => return vec![finding(what)],
    };
    let actual = actual(metadata);
    let mut findings = Vec::new();
    for name in allowed.keys().filter(|name| !actual.contains_key(*name)) {
        findings.push(finding(format!("there is no crate `{name}`")));
    }
    for (name, edges) in &actual {
        let Some(entry) = allowed.get(name) else {
            findings.push(finding(format!("the crate `{name}` is not in the table")));
            continue;
        };
        for key in KEYS {
            let (has, may) = (&edges[key], &entry[key]);
            findings.extend(
                has.difference(may).map(|to| finding(format!("[{name}] {key}: `{to}` is a new edge"))),
            );
            findings
                .extend(may.difference(has).map(|to| finding(format!("[{name}] {key}: `{to}` is not used"))));
        }
    }
    findings
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(house::root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("`cargo metadata` prints JSON")
}

#[test]
fn the_edges_are_those_of_the_table() {
    let list = std::fs::read_to_string(house::root().join(LIST)).expect(LIST);
    hold(
        "The edges between crates are a design: a new one is a commit of its own.",
        &check(&list, &metadata()),
    );
}

#[cfg(test)]
fn two_crates() -> Value {
    serde_json::json!({"packages": [
        {"name": "low", "dependencies": [{"name": "libc", "kind": null, "path": null}]},
        {"name": "high", "dependencies": [
            {"name": "low", "kind": null, "path": "/crates/low"},
            {"name": "loom", "kind": null, "path": null, "target": "cfg(loom)"},
            {"name": "rand", "kind": "dev", "path": null, "target": null},
        ]},
    ]})
}

#[cfg(test)]
const LOW: &str = "[low]\nuses = []\nuses-in-tests = []\noutside = [\"libc\"]\noutside-in-tests = []\n";

#[test]
fn a_new_edge_an_old_edge_and_an_unknown_crate_are_refused() {
    let high = "[high]\nuses = [\"low\"]\nuses-in-tests = []\noutside = []\noutside-in-tests = [\"loom\", \"rand\"]\n";
    let good = format!("{LOW}{high}");
    assert_eq!(check(&good, &two_crates()), []);
    assert_eq!(check(LOW, &two_crates()).len(), 1);
    assert_eq!(check(&good.replace("uses = [\"low\"]", "uses = []"), &two_crates()).len(), 1);
    assert_eq!(check(&good.replace("outside = []", "outside = [\"regex\"]"), &two_crates()).len(), 1);
    assert_eq!(
        check(&good.replace("\"rand\"]", "]").replace("outside = []", "outside = [\"rand\"]"), &two_crates())
            .len(),
        2
    );
    assert_eq!(
        check(
            &format!("{good}[gone]\nuses = []\nuses-in-tests = []\noutside = []\noutside-in-tests = []\n"),
            &two_crates()
        )
        .len(),
        1
    );
}

#[test]
fn a_malformed_table_is_refused() {
    assert_eq!(check("[low]\nuses = []\n", &two_crates()).len(), 1);
    assert_eq!(check(&LOW.replace("uses = []", "use = []\nuses = []"), &two_crates()).len(), 1);
    assert_eq!(check("low", &two_crates()).len(), 1);
}

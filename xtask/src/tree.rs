//! Owns: the list of the repository's files and their text.
//! May use: `house`.
//! Never: a rule.
//!
//! Git says which files belong to the repository.

use std::process::Command;

use crate::house;

/// A text file of the repository.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Every text file that git tracks or would track.
pub(crate) fn files() -> Vec<File> {
    paths().iter().filter_map(|path| read(path)).collect()
}

/// What git tracks or would track, from the root, with `/`. It may name files that are deleted but not yet from its
/// list.
pub(crate) fn paths() -> Vec<String> {
    let listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git")
        .args(["-c", "safe.directory=*"])
        .args(listing)
        .current_dir(house::root())
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("the names of the files are UTF-8");
    let mut names: Vec<_> = names.split_terminator('\0').map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The Rust files among them.
#[cfg(test)]
pub(crate) fn rust_files() -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

/// Whether `path` is a module of a crate of the house, as opposed to a test, an example or a benchmark.
#[cfg(test)]
pub(crate) fn is_module(path: &str) -> bool {
    let member = ["crates/", "apps/"].iter().find_map(|folder| path.strip_prefix(folder));
    let rest = member.and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
    rest.or_else(|| path.strip_prefix("xtask/")).is_some_and(|rest| rest.starts_with("src/"))
}

/// `None` for a file that is deleted but not yet from git's list, or that is no text; and for a link, by which the
/// package of a crate has a file that lies elsewhere.
fn read(name: &str) -> Option<File> {
    let path = house::root().join(name);
    if path.is_symlink() {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    Some(File { path: name.to_owned(), text })
}

#[test]
fn the_tree_holds_this_file() {
    assert!(rust_files().iter().any(|file| file.path == "xtask/src/tree.rs"));
}

#[test]
fn modules_are_told_from_tests() {
    assert!(is_module("crates/raddle-core/src/lib.rs"));
    assert!(is_module("apps/ledger/src/lib.rs"));
    assert!(is_module("xtask/src/tree.rs"));
    assert!(!is_module("crates/raddle-core/tests/it/main.rs"));
    assert!(!is_module("bench/src/lib.rs"));
}

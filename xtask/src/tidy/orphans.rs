//! Owns: the rule that every source file belongs to a program: some module names it.
//! May use: `tree`.
//! Never: a file that Cargo finds by itself, such as a test program.

use super::{Finding, hold};
use crate::tree;

/// Names that Cargo, or the folder, stands for.
const ROOTS: [&str; 3] = ["lib.rs", "main.rs", "mod.rs"];

/// The files that may declare the module at `path`, and the module's name.
fn declared_in(path: &str) -> Option<(Vec<String>, &str)> {
    let (folder, file) = path.rsplit_once('/')?;
    let (folder, name) = match file {
        "mod.rs" => folder.rsplit_once('/')?,
        _ if ROOTS.contains(&file) || folder.ends_with("src/bin") => return None,
        _ => (folder, file.strip_suffix(".rs")?),
    };
    let parents = ROOTS.iter().map(|root| format!("{folder}/{root}")).chain([format!("{folder}.rs")]);
    Some((parents.collect(), name))
}

/// Whether `text` declares a module of that name in a file of its own.
fn declares(text: &str, name: &str) -> bool {
    text.lines().any(|line| line.split_once("mod ").is_some_and(|(_, rest)| rest == format!("{name};")))
}

/// Whether `text` gives a module a path that ends so.
fn names_path(text: &str, end: &str) -> bool {
    text.lines().any(|line| line.contains("path = \"") && line.contains(end))
}

/// The modules among `(path, text)` that nothing declares.
fn check(files: &[(&str, &str)]) -> Vec<Finding> {
    let is_declared = |path: &str| {
        let Some((parents, name)) = declared_in(path) else { return true };
        let ends = [format!("{name}.rs\""), format!("{name}/mod.rs\"")];
        let by_path = || files.iter().any(|(_, text)| ends.iter().any(|end| names_path(text, end)));
        let mut above = files.iter().filter(|(file, _)| parents.iter().any(|parent| parent == file));
        above.any(|(_, text)| declares(text, name)) || by_path()
    };
    let orphans = files.iter().filter(|(path, _)| !is_declared(path));
    orphans
        .map(|(path, _)| Finding::new(path, 1, "no module declares it: it is compiled into nothing"))
        .collect()
}

#[test]
fn every_file_is_a_module_of_something() {
    let files = tree::rust_files();
    let sources = files.iter().filter(|file| file.path.contains("/src/"));
    let sources: Vec<_> = sources.map(|file| (file.path.as_str(), file.text.as_str())).collect();
    hold("A source file is declared by a module, or it is gone.", &check(&sources));
}

#[test]
fn a_file_that_no_module_declares_is_found() {
    let root = ("c/src/lib.rs", "mod a;\npub(crate) mod b;\n#[path = \"odd/there.rs\"]\nmod twin;\n");
    let well = [root, ("c/src/a.rs", ""), ("c/src/b/mod.rs", "mod deep;"), ("c/src/b/deep.rs", "")];
    assert_eq!(check(&well), []);
    assert_eq!(check(&[root, ("c/src/odd/there.rs", ""), ("c/src/bin/tool.rs", "")]), []);
    let left = [root, ("c/src/b/mod.rs", "mod deep;"), ("c/src/b/a.rs", ""), ("c/src/old/mod.rs", "")];
    let found: Vec<_> = check(&left).into_iter().map(|finding| finding.path).collect();
    assert_eq!(found, ["c/src/b/a.rs", "c/src/old/mod.rs"]);
}

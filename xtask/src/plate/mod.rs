//! Owns: the line `May use:` of a door plate: its grammar, and what a module's imports ask of it.
//! May use: `graph`.
//! Never: the other lines of the plate.
//!
//! **The grammar.** After `//! May use: `, or `// May use: ` where users read the module's documentation, comes a list
//! of entries, each in backticks, with `, ` between them and a full stop after the last; or `nothing.` The list may go
//! on over several lines with the same slashes. An entry is
//!
//! - the path of a module of the same crate, from its root, which covers the modules below it: `protocol`,
//!   `protocol::token`, or `crate` for what the root itself defines;
//! - or another crate, of this repository or not, as the manifest calls it: `raddle-context`, `libc`.
//!
//! **What is not listed**: `std`, `core` and `alloc`, which everybody may use, and the module's own folder: the modules
//! below it and, where it is not directly below the root, the one above it with all that lies below that. What a module
//! names is what `graph` says: a name that a door passes on asks for the module behind the door.

pub(crate) mod command;
mod write;

use std::collections::BTreeMap;

use crate::graph::Graph;

/// Opens the line, behind the slashes.
pub(crate) const OPENING: &str = "May use: ";
const NEXT_OPENING: &str = "Never: ";

/// What the lines of a plate begin with: those of a module whose documentation users read are not part of it.
pub(crate) const SLASHES: [&str; 2] = ["//! ", "// "];

/// Which of them a file's plate has, if its first line is one of either.
pub(crate) fn slashes(text: &str) -> Option<&'static str> {
    SLASHES.into_iter().find(|slashes| text.starts_with(slashes))
}

/// The line `May use:` of a file, wherever it breaks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MayUse {
    /// The lines that it takes, counted from 0, the last not included.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// What follows `May use:`, on one line.
    pub(crate) text: String,
}

impl MayUse {
    /// That of a file, if it opens with a plate.
    pub(crate) fn find(text: &str) -> Option<MayUse> {
        let slashes = slashes(text)?;
        let lines: Vec<_> = text.lines().map_while(|line| line.strip_prefix(slashes.trim_end())).collect();
        let opens = |line: &str, opening: &str| line.trim_start().starts_with(opening.trim_end());
        let first = lines.iter().position(|line| opens(line, OPENING))?;
        let end = first + lines[first..].iter().position(|line| opens(line, NEXT_OPENING))?;
        let parts = lines[first..end].iter().map(|line| line.trim());
        let text = parts.collect::<Vec<_>>().join(" ");
        let text = text.strip_prefix("May use:").unwrap_or_default().trim().to_owned();
        Some(MayUse { first, end, text })
    }

    /// The entries, without their backticks.
    pub(crate) fn entries(&self) -> Result<Vec<String>, String> {
        let list = self.text.strip_suffix('.').ok_or("the list ends with a full stop")?;
        if list == "nothing" {
            return Ok(Vec::new());
        }
        list.split(", ").map(entry).collect()
    }
}

fn entry(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    if name.is_empty() || !name.chars().all(fits) {
        return Err(format!(
            "expected a module or a crate in backticks, or `nothing.`; found `{}`",
            text.replace('`', "")
        ));
    }
    Ok(name.to_owned())
}

/// What a file must list: names of modules and crates, with the first line that asks for each.
pub(crate) fn needs(graph: &Graph, file: usize) -> BTreeMap<String, usize> {
    let own = own_folder(graph.path(file));
    let outside = graph.arrows.iter().filter(|arrow| arrow.from == file);
    let outside = outside.filter(|arrow| own.is_none_or(|own| !graph.path(arrow.to).starts_with(own)));
    let mut needs: BTreeMap<_, _> = graph.crates[file].clone();
    for arrow in outside {
        let line = needs.entry(name(graph.path(arrow.to))).or_insert(arrow.line);
        *line = arrow.line.min(*line);
    }
    needs
}

/// The part of the crate that a module need not list; all of it for the root.
fn own_folder(path: &[String]) -> Option<&[String]> {
    match path {
        [] | [_] => Some(path),
        [above @ .., _] => Some(above),
    }
}

fn name(path: &[String]) -> String {
    if path.is_empty() { "crate".to_owned() } else { path.join("::") }
}

/// Whether an entry of the list allows a need.
fn covers(entry: &str, need: &str) -> bool {
    need.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// What is wrong with a list, both ways.
pub(crate) fn faults(entries: &[String], needs: &BTreeMap<String, usize>) -> Vec<String> {
    let missing = needs.iter().filter(|(need, _)| !entries.iter().any(|entry| covers(entry, need)));
    let mut faults: Vec<_> = missing
        .map(|(need, line)| format!("line {line} uses `{need}`, which the plate does not list"))
        .collect();
    for (at, entry) in entries.iter().enumerate() {
        if !needs.keys().any(|need| covers(entry, need)) {
            faults.push(format!("`{entry}` is listed, but not used, or is of the module's own folder"));
        }
        if entries.iter().enumerate().any(|(other, wider)| other != at && covers(wider, entry)) {
            faults.push(format!("`{entry}` is listed twice or covered by another entry"));
        }
    }
    faults
}

/// From so many modules of one folder on, the list names the folder.
const MODULES_OF_A_FOLDER_MAX: usize = 2;

/// The list that a file should have: modules first, then crates.
pub(crate) fn list(graph: &Graph, file: usize) -> Vec<String> {
    let needs = needs(graph, file);
    let (crates, mut modules): (Vec<_>, Vec<_>) =
        needs.into_keys().partition(|need| graph.crates[file].contains_key(need));
    let here = name(graph.path(file));
    while let Some(folder) = crowded(&modules, &here) {
        modules.retain(|module| !covers(&folder, module));
        modules.push(folder);
    }
    let all = modules.clone();
    modules.retain(|module| !all.iter().any(|wider| wider != module && covers(wider, module)));
    modules.sort();
    modules.into_iter().chain(crates).collect()
}

/// A folder that does not hold `here` and of which more modules are listed than should be.
fn crowded(modules: &[String], here: &str) -> Option<String> {
    let folder_of = |module: &String| module.rsplit_once("::").map(|(folder, _)| folder.to_owned());
    let mut folders: Vec<_> = modules.iter().filter_map(folder_of).collect();
    folders.sort_by_key(|folder| (usize::MAX - folder.len(), folder.clone()));
    let crowd =
        |folder: &String| modules.iter().filter(|module| folder_of(module).as_ref() == Some(folder)).count();
    folders.into_iter().find(|folder| crowd(folder) > MODULES_OF_A_FOLDER_MAX && !covers(folder, here))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::graph_of;

    fn entries(text: &str) -> Result<Vec<String>, String> {
        MayUse::find(&format!("//! Owns: a.\n{text}\n//! Never: c.\n")).expect("a plate").entries()
    }

    #[test]
    fn the_grammar_is_a_list_with_a_full_stop() {
        assert_eq!(
            entries("//! May use: `a`, `b::c`, `raddle-vm`.").unwrap_or_default(),
            ["a", "b::c", "raddle-vm"]
        );
        assert_eq!(entries("//! May use: `a`,\n//! `b`."), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(entries("//! May use: nothing."), Ok(Vec::new()));
        for bad in [
            "`a`",
            "",
            "a.",
            "`a` for its b.",
            "nothing",
            "nothing but memory.",
            "`a` and `b`.",
            "`a b`.",
            "``.",
        ] {
            assert!(entries(&format!("//! May use: {bad}")).is_err(), "{bad}");
        }
    }

    fn of(sources: &[(&str, &str)]) -> Graph {
        let root = "mod a; mod b; mod c; pub struct R;";
        let b = "pub mod x; pub mod y; pub mod z; pub mod deep;";
        let rest =
            [("lib.rs", root), ("b/mod.rs", b), ("b/x.rs", ""), ("b/y.rs", ""), ("b/z.rs", ""), ("c.rs", "")];
        graph_of(&[&rest[..], sources].concat())
    }

    fn file(graph: &Graph, path: &str) -> usize {
        let path = format!("crates/a/src/{path}");
        graph.modules.files.iter().position(|file| file.path == path).expect("a file")
    }

    fn check(list: &[&str]) -> Vec<String> {
        let graph = of(&[("a.rs", "use crate::b::x;\nuse libc::poll; fn f() { crate::c::g() }")]);
        let entries: Vec<_> = list.iter().map(|entry| (*entry).to_owned()).collect();
        faults(&entries, &needs(&graph, file(&graph, "a.rs")))
    }

    #[test]
    fn a_list_is_held_against_the_imports_both_ways() {
        assert_eq!(check(&["b::x", "c", "libc"]), [""; 0]);
        assert_eq!(check(&["b", "c", "libc"]), [""; 0]);
        assert_eq!(check(&["b::x", "libc"]), ["line 2 uses `c`, which the plate does not list"]);
        assert_eq!(check(&["b::x", "c"]), ["line 2 uses `libc`, which the plate does not list"]);
        assert_eq!(check(&["b::x", "c", "libc", "b::y"]).len(), 1);
        assert_eq!(check(&["b", "b::x", "c", "libc"]).len(), 1);
        assert_eq!(check(&["c", "c", "b", "libc"]).len(), 2);
        assert_eq!(check(&["bb", "c", "libc"]).len(), 2);
    }

    #[test]
    fn the_own_folder_is_not_listed() {
        let graph = of(&[
            ("b/deep/mod.rs", "mod q; use crate::b::y; use crate::c;"),
            ("b/deep/q.rs", "use crate::b::y; use super::S;"),
        ]);
        assert_eq!(list(&graph, file(&graph, "b/deep/mod.rs")), ["c"]);
        assert_eq!(list(&graph, file(&graph, "b/deep/q.rs")), ["b::y"]);
        assert_eq!(list(&graph, file(&graph, "b/mod.rs")), [""; 0]);
        assert_eq!(list(&graph, file(&graph, "lib.rs")), [""; 0]);
    }

    #[test]
    fn the_list_that_is_made_is_short_and_true() {
        for (text, expected) in [
            ("use crate::b::{x, y}; use libc::poll;", &["b::x", "b::y", "libc"][..]),
            ("use crate::b::{x, y, z}; use crate::c;", &["b", "c"]),
            ("use crate::b::{self, x};", &["b"]),
            ("use crate::R;", &["crate"]),
            ("use std::fmt;", &[]),
        ] {
            let graph = of(&[("a.rs", text)]);
            let made = list(&graph, file(&graph, "a.rs"));
            assert_eq!(made, expected, "{text}");
            assert_eq!(faults(&made, &needs(&graph, file(&graph, "a.rs"))), [""; 0]);
        }
    }
}

//! Owns: which module of a crate names which, read from the source.
//! May use: `tree`, `anyhow`.
//! Never: a rule; `tidy` holds those, `structure` shows figures.
//!
//! **What an arrow is.** A file has an arrow to every other file of its crate that it names, in an import or in a path
//! anywhere else, macros included. A name leads to the file that defines it: what `lib.rs` or a `mod.rs` re-exports
//! is no way round. What stands under `#[cfg(test)]` does not count. Types that are only inferred, and macros that
//! are called without a path, leave no arrow.
//!
//! **The door of a folder.** The file of a module is the door of the modules below it: it declares and re-exports
//! them, and an arrow from it to any of them is free. Whatever it hides is charged to those who pass through, since
//! their names lead to the module behind it. The other way, from a module to an item of the module above it, is an
//! arrow as any other.

pub(crate) mod circles;
mod cursor;
pub(crate) mod modules;
pub(crate) mod package;
mod resolve;
mod scan;

use std::collections::BTreeMap;

use modules::Modules;
use package::Package;
use resolve::{Resolver, Target};

use crate::tree::File;

/// A crate, its modules and who names whom.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) package: Package,
    pub(crate) modules: Modules,
    /// Between files of the crate, at most one from each to each.
    pub(crate) arrows: Vec<Arrow>,
    /// By file, the other crates that it names, with the first line.
    pub(crate) crates: Vec<BTreeMap<String, usize>>,
}

/// One file names another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrow {
    /// Indices into [`Modules::files`].
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Where `from` first does so.
    pub(crate) line: usize,
}

impl Graph {
    /// Those of every crate of the workspace among `files`.
    pub(crate) fn all(files: &[File]) -> anyhow::Result<Vec<Graph>> {
        Package::all(files).into_iter().map(|package| Graph::read(package, files)).collect()
    }

    pub(crate) fn read(package: Package, files: &[File]) -> anyhow::Result<Graph> {
        let modules = Modules::read(&package, files)?;
        let mut arrows = BTreeMap::new();
        let mut crates = vec![BTreeMap::new(); modules.files.len()];
        let resolver = Resolver::new(&package, &modules);
        for (index, module) in modules.modules.iter().enumerate() {
            let scope = modules.scope(index);
            let named = scope.imports.iter().map(|import| &import.named).chain(&scope.paths);
            for named in named {
                for target in resolver.resolve(index, &named.names) {
                    let (map, key) = match target {
                        Target::Module(to) => (&mut arrows, (module.file, modules.modules[to].file)),
                        Target::Crate(name) => {
                            let line = crates[module.file].entry(name).or_insert(named.line);
                            *line = named.line.min(*line);
                            continue;
                        }
                    };
                    let line = map.entry(key).or_insert(named.line);
                    *line = named.line.min(*line);
                }
            }
        }
        let arrows = arrows.into_iter().filter(|((from, to), _)| from != to);
        let arrows = arrows.map(|((from, to), line)| Arrow { from, to, line }).collect();
        Ok(Graph { package, modules, arrows, crates })
    }

    /// The module path of a file.
    pub(crate) fn path(&self, file: usize) -> &[String] {
        &self.modules.files[file].module
    }

    /// The arrows that count in circles: none of tests, none through a door to what lies behind it.
    pub(crate) fn counted(&self) -> impl Iterator<Item = Arrow> + '_ {
        let tested = |file: usize| self.modules.files[file].test;
        let free = |arrow: &Arrow| self.path(arrow.to).starts_with(self.path(arrow.from));
        self.arrows
            .iter()
            .copied()
            .filter(move |arrow| !tested(arrow.from) && !tested(arrow.to) && !free(arrow))
    }
}

/// A crate `a` of made-up files, by their paths from `src/`.
#[cfg(test)]
pub(crate) fn made_up(sources: &[(&str, &str)]) -> (Package, Vec<File>) {
    let dependencies = vec!["libc".to_owned(), "raddle-vm".to_owned()];
    let package = Package { name: "a".to_owned(), folder: "crates/a".to_owned(), dependencies };
    let file =
        |(path, text): &(&str, &str)| File { path: format!("crates/a/src/{path}"), text: (*text).to_owned() };
    (package, sources.iter().map(file).collect())
}

#[cfg(test)]
pub(crate) fn graph_of(sources: &[(&str, &str)]) -> Graph {
    let (package, files) = made_up(sources);
    Graph::read(package, &files).expect("Rust")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(sources: &[(&str, &str)]) -> Vec<String> {
        let graph = graph_of(sources);
        let name =
            |file| if graph.path(file).is_empty() { "crate".into() } else { graph.path(file).join("::") };
        let show = |arrow: &Arrow| format!("{} > {} {}", name(arrow.from), name(arrow.to), arrow.line);
        let mut shown: Vec<_> = graph.arrows.iter().map(show).collect();
        shown.sort();
        shown
    }

    /// What `text`, the text of `a`, names, in a crate that has modules enough.
    fn named(text: &str) -> Vec<String> {
        let root = "mod a; mod b; mod c;\npub use b::Defined;\n\
            pub mod face { pub use crate::c::*; }\npub use b::x::deep;";
        let files = [
            ("lib.rs", root),
            ("a.rs", text),
            ("b/mod.rs", "pub mod x; use crate::c::Item; use std::fmt; pub struct Defined;"),
            ("b/x.rs", "pub fn deep() {} #[macro_export] macro_rules! say { () => {} }"),
            ("c.rs", "pub struct Item;"),
        ];
        let found = arrows(&files).into_iter();
        found.filter_map(|arrow| arrow.strip_prefix("a > ").map(str::to_owned)).collect()
    }

    #[test]
    fn imports_and_paths_lead_to_modules() {
        assert_eq!(named("use crate::b::x::deep;"), ["b::x 1"]);
        assert_eq!(
            named("use super::{b::{self, x}, c as d};\nfn f() { d::Item; }"),
            ["b 1", "b::x 1", "c 1"]
        );
        assert_eq!(named("fn f() {\n m!(crate::c::Item)\n}"), ["c 2"]);
        assert_eq!(named("use crate::b;\nfn f() { b::x::deep() }"), ["b 1", "b::x 2"]);
        assert_eq!(named("use super::b::*; fn f() { x::deep() }"), ["b 1", "b::x 1"]);
        assert_eq!(named("mod in_here { use super::super::c::Item; }"), ["c 1"]);
        assert_eq!(named("struct S; fn f() { S::b(); Vec::c() } use std::b;"), [""; 0]);
    }

    #[test]
    fn what_a_door_passes_on_leads_to_what_defines_it() {
        assert_eq!(named("fn f() { crate::Defined }"), ["b 1"]);
        assert_eq!(named("use crate::deep;"), ["b::x 1"]);
        assert_eq!(named("use crate::b::Item;"), ["c 1"]);
        assert_eq!(named("use crate::face::Item;"), ["c 1"]);
        assert_eq!(named("crate::say!();"), ["b::x 1"]);
        assert_eq!(named("use crate::b::fmt;"), [""; 0]);
        assert_eq!(named("use crate::Missing;"), ["crate 1"]);
    }

    #[test]
    fn other_crates_are_noted_by_the_names_of_the_manifest() {
        let graph =
            graph_of(&[("lib.rs", "use std::fmt;\nuse raddle_vm::x;\nfn f() { libc::poll(); syn::x() }")]);
        assert_eq!(graph.crates[0], BTreeMap::from([("libc".to_owned(), 3), ("raddle-vm".to_owned(), 2)]));
    }

    #[test]
    fn a_door_is_free_downward_and_tests_do_not_count() {
        let graph = graph_of(&[
            ("lib.rs", "mod a; #[cfg(test)] mod t; use a::x;"),
            ("a/mod.rs", "mod x; use x::X; pub struct A;"),
            ("a/x.rs", "use super::A;"),
            ("t.rs", "use crate::a;"),
        ]);
        let counted: Vec<_> = graph.counted().collect();
        assert_eq!(counted.len(), 1, "{counted:?}");
        assert_eq!(
            (graph.path(counted[0].from).join("::"), graph.path(counted[0].to).join("::")),
            ("a::x".into(), "a".into())
        );
    }
}

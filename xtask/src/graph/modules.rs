//! Owns: the modules of a crate: which file or which part of a file each is, found from its roots by `mod` lines.
//! May use: `tree`, `anyhow`.
//! Never: what a module names.
//!
//! A module may have several files, of which one `cfg` chooses one (twins): then it is several nodes of one path.

use std::collections::{BTreeMap, HashMap};

use super::package::Package;
use super::scan::{ModLine, ModuleScope, Scan, scan};
use crate::tree::File;

/// A module: a file, or one with a body within a file.
#[derive(Debug)]
pub(crate) struct Module {
    /// From the root of its crate; empty for the root.
    pub(crate) path: Vec<String>,
    /// Index into [`Modules::files`].
    pub(crate) file: usize,
    /// Which of its file's scopes.
    pub(crate) scope: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) root: usize,
    pub(crate) children: BTreeMap<String, Vec<usize>>,
}

/// A file that is a module, and how it is reached.
#[derive(Debug)]
pub(crate) struct Source {
    /// From the root of the repository.
    pub(crate) path: String,
    pub(crate) lines: usize,
    /// The path of the module that it is.
    pub(crate) module: Vec<String>,
    /// Only there for tests.
    pub(crate) test: bool,
    pub(crate) scan: Scan,
}

/// The modules of one crate.
#[derive(Debug)]
pub(crate) struct Modules {
    pub(crate) files: Vec<Source>,
    pub(crate) modules: Vec<Module>,
    pub(crate) roots: Vec<usize>,
}

impl Modules {
    pub(crate) fn read(package: &Package, files: &[File]) -> anyhow::Result<Modules> {
        let texts = files.iter().filter_map(|file| Some((package.source(&file.path)?, file)));
        let texts: HashMap<&str, &File> = texts.filter(|(path, _)| path.ends_with(".rs")).collect();
        let mut roots: Vec<_> = texts.keys().copied().filter(|path| is_root(path)).collect();
        roots.sort_unstable();
        let mut found = ModuleFinder {
            texts,
            modules: Modules { files: Vec::new(), modules: Vec::new(), roots: Vec::new() },
        };
        for root in roots {
            let index = found.modules.modules.len();
            found.modules.roots.push(index);
            found.file(root, Vec::new(), None, index, false, true)?;
        }
        Ok(found.modules)
    }

    pub(crate) fn scope(&self, module: usize) -> &ModuleScope {
        let module = &self.modules[module];
        &self.files[module.file].scan.scopes[module.scope]
    }
}

fn is_root(path: &str) -> bool {
    matches!(path, "lib.rs" | "main.rs")
        || path.strip_prefix("bin/").is_some_and(|rest| !rest.contains('/') || rest.ends_with("/main.rs"))
}

struct ModuleFinder<'a> {
    texts: HashMap<&'a str, &'a File>,
    modules: Modules,
}

impl ModuleFinder<'_> {
    /// Takes in the file at `path` and what hangs below it. An `owner`'s modules lie beside it, not in a
    /// folder of its name.
    fn file(
        &mut self,
        path: &str,
        module: Vec<String>,
        parent: Option<usize>,
        root: usize,
        test: bool,
        owner: bool,
    ) -> anyhow::Result<usize> {
        let file = self.texts[path];
        let scan = scan(&file.path, &file.text)?;
        let (index, first) = (self.modules.files.len(), self.modules.modules.len());
        for (number, scope) in scan.scopes.iter().enumerate() {
            let (path, parent) = match &scope.inline {
                Some((name, outer)) => {
                    let outer = first + outer;
                    self.modules.modules[outer]
                        .children
                        .entry(name.clone())
                        .or_default()
                        .push(first + number);
                    (child(&self.modules.modules[outer].path, name), Some(outer))
                }
                None => (module.clone(), parent),
            };
            let children = BTreeMap::new();
            self.modules.modules.push(Module { path, file: index, scope: number, parent, root, children });
        }
        let lines: Vec<Vec<ModLine>> =
            scan.scopes.iter().map(|scope| scope.files.iter().map(copy).collect()).collect();
        let source = Source { path: file.path.clone(), lines: file.text.lines().count(), module, test, scan };
        self.modules.files.push(source);
        for (number, lines) in lines.into_iter().enumerate() {
            for line in lines {
                self.line(path, first + number, &line, root, test, owner)?;
            }
        }
        Ok(first)
    }

    /// Takes in the file or the twins that a `mod` line names.
    fn line(
        &mut self,
        path: &str,
        within: usize,
        line: &ModLine,
        root: usize,
        test: bool,
        owner: bool,
    ) -> anyhow::Result<()> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.strip_suffix(".rs").unwrap_or(name);
        let mut own = if owner { folder.to_owned() } else { join(folder, stem) };
        for inline in &self.modules.modules[within].path
            [self.modules.files[self.modules.modules[within].file].module.len()..]
        {
            own = join(&own, inline);
        }
        let usual = [format!("{}.rs", line.name), format!("{}/mod.rs", line.name)];
        let mut found: Vec<_> = line.paths.iter().map(|path| (join(folder, path), true)).collect();
        found.extend(usual.iter().map(|name| (join(&own, name), name.ends_with("/mod.rs"))));
        found.dedup_by(|one, other| one.0 == other.0);
        for (target, owner) in found {
            if self.texts.contains_key(target.as_str()) {
                let module = child(&self.modules.modules[within].path, &line.name);
                let index = self.file(&target, module, Some(within), root, test || line.test, owner)?;
                self.modules.modules[within].children.entry(line.name.clone()).or_default().push(index);
            }
        }
        Ok(())
    }
}

fn copy(line: &ModLine) -> ModLine {
    ModLine { name: line.name.clone(), paths: line.paths.clone(), test: line.test }
}

fn child(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// `target` from `folder`, with `..` undone.
fn join(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::made_up;

    #[test]
    fn modules_are_found_in_every_place_that_a_line_may_name() {
        let (package, files) = made_up(&[
            (
                "lib.rs",
                "mod a; mod b;\n\
                #[cfg_attr(x, path = \"twin/c.rs\")] mod c; mod d { mod e; } #[cfg(test)] mod t;",
            ),
            ("a.rs", "mod x;"),
            ("a/x.rs", ""),
            ("b/mod.rs", "mod y;"),
            ("b/y.rs", ""),
            ("c.rs", ""),
            ("twin/c.rs", "mod z;"),
            ("twin/z.rs", ""),
            ("d/e.rs", ""),
            ("t.rs", ""),
            ("unreached.rs", ""),
        ]);
        let modules = Modules::read(&package, &files).expect("Rust");
        let mut seen: Vec<_> = modules
            .files
            .iter()
            .map(|file| (package.source(&file.path).unwrap_or_default(), file.module.join("::"), file.test))
            .collect();
        seen.sort();
        let seen: Vec<_> =
            seen.iter().map(|(path, module, test)| format!("{path} {module} {test}")).collect();
        let expected = [
            "a.rs a false",
            "a/x.rs a::x false",
            "b/mod.rs b false",
            "b/y.rs b::y false",
            "c.rs c false",
            "d/e.rs d::e false",
            "lib.rs  false",
            "t.rs t true",
            "twin/c.rs c false",
            "twin/z.rs c::z false",
        ];
        assert_eq!(seen, expected);
    }
}

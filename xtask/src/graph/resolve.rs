//! Owns: where a path leads: to a module of the crate, or to another crate.
//! May use: nothing.
//! Never: types; a method or a field leads nowhere.
//!
//! A path is followed through modules and through what modules import, public or not, to the module that defines what
//! it names. So `crate::Runtime` leads to `runtime`, if `lib.rs` has `pub use runtime::Runtime`. What stands behind
//! the last module is not looked at.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::modules::Modules;
use super::package::Package;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// Index of a module.
    Module(usize),
    /// A dependency, as the manifest names it.
    Crate(String),
}

/// Imports that name each other are followed so far.
const DEPTH_MAX: usize = 12;

pub(crate) struct Resolver<'a> {
    package: &'a Package,
    modules: &'a Modules,
    /// What was followed through which module's imports for the path in hand: imports may name each other in circles.
    followed: RefCell<BTreeSet<(usize, Vec<String>)>>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(package: &'a Package, modules: &'a Modules) -> Self {
        Resolver { package, modules, followed: RefCell::default() }
    }

    /// Where `names`, written in `module`, leads; nowhere if it begins with a type or the standard library.
    pub(crate) fn resolve(&self, module: usize, names: &[String]) -> Vec<Target> {
        let mut found = Vec::new();
        self.followed.borrow_mut().clear();
        self.from(module, names, true, DEPTH_MAX, &mut found);
        found.sort();
        found.dedup();
        found
    }

    /// `within`: also what functions import counts, since the path may stand in one.
    fn from(&self, module: usize, names: &[String], within: bool, depth: usize, found: &mut Vec<Target>) {
        let Some(first) = names.first().filter(|_| depth > 0) else { return };
        match first.as_str() {
            "crate" => self.walk(self.modules.modules[module].root, &names[1..], depth, found),
            "self" => self.walk(module, &names[1..], depth, found),
            "super" => self.above(module, &names[1..], depth, found),
            "" => self.outside(module, &names[1..], depth, found),
            _ => {
                let before = found.len();
                self.bare(module, names, within, depth, found);
                if found.len() == before {
                    self.outside(module, names, depth, found);
                }
            }
        }
    }

    fn above(&self, module: usize, rest: &[String], depth: usize, found: &mut Vec<Target>) {
        let Some(parent) = self.modules.modules[module].parent else { return };
        match rest.first().map(String::as_str) {
            Some("super") => self.above(parent, &rest[1..], depth, found),
            _ => self.walk(parent, rest, depth, found),
        }
    }

    /// A path that begins with a name of the module that it stands in.
    fn bare(&self, module: usize, names: &[String], within: bool, depth: usize, found: &mut Vec<Target>) {
        if let Some(children) = self.modules.modules[module].children.get(&names[0]) {
            for child in children {
                self.walk(*child, &names[1..], depth, found);
            }
            return;
        }
        let scope = self.modules.scope(module);
        if scope.items.contains(&names[0]) {
            return found.push(Target::Module(module));
        }
        self.through_imports(module, names, within, depth, found);
    }

    /// Follows what the module imports under the first name, or imports whole.
    fn through_imports(
        &self,
        module: usize,
        names: &[String],
        within: bool,
        depth: usize,
        found: &mut Vec<Target>,
    ) {
        if !self.followed.borrow_mut().insert((module, names.to_vec())) {
            return;
        }
        let before = found.len();
        let imports =
            || self.modules.scope(module).imports.iter().filter(|import| within || import.in_module);
        for import in imports().filter(|import| import.alias.as_ref() == Some(&names[0])) {
            let path = &import.named.names;
            if path[0] == names[0] {
                self.outside(module, &[path.clone(), names[1..].to_vec()].concat(), depth, found);
            } else {
                self.from(module, &[path.clone(), names[1..].to_vec()].concat(), within, depth - 1, found);
            }
        }
        if found.len() > before {
            return;
        }
        for import in imports().filter(|import| import.glob && import.named.names[0] != names[0]) {
            let mut sources = Vec::new();
            self.from(module, &import.named.names, within, depth - 1, &mut sources);
            for source in sources {
                if let Target::Module(source) = source
                    && source != module
                    && self.provides(source, &names[0])
                {
                    self.walk(source, names, depth - 1, found);
                }
            }
        }
    }

    /// Whether a module has a name of its own or imports it by name.
    fn provides(&self, module: usize, name: &str) -> bool {
        let scope = self.modules.scope(module);
        self.modules.modules[module].children.contains_key(name)
            || scope.items.contains(name)
            || scope.imports.iter().any(|import| import.in_module && import.alias.as_deref() == Some(name))
    }

    /// Another crate, or this one under its own name.
    fn outside(&self, module: usize, names: &[String], depth: usize, found: &mut Vec<Target>) {
        let Some(first) = names.first() else { return };
        if let Some(name) = self.package.dependency(first) {
            found.push(Target::Crate(name.to_owned()));
        } else if self.package.is_itself(first) {
            let library = self.modules.roots[0];
            if library != self.modules.modules[module].root {
                self.walk(library, &names[1..], depth, found);
            }
        }
    }

    /// Follows `names` from `module` downward.
    fn walk(&self, module: usize, names: &[String], depth: usize, found: &mut Vec<Target>) {
        let Some(first) = names.first().filter(|_| depth > 0) else {
            return found.push(Target::Module(module));
        };
        if let Some(children) = self.modules.modules[module].children.get(first) {
            for child in children {
                self.walk(*child, &names[1..], depth, found);
            }
            return;
        }
        let before = found.len();
        if !self.modules.scope(module).items.contains(first) {
            self.through_imports(module, names, false, depth, found);
            if found.len() == before && !self.imports(module, first) {
                self.exported(module, first, found);
            }
        }
        if found.len() == before && !self.imports(module, first) {
            found.push(Target::Module(module));
        }
    }

    /// Whether the module imports `name` from anywhere, also from the standard library.
    fn imports(&self, module: usize, name: &str) -> bool {
        let mut imports = self.modules.scope(module).imports.iter();
        imports.any(|import| import.in_module && import.alias.as_deref() == Some(name))
    }

    /// A macro that `#[macro_export]` lifts to the root.
    fn exported(&self, module: usize, name: &str, found: &mut Vec<Target>) {
        if self.modules.modules[module].parent.is_some() {
            return;
        }
        let files = self.modules.files.iter().enumerate();
        for (index, _) in files.filter(|(_, file)| file.scan.exported.contains(name)) {
            let module =
                self.modules.modules.iter().position(|module| module.file == index && module.scope == 0);
            found.extend(module.map(Target::Module));
        }
    }
}

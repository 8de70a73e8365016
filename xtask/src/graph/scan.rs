//! Owns: what one Rust file says of other modules: its `mod` lines, imports, own names, and the paths in its bodies.
//! May use: `anyhow`, `proc-macro2`.
//! Never: where a path leads; `tree_of_modules` and `resolve` know that.
//!
//! It reads tokens, not syntax, so that paths within macro invocations and macro definitions count like others.
//! Attributes and visibilities are left out, and so is everything under `#[cfg(test)]` and `#[test]`.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::cursor::Cursor;

/// A file's scopes: the file itself first, then the modules with a body in it.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) scopes: Vec<ModuleScope>,
    /// Macros that `#[macro_export]` lifts to the root of the crate.
    pub(crate) exported: BTreeSet<String>,
}

/// A module's own part of a file.
#[derive(Debug, Default)]
pub(crate) struct ModuleScope {
    /// The name and the enclosing scope of a module with a body; none for the file itself.
    pub(crate) inline: Option<(String, usize)>,
    pub(crate) files: Vec<ModLine>,
    pub(crate) imports: Vec<Import>,
    /// Types, functions, constants and macros that are defined here.
    pub(crate) items: BTreeSet<String>,
    /// Paths of two or more names outside imports.
    pub(crate) paths: Vec<Named>,
}

/// `mod name;`
#[derive(Debug)]
pub(crate) struct ModLine {
    pub(crate) name: String,
    /// From `#[path = "..."]`, also under `cfg_attr`.
    pub(crate) paths: Vec<String>,
    pub(crate) test: bool,
}

/// One name that a `use` brings in, or all of a module's.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) named: Named,
    /// What it is called here; none for `*` and for `_`.
    pub(crate) alias: Option<String>,
    pub(crate) glob: bool,
    /// Not within a function.
    pub(crate) in_module: bool,
}

/// A path as written, and where. It begins with an empty name if it begins with `::`.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) names: Vec<String>,
    /// Counted from 1.
    pub(crate) line: usize,
}

const ITEMS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

/// Reads `text`, which must be Rust.
pub(crate) fn scan(path: &str, text: &str) -> anyhow::Result<Scan> {
    let stream: TokenStream = text.parse().map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
    let mut scan = Scan::default();
    scan.scopes.push(ModuleScope::default());
    Reader { scan: &mut scan, scope: 0 }.module(stream);
    Ok(scan)
}

struct Reader<'a> {
    scan: &'a mut Scan,
    scope: usize,
}

impl Reader<'_> {
    fn here(&mut self) -> &mut ModuleScope {
        &mut self.scan.scopes[self.scope]
    }

    /// The items of a module.
    fn module(&mut self, stream: TokenStream) {
        let mut cursor = Cursor::new(stream);
        while !cursor.at_end() {
            let attributes = cursor.attributes();
            if attributes.whole_file_is_test {
                return;
            }
            cursor.visibility();
            let keyword = cursor.word();
            match keyword.as_deref() {
                Some("mod") if attributes.test && cursor.is_mod_line() => {
                    self.mod_line(&mut cursor, attributes)
                }
                _ if attributes.test => cursor.skip_item(),
                Some("mod") if cursor.is_mod_line() => self.mod_line(&mut cursor, attributes),
                Some("mod") => self.mod_with_body(&mut cursor),
                Some("use") if cursor.is_import() => self.import(&mut cursor, true),
                Some("macro_rules") => self.macro_rules(&mut cursor, attributes.exported),
                Some(word) if ITEMS.contains(&word) => {
                    cursor.next();
                    if let Some(name) = cursor.word() {
                        self.here().items.insert(name);
                    }
                }
                _ => self.one(&mut cursor),
            }
        }
    }

    fn mod_line(&mut self, cursor: &mut Cursor, attributes: super::cursor::Attributes) {
        cursor.next();
        let name = cursor.word().unwrap_or_default();
        cursor.next();
        let line = ModLine { name, paths: attributes.paths, test: attributes.test };
        self.here().files.push(line);
    }

    fn mod_with_body(&mut self, cursor: &mut Cursor) {
        cursor.next();
        let name = cursor.word().unwrap_or_default();
        cursor.next();
        let Some(TokenTree::Group(body)) = cursor.next() else { return };
        let outer = self.scope;
        self.scan.scopes.push(ModuleScope { inline: Some((name, outer)), ..ModuleScope::default() });
        self.scope = self.scan.scopes.len() - 1;
        self.module(body.stream());
        self.scope = outer;
    }

    fn macro_rules(&mut self, cursor: &mut Cursor, exported: bool) {
        cursor.next();
        cursor.next();
        let Some(name) = cursor.word() else { return };
        cursor.next();
        self.here().items.insert(name.clone());
        if exported {
            self.scan.exported.insert(name);
        }
    }

    /// A function's body, a type, an invocation: whatever lies within an item.
    fn body(&mut self, group: &Group) {
        let mut cursor = Cursor::new(group.stream());
        while !cursor.at_end() {
            if cursor.attributes().test {
                cursor.skip_item();
                continue;
            }
            cursor.visibility();
            if cursor.is_import() { self.import(&mut cursor, false) } else { self.one(&mut cursor) }
        }
    }

    /// One token, or the path that begins with it.
    fn one(&mut self, cursor: &mut Cursor) {
        if let Some(named) = cursor.path() {
            if named.names.len() > 1 {
                self.here().paths.push(named);
            }
        } else if let Some(TokenTree::Group(group)) = cursor.next() {
            self.body(&group);
        }
    }

    fn import(&mut self, cursor: &mut Cursor, in_module: bool) {
        cursor.next();
        for (named, alias, glob) in import_tree(cursor, &[]) {
            self.here().imports.push(Import { named, alias, glob, in_module });
        }
        if cursor.is_punct(';') {
            cursor.next();
        }
    }
}

type Leaf = (Named, Option<String>, bool);

/// The leaves of one tree of a `use`: `a::b`, `a as b`, `a::*`, `a::{b, c}`.
fn import_tree(cursor: &mut Cursor, prefix: &[String]) -> Vec<Leaf> {
    let mut names = prefix.to_vec();
    let mut line = cursor.line();
    loop {
        if cursor.skip_colons() {
            if names.is_empty() {
                names.push(String::new());
            }
            continue;
        }
        if let Some(name) = cursor.word() {
            line = cursor.line();
            cursor.next();
            if name == "as" {
                let alias = cursor.word();
                cursor.next();
                return vec![(
                    Named { names: without_self(names), line },
                    alias.filter(|name| name != "_"),
                    false,
                )];
            }
            names.push(name);
            continue;
        }
        if cursor.is_punct('*') {
            cursor.next();
            return vec![(Named { names, line }, None, true)];
        }
        if let Some(group) = cursor.group(Delimiter::Brace) {
            cursor.next();
            return group_leaves(&group, &names);
        }
        if cursor.is_punct('$') {
            cursor.next();
            continue;
        }
        let names = without_self(names);
        let alias = names.last().cloned();
        return vec![(Named { names, line }, alias, false)];
    }
}

fn group_leaves(group: &Group, prefix: &[String]) -> Vec<Leaf> {
    let mut cursor = Cursor::new(group.stream());
    let mut leaves = Vec::new();
    while !cursor.at_end() {
        leaves.extend(import_tree(&mut cursor, prefix));
        // Past the comma; also past anything unforeseen, so that the loop ends.
        cursor.next();
    }
    leaves
}

/// `a::self` is `a`.
fn without_self(mut names: Vec<String>) -> Vec<String> {
    if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
        names.pop();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Scan {
        scan("a.rs", text).expect("Rust")
    }

    fn imports(text: &str) -> Vec<String> {
        let show = |import: &Import| {
            let alias = import.alias.as_deref().unwrap_or("-");
            format!("{}{} {alias}", import.named.names.join("::"), if import.glob { "::*" } else { "" })
        };
        file(text).scopes[0].imports.iter().map(show).collect()
    }

    fn paths(text: &str) -> Vec<String> {
        let show = |named: &Named| format!("{} {}", named.names.join("::"), named.line);
        file(text).scopes[0].paths.iter().map(show).collect()
    }

    #[test]
    fn an_import_is_taken_apart() {
        let text = "use a::b;\npub(crate) use c::{d, self, e::{f as g, *}, h as _};\nuse ::i::j;";
        let expected = ["a::b b", "c::d d", "c c", "c::e::f g", "c::e::* -", "c::h -", "::i::j j"];
        assert_eq!(imports(text), expected);
    }

    #[test]
    fn paths_are_found_in_bodies_types_and_macros() {
        let text = "fn f(x: crate::a::B) {\n say!(super::c::d(), $crate::e::F);\n g::h::<crate::i::J>();\n}";
        assert_eq!(
            paths(text),
            ["crate::a::B 1", "super::c::d 2", "crate::e::F 2", "g::h 3", "crate::i::J 3"]
        );
        assert_eq!(paths("macro_rules! m { () => { crate::a::b!() } }"), ["crate::a::b 1"]);
        assert_eq!(paths("fn f() { use crate::a::b; b::c() }"), ["b::c 1"]);
    }

    #[test]
    fn attributes_visibilities_comments_and_tests_say_nothing() {
        let text = "#[doc = \"a::b\"]\n/// `a::b`\npub(in crate::a) struct S { pub(super) x: u8 }\n\
            #[cfg(test)]\nmod tests { use super::a::b; }\n#[test]\nfn t() { crate::a::b() }\n\
            #[cfg(all(test, not(loom)))]\nconst X: u8 = crate::a::B;\nfn f() -> impl A + use<'a> { }";
        assert_eq!(paths(text), [""; 0]);
        assert_eq!(imports(text), [""; 0]);
        assert_eq!(paths("#[cfg(not(test))]\nfn f() { crate::a::b() }").len(), 1);
        assert_eq!(file("#![cfg(test)]\nuse a::b;").scopes[0].imports.len(), 0);
    }

    #[test]
    fn modules_and_items_are_told_apart() {
        let text = "#[path = \"x/y.rs\"]\nmod a;\n#[cfg(test)]\nmod t;\npub mod b { use c::d; mod e {} }\n\
            unsafe extern \"C\" fn f() {}\npub(crate) struct S;\n#[macro_export]\nmacro_rules! m { () => {} }";
        let scan = file(text);
        let lines: Vec<_> = scan.scopes[0].files.iter().map(|l| (&*l.name, l.paths.len(), l.test)).collect();
        assert_eq!(lines, [("a", 1, false), ("t", 0, true)]);
        let inline: Vec<_> = scan.scopes[1..].iter().filter_map(|scope| scope.inline.clone()).collect();
        assert_eq!(inline, [("b".to_owned(), 0), ("e".to_owned(), 1)]);
        assert_eq!(scan.scopes[1].imports.len(), 1);
        assert!(["S", "f", "m"].iter().all(|name| scan.scopes[0].items.contains(*name)));
        assert!(scan.exported.contains("m"));
    }
}

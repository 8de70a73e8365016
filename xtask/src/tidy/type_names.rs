//! Owns: the rule that no name of a type stands for something else in every other file.
//! May use: `tree`, `syn`.
//! Never: names in tests, associated types, parameters of types.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::exceptions::Exceptions;
use super::{Finding, hold};
use crate::tree::{is_module, rust_files};

const FILES_MAX: usize = 3;

/// The names of structures, enumerations, unions, traits and type aliases that a file defines, with their lines.
#[derive(Default)]
struct Types {
    found: BTreeMap<String, usize>,
}

impl Types {
    fn note(&mut self, name: &syn::Ident) {
        self.found.entry(name.to_string()).or_insert(name.span().start().line);
    }
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = match item {
            syn::Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Union(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Type(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Mod(item) => (&item.attrs, None),
            syn::Item::Fn(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if attributes.iter().any(is_for_tests) {
            return;
        }
        if let Some(name) = name {
            self.note(name);
        }
        visit::visit_item(self, item);
    }
}

fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let cfg = attribute.path().is_ident("cfg");
    attribute.path().is_ident("test")
        || (cfg
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().starts_with("test")))
}

/// A finding for each name that too many of `files`, paths and texts, define.
fn check<'a>(files: impl Iterator<Item = (&'a str, &'a str)>, exceptions: &Exceptions) -> Vec<Finding> {
    let mut places: BTreeMap<String, BTreeSet<(&str, usize)>> = BTreeMap::new();
    for (path, text) in files {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut types = Types::default();
        types.visit_file(&file);
        for (name, line) in types.found {
            places.entry(name).or_default().insert((path, line));
        }
    }
    let many =
        places.into_iter().filter(|(name, places)| places.len() > FILES_MAX && !exceptions.allow(name));
    many.filter_map(|(name, places)| {
        let (path, line) = places.first()?;
        let all: Vec<_> = places.iter().map(|(path, line)| format!("{path}:{line}")).collect();
        Some(Finding::new(
            path,
            *line,
            format!("`{name}` is defined in {} files: {}", all.len(), all.join(", ")),
        ))
    })
    .collect()
}

#[test]
fn a_type_name_has_few_meanings() {
    let exceptions = Exceptions::of("type-name");
    let files = rust_files();
    let modules = files.iter().filter(|file| is_module(&file.path));
    let mut findings = check(modules.map(|file| (file.path.as_str(), file.text.as_str())), &exceptions);
    findings.extend(exceptions.unused());
    hold(
        "No type's bare name is defined in more than three files: say what kind of state, place or kind it is.",
        &findings,
    );
}

#[test]
fn the_fourth_file_is_one_too_many() {
    let none = Exceptions::parse("", "type-name").unwrap_or_else(|finding| panic!("{finding}"));
    let forms =
        ["struct State;", "pub enum State {}", "mod m { type State = u8; }", "fn f() { trait State {} }"];
    let paths = ["a.rs", "b.rs", "c.rs", "d.rs"];
    let all = || paths.into_iter().zip(forms);
    assert_eq!(check(all(), &none).len(), 1);
    assert_eq!(check(all().take(3), &none), []);
    let listed =
        Exceptions::parse("type-name State - for now\n", "type-name").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(check(all(), &listed), []);
    let others = [
        "struct State;",
        "impl T for X { type State = u8; }",
        "#[cfg(test)] mod t { struct State; }",
        "#[test] fn f() { struct State; }",
    ];
    assert_eq!(check(paths.into_iter().zip(others), &none), []);
}

//! Owns: the rules on the length of functions and lines, pages included, and on the size of crates.
//! May use: `tree`, `syn`.
//! Never: counting attributes and comments above a function.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::exceptions::Exceptions;
use super::{Finding, graphs, hold};
use crate::tree::{files, rust_files};

const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 120;
const CRATE_LINES_MAX: usize = 22_000;

/// Functions, methods and closures-as-functions of a file with their lengths.
struct Functions {
    found: Vec<(String, usize, usize)>,
}

impl Functions {
    fn note(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (first, last) = (signature.span().start().line, block.span().end().line);
        self.found.push((signature.ident.to_string(), first, last + 1 - first));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.note(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

fn check_functions(path: &str, text: &str, exceptions: &Exceptions) -> Vec<Finding> {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut functions = Functions { found: Vec::new() };
    functions.visit_file(&file);
    let long = functions.found.into_iter().filter(|(_, _, lines)| *lines > FUNCTION_LINES_MAX);
    long.filter(|(name, ..)| !exceptions.allow(&format!("{path}::{name}")))
        .map(|(name, line, lines)| Finding::new(path, line, format!("`{name}` has {lines} lines")))
        .collect()
}

fn check_lines(path: &str, text: &str, exceptions: &Exceptions) -> Vec<Finding> {
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.chars().count()));
    let long: Vec<_> = lines.filter(|(_, columns)| *columns > LINE_COLUMNS_MAX).collect();
    if long.is_empty() || exceptions.allow(path) {
        return Vec::new();
    }
    long.into_iter()
        .map(|(number, columns)| Finding::new(path, number, format!("{columns} columns")))
        .collect()
}

#[test]
fn functions_are_short() {
    let exceptions = Exceptions::of("function-length");
    let files = rust_files();
    let mut findings: Vec<_> =
        files.iter().flat_map(|file| check_functions(&file.path, &file.text, &exceptions)).collect();
    findings.extend(exceptions.unused());
    hold("A function has at most 70 lines, from its signature to its closing brace.", &findings);
}

#[test]
fn lines_are_short() {
    let exceptions = Exceptions::of("line-length");
    let mut files = files();
    files.retain(|file| file.path.ends_with(".rs") || file.path.ends_with(".md"));
    let mut findings: Vec<_> =
        files.iter().flat_map(|file| check_lines(&file.path, &file.text, &exceptions)).collect();
    findings.extend(exceptions.unused());
    hold("A line of code or of a page has at most 120 columns.", &findings);
}

fn check_crate(folder: &str, lines: usize, exceptions: &Exceptions) -> Option<Finding> {
    let large = lines > CRATE_LINES_MAX && !exceptions.allow(folder);
    large.then(|| Finding::new(folder, 1, format!("{lines} lines in src/; divide it along its seams")))
}

#[test]
fn crates_are_no_larger_than_one_can_know() {
    let exceptions = Exceptions::of("crate-size");
    let size = |graph: &crate::graph::Graph| graph.modules.files.iter().map(|file| file.lines).sum();
    let crates = graphs().iter().map(|graph| (&graph.package.folder, size(graph)));
    let mut findings: Vec<_> =
        crates.filter_map(|(folder, lines)| check_crate(folder, lines, &exceptions)).collect();
    findings.extend(exceptions.unused());
    hold("A crate has at most 22 000 lines.", &findings);
}

#[test]
fn a_large_crate_is_refused() {
    let none = exceptions("", "crate-size");
    assert_eq!(check_crate("crates/a", CRATE_LINES_MAX, &none), None);
    assert!(check_crate("crates/a", CRATE_LINES_MAX + 1, &none).is_some());
    let listed = exceptions("crate-size crates/a - for now\n", "crate-size");
    assert_eq!(check_crate("crates/a", CRATE_LINES_MAX + 1, &listed), None);
}

#[cfg(test)]
fn exceptions(text: &str, rule: &str) -> Exceptions {
    Exceptions::parse(text, rule).unwrap_or_else(|finding| panic!("{finding}"))
}

#[test]
fn a_long_function_is_refused_wherever_it_stands() {
    let none = exceptions("", "function-length");
    let body = "    work();\n".repeat(FUNCTION_LINES_MAX - 2);
    let fits = format!("fn f() {{\n{body}}}\n");
    assert_eq!(check_functions("a.rs", &fits, &none), []);
    let long = format!("fn f() {{\n    work();\n{body}}}\n");
    for text in [
        long.clone(),
        format!("mod m {{ {long} }}"),
        format!("impl S {{ {long} }}"),
        format!("trait T {{ {long} }}"),
    ] {
        assert_eq!(check_functions("a.rs", &text, &none).len(), 1, "{text}");
    }
    let listed = exceptions("function-length a.rs::f - instruction dispatch\n", "function-length");
    assert_eq!(check_functions("a.rs", &long, &listed), []);
}

#[test]
fn a_long_line_is_refused() {
    let none = exceptions("", "line-length");
    assert_eq!(check_lines("a.rs", &"é".repeat(LINE_COLUMNS_MAX), &none), []);
    assert_eq!(check_lines("a.rs", &"x".repeat(LINE_COLUMNS_MAX + 1), &none).len(), 1);
    let listed = exceptions("line-length a.rs - a table\n", "line-length");
    assert_eq!(check_lines("a.rs", &"x".repeat(LINE_COLUMNS_MAX + 1), &listed), []);
}

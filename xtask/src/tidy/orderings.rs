//! Owns: the rule that every ordering stronger than relaxed names its partner.
//! May use: `tree`, `proc-macro2`, `syn`.
//! Never: checking that the partner is the right one; the models do.
//!
//! A comment with the words `pairs with` must stand on the line of the ordering, on that of the call that it is an
//! argument of, between the two, or within the three lines above the call. Modules of unit tests are left out.

use proc_macro2::LineColumn;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::exceptions::Exceptions;
use super::{Finding, hold, tokens};
use crate::tree::{is_module, rust_files};

const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];
const LINES_ABOVE: usize = 3;

/// The line ranges of `#[cfg(test)]` modules.
struct TestModules {
    ranges: Vec<(usize, usize)>,
}

impl<'ast> Visit<'ast> for TestModules {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let (LineColumn { line: first, .. }, LineColumn { line: last, .. }) =
            (item.span().start(), item.span().end());
        if item.attrs.iter().any(is_cfg_test) {
            self.ranges.push((first, last));
        }
        visit::visit_item_mod(self, item);
    }
}

fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().starts_with("test"))
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut tests = TestModules { ranges: Vec::new() };
    tests.visit_file(&file);
    let lines: Vec<_> = text.lines().collect();
    let mut findings = Vec::new();
    for word in tokens::words(tokens::stream(path, text)) {
        let tested = tests.ranges.iter().any(|(first, last)| (*first..=*last).contains(&word.line));
        if tested || !STRONG.contains(&word.text.as_str()) {
            continue;
        }
        let above = word.anchor.saturating_sub(1 + LINES_ABOVE);
        if !lines[above..word.line].iter().any(|line| names_partner(line)) {
            findings.push(Finding::new(
                path,
                word.line,
                format!("`{}` does not say what it pairs with", word.text),
            ));
        }
    }
    findings
}

fn names_partner(line: &str) -> bool {
    line.split_once("//").is_some_and(|(_, comment)| comment.to_lowercase().contains("pairs with"))
}

#[test]
fn every_strong_ordering_names_its_partner() {
    let exceptions = Exceptions::of("ordering");
    let files =
        rust_files().into_iter().filter(|file| file.path.starts_with("crates/") && is_module(&file.path));
    let mut findings = Vec::new();
    for file in files {
        let found = check(&file.path, &file.text);
        if !found.is_empty() && !exceptions.allow(&file.path) {
            findings.extend(found);
        }
    }
    findings.extend(exceptions.unused());
    hold("An ordering other than Relaxed carries a comment `pairs with ...`.", &findings);
}

#[test]
fn an_ordering_without_partner_is_refused() {
    let bare = "use core::sync::atomic::Ordering::{self, Acquire};\nfn f() { X.load(Acquire); }";
    assert_eq!(check("a.rs", bare).len(), 1);
    assert_eq!(check("a.rs", "fn f() {\n fence(Ordering::SeqCst);\n}").len(), 1);
    assert_eq!(check("a.rs", "macro_rules! m { () => { X.store(1, Release) } }").len(), 1);
    let far = "// Pairs with g.\n\n\n\nfn f() { X.load(Acquire) }";
    assert_eq!(check("a.rs", far).len(), 1);
    assert_eq!(check("a.rs", "fn f() { \"pairs with\"; X.load(Acquire) }").len(), 1);
}

#[test]
fn a_partner_may_stand_above_beside_or_inside_the_call() {
    assert_eq!(check("a.rs", "fn f() {\n// Pairs with g.\nX.load(Acquire) }"), []);
    assert_eq!(check("a.rs", "fn f() { X.load(Acquire) // pairs with g\n}"), []);
    let spread = "fn f() {\n// Pairs with g.\nX\n.compare_exchange(\na,\nb,\nAcqRel,\nAcquire,\n) }";
    assert_eq!(check("a.rs", spread), []);
    let within = "fn f() {\nX.compare_exchange(\na,\nb,\nAcqRel, // pairs with g\nRelaxed,\n) }";
    assert_eq!(check("a.rs", within), []);
    assert_eq!(check("a.rs", "#[cfg(test)]\nmod tests { fn f() { X.load(SeqCst) } }"), []);
}

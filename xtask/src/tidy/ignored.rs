//! Owns: the rule that no test is ignored.
//! May use: `tree`, `proc-macro2`.
//! Never: an exception: what cannot run is deleted or moved into a group that says what it needs.

use proc_macro2::{TokenStream, TokenTree};

use super::{Finding, hold, tokens};
use crate::tree::rust_files;

fn check(path: &str, text: &str) -> Vec<Finding> {
    let attributes = tokens::attributes(tokens::stream(path, text)).into_iter();
    let ignored = attributes.filter(|(_, tokens)| !is_doc(tokens) && names_ignore(tokens.clone()));
    let mut findings: Vec<_> = ignored.map(|(line, _)| Finding::new(path, line, "an ignored test")).collect();
    let fences = (1..).zip(text.lines()).filter(|(_, line)| fence_ignores(line));
    findings.extend(fences.map(|(line, _)| Finding::new(path, line, "an ignored example")));
    findings
}

fn is_doc(attribute: &TokenStream) -> bool {
    attribute.clone().into_iter().next().is_some_and(|token| token.to_string() == "doc")
}

fn names_ignore(attribute: TokenStream) -> bool {
    attribute.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "ignore",
        TokenTree::Group(group) => names_ignore(group.stream()),
        _ => false,
    })
}

/// A code block in a documentation comment that asks not to be tried.
fn fence_ignores(line: &str) -> bool {
    let line = line.trim_start();
    let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    let fence = comment.and_then(|comment| comment.trim_start().strip_prefix("```"));
    fence.is_some_and(|tags| tags.split(',').any(|tag| tag.trim().starts_with("ignore")))
}

#[test]
fn no_test_is_ignored() {
    let findings: Vec<_> = rust_files().iter().flat_map(|file| check(&file.path, &file.text)).collect();
    hold("No test and no example is ignored.", &findings);
}

#[test]
fn ignoring_is_refused_in_every_form() {
    assert_eq!(check("a.rs", "#[test]\n#[ignore]\nfn f() {}").len(), 1);
    assert_eq!(check("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}").len(), 1);
    assert_eq!(check("a.rs", "mod m { #[cfg_attr(miri, ignore)] fn f() {} }").len(), 1);
    assert_eq!(check("a.rs", "/// ```ignore\n/// f()\n/// ```\nfn f() {}").len(), 1);
    assert_eq!(check("a.rs", "/// ```rust,ignore\n/// f()\n/// ```\nfn f() {}").len(), 1);
    assert_eq!(check("a.rs", "/// We ignore it.\n#[doc = \"ignore\"]\nfn ignore() {}"), []);
}

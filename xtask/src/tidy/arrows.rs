//! Owns: the rules that no arrow runs upward within a crate, and that no circle of files is large.
//! May use: `graph`, `structure`.
//! Never: an order of modules that somebody wrote down; any order without a circle will do.
//!
//! **Between top-level modules** (the folders and files directly below the root) there is no circle at all. Then they
//! can be put in an order in which every arrow points down. The root itself is the door of the crate and has no place
//! in the order: it may name everything, and nothing below may name what the root defines, for that would be a way
//! upward. What the root re-exports is no such thing: the name leads to the module that defines it.
//!
//! **Between files**, wherever they lie, at most ten may all reach each other. That a door names what lies behind it
//! does not count (`graph` says why); so a `mod.rs` with re-exports and a folder of files that use its types make no
//! circle, and files that know each other do, with the door if it is one of those that they go through.

use super::exceptions::Exceptions;
use super::{Finding, graphs, hold};
use crate::graph::{Arrow, Graph};
use crate::structure::{Rooms, file_circles};

const CIRCLE_FILES_MAX: usize = 10;

/// One finding for each arrow between top-level modules of one circle, and for each arrow to the root.
fn upward(graph: &Graph) -> Vec<Finding> {
    let rooms = Rooms::of(graph);
    let mut findings = Vec::new();
    for circle in rooms.circles() {
        let all: Vec<_> = circle.iter().map(|room| rooms.names[*room].as_str()).collect();
        for (from, to, arrow) in
            rooms.arrows.iter().filter(|(from, to, _)| circle.contains(from) && circle.contains(to))
        {
            let (from, to) = (&rooms.names[*from], &rooms.names[*to]);
            let what = format!(
                "`{from}` names `{to}`, in the circle {}: turn one of its arrows round",
                all.join(", ")
            );
            findings.push(finding(graph, *arrow, what));
        }
    }
    let to_root = |arrow: &Arrow| graph.path(arrow.to).is_empty() && !graph.path(arrow.from).is_empty();
    findings.extend(graph.counted().filter(to_root).map(|arrow| {
        let what =
            "names what the root of the crate defines: define it in a module below, where both may use it";
        finding(graph, arrow, what.to_owned())
    }));
    findings
}

/// One finding for each circle that is too large, at its first file.
fn large_circles(graph: &Graph) -> Vec<Finding> {
    let circles = file_circles(graph).into_iter().filter(|circle| circle.len() > CIRCLE_FILES_MAX);
    circles.map(|circle| large_circle(graph, &circle)).collect()
}

fn large_circle(graph: &Graph, circle: &[usize]) -> Finding {
    let names: Vec<_> = circle.iter().map(|file| graph.path(*file).join("::")).collect();
    let path = &graph.modules.files[circle[0]].path;
    Finding::new(
        path,
        1,
        format!("is one of {} files that all reach each other: {}", circle.len(), names.join(", ")),
    )
}

fn finding(graph: &Graph, arrow: Arrow, what: String) -> Finding {
    Finding::new(&graph.modules.files[arrow.from].path, arrow.line, what)
}

fn hold_everywhere(rule: &str, check: fn(&Graph) -> Vec<Finding>, text: &str) {
    let exceptions = Exceptions::of(rule);
    let found = graphs().iter().flat_map(check).collect();
    let mut found = exceptions.sift(found);
    found.extend(exceptions.unused());
    hold(text, &found);
}

#[test]
fn arrows_between_the_folders_of_a_crate_point_down() {
    hold_everywhere(
        "upward",
        upward,
        "No two top-level modules of a crate name each other, directly or through others.",
    );
}

#[test]
fn circles_are_small() {
    hold_everywhere("circle", large_circles, "At most ten files all reach each other.");
}

#[cfg(test)]
use crate::graph::graph_of;

#[test]
fn top_level_modules_in_a_circle_are_refused_with_the_arrow() {
    let low = [
        ("lib.rs", "mod a; mod b; mod c;\npub use a::A;"),
        ("b/mod.rs", "mod x; pub use x::X;"),
        ("c.rs", ""),
    ];
    let with = |a: &str, x: &str| graph_of(&[&low[..], &[("a.rs", a), ("b/x.rs", x)]].concat());
    assert_eq!(upward(&with("use crate::b::X;", "use crate::c; use super::Y;")), []);
    let direct = upward(&with("\nuse crate::b::X;", "\n\nfn f() { crate::A }"));
    let seen: Vec<_> = direct.iter().map(|finding| (finding.path.as_str(), finding.line)).collect();
    assert_eq!(seen, [("crates/a/src/a.rs", 2), ("crates/a/src/b/x.rs", 3)]);
    assert!(direct[0].what.starts_with("`a` names `b`, in the circle a, b"), "{}", direct[0]);
}

#[test]
fn a_circle_through_others_and_one_through_the_root_are_refused() {
    let graph = graph_of(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::c;"),
        ("c.rs", "use crate::a;"),
    ]);
    assert_eq!(upward(&graph).len(), 3);
    let graph = graph_of(&[("lib.rs", "mod a; use a::A; pub fn f() {}"), ("a.rs", "fn g() { crate::f() }")]);
    assert_eq!(upward(&graph).len(), 1);
}

#[test]
fn a_circle_of_more_than_ten_files_is_refused_and_a_door_makes_none() {
    let circle = |count: usize| {
        let names: Vec<_> = (0..count).map(|at| format!("f{at}.rs")).collect();
        let texts: Vec<_> = (0..count).map(|at| format!("use super::f{};", (at + 1) % count)).collect();
        let root: String = (0..count).map(|at| format!("mod f{at};")).collect();
        let mut files: Vec<_> =
            names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
        files.push(("lib.rs", &root));
        large_circles(&graph_of(&files)).len()
    };
    assert_eq!(circle(CIRCLE_FILES_MAX), 0);
    assert_eq!(circle(CIRCLE_FILES_MAX + 1), 1);
    let names: Vec<_> = (0..20).map(|at| format!("d/f{at}.rs")).collect();
    let door: String = (0..20).map(|at| format!("mod f{at}; pub use f{at}::*;")).collect();
    let mut files: Vec<_> =
        names.iter().map(|name| (name.as_str(), "use super::Own; fn f() { super::g() }")).collect();
    files.extend([("lib.rs", "mod d;"), ("d/mod.rs", &door)]);
    assert_eq!(large_circles(&graph_of(&files)), []);
}

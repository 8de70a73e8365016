//! Owns: the rule that every module opens with a door plate.
//! May use: `plate`, `tree`.
//! Never: judging what stands on the plate; `may_use` does for the second line.
//!
//! A plate is for who works here. Where users read a module's documentation, it is an ordinary comment (`// Owns: `),
//! so that the documentation opens with what they can do.

use super::{Finding, hold};
use crate::plate::{OPENING, SLASHES};
use crate::tree::{File, is_module, rust_files};
use std::collections::{BTreeMap, BTreeSet};

const PLATE: [&str; 3] = ["Owns: ", OPENING, "Never: "];

/// The crates that programs name. What the first one exports of others under its own name is its own, too.
const NAMED_BY_PROGRAMS: [&str; 7] =
    ["raddle", "raddle-alloc", "raddle-mpi", "raddle-net", "raddle-sync", "raddle-stm", "raddle-tracing"];

/// The first lines must be the plate, of which only the second may break; a story is set off by an empty line.
fn check(path: &str, text: &str, for_users: bool) -> Vec<Finding> {
    let slashes = SLASHES[usize::from(for_users)];
    let mut lines = (1..).zip(text.lines()).peekable();
    let mut findings = Vec::new();
    for opening in PLATE {
        let (number, line) = lines.next().unwrap_or((1, ""));
        let rest = line.strip_prefix(slashes).and_then(|line| line.strip_prefix(opening));
        if rest.is_none_or(|rest| rest.trim().is_empty()) {
            findings.push(Finding::new(
                path,
                number,
                format!("expected `{slashes}{opening}...`, found `{line}`"),
            ));
        } else if opening == OPENING {
            let goes_on =
                |line: &str| line.strip_prefix(slashes).is_some_and(|rest| !rest.starts_with(PLATE[2]));
            while lines.next_if(|(_, line)| goes_on(line)).is_some() {}
        }
    }
    let gap = if for_users { "" } else { "//!" };
    if let Some((number, line)) = lines.next()
        && line.starts_with("//")
        && line.trim_end() != gap
    {
        let what = format!("expected an empty `{gap}` line between the plate and the story");
        findings.push(Finding::new(path, number, what));
    }
    findings
}

/// The files whose module documentation users read.
fn read_by_users(files: &[File]) -> BTreeSet<String> {
    let texts: BTreeMap<_, _> = files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let root = |package: &str| format!("crates/{package}/src/lib.rs");
    let mut open: Vec<_> = NAMED_BY_PROGRAMS.iter().map(|package| root(package)).collect();
    open.extend(texts.get(root(NAMED_BY_PROGRAMS[0]).as_str()).into_iter().flat_map(|text| exported(text)));
    let mut found = BTreeSet::new();
    while let Some(path) = open.pop() {
        let Some(text) = texts.get(path.as_str()) else { continue };
        if found.insert(path.clone()) {
            open.extend(modules(&path, text));
        }
    }
    found
}

/// Where the public modules of a file may lie, but for hidden ones.
fn modules(path: &str, text: &str) -> Vec<String> {
    let folder = ["/lib.rs", "/mod.rs", ".rs"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    let mut found = Vec::new();
    let mut above = "";
    for line in text.lines() {
        let name = line.strip_prefix("pub mod ").and_then(|line| line.strip_suffix(';'));
        if let Some(name) = name.filter(|_| above != "#[doc(hidden)]") {
            found.extend([format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]);
        }
        above = line;
    }
    found
}

/// Where the modules and crates of this repository may lie that a crate's root exports.
fn exported(root: &str) -> Vec<String> {
    let root = format!("\n{root}");
    let statements = root.split("\npub use raddle_").skip(1).filter_map(|rest| rest.split_once(';'));
    statements.flat_map(|(statement, _)| places(statement)).collect()
}

/// Of `sync::{a, b}`, without its prefix `raddle_`: the files of `a` and `b`; of `stm as s`: the crate's root.
fn places(statement: &str) -> Vec<String> {
    let words = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let Some((above, names)) = statement.rsplit_once("::") else {
        return vec![format!("crates/raddle-{}/src/lib.rs", words(statement))];
    };
    let (package, folders) = above.split_once("::").unwrap_or((above, ""));
    let folder = format!("crates/raddle-{package}/src/{}", folders.replace("::", "/"));
    let names = names.trim_matches(|c| matches!(c, '{' | '}')).split(',').map(|name| words(name.trim()));
    let names = names.filter(|name| !name.is_empty());
    let folder = folder.trim_end_matches('/');
    names.flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]).collect()
}

#[test]
fn every_module_has_its_door_plate() {
    let modules: Vec<_> = rust_files().into_iter().filter(|file| is_module(&file.path)).collect();
    let for_users = read_by_users(&modules);
    let findings =
        modules.iter().flat_map(|file| check(&file.path, &file.text, for_users.contains(&file.path)));
    hold(
        "A module opens with `//! Owns: `, `//! May use: `, `//! Never: `, or with `// Owns: ` and so on where users \
         read its documentation; only the second may break.",
        &findings.collect::<Vec<_>>(),
    );
}

#[test]
fn a_missing_empty_or_swollen_plate_is_refused() {
    let check = |text: &str| check("a.rs", text, false);
    assert_eq!(check("//! Owns: a.\n//! May use: b.\n//! Never: c.\n//!\n//! Story.\n"), []);
    assert_eq!(check("//! Owns: a.\n//! May use: b.\n//! Never: c.\nfn f() {}\n"), []);
    assert_eq!(check("//! Owns: a.\n//! May use: `b`,\n//! `c`.\n//! Never: c.\n//!\n//! Story.\n"), []);
    assert_eq!(check("//! Owns: a,\n//! b.\n//! May use: c.\n//! Never: d.\n").len(), 3);
    assert_eq!(check("fn f() {}\n").len(), 3);
    assert_eq!(check("//! Owns: a.\n//! May use: \n//! Never: c.\n").len(), 1);
    assert_eq!(check("//! Owns: a.\n//! May use: b.\n//! Never: c,\n//! d.\n").len(), 1);
    assert_eq!(check("// Owns: a.\n// May use: b.\n// Never: c.\n").len(), 3);
}

#[test]
fn where_users_read_a_plate_is_no_documentation() {
    let check = |text: &str| check("a.rs", text, true);
    assert_eq!(check("// Owns: a.\n// May use: `b`,\n// `c`.\n// Never: c.\n\n//! What you can do.\n"), []);
    assert_eq!(check("//! Owns: a.\n//! May use: b.\n//! Never: c.\n").len(), 3);
    assert_eq!(check("// Owns: a.\n// May use: b.\n// Never: c.\n//! Story.\n").len(), 1);
    assert_eq!(check("// Owns: a.\n// May use: b.\n// Never: c,\n// d.\n").len(), 1);
}

#[test]
fn what_users_read_is_found_from_what_is_exported() {
    let file = |path: &str, text: &str| File { path: format!("crates/{path}"), text: text.to_owned() };
    let root = "pub mod task;\nmod own;\npub use raddle_hang as hang;\npub use raddle_sync::{channel,\n    csp};\n\
                pub use raddle_core::run::cancel;\n#[doc(hidden)]\npub mod secret;\n";
    let files = [
        file("raddle/src/lib.rs", root),
        file("raddle/src/task.rs", ""),
        file("raddle/src/own.rs", ""),
        file("raddle/src/secret.rs", ""),
        file("raddle-hang/src/lib.rs", "mod text;"),
        file("raddle-hang/src/text.rs", ""),
        file("raddle-sync/src/lib.rs", "pub mod csp;\npub mod channel;\n"),
        file("raddle-sync/src/channel.rs", ""),
        file("raddle-sync/src/csp/mod.rs", "pub mod deep;\n"),
        file("raddle-sync/src/csp/deep.rs", ""),
        file("raddle-core/src/lib.rs", ""),
        file("raddle-core/src/run/cancel/mod.rs", ""),
    ];
    let found: Vec<_> = read_by_users(&files).into_iter().collect();
    let expected = [
        "raddle-core/src/run/cancel/mod.rs",
        "raddle-hang/src/lib.rs",
        "raddle-sync/src/channel.rs",
        "raddle-sync/src/csp/deep.rs",
        "raddle-sync/src/csp/mod.rs",
        "raddle-sync/src/lib.rs",
        "raddle/src/lib.rs",
        "raddle/src/task.rs",
    ];
    assert_eq!(found, expected.map(|path| format!("crates/{path}")));
}

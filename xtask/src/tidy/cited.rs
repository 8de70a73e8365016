//! Owns: the rule that a file that a comment or a page cites is there.
//! May use: `tree`.
//! Never: the network; a file of another project is written `project:path` and not looked for.
//!
//! What counts as a citation: a word of a comment or of a page, in backticks or not, that has a slash and either
//! ends like a file of ours or begins with one of our folders; and without a slash, a page or a Rust file other
//! than `lib.rs` and its kind, of which every crate has one. It may be written from the root of the repository,
//! from that of the crate, from its `src`, from the folder of the file that cites it, or from `docs`. Blocks of
//! code in comments, patterns (`crates/*`, `<name>.rs`), and places in a program's output (`src/main.rs:3:5`) are
//! no citations.

use std::collections::BTreeSet;

use super::exceptions::Exceptions;
use super::{Finding, hold};
use crate::tree::files;

const ENDINGS: [&str; 10] = [".rs", ".md", ".toml", ".txt", ".sh", ".occ", ".c", ".h", ".cpp", ".svg"];
const FOLDERS: [&str; 9] =
    ["docs/", "crates/", "xtask/", "bench/", "apps/", "tests/", "src/", "examples/", "corpus/"];
const OF_EVERY_CRATE: [&str; 4] = ["lib.rs", "main.rs", "mod.rs", "build.rs"];

/// The comment on a line of Rust, if there is one; of a page, the line.
fn comment<'a>(path: &str, line: &'a str) -> Option<&'a str> {
    if path.ends_with(".md") {
        return Some(line);
    }
    let (code, comment) = line.split_once("//")?;
    let whole = code.trim().is_empty();
    let beside = code.ends_with(' ') && code.matches('"').count() % 2 == 0;
    (whole || beside).then(|| comment.trim_start_matches(['/', '!']))
}

/// The words of a comment that look like files of the repository.
fn citations(comment: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-./:*<>{}[]$".contains(c);
    let words = comment.split(|c: char| !part(c)).map(|word| word.trim_end_matches(['.', ':', '/']));
    words.filter(|word| is_citation(word)).collect()
}

fn is_citation(word: &str) -> bool {
    if word.starts_with('/') || word.contains(|c| "*<>{}[]$:".contains(c)) {
        return false;
    }
    let page = word.ends_with(".md") || word.ends_with(".rs");
    let stem = word.rsplit_once('.').map_or(word, |(stem, _)| stem);
    if word.contains('/') {
        !stem.ends_with('/') && ENDINGS.iter().any(|ending| word.ends_with(ending))
            || FOLDERS.iter().any(|folder| word.starts_with(folder))
    } else {
        page && !stem.is_empty() && !OF_EVERY_CRATE.contains(&word)
    }
}

/// The folders that a citation in the file at `path` may start from.
fn starts(path: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let parts: Vec<_> = path.split('/').collect();
    let depth = if ["crates", "apps", "bench"].contains(&parts[0]) { 2 } else { 1 };
    let member = parts[..depth.min(parts.len() - 1)].join("/");
    vec![String::new(), member.clone(), format!("{member}/src"), folder.to_owned(), "docs".to_owned()]
}

fn join(folder: &str, target: &str) -> String {
    let mut parts: Vec<_> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn check(path: &str, text: &str, known: &BTreeSet<String>) -> Vec<Finding> {
    let starts = starts(path);
    let mut findings = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(comment) = comment(path, line) else {
            in_code = false;
            continue;
        };
        in_code ^= comment.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for word in citations(comment) {
            if !starts.iter().any(|start| known.contains(&join(start, word))) {
                findings.push(Finding::new(path, number, format!("`{word}` leads to no file")));
            }
        }
    }
    findings
}

/// `paths` and the folders that they lie in.
fn with_folders<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for path in paths {
        known.insert(path.to_owned());
        known.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
    }
    known
}

#[test]
fn cited_files_are_there() {
    let exceptions = Exceptions::of("cited-path");
    let files = files();
    let known = with_folders(files.iter().map(|file| file.path.as_str()));
    let citing = files.iter().filter(|file| file.path.ends_with(".rs") || file.path.ends_with(".md"));
    let found = citing.flat_map(|file| check(&file.path, &file.text, &known)).collect();
    let mut found = exceptions.sift(found);
    found.extend(exceptions.unused());
    hold(
        "A file that a comment or a page cites is there; one of another project is written `project:path`.",
        &found,
    );
}

#[test]
fn a_citation_that_leads_nowhere_is_refused() {
    let known = with_folders(
        ["docs/A.md", "crates/a/src/b/mod.rs", "crates/a/src/b/c.md", "xtask/d.toml"].into_iter(),
    );
    let told = |text: &str| check("crates/a/src/b/mod.rs", text, &known).len();
    for good in [
        "docs/A.md",
        "`A.md`.",
        "`b/mod.rs`",
        "src/b",
        "c.md",
        "../b/c.md",
        "crates/a/src/b/",
        "xtask/d.toml",
    ] {
        assert_eq!(told(&format!("//! See {good}, there.")), 0, "{good}");
    }
    for bad in ["docs/B.md", "`tests/loom.rs`", "B.md", "src/c", "(b/x.rs)", "bench/lab", "elf/dl-tls.c"] {
        assert_eq!(told(&format!("/// See {bad}.")), 1, "{bad}");
        assert_eq!(told(&format!("f(\"x\"); // {bad}")), 1, "{bad}");
    }
    let others = [
        "glibc:elf/dl-tls.c",
        "/proc/maps.txt",
        "`crates/*`",
        "<a>/b.rs",
        "lib.rs",
        "src/main.rs:3:5",
        "and/or",
        "https://x.y/z.md",
    ];
    for other in others {
        assert_eq!(told(&format!("/// See {other}.")), 0, "{other}");
    }
    assert_eq!(check("docs/A.md", "| see | `docs/B.md` |\n```\ndocs/C.md\n```\n", &known).len(), 1);
    assert_eq!(told("/// ```\n/// x/y.rs\n/// ```\nlet x = \"y // docs/B.md\";"), 0);
}

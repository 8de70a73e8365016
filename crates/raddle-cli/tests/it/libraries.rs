//! Owns: the libraries that come with occam: each interface, by the programs of `corpus/library` and `corpus/run`.
//! May use: the command.
//! Never: an interface that is in no program.

use super::{raddle, text};
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn corpus(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(kind)
}

fn programs(kind: &str) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(corpus(kind)).unwrap().map(|entry| entry.unwrap().path());
    let mut list: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "occ")).collect();
    list.sort();
    list
}

#[test]
fn the_libraries_do_what_their_interfaces_say() {
    for path in programs("library") {
        let expected = path.with_extension("expected");
        for how in [&["--workers", "1"][..], &["--workers", "2"], &["--seed", "5"]] {
            let output = raddle().arg("run").args(how).arg(&path).output().expect("it starts");
            let said = text(&output.stderr);
            if output.status.code() == Some(126) && (said.contains("libblas") || said.contains("liblapack")) {
                let _told = writeln!(std::io::stderr(), "BLAS is not here: skipped");
                break;
            }
            let got = text(&output.stdout);
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                std::fs::write(&expected, &got).unwrap();
            }
            let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
            assert_eq!((got, output.status.code()), (wanted, Some(0)), "{} {how:?}: {said}", path.display());
        }
    }
}

/// Whether a name stands in a text by itself.
fn mentions(program: &str, name: &str) -> bool {
    let part = |ch: char| ch.is_ascii_alphanumeric() || ch == '.';
    program.match_indices(name).any(|(at, _)| {
        let before = program[..at].chars().next_back().is_some_and(part);
        !before && !program[at + name.len()..].chars().next().is_some_and(part)
    })
}

/// What a library declares at its left margin: PROCs, FUNCTIONs, constants.
fn declared(library: &str) -> Vec<&str> {
    let name = |line: &str| -> Option<usize> {
        let at = ["PROC ", "FUNCTION "].iter().find_map(|word| line.find(word).map(|at| at + word.len()));
        let constant = || line.starts_with("VAL ").then(|| line.find(' ')).flatten();
        at.or_else(|| constant().and_then(|at| line[at + 1..].find(' ').map(|next| at + next + 2)))
    };
    let lines = library.lines().filter(|line| !line.starts_with([' ', '-', '#', ':']) && !line.is_empty());
    lines
        .filter_map(|line| {
            let rest = &line[name(line)?..];
            rest.split([' ', '(']).next()
        })
        .collect()
}

#[test]
fn each_interface_of_a_library_is_in_a_program() {
    let all: String = ["run", "library"]
        .iter()
        .flat_map(|kind| programs(kind))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = root.join("../raddle-occam-syntax/library");
    let (mut missing, mut count) = (Vec::new(), 0);
    for path in std::fs::read_dir(library).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&path).unwrap();
        // Of those that are predefined, what has small letters is no interface.
        let predefined = path.ends_with("predefined.occ");
        for name in
            declared(&text).into_iter().filter(|name| !predefined || !name.contains(char::is_lowercase))
        {
            count += 1;
            if !mentions(&all, name) {
                missing.push(format!("{name} of {}", path.file_name().unwrap().display()));
            }
        }
    }
    // And those that are instructions.
    let table = std::fs::read_to_string(root.join("../raddle-occam/src/check/predefined.rs")).unwrap();
    for name in table.split("(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let written = !name.is_empty()
            && name.chars().all(|ch| ch.is_ascii_uppercase() || ch.is_ascii_digit() || ch == '.');
        // The host's own calls are known to the host.
        if written && name != "HOST.CALL" {
            count += 1;
            if !mentions(&all, name) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(count > 300, "{count}");
    assert!(missing.is_empty(), "in no program of corpus/run and corpus/library: {missing:?}");
}

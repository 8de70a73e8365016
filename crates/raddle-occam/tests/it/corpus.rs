//! Owns: the comparison of corpus programs with their expected diagnostics.
//! May use: the public interface, files under `corpus/`.
//! Never: judges by the number of messages alone.

use raddle_occam::diag::{CODES, render};
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn corpus(kind: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(kind);
    let entries =
        std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut list: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "occ")).collect();
    list.sort();
    assert!(list.len() > 5, "the corpus is in {}", directory.display());
    list
}

/// The rendered diagnostics of a program, and how many of them are errors.
fn diagnose(path: &Path) -> (String, usize) {
    let mut sources = Sources::new();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let root = sources.add(&name, &std::fs::read_to_string(path).unwrap()).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    let text: Vec<String> = analysis.diagnostics().iter().map(|it| render(it, &sources)).collect();
    (text.join("\n"), analysis.diagnostics().iter().filter(|it| it.is_error()).count())
}

/// Compares with the file beside the program, or writes it; the difference, if there is one.
fn compare(path: &Path, got: &str) -> Option<String> {
    let expected = path.with_extension("expected");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&expected, got).unwrap();
        return None;
    }
    let want = std::fs::read_to_string(&expected).unwrap_or_default();
    (want != got).then(|| format!("{}:\n--- expected\n{want}\n--- got\n{got}", path.display()))
}

fn check(kind: &str, fits: impl Fn(usize) -> bool) {
    let mut wrong = Vec::new();
    for path in corpus(kind) {
        let (got, errors) = diagnose(&path);
        if !fits(errors) {
            wrong.push(format!("{}: {errors} errors\n{got}", path.display()));
        }
        wrong.extend(compare(&path, &got));
    }
    assert!(wrong.is_empty(), "{}\nUPDATE_EXPECT=1 writes the files anew", wrong.join("\n"));
}

#[test]
fn accepted_programs_have_no_errors() {
    check("accept", |errors| errors == 0);
}

#[test]
fn rejected_programs_have_their_diagnostics() {
    check("reject", |errors| errors > 0);
}

#[test]
fn every_code_has_a_program() {
    let texts: String =
        ["accept", "reject"].into_iter().flat_map(corpus).map(|path| diagnose(&path).0).collect();
    let missing: BTreeSet<String> = CODES
        .iter()
        .map(|entry| entry.code.to_string())
        .filter(|code| !texts.contains(&format!("[{code}]")))
        .collect();
    // Files that include each other need files, and only what is run must be a program; `stages` tests those codes.
    assert_eq!(missing, BTreeSet::from(["O0109".to_owned(), "O0505".to_owned()]));
}

#[test]
fn accepted_programs_become_bytecode_that_the_verifier_accepts() {
    for path in corpus("accept") {
        let mut sources = Sources::new();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let root = sources.add(&name, &std::fs::read_to_string(&path).unwrap()).unwrap();
        let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
        let checked = analysis.checked().unwrap_or_else(|_| panic!("{name} is accepted"));
        match raddle_occam::lower::lower(&checked, &sources) {
            Ok(module) => assert!(raddle_bytecode::verify(module).is_ok(), "{name}"),
            Err(complaints) => assert!(!complaints.is_empty(), "{name}"),
        }
    }
}

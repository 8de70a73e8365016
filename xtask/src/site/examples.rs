//! Owns: the rule that a program which a page shows is compiled and run by a test.
//! May use: `house`.
//! Never: running it: that do the tests that are named here, in the packages that the programs use.

use std::collections::BTreeSet;
use std::fs;

use super::all_pages;
use crate::house;

/// Languages of blocks that are programs; the others are commands, output, settings, and queries that a person types.
const PROGRAMS: [&str; 5] = ["rust", "occam", "c", "cpp", "python"];

/// The languages of a page's blocks, each once.
fn languages(page: &str) -> BTreeSet<&str> {
    let fences = page.lines().filter_map(|line| line.trim_start().strip_prefix("```"));
    fences.step_by(2).filter_map(|fence| fence.split([',', ' ']).next()).collect()
}

/// The file whose test has the page's programs of that language, and the words by which it names the page.
fn tester(page: &str, language: &str) -> (&'static str, String) {
    let stem = page.trim_start_matches("docs/").trim_end_matches(".md");
    match (language, page) {
        ("rust", "docs/ALLOC.md") => ("crates/raddle-alloc/src/lib.rs", format!("/../../{page}\"")),
        ("rust", "docs/MPI.md") => ("crates/raddle-mpi/src/lib.rs", format!("/../../{page}\"")),
        ("rust", _) => ("crates/raddle/src/lib.rs", format!("/../../{page}\"")),
        (_, "docs/FOREIGN.md") => ("crates/raddle-cli/tests/it/foreign.rs", format!("/../../{page}\"")),
        ("occam", _) => ("crates/raddle-cli/tests/it/pages.rs", format!("(\"{stem}\"")),
        (_, _) => ("crates/raddle-capi/tests/capi/in_c.rs", format!("\"../../{page}\"")),
    }
}

#[test]
fn every_program_of_a_page_is_run_by_a_test() {
    let mut programs = 0;
    for page in all_pages() {
        let text = fs::read_to_string(house::root().join(page)).unwrap();
        for language in languages(&text).into_iter().filter(|it| PROGRAMS.contains(it)) {
            let (file, words) = tester(page, language);
            let tests = fs::read_to_string(house::root().join(file)).unwrap();
            assert!(tests.contains(&words), "{page} shows {language}, and {file} has no `{words}`");
            programs += 1;
        }
    }
    assert!(programs > 12, "{programs} kinds of programs on pages");
}

#[test]
fn the_language_of_a_block_is_its_first_word() {
    let page = "```rust,no_run\na\n```\n\n- b\n  ```occam\n  c\n  ```\n```\nd\n```\n";
    assert_eq!(languages(page), BTreeSet::from(["", "occam", "rust"]));
}

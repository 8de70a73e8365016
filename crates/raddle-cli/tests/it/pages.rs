//! Owns: the programs on the pages about occam: each does what the page says.
//! May use: the pages, the command.
//! Never: a program that a page only claims to be one.

use super::{raddle, text};
use std::io::Write as _;

/// Runs the programs of a page; how many there are.
fn run(page: &str, options: &[&str]) -> usize {
    let path = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
    let text_of_page = std::fs::read_to_string(path).expect("the page is there");
    let mut programs = 0;
    for part in text_of_page.split("```occam\n").skip(1) {
        let (program, rest) = part.split_once("```\n").expect("the block ends");
        let shown = rest.strip_prefix("```text\n").and_then(|rest| rest.split_once("```"));
        let (shown, _) = shown.expect("what it writes stands below");
        let name = format!("raddle-page-{page}-{}-{}-{programs}.occ", options.join(""), std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, program).expect("it can be written");
        let output = raddle().arg("run").args(options).arg(&path).output().expect("it starts");
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(text(&output.stdout).trim_end(), shown.trim_end(), "{}\n{program}", text(&output.stderr));
        assert!(output.status.success(), "{}", text(&output.stderr));
        programs += 1;
    }
    programs
}

#[test]
fn the_programs_on_the_page_about_occam_do_what_it_says() {
    assert!(run("OCCAM", &[]) >= 4);
}

#[test]
fn the_program_on_the_page_about_ranks_does_what_it_says_without_them() {
    for options in [&["--workers", "1"][..], &["--workers", "2"], &["--seed", "5"]] {
        assert_eq!(run("MPI", options), 1);
    }
}

#[test]
fn the_programs_on_the_page_about_libraries_do_what_it_says() {
    for options in [&["--workers", "1"][..], &["--workers", "2"], &["--seed", "5"]] {
        assert_eq!(run("LIBRARIES", options), 4);
    }
}

/// Runs a program of matrices, if the system has the library.
fn with_library(library: &str, path: &std::path::Path, wanted: &str) {
    let output = raddle().arg("run").arg(path).output().expect("it starts");
    let said = text(&output.stderr);
    if output.status.code() == Some(126) && said.contains(library) {
        let _told = writeln!(std::io::stderr(), "{library} is not here: skipped");
        return;
    }
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), (wanted, Some(0)), "{said}");
}

#[test]
fn blocks_of_a_product_are_multiplied_by_blas() {
    let path = format!("{}/../../examples/blocks.occ", env!("CARGO_MANIFEST_DIR"));
    with_library("libblas", path.as_ref(), "9216 elements, wrong: 0\n");
}

#[test]
fn a_matrix_is_factored_by_a_network_with_blas() {
    let path = format!("{}/../../examples/lu.occ", env!("CARGO_MANIFEST_DIR"));
    with_library("libblas", path.as_ref(), "6400 elements, wrong: 0\n");
}

#[test]
fn a_glider_glides_by_the_phases_of_a_barrier() {
    let path = format!("{}/../../examples/life.occ", env!("CARGO_MANIFEST_DIR"));
    let cells = [(3, 4), (4, 5), (5, 3), (5, 4), (5, 5)];
    let row = |i: usize| -> String {
        (0..16).map(|j| if cells.contains(&(i, j)) { '#' } else { '.' }).chain(['\n']).collect()
    };
    let wanted: String = (0..16).map(row).collect();
    for options in [&["--workers", "1"][..], &["--workers", "2"], &["--seed", "3"], &["--debug=all"]] {
        let output = raddle().arg("run").args(options).arg(&path).output().expect("it starts");
        assert_eq!(text(&output.stdout), wanted, "{options:?}: {}", text(&output.stderr));
    }
}

#[test]
fn birds_and_balls_go_the_same_ways_however_many_workers_there_are() {
    let wanted = [
        ("balls", "20 steps, walls met: 4, sum #5599A23A\n"),
        ("flocking", "20 steps; with the flock fly 35 of 60; it goes by -91,20\n"),
    ];
    for (name, wanted) in wanted {
        let path = format!("{}/../../examples/{name}.occ", env!("CARGO_MANIFEST_DIR"));
        for options in [&["--workers", "1"][..], &["--workers", "2"], &["--workers", "8"], &["--seed", "3"]] {
            let output =
                raddle().arg("run").args(options).args([&path, "--", "20"]).output().expect("it starts");
            assert_eq!(text(&output.stdout), wanted, "{name} {options:?}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn equations_are_solved_by_lapack() {
    let program = "#INCLUDE \"course.module\"\n#INCLUDE \"lapack.module\"\nPROC main (CHAN BYTE screen!)\n\
                   \x20 INITIAL [4]REAL64 a IS [2.0(REAL64), 1.0(REAL64), 1.0(REAL64), 3.0(REAL64)]:\n\
                   \x20 INITIAL [2]REAL64 b IS [4.0(REAL64), 7.0(REAL64)]:\n  INITIAL [2]INT rows IS [0, 0]:\n\
                   \x20 INT info:\n  SEQ\n    lapack.solve (2, a, b, rows, info)\n\
                   \x20   out.int (info, 0, screen!)\n    out.int (INT ROUND b[0], 3, screen!)\n\
                   \x20   out.int (INT ROUND b[1], 3, screen!)\n    screen ! '*n'\n:\n";
    let path = std::env::temp_dir().join(format!("raddle-lapack-{}.occ", std::process::id()));
    std::fs::write(&path, program).expect("it can be written");
    with_library("liblapack", &path, "0  1  2\n");
    std::fs::remove_file(&path).expect("it was there");
}

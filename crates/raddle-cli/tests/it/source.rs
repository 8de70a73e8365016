//! `raddle run` with a Rust source: the file is found in its package, built and run.

use std::process::Output;

use super::{raddle, text};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixture");

/// Runs a file of the fixture from within its folder.
fn run(file: &str, rest: &[&str]) -> Output {
    let target = format!("{}/fixture", env!("CARGO_TARGET_TMPDIR"));
    let mut command = raddle();
    command.current_dir(FIXTURE).env("CARGO_TARGET_DIR", target).env_remove("RUSTFLAGS");
    command.args(["run", file]).args(rest).output().expect("it starts")
}

#[test]
fn an_example_is_built_and_run() {
    let output = run("examples/greet.rs", &["--workers", "2", "--", "a", "b c"]);
    assert_eq!(
        text(&output.stdout),
        "hello [\"a\", \"b c\"], workers Ok(\"2\")\n",
        "{}",
        text(&output.stderr)
    );
    assert_eq!(text(&output.stderr), "", "nothing of cargo's progress where nobody watches");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn a_feature_that_an_example_requires_is_switched_on() {
    let output = run("examples/needs_extra.rs", &[]);
    assert_eq!(text(&output.stdout), "extra: true\n", "{}", text(&output.stderr));
}

#[test]
fn what_does_not_compile_ends_with_125_and_the_compilers_words() {
    let output = run("examples/broken.rs", &[]);
    assert_eq!(output.status.code(), Some(125));
    let said = text(&output.stderr);
    assert!(said.contains("mismatched types"), "{said}");
    assert!(said.contains("raddle: cargo could not build it"), "{said}");
}

#[test]
fn a_file_that_is_no_target_is_refused_with_126() {
    let output = run("src/lib.rs", &[]);
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("put it into `examples/`"), "{}", text(&output.stderr));
}

#[test]
fn a_file_without_a_package_is_refused_with_126() {
    let path = std::env::temp_dir().join(format!("raddle-alone-{}.rs", std::process::id()));
    std::fs::write(&path, "fn main() {}").expect("it can be written");
    let output = raddle().arg("run").arg(&path).output().expect("it starts");
    std::fs::remove_file(&path).expect("it was there");
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("there is no Cargo.toml above it"), "{}", text(&output.stderr));
}

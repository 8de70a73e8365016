//! `raddle lab`, as far as it needs no laboratory.

use super::{raddle, text};

#[test]
fn the_list_builds_nothing() {
    let mut command = raddle();
    // There is neither a cargo nor a source tree.
    command.args(["lab", "list"]).env("CARGO", "/no/cargo").env("PATH", "/no/path").current_dir("/");
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let list = text(&output.stdout);
    let titles = list.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: Vec<_> = titles.filter_map(|line| line.split_whitespace().next()).collect();
    let all = [
        "granularity",
        "ring",
        "threads",
        "warehouse",
        "pthreads",
        "openmp",
        "stm",
        "alloc",
        "proxy",
        "simulate",
    ];
    assert_eq!(names, all);
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_built() {
    for (words, says) in [
        (&["alloc", "--nonsense"][..], "--nonsense"),
        (&["aloc"], "alloc"),
        (&["ring", "--runtime", "gone"], "go"),
        (&["stm", "--workers", "0"], "1 to 1024"),
        (&["simulate", "--workers", "9..4"], "power of two"),
        (&["threads", "--quick", "--full"], "--full"),
        (&[], "Usage: raddle lab"),
    ] {
        let mut command = raddle();
        command.arg("lab").args(words).env("CARGO", "/no/cargo").env("PATH", "/no/path");
        let output = command.output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(says), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn its_help_builds_nothing() {
    for words in [&["--help"][..], &["alloc", "--help"]] {
        let mut command = raddle();
        command.arg("lab").args(words).env("CARGO", "/no/cargo").env("PATH", "/no/path");
        let output = command.output().expect("it starts");
        assert!(output.status.success() && text(&output.stdout).contains("Usage: raddle lab"), "{words:?}");
    }
}

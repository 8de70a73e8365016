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

//! `raddle info`.

use std::process::Stdio;

use super::{raddle, text};

#[test]
fn it_names_the_facts_and_the_settings_in_force() {
    let output = raddle().arg("info").env("RADDLE_WORKERS", "3").output().expect("it starts");
    let said = text(&output.stdout);
    assert!(output.status.success());
    for fact in ["usable cores", "affinity", "cgroup quota", "guard pages", "max_map_count", "FSGSBASE"] {
        assert!(said.contains(fact), "{fact} is missing:\n{said}");
    }
    assert!(said.contains("RADDLE_WORKERS         3\n"), "{said}");
    assert!(said.contains("RADDLE_BALANCE         default\n"), "{said}");
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let mut child =
        raddle().arg("info").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(text(&output.stderr), "");
}

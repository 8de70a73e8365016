//! `raddle fmt`: what it writes and leaves alone, and what it ends with.

use super::{raddle, text};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

const UGLY: &str = "PROC p(CHAN BYTE c !)\n  c!'a'   -- first\n:\n";
const NICE: &str = "PROC p (CHAN BYTE c!)\n  c ! 'a'  -- first\n:\n";
const WRONG: &str = "PROC p(\n";

fn file(name: &str, content: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("raddle-fmt-{name}-{}.occ", std::process::id()));
    std::fs::write(&path, content).expect("there is room");
    path
}

#[test]
fn files_are_laid_out_in_place_and_keep_their_rights() {
    let (one, two) = (file("one", UGLY), file("two", WRONG));
    std::fs::set_permissions(&one, std::fs::Permissions::from_mode(0o640)).expect("it is ours");
    let output = raddle().arg("fmt").args([&two, &one]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "one of them is wrong");
    assert!(text(&output.stderr).contains("error[O0201]") || text(&output.stderr).contains("error["));
    assert_eq!(std::fs::read_to_string(&one).expect("it is there"), NICE);
    assert_eq!(std::fs::read_to_string(&two).expect("it is there"), WRONG);
    assert_eq!(std::fs::metadata(&one).expect("it is there").permissions().mode() & 0o777, 0o640);
    let output = raddle().arg("fmt").arg("--check").arg(&one).output().expect("it starts");
    assert!(output.status.success() && output.stdout.is_empty());
    for path in [one, two] {
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn a_check_shows_the_difference_and_writes_nothing() {
    let path = file("check", UGLY);
    let output = raddle().arg("fmt").arg("--check").arg(&path).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let shown = "@@ -1,3 +1,3 @@\n-PROC p(CHAN BYTE c !)\n+PROC p (CHAN BYTE c!)\n";
    assert!(text(&output.stdout).contains(shown), "{}", text(&output.stdout));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), UGLY);
    std::fs::remove_file(path).expect("it is there");
    let output = raddle().args(["fmt", "nowhere.occ"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(127));
}

#[test]
fn standard_input_comes_out_laid_out() {
    for (given, code, wanted) in [(UGLY, 0, NICE), (WRONG, 1, "")] {
        let mut command = raddle();
        command.args(["fmt", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(given.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(code), wanted));
    }
}

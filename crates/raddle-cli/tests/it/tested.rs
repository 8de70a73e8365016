//! `raddle test`: what it runs, what it says of it, and what it ends with.

use super::{raddle, text};
use std::path::PathBuf;
use std::process::Output;

/// A program of its own for each test, which is gone when this is dropped.
struct Program(PathBuf);

impl Program {
    fn of(name: &str, program: &str) -> Program {
        let path = std::env::temp_dir().join(format!("raddle-tested-{name}-{}.occ", std::process::id()));
        std::fs::write(&path, program).expect("there is room");
        Program(path)
    }

    fn test(&self, options: &[&str]) -> Output {
        raddle().arg("test").args(options).arg(&self.0).output().expect("it starts")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Which of two comes first depends on the schedule.
const HASTY: &str = r#"
#PRAGMA TEST OUTPUT "ab*n"
PROC hasty (CHAN BYTE screen!)
  CHAN BYTE c, d:
  PAR
    c ! 'a'
    d ! 'b'
    SEQ
      SEQ i = 0 FOR 2
        BYTE x:
        ALT
          c ? x
            screen ! x
          d ? x
            screen ! x
      screen ! '*n'
:
#PRAGMA TEST OUTPUT "ok"
PROC steady (CHAN BYTE screen!)
  SEQ
    screen ! 'o'
    screen ! 'k'
:
"#;

/// The options of the line that says how to run a failed test again.
fn replay(said: &str) -> Vec<String> {
    let line = said.lines().find_map(|line| line.strip_prefix("again: raddle test ")).expect("it says how");
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_schedule_under_which_a_test_fails_is_shown_and_replays() {
    let program = Program::of("replays", HASTY);
    let output = program.test(&["--seeds", "40"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
    assert!(said.contains("test steady ... ok\n"), "{said}");
    assert!(said.contains("test hasty ... FAILED (--"), "{said}");
    assert!(said.contains("expected on the screen:\n  | ab\nfound:\n  | ba\n"), "{said}");
    assert!(said.contains("test result: FAILED. 1 passed; 1 failed; 0 filtered out; "), "{said}");
    let again = replay(&said);
    assert!(again.contains(&"--seed".to_owned()), "of 40 seeds one lets the second be first: {said}");
    for _ in 0..3 {
        let output = raddle().arg("test").args(&again).output().expect("it starts");
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("0 passed; 1 failed; 1 filtered out; 1 runs"), "{said}");
    }
}

const ALL_KINDS: &str = r#"
#INCLUDE "course.module"
#INCLUDE "arguments.module"
PROC double (VAL INT n, INT result)
  result := n * 2
:
#PRAGMA TEST INPUT "12*n"
#PRAGMA TEST OUTPUT "  12"
#PRAGMA TEST OUTPUT "*n"
PROC reads.a.number (CHAN BYTE keyboard?, SHARED CHAN BYTE screen!, CHAN BYTE error!)
  INT n, b:
  SEQ
    in.int (n, 3, keyboard?, error!)
    CLAIM screen!
      SEQ
        out.int (n, 4, screen!)
        screen ! '*n'
:
#PRAGMA TEST FAILS "overflow" SECONDS 30
PROC overflows ()
  INT r:
  double (MOSTPOS INT, r)
:
#PRAGMA TEST FAILS "deadlock"
PROC stuck ()
  CHAN INT c:
  c ! 1
:
#PRAGMA TEST
PROC has.no.arguments ()
  INT n:
  SEQ
    argument.count (n)
    ASSERT (n = 0)
:
#PRAGMA TEST OUTPUT "149"
PROC forks (SHARED CHAN BYTE screen!)
  PROC one (VAL INT n, SHARED CHAN INT out!)
    CLAIM out!
      out ! n * n
  :
  SHARED! CHAN INT c:
  PAR
    FORKING
      SEQ i = 1 FOR 3
        FORK one (i, c!)
    [10]BOOL seen:
    SEQ
      SEQ i = 0 FOR SIZE seen
        seen[i] := FALSE
      SEQ i = 0 FOR 3
        INT n:
        SEQ
          c ? n
          seen[n] := TRUE
      CLAIM screen!
        SEQ i = 0 FOR SIZE seen
          IF
            seen[i]
              out.int (i, 0, screen!)
            TRUE
              SKIP
:
"#;

#[test]
fn what_a_test_reads_writes_and_how_it_fails_is_compared() {
    let program = Program::of("kinds", ALL_KINDS);
    let output = program.test(&["--seeds", "3"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("test result: ok. 5 passed; 0 failed; 0 filtered out; 30 runs; "), "{said}");
    let output = program.test(&["--list"]);
    let names: Vec<_> =
        text(&output.stdout).lines().filter_map(|line| Some(line.rsplit_once(": ")?.1.to_owned())).collect();
    assert_eq!(names, ["reads.a.number", "overflows", "stuck", "has.no.arguments", "forks"]);
    let output = program.test(&["--filter", "s", "--workers", "1"]);
    assert!(text(&output.stdout).contains("5 passed; 0 failed; 0 filtered out; 5 runs"));
    let output = program.test(&["--filter", "flow"]);
    assert!(text(&output.stdout).contains("1 passed; 0 failed; 4 filtered out; 16 runs"));
    let output = program.test(&["--filter", "flow", "--exact"]);
    assert!(text(&output.stdout).contains("0 passed; 0 failed; 5 filtered out; 0 runs"));
    let output = program.test(&["--debug=all", "--seeds", "1"]);
    assert!(output.status.success(), "{}", text(&output.stdout));
}

#[test]
fn what_goes_on_for_too_long_is_ended() {
    let endless = "#PRAGMA TEST SECONDS 1 FAILS\nPROC endless ()\n  WHILE TRUE\n    SKIP\n:\n";
    let output = Program::of("endless", endless).test(&["--seeds", "1"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("it was ended after 1 s\n"), "{}", text(&output.stdout));
}

#[test]
fn a_program_that_is_refused_does_not_keep_others_from_being_tested() {
    let wrong = Program::of("wrong", "#PRAGMA TEST\nPROC p ()\n  x := 1\n:\n");
    let right = Program::of("right", "#PRAGMA TEST\nPROC p ()\n  SKIP\n:\n");
    let output =
        raddle().args(["test", "--seeds", "1"]).args([&wrong.0, &right.0]).output().expect("it starts");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("test p ... ok\n") && said.contains("result: INCOMPLETE. 1 passed; "), "{said}");
    assert!(text(&output.stderr).contains("error[O0301]"));
    // A parameter that is no channel of the host.
    let odd = Program::of("odd", "#PRAGMA TEST\nPROC p (VAL INT x)\n  SKIP\n:\nPROC q ()\n  SKIP\n:\n");
    let output = odd.test(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("`x` is no channel of the host"), "{}", text(&output.stderr));
    let output = raddle().args(["test", "nowhere.occ"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(127));
}

#[test]
fn tests_of_an_included_file_are_its_own() {
    let inner = Program::of("inner", "#PRAGMA TEST\nPROC inner ()\n  STOP\n:\n");
    let name = inner.0.file_name().expect("it has one").to_string_lossy().into_owned();
    let outer = format!("#INCLUDE \"{name}\"\n#PRAGMA TEST\nPROC outer ()\n  SKIP\n:\n");
    let output = Program::of("outer", &outer).test(&["--seeds", "1"]);
    assert!(text(&output.stdout).contains("1 passed; 0 failed; 0 filtered out"), "{}", text(&output.stdout));
}

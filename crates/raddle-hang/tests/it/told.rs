//! How it is told: to whom, how long, in which functions, and what fits a screen.

use crate::ageless;
use crate::child::{in_program, program, stderr};
use crate::runtime;
use raddle::Runtime;
use raddle::csp::{self, Barrier, Builder};
use std::os::unix::process::CommandExt as _;
use std::process::exit;

pub(super) fn five_thousand() {
    runtime(2).run(|| {
        let first = Barrier::new();
        for _ in 0..5000 {
            let mut member = first.enrol();
            drop(csp::spawn(move || member.sync()));
        }
        csp::park();
    });
}

pub(super) fn own_handler() {
    let report = |dump: &raddle::hang::Dump| {
        eprintln!("handled: {} lives; {}", dump.processes(), dump.json());
        exit(7);
    };
    Runtime::builder().workers(1).on_deadlock(report).build().unwrap().run(csp::park);
}

/// Whoever gives names may have them from anybody.
pub(super) fn names_with_escapes() {
    runtime(1).run(|| {
        let name = "evil\x1b[2J\r\nraddle: all is well\u{9b}31m";
        Builder::new().name(name).spawn(csp::park).unwrap().join().unwrap();
    });
}

pub(super) fn deep_down() {
    runtime(1).run(|| {
        let child = Builder::new().name("diver").spawn(|| at_depth(3)).unwrap();
        child.join().unwrap();
    });
}

#[inline(never)]
fn at_depth(below: u32) -> u32 {
    if below > 0 {
        return std::hint::black_box(at_depth(below - 1)) + 1;
    }
    csp::park();
    std::hint::black_box(7)
}

#[test]
fn a_report_says_for_how_long() {
    let text = stderr(&in_program("nobody_sends", &[]));
    assert_ne!(ageless(&text), text, "{text}");
}

#[test]
fn a_report_shows_the_functions_of_who_waits() {
    if cfg!(any(raddle_tsan, raddle_twin)) {
        // There nobody's frames are known.
        return;
    }
    let output = in_program("deep_down", &[]);
    let text = stderr(&output);
    let line = text.lines().nth(1).unwrap_or_default();
    let functions = line.strip_prefix("  'diver' is in ").expect(&text);
    let is_there = |function: &str| function.starts_with("it::told::at_depth at tests/it/told.rs:");
    assert_eq!(functions.split(", called by ").filter(|function| is_there(function)).count(), 3, "{text}");
}

#[test]
fn the_trace_of_a_deadlock_is_there() {
    let path = std::env::temp_dir().join(format!("raddle-hang-{}.rdt", std::process::id()));
    let output = in_program("nobody_sends", &[("RADDLE_TRACE", path.to_str().unwrap())]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // A switch at least, beside what stands in every file.
    assert!(std::fs::metadata(&path).unwrap().len() > 1000);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn many_fit_a_screen_and_the_rest_is_in_a_file() {
    let output = in_program("five_thousand", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    assert!(text.lines().count() < 30, "{text}");
    assert!(text.contains("5000 processes spawned at crates/raddle-hang/tests/it/told.rs:"), "{text}");
    assert!(text.contains("(barrier: "), "{text}");
    let file = text.lines().find_map(|line| line.trim().strip_prefix("each by itself: ")).unwrap();
    let list = std::fs::read_to_string(file).unwrap();
    assert_eq!(list.lines().filter(|line| line.contains("Barrier::sync")).count(), 5000, "{text}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_name_changes_no_terminal() {
    let output = in_program("names_with_escapes", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    assert!(text.contains("process 'evil\u{fffd}[2J\u{fffd}\u{fffd}raddle: all is well"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}

/// Nothing can be written: the report is whole all the same, and says what is missing.
#[test]
fn a_report_needs_no_file() {
    let output = in_program("five_thousand", &[("TMPDIR", "/proc"), ("RADDLE_TRACE", "/proc/no.rdt")]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    assert!(text.contains("  no file with each by itself: "), "{text}");
    assert!(text.contains("raddle: the trace cannot be written to /proc/no.rdt: "), "{text}");
}

/// The disk is full: no empty file stays.
#[test]
fn a_list_that_cannot_be_written_leaves_no_file() {
    let folder = std::env::temp_dir().join(format!("raddle-told-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut program = program("five_thousand", &[("TMPDIR", folder.to_str().unwrap())]);
    let fill = || {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the kernel reads one structure.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const none) }, 0);
        // SAFETY: the signal is passed over: whoever writes gets an error.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: two calls that a forked child may make.
    let output = unsafe { program.pre_exec(fill) }.output().unwrap();
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(stderr(&output).contains("  no file with each by itself: File too large"), "{output:?}");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_program_may_take_the_report_itself() {
    let output = in_program("own_handler", &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = stderr(&output);
    assert!(
        text.starts_with("handled: 1 lives; {\"schema\":\"raddle-dump/1\",\"kind\":\"deadlock\""),
        "{text}"
    );
}

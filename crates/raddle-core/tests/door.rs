//! The door from C: an adaptor (`tests/door`), linked to a shared library and preloaded into C programs.

// The library is built for programs, by flags of its own.
#![cfg(not(any(raddle_twin, raddle_asan, raddle_tsan)))]

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/door").join(name)
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// Where the tests of this program put what they build; the system's folder for such.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("door");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The adaptor, built and linked once.
fn adaptor() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let library = folder().join("libdoor.so");
        let mut command = Command::new(std::env::var_os("CARGO").expect("a test runs under cargo"));
        command.args(["run", "--quiet", "--package", "xtask", "--", "link-shared"]);
        command.args(["--package", "raddle-core", "--example", "door"]);
        command.arg("--version-script").arg(source("door.map")).arg("--output").arg(&library);
        succeed(&mut command);
        library
    })
}

/// A C program, compiled for so many workers, that gets the adaptor and is killed after a minute.
fn program(program: &str, workers: u32) -> Command {
    let binary = folder().join(format!("{program}-{workers}"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Werror", "-fexceptions", "-frounding-math", "-pthread", "-o"]);
    compiler.arg(&binary).arg(source(&format!("{program}.c"))).arg(adaptor()).arg("-lm");
    succeed(&mut compiler);
    // Only the program itself gets the adaptor.
    let mut command = Command::new("timeout");
    command.args(["60", "env"]).arg(format!("LD_PRELOAD={}", adaptor().display())).arg(binary);
    command.env("RADDLE_WORKERS", workers.to_string());
    command
}

/// Compiles a C program and runs it on one worker and on two.
#[track_caller]
fn check(name: &str) {
    for workers in [1, 2] {
        succeed(&mut program(name, workers));
    }
}

#[test]
fn a_million_yields_do_not_come_back_as_requests() {
    check("yields");
}

#[test]
fn a_thread_of_c_has_its_identity_its_stack_its_rounding_and_its_end() {
    check("identity");
}

#[test]
fn locks_of_c_wait_at_the_futex() {
    check("locks");
}

#[test]
fn a_poller_of_c_is_asked_while_something_is_outstanding() {
    check("polls");
}

#[test]
fn loops_of_c_yield_when_their_slice_is_over() {
    check("ticks");
}

#[test]
fn teams_of_c_go_from_round_to_round() {
    check("teams");
}

#[test]
fn a_thread_of_c_ends_from_within_and_cleans_up() {
    check("ends");
}

/// As much address space as some batch systems leave: the runtime's tables, stacks and spares fit into it.
#[test]
fn threads_of_c_need_little_address_space() {
    for name in ["identity", "locks", "teams"] {
        let program = program(name, 2);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 300000 && exec \"$0\" \"$@\""]);
        command.arg(program.get_program()).args(program.get_args()).env("RADDLE_WORKERS", "2");
        succeed(&mut command);
    }
}

/// What unwinds by force must not meet a frame of Rust's that catches.
#[test]
fn a_frame_of_rust_that_catches_stops_an_end_from_within() {
    let output = program("ends", 3).arg("through a frame that catches").output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("Rust cannot catch foreign exceptions"), "{}: {text}", output.status);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{text}");
}

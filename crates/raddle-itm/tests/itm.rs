//! Programs in C and C++ with transactions, by gcc, on the library: alone, and with threads that are Raddle's.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../raddle-core/tests/support/own_folder.rs"]
mod own_folder;
#[path = "../../raddle-core/tests/support/succeed.rs"]
mod succeed;

use crate::own_folder::own_folder;
use crate::succeed::{succeed, xtask};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

fn folder() -> PathBuf {
    own_folder("itm")
}

/// The library by this command of `cargo xtask`, built once.
fn library(built: &'static OnceLock<PathBuf>, task: &str, file: &str) -> &'static Path {
    built.get_or_init(|| {
        succeed(xtask(&[task, "--debug", "--output"]).arg(folder()));
        folder().join(file)
    })
}

fn itm() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    library(&BUILT, "itm", "libraddle_itm.so")
}

fn pthreads() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    library(&BUILT, "pthreads", "libraddle_pthread.so")
}

fn compile(name: &str, level: &str) -> PathBuf {
    static COMPILED: AtomicU32 = AtomicU32::new(0);
    // Tests of one source may run at the same time.
    let number = COMPILED.fetch_add(1, Ordering::Relaxed);
    let binary = folder().join(format!("{name}-{number}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    let (compiler, extension) =
        if source.with_extension("c").is_file() { ("gcc", "c") } else { ("g++", "cpp") };
    let mut command = Command::new(compiler);
    command
        .args([level, "-fgnu-tm", "-pthread", "-w", "-o"])
        .arg(&binary)
        .arg(source.with_extension(extension));
    succeed(&mut command);
    binary
}

/// How the program ends, and what it says. The watchdog is a process of its own.
fn run(binary: &Path, arguments: &[&str], preloaded: &str) -> (Option<i32>, String) {
    let mut command = Command::new("timeout");
    command.args(["300", "env", &format!("LD_PRELOAD={preloaded}"), "RADDLE_WORKERS=2"]);
    let output = command.arg(binary).args(arguments).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// By two levels of optimisation, of which one calls what the other does by itself.
#[track_caller]
fn says(name: &str, arguments: &[&str], expected: &str) {
    let alone = itm().display().to_string();
    let both = format!("{alone}:{}", pthreads().display());
    // gcc 12 itself fails by `-O0` where a transaction throws.
    for level in [if ["caught", "throws"].contains(&name) { "-O1" } else { "-O0" }, "-O2"] {
        let binary = compile(name, level);
        for preloaded in [&alone, &both] {
            let said = run(&binary, arguments, preloaded);
            assert_eq!(said, (Some(0), expected.to_owned()), "{name} by {level} with {preloaded}");
        }
    }
}

#[test]
fn no_sum_is_ever_wrong() {
    says("bank", &["4", "5000"], "25600 well\n");
    says("bank", &["40", "300"], "25600 well\n");
}

/// Each function of gcc's own library, by its version.
#[test]
fn all_that_gcc_s_own_library_has_is_found_here() {
    let says = |command: &mut Command| {
        String::from_utf8(command.output().expect("it is here, with gcc").stdout).expect("a text")
    };
    let library = says(Command::new("gcc").arg("-print-file-name=libitm.so"));
    let names = says(Command::new("nm").args(["-D", "--defined-only", library.trim()]));
    let functions: Vec<_> = names
        .lines()
        .filter_map(|line| line.split_once(" T "))
        .map(|(_, name)| name.replace("@@", "@"))
        .collect();
    let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
    assert!(functions.len() >= 173, "{names}");
    let found = run(&compile("entries", "-O1"), &functions, &itm().display().to_string());
    assert_eq!(found, (Some(0), format!("{}\n", functions.len())));
}

/// What gcc's own library does is the measure.
#[test]
fn values_of_all_types_are_read_and_written() {
    for level in ["-O0", "-O2"] {
        let binary = compile("kinds", level);
        let natively = run(&binary, &[], "");
        assert!(natively.1.lines().count() > 7, "{natively:?}");
        assert_eq!(run(&binary, &[], &itm().display().to_string()), natively, "by {level}");
    }
}

#[test]
fn transactions_inside_of_others_are_cancelled_alone_or_with_them() {
    let expected = "0: 77, 1 2 13, 1\n\
                    1: 66, 1 0 10, 2\n\
                    2: 50, 0 0 0, 2\n\
                    0: 1, 0 1 0\n\
                    1: 1, 1 2 1\n\
                    2: 0, -1 -1 -1\n\
                    deep: 13, 6 6\n\
                    sum: 18, 15\n";
    says("nests", &[], expected);
}

#[test]
fn what_cannot_be_undone_is_done_once() {
    let expected = "16000 160 0\n\
                    0 1\n\
                    hello\n\
                    2 1\n\
                    committed first 0\n\
                    committed last 0\n\
                    1 -1\n\
                    undone first 1\n\
                    undone last 1\n\
                    0 0\n";
    says("once", &[], expected);
}

#[test]
fn what_is_freed_may_be_followed_in_vain() {
    says("nodes", &["6", "500"], "3000 empty\n");
}

#[test]
fn a_fault_of_the_program_ends_it() {
    let binary = compile("nodes", "-O1");
    let output = Command::new(binary).arg("null").env("LD_PRELOAD", itm()).output().expect("it starts");
    assert_eq!(output.status.signal(), Some(11), "{output:?}");
}

#[test]
fn frames_that_are_gone_are_not_put_back() {
    says("hostile", &["frames"], "1 1\n");
}

#[test]
fn handlers_of_a_fork_may_run_transactions() {
    says("hostile", &["forks"], "child 1108\nparent 1018\n");
}

#[test]
fn what_is_dropped_is_no_conflict_and_what_stands_beside_it_is() {
    says("hostile", &["drops"], "0 1\n2 2\n");
}

#[test]
fn a_long_transaction_commits_among_many_short_ones() {
    says("hostile", &["outlasts"], "200007\n200007\n200007\n");
}

#[test]
fn a_thread_that_blocks_signals_may_follow_what_is_gone() {
    says("hostile", &["blocks"], "9 2\n");
}

#[test]
fn signals_of_faults_end_the_program_as_before() {
    let binary = compile("hostile", "-O1");
    let ends = |word: &str| {
        let mut command = Command::new(&binary);
        let output = command.arg(word).env("LD_PRELOAD", itm()).output().expect("it starts");
        (output.status.signal(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(ends("sent"), (Some(11), String::new()));
    assert_eq!(ends("once"), (Some(11), "once\n".to_owned()));
    assert_eq!(ends("ignored"), (None, "here\n".to_owned()));
}

#[test]
fn a_thread_that_ends_within_a_transaction_ends_the_program() {
    let (_, said) = run(&compile("hostile", "-O1"), &["ends"], &itm().display().to_string());
    assert!(said.contains("a thread ends within a transaction"), "{said}");
}

/// For the group of tests `itm`.
#[test]
fn exceptions_of_cpp_commit_or_are_as_if_never_thrown() {
    if std::env::var_os("ITM_CXX").is_some() {
        says("throws", &[], "36000 48000\nout of it 1\nrelaxed\n4 2\n");
    }
}

/// As above.
#[test]
fn what_is_written_to_an_exception_is_written_to_nobody_else() {
    if std::env::var_os("ITM_CXX").is_some() {
        let expected = "4141414141414141 0\n\
                        3 9 4 0\n\
                        6 12 4 0\n\
                        9 20 4 0\n";
        says("caught", &[], expected);
    }
}

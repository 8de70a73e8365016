//! Programs in C with POSIX threads: what they say natively they say on the library, too, on any number of workers.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../raddle-core/tests/support/own_folder.rs"]
mod own_folder;
#[path = "../../raddle-core/tests/support/succeed.rs"]
mod succeed;

use crate::own_folder::own_folder;
use crate::succeed::{succeed, xtask};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

fn folder() -> PathBuf {
    own_folder("pthreads")
}

fn finish(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// The library, built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        succeed(xtask(&["pthreads", "--debug", "--output"]).arg(folder()));
        folder().join("libraddle_pthread.so")
    })
}

fn compile(name: &str) -> PathBuf {
    // Tests of one source may run at the same time.
    static COMPILED: AtomicU32 = AtomicU32::new(0);
    let number = COMPILED.fetch_add(1, Ordering::Relaxed);
    let binary = folder().join(format!("{name}-{number}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    let (compiler, extension) =
        if source.with_extension("c").is_file() { ("cc", "c") } else { ("c++", "cpp") };
    let mut command = Command::new(compiler);
    command.args(if extension == "cpp" { &["-std=c++20"][..] } else { &[] });
    command.args(["-O1", "-pthread", "-w", "-o"]).arg(&binary).arg(source.with_extension(extension));
    command.arg("-lm");
    succeed(&mut command);
    binary
}

/// How the program ends and what it says. The watchdog is a process of its own.
fn run(binary: &Path, arguments: &[&str], workers: Option<u32>) -> (Option<i32>, String) {
    run_with(binary, arguments, workers, &[])
}

fn run_with(
    binary: &Path,
    arguments: &[&str],
    workers: Option<u32>,
    settings: &[&str],
) -> (Option<i32>, String) {
    let mut command = Command::new("timeout");
    command.args(["300", "env"]).args(settings);
    if let Some(workers) = workers {
        command.arg(format!("LD_PRELOAD={}", library().display()));
        command.arg(format!("RADDLE_WORKERS={workers}"));
    }
    finish(command.arg(binary).args(arguments))
}

/// Natively, and on one, two and four workers.
#[track_caller]
fn agrees(name: &str, arguments: &[&str]) {
    library();
    let binary = compile(name);
    let native = run(&binary, arguments, None);
    for workers in [1, 2, 4] {
        assert_eq!(run(&binary, arguments, Some(workers)), native, "{name} on {workers} workers");
    }
}

#[test]
fn threads_live_as_natively() {
    agrees("life", &[]);
}

/// What it allocates by has a lock that is a mutex, which the runtime must not wait for in its own steps.
#[test]
fn a_program_with_an_allocator_of_its_own_runs() {
    runs_with_its_allocator("own_malloc");
}

/// Who holds that lock may stand in a queue of the very worker that waits for it.
#[test]
fn an_allocator_may_let_others_run_while_it_has_its_lock() {
    runs_with_its_allocator("yields_in_malloc");
}

#[track_caller]
fn runs_with_its_allocator(name: &str) {
    library();
    let binary = compile(name);
    let said = |(code, text): (Option<i32>, String)| {
        // That there are no ticks is told.
        let lines =
            text.lines().filter(|line| !line.starts_with("raddle: pthreads: the program has its own"));
        (code, lines.map(str::to_owned).collect::<Vec<_>>())
    };
    let native = said(run(&binary, &[], None));
    for workers in [1, 2, 4, 2, 4] {
        assert_eq!(said(run(&binary, &[], Some(workers))), native, "on {workers} workers");
    }
}

#[test]
fn locks_answer_and_exclude_as_natively() {
    agrees("locks", &[]);
}

#[test]
fn waits_answer_as_natively() {
    agrees("waits", &[]);
}

#[test]
fn threads_end_from_within_as_natively() {
    agrees("ends", &[]);
}

#[test]
fn libraries_may_ask_and_make_threads_before_main() {
    agrees("early", &[]);
}

/// The sender may have what the other waits for.
#[test]
fn a_signal_is_handled_by_who_waits_at_a_futex() {
    agrees("interrupted", &[]);
}

/// It ends by the signal of a broken pipe.
#[test]
fn a_broken_pipe_sends_its_signal() {
    agrees("broken", &[]);
}

#[test]
fn what_an_audit_has_found_is_mended() {
    agrees("attacks", &[]);
}

#[test]
fn main_is_joined_and_the_last_destructor_is_awaited() {
    agrees("left", &[]);
}

/// It ends by a signal that it sends to itself.
#[test]
fn signals_come_as_natively() {
    agrees("signals", &[]);
}

#[test]
fn descriptors_and_children_are_waited_for_as_natively() {
    agrees("descriptors", &[]);
}

#[test]
fn less_common_calls_at_descriptors_wait_and_err_as_natively() {
    agrees("transfers", &[]);
}

#[test]
fn children_are_started_and_waited_for_by_every_call_as_natively() {
    agrees("children", &[]);
}

/// But for what the library says of what has no effect.
#[test]
fn other_names_and_what_is_known_of_threads_agree() {
    library();
    let binary = compile("others");
    let native = run(&binary, &[], None);
    for workers in [1, 2, 4] {
        let (code, said) = run(&binary, &[], Some(workers));
        let is_own = |line: &&str| !line.starts_with("raddle: pthreads:");
        let said: String = said.lines().filter(is_own).map(|line| format!("{line}\n")).collect();
        assert_eq!((code, said), native, "{workers} workers");
    }
}

/// The rows of docs/PTHREADS.md's last section: a call, a program, and the name by which that makes it.
fn rows() -> BTreeMap<String, (String, String)> {
    let page = include_str!("../../../docs/PTHREADS.md");
    let (_, table) = page.split_once("| call | checked in |").expect("the table");
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let words: Vec<&str> = row.split('`').step_by(2).collect();
        let by = words.get(2).unwrap_or(&words[0]);
        (words[0].to_owned(), (words[1].to_owned(), (*by).to_owned()))
    })
    .collect()
}

#[test]
fn every_call_that_is_exported_is_checked_by_a_program() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output().expect("nm");
    let listed = String::from_utf8(output.stdout).unwrap();
    let exported: BTreeSet<String> = listed
        .lines()
        .filter_map(|line| Some(line.split_whitespace().last()?.split('@').next()?.to_owned()))
        .collect();
    assert!(exported.contains("pthread_create"), "{listed}");
    let rows = rows();
    let named: BTreeSet<String> = rows.keys().cloned().collect();
    assert_eq!(exported, named, "docs/PTHREADS.md has a row for each call, and none for others");
    for (call, (program, by)) in rows {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(&program);
        let source = std::fs::read_to_string(&source).unwrap_or_default();
        let is_made = |name: &str| {
            source.match_indices(name).any(|(at, _)| {
                let before = source[..at].trim_end_matches("old").chars().next_back();
                let is_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
                !is_word && !source[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        };
        assert!(is_made(&by), "{program} does not call {by}, by which {call} is to be checked");
    }
}

#[test]
fn ten_thousand_threads_and_a_thousand_with_a_hundred_locks_lose_nothing() {
    library();
    let binary = compile("many");
    for workers in [1, 2, 4] {
        let (code, said) = run(&binary, &["10000"], Some(workers));
        assert_eq!((code, &*said), (Some(0), "well\n"), "{workers} workers");
    }
}

/// How it ends by a fault, and what is said.
#[track_caller]
fn deadlocks(fault: &str, said: &[&str]) {
    library();
    let binary = compile("deadlocks");
    for workers in [1, 2] {
        let (code, text) = run(&binary, &[fault], Some(workers));
        assert_eq!(code, Some(3), "{workers} workers: {text}");
        said.iter().for_each(|part| assert!(text.contains(part), "{workers} workers, no {part:?}: {text}"));
    }
}

#[test]
fn two_threads_with_each_others_lock_are_told() {
    deadlocks(
        "locks",
        &[
            "waits in pthread_mutex_lock(first_lock at 0x",
            "waits in pthread_mutex_lock(second_lock at 0x",
            "held by #",
            "first_then_second",
            "second_then_first",
        ],
    );
}

#[test]
fn two_threads_that_join_each_other_are_told() {
    deadlocks("joins", &["waits in pthread_join", "for #", "joins"]);
}

#[test]
fn those_that_wait_for_a_signal_that_was_lost_are_told() {
    deadlocks("lost", &["waits in pthread_cond_wait(never_signalled at 0x", "waits"]);
}

#[test]
fn who_may_be_woken_by_a_handler_is_in_no_deadlock() {
    agrees("deadlocks", &["handler"]);
}

#[test]
fn a_cancellation_ends_waits_in_the_kernel() {
    agrees("cancels", &[]);
}

#[test]
fn who_spins_without_a_call_lets_others_run() {
    agrees("spins", &[]);
}

/// Each of these, while ticks come often.
#[track_caller]
fn agree_while_ticking(name: &str, cases: &[&[&str]]) {
    library();
    let binary = compile(name);
    for arguments in cases {
        let native = run(&binary, arguments, None);
        assert_eq!(native.0, Some(0), "{name} {arguments:?} natively: {}", native.1);
        for workers in [1, 2] {
            let ours = run_with(&binary, arguments, Some(workers), &["RADDLE_TICK=300us"]);
            assert_eq!(ours, native, "{name} {arguments:?} on {workers} workers");
        }
    }
}

#[test]
fn ticks_break_nothing_that_a_thread_has_and_does() {
    let cases = [
        "jumps",
        "rounding",
        "wide",
        "red",
        "alloc",
        "loads",
        "streams",
        "sorts",
        "contexts",
        "ownlocks",
        "spinlocks",
        "keys",
        "once",
        "clocks",
        "small",
    ];
    agree_while_ticking("ticks", &cases.each_ref().map(std::slice::from_ref));
}

/// Nobody is taken off its worker in the midst of a call of it; between two calls it may come to another's heap.
#[test]
fn ticks_leave_heaps_of_raddle_s_own_allocator_whole() {
    let folder = folder();
    succeed(xtask(&["alloc", "--debug", "--output"]).arg(&folder));
    let (allocator, threads) = (folder.join("libraddle_alloc.so"), library().display());
    let binary = compile("ticks");
    for case in ["alloc", "forks", "keys"] {
        let native = run(&binary, &[case], None);
        for workers in [1, 2] {
            let mut command = Command::new("timeout");
            command.args(["300", "env", "RADDLE_TICK=300us", &format!("RADDLE_WORKERS={workers}")]);
            command.arg(format!("LD_PRELOAD={}:{threads}", allocator.display()));
            assert_eq!(finish(command.arg(&binary).arg(case)), native, "{case} on {workers} workers");
        }
    }
}

#[test]
fn faults_are_handled_while_ticks_come() {
    let cases = ["faults", "faultstack", "faultdefer", "faultplain"];
    agree_while_ticking("ticks", &cases.each_ref().map(std::slice::from_ref));
}

#[test]
fn children_are_made_while_ticks_come() {
    let cases = ["forks", "forkthreads", "execs"];
    agree_while_ticking("ticks", &cases.each_ref().map(std::slice::from_ref));
}

#[test]
fn a_program_becomes_another_while_ticks_come() {
    agree_while_ticking("becomes", &[&[]]);
}

#[test]
fn handlers_run_in_the_thread_that_they_are_for() {
    let cases = ["who", "two", "world", "left", "timeouts", "readslate", "timers", "restarts", "realtime"];
    agree_while_ticking("ticks", &cases.each_ref().map(std::slice::from_ref));
}

#[test]
fn who_spins_is_cancelled_and_reached_whatever_it_blocks() {
    let cases = ["cancels", "async", "blocks", "unblocks", "blockskernel"];
    agree_while_ticking("ticks", &cases.each_ref().map(std::slice::from_ref));
}

#[test]
fn exceptions_and_initialisers_of_cpp_bear_ticks() {
    if std::env::var_os("PTHREADS_CXX").is_some() {
        agree_while_ticking("throws", &[&[]]);
    }
}

#[test]
fn robust_mutexes_tell_of_holders_that_have_ended_and_children_share_what_they_are_to() {
    agrees("robust", &[]);
}

#[test]
fn robust_mutexes_that_are_shared_tell_of_programs_that_have_ended() {
    agrees("shared", &[]);
}

#[test]
fn a_program_that_starts_another_one_keeps_its_trace() {
    library();
    let binary = compile("traced");
    let traces = folder().join(format!("traces-{}", std::process::id()));
    std::fs::create_dir_all(&traces).unwrap();
    let setting = format!("RADDLE_TRACE={}", traces.join("own.rdt").display());
    let (code, said) = run_with(&binary, &[], Some(1), &[&setting]);
    assert_eq!((code, &*said), (Some(0), "the child has ended with 0\n"));
    let names =
        std::fs::read_dir(&traces).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    std::fs::remove_dir_all(&traces).unwrap();
    assert!(names.len() == 2 && names.contains(&"own.rdt".to_owned()), "{names:?}");
}

#[test]
fn children_have_the_library_unless_that_is_not_wished() {
    library();
    let shell = Path::new("/bin/sh");
    // Twice: the first shell has it in any case.
    let script = "sh -c 'grep -c libraddle_pthread /proc/self/maps'";
    let counted = |settings: &[&str]| {
        let (_, said) = run_with(shell, &["-c", script], Some(1), settings);
        said.trim().parse::<u32>().unwrap_or_else(|_| panic!("{said}"))
    };
    assert!(counted(&[]) > 0);
    assert_eq!(counted(&["LIBRADDLE_ALONE=1"]), 0);
    assert_eq!(counted(&["LIBRADDLE_DENY=sh"]), counted(&[]), "who is denied has it, and is not served");
}

#[test]
fn a_denied_program_keeps_the_threads_of_the_c_library() {
    library();
    let binary = compile("life");
    let name = binary.file_name().unwrap().to_str().unwrap();
    let denied = format!("LIBRADDLE_DENY={name}");
    assert_eq!(run_with(&binary, &[], Some(2), &[&denied]), run(&binary, &[], None));
}

#[test]
fn a_thousand_threads_by_a_thousand_locks_bear_cancellations_and_signals() {
    library();
    let binary = compile("stress");
    // Not natively: a thousand OS threads are more than some machines grant.
    for workers in [1, 2, 4] {
        let (code, said) = run(&binary, &[], Some(workers));
        assert_eq!((code, &*said), (Some(0), "made 1025, cancelled 25, sent 75\n"), "{workers} workers");
    }
}

#[test]
fn a_seed_gives_one_schedule() {
    library();
    let binary = compile("seeds");
    let seeds: Vec<_> = (1..=4)
        .map(|seed| {
            let run = || run_with(&binary, &[], Some(2), &[&format!("RADDLE_SEED={seed}")]);
            let first = run();
            assert_eq!(first.0, Some(0), "seed {seed}: {}", first.1);
            (0..5).for_each(|again| assert_eq!(run(), first, "seed {seed}, run {again}"));
            first.1
        })
        .collect();
    assert!(seeds.iter().any(|said| *said != seeds[0]), "all seeds give the same");
}

/// For the group of tests `pthreads`.
#[test]
fn the_library_of_cpp_finds_its_threads() {
    if std::env::var_os("PTHREADS_CXX").is_some() {
        agrees("library", &[]);
    }
}

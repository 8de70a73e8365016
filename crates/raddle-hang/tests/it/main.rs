//! A hang explains itself: each program here hangs, or does not, in a process of its own.
//!
//! The test harness keeps an OS thread that waits by other means than ours, and could wake anybody. So the programs run
//! before there is a harness: as one of the functions that the system calls before `main`.
//!
//! Elsewhere a program has OS threads that are not its own and could wake anybody; the twin's processes are such, too.
#![cfg(not(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

mod blocked;
mod circles;
mod cycles;
mod dumps;
mod futex;
mod holders;
mod noticed;
mod outstanding;
mod patient;
mod peers;
#[cfg(not(raddle_asan))]
mod refused;
mod rounds;
mod slow;
mod stand;
mod told;

#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;
#[path = "../../../raddle-core/tests/support/futex_locks.rs"]
mod futex_locks;
#[path = "../../../raddle-core/tests/support/watch.rs"]
mod watch;

use raddle::Runtime;
use std::io::Read as _;
use std::process::exit;

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// The variable that says which program this is to be.
pub(crate) const PROGRAM: &str = "TEST_PROGRAM";

/// A runtime of `n` workers with the default policy.
fn runtime(n: usize) -> Runtime {
    Runtime::builder().workers(n).build().expect("a runtime")
}

/// A runtime of one worker, whose processes stay with it.
fn light_runtime() -> Runtime {
    // SAFETY: no process of these programs keeps a reference to a thread-local variable while it waits.
    unsafe { Runtime::builder().workers(1).light_processes() }.build().expect("a runtime")
}

extern "C" fn before_main() {
    let Ok(wanted) = std::env::var(PROGRAM) else { return };
    let (_, program) = PROGRAMS
        .iter()
        .chain(&patient::PROGRAMS)
        .chain(REFUSED)
        .find(|(name, _)| *name == wanted)
        .expect("a program of this name");
    program();
    exit(0);
}

const PROGRAMS: [(&str, fn()); 54] = [
    ("lock_order", cycles::lock_order),
    ("nobody_sends", peers::nobody_sends),
    ("five_thousand", told::five_thousand),
    ("own_handler", told::own_handler),
    ("os_threads", cycles::os_threads),
    ("a_sender_outside", noticed::a_sender_outside),
    ("asked_by_signal", dumps::asked_by_signal),
    ("tasks", noticed::tasks),
    ("long_loop", slow::long_loop),
    ("lock_of_std", slow::lock_of_std),
    ("nobody_can_help", stand::nobody_can_help),
    ("nobody_can_help_nor_print", stand::nobody_can_help_nor_print),
    ("stands_again", stand::stands_again),
    ("many_compressors", stand::many_compressors),
    ("nobody_reads_standard_error", stand::nobody_reads_standard_error),
    ("calls_before_a_full_batch", stand::calls_before_a_full_batch),
    ("a_sleep_that_no_signal_ends", stand::a_sleep_that_no_signal_ends),
    ("cycle_while_others_run", cycles::cycle_while_others_run),
    ("hangs_late", noticed::hangs_late),
    ("last_unrelated_thread_ends", noticed::last_unrelated_thread_ends),
    ("reader_stalls", dumps::reader_stalls),
    ("jobs", cycles::jobs),
    ("deep_down", told::deep_down),
    ("ring", peers::ring),
    ("full", peers::full),
    ("one_is_missing", peers::one_is_missing),
    ("choice", peers::choice),
    ("futex_owners", futex::owners),
    ("futex_alone", futex::alone),
    ("lost_message", outstanding::lost_message),
    ("in_read", blocked::in_read),
    ("foreign_lock", blocked::foreign_lock),
    ("foreign_lock_of_two", blocked::foreign_lock_of_two),
    ("foreign_locks_outside", blocked::foreign_locks_outside),
    ("foreign_lock_and_handler", blocked::foreign_lock_and_handler),
    ("foreign_lock_for_a_while", blocked::foreign_lock_for_a_while),
    ("foreign_lock_until_another_program_wakes", blocked::foreign_lock_until_another_program_wakes),
    ("wakes_another_program", blocked::wakes_another_program),
    ("ring_while_others_run", circles::ring_while_others_run),
    ("full_while_others_run", circles::full_while_others_run),
    ("lock_and_channel_while_others_run", circles::lock_and_channel_while_others_run),
    ("no_circles", circles::no_circles),
    ("permits", holders::permits),
    ("names_with_escapes", told::names_with_escapes),
    ("many_threads", slow::many_threads),
    ("ping_pong", rounds::ping_pong),
    ("ping_pong_beside", rounds::ping_pong_beside),
    ("ping_pong_apart", rounds::ping_pong_apart),
    ("yields_for_ever", rounds::yields_for_ever),
    ("reads_and_yields_for_ever", rounds::reads_and_yields_for_ever),
    ("after_a_message", outstanding::after_a_message),
    ("lock_after_a_message", outstanding::lock_after_a_message),
    ("ping_pong_and_dump", rounds::ping_pong_and_dump),
    ("not_going_round", rounds::not_going_round),
];

/// AddressSanitizer has a `pthread_create` of its own.
#[cfg(raddle_asan)]
const REFUSED: &[(&str, fn())] = &[];
#[cfg(not(raddle_asan))]
const REFUSED: &[(&str, fn())] = &[
    ("refused_threads", refused::refused_threads),
    ("refused_threads_of_light_ones", refused::refused_threads_of_light_ones),
];

/// Goes on, with an OS thread that is none of ours, until the standard input ends.
fn until_input_ends() -> ! {
    let _end = std::io::stdin().read(&mut [0]);
    exit(0);
}

/// A report without the times for which somebody has waited, ` for 0.2 s`.
fn ageless(report: &str) -> String {
    let mut parts = report.split(" for ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let is_age = part.split_once(" s").filter(|(number, _)| number.parse::<f64>().is_ok());
        match is_age {
            Some((_, rest)) => text + rest,
            None => format!("{text} for {part}"),
        }
    })
}

/// The report without what differs from run to run: times, numbers of processes, lines of these files, temporary files.
fn plain(report: &str) -> String {
    let report = ageless(report);
    let mut plain = String::new();
    let mut rest = &report[..];
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &rest[..at];
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(rest.len() - at);
        plain += before;
        let keeps = !before.ends_with(['#', ':', '-']);
        plain += if keeps { &rest[at..at + digits] } else { "N" };
        rest = &rest[at + digits..];
    }
    plain + rest
}

/// Runs a program until it has said `wanted`; returns what it said on standard error.
fn said_until(name: &str, wanted: &str) -> String {
    said_until_with(name, &[], wanted)
}

/// As [`said_until`], with variables.
fn said_until_with(name: &str, variables: &[(&str, &str)], wanted: &str) -> String {
    let mut child = child::program(name, variables);
    child.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut said = Vec::new();
    let mut from = child.stderr.take().unwrap();
    let mut byte = [0];
    while !String::from_utf8_lossy(&said).contains(wanted) && from.read(&mut byte).unwrap() > 0 {
        said.push(byte[0]);
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&said).into_owned()
}

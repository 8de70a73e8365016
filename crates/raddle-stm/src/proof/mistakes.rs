//! Owns: the test that each mistake that can be made in the algorithm is found by some test.
//! May use: `mistake`.
//! Never: a mistake in this process, whose other tests would find it too.

use crate::mistake::{Mistake, VARIABLE};
use std::process::{Command, Stdio};

/// Each with the tests that find it: the first that does, does.
const FOUND: &[(Mistake, &[&str])] = &[
    (Mistake::CommitsUnchecked, HISTORIES),
    (Mistake::IgnoresLocks, HISTORIES),
    (Mistake::TicksTooEarly, HISTORIES),
    (Mistake::UnlocksTooEarly, HISTORIES),
    (Mistake::LooksOnce, HISTORIES),
    (Mistake::TakesNewer, HISTORIES),
    (Mistake::TakesLocked, HISTORIES),
    (Mistake::ExtendsUnchecked, HISTORIES),
    (Mistake::IgnoresReservations, KINDS),
    (Mistake::ReadsUnreserved, KINDS),
    (Mistake::TakesAnyValue, KINDS),
    (Mistake::OverlooksWrites, &["programs::programs_do_what_their_model_does"]),
    (Mistake::KeepsBranch, &["programs::programs_do_what_their_model_does"]),
    (Mistake::WatchesUnchecked, WAITS),
    (Mistake::WakesNobody, WAITS),
    (Mistake::FreesAtOnce, &["reclaim::a_value_is_there_while_it_is_read"]),
    (Mistake::AnnouncesTooLate, &["reclaim::a_value_is_there_while_it_is_read"]),
];

const HISTORIES: &[&str] = &[
    "histories::what_two_threads_see_is_of_one_order",
    "histories::what_many_threads_see_is_of_one_order",
    "litmus::no_attempt_sees_a_sum_that_never_was",
];

const KINDS: &[&str] = &[
    "histories::what_transactions_of_all_kinds_see_is_of_one_order",
    "litmus::no_attempt_of_any_kind_sees_a_sum_that_never_was",
];

const WAITS: &[&str] = &["waits::who_waits_for_a_place_or_a_value_gets_it"];

/// Whether the test fails with the mistake.
fn finds(test: &str, mistake: Mistake) -> bool {
    let mut program = Command::new(std::env::current_exe().expect("a test program has a path"));
    program.args(["--exact", &format!("proof::{test}")]).env(VARIABLE, format!("{mistake:?}"));
    program.stdout(Stdio::null()).stderr(Stdio::null());
    !program.status().expect("this program runs").success()
}

#[test]
fn every_mistake_is_found() {
    let missed: Vec<_> = FOUND
        .iter()
        .filter(|(mistake, tests)| !tests.iter().any(|test| finds(test, *mistake)))
        .map(|(mistake, _)| mistake)
        .collect();
    assert!(missed.is_empty(), "no test finds {missed:?}");
}

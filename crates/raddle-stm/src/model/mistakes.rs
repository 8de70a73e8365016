//! Owns: the test that each mistake which an interleaving can show is noticed by some model.
//! May use: `mistake`.
//! Never: a mistake in this process: loom does not survive some.

use crate::mistake::{Mistake, VARIABLE};
use std::process::Command;

/// Each with the models that notice it.
const NOTICED: &[(Mistake, &str)] = &[
    (Mistake::CommitsUnchecked, "versions::writes_are_not_skewed"),
    (Mistake::IgnoresLocks, "versions::writes_are_not_skewed"),
    (Mistake::TicksTooEarly, "versions::a_snapshot_that_was_moved_is_still_one"),
    (Mistake::UnlocksTooEarly, "versions::no_increment_is_lost"),
    (Mistake::TakesLocked, "versions::a_snapshot_has_all_of_a_commit_or_nothing"),
    (Mistake::LooksOnce, "versions::a_snapshot_has_all_of_a_commit_or_nothing"),
    (Mistake::ExtendsUnchecked, "versions::a_snapshot_that_was_moved_is_still_one"),
    (Mistake::IgnoresReservations, "reserve::what_is_reserved_is_of_one_moment"),
    (Mistake::ReadsUnreserved, "reserve::what_is_reserved_is_of_one_moment"),
    (Mistake::BreaksUncounted, "reserve::who_is_broken_sees_it_before_what_was_stored"),
    (Mistake::WatchesUnchecked, "watch::a_change_ends_the_wait"),
    (Mistake::LeavesTooEarly, "watch::a_change_ends_the_wait"),
    (Mistake::WakesNobody, "watch::a_change_ends_the_wait"),
    (Mistake::ForgetsWatchers, "watch::a_commit_that_steps_back_leaves_who_waits"),
    (Mistake::FreesAtOnce, "slots::nothing_is_freed_that_somebody_reads"),
    (Mistake::AnnouncesTooLate, "slots::nothing_is_freed_that_somebody_reads"),
];

/// Whether the model fails, with the mistake or without one.
fn fails(model: &str, mistake: Option<Mistake>) -> bool {
    let mut program = Command::new(std::env::current_exe().expect("a test program has a path"));
    program.args(["--exact", &format!("model::{model}")]).env_remove(VARIABLE);
    if let Some(mistake) = mistake {
        program.env(VARIABLE, format!("{mistake:?}"));
    }
    let ran = program.output().expect("this program runs");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("running 1 test"), "{model} was not run: {text}");
    !ran.status.success()
}

#[test]
fn every_mistake_is_noticed() {
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let unnoticed: Vec<_> = NOTICED.iter().filter(|(mistake, model)| !fails(model, Some(*mistake))).collect();
    assert!(unnoticed.is_empty(), "no model notices: {unnoticed:?}");
}

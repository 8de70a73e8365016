//! Owns: the test that each mistake which an interleaving can show is noticed by some model.
//! May use: `mistake`.
//! Never: a mistake in this process: loom does not survive some.

use crate::mistake::{Mistake, VARIABLE};
use std::process::Command;

/// Each with the model that notices it.
const NOTICED: &[(Mistake, &str)] = &[
    (Mistake::PushesBlindly, "page_word::what_two_push_the_holder_finds"),
    (Mistake::LinksOnce, "page_word::what_two_push_the_holder_finds"),
    (Mistake::PushesRelaxed, "page_word::a_page_that_is_given_up_is_adopted_by_one"),
    (Mistake::TakesRelaxed, "page_word::a_page_that_is_given_up_is_adopted_by_one"),
    (Mistake::NeverClaims, "page_word::a_page_that_is_given_up_is_adopted_by_one"),
    (Mistake::DisownsBlindly, "page_word::a_page_that_is_given_up_is_adopted_by_one"),
    (
        Mistake::DisownsRelaxed,
        "page_word::a_page_that_is_left_goes_to_one_who_sees_what_the_last_holder_wrote",
    ),
    (
        Mistake::ClaimsRelaxed,
        "page_word::a_page_that_is_left_goes_to_one_who_sees_what_the_last_holder_wrote",
    ),
    (Mistake::ClaimsBlindly, "page_word::two_who_claim_do_not_both_have_it"),
    (Mistake::TakesRunBlindly, "bits::a_run_that_is_half_taken_goes_back"),
    (Mistake::KeepsHalf, "bits::a_run_that_is_half_taken_goes_back"),
    (Mistake::GivesBackRelaxed, "bits::runs_over_words_are_had_by_one"),
    (Mistake::LeavesHint, "bits::the_hint_tells_of_what_came_back"),
    (Mistake::ForgetsTag, "records::a_record_is_had_by_one"),
    (Mistake::RecordsRelaxed, "records::a_record_is_had_by_one"),
    (Mistake::RestsRelaxed, "rest::a_heap_at_rest_is_had_by_its_thread_or_by_who_claims_it"),
    (Mistake::ClaimsRestRelaxed, "rest::a_heap_at_rest_is_had_by_its_thread_or_by_who_claims_it"),
    (Mistake::PutsRelaxed, "slots::a_word_is_had_by_one"),
    (Mistake::TakesWordBlindly, "slots::a_word_is_had_by_one"),
    (Mistake::WakesBlindly, "rest::who_wakes_does_not_take_the_heap_of_the_next_who_rests"),
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

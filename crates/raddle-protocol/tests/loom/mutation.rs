//! Weakens each row of the table of orderings in turn, and demands that some model fails.
//!
//! A model that fails may leave threads suspended inside a critical section, whose clean-up a process does not survive.
//! So each weakened model runs in a process of its own: this very program, told which model and which weakening.

#![allow(clippy::print_stdout, reason = "with --nocapture it says which model notices what")]

use raddle_protocol::model::{Mutation, mutations};
use std::process::Command;

const VARIABLE: &str = "RADDLE_LOOM_WEAKEN";
/// Weaken only what the models of this file are about.
const ONLY: &str = "RADDLE_LOOM_ONLY";

/// The weakening that this process is to run its models under.
pub(super) fn asked_for() -> Option<Mutation> {
    let number: usize = std::env::var(VARIABLE).ok()?.parse().expect("a number from the mutation test");
    Some(mutations()[number])
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("a test program has a path"))
}

/// The names of all models.
fn models() -> Vec<String> {
    let listed = this_program().args(["--list", "--format=terse", "--skip=mutation::"]).output();
    let text = String::from_utf8(listed.expect("this program runs").stdout).expect("names are text");
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect()
}

/// Whether the model fails under the weakening of this number.
fn notices(model: &str, number: usize) -> bool {
    let ran = this_program().args(["--exact", model]).env(VARIABLE, number.to_string()).output();
    let ran = ran.expect("this program runs");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("running 1 test"), "{model} was not run: {text}");
    !ran.status.success()
}

#[test]
fn every_weakened_ordering_is_noticed() {
    let models = models();
    assert!(!models.is_empty(), "the list of models is empty");
    let only = std::env::var(ONLY).ok();
    let mut unnoticed = Vec::new();
    for (number, mutation) in mutations().into_iter().enumerate() {
        let site = mutation.site();
        let protocol = site.name.split('_').next().unwrap_or_default().to_lowercase();
        if only.as_ref().is_some_and(|only| *only != protocol) {
            continue;
        }
        // Only those of its own protocol count, so that a failure points at the page.
        let mut own = models.iter().filter(|model| model.starts_with(&format!("{protocol}::")));
        match own.find(|model| notices(model, number)) {
            Some(model) => println!("{} -> {}: noticed by {model}", site.name, mutation.becomes),
            None => unnoticed.push(format!("{} -> {} ({})", site.name, mutation.becomes, site.why)),
        }
    }
    assert!(unnoticed.is_empty(), "no model notices:\n{}", unnoticed.join("\n"));
}

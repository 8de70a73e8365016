//! Whether the tests would find what is wrong: with each of the mistakes that the analysis can be told to make, in a
//! process of its own, as it may end anyhow.

use std::process::{Command, Stdio};

/// How many there are in `mistakes`, from 1 on. The random loops of so many rounds show each, or a corner does.
const MISTAKES: u32 = 24;
const ENOUGH: u64 = 1200;
/// Of the random loops without a mistake; they have a test of their own.
const ROUNDS: u64 = 50;

#[test]
fn each_planted_mistake_is_found() {
    let program = std::env::current_exe().unwrap();
    // Some of them make loops that do not end: that is found by whoever waits.
    let limited = "ulimit -t 300 && exec \"$@\"";
    let is_missed = |mistake: u32, rounds: u64| {
        let mut command = Command::new("sh");
        command.args(["-c", limited, "sh"]).arg(&program).args(["--exact", TEST]).args(CORNERS);
        command.env("RADDLE_FUZZ_MISTAKE", mistake.to_string()).env("RADDLE_FUZZ_ROUNDS", rounds.to_string());
        command.env_remove("RADDLE_FUZZ_FROM").stdout(Stdio::null()).stderr(Stdio::null());
        let ended = command.status().unwrap();
        eprintln!("mistake {mistake}, {rounds} rounds: {ended}");
        ended.success()
    };
    const TEST: &str = "loops::loops_over_arrays_do_the_same";
    // What chance seldom makes.
    const CORNERS: [&str; 3] = [
        "corners::what_one_way_writes_does_the_same",
        "corners::a_sum_of_a_subscript_does_the_same",
        "corners::two_sums_that_are_checked_together_do_the_same",
    ];
    assert!(is_missed(0, ROUNDS), "without a mistake nothing is found");
    let missed: Vec<u32> = (1..=MISTAKES).filter(|&mistake| is_missed(mistake, ENOUGH)).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

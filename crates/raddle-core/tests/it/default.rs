//! The default runtime and its settings from the environment; each test in a program of its own.

use crate::child::{assert_said, assert_success, in_child, in_child_with, stderr};
use raddle::{Builder, Queues, Runtime, SETTINGS, csp};
use std::time::Duration;

#[test]
fn it_starts_on_first_use() {
    let output = in_child("default::it_starts_on_first_use", || {
        let count = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let before = count();
        csp::spawn(|| ()).join().unwrap();
        assert!(count() > before);
    });
    assert_success(&output);
}

#[test]
fn it_prints_its_counters_at_exit_if_asked() {
    let test = "default::it_prints_its_counters_at_exit_if_asked";
    let variables = [("RADDLE_STATS", "on"), ("RADDLE_WORKERS", "2")];
    let output = in_child_with(test, &variables, || {
        csp::spawn(|| csp::spawn(|| ()).join().unwrap()).join().unwrap();
    });
    assert_success(&output);
    assert_said(&output, &["raddle: 2 workers, 1 spawned from outside", "spawns", "worker 0", "worker 1"]);
}

#[test]
fn it_says_nothing_if_not_asked() {
    let output = in_child("default::it_says_nothing_if_not_asked", || csp::spawn(|| ()).join().unwrap());
    assert_success(&output);
    assert!(!stderr(&output).contains("raddle"), "{}", stderr(&output));
}

#[test]
fn its_size_comes_from_the_environment_and_code_wins() {
    let test = "default::its_size_comes_from_the_environment_and_code_wins";
    let output = in_child_with(test, &[("RADDLE_WORKERS", "3")], || {
        csp::spawn_on(2, || ()).join().unwrap();
        assert!(csp::Builder::new().worker(3).spawn(|| ()).is_err());
        assert_eq!(Runtime::builder().build().unwrap().workers(), 3);
        assert_eq!(Runtime::builder().workers(1).build().unwrap().workers(), 1);
    });
    assert_success(&output);
}

#[test]
fn a_wrong_setting_is_an_error_that_lists_what_is_allowed() {
    let test = "default::a_wrong_setting_is_an_error_that_lists_what_is_allowed";
    for setting in SETTINGS {
        let output = in_child_with(test, &[(setting.variable, "nonsense")], || {
            let refused = csp::Builder::new().spawn(|| ()).unwrap_err();
            eprintln!("refused: {refused}");
        });
        assert_success(&output);
        let wanted = format!("{} is `nonsense`; it can be {}", setting.variable, setting.allowed);
        assert_said(&output, &[&format!("refused: {wanted}")]);
    }
}

#[test]
fn an_unknown_setting_is_an_error_that_lists_the_known() {
    let test = "default::an_unknown_setting_is_an_error_that_lists_the_known";
    let output = in_child_with(test, &[("RADDLE_WROKERS", "2")], || {
        eprintln!("refused: {}", Runtime::builder().build().unwrap_err());
    });
    assert_success(&output);
    assert_said(&output, &["refused: RADDLE_WROKERS is no setting; there are RADDLE_WORKERS"]);
}

/// As `#[raddle::main]` does. Who asks for a runtime, or spawns by a builder, gets the error.
#[test]
fn a_wrong_setting_ends_a_program_that_never_asked_for_a_runtime() {
    let test = "default::a_wrong_setting_ends_a_program_that_never_asked_for_a_runtime";
    let uses: [(&str, fn()); 6] = [
        ("spawn", || drop(csp::spawn(|| ()))),
        ("spawn_on", || drop(csp::spawn_on(0, || ()))),
        ("thread", || drop(raddle::thread::spawn(|| ()))),
        ("scope", || raddle::thread::scope(|scope| drop(scope.spawn(|| ())))),
        ("join", || _ = raddle::join(|| (), || ())),
        ("task", || drop(raddle::task::spawn(async {}))),
    ];
    for (name, _) in uses {
        let output = in_child_with(test, &[("RADDLE_BALANCE", "stael"), ("TEST_USE", name)], || {
            let wanted = std::env::var("TEST_USE").expect("the parent says it");
            uses.iter().filter(|(name, _)| *name == wanted).for_each(|(_, use_it)| use_it());
        });
        assert_eq!(output.status.code(), Some(2), "{name}: {}", stderr(&output));
        let said = "raddle: RADDLE_BALANCE is `stael`; it can be steal, share, fair, none";
        assert!(stderr(&output).lines().any(|line| line == said), "{name}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{name}: {}", stderr(&output));
    }
}

#[test]
fn contradictions_are_errors() {
    let test = "default::contradictions_are_errors";
    let output = in_child_with(test, &[("RADDLE_QUEUES", "shared"), ("RADDLE_BALANCE", "steal")], || {
        eprintln!("refused: {}", csp::Builder::new().spawn(|| ()).unwrap_err());
    });
    assert_success(&output);
    assert_said(&output, &["refused: the balance steal or share contradicts queues=shared"]);
}

#[test]
fn what_the_environment_may_not_say_code_may_not_either() {
    let check = |builder: Builder, said: &str| {
        let refused = builder.build().expect_err(said).to_string();
        assert!(refused.starts_with(said) && refused.contains("it can be"), "{refused}");
    };
    let builder = || Runtime::builder().workers(2);
    check(builder().workers(0), "RADDLE_WORKERS is `0`");
    check(builder().workers(1025), "RADDLE_WORKERS is `1025`");
    check(builder().queues(Queues::PerGroup(0)), "RADDLE_QUEUES is `group:0`");
    check(builder().tick(Duration::ZERO), "RADDLE_TICK is `0ns`");
    check(builder().spin(Duration::MAX), "RADDLE_SPIN is `");
}

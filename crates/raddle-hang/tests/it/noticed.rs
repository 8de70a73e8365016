//! When it is noticed that nobody can go on, and that somebody can.

use crate::child::in_program;
use crate::runtime;
use raddle::channel;
use raddle::csp;
use std::time::Duration;

/// An OS thread that has used nothing of ours yet holds the only sender, for longer than the watcher's patience.
pub(super) fn a_sender_outside() {
    let (sender, receiver) = channel::bounded::<u32>(1);
    let late = std::thread::spawn(move || {
        // Not to wait for anybody: this is the time in which a false alarm would come.
        std::thread::sleep(Duration::from_millis(700));
        sender.send(7).unwrap();
    });
    assert_eq!(runtime(2).run(|| receiver.recv()), Ok(7));
    late.join().unwrap();
}

pub(super) fn tasks() {
    runtime(1).block_on(std::future::pending::<()>());
}

/// For longer than the watcher ticks, this OS thread could still wake somebody; then it sleeps for good, too.
pub(super) fn hangs_late() {
    let rt = runtime(1);
    let child = rt.spawn(csp::park);
    // Not to wait for anybody: this is the time in which the watcher, with nothing to look at, lies down.
    std::thread::sleep(Duration::from_millis(700));
    child.join().unwrap();
}

/// As `hangs_late`, but what ends is an OS thread that has never used anything of ours.
pub(super) fn last_unrelated_thread_ends() {
    let busy = || std::thread::sleep(Duration::from_millis(700));
    drop(std::thread::spawn(busy));
    runtime(1).run(csp::park);
}

#[test]
fn an_os_thread_that_could_still_wake_somebody_is_no_deadlock() {
    let output = in_program("a_sender_outside", &[]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn tasks_that_nobody_wakes_are_a_deadlock() {
    let output = in_program("tasks", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_deadlock_is_found_whenever_the_last_one_goes_to_sleep() {
    for program in ["hangs_late", "last_unrelated_thread_ends"] {
        let output = in_program(program, &[]);
        assert_eq!(output.status.code(), Some(3), "{program}: {output:?}");
    }
}

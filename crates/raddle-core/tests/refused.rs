//! A program of everything, refused one thing at a time: each allocation, OS thread, mapping, descriptor.
//!
//! `REFUSE=every cargo test --release -p raddle-core --test refused` refuses each; otherwise some.
#![cfg(not(any(loom, raddle_asan, raddle_tsan, raddle_twin)))]
#![allow(clippy::print_stderr, reason = "children say on standard error what they were refused")]

#[path = "support/child.rs"]
mod child;
#[path = "support/refuse.rs"]
mod refuse;

use child::{in_child, program};
use raddle::{Runtime, channel, csp, sync, task};
use refuse::{DESCRIPTORS, MEMORY, Refused, THREADS, each_in_turn, see_each};
use std::fmt::Debug;
use std::process::Command;
use std::time::Duration;

/// Said, not thrown: the program goes on with what it has.
fn told<T, E: Debug>(what: &str, result: Result<T, E>) -> Option<T> {
    result.inspect_err(|error| eprintln!("{what}: {error:?}")).ok()
}

/// Threads, processes, tasks, timers, blocking calls, channels, locks and forks, on two workers.
fn everything() {
    let Some(rt) = told("a runtime", Runtime::builder().workers(2).build()) else { std::process::exit(1) };
    let failures = rt.run(|| {
        let (give, take) = channel::unbounded();
        let lock = sync::Arc::new(sync::Mutex::new(0));
        let process = |n: usize| {
            let (give, lock) = (give.clone(), lock.clone());
            let body = move || {
                *lock.lock().expect("nobody panics") += 1;
                (0..40).for_each(|k| give.send(n + k).expect("it is received"));
                csp::sleep(Duration::from_micros(50));
            };
            told("a process", csp::Builder::new().stack_size(1 << (14 + n % 4)).spawn(body))
        };
        let processes: Vec<_> = (0..12).filter_map(process).collect();
        let thread = |n: usize| {
            let builder = raddle::thread::Builder::new().name(format!("thread {n}"));
            told("a thread", builder.spawn(|| csp::sleep(Duration::from_micros(100))))
        };
        let threads: Vec<_> = (0..3).filter_map(thread).collect();
        let task = task::spawn(async {
            task::sleep(Duration::from_micros(300)).await;
            task::yield_now().await;
        });
        let calls: Vec<_> = (0..3)
            .map(|_| csp::spawn(|| raddle::blocking(|| drop(std::fs::read("/proc/self/stat")))))
            .collect();
        let (left, right) = raddle::join(|| 1, csp::yield_now);
        assert_eq!((left, right), (1, ()));
        let joins = processes.into_iter().chain(calls).map(|it| told("a join", it.join()).is_none() as usize);
        let failures: usize = joins.sum();
        let failures = failures
            + threads
                .into_iter()
                .filter_map(|it| told("a thread", it.join()).is_none().then_some(()))
                .count();
        drop(give);
        let messages = take.iter().count();
        assert!(messages.is_multiple_of(40));
        failures + usize::from(told("a task", task::block_on(task)).is_none())
    });
    if failures > 0 || rt.shutdown() > 0 {
        std::process::exit(1);
    }
}

#[test]
fn the_program() {
    if std::env::var_os("TEST_PROGRAM").is_some_and(|name| name == "everything") {
        let _exits = in_child("the_program", everything);
    }
}

fn refuse_each(what: Refused) {
    each_in_turn(what, env!("CARGO_TARGET_TMPDIR"), of_everything);
}

fn of_everything() -> Command {
    let mut command = program("the_program", &[]);
    command.env("TEST_PROGRAM", "everything");
    command
}

#[test]
fn each_allocation() {
    refuse_each(Refused::Allocations);
}

#[test]
fn each_call_for_memory() {
    refuse_each(MEMORY);
}

#[test]
fn each_os_thread() {
    refuse_each(THREADS);
}

#[test]
fn each_descriptor() {
    refuse_each(DESCRIPTORS);
}

/// The clock of the day may go backwards, by hand or by a server's wish. No wait looks at it: not those of processes,
/// tasks and timers, not those of OS threads, the standard library's included.
#[test]
fn no_wait_looks_at_the_clock_of_the_day() {
    const WAITS: &[libc::c_long] =
        &[libc::SYS_futex, libc::SYS_clock_nanosleep, libc::SYS_timerfd_create, libc::SYS_timer_create];
    let (mut waits, mut of_the_day) = (0, Vec::new());
    see_each(WAITS, of_everything(), |call, arguments| {
        waits += 1;
        let flag = libc::FUTEX_CLOCK_REALTIME as u64;
        let looks = match call {
            libc::SYS_futex => arguments[1] & flag != 0,
            _ => arguments[0] == libc::CLOCK_REALTIME as u64,
        };
        if looks {
            of_the_day.push((call, *arguments));
        }
    });
    assert!(waits > 10, "{waits}");
    // glibc waits so for the end of an OS thread, without a time: `pthread_join`.
    of_the_day.retain(|(call, arguments)| *call != libc::SYS_futex || arguments[3] != 0);
    assert!(of_the_day.is_empty(), "{of_the_day:x?}");
}

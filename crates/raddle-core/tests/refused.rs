//! Programs of everything, refused one thing at a time: each allocation, OS thread, mapping, descriptor.
//!
//! `REFUSE=every cargo test --release -p raddle-core --test refused` refuses each; otherwise some.
#![cfg(not(any(loom, raddle_asan, raddle_tsan, raddle_twin)))]
#![allow(clippy::print_stderr, reason = "children say on standard error what they were refused")]

#[path = "support/child.rs"]
mod child;
#[path = "support/refuse.rs"]
mod refuse;

use child::{in_child, program};
use raddle::stm::{TVar, atomically};
use raddle::trace::Mark;
use raddle::{Runtime, ThreadPoolBuilder, channel, csp, sync, task, trace};
use refuse::{DESCRIPTORS, MEMORY, Refused, THREADS, each_in_turn, see_each};
use std::fmt::Debug;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Jobs of a pool on threads of its own, and of one whose threads the program has prepared, to whose storage they keep.
fn pools() {
    let plain = told("a pool", ThreadPoolBuilder::new().num_threads(2).build());
    let prepared = ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("hand {n}"));
    let prepared = told("a prepared pool", prepared.start_handler(|_| ()).exit_handler(|_| ()).build());
    let (Some(plain), Some(prepared)) = (plain, prepared) else { std::process::exit(1) };
    for pool in [plain, prepared] {
        let done = AtomicUsize::new(0);
        let job = || {
            let (left, right) = raddle::join(|| 1, raddle::current_num_threads);
            csp::sleep(Duration::from_micros(50));
            done.fetch_add(left + right, Ordering::Relaxed);
        };
        pool.scope(|scope| (0..6).for_each(|_| scope.spawn(|_| job())));
        pool.install(job);
        pool.broadcast(|_| job());
        assert_eq!(done.into_inner(), 3 * 9);
    }
}

/// Transactions that wait for another, in a program that is traced and looks at itself.
fn observed() {
    static ADDS: Mark = Mark::new("adds");
    let file = std::env::temp_dir().join(format!("raddle-refused-{}.rdt", std::process::id()));
    let builder = Runtime::builder().workers(2).trace(&file).trace_level(trace::Level::User);
    let Some(rt) = told("a runtime", builder.build()) else { std::process::exit(1) };
    let failures = rt.run(|| {
        let of_all = sync::Arc::new(TVar::new(0));
        let waits = |n: u64| {
            let of_all = of_all.clone();
            let body = move || {
                atomically(|tx| {
                    let sum = tx.read(&of_all)?;
                    tx.check(sum >= n)
                })
            };
            told("a process", csp::Builder::new().name(format!("waits for {n}")).spawn(body))
        };
        let all: Vec<_> = (1..6).filter_map(waits).collect();
        assert!(raddle::dump().processes() > 0, "it does not see itself");
        for _ in 0..6 {
            trace::mark(&ADDS, 1);
            atomically(|tx| tx.modify(&of_all, |sum| sum + 1));
            csp::yield_now();
        }
        let failures = 5 - all.len();
        failures
            + all.into_iter().filter_map(|it| it.join().map_err(|_| eprintln!("none of it")).err()).count()
    });
    let left = rt.shutdown();
    if failures > 0 || left > 0 || std::fs::remove_file(file).is_err() {
        eprintln!("{failures} failed, and {left} are left; or there is no trace");
        std::process::exit(1);
    }
}

/// Schedules from seeds, one of which finds the mistake.
fn explored() {
    let options = raddle::explore::Options { iterations: 8, ..Default::default() };
    let run = || {
        let word = sync::Arc::new(sync::Mutex::new(0));
        let adds = || {
            let word = word.clone();
            csp::spawn(move || *word.lock().expect("nobody panics") += 1)
        };
        [adds(), adds()].into_iter().for_each(|it| it.join().expect("none panics"));
        assert_eq!(*word.lock().expect("nobody panics"), 2);
    };
    if told("an exploration", raddle::explore::try_explore(options, run)).is_none() {
        std::process::exit(1);
    }
}

const PROGRAMS: [(&str, fn()); 4] =
    [("everything", everything), ("pools", pools), ("observed", observed), ("explored", explored)];

#[test]
fn the_program() {
    let wanted = std::env::var("TEST_PROGRAM").unwrap_or_default();
    for (name, body) in PROGRAMS {
        if name == wanted {
            let _exits = in_child("the_program", body);
        }
    }
}

fn refuse_each(what: Refused) {
    for (name, _) in PROGRAMS {
        each_in_turn(what, name, env!("CARGO_TARGET_TMPDIR"), || of_program(name));
    }
}

fn of_program(name: &str) -> Command {
    let mut command = program("the_program", &[]);
    command.env("TEST_PROGRAM", name);
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
    see_each(WAITS, of_program("everything"), |call, arguments| {
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

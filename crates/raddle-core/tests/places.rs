//! Places: what is said of a panic, an overflow, a wait or an explored schedule names the program's lines, never the
//! runtime's.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]
#![allow(unused_must_use, dropping_copy_types, reason = "nobody wants what ends in a panic")]

#[path = "support/child.rs"]
mod child;

use child::{in_child_with, stderr};
use raddle::{ThreadPool, ThreadPoolBuilder, csp, explore, task, thread};
use std::hint::black_box;
use std::time::Duration;

/// Says to the child which case it is.
const CASE: &str = "TEST_CASE";

/// What a child does.
type Case = (&'static str, fn());

/// Runs each case in a process of its own. What it says has `wanted`, and no line of the runtime's own sources.
#[track_caller]
fn check(test: &str, wanted: &str, cases: &[Case]) {
    for (name, _) in cases {
        let output = in_child_with(test, &[(CASE, name), ("RUST_BACKTRACE", "0")], || {
            let asked = std::env::var(CASE).expect("the parent says which");
            let body = cases.iter().find(|(name, _)| *name == asked).map(|(_, body)| body);
            body.expect("it is one of the cases")();
        });
        let said = stderr(&output);
        assert!(said.contains(wanted), "{name}: \"{wanted}\" is missing in:\n{said}");
        let ours = said.lines().find(|line| names_our_sources(line));
        assert_eq!(ours, None, "{name}: a place of the runtime's in:\n{said}");
    }
}

/// Whether it names a file as `raddle-core/src/`.
fn names_our_sources(line: &str) -> bool {
    let mut crates = line.split("raddle-").skip(1);
    crates.any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with("/src/"))
}

#[test]
fn a_line_of_the_runtime_is_recognised() {
    assert!(names_our_sources("spawned at /a/crates/raddle-core/src/process/make.rs:163:19"));
    assert!(!names_our_sources("spawned at crates/raddle-core/tests/places.rs:3:4, on raddle-0"));
}

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(1).build().expect("a pool")
}

fn oh() {
    panic!("oh");
}

/// Until what was spawned has panicked, which ends the program.
fn until_it_ends() {
    csp::sleep(Duration::from_secs(60));
}

fn recurse() -> u64 {
    fn deeper(n: u64) -> u64 {
        let here = black_box([n; 16]);
        if n == 0 { 0 } else { deeper(black_box(n + 1)) + here[(n % 16) as usize] }
    }
    black_box(deeper(1))
}

#[test]
fn a_panic_names_the_line_that_spawned() {
    let cases: &[Case] = &[
        ("process", || drop(csp::spawn(oh).join())),
        ("csp scope", || csp::scope(|s| drop(s.spawn(|| panic!("oh"))))),
        ("thread", || drop(thread::spawn(oh).join())),
        ("thread scope", || thread::scope(|s| drop(s.spawn(|| panic!("oh"))))),
        ("par", || drop(csp::par!(panic!("oh"), csp::yield_now()))),
        ("join", || drop(raddle::join(|| panic!("oh"), || 2))),
        ("fork", || raddle::fork(|| panic!("oh")).join()),
        ("spawn", || {
            raddle::spawn(|| panic!("oh"));
            until_it_ends();
        }),
        ("spawn in a process", || {
            let spawner = csp::spawn(|| {
                raddle::spawn_fifo(|| panic!("oh"));
                until_it_ends();
            });
            spawner.join().expect("it sleeps");
        }),
        ("broadcast", || drop(raddle::broadcast::<_, ()>(|_| panic!("oh")))),
        ("broadcast of a scope", || raddle::scope(|s| s.spawn_broadcast(|_, _| panic!("oh")))),
        ("spawn_broadcast", || {
            raddle::spawn_broadcast(|_| panic!("oh"));
            until_it_ends();
        }),
        ("scope", || raddle::scope(|_| panic!("oh"))),
        ("scope on an OS thread", || raddle::in_place_scope(|s| s.spawn(|_| panic!("oh")))),
        ("install", || pool().install(|| panic!("oh"))),
        ("join in a pool", || drop(pool().join(|| panic!("oh"), || 2))),
        ("scope in a pool", || pool().scope(|_| panic!("oh"))),
        ("scope beside a pool", || pool().in_place_scope(|s| s.spawn(|_| panic!("oh")))),
        ("fifo scope beside a pool", || pool().in_place_scope_fifo(|s| s.spawn_fifo(|_| panic!("oh")))),
        ("runtime", || raddle::Runtime::builder().workers(1).build().expect("one").run(|| panic!("oh"))),
    ];
    check("a_panic_names_the_line_that_spawned", "raddle: in ", cases);
}

#[test]
fn a_panic_in_a_task_is_an_error_that_names_no_line_of_ours() {
    check(
        "a_panic_in_a_task_is_an_error_that_names_no_line_of_ours",
        "the task panicked: oh",
        &[
            ("task", || {
                let ended = task::block_on(task::spawn(async { oh() }));
                eprintln!("{}", ended.expect_err("it panicked"));
            }),
            ("blocking", || {
                let ended = task::block_on(task::spawn_blocking(oh));
                eprintln!("{}", ended.expect_err("it panicked"));
            }),
        ],
    );
}

#[test]
fn a_named_thread_says_its_name_once() {
    let output = in_child_with("a_named_thread_says_its_name_once", &[("RUST_BACKTRACE", "0")], || {
        let bee = thread::Builder::new().name("bumble".into()).spawn(oh).expect("a thread");
        drop(bee.join());
    });
    assert_eq!(stderr(&output).matches("bumble").count(), 1, "{}", stderr(&output));
}

// AddressSanitizer speaks for itself of overflows.
#[cfg(not(any(raddle_asan, raddle_twin)))]
#[test]
fn an_overflow_names_the_line_that_spawned() {
    check(
        "an_overflow_names_the_line_that_spawned",
        "raddle: stack overflow in ",
        &[
            ("process", || drop(csp::spawn(recurse).join())),
            ("thread", || drop(thread::spawn(recurse).join())),
            ("join", || drop(raddle::join(recurse, || 2))),
            ("fork", || drop(raddle::fork(recurse).join())),
            ("scope", || raddle::scope(|s| s.spawn(|_| drop(recurse())))),
            ("pool", || drop(pool().install(recurse))),
        ],
    );
}

fn wait() {
    csp::park();
}

/// Runs what never ends, and shows a dump as soon as so many are told to wait.
fn dumped(waits: usize, never_ends: fn()) {
    std::thread::spawn(never_ends);
    loop {
        let dump = raddle::dump().to_string();
        if dump.matches(" waits in ").count() >= waits {
            eprintln!("{dump}");
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_dump_names_the_lines_that_wait() {
    check(
        "a_dump_names_the_lines_that_wait",
        " waits in park at crates/raddle-core/tests/places.rs",
        &[
            ("broadcast", || {
                dumped(2, || csp::spawn(|| drop(raddle::broadcast(|_| wait()))).join().expect("never"))
            }),
            ("pool", || dumped(2, || csp::spawn(|| pool().install(wait)).join().expect("never"))),
            ("pool join", || {
                dumped(3, || csp::spawn(|| drop(pool().join(wait, wait))).join().expect("never"))
            }),
            ("pool scope", || {
                dumped(2, || csp::spawn(|| pool().scope(|s| s.spawn(|_| wait()))).join().expect("never"));
            }),
            ("pool fifo scope", || {
                dumped(2, || {
                    csp::spawn(|| pool().scope_fifo(|s| s.spawn_fifo(|_| wait()))).join().expect("never")
                });
            }),
            ("runtime", || {
                fn run() {
                    raddle::Runtime::builder().workers(1).build().expect("one").run(wait);
                }
                dumped(2, || csp::spawn(run).join().expect("never"));
            }),
        ],
    );
}

#[test]
fn a_schedule_names_the_lines_of_the_program() {
    check(
        "a_schedule_names_the_lines_of_the_program",
        "the schedule, ",
        &[
            ("drops", || {
                explore::check_random(
                    || {
                        let (sender, receiver) = raddle::channel::bounded(1);
                        let taken = raddle::fork(move || receiver.recv().map_or(0, |n: u32| n));
                        sender.send(3).expect("there is room");
                        drop(sender);
                        raddle::par_for(0..3, |_| csp::yield_now());
                        assert_eq!(taken.join(), 0);
                    },
                    3,
                );
            }),
            ("spawned", || {
                explore::replay(
                    || {
                        raddle::spawn(|| ());
                        raddle::scope(|s| s.spawn(|_| csp::yield_now()));
                        raddle::broadcast(|_| csp::yield_now());
                        csp::park();
                    },
                    "obvious",
                );
            }),
        ],
    );
}

//! A program that is linked statically has no glibc whose thread-local storage could be had for processes: whoever
//! starts a runtime is told so, unless the program has chosen light processes, and these work.
//!
//! The group `static` of `cargo xtask test` links it so; otherwise there is nothing here.
#![cfg(all(target_feature = "crt-static", target_os = "linux", target_env = "gnu"))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

#[path = "support/child.rs"]
mod child;

use child::{assert_said, assert_success, in_child, stderr};
use raddle::{BuildError, Runtime, channel, csp, sync, task};
use std::time::Duration;

/// What is missing, and what there is instead.
const CAUSES: [&str; 2] =
    ["is not found, as in a program that is linked statically", "light processes work without it"];

#[test]
fn a_runtime_is_refused_with_the_cause() {
    for workers in 1..3 {
        let refused = Runtime::builder().workers(workers).build();
        let Err(error @ BuildError::Threads(_)) = refused else { panic!("{refused:?}") };
        let error = error.to_string();
        CAUSES.iter().for_each(|cause| assert!(error.contains(cause), "{error}"));
    }
}

#[test]
fn a_program_that_asks_for_no_runtime_ends_with_the_cause() {
    let output = in_child("a_program_that_asks_for_no_runtime_ends_with_the_cause", || {
        let _never = csp::spawn(|| eprintln!("it has run")).join();
    });
    assert_eq!(output.status.code(), Some(101), "{}", stderr(&output));
    assert_said(&output, &["the default runtime cannot be started: "]);
    assert_said(&output, &CAUSES);
    assert!(!stderr(&output).contains("it has run"), "{}", stderr(&output));
}

#[test]
fn light_processes_tasks_and_forks_work() {
    let output = in_child("light_processes_tasks_and_forks_work", || {
        // SAFETY: no process uses a thread-local variable over a wait.
        let runtime =
            unsafe { Runtime::builder().workers(2).light_processes() }.build().expect("they need none");
        let sum = runtime.run(|| {
            let (give, take) = channel::bounded(1);
            let lock = sync::Arc::new(sync::Mutex::new(0));
            let process = |n: u64| {
                let (give, lock) = (give.clone(), lock.clone());
                csp::spawn(move || {
                    csp::sleep(Duration::from_micros(n));
                    *lock.lock().expect("nobody panics") += n;
                    give.send(n).expect("it is received");
                })
            };
            let all: Vec<_> = (0..100).map(process).collect();
            drop(give);
            let sum: u64 = take.iter().sum();
            all.into_iter().for_each(|it| it.join().expect("none panics"));
            assert_eq!(*lock.lock().expect("nobody panics"), sum);
            let task = task::spawn(async { task::sleep(Duration::from_micros(9)).await });
            task::block_on(task).expect("it does not panic");
            assert_eq!(raddle::join(|| 1, csp::yield_now), (1, ()));
            assert!(!raddle::blocking(|| std::fs::read("/proc/self/stat").expect("it is there")).is_empty());
            // What cannot be without storage of its own is refused.
            let refused = raddle::thread::Builder::new().spawn(|| ()).map(drop).expect_err("it has none");
            assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported, "{refused}");
            sum
        });
        assert_eq!((sum, runtime.shutdown()), (4950, 0));
    });
    assert_success(&output);
}

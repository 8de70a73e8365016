//! Panics: caught at the base, delivered by join, reported with a name.

use crate::child::{assert_said, assert_success, in_child};
use crate::runtime;
use raddle::csp;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

#[test]
fn a_panic_is_delivered_by_join_with_its_payload() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let panicked = csp::spawn(|| -> u32 { resume_unwind(Box::new(77_u64)) });
            assert_eq!(panicked.join().unwrap_err().downcast_ref::<u64>(), Some(&77));
            assert_eq!(csp::spawn(|| 1).join().unwrap(), 1, "the worker goes on");
        });
    }
}

#[test]
fn a_panic_of_the_first_process_reaches_the_caller_of_run() {
    let rt = runtime(1);
    let caught = catch_unwind(AssertUnwindSafe(|| rt.run(|| resume_unwind(Box::new("from within")))));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"from within"));
    assert_eq!(rt.run(|| 3), 3);
}

#[test]
fn a_panic_that_is_caught_inside_stays_inside() {
    let value = runtime(1).run(|| {
        let caught = catch_unwind(|| resume_unwind(Box::new(1_u8)));
        csp::yield_now();
        caught.is_err()
    });
    assert!(value);
}

#[test]
fn a_panicking_process_drops_what_it_has_and_may_wait_in_a_drop() {
    struct Waits(csp::Process);
    impl Drop for Waits {
        fn drop(&mut self) {
            csp::yield_now();
            csp::sleep(Duration::from_micros(10));
            csp::park_timeout(Duration::from_micros(10));
            assert!(csp::current().is_some());
            self.0.unpark();
        }
    }
    runtime(2).run(|| {
        let parent = csp::current().unwrap();
        let panicked = csp::spawn(move || {
            let _waits = Waits(parent);
            resume_unwind(Box::new(()));
        });
        csp::park();
        assert!(panicked.join().is_err());
    });
}

#[test]
fn a_process_that_unwinds_can_be_unparked_by_another_worker() {
    struct Parks;
    impl Drop for Parks {
        fn drop(&mut self) {
            csp::park();
        }
    }
    runtime(2).run(|| {
        let unwinds = csp::spawn_on(0, || {
            let _parks = Parks;
            resume_unwind(Box::new(()));
        });
        let process = unwinds.process();
        csp::spawn_on(1, move || process.unpark()).join().unwrap();
        assert!(unwinds.join().is_err());
    });
}

#[test]
fn many_panics_at_once_do_not_mix() {
    runtime(2).run(|| {
        let spawn = |n: u32| {
            csp::spawn(move || {
                csp::yield_now();
                if n.is_multiple_of(3) {
                    resume_unwind(Box::new(n));
                }
                n
            })
        };
        let handles: Vec<_> = (0..600).map(spawn).collect();
        for (n, handle) in (0_u32..).zip(handles) {
            match handle.join() {
                Ok(value) => assert!(value == n && n % 3 != 0),
                Err(payload) => assert_eq!(payload.downcast_ref::<u32>(), Some(&n)),
            }
        }
    });
}

#[test]
fn a_detached_panic_shows_the_process_by_name_number_and_site() {
    let output = in_child("panics::a_detached_panic_shows_the_process_by_name_number_and_site", || {
        let rt = runtime(1);
        rt.run(|| {
            let builder = csp::Builder::new().name("lost sheep");
            drop(builder.spawn(|| panic!("nobody joins me")).unwrap());
            drop(csp::spawn(|| panic!("without a name")));
        });
    });
    assert_success(&output);
    let file = file!();
    let site = format!("spawned at {}", file.trim_start_matches("crates/raddle-core/"));
    let wanted =
        ["raddle: in process 'lost sheep' (#", "nobody joins me", "raddle: in process (#", "without a name"];
    assert_said(&output, &wanted);
    assert!(site.ends_with("panics.rs"));
    assert_said(&output, &["panics.rs:"]);
}

#[test]
fn an_os_threads_panic_is_not_taken_for_a_processs() {
    let output = in_child("panics::an_os_threads_panic_is_not_taken_for_a_processs", || {
        runtime(1).run(|| ());
        let _panicked = std::thread::spawn(|| panic!("plain")).join();
    });
    assert_success(&output);
    assert_said(&output, &["plain"]);
    assert!(!crate::child::stderr(&output).contains("raddle: in"));
}

#[test]
fn the_default_runtime_may_start_while_its_user_unwinds() {
    struct Spawns;
    impl Drop for Spawns {
        fn drop(&mut self) {
            eprintln!("joined {}", csp::spawn(|| 42).join().unwrap());
        }
    }
    let output = in_child("panics::the_default_runtime_may_start_while_its_user_unwinds", || {
        let panicked = catch_unwind(|| {
            let _spawns = Spawns;
            panic!("on the way out");
        });
        assert!(panicked.is_err());
    });
    assert_success(&output);
    assert_said(&output, &["joined 42"]);
}

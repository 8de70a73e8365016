//! What a forked child finds.

use crate::child::{assert_said, assert_success, in_child};
use crate::runtime;
use raddle_core::{blocking, csp, task, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Forks; returns in the child only, with `None`, and in the parent with the child's exit code.
fn fork() -> Option<i32> {
    // SAFETY: the child uses only what the tests say that it may.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        return None;
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    Some(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 })
}

#[test]
fn a_process_goes_on_in_the_child_and_the_default_runtime_starts_anew() {
    let output = in_child("fork::a_process_goes_on_in_the_child_and_the_default_runtime_starts_anew", || {
        let code = csp::spawn(|| {
            let code = fork();
            if code.is_none() {
                assert!(csp::current().is_none());
                assert_eq!(csp::spawn(|| 7).join().unwrap(), 7);
                eprintln!("the child is done");
            }
            code
        });
        assert_eq!(code.join().unwrap(), Some(0));
    });
    assert_success(&output);
    assert_said(&output, &["the child is done"]);
}

#[test]
fn a_cell_goes_on_to_the_end_of_its_poll_and_nobody_else_does() {
    let output = in_child("fork::a_cell_goes_on_to_the_end_of_its_poll_and_nobody_else_does", || {
        let parent = std::process::id();
        runtime(1).run(|| {
            let forks = task::spawn(async move {
                let code = fork();
                task::yield_now().await;
                assert_eq!(std::process::id(), parent, "the child went on as a worker");
                code
            });
            assert_eq!(task::block_on(forks).unwrap(), Some(0));
        });
    });
    assert_success(&output);
    assert!(!crate::child::stderr(&output).contains("went on as a worker"), "{output:?}");
}

#[test]
fn a_parents_runtime_refuses_to_run_in_the_child() {
    let output = in_child("fork::a_parents_runtime_refuses_to_run_in_the_child", || {
        let rt = runtime(1);
        rt.run(|| ());
        match fork() {
            None => assert!(catch_unwind(AssertUnwindSafe(|| rt.run(|| ()))).is_err()),
            Some(code) => assert_eq!(code, 0),
        }
    });
    assert_success(&output);
    assert_said(&output, &["a forked child has no workers of its parent's runtime"]);
}

#[test]
fn a_thread_that_forks_inside_of_a_call_goes_on_in_the_child() {
    let output = in_child("fork::a_thread_that_forks_inside_of_a_call_goes_on_in_the_child", || {
        let Ok(forks) = thread::Builder::new().spawn(|| {
            let code = blocking(fork);
            if code.is_none() {
                assert!(csp::current().is_none());
                assert_eq!(csp::spawn(|| blocking(|| 7)).join().unwrap(), 7);
                eprintln!("the child is done");
            }
            code
        }) else {
            return eprintln!("the child is done");
        };
        assert_eq!(forks.join().unwrap(), Some(0));
    });
    assert_success(&output);
    assert_said(&output, &["the child is done"]);
}

#[test]
fn a_process_that_forks_inside_of_a_call_ends_with_the_call_in_the_child() {
    let output =
        in_child("fork::a_process_that_forks_inside_of_a_call_ends_with_the_call_in_the_child", || {
            let code = csp::spawn(|| {
                let code = blocking(|| {
                    let code = fork();
                    if code.is_none() {
                        eprintln!("the call goes on");
                    }
                    code
                });
                assert!(code.is_some(), "the process went on in the child");
                code
            });
            assert_eq!(code.join().unwrap(), Some(0));
        });
    assert_success(&output);
    assert_said(&output, &["the call goes on"]);
}

/// A fork while other workers take jobs: the locks of their queues are free in the child, and what was not taken comes
/// back there; a half that was taken is a panic, since its taker does not exist.
#[cfg(not(raddle_twin))]
#[test]
fn who_forks_in_a_join_has_its_own_half_back_or_a_panic() {
    use raddle_core::join;
    use std::sync::atomic::{AtomicBool, Ordering};
    const TAKEN: i32 = 7;
    fn halves(depth: u32) {
        join(
            || match depth {
                0 => forks(),
                _ => halves(depth - 1),
            },
            || (0..2000_u64).map(std::hint::black_box).sum::<u64>(),
        );
    }
    fn forks() {
        match fork() {
            // SAFETY: a hang ends.
            None => drop(unsafe { libc::alarm(20) }),
            Some(code) => assert!(code == 0 || code == TAKEN, "the child ended with {code}"),
        }
    }
    fn endless(over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            join(|| (0..300_u64).map(std::hint::black_box).sum::<u64>(), csp::yield_now);
        }
    }
    let output = in_child("fork::who_forks_in_a_join_has_its_own_half_back_or_a_panic", || {
        let parent = std::process::id();
        let over = AtomicBool::new(false);
        runtime(3).run(|| {
            csp::scope(|s| {
                s.spawn(|| endless(&over));
                for _ in 0..200 {
                    let ended = catch_unwind(|| halves(6));
                    if std::process::id() != parent {
                        // SAFETY: the child ends.
                        unsafe { libc::_exit(if ended.is_err() { TAKEN } else { 0 }) };
                    }
                    ended.unwrap();
                }
                over.store(true, Ordering::Relaxed);
            });
        });
    });
    assert_success(&output);
}

/// The kernel must not go on to write to memory that the C library takes back from the OS thread left behind.
#[cfg(all(target_arch = "x86_64", not(raddle_twin)))]
#[test]
fn in_the_child_of_a_thread_the_kernel_writes_to_no_other_threads_memory() {
    fn nothing_is_registered() -> bool {
        let area = Box::leak(Box::new([0_u64; 8]));
        let aligned = (&raw mut area[0]).map_addr(|a| a.next_multiple_of(32));
        // SAFETY: registers an area that stays; nothing of it is read.
        let refused = unsafe { libc::syscall(libc::SYS_rseq, aligned, 32, 0, 0x5305_3053) } != 0;
        // A kernel without it registers nothing.
        !refused || std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS)
    }
    fn try_it() {
        match fork() {
            None => std::process::exit(if nothing_is_registered() { 0 } else { 7 }),
            code => assert_eq!(code, Some(0)),
        }
    }
    let name = "fork::in_the_child_of_a_thread_the_kernel_writes_to_no_other_threads_memory";
    let output = in_child(name, || {
        let runtime = runtime(1);
        runtime.run(|| {
            let tests: [fn(); 2] = [try_it, || blocking(try_it)];
            for test in tests {
                if let Ok(thread) = thread::Builder::new().spawn(test) {
                    thread.join().unwrap();
                }
            }
        });
    });
    assert_success(&output);
}

/// Jobs that lie in the list of the one who forks are its own in the child; it takes new ones to another runtime.
#[cfg(not(raddle_twin))]
#[test]
fn who_forks_in_a_scope_runs_its_own_jobs_in_the_child() {
    use raddle_core::{join, scope};
    use std::sync::atomic::{AtomicUsize, Ordering};
    let output = in_child("fork::who_forks_in_a_scope_runs_its_own_jobs_in_the_child", || {
        runtime(1).run(|| {
            let parent = std::process::id();
            let ran = AtomicUsize::new(0);
            let tick = || {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            scope(|s| {
                (0..10).for_each(|_| s.spawn(|_| tick()));
                let code = join(fork, tick).0;
                // SAFETY: a hang ends.
                code.is_none().then(|| unsafe { libc::alarm(20) });
                assert!(matches!(code, None | Some(0)), "the child ended with {code:?}");
                (0..10).for_each(|_| s.spawn(|_| tick()));
            });
            assert_eq!(ran.into_inner(), 21);
            if std::process::id() != parent {
                eprintln!("the child is done");
                // SAFETY: the child ends.
                unsafe { libc::_exit(0) };
            }
        });
    });
    assert_success(&output);
    assert_said(&output, &["the child is done"]);
}

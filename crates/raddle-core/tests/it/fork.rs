//! What a forked child finds.

#[path = "../support/fork.rs"]
mod forked;

use crate::child::{assert_said, assert_success, in_child};
use crate::runtime;
use forked::fork;
use raddle::{blocking, csp, task, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

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
fn a_branch_that_forks_is_the_last_of_the_child() {
    let output = in_child("fork::a_branch_that_forks_is_the_last_of_the_child", || {
        let parent = std::process::id();
        runtime(1).run(|| {
            let (code, ()) = csp::par!(fork(), ());
            assert_eq!(std::process::id(), parent, "the child went on behind the branch");
            assert_eq!(code, Some(0));
        });
    });
    assert_success(&output);
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
fn a_process_that_forks_inside_of_a_call_goes_on_in_the_child() {
    let output = in_child("fork::a_process_that_forks_inside_of_a_call_goes_on_in_the_child", || {
        let forks = csp::spawn(|| {
            let code = blocking(fork);
            if code.is_none() {
                assert_eq!(csp::spawn(|| blocking(|| 7)).join().unwrap(), 7);
                eprintln!("the child is done");
            }
            code
        });
        assert_eq!(forks.join().unwrap(), Some(0));
    });
    assert_success(&output);
    assert_said(&output, &["the child is done"]);
}

#[test]
fn a_light_process_that_forks_inside_of_a_call_ends_with_the_call_in_the_child() {
    let output =
        in_child("fork::a_light_process_that_forks_inside_of_a_call_ends_with_the_call_in_the_child", || {
            let forks = || {
                let code = blocking(|| {
                    let code = fork();
                    if code.is_none() {
                        eprintln!("the call goes on");
                    }
                    code
                });
                assert!(code.is_some(), "the process went on in the child");
                code
            };
            // SAFETY: it uses no thread-local variable.
            let code = unsafe { csp::spawn_light(forks) };
            assert_eq!(code.join().unwrap(), Some(0));
        });
    assert_success(&output);
    assert_said(&output, &["the call goes on"]);
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

/// Forks; the child panics.
fn forks_and_panics() -> Option<i32> {
    let code = fork();
    assert!(code.is_some(), "in the child");
    code
}

/// As a program does whose `main` panics. Whoever forks, and wherever.
#[test]
fn a_child_that_panics_says_so_by_its_exit_code() {
    let output = in_child("fork::a_child_that_panics_says_so_by_its_exit_code", || {
        let runtime = runtime(1);
        let codes = runtime.run(|| {
            let in_process = csp::spawn(forks_and_panics).join().unwrap();
            let in_call = csp::spawn(|| blocking(forks_and_panics)).join().unwrap();
            let in_task = task::block_on(task::spawn(async { forks_and_panics() })).unwrap();
            let of_task = task::block_on(task::spawn_blocking(forks_and_panics)).unwrap();
            [in_process, in_call, in_task, of_task]
        });
        assert_eq!(codes, [Some(101); 4]);
        let threads: [fn() -> Option<i32>; 2] = [forks_and_panics, || blocking(forks_and_panics)];
        for f in threads {
            if let Ok(thread) = runtime.run(|| thread::Builder::new().spawn(f)) {
                assert_eq!(thread.join().unwrap(), Some(101));
            }
        }
    });
    assert_success(&output);
}

/// The first thread of a program asks the C library for much, and another OS thread may fork meanwhile.
#[cfg(not(raddle_twin))]
#[test]
fn a_child_of_a_fork_beside_the_first_thread_has_threads() {
    fn makes_a_thread() {
        if let Ok(thread) = thread::Builder::new().spawn(|| 7) {
            assert_eq!(thread.join().unwrap(), 7);
        }
    }
    let output = in_child("fork::a_child_of_a_fork_beside_the_first_thread_has_threads", || {
        for round in 0..60 {
            // A program of its own, which has no thread yet.
            let Some(code) = fork() else {
                csp::spawn(|| ()).join().unwrap();
                let first = csp::spawn(makes_a_thread);
                (0..round * 100).for_each(|_| std::hint::spin_loop());
                match fork() {
                    None => {
                        // SAFETY: a hang ends.
                        unsafe { libc::alarm(900) };
                        makes_a_thread();
                    }
                    Some(0) => first.join().unwrap(),
                    // Not by a panic, which would leave the workers alone.
                    Some(_) => std::process::exit(1),
                }
                std::process::exit(0);
            };
            assert_eq!(code, 0, "round {round}");
        }
    });
    assert_success(&output);
}

/// The standard library has a table of its OS threads under a lock, when they begin and when they end.
#[cfg(not(raddle_twin))]
#[test]
fn a_child_of_a_fork_beside_os_threads_that_begin_and_end_has_threads() {
    let name = "fork::a_child_of_a_fork_beside_os_threads_that_begin_and_end_has_threads";
    let output = in_child(name, || {
        // The threads of this test begin by the standard library, too: not beside a fork.
        let (is_over, have_begun) = (AtomicBool::new(false), Barrier::new(5));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    have_begun.wait();
                    while !is_over.load(Ordering::Relaxed) {
                        runtime(2).run(|| ());
                    }
                });
            }
            have_begun.wait();
            for round in 0..300 {
                let Some(code) = fork() else {
                    // SAFETY: a hang ends.
                    unsafe { libc::alarm(900) };
                    runtime(1).run(|| ());
                    std::process::exit(0);
                };
                assert_eq!(code, 0, "round {round}");
            }
            is_over.store(true, Ordering::Relaxed);
        });
    });
    assert_success(&output);
}

/// A thread's storage lies in memory that the C library may not take for an OS thread's, not even when the OS threads
/// of a forked child are left behind by another fork.
#[cfg(all(target_env = "gnu", not(any(raddle_twin, raddle_tsan))))]
#[test]
fn the_c_library_does_not_take_a_threads_storage_for_another() {
    use std::ffi::c_void;
    const BYTES: usize = 256 << 10;
    extern "C" fn nothing(_: *mut c_void) -> *mut c_void {
        std::ptr::null_mut()
    }
    /// Makes a thread of the C library that would do with half as much stack; says which it is.
    fn new_thread() -> libc::pthread_t {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        // SAFETY: writes the attributes.
        unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
        // SAFETY: initialised above.
        assert_eq!(unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), BYTES / 2) }, 0);
        let mut id = 0;
        // SAFETY: the function does nothing.
        let error =
            unsafe { libc::pthread_create(&raw mut id, attributes.as_ptr(), nothing, std::ptr::null_mut()) };
        assert_eq!(error, 0);
        id
    }
    fn childs_child(thread: libc::pthread_t) -> i32 {
        let code = fork();
        if code.is_none() {
            // SAFETY: a hang ends.
            unsafe { libc::alarm(900) };
            // A panic would end this with 0, as it ends the last thread of the C library.
            let other = catch_unwind(|| new_thread() != thread);
            std::process::exit(if matches!(other, Ok(true)) { 0 } else { 7 });
        }
        code.expect("it is the parent")
    }
    let output = in_child("fork::the_c_library_does_not_take_a_threads_storage_for_another", || {
        let forks = || {
            let code = fork();
            if code.is_none() {
                // SAFETY: no preconditions.
                let own = unsafe { libc::pthread_self() };
                std::process::exit(std::thread::spawn(move || childs_child(own)).join().unwrap());
            }
            code
        };
        let forks = csp::Builder::new().own_tls(true).stack_size(BYTES).spawn(forks).unwrap();
        assert_eq!(forks.join().unwrap(), Some(0));
    });
    assert_success(&output);
}

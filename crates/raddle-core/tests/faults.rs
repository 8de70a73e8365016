//! Faults: what the runtime does when the world refuses, or the program does what it must not.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

#[cfg(not(raddle_asan))]
#[path = "support/address_space.rs"]
mod address_space;
#[path = "support/child.rs"]
mod child;
#[path = "support/watch.rs"]
mod watch;
#[path = "support/workers.rs"]
mod workers;

use child::{assert_aborted, assert_said, assert_success, in_child, in_child_with, stderr};
use raddle::{BuildError, Runtime, csp, task};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use watch::{Progress, Watchdog};

fn runtime(n: usize) -> Runtime {
    Runtime::builder().workers(n).build().expect("a runtime")
}

fn recurse() -> u64 {
    fn deeper(n: u64) -> u64 {
        let here = black_box([n; 16]);
        if n == 0 { 0 } else { deeper(black_box(n + 1)) + here[(n % 16) as usize] }
    }
    black_box(deeper(1))
}

#[test]
fn a_stack_overflow_says_who_where_how_much_and_what_to_do() {
    let output = in_child("a_stack_overflow_says_who_where_how_much_and_what_to_do", || {
        let builder = csp::Builder::new().name("deep thought").stack_size(100_000);
        let _unreached = builder.spawn(recurse).unwrap().join();
    });
    let wanted = [
        "raddle: stack overflow in process 'deep thought' (#",
        "spawned at ",
        "faults.rs:",
        "262144-byte stack",
        "Builder::stack_size",
        "RADDLE_STACK_SIZE",
    ];
    assert_aborted(&output, &wanted);
}

// AddressSanitizer speaks for itself about the stacks of OS threads.
#[cfg(not(raddle_asan))]
#[test]
fn an_overflow_inside_a_cell_says_that_it_is_a_workers_stack() {
    let output = in_child("an_overflow_inside_a_cell_says_that_it_is_a_workers_stack", || {
        let _unreached = task::block_on(async { task::spawn(async { recurse() }).await });
    });
    // The worker's own stack is the standard library's, whose handler speaks then.
    assert_aborted(&output, &["overflow"]);
}

/// So many processes with stacks of so many bytes, each of which is parked by now, or has ended for want of a stack.
#[cfg(not(raddle_asan))]
fn parked(count: usize, stack_bytes: usize) -> Vec<csp::JoinHandle<()>> {
    let started = Arc::new(AtomicUsize::new(0));
    let large = |_| {
        let started = started.clone();
        let body = move || {
            started.fetch_add(1, Ordering::Relaxed);
            csp::park();
        };
        csp::Builder::new().name("large").stack_size(stack_bytes).spawn(body).unwrap()
    };
    let all: Vec<_> = (0..count).map(large).collect();
    while started.load(Ordering::Relaxed) + all.iter().filter(|h| h.is_finished()).count() < count {
        csp::yield_now();
    }
    all
}

// AddressSanitizer needs the address space that this takes away.
#[cfg(not(raddle_asan))]
#[test]
fn a_refused_stack_is_the_joiners_error_and_the_program_goes_on() {
    let output = in_child("a_refused_stack_is_the_joiners_error_and_the_program_goes_on", || {
        let rt = runtime(1);
        rt.run(|| {
            csp::spawn(|| ()).join().unwrap();
            address_space::allow_more(200 << 20);
            let all = parked(8, 64 << 20);
            let (refused, parked): (Vec<_>, Vec<_>) = all.into_iter().partition(|h| h.is_finished());
            assert!(!refused.is_empty() && !parked.is_empty(), "{} {}", refused.len(), parked.len());
            for handle in refused {
                eprintln!(
                    "joined: {:?}",
                    handle.join().unwrap_err().downcast_ref::<raddle_context::StackError>()
                );
            }
            parked.iter().for_each(|h| h.process().unpark());
            parked.into_iter().for_each(|h| h.join().unwrap());
            assert_eq!(csp::spawn(|| 5).join().unwrap(), 5, "small ones still start");
        });
        assert!(rt.stats()[0].stacks_refused > 0);
        assert_eq!(rt.shutdown(), 0);
    });
    assert_success(&output);
    let wanted = [
        "raddle: process 'large' (#",
        "cannot start: no address space for another",
        "joined: Some(StackError(",
    ];
    assert_said(&output, &wanted);
}

// As above.
#[cfg(not(raddle_asan))]
#[test]
fn a_refused_stack_in_an_exploration_is_told_as_what_it_is() {
    use raddle::explore::{Kind, Options, try_explore};
    let output = in_child("a_refused_stack_in_an_exploration_is_told_as_what_it_is", || {
        let once = Options { iterations: 1, ..Options::default() };
        try_explore(once.clone(), || drop(csp::spawn(|| ()).join())).unwrap();
        address_space::allow_more(24 << 20);
        // Whoever takes the error for the process's own result goes another way than with a stack.
        let many = || {
            let large = |_| csp::Builder::new().stack_size(8 << 20).spawn(csp::park).unwrap();
            let all: Vec<_> = (0..8).map(large).collect();
            all.iter().for_each(|h| h.process().unpark());
            all.into_iter().for_each(|h| drop(h.join()));
        };
        let failure = try_explore(once, many).unwrap_err();
        assert_eq!(failure.kind(), Kind::Refused, "{failure}");
        eprintln!("{failure}");
    });
    assert_success(&output);
    assert_said(&output, &["[seed 0] process (#", "cannot start: no address space for another"]);
}

// As above; and ThreadSanitizer needs half a megabyte for each stack.
#[cfg(not(any(raddle_asan, raddle_tsan)))]
#[test]
fn a_refused_stack_makes_a_job_run_on_its_workers() {
    let output = in_child("a_refused_stack_makes_a_job_run_on_its_workers", || {
        let rt = runtime(1);
        rt.run(|| {
            csp::spawn(|| ()).join().unwrap();
            address_space::allow_more(24 << 20);
            // More than were reserved with the first of this size, on which this runs.
            let all = parked(80, 8 << 20);
            let begins = raddle::fork(|| 6 * 7);
            let waits = raddle::fork(|| csp::sleep(Duration::from_millis(1)));
            // Both are everybody's from here on; a worker that stands in the kernel for a while has others take them.
            while !(begins.is_finished() && waits.is_finished()) {
                csp::yield_now();
            }
            assert_eq!(begins.join(), 42);
            let panic = catch_unwind(AssertUnwindSafe(|| waits.join())).unwrap_err();
            eprintln!("it panicked: {}", panic.downcast_ref::<String>().unwrap());
            all.iter().for_each(|h| h.process().unpark());
        });
    });
    assert_success(&output);
    assert_said(
        &output,
        &[
            "cannot start: no address space for another",
            "it panicked: `csp::sleep` waits, and this job must not",
        ],
    );
}

// As above; and the emulator of another processor does not hold a program to the limit.
#[cfg(not(any(raddle_asan, raddle_tsan, target_arch = "aarch64")))]
#[test]
fn a_job_without_a_stack_may_do_what_a_task_may() {
    let output = in_child("a_job_without_a_stack_may_do_what_a_task_may", || {
        let rt = workers::runtime(1);
        rt.run(|| {
            csp::spawn(|| ()).join().unwrap();
            address_space::allow_more(24 << 20);
            let all = parked(80, 8 << 20);
            let (tell, told) = mpsc::channel();
            let all_of_it = move || {
                assert_eq!(raddle::current_thread_index(), Some(0));
                assert!(csp::current().is_none(), "it has no process");
                let depth = |n: u64| raddle::join(|| n, || raddle::join(|| n + 1, || n + 2));
                assert_eq!(depth(1), (1, (2, 3)));
                let detached = tell.clone();
                raddle::spawn(move || detached.send("a job").unwrap());
                drop(csp::spawn(move || tell.send("a process").unwrap()));
                drop(task::spawn(async {}));
                raddle::par_for(0..100, |n| assert!(black_box(n) < 100));
                7
            };
            let fork = raddle::fork(all_of_it);
            let scoped = raddle::fork(|| raddle::scope(|scope| scope.spawn(|_| ())));
            let panics = raddle::fork(|| std::panic::resume_unwind(Box::new("its own")));
            // They are everybody's from here on.
            while !(fork.is_finished() && scoped.is_finished() && panics.is_finished()) {
                csp::yield_now();
            }
            assert_eq!(fork.join(), 7);
            let panic = catch_unwind(AssertUnwindSafe(|| panics.join())).unwrap_err();
            assert_eq!(*panic.downcast::<&str>().unwrap(), "its own");
            let outcome = catch_unwind(AssertUnwindSafe(|| scoped.join()));
            eprintln!("a scope: {outcome:?}");
            let mut done = 0;
            while done < 2 {
                csp::yield_now();
                done += told.try_iter().count();
            }
            all.iter().for_each(|h| h.process().unpark());
            eprintln!("that is all");
        });
    });
    assert_success(&output);
    assert_said(&output, &["that is all"]);
}

/// Whether there is an OS thread with the name of a worker.
#[cfg(not(raddle_asan))]
fn some_worker_lives() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let named =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks
        .map(named)
        .any(|name| name.strip_prefix("raddle-").is_some_and(|rest| rest.starts_with(char::is_numeric)))
}

// As above.
#[cfg(not(raddle_asan))]
#[test]
fn a_refused_os_thread_is_an_error_and_no_worker_stays() {
    // Stacks so large that the limit refuses a thread and leaves room for every small allocation: when memory itself
    // ends, the standard library may hang while it says so.
    let stacks = [("RUST_MIN_STACK", "268435456")];
    let output = in_child_with("a_refused_os_thread_is_an_error_and_no_worker_stays", &stacks, || {
        runtime(1).run(|| ());
        address_space::allow_more((3 << 30) + (40 << 20));
        match Runtime::builder().workers(1000).build() {
            Err(BuildError::Thread { worker, cause }) => eprintln!("worker {worker}: {cause}"),
            other => panic!("{other:?}"),
        }
        let error = Runtime::builder().workers(1000).build().unwrap_err();
        eprintln!("said: {error}");
        // One that has ended is listed for a moment yet. Should one have leaked, the child's alarm ends this.
        while some_worker_lives() {
            std::thread::yield_now();
        }
        assert_eq!(runtime(1).run(|| 1), 1);
    });
    assert_success(&output);
    assert_said(&output, &["said: no OS thread for worker ", "RADDLE_WORKERS"]);
    assert!(!stderr(&output).contains("worker 0:"), "some were started: {}", stderr(&output));
}

/// Panics when it is dropped.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        panic!("the mine");
    }
}

#[test]
fn a_panic_in_a_drop_while_unwinding_aborts() {
    let output = in_child("a_panic_in_a_drop_while_unwinding_aborts", || {
        runtime(1).run(|| {
            let twice = csp::Builder::new().name("twice").spawn(|| {
                let _mine = Mine;
                panic!("first");
            });
            let _unreached = twice.unwrap().join();
        });
    });
    assert_aborted(&output, &["raddle: in process 'twice'", "first", "the mine"]);
}

#[test]
fn a_panic_in_the_drop_of_an_unwanted_result_aborts() {
    let output = in_child("a_panic_in_the_drop_of_an_unwanted_result_aborts", || {
        let rt = runtime(1);
        rt.run(|| drop(csp::spawn(|| Mine)));
        drop(rt);
    });
    assert_aborted(
        &output,
        &["the mine", "raddle: fatal: the result of a process panicked while it was dropped"],
    );
}

#[test]
fn a_runtime_dropped_inside_itself_lets_the_rest_end() {
    let progress = Progress::default();
    let _dog = Watchdog::new("dropped inside".to_owned(), progress.clone(), String::new);
    for workers in [1, 2] {
        let ended = Arc::new(AtomicUsize::new(0));
        let rt = Arc::new(runtime(workers));
        let (give, take) = mpsc::channel();
        for _ in 0..10 {
            let (ended, inside, give) = (ended.clone(), rt.clone(), give.clone());
            rt.run(move || {
                drop(csp::spawn(move || {
                    csp::sleep(Duration::from_millis(1));
                    drop(inside);
                    csp::yield_now();
                    ended.fetch_add(1, Ordering::Relaxed);
                    drop(give);
                }));
            });
        }
        drop((rt, give));
        assert_eq!(take.recv(), Err::<(), _>(mpsc::RecvError), "all have gone");
        assert_eq!(ended.load(Ordering::Relaxed), 10);
        progress.note();
    }
}

/// Forks; the child runs `child` and exits with 0. Returns the child's wait status.
fn fork(child: impl FnOnce()) -> libc::c_int {
    // SAFETY: the child uses only what is documented to work in it, and ends by itself.
    match unsafe { libc::fork() } {
        -1 => panic!("fork is refused: {}", std::io::Error::last_os_error()),
        0 => {
            child();
            exit(0)
        }
        pid => {
            let mut status = -1;
            // SAFETY: the kernel writes one integer.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            status
        }
    }
}

fn use_default_runtime() {
    let sum: u32 = (0..50).map(|n| csp::spawn(move || n).join().unwrap()).sum();
    assert_eq!(sum, 1225);
    assert_eq!(task::block_on(async { task::spawn(async { 1 }).await.unwrap() }), 1);
    task::block_on(task::sleep(Duration::from_millis(1)));
}

/// A child that hangs would hang its parent: it has a watchdog of its own.
fn watched(body: impl FnOnce()) {
    let progress = Progress::default();
    let _dog = Watchdog::new("a forked child".to_owned(), progress.clone(), String::new);
    body();
    progress.note();
}

#[test]
fn a_child_forked_by_an_os_thread_has_a_default_runtime_of_its_own() {
    let output = in_child("a_child_forked_by_an_os_thread_has_a_default_runtime_of_its_own", || {
        use_default_runtime();
        assert_eq!(fork(|| watched(use_default_runtime)), 0);
        use_default_runtime();
    });
    assert_success(&output);
}

#[test]
fn a_process_that_forks_goes_on_in_the_child_as_an_os_thread() {
    let output = in_child("a_process_that_forks_goes_on_in_the_child_as_an_os_thread", || {
        let rt = runtime(2);
        let status = rt.run(|| {
            csp::spawn(|| {
                fork(|| {
                    assert!(csp::current().is_none());
                    csp::yield_now();
                    csp::sleep(Duration::from_millis(1));
                    csp::park_timeout(Duration::from_millis(1));
                    watched(use_default_runtime);
                })
            })
            .join()
            .unwrap()
        });
        assert_eq!(status, 0);
        assert_eq!(rt.shutdown(), 0);
    });
    assert_success(&output);
}

#[test]
fn a_process_that_returns_in_the_child_ends_it_with_success() {
    let output = in_child("a_process_that_returns_in_the_child_ends_it_with_success", || {
        let status = csp::spawn(|| {
            // SAFETY: the child returns at once.
            match unsafe { libc::fork() } {
                0 => 0,
                pid => {
                    let mut status = -1;
                    // SAFETY: the kernel writes one integer.
                    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
                    status
                }
            }
        });
        assert_eq!(status.join().unwrap(), 0);
    });
    assert_success(&output);
}

#[test]
fn a_forked_child_may_drop_its_parents_runtime() {
    let output = in_child("a_forked_child_may_drop_its_parents_runtime", || {
        let mut rt = Some(runtime(2));
        assert_eq!(fork(|| watched(|| drop(rt.take()))), 0);
        assert_eq!(rt.take().unwrap().shutdown(), 0);
    });
    assert_success(&output);
}

#[test]
fn a_fork_among_heavy_spawning_does_not_deadlock_the_child() {
    let output = in_child("a_fork_among_heavy_spawning_does_not_deadlock_the_child", || {
        let stop = Arc::new(AtomicBool::new(false));
        let rt = Arc::new(runtime(2));
        let busy = |_| {
            let (stop, rt) = (stop.clone(), rt.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    rt.run(|| (0..50).for_each(|_| drop(csp::spawn(|| ()))));
                    csp::spawn(|| csp::sleep(Duration::from_micros(5))).join().unwrap();
                    task::block_on(task::sleep(Duration::from_micros(5)));
                }
            })
        };
        let all: Vec<_> = (0..2).map(busy).collect();
        for _ in 0..30 {
            assert_eq!(fork(|| watched(use_default_runtime)), 0);
        }
        stop.store(true, Ordering::Relaxed);
        all.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_success(&output);
}

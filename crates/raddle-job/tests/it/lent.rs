//! A pool's worker's loop run by any flow of control: what works there, and that its caller goes on rightly after.
//!
//! Each test runs in a program of its own, which has to say that it has come to its end: a program that ends too early
//! may well end with 0.

use crate::child::{assert_said, assert_success, in_child};
use crate::forked::fork;
use crate::runtime;
use raddle::{ThreadBuilder, ThreadPool, ThreadPoolBuilder, blocking, csp, join, task, thread};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

const END: &str = "the test has come to its end";

/// Runs the test in a program of its own, which must come to its end within a quarter of an hour.
#[track_caller]
fn in_program(name: &str, test: impl FnOnce()) {
    let output = in_child(&format!("lent::{name}"), || {
        // SAFETY: a hang ends.
        unsafe { libc::alarm(900) };
        test();
        eprintln!("{END}");
    });
    assert_success(&output);
    assert_said(&output, &[END]);
}

/// A pool of two workers, whose loops `carry` has done by somebody.
fn pool_carried(mut carry: impl FnMut(ThreadBuilder)) -> ThreadPool {
    let spawn = |thread| {
        carry(thread);
        Ok(())
    };
    ThreadPoolBuilder::new().num_threads(2).spawn_handler(spawn).build().expect("a pool")
}

/// What a pool is to do.
fn use_pool(pool: &ThreadPool) {
    let sum = |n: u64| join(|| (0..n).sum::<u64>(), || csp::spawn(move || n).join().unwrap());
    assert_eq!(pool.install(|| sum(10)), (45, 10));
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    let places = pool.broadcast(|_| {
        csp::yield_now();
        csp::sleep(Duration::from_millis(1));
        blocking(raddle::current_thread_index).zip(raddle::current_thread_index())
    });
    assert_eq!(places, [Some((0, 0)), Some((1, 1))]);
    pool.install(|| {
        if let Ok(thread) = thread::Builder::new().spawn(csp::yield_now) {
            thread.join().unwrap();
        }
        assert_eq!(task::block_on(task::spawn(async { 7 })).unwrap(), 7);
    });
}

/// What a process is to do as before.
fn goes_on() {
    let me = csp::current().expect("it is a process").id();
    csp::yield_now();
    assert_eq!(csp::spawn(|| 7).join().unwrap(), 7);
    assert_eq!(join(|| 1, || 2), (1, 2));
    csp::sleep(Duration::from_millis(1));
    assert_eq!(blocking(|| 8), 8);
    assert_eq!(csp::current().expect("as before").id(), me);
}

/// A loop that tells when its caller has gone on.
fn run_and_tell(thread: ThreadBuilder, tell: mpsc::Sender<()>) -> impl FnOnce() + Send {
    move || {
        goes_on();
        thread.run();
        goes_on();
        tell.send(()).unwrap();
    }
}

/// A pool whose two loops go through `carry` works, and ends, and its carriers go on.
fn works(mut carry: impl FnMut(Box<dyn FnOnce() + Send>)) {
    let (tell, told) = mpsc::channel();
    let pool = pool_carried(|thread| carry(Box::new(run_and_tell(thread, tell.clone()))));
    use_pool(&pool);
    drop((pool, tell));
    assert_eq!(blocking(move || told.iter().count()), 2);
}

#[test]
fn a_process_works_for_a_pool() {
    in_program("a_process_works_for_a_pool", || {
        let rt = runtime(2);
        works(|run| drop(rt.spawn(run)));
        // By the default runtime.
        works(|run| drop(csp::spawn(run)));
    });
}

/// The one worker runs what uses the pool, too: it is not the one that works for it.
#[test]
fn who_works_for_a_pool_leaves_its_worker_to_others() {
    in_program("who_works_for_a_pool_leaves_its_worker_to_others", || {
        runtime(1).run(|| works(|run| drop(csp::spawn(run))));
    });
}

#[test]
fn a_thread_works_for_a_pool_with_its_own_variables() {
    thread_local!(static OWN: Cell<usize> = const { Cell::new(0) });
    in_program("a_thread_works_for_a_pool_with_its_own_variables", || {
        let rt = runtime(1);
        rt.run(|| {
            works(|run| {
                if let Err(refused) = thread::Builder::new().spawn(run) {
                    panic!("no threads here: {refused}");
                }
            });
            let (tell, told) = mpsc::channel();
            let pool = pool_carried(|thread| {
                let tell = tell.clone();
                let carried = move || {
                    OWN.set(7);
                    thread.run();
                    tell.send(OWN.get()).unwrap();
                };
                drop(thread::spawn(carried));
            });
            assert_eq!(pool.broadcast(|_| OWN.replace(8)), [7, 7]);
            drop((pool, tell));
            assert_eq!(blocking(move || told.iter().collect::<Vec<_>>()), [8, 8]);
        });
    });
}

#[test]
fn a_job_of_another_pool_works_for_a_pool() {
    in_program("a_job_of_another_pool_works_for_a_pool", || {
        let other = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        works(|run| other.spawn(run));
        let (tell, told) = mpsc::channel();
        let pool = pool_carried(|thread| {
            let tell = tell.clone();
            other.spawn(move || {
                // The half that stays, and the half that may be taken.
                join(goes_on, run_and_tell(thread, tell));
                goes_on();
            });
        });
        use_pool(&pool);
        drop((pool, tell));
        assert_eq!(told.iter().count(), 2);
    });
}

#[test]
fn a_fork_and_a_call_that_blocks_work_for_a_pool() {
    in_program("a_fork_and_a_call_that_blocks_work_for_a_pool", || {
        let (tell, told) = mpsc::channel();
        let mut forks = Vec::new();
        let pool = pool_carried(|thread| forks.push(raddle::fork(run_and_tell(thread, tell.clone()))));
        use_pool(&pool);
        drop((pool, tell));
        forks.into_iter().for_each(raddle::Fork::join);
        assert_eq!(told.iter().count(), 2);
        let (tell, told) = mpsc::channel();
        let pool = pool_carried(|thread| {
            let tell = tell.clone();
            drop(csp::spawn(move || {
                blocking(|| thread.run());
                goes_on();
                tell.send(()).unwrap();
            }));
        });
        use_pool(&pool);
        drop((pool, tell));
        assert_eq!(told.iter().count(), 2);
    });
}

#[test]
fn a_task_is_refused_and_its_worker_goes_on() {
    in_program("a_task_is_refused_and_its_worker_goes_on", || {
        let rt = runtime(1);
        let (tell, told) = mpsc::channel();
        let pool = pool_carried(|thread| {
            let tell = tell.clone();
            let task = || task::block_on(task::spawn(async move { thread.run() }));
            let panic = rt.run(task).expect_err("it must not wait");
            tell.send(panic.to_string()).unwrap();
        });
        drop(tell);
        for text in told {
            assert!(text.contains("a task must not work for a pool"), "{text}");
        }
        rt.run(goes_on);
        // Nobody works for it, or ever will.
        std::mem::forget(pool);
    });
}

/// Works for a pool when it is dropped.
struct Late(Option<ThreadBuilder>);

impl Drop for Late {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(ThreadBuilder::run);
    }
}

#[test]
fn who_unwinds_has_another_thread_work() {
    in_program("who_unwinds_has_another_thread_work", || {
        let rt = runtime(2);
        let (tell, told) = mpsc::channel();
        let pool = pool_carried(|thread| {
            let tell = tell.clone();
            let unwinds = move || {
                let late = Late(Some(thread));
                let panic = catch_unwind(AssertUnwindSafe(move || {
                    let _late = late;
                    std::panic::resume_unwind(Box::new("unwinds"));
                }));
                assert!(panic.is_err());
                goes_on();
                tell.send(()).unwrap();
            };
            drop(rt.spawn(unwinds));
        });
        assert_eq!(pool.broadcast(|_| std::thread::panicking()), [false, false]);
        use_pool(&pool);
        drop((pool, tell));
        assert_eq!(told.iter().count(), 2);
    });
}

/// In the child of a process that has forked, which is an OS thread there, and is known for what it was in the end.
#[test]
fn who_has_forked_works_for_a_pool_in_the_child() {
    in_program("who_has_forked_works_for_a_pool_in_the_child", || {
        let forks = || {
            let code = fork();
            if code.is_none() {
                let (give, given) = mpsc::channel();
                std::thread::spawn(move || {
                    let pool = pool_carried(|thread| give.send(thread).unwrap());
                    use_pool(&pool);
                });
                let threads: Vec<ThreadBuilder> = given.iter().take(2).collect();
                let mut threads = threads.into_iter();
                let second = threads.next().map(|thread| std::thread::spawn(|| thread.run()));
                threads.for_each(ThreadBuilder::run);
                second.into_iter().for_each(|second| second.join().unwrap());
                assert!(csp::current().is_none());
                eprintln!("the child is done");
            }
            code
        };
        runtime(2).run(|| {
            assert_eq!(csp::spawn(forks).join().unwrap(), Some(0));
            assert_eq!(thread::spawn(forks).join().unwrap(), Some(0));
        });
    });
}

/// What forks in a pool that a thread works for has that thread's storage, or its own.
///
/// The emulator of another processor fails an assertion of its own when many threads fork.
#[cfg(not(target_arch = "aarch64"))]
#[test]
fn what_forks_in_a_pool_goes_on_in_the_child_whoever_works_for_it() {
    fn forks() {
        let code = fork();
        if code.is_none() {
            assert!(csp::current().is_none());
            assert_eq!(csp::spawn(|| blocking(|| 7)).join().unwrap(), 7);
            // Once more, from what the child is now.
            assert_eq!(fork().unwrap_or(0), 0);
        }
        assert_eq!(code.unwrap_or(0), 0);
    }
    in_program("what_forks_in_a_pool_goes_on_in_the_child_whoever_works_for_it", || {
        runtime(1).run(|| {
            works_with(|run| drop(thread::spawn(run)), forks);
            works_with(|run| drop(csp::spawn(run)), forks);
        });
    });
}

/// As [`works`], with something that the pool is to do, in a process and in a thread.
fn works_with(mut carry: impl FnMut(Box<dyn FnOnce() + Send>), job: fn()) {
    works(&mut carry);
    let (tell, told) = mpsc::channel();
    let pool = pool_carried(|thread| carry(Box::new(run_and_tell(thread, tell.clone()))));
    pool.broadcast(|_| job());
    pool.install(|| thread::spawn(job).join().unwrap());
    use_pool(&pool);
    drop((pool, tell));
    assert_eq!(blocking(move || told.iter().count()), 2);
}

/// The C library asks each OS thread, which answers with its own storage, whatever is loaded; also when a pool is over.
///
/// Not under ThreadSanitizer, whose own thread answers by code that it has not instrumented: it crashes there.
#[cfg(not(raddle_tsan))]
#[test]
fn rights_change_while_and_after_a_thread_has_worked_for_a_pool() {
    fn change() {
        // SAFETY: no preconditions.
        let group = unsafe { libc::getgid() };
        // SAFETY: as above; the numbers are those that there are.
        assert_eq!(unsafe { libc::setresgid(group, group, group) }, 0);
    }
    in_program("rights_change_while_and_after_a_thread_has_worked_for_a_pool", || {
        runtime(1).run(|| {
            works_with(|run| drop(thread::spawn(run)), change);
            change();
            // The spare OS threads are the same ones, on which threads are guests.
            let (over, until_over) = mpsc::channel::<()>();
            let guest = thread::spawn(move || blocking(move || until_over.recv().ok()));
            std::thread::spawn(change).join().unwrap();
            thread::spawn(change).join().unwrap();
            drop(over);
            assert_eq!(guest.join().unwrap(), None);
        });
    });
}

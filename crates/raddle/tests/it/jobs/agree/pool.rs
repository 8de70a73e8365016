//! `ThreadPool` and `ThreadPoolBuilder`: what is asked for, and where things run.

use super::*;
use jobs::{ThreadPool, ThreadPoolBuilder};
use std::fmt::Debug;
use std::thread::{ThreadId, current};

fn here() -> ThreadId {
    current().id()
}

pub(super) fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(workers).build().expect("a pool")
}

#[test]
fn a_pool_has_as_many_workers_as_asked_for() {
    for workers in [1, 2, 7] {
        let pool = pool(workers);
        assert_eq!(pool.current_num_threads(), workers);
        assert_eq!(pool.install(jobs::current_num_threads), workers);
        let index = pool.install(jobs::current_thread_index).expect("on a worker");
        assert!(index < workers);
    }
    assert!(ThreadPoolBuilder::new().num_threads(0).build().expect("a pool").current_num_threads() > 0);
    assert!(ThreadPoolBuilder::default().build().expect("a pool").current_num_threads() > 0);
    assert!(jobs::max_num_threads() >= 7);
}

#[test]
fn outside_there_is_no_number() {
    let (one, two) = (pool(1), pool(2));
    assert_eq!(jobs::current_thread_index(), None);
    assert_eq!(jobs::current_thread_has_pending_tasks(), None);
    assert!(jobs::yield_now().is_none());
    assert!(jobs::yield_local().is_none());
    assert_eq!((one.current_thread_index(), one.current_thread_has_pending_tasks()), (None, None));
    one.install(|| {
        assert_eq!(jobs::current_thread_index(), Some(0));
        assert_eq!(one.current_thread_index(), Some(0));
        assert_eq!((two.current_thread_index(), two.current_thread_has_pending_tasks()), (None, None));
        assert!(two.yield_now().is_none() && two.yield_local().is_none());
    });
    assert!(jobs::current_num_threads() > 0, "those of the global pool");
}

#[test]
fn what_is_installed_borrows_and_returns_and_panics() {
    everywhere(|| {
        let pool = pool(2);
        let mut numbers = [1, 2, 3];
        let sum = pool.install(|| {
            numbers.reverse();
            numbers.iter().sum::<i32>()
        });
        assert_eq!((sum, numbers), (6, [3, 2, 1]));
        assert_eq!(panic_of(|| pool.install(|| throw("installed"))), "installed");
        assert_eq!(pool.install(|| jobs::join(|| 1, || 2)), (1, 2));
    });
}

#[test]
fn on_a_worker_of_the_pool_things_are_installed_in_place() {
    let pool = pool(2);
    pool.install(|| {
        let (index, thread) = (jobs::current_thread_index(), here());
        assert_eq!(pool.install(|| (jobs::current_thread_index(), here())), (index, thread));
    });
}

#[test]
fn pools_install_in_each_other() {
    let (one, two) = (pool(1), pool(2));
    let deep = one.install(|| two.install(|| one.install(|| two.install(jobs::current_num_threads))));
    assert_eq!(deep, 2);
    let sum = two.install(|| {
        let (a, b) =
            jobs::join(|| one.install(jobs::current_num_threads), || one.install(jobs::current_thread_index));
        (a, b)
    });
    assert_eq!(sum, (1, Some(0)));
    assert_eq!(panic_of(|| one.install(|| two.install(|| throw("deep")))), "deep");
}

#[test]
fn a_pool_has_all_forms_of_jobs() {
    everywhere(|| {
        let pool = pool(2);
        let count = AtomicUsize::new(0);
        assert_eq!(pool.join(|| 1, jobs::current_num_threads), (1, 2));
        let add = || {
            assert_eq!(jobs::current_num_threads(), 2);
            tick(&count);
        };
        pool.scope(|s| (0..5).for_each(|_| s.spawn(|_| add())));
        pool.scope_fifo(|s| (0..5).for_each(|_| s.spawn_fifo(|_| add())));
        pool.in_place_scope(|s| (0..5).for_each(|_| s.spawn(|s| s.spawn(|_| add()))));
        pool.in_place_scope_fifo(|s| (0..5).for_each(|_| s.spawn_fifo(|s| s.spawn_fifo(|_| add()))));
        assert_eq!(count.into_inner(), 20);
    });
}

#[test]
fn a_body_in_place_stays_and_its_jobs_go_to_the_pool() {
    let pool = pool(1);
    let (thread, shared) = (here(), std::rc::Rc::new(7));
    let value = pool.in_place_scope(|s| {
        assert_eq!((jobs::current_thread_index(), here()), (None, thread));
        s.spawn(move |_| assert!(here() != thread));
        *shared
    });
    assert_eq!(value, 7);
    pool.install(|| {
        let inside = here();
        pool.in_place_scope(|_| assert_eq!(here(), inside));
        pool.in_place_scope_fifo(|_| assert_eq!(here(), inside));
    });
    let bad = || pool.in_place_scope(|s| s.spawn(|_| throw("job")));
    assert_eq!(panic_of(bad), "job");
    let bad = || pool.in_place_scope_fifo(|_| throw("body"));
    assert_eq!(panic_of(bad), "body");
}

#[test]
fn a_pool_that_is_dropped_runs_what_was_spawned() {
    let (tell, told) = std::sync::mpsc::channel();
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    let pool = pool(1);
    pool.spawn(move || {
        waits.recv().unwrap();
        jobs::spawn(move || tell.send(jobs::current_num_threads()).unwrap());
    });
    drop(pool);
    go_on.send(()).unwrap();
    assert_eq!(told.recv(), Ok(1));
}

#[test]
fn threads_have_names() {
    let pool =
        ThreadPoolBuilder::new().num_threads(2).thread_name(|index| format!("mine {index}")).build().unwrap();
    let names = pool.broadcast(|_| current().name().map(String::from));
    assert_eq!(names, [Some("mine 0".to_owned()), Some("mine 1".to_owned())]);
}

#[test]
fn the_global_pool_is_built_once() {
    assert_eq!(jobs::join(|| 1, || 2), (1, 2));
    let error = ThreadPoolBuilder::new().build_global().expect_err("it has been used");
    assert_eq!(error.to_string(), "The global thread pool has already been initialized.");
    fn is_an_error<E: std::error::Error + Send + Sync + 'static>(_: &E) {}
    is_an_error(&error);
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn all_of_it_can_be_printed() {
    fn is<T: Debug + Send + Sync>(value: &T) -> String {
        format!("{value:?}")
    }
    assert!(is(&pool(1)).starts_with("ThreadPool {"));
    assert!(format!("{:?}", ThreadPoolBuilder::new().num_threads(3)).contains("num_threads: 3"));
    assert_eq!(is(&jobs::Yield::Idle), "Idle");
    assert!(jobs::Yield::Idle != jobs::Yield::Executed);
}

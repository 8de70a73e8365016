//! What a program may have a pool do besides: names, handlers, its own threads.

use super::*;
use jobs::{ThreadBuilder, ThreadPoolBuilder};
use std::io;
use std::sync::mpsc;
use std::thread;

#[test]
fn handlers_are_called_on_each_thread() {
    let (tell, told) = mpsc::channel();
    let (begins, ends) = (Mutex::new(tell.clone()), Mutex::new(tell));
    let note = |to: &Mutex<mpsc::Sender<_>>, what: &'static str, index: usize| {
        let named = thread::current().name().map(String::from);
        to.lock().unwrap().send((what, index, jobs::current_thread_index(), named)).unwrap();
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .thread_name(|index| index.to_string())
        .start_handler(move |index| note(&begins, "begins", index))
        .exit_handler(move |index| note(&ends, "ends", index))
        .build()
        .unwrap();
    let named = |what, index: usize| (what, index, Some(index), Some(index.to_string()));
    let mut begun: Vec<_> = told.iter().take(2).collect();
    begun.sort();
    assert_eq!(begun, [named("begins", 0), named("begins", 1)]);
    drop(pool);
    let mut ended: Vec<_> = told.iter().collect();
    ended.sort();
    assert_eq!(ended, [named("ends", 0), named("ends", 1)]);
}

#[test]
fn a_panic_that_goes_nowhere_goes_to_the_handler() {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .panic_handler(move |panic| {
            let text = *panic.downcast::<&str>().expect("a text");
            tell.lock().unwrap().send(text).unwrap();
        })
        .start_handler(|index| {
            if index == 1 {
                throw("start")
            }
        })
        .exit_handler(|index| {
            if index == 1 {
                throw("exit")
            }
        })
        .build()
        .unwrap();
    pool.spawn(|| throw("spawn"));
    pool.spawn_fifo(|| throw("spawn_fifo"));
    pool.spawn_broadcast(|_| throw("spawn_broadcast"));
    pool.install(|| {
        jobs::spawn(|| throw("inner"));
        jobs::spawn_fifo(|| throw("inner"));
    });
    assert_eq!(panic_of(|| pool.install(|| throw("comes back"))), "comes back");
    drop(pool);
    let mut all: Vec<&str> = told.iter().collect();
    all.sort_unstable();
    let mut broadcast = vec!["exit", "inner", "inner", "spawn", "spawn_broadcast", "spawn_broadcast"];
    broadcast.extend(["spawn_fifo", "start"]);
    assert_eq!(all, broadcast);
}

#[test]
fn a_program_makes_the_threads_itself() {
    let mut made = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .stack_size(1 << 20)
        .thread_name(|index| format!("own {index}"))
        .spawn_handler(|thread: ThreadBuilder| {
            assert!(format!("{thread:?}").contains("ThreadBuilder"));
            made.push((thread.index(), thread.name().map(String::from), thread.stack_size()));
            thread::Builder::new().name("given".into()).spawn(|| thread.run()).map(drop)
        })
        .build()
        .unwrap();
    let names = pool.broadcast(|_| thread::current().name() == Some("given"));
    assert_eq!(names, [true; 3]);
    drop(pool);
    let expected = |index: usize| (index, Some(format!("own {index}")), Some(1 << 20));
    assert_eq!(made, [expected(0), expected(1), expected(2)]);
}

#[test]
fn a_thread_that_cannot_be_made_is_an_error() {
    let error = ThreadPoolBuilder::new()
        .num_threads(3)
        .spawn_handler(|thread| {
            if thread.index() == 2 {
                return Err(io::Error::other("no more"));
            }
            drop(thread::spawn(|| thread.run()));
            Ok(())
        })
        .build()
        .expect_err("it was refused");
    assert_eq!(error.to_string(), "no more");
    assert!(std::error::Error::source(&error).is_some() || format!("{error:?}").contains("no more"));
}

#[test]
fn what_panics_while_a_pool_is_built_ends_what_has_begun() {
    let (tell, told) = mpsc::channel();
    let (begins, ends) = (Mutex::new(tell.clone()), Mutex::new(tell));
    let builder = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(move |_| begins.lock().unwrap().send(1).unwrap())
        .exit_handler(move |_| ends.lock().unwrap().send(-1).unwrap())
        .thread_name(|index| {
            if index == 2 {
                throw("no name");
            }
            String::new()
        });
    assert_eq!(panic_of(|| builder.build()), "no name");
    assert_eq!(told.iter().sum::<i32>(), 0, "as many have ended as have begun");
}

#[test]
fn a_stack_beyond_all_bounds_is_an_error() {
    let refused = ThreadPoolBuilder::new().num_threads(1).stack_size(usize::MAX >> 1).build();
    assert!(!refused.expect_err("no such stack").to_string().is_empty());
}

#[test]
fn a_scoped_pool_borrows() {
    thread_local!(static LENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
    let (numbers, left) = (vec![1, 2, 3], AtomicUsize::new(0));
    let sum = ThreadPoolBuilder::new()
        .num_threads(2)
        .build_scoped(
            |thread| {
                LENT.set(numbers.len());
                thread.run();
                tick(&left);
            },
            |pool| {
                assert_eq!(pool.broadcast(|_| LENT.get()), [3, 3]);
                pool.install(|| numbers.iter().sum::<i32>())
            },
        )
        .unwrap();
    assert_eq!((sum, left.into_inner()), (6, 2));
}

#[test]
fn the_calling_thread_may_be_part_of_a_pool() {
    // A thread of its own, since it stays in the pool for as long as it lives.
    let test = || {
        let begun = Arc::new(AtomicUsize::new(0));
        let inside = begun.clone();
        let builder = || ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let pool = builder().start_handler(move |_| tick(&inside)).build().unwrap();
        assert_eq!((pool.current_num_threads(), pool.current_thread_index()), (2, Some(0)));
        assert_eq!((jobs::current_num_threads(), jobs::current_thread_index()), (2, Some(0)));
        let here = thread::current().id();
        assert_eq!(pool.install(|| thread::current().id()), here);
        assert_eq!(jobs::join(|| 1, jobs::current_num_threads), (1, 2));
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
        assert_eq!(pool.scope(|s| s.spawn(|_| assert_eq!(jobs::current_num_threads(), 2))), ());
        let error = builder().build().expect_err("it is part of one");
        assert_eq!(error.to_string(), "The current thread is already part of another thread pool.");
        assert_eq!(begun.load(Ordering::Relaxed), 1, "not for the thread that was there before");
    };
    thread::spawn(test).join().unwrap();
}

#[test]
#[allow(deprecated, reason = "a path swap is to compile")]
fn deprecated_names_are_there() {
    let ran = Arc::new(AtomicUsize::new(0));
    let inside = ran.clone();
    let configuration = jobs::Configuration::new()
        .num_threads(1)
        .thread_name(|_| "old".to_owned())
        .stack_size(1 << 20)
        .breadth_first()
        .panic_handler(|_| ())
        .exit_handler(|_| ())
        .start_handler(move |_| tick(&inside));
    assert!(!format!("{configuration:?}").is_empty());
    let pool = jobs::ThreadPool::new(configuration).unwrap();
    assert_eq!(pool.install(|| thread::current().name().map(String::from)).as_deref(), Some("old"));
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    assert_eq!(jobs::join(|| 1, || 2), (1, 2));
    assert!(jobs::initialize(jobs::Configuration::default()).is_err());
}

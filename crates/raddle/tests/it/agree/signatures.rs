//! That it compiles is the test.

use super::*;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::io;
use std::num::NonZero;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

fn sent<T: Send>() {}
fn shared<T: Sync>() {}
fn shown<T: Debug>() {}
fn unpins<T: Unpin>() {}
fn survives<T: UnwindSafe + RefUnwindSafe>() {}

#[test]
fn the_types_have_the_traits() {
    // Neither `Send` nor `Sync` is asked of the value: it was asked when the thread was made.
    sent::<thread::JoinHandle<*mut u8>>();
    shared::<thread::JoinHandle<*mut u8>>();
    shown::<thread::JoinHandle<*mut u8>>();
    unpins::<thread::JoinHandle<u8>>();
    sent::<thread::ScopedJoinHandle<'_, u8>>();
    shared::<thread::ScopedJoinHandle<'_, u8>>();
    shown::<thread::ScopedJoinHandle<'_, *mut u8>>();
    shared::<thread::Scope<'_, '_>>();
    sent::<thread::Scope<'_, '_>>();
    shown::<thread::Scope<'_, '_>>();
    sent::<thread::Builder>();
    shared::<thread::Builder>();
    shown::<thread::Builder>();
    survives::<thread::Builder>();
}

#[test]
fn handles_and_numbers_have_the_traits() {
    fn value<T: Copy + Eq + Hash + Debug + Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    fn handle<T: Clone + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
    fn error<T: Error + Copy + Eq + Debug + Display>() {}
    value::<thread::ThreadId>();
    handle::<thread::Thread>();
    error::<thread::AccessError>();
    shown::<thread::LocalKey<u8>>();
}

#[test]
fn the_functions_have_the_types() {
    let _: [fn(); 2] = [thread::park, thread::yield_now];
    let _: [fn(Duration); 2] = [thread::sleep, thread::park_timeout];
    let _: fn() -> bool = thread::panicking;
    let _: fn() -> thread::Thread = thread::current;
    let _: fn() -> io::Result<NonZero<usize>> = thread::available_parallelism;
    let _: fn(fn() -> u8) -> thread::JoinHandle<u8> = thread::spawn;
    let _: fn(thread::JoinHandle<u8>) -> thread::Result<u8> = thread::JoinHandle::join;
    let _: fn(&thread::JoinHandle<u8>) -> &thread::Thread = thread::JoinHandle::thread;
    let _: fn(&thread::JoinHandle<u8>) -> bool = thread::JoinHandle::is_finished;
    let _: fn() -> thread::Builder = thread::Builder::new;
    let _: fn(thread::Builder, String) -> thread::Builder = thread::Builder::name;
    let _: fn(thread::Builder, usize) -> thread::Builder = thread::Builder::stack_size;
    let _: fn(_, fn()) -> io::Result<thread::JoinHandle<()>> = thread::Builder::spawn;
    let _: fn(&thread::Thread) -> Option<&str> = thread::Thread::name;
    let _: fn(&thread::Thread) -> thread::ThreadId = thread::Thread::id;
    let _: fn(&thread::Thread) = thread::Thread::unpark;
}

/// A function as libraries write them, generic over what runs and with the lifetimes spelt out.
fn halves<'scope, 'env, F>(
    s: &'scope thread::Scope<'scope, 'env>,
    f: F,
) -> [thread::ScopedJoinHandle<'scope, u8>; 2]
where
    F: Fn() -> u8 + Clone + Send + 'scope,
{
    [s.spawn(f.clone()), s.spawn(f)]
}

#[test]
fn a_scope_can_be_passed_on() {
    everywhere(|| {
        let seven = 7;
        let sum: u8 = thread::scope(|s| halves(s, || seven).into_iter().map(|h| h.join().unwrap()).sum());
        assert_eq!(sum, 14);
    });
}

#[test]
fn a_value_that_only_one_thread_may_have_is_dropped_with_its_handle() {
    fn joined(handle: thread::JoinHandle<Box<dyn FnMut() -> u8 + Send>>) -> u8 {
        (handle.join().unwrap())()
    }
    everywhere(|| assert_eq!(joined(thread::spawn(|| Box::new(|| 7_u8) as Box<_>)), 7));
}

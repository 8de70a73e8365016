//! C and C++ code on threads: libraries that are compiled here by whatever `g++` there is, and loaded.
//!
//! Without a compiler for this machine there is nothing to test: where another one is emulated, or `g++` is missing.

use super::threads::thread;
use crate::child::{assert_success, in_child};
use crate::library::{Library, compile};
use raddle::{Runtime, csp};
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

type Check = unsafe extern "C" fn(c_int, extern "C" fn()) -> c_int;
type Place = unsafe extern "C" fn() -> *mut c_int;

extern "C" fn yields() {
    csp::yield_now();
}

fn scattering() -> Runtime {
    Runtime::builder().workers(2).scatter_threads(true).stack_size(256 << 10).build().expect("a runtime")
}

/// `threads.cpp`, compiled and loaded once.
fn functions() -> Option<&'static Library> {
    static LOADED: OnceLock<Option<Library>> = OnceLock::new();
    let load = || compile("threads.cpp", "threads", &["-std=c++17"]).map(|path| Library::load(&path));
    LOADED.get_or_init(load).as_ref()
}

/// Runs a function of `threads.cpp` on so many threads at once, twice.
#[track_caller]
fn check(function: &str, threads: c_int) {
    let Some(library) = functions() else { return };
    // SAFETY: this is the type of all of them.
    let check: Check = unsafe { library.function(function) };
    scattering().run(|| {
        for _ in 0..2 {
            let run = |id| {
                // SAFETY: the function is loaded, and is never unloaded.
                thread(move || unsafe { check(id, yields) })
            };
            let all: Vec<_> = (1..=threads).map(run).collect();
            for t in all {
                assert_eq!(t.join().unwrap(), 0, "the line of {function} that does not hold");
            }
        }
    });
}

#[test]
fn variables_and_errno_stay() {
    check("variables", 30);
}

#[test]
fn exceptions_do_not_mix() {
    check("exceptions", 30);
}

#[test]
fn memory_is_allocated_and_freed_anywhere() {
    check("memory", 30);
}

#[test]
fn locale_and_messages_are_a_threads_own() {
    check("library", 10);
}

#[test]
fn a_thread_knows_itself_and_its_stack() {
    check("identity", 10);
}

#[test]
fn mutexes_know_their_owner() {
    check("mutexes", 10);
}

#[test]
fn long_jumps_find_their_frame() {
    check("jumps", 10);
}

#[test]
fn threads_of_the_c_library_start_from_ours() {
    check("other_threads", 10);
}

#[test]
fn a_handler_sees_the_thread_that_it_interrupts() {
    check("signals", 1);
}

#[test]
fn keys_have_destructors() {
    let Some(library) = functions() else { return };
    // SAFETY: this is its type.
    let specific: Check = unsafe { library.function("specific") };
    // SAFETY: as above.
    let destroyed: unsafe extern "C" fn() -> c_int = unsafe { library.function("keys_destroyed") };
    scattering().run(|| {
        for n in 1..=20 {
            // SAFETY: the function is loaded, and is never unloaded.
            let line = thread(move || unsafe { specific(n, yields) }).join().unwrap();
            assert_eq!(line, 0);
            // SAFETY: as above.
            assert_eq!(unsafe { destroyed() }, 40 * n);
        }
    });
}

#[test]
fn a_thread_may_fork() {
    let outcome = in_child("native::a_thread_may_fork", || check("forks", 4));
    assert_success(&outcome);
}

#[test]
fn a_thread_may_exit_the_program() {
    let outcome = in_child("native::a_thread_may_exit_the_program", || {
        extern "C" fn last() {
            eprintln!("last words");
        }
        // SAFETY: a function that lives as long as the program.
        unsafe { libc::atexit(last) };
        scattering().run(|| {
            let exits = || {
                csp::yield_now();
                // SAFETY: ends the program.
                unsafe { libc::exit(0) }
            };
            thread(exits).join().unwrap();
        });
        unreachable!("the program has ended");
    });
    assert_success(&outcome);
    crate::child::assert_said(&outcome, &["last words"]);
}

/// Loads a library while threads live; they and later ones find its variable's first value, each its own.
fn late_variable(name: &str, options: &[&str]) {
    let Some(path) = compile("variable.c", name, options) else { return };
    let loaded = Arc::new(OnceLock::<Place>::new());
    scattering().run(|| {
        let seen = Arc::new(AtomicUsize::new(0));
        let body = |n: c_int| {
            let (loaded, seen) = (loaded.clone(), seen.clone());
            move || {
                let place = loop {
                    match loaded.get() {
                        Some(place) => break *place,
                        None => csp::yield_now(),
                    }
                };
                for turn in 0..10 {
                    // SAFETY: the library is loaded, and this is its function without arguments.
                    let variable = unsafe { place() };
                    // SAFETY: the variable is this thread's alone.
                    let variable = unsafe { &mut *variable };
                    assert_eq!(*variable, if turn == 0 { 99 } else { n });
                    *variable = n;
                    csp::yield_now();
                }
                seen.fetch_add(1, Ordering::Relaxed);
            }
        };
        let early: Vec<_> = (0..10).map(|n| thread(body(n))).collect();
        (0..10).for_each(|_| csp::yield_now());
        thread({
            let loaded = loaded.clone();
            move || {
                csp::yield_now();
                // SAFETY: this is its type.
                loaded.set(unsafe { Library::load(&path).function("place_of_variable") }).unwrap();
            }
        })
        .join()
        .unwrap();
        early.into_iter().for_each(|t| t.join().unwrap());
        (0..30).for_each(|n| thread(body(n)).join().unwrap());
        assert_eq!(seen.load(Ordering::Relaxed), 40);
    });
}

#[test]
fn a_library_that_is_loaded_late_has_its_variables() {
    late_variable("dynamic", &[]);
}

#[test]
fn a_library_that_is_loaded_late_may_have_static_variables() {
    late_variable("static", &["-DSTATIC"]);
}

#[test]
fn a_library_that_a_forked_child_loads_may_have_static_variables() {
    let outcome = in_child("native::a_library_that_a_forked_child_loads_may_have_static_variables", || {
        scattering().run(|| thread(|| ()).join().unwrap());
        // SAFETY: the child does what a program may do.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let loads = || late_variable("static-in-child", &["-DSTATIC"]);
            std::process::exit(i32::from(std::panic::catch_unwind(loads).is_err()));
        }
        let mut status = -1;
        // SAFETY: waits for the child that was just made.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    });
    assert_success(&outcome);
}

//! Overflows and other faults, each in a process of its own, since it dies.

use crate::support::{pool, run_on};
use raddle_context::overflow::{AltStack, RawWriter, install_process_handler, set_describer};
use raddle_context::{Guard, SizeClass, StackDepot, StackOptions, StackPool, current};
use std::ffi::OsStr;
use std::fmt::Write;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

const CHILD: &str = "RADDLE_TEST_CHILD";
const RUNNER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";

/// Runs `body` in a process of its own: this very test, told by a variable that it is the child.
fn in_child(test: &str, body: impl FnOnce()) -> Output {
    if std::env::var_os(CHILD).is_some() {
        body();
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("the test's own path");
    // Under an emulator the child needs it too; cargo's variable for it reaches the tests.
    let runner =
        if cfg!(target_arch = "aarch64") { std::env::var(RUNNER).unwrap_or_default() } else { String::new() };
    let mut words = runner.split_whitespace().map(OsStr::new).chain([program.as_os_str()]);
    let mut child = Command::new(words.next().expect("at least the program"));
    child.args(words);
    child.args(["--exact", &format!("overflow::{test}"), "--nocapture", "--test-threads=1"]);
    child.env(CHILD, "1").output().expect("the child starts")
}

fn describe(current: *mut (), out: &mut RawWriter) {
    let _ = write!(out, "process 17 \"deep\" ({current:?})");
}

/// Overflows a stack of `class` by `dive`, with everything installed.
fn overflow(depot: StackOptions, class: SizeClass, dive: fn()) {
    install_process_handler();
    set_describer(describe);
    let _alt_stack = AltStack::for_this_thread().unwrap();
    // SAFETY: who describes it does not follow it.
    unsafe { current::set(core::ptr::without_provenance_mut(0xABC0)) };
    run_on(&mut StackPool::new(StackDepot::with(depot)), class, move |_| dive());
}

fn recurse() {
    fn deeper(n: u64) -> u64 {
        let here = black_box([n; 16]);
        if n == 0 { 0 } else { deeper(black_box(n + 1)) + here[(n % 16) as usize] }
    }
    black_box(deeper(1));
}

/// One frame of 3 MiB: far larger than the stack and its guard. rustc touches it page by page.
fn big_frame() {
    let big = black_box([1_u8; 3 << 20]);
    black_box(big[black_box(5)]);
}

fn assert_report(output: &Output, bytes: usize) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{:?}\n{text}", output.status);
    let wanted = [
        "stack overflow in process 17 \"deep\" (0xabc0)",
        &format!("{bytes}-byte stack"),
        "RADDLE_STACK_SIZE",
    ];
    for part in wanted {
        assert!(text.contains(part), "\"{part}\" is missing in:\n{text}");
    }
}

#[test]
fn a_deep_recursion_is_reported() {
    let output = in_child("a_deep_recursion_is_reported", || {
        overflow(StackOptions::default(), SizeClass::DEFAULT, recurse);
    });
    assert_report(&output, 65536);
}

#[test]
fn a_frame_larger_than_the_stack_is_reported() {
    let output = in_child("a_frame_larger_than_the_stack_is_reported", || {
        overflow(StackOptions::default(), SizeClass::for_bytes(1).unwrap(), big_frame);
    });
    assert_report(&output, 8192);
}

#[test]
fn an_overflow_into_the_fallback_guard_is_reported() {
    let output = in_child("an_overflow_into_the_fallback_guard_is_reported", || {
        let options = StackOptions { guard: Guard::Protect, ..StackOptions::default() };
        overflow(options, SizeClass::for_bytes(256 << 10).unwrap(), recurse);
    });
    assert_report(&output, 256 << 10);
}

#[test]
fn a_guard_holds_after_its_stack_was_trimmed() {
    let output = in_child("a_guard_holds_after_its_stack_was_trimmed", || {
        let depot = StackDepot::new();
        let mut first = StackPool::new(depot.clone());
        run_on(&mut first, SizeClass::DEFAULT, |_| ());
        drop(first);
        assert_eq!(depot.trim(), 4);
        install_process_handler();
        set_describer(describe);
        let _alt_stack = AltStack::for_this_thread().unwrap();
        // SAFETY: who describes it does not follow it.
        unsafe { current::set(core::ptr::without_provenance_mut(0xABC0)) };
        run_on(&mut StackPool::new(depot), SizeClass::DEFAULT, |_| recurse());
    });
    assert_report(&output, 65536);
}

/// The kernel delivers a fault while its signal is blocked to nobody, and glibc blocks all signals in the midst of
/// `posix_spawn`, by which `Command::status` starts a program.
#[test]
fn an_overflow_while_the_signal_is_blocked_ends_the_process_without_a_report() {
    let output =
        in_child("an_overflow_while_the_signal_is_blocked_ends_the_process_without_a_report", || {
            overflow(StackOptions::default(), SizeClass::DEFAULT, || {
                // SAFETY: a set of signals is numbers, for which all zeroes is a value.
                let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
                // SAFETY: one such set, which is written.
                unsafe { libc::sigfillset(&raw mut all) };
                // SAFETY: the set is read; no handler needs a signal before the end.
                unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
                recurse();
            });
        });
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{:?}", output.status);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("stack overflow in"));
}

#[test]
fn a_wild_access_to_a_guard_page_is_no_overflow() {
    let output = in_child("a_wild_access_to_a_guard_page_is_no_overflow", || {
        install_process_handler();
        let stack = pool().take(SizeClass::DEFAULT).unwrap();
        // SAFETY: none: the write into the guard page is the fault that is wanted.
        unsafe { stack.limit().wrapping_sub(8).write_volatile(1) };
    });
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{text}");
    assert!(text.contains("wild pointer") && !text.contains("stack overflow in"), "{text}");
}

#[test]
fn an_overflow_of_an_os_thread_is_still_reported_by_std() {
    let output = in_child("an_overflow_of_an_os_thread_is_still_reported_by_std", || {
        install_process_handler();
        std::thread::Builder::new().name("plain".into()).spawn(recurse).unwrap().join().unwrap();
    });
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{text}");
    assert!(text.contains("'plain'") && text.contains("overflowed its stack"), "{text}");
}

#[test]
fn a_signal_that_somebody_sends_still_kills() {
    let output = in_child("a_signal_that_somebody_sends_still_kills", || {
        install_process_handler();
        for _ in 0..2 {
            // std's handler, to which ours passes the first one on, only restores the default action.
            // SAFETY: sends this thread a signal.
            unsafe { libc::raise(libc::SIGSEGV) };
        }
    });
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
}

#[test]
fn the_alternate_stack_of_before_is_put_back() {
    let installed = || {
        let mut now = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
        // SAFETY: asks for the description of this thread's alternate stack.
        unsafe { libc::sigaltstack(core::ptr::null(), &raw mut now) };
        (now.ss_sp, now.ss_size, now.ss_flags)
    };
    let before = installed();
    let ours = AltStack::for_this_thread().unwrap();
    assert_ne!(installed(), before);
    drop(ours);
    assert_eq!(installed(), before);
}

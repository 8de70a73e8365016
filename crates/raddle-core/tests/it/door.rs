//! Threads of C, as an adaptor makes them; from C itself in `tests/door.rs`.

use crate::floats::{NEAREST, UPWARD, round, rounding};
use raddle::{Runtime, blocking, csp};
use raddle_core::door::thread::{self, ForeignBuilder, Start, Thread};
use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

fn spawn(start: Start, argument: usize) -> Thread {
    // SAFETY: all functions here may be called with a number.
    unsafe { ForeignBuilder::new().spawn(start, without_provenance_mut(argument)) }.expect("a thread")
}

fn join(thread: Thread) -> usize {
    thread.join().expect("a stack").addr()
}

fn scattering() -> Runtime {
    Runtime::builder().workers(2).scatter_threads(true).stack_size(128 << 10).build().expect("a runtime")
}

unsafe extern "C-unwind" fn same(argument: *mut c_void) -> *mut c_void {
    argument
}

unsafe extern "C-unwind" fn itself(_: *mut c_void) -> *mut c_void {
    without_provenance_mut(thread::pthread_self())
}

#[test]
fn results_come_back_wherever_a_thread_is_made() {
    assert_eq!(join(spawn(same, 7)), 7);
    scattering().run(|| {
        assert_eq!(join(spawn(same, 8)), 8);
        csp::spawn(|| assert_eq!(join(spawn(same, 9)), 9)).join().unwrap();
    });
    let word = spawn(same, 10).into_raw();
    // SAFETY: it was made above, and is joined once.
    assert_eq!(join(unsafe { Thread::from_raw(word) }), 10);
}

#[cfg(not(raddle_twin))]
#[test]
fn an_identity_is_ones_own_until_it_is_joined() {
    let alive = || {
        let all: Vec<_> = (0..100).map(|_| spawn(itself, 0)).collect();
        while !all.iter().all(Thread::is_finished) {
            csp::yield_now();
        }
        assert_eq!(all.iter().map(Thread::pthread).collect::<HashSet<_>>().len(), 100);
        for thread in all {
            let known = thread.pthread();
            assert_eq!(join(thread), known);
        }
    };
    alive();
    scattering().run(alive);
}

unsafe extern "C-unwind" fn rounds_up(_: *mut c_void) -> *mut c_void {
    round(UPWARD);
    for _ in 0..20 {
        thread::yield_now();
        assert_eq!(rounding(), UPWARD);
        // There another OS thread runs it, and has its own mode again afterwards.
        blocking(|| assert_eq!(rounding(), UPWARD));
        assert_eq!(rounding(), UPWARD);
    }
    null_mut()
}

unsafe extern "C-unwind" fn rounds_to_nearest(_: *mut c_void) -> *mut c_void {
    for _ in 0..20 {
        assert_eq!(rounding(), NEAREST);
        blocking(|| assert_eq!(rounding(), NEAREST));
        thread::yield_now();
    }
    null_mut()
}

#[test]
fn a_rounding_mode_is_a_threads_own() {
    scattering().run(|| {
        let other = csp::spawn(|| {
            for _ in 0..100 {
                assert_eq!(rounding(), NEAREST);
                csp::yield_now();
            }
        });
        let functions: [Start; 2] = [rounds_up, rounds_to_nearest];
        let all: Vec<_> = (0..20).map(|n| spawn(functions[n % 2], 0)).collect();
        all.into_iter().for_each(|thread| assert_eq!(join(thread), 0));
        other.join().unwrap();
        assert_eq!(rounding(), NEAREST);
    });
}

/// Counts its drops.
struct Counted;

static DROPS: AtomicUsize = AtomicUsize::new(0);

impl Drop for Counted {
    fn drop(&mut self) {
        DROPS.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    static COUNTED: Cell<Option<Counted>> = const { Cell::new(None) };
}

#[inline(never)]
fn leaves(depth: usize) {
    if depth == 0 {
        assert!(thread::is_here());
        // SAFETY: these frames have nothing that is missed.
        unsafe { thread::leave(without_provenance_mut(77)) };
    }
    leaves(depth - 1);
    thread::yield_now();
}

unsafe extern "C-unwind" fn leaves_early(_: *mut c_void) -> *mut c_void {
    COUNTED.set(Some(Counted));
    leaves(10);
    null_mut()
}

#[test]
fn a_thread_that_leaves_has_its_destructors_run_and_is_joined() {
    assert!(!thread::is_here());
    scattering().run(|| {
        for _ in 0..50 {
            assert_eq!(join(spawn(leaves_early, 0)), 77);
        }
        // The OS threads that the twin's contexts are have theirs run when they end.
        assert!(cfg!(raddle_twin) || DROPS.load(Ordering::Relaxed) == 50);
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |builder: ForeignBuilder| {
        // SAFETY: as in `spawn`.
        unsafe { builder.spawn(same, null_mut()) }.expect_err("not possible").to_string()
    };
    scattering().run(move || {
        assert!(refused(ForeignBuilder::new().worker(2)).contains("no worker 2"));
        assert!(refused(ForeignBuilder::new().stack_memory(null_mut(), 100)).contains("100 bytes"));
        assert!(refused(ForeignBuilder::new().stack_size(usize::MAX)).contains("stack"));
    });
}

/// Where a thread on memory of the program's stands, and where what it has besides lies: seen by itself.
#[cfg(not(any(raddle_twin, raddle_asan)))]
unsafe extern "C-unwind" fn stands(memory: *mut c_void) -> *mut c_void {
    // SAFETY: the range that the test gave, which lives until this has been joined.
    let memory = unsafe { &*memory.cast::<std::ops::Range<usize>>() };
    let local = 0_u8;
    for _ in 0..3 {
        // SAFETY: no preconditions.
        let errno = unsafe { libc::__errno_location() };
        let storage = [thread::pthread_self(), errno.addr(), COUNTED.with(Cell::as_ptr).addr()];
        assert!(memory.contains(&(&raw const local).addr()));
        assert!(storage.iter().all(|place| !memory.contains(place)), "{memory:x?} {storage:x?}");
        thread::yield_now();
    }
    null_mut()
}

/// Its storage lies elsewhere: when such a thread has been joined its memory may go, and nothing that goes through all
/// threads misses it. (ThreadSanitizer does not bear a change of rights on a worker.)
#[cfg(not(any(raddle_twin, raddle_asan, raddle_tsan)))]
#[test]
fn memory_of_the_programs_is_free_once_its_thread_is_joined() {
    const BYTES: usize = 256 << 10;
    scattering().run(|| {
        for _ in 0..20 {
            let (protection, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
            let memory = unsafe { libc::mmap(null_mut(), BYTES, protection, flags, -1, 0) };
            assert_ne!(memory, libc::MAP_FAILED);
            let mut range = memory.addr()..memory.addr() + BYTES;
            let builder = ForeignBuilder::new().stack_memory(memory.cast(), BYTES);
            // SAFETY: the range lives until the thread has been joined.
            let thread = unsafe { builder.spawn(stands, (&raw mut range).cast()) }.expect("a thread");
            assert!(!range.contains(&thread.pthread()));
            assert_eq!(join(thread), 0);
            // SAFETY: the test's own, and nobody's any more.
            assert_eq!(unsafe { libc::munmap(memory, BYTES) }, 0);
            // SAFETY: no preconditions.
            let group = unsafe { libc::getgid() };
            // SAFETY: sets what it is.
            assert_eq!(unsafe { libc::setgid(group) }, 0);
            assert_eq!(join(spawn(same, 3)), 3);
        }
        std::thread::spawn(|| ()).join().unwrap();
    });
}

//! What a program may meet while very many processes are alive: a library with thread-local variables that is loaded
//! late, and mutexes of POSIX that know their owner.
#![cfg(not(any(loom, raddle_twin)))]
#![allow(clippy::print_stderr, reason = "the watchdog's last words")]

#[path = "support/watch.rs"]
mod watch;

use raddle::{Runtime, csp};
use std::collections::HashSet;
use std::ffi::{CString, c_int};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use watch::{Progress, Watchdog};

const LATE: &str = "\
__thread int numbers[700] = {41};
static __thread char more[5000];
int *late(void) { return more[4999] == 0 ? numbers : 0; }
";

/// Where the calling thread has the library's variable.
type Late = unsafe extern "C" fn() -> *mut c_int;

/// Compiles the library and loads it.
fn load() -> Late {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("late.c"), folder.join("late.so"));
    std::fs::write(&source, LATE).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compiler.status().unwrap().success());
    let name = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: loads a library without initialisers.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null(), "it is not loaded");
    // SAFETY: looks a name up in a loaded library.
    let late = unsafe { libc::dlsym(handle, c"late".as_ptr()) };
    assert!(!late.is_null(), "it is not there");
    // SAFETY: its type.
    unsafe { std::mem::transmute::<*mut libc::c_void, Late>(late) }
}

/// Each of the processes, all of them older than the library, has variables of its own with their first values, finds
/// them again after it has waited, and lets others find theirs.
#[test]
fn a_library_with_thread_locals_may_come_when_ten_thousand_processes_are_alive() {
    const PROCESSES: usize = if cfg!(any(raddle_asan, raddle_tsan)) { 200 } else { 10_000 };
    let rt = Runtime::builder().workers(2).build().unwrap();
    let progress = Progress::default();
    let _dog = Watchdog::new("a late library".to_owned(), progress.clone(), String::new);
    let places = Arc::new(Mutex::new(HashSet::new()));
    let (alive, loaded) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None::<Late>)));
    rt.run(|| {
        let process = |n: usize| {
            let (places, alive, loaded) = (places.clone(), alive.clone(), loaded.clone());
            csp::spawn(move || {
                alive.fetch_add(1, Ordering::Relaxed);
                csp::park();
                let late = loaded.lock().unwrap_or_else(PoisonError::into_inner).expect("it is loaded");
                // SAFETY: its type.
                let place = unsafe { late() };
                places.lock().unwrap_or_else(PoisonError::into_inner).insert(place.addr());
                // SAFETY: the variable is this process's.
                assert_eq!(unsafe { place.replace(n as c_int) }, 41, "its first value");
                csp::park();
                // SAFETY: as above.
                assert_eq!((unsafe { late() }, unsafe { place.read() }), (place, n as c_int), "its own");
            })
        };
        let all: Vec<_> = (0..PROCESSES).map(process).collect();
        while alive.load(Ordering::Relaxed) < PROCESSES {
            csp::yield_now();
        }
        progress.note();
        *loaded.lock().unwrap() = Some(load());
        all.iter().for_each(|handle| handle.process().unpark());
        while places.lock().unwrap().len() < PROCESSES && !all.iter().any(csp::JoinHandle::is_finished) {
            csp::yield_now();
        }
        progress.note();
        all.iter().for_each(|handle| handle.process().unpark());
        all.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert_eq!(places.lock().unwrap().len(), PROCESSES);
    assert_eq!(rt.shutdown(), 0);
}

/// A mutex of POSIX that knows whether its owner is alive.
struct Robust(std::cell::UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex.
unsafe impl Sync for Robust {}
// SAFETY: as above; it stays where it is once it is made.
unsafe impl Send for Robust {}

impl Robust {
    fn new() -> Box<Robust> {
        let it = Box::new(Robust(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
        let mut kind = std::mem::MaybeUninit::uninit();
        // SAFETY: a place for attributes.
        assert_eq!(unsafe { libc::pthread_mutexattr_init(kind.as_mut_ptr()) }, 0);
        // SAFETY: just made.
        let set = unsafe { libc::pthread_mutexattr_setrobust(kind.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST) };
        assert_eq!(set, 0);
        // SAFETY: nobody has it yet.
        assert_eq!(unsafe { libc::pthread_mutex_init(it.0.get(), kind.as_ptr()) }, 0);
        it
    }

    fn try_lock(&self) -> c_int {
        // SAFETY: it is made, and does not move.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) }
    }

    fn unlock(&self) {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0, "its owner unlocks it");
    }
}

/// Processes hold two of them each, over switches and moves to the other worker, and give them back in either order:
/// the list of what a process holds is its own.
#[test]
fn robust_mutexes_are_held_over_switches() {
    const PROCESSES: usize = 8;
    const TURNS: usize = 200;
    let rt = Runtime::builder().workers(2).build().unwrap();
    let progress = Progress::default();
    let _dog = Watchdog::new("robust mutexes".to_owned(), progress.clone(), String::new);
    let mutexes: Arc<[Box<Robust>]> = (0..4).map(|_| Robust::new()).collect();
    let inside: Arc<[AtomicBool]> = (0..4).map(|_| AtomicBool::new(false)).collect();
    rt.run(|| {
        let process = |n: usize| {
            let (mutexes, inside, progress) = (mutexes.clone(), inside.clone(), progress.clone());
            csp::spawn(move || {
                let lock = |which: usize| {
                    loop {
                        match mutexes[which].try_lock() {
                            0 => break,
                            libc::EBUSY => csp::yield_now(),
                            other => panic!("error {other}"),
                        }
                    }
                    assert!(!inside[which].swap(true, Ordering::Relaxed), "two hold it");
                };
                let unlock = |which: usize| {
                    inside[which].store(false, Ordering::Relaxed);
                    mutexes[which].unlock();
                };
                for turn in 0..TURNS {
                    let (low, high) = ((n + turn) % 3, 3);
                    lock(low);
                    csp::yield_now();
                    lock(high);
                    csp::yield_now();
                    let order = if turn % 2 == 0 { [low, high] } else { [high, low] };
                    order.into_iter().for_each(unlock);
                    progress.note();
                }
            })
        };
        let all: Vec<_> = (0..PROCESSES).map(process).collect();
        all.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert_eq!(rt.shutdown(), 0);
    assert!(mutexes.iter().all(|mutex| mutex.try_lock() == 0), "all are free");
}

//! Workers that are blocked by what is none of ours: in a system call, and at locks of `std`.

use crate::child::{in_program, stderr};
use crate::runtime;
use crate::{plain, said_until, until_input_ends};
use raddle::csp::{self, Builder};
use raddle::hang::dump;
use std::io::Read as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// One stands in `read`, on a worker.
pub(super) fn in_read() {
    let rt = runtime(1);
    let (mut from, to) = std::io::pipe().unwrap();
    drop(rt.spawn(move || {
        let reads = move || drop(from.read(&mut [0]));
        drop(Builder::new().name("reader").spawn(reads).unwrap().join());
    }));
    let dump = loop {
        let dump = dump();
        if dump.list().contains("is blocked on worker 0, in the system call `read`\n") {
            break dump;
        }
    };
    eprint!("{dump}\n{}", dump.json());
    drop(to);
    until_input_ends();
}

/// A lock of `std` is held over a switch, and its next user blocks its worker: for ever, if that is the only one.
fn at_foreign_lock(workers: usize) {
    let lock = Arc::new(Mutex::new(()));
    let other = lock.clone();
    runtime(workers).run(move || {
        let holds = move || {
            let _held = lock.lock().unwrap();
            csp::park();
        };
        let holder = Builder::new().name("holder").spawn(holds).unwrap();
        csp::yield_now();
        let waits = move || drop(other.lock().unwrap());
        Builder::new().name("blocked").spawn(waits).unwrap().join().unwrap();
        holder.join().unwrap();
    });
}

pub(super) fn foreign_lock() {
    at_foreign_lock(1);
}

pub(super) fn foreign_lock_of_two() {
    at_foreign_lock(2);
}

/// As `foreign_lock`; and OS threads of the program wait for each other by means of `std`.
pub(super) fn foreign_locks_outside() {
    std::thread::spawn(foreign_lock).join().unwrap();
}

/// As `foreign_lock`, and a handler of a signal could give the lock back, for all that is known.
pub(super) fn foreign_lock_and_handler() {
    extern "C" fn ends(_signal: libc::c_int) {
        // SAFETY: ends the program at once.
        unsafe { libc::_exit(0) };
    }
    let handler: extern "C" fn(libc::c_int) = ends;
    // SAFETY: the handler does nothing that it may not.
    unsafe { libc::signal(libc::SIGALRM, handler as libc::sighandler_t) };
    // Longer than it takes until a deadlock is reported; the alarm is what ends the program.
    // SAFETY: touches no memory of ours.
    unsafe { libc::alarm(3) };
    foreign_lock();
}

/// As `foreign_lock`, until an OS thread of the program, which sleeps with a deadline, gives the lock back.
pub(super) fn foreign_lock_for_a_while() {
    let lock = Arc::new(Mutex::new(()));
    let other = lock.clone();
    let (tell, told) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let _held = lock.lock().unwrap();
        tell.send(()).unwrap();
        // Not to wait for anybody: this is the time in which a false alarm would come.
        std::thread::sleep(std::time::Duration::from_secs(2));
    });
    told.recv().unwrap();
    runtime(1).run(move || {
        drop(csp::spawn(|| ()));
        drop(other.lock().unwrap());
    });
    holder.join().unwrap();
}

/// A page that other programs have, too, by its file.
fn page_of(file: libc::c_int) -> *mut u32 {
    let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, read_write, shared, file, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page.cast()
}

/// The variable that says which file has the page.
const FILE: &str = "TEST_FILE";

/// As `foreign_lock`, until another program wakes the holder, which waits at a word that both have. Its value is the
/// number of an OS thread.
pub(super) fn foreign_lock_until_another_program_wakes() {
    // SAFETY: a name.
    let file = unsafe { libc::memfd_create(c"page".as_ptr(), 0) };
    // SAFETY: the file is this program's.
    assert_eq!(unsafe { libc::ftruncate(file, 4096) }, 0);
    let page = page_of(file).addr();
    let mut wakes =
        crate::child::program("wakes_another_program", &[(FILE, &file.to_string())]).spawn().unwrap();
    let lock = Arc::new(Mutex::new(()));
    let other = lock.clone();
    let (tell, told) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let _held = lock.lock().unwrap();
        tell.send(()).unwrap();
        let page = std::ptr::with_exposed_provenance_mut::<u32>(page);
        // SAFETY: no preconditions.
        let number = unsafe { libc::gettid() };
        // SAFETY: a word of the page.
        let word = unsafe { std::sync::atomic::AtomicU32::from_ptr(page) };
        if word.compare_exchange(0, number.cast_unsigned(), Relaxed, Relaxed).is_err() {
            return;
        }
        while word.load(Relaxed) != 1 {
            // SAFETY: waits at that word.
            unsafe { libc::syscall(libc::SYS_futex, page, libc::FUTEX_WAIT, number, 0, 0, 0) };
        }
    });
    told.recv().unwrap();
    runtime(1).run(move || {
        drop(csp::spawn(|| ()));
        drop(other.lock().unwrap());
    });
    holder.join().unwrap();
    assert!(wakes.wait().unwrap().success());
}

/// Wakes who waits at the word, after a while.
pub(super) fn wakes_another_program() {
    let page = page_of(std::env::var(FILE).unwrap().parse().unwrap());
    // Not to wait for anybody: this is the time in which a false alarm would come.
    std::thread::sleep(std::time::Duration::from_secs(2));
    // SAFETY: a word of the page.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(page) }.store(1, Relaxed);
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, page, libc::FUTEX_WAKE, 1, 0, 0, 0) };
}

/// Workers are stopped to see what they are at.
const SEES_WORKERS: bool = !cfg!(any(raddle_tsan, raddle_twin));

#[test]
fn who_stands_in_a_system_call_is_shown_as_blocked() {
    if !SEES_WORKERS {
        return;
    }
    let text = said_until("in_read", "\"os_threads\":[]}\n");
    let line = text.lines().find(|line| line.contains("process 'reader' (#")).expect(&text);
    assert!(line.ends_with(" is blocked on worker 0, in the system call `read`"), "{text}");
    assert!(text.contains(r#""state":"blocked","worker":0,"system_call":"read""#), "{text}");
}

#[test]
fn a_hang_on_a_foreign_lock_ends_as_other_deadlocks_do() {
    if !SEES_WORKERS {
        return;
    }
    for program in ["foreign_lock", "foreign_lock_of_two", "foreign_locks_outside"] {
        let output = in_program(program, &[]);
        assert_eq!(output.status.code(), Some(3), "{program}: {output:?}");
        let text = plain(&stderr(&output));
        let report = text.lines().find(|line| line.starts_with("raddle: deadlock: ")).expect(&text);
        assert!(report.contains("process 'blocked' (#N, spawned at "), "{text}");
        assert!(
            report.contains("in the system call `futex`, perhaps at a lock that is none of ours"),
            "{text}"
        );
        assert!(text.contains("process 'holder' (#N"), "{text}");
        assert!(text.contains("exit code 3; RADDLE_DEADLOCK=report goes on waiting"), "{text}");
    }
}

#[test]
fn what_could_still_end_it_is_no_deadlock() {
    let programs =
        ["foreign_lock_and_handler", "foreign_lock_for_a_while", "foreign_lock_until_another_program_wakes"];
    for program in programs {
        let output = in_program(program, &[]);
        assert!(output.status.success(), "{program}: {output:?}");
        assert!(!stderr(&output).contains("raddle: deadlock: "), "{program}: {output:?}");
    }
}

//! A call that waits is refused to a task at the line of the program that makes it, and says what to write instead.
#![cfg(not(any(loom, target_arch = "aarch64")))]

#[path = "../../raddle-core/tests/support/lock_waits.rs"]
mod lock_waits;

use lock_waits::LOCK_WAITS;
use raddle::channel::{self, Receiver, Select, Sender, bounded, never, select};
use raddle::sync::{Condvar, Mutex, Once, RwLock, Semaphore};
use raddle::{csp, task, thread};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// Where the last panic was: file and line.
static PLACE: std::sync::Mutex<(String, u32)> = std::sync::Mutex::new((String::new(), 0));

fn note_place(info: &PanicHookInfo<'_>) {
    if let Some(at) = info.location() {
        *PLACE.lock().expect("nobody panics with it") = (at.file().to_owned(), at.line());
    }
}

/// What `waits` says in a task, where it panics; the file and the line of that.
fn refused(waits: impl FnOnce() + Send + 'static) -> (String, String, u32) {
    let in_task = task::spawn(async move { catch_unwind(AssertUnwindSafe(waits)) });
    let panic = task::block_on(in_task).expect("the task caught it").expect_err("it must not wait");
    let (file, line) = PLACE.lock().expect("nobody panics with it").clone();
    (*panic.downcast::<String>().expect("words"), file, line)
}

/// The line of each, the call that it names, and what the message tells to use.
type Row = (u32, &'static str, &'static str, fn());

/// Both ends of a rendezvous.
fn ends() -> (Sender<u8>, Receiver<u8>) {
    bounded(0)
}

/// A selection of one.
fn of_one(r: &Receiver<u8>) -> Select<'_> {
    let mut select = Select::new();
    select.recv(r);
    select
}

fn done<T>(_: T) {}

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    vec![
        (line!(), "Receiver::recv", "recv_async()", || done(ends().1.recv())),
        (line!(), "Receiver::recv", "recv_async()", || { let (_s, r) = ends(); done(r.recv()) }),
        (line!(), "Receiver::recv", "recv_async()", || { let (_s, r) = ends(); for _ in &r {} }),
        (line!(), "Receiver::recv", "recv_async()", || { let (_s, r) = ends(); for _ in r {} }),
        (line!(), "Receiver::recv", "recv_async()", || done(never::<u8>().recv())),
        (line!(), "Receiver::recv", "recv_async()", || done(channel::after(LONG).recv())),
        (line!(), "Receiver::recv", "recv_async()", || done(channel::tick(LONG).recv())),
        (line!(), "Receiver::recv_deadline", "timeout_at", || { let (_s, r) = ends(); done(r.recv_timeout(LONG)) }),
        (line!(), "Sender::send", "send_async(msg)", || { let (s, _r) = ends(); done(s.send(1)) }),
        (line!(), "Sender::send_deadline", "timeout_at", || { let (s, _r) = ends(); done(s.send_timeout(1, LONG)) }),
        (line!(), "channel::select", "recv_async", || select! { recv(never::<u8>()) -> _ => () }),
        (line!(), "channel::select", "recv_async", || { let r = never::<u8>(); done(of_one(&r).ready()) }),
        (line!(), "Mutex::lock", "task::Mutex", || { let m = Mutex::new(0); let _held = m.lock(); done(m.lock()) }),
        (line!(), "Mutex::lock", "Mutex", || { let m = Mutex::new(0); let _h = m.lock(); done(m.try_lock_for(LONG)) }),
        (line!(), "RwLock::read", ".await", || { let l = RwLock::new(0); let _h = l.write(); done(l.read()) }),
        (line!(), "RwLock::write", ".await", || { let l = RwLock::new(0); let _h = l.read(); done(l.write()) }),
        (line!(), "Condvar::wait", "await", || { let m = Mutex::new(0); done(Condvar::new().wait(m.lock().unwrap())) }),
        (line!(), "Semaphore::acquire", "acquire_async()", || done(Semaphore::new(0).acquire())),
        (line!(), "Semaphore::acquire", "acquire_async()", || done(Semaphore::new(0).acquire_timeout(LONG))),
        (line!(), "Once::wait", ".await", || Once::new().wait()),
        (line!(), "csp::sleep", "task::sleep", || csp::sleep(LONG)),
        (line!(), "csp::park", ".await", || { csp::park() }),
        (line!(), "csp::yield_now", "task::yield_now()", || { csp::yield_now() }),
        (line!(), "join", ".await", || done(csp::spawn(|| csp::sleep(LONG)).join())),
        (line!(), "join", ".await", || done(thread::spawn(|| thread::sleep(LONG)).join())),
        (line!(), "csp::Receiver::recv", ".await", || { let (_s, mut r) = csp::channel::<u8>(); done(r.recv()) }),
        (line!(), "csp::Sender::send", ".await", || { let (mut s, _r) = csp::channel(); done(s.send(1)) }),
        (line!(), "csp::Barrier::sync", ".await", || { let mut b = csp::Barrier::new(); let _b = b.enrol(); b.sync() }),
        (line!(), "task::block_on", ".await", || task::block_on(async {})),
        (line!(), "blocking", "spawn_blocking", || raddle::blocking(|| ())),
    ]
}

#[test]
fn each_is_refused_at_its_own_line() {
    std::panic::set_hook(Box::new(note_place));
    let mut wrong = Vec::new();
    for (line, call, way, waits) in rows() {
        let (words, file, at) = refused(waits);
        if !words.contains(&format!("{call}` waits")) || !words.contains(way) {
            wrong.push(format!("{call}: {words}"));
        }
        if file != file!() || at != line {
            wrong.push(format!("{call} of line {line} names {file}:{at}"));
        }
    }
    for (call, waits) in LOCK_WAITS {
        let (_, file, line) = refused(move || waits(&AtomicBool::new(false)));
        if !file.ends_with("support/lock_waits.rs") {
            wrong.push(format!("{call} names {file}:{line}"));
        }
    }
    drop(std::panic::take_hook());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! Dumps of programs that go on.

use crate::child::{assert_success, in_child, in_program};
use crate::runtime;
use crate::said_until;
use crate::watch::{Progress, Watchdog};
use raddle::Runtime;
use raddle::csp::{self, Builder};
use raddle::hang::{OnDeadlock, dump};
use raddle::sync::Mutex;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Goes on until its standard input ends.
pub(super) fn asked_by_signal() {
    let rt = Arc::new(runtime(2));
    let waits = rt.spawn(|| Builder::new().name("weaver").spawn(csp::park).unwrap().join());
    let busy = Arc::new(AtomicBool::new(true));
    let (goes_on, spins) = (busy.clone(), rt.clone());
    let spinner = std::thread::spawn(move || spins.run(|| while goes_on.load(Ordering::Relaxed) {}));
    // Where who runs cannot be stopped to look, a dump does not tell who runs.
    let wanted: &[&str] = if cfg!(any(raddle_tsan, raddle_twin)) {
        &["waits in join"]
    } else {
        &["waits in join", "waits in park", " runs on worker "]
    };
    let all_are_there = |list: String| wanted.iter().all(|what| list.contains(what));
    while !all_are_there(dump().list()) {}
    // SAFETY: touches no memory of ours; the signal asks for a dump.
    unsafe { libc::raise(libc::SIGQUIT) };
    let _end = std::io::stdin().read(&mut [0]);
    busy.store(false, Ordering::Relaxed);
    spinner.join().unwrap();
    drop(waits);
    exit(0);
}

/// Who has asked for a dump does not read it. The others go on all the same: runtimes begin and end.
pub(super) fn reader_stalls() {
    runtime(1).run(|| {
        (0..3000).for_each(|_| drop(csp::spawn(csp::park)));
        csp::yield_now();
        let (_reads_nothing, writer) = std::io::pipe().unwrap();
        ask_for_a_dump(&writer);
        let mut room = libc::pollfd { fd: writer.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one `pollfd`, which is there. Until the pipe is full.
        while unsafe { libc::poll(&raw mut room, 1, 0) } == 1 {
            csp::yield_now();
        }
        assert_eq!(std::thread::spawn(|| runtime(1).run(|| 7)).join().unwrap(), 7);
        // Another asks, and reads: it gets its answer.
        let (mut reads_all, other) = std::io::pipe().unwrap();
        ask_for_a_dump(&other);
        let mut answer = vec![0; 100_000];
        reads_all.read_exact(&mut answer).unwrap();
        assert!(answer.starts_with(b"raddle: dump: "));
        exit(0);
    });
}

/// At the other end of a pipe.
pub(super) fn ask_for_a_dump(answer_to: &std::io::PipeWriter) {
    let descriptor = answer_to.as_raw_fd() as usize;
    let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(descriptor) };
    let own = std::process::id().cast_signed();
    // SAFETY: touches no memory of ours.
    assert_eq!(unsafe { libc::sigqueue(own, libc::SIGQUIT, value) }, 0);
}

#[test]
fn a_signal_asks_for_a_dump() {
    let text = said_until("asked_by_signal", "alive: ");
    assert!(text.contains("process 'weaver' (#"), "{text}");
    if cfg!(not(any(raddle_tsan, raddle_twin))) {
        assert!(text.contains("waits in park at "), "{text}");
        assert!(text.contains(" runs on worker "), "{text}");
    }
}

#[test]
fn who_asks_and_does_not_read_stops_nobody() {
    let (progress, report) = (Progress::default(), || String::new());
    let _dog = Watchdog::new("a dump that nobody reads".to_owned(), progress, report);
    let output = in_program("reader_stalls", &[]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn nobody_is_called_by_a_wrong_name_while_all_is_in_motion() {
    // In a program of its own: a dump shows the processes of all tests beside this one.
    let output = in_child("dumps::nobody_is_called_by_a_wrong_name_while_all_is_in_motion", || {
        let rt = Arc::new(Runtime::builder().workers(2).deadlock(OnDeadlock::Off).build().unwrap());
        let goes_on = Arc::new(AtomicBool::new(true));
        let (other, works) = (goes_on.clone(), rt.clone());
        let churn = std::thread::spawn(move || works.run(|| in_motion(&other)));
        for _ in 0..200 {
            let dump = dump();
            let of_here = |line: &&str| line.contains('\'') && line.contains("it/dumps.rs");
            for line in dump.list().lines().filter(of_here) {
                let name = line.split('\'').nth(1).unwrap();
                assert!(name.starts_with("shuttle "), "{line}");
            }
        }
        goes_on.store(false, Ordering::Relaxed);
        churn.join().unwrap();
    });
    assert_success(&output);
}

/// A selection has agreed on a send and forgets it: whoever waits for its message is shown to wait.
#[test]
fn who_waits_for_a_promised_message_is_shown() {
    let rt = Runtime::builder().workers(1).deadlock(OnDeadlock::Off).build().unwrap();
    let (s, r) = raddle::channel::bounded::<u8>(0);
    let list = rt.run(move || {
        let waits = Builder::new().name("promised").spawn(move || r.recv()).unwrap();
        csp::yield_now();
        let mut select = raddle::channel::Select::new();
        select.send(&s);
        let agreed = select.select();
        csp::yield_now();
        let list = dump().list();
        agreed.send(&s, 3).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(3));
        list
    });
    let line = list.lines().find(|line| line.contains("'promised'")).expect("it is there");
    assert!(line.contains("waits in channel::Receiver::recv at "), "{list}");
}

/// Processes and threads come and go, wait for each other, and change workers.
fn in_motion(goes_on: &AtomicBool) {
    let lock = Mutex::new(0_u64);
    let mut round = 0;
    while goes_on.load(Ordering::Relaxed) {
        csp::scope(|s| {
            for part in 0..8 {
                let name = format!("shuttle {round}.{part}");
                let work = || {
                    let mut held = lock.lock().unwrap();
                    csp::yield_now();
                    *held += 1;
                };
                s.spawn(work);
                drop(Builder::new().name(name).own_tls(part % 2 == 0).spawn(csp::yield_now).unwrap());
            }
            let (mut sender, mut receiver) = csp::channel();
            s.spawn(move || (0..20).try_for_each(|n| sender.send(n)));
            while receiver.recv().is_ok() {}
        });
        round += 1;
    }
}

/// Names and lines are read on another stack.
#[cfg(not(raddle_asan))]
#[test]
fn a_process_with_a_small_stack_may_ask_for_a_dump() {
    let one = runtime(1);
    one.run(|| {
        let asks = Builder::new().name("asks").stack_size(16 << 10);
        let text = asks.spawn(|| dump().list()).unwrap().join().unwrap();
        assert!(text.starts_with("process #"), "{text}");
        assert!(text.contains("process 'asks' (#"), "{text}");
    });
    assert_eq!(one.shutdown(), 0);
}

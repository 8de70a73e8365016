//! Those who only wake each other, or yield: a dump says it, and after a while the program itself.

use crate::runtime;
use crate::{plain, said_until_with, until_input_ends};
use raddle::csp::{self, Builder, Process};
use raddle::hang::dump;
use raddle::sync::{Arc, OnceLock};
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn named(name: &str, f: impl FnOnce() + Send + 'static) -> Process {
    Builder::new().name(name).spawn(f).unwrap().process().clone()
}

/// Two wake each other, for ever; a third waits.
fn begin_ping_pong() {
    begin_ping_pong_at([Builder::new(), Builder::new()]);
}

fn begin_ping_pong_at([of_ping, of_pong]: [Builder; 2]) {
    let begin = |at: Builder, name: &str, f: Box<dyn FnOnce() + Send>| {
        at.name(name).spawn(f).unwrap().process().clone()
    };
    let partner = Arc::new(OnceLock::new());
    let own = partner.clone();
    let pings = move || {
        loop {
            Process::unpark(own.wait());
            csp::park();
        }
    };
    let ping = begin(of_ping, "ping", Box::new(pings));
    let pongs = move || {
        loop {
            ping.unpark();
            csp::park();
        }
    };
    partner.set(begin(of_pong, "pong", Box::new(pongs))).unwrap();
    named("sleeper", csp::park);
}

/// Beside another runtime, of which something comes.
pub(super) fn ping_pong() {
    let rts = [runtime(2), runtime(1)];
    rts[0].run(begin_ping_pong);
    rts[1].run(|| {
        named("elsewhere", || {
            loop {
                compute();
                csp::yield_now();
            }
        });
    });
    until_input_ends();
}

/// As `ping_pong`, on an extra worker: the only other one stands in a call of its own.
pub(super) fn ping_pong_beside() {
    let rt = runtime(1);
    let (_never, receives) = std::sync::mpsc::channel::<()>();
    rt.run(begin_ping_pong);
    drop(rt.spawn(move || receives.recv()));
    until_input_ends();
}

/// As `ping_pong`, each on a worker of its own: with each turn one worker wakes the other, and falls asleep.
pub(super) fn ping_pong_apart() {
    let rt = runtime(2);
    rt.run(|| begin_ping_pong_at([0, 1].map(|worker| Builder::new().worker(worker))));
    until_input_ends();
}

/// One waits for a word that nobody changes.
pub(super) fn yields_for_ever() {
    let rt = runtime(1);
    let never = Arc::new(AtomicBool::new(false));
    drop(rt.spawn(move || {
        named("spinner", move || until_set(&never));
        // Another shares the worker.
        csp::park();
    }));
    until_input_ends();
}

/// The same after a wait for a descriptor, whose end its worker has put by: nobody of it is idle meanwhile.
pub(super) fn reads_and_yields_for_ever() {
    let rt = runtime(1);
    let (mut client, peer) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut peer = raddle::net::unix::UnixStream::from(peer);
    let never = Arc::new(AtomicBool::new(false));
    drop(rt.spawn(move || {
        named("spinner", move || {
            peer.read_exact(&mut [0]).unwrap();
            until_set(&never);
        });
        csp::park();
    }));
    std::thread::sleep(Duration::from_millis(50));
    client.write_all(b"x").unwrap();
    until_input_ends();
}

#[inline(never)]
fn until_set(word: &AtomicBool) {
    while !std::hint::black_box(word).load(Ordering::Relaxed) {
        csp::yield_now();
    }
}

pub(super) fn ping_pong_and_dump() {
    let rt = runtime(2);
    rt.run(begin_ping_pong);
    while !dump().to_string().contains("  going round: for ") {
        std::thread::sleep(Duration::from_millis(50));
    }
    let dump = dump();
    eprint!("{dump}\n{}", dump.json());
    until_input_ends();
}

/// It computes for so long of a processor, whoever else has it meanwhile.
///
/// Under a sanitizer a switch takes many times as long, and so may what is not worth a word.
fn compute() {
    const COMPUTES: Duration =
        Duration::from_micros(if cfg!(any(raddle_asan, raddle_tsan)) { 1000 } else { 100 });
    let own = || raddle_syscall::processor_time(raddle_syscall::thread_number()).unwrap();
    let until = own() + COMPUTES;
    while own() < until {}
}

/// Each of these runtimes is as busy as can be, and something comes of it: one computes between two yields, one begins
/// processes, one has alarms, one reads; and of the last, two workers of three do nothing but yield, and one computes.
pub(super) fn not_going_round() {
    let rts = [runtime(1), runtime(1), runtime(1), runtime(1), runtime(3)];
    let for_ever = |n: usize, f: fn()| {
        drop(rts[n].spawn(move || {
            loop {
                f();
                csp::yield_now();
            }
        }));
    };
    for_ever(0, compute);
    for_ever(1, || csp::spawn(|| ()).join().unwrap());
    for_ever(2, || {
        (0..1000).for_each(|_| csp::yield_now());
        csp::sleep(Duration::from_millis(1));
    });
    for_ever(3, || drop(std::fs::read("/dev/null").unwrap()));
    rts[4].run(|| {
        let fs: [fn(); 3] = [csp::yield_now, csp::yield_now, || (0..100).for_each(|_| compute())];
        for (worker, f) in fs.into_iter().enumerate() {
            drop(Builder::new().worker(worker).spawn(move || {
                loop {
                    f();
                    csp::yield_now();
                }
            }));
        }
    });
    // Not to wait for anybody: this is the time in which a false alarm would come.
    std::thread::sleep(Duration::from_secs(4));
    eprintln!("{}that is all", dump());
    until_input_ends();
}

/// Workers are stopped to see what they are at.
const SEES_WORKERS: bool = !cfg!(any(raddle_tsan, raddle_twin));

#[test]
fn who_only_wakes_each_other_is_told_after_a_while() {
    if !SEES_WORKERS {
        return;
    }
    let text = said_until_with("ping_pong", &[("RADDLE_LIVELOCK", "1s")], "RADDLE_LIVELOCK=off");
    let first = text.lines().find(|line| line.starts_with("raddle: going round: for ")).expect(&text);
    assert!(first.contains("have only woken each other, or yielded, "), "{text}");
    assert!(plain(first).contains("process 'ping' (#N") && first.contains("process 'pong' (#"), "{text}");
    assert!(!first.contains("'sleeper'") && !first.contains("'elsewhere'"), "{text}");
}

#[test]
fn an_extra_worker_goes_round_as_others_do() {
    if !SEES_WORKERS {
        return;
    }
    let text = said_until_with("ping_pong_beside", &[("RADDLE_LIVELOCK", "1s")], "RADDLE_LIVELOCK=off");
    let first = text.lines().find(|line| line.starts_with("raddle: going round: for ")).expect(&text);
    assert!(plain(first).contains("process 'ping' (#N") && first.contains("process 'pong' (#"), "{text}");
}

#[test]
fn who_wakes_each_other_from_worker_to_worker_is_told() {
    if !SEES_WORKERS {
        return;
    }
    let text = said_until_with("ping_pong_apart", &[("RADDLE_LIVELOCK", "1s")], "RADDLE_LIVELOCK=off");
    let first = text.lines().find(|line| line.starts_with("raddle: going round: for ")).expect(&text);
    assert!(plain(first).contains("process 'ping' (#N") && first.contains("process 'pong' (#"), "{text}");
}

#[test]
fn who_only_yields_is_told_after_a_while() {
    if !SEES_WORKERS {
        return;
    }
    let text = said_until_with("yields_for_ever", &[("RADDLE_LIVELOCK", "1s")], "RADDLE_LIVELOCK=off");
    let first = text.lines().find(|line| line.starts_with("raddle: going round: for ")).expect(&text);
    assert!(first.contains("process 'spinner' (#"), "{text}");
    if cfg!(target_arch = "x86_64") {
        assert!(text.contains("'spinner' is in it::rounds::until_set"), "{text}");
    }
}

#[test]
fn who_has_waited_for_a_descriptor_before_goes_round() {
    if !SEES_WORKERS {
        return;
    }
    let limit = [("RADDLE_LIVELOCK", "1s")];
    let text = said_until_with("reads_and_yields_for_ever", &limit, "RADDLE_LIVELOCK=off");
    let first = text.lines().find(|line| line.starts_with("raddle: going round: for ")).expect(&text);
    assert!(first.contains("process 'spinner' (#"), "{text}");
}

#[test]
fn a_dump_says_who_goes_round() {
    if !SEES_WORKERS {
        return;
    }
    let text = said_until_with("ping_pong_and_dump", &[("RADDLE_LIVELOCK", "3600s")], "\"at_it\":[");
    let line = text.lines().find(|line| line.starts_with("  going round: for ")).expect(&text);
    assert!(
        line.contains("'ping' (#") && line.contains("'pong' (#") && !line.contains("'sleeper'"),
        "{text}"
    );
    assert!(text.contains("\"going_round\":[{\"for_ms\":"), "{text}");
    assert!(!text.contains("raddle: going round"), "{text}");
}

#[test]
fn of_whom_something_comes_does_not_go_round() {
    let text = said_until_with("not_going_round", &[("RADDLE_LIVELOCK", "1s")], "that is all");
    assert!(!text.contains("going round"), "{text}");
}

//! A hang explains itself: each program here hangs, or does not, in a process of its own.
//!
//! The test harness keeps an OS thread that waits by other means than ours, and could wake anybody. So the programs run
//! before there is a harness: as one of the functions that the system calls before `main`.

use crate::child::{in_program, stderr};
use crate::patient;
use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle_core::csp::{self, Barrier, Builder};
use raddle_core::hang::{OnDeadlock, dump};
use raddle_core::sync::{McsLock, Mutex};
use raddle_core::{Runtime, channel, thread};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// The variable that says which program this is to be.
pub(crate) const PROGRAM: &str = "TEST_PROGRAM";

extern "C" fn before_main() {
    let Ok(wanted) = std::env::var(PROGRAM) else { return };
    let (_, program) = PROGRAMS
        .iter()
        .chain(&patient::PROGRAMS)
        .find(|(name, _)| *name == wanted)
        .expect("a program of this name");
    program();
    exit(0);
}

const PROGRAMS: [(&str, fn()); 20] = [
    ("lock_order", lock_order),
    ("nobody_sends", nobody_sends),
    ("five_thousand", five_thousand),
    ("own_handler", own_handler),
    ("os_threads", os_threads),
    ("a_sender_outside", a_sender_outside),
    ("asked_by_signal", asked_by_signal),
    ("cells", cells),
    ("long_loop", long_loop),
    ("lock_of_std", lock_of_std),
    ("cycle_while_others_run", cycle_while_others_run),
    ("hangs_late", hangs_late),
    ("last_stranger_ends", last_stranger_ends),
    ("reader_stalls", reader_stalls),
    ("jobs", jobs),
    ("deep_down", deep_down),
    ("ring", ring),
    ("full", full),
    ("one_is_missing", one_is_missing),
    ("choice", choice),
];

/// Two threads take two locks in two orders; a barrier sees to it that each has its first.
fn lock_order() {
    runtime(2).run(|| {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let both = Arc::new(raddle_core::sync::Barrier::new(2));
        let (other, at) = (locks.clone(), both.clone());
        let warp = thread::Builder::new().name("warp".into()).spawn(move || {
            let _first = locks.0.lock().unwrap();
            both.wait();
            let _second = locks.1.lock().unwrap();
        });
        let weft = thread::Builder::new().name("weft".into()).spawn(move || {
            let _first = other.1.lock().unwrap();
            at.wait();
            let _second = other.0.lock().unwrap();
        });
        warp.unwrap().join().unwrap();
        weft.unwrap().join().unwrap();
    });
}

fn nobody_sends() {
    runtime(1).run(|| {
        let (sender, mut receiver) = csp::channel::<u32>();
        let reader = Builder::new().name("reader").spawn(move || receiver.recv()).unwrap();
        let _unjoined = reader.join();
        drop(sender);
    });
}

fn five_thousand() {
    runtime(2).run(|| {
        let first = Barrier::new();
        for _ in 0..5000 {
            let mut member = first.enrol();
            drop(csp::spawn(move || member.sync()));
        }
        csp::park();
    });
}

fn own_handler() {
    let report = |dump: &raddle_core::hang::Dump| {
        eprintln!("handled: {} lives; {}", dump.processes(), dump.json());
        exit(7);
    };
    Runtime::builder().workers(1).on_deadlock(report).build().unwrap().run(csp::park);
}

/// OS threads of the program, and a process, lock in two orders.
fn os_threads() {
    let _used = runtime(1).run(|| 7);
    let rt = runtime(1);
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let _mine = locks.0.lock().unwrap();
    let other = locks.clone();
    let (told, taken) = std::sync::mpsc::channel();
    let _child = rt.spawn(move || {
        let _first = other.1.lock().unwrap();
        told.send(()).unwrap();
        let _second = other.0.lock().unwrap();
    });
    taken.recv().unwrap();
    let _second = locks.1.lock().unwrap();
}

/// An OS thread that has used nothing of ours yet holds the only sender, for longer than the watcher's patience.
fn a_sender_outside() {
    let (sender, receiver) = channel::bounded::<u32>(1);
    let late = std::thread::spawn(move || {
        // Not to wait for anybody: this is the time in which a false alarm would come.
        std::thread::sleep(Duration::from_millis(700));
        sender.send(7).unwrap();
    });
    assert_eq!(runtime(2).run(|| receiver.recv()), Ok(7));
    late.join().unwrap();
}

/// Goes on until its standard input ends.
fn asked_by_signal() {
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

fn cells() {
    runtime(1).block_on(std::future::pending::<()>());
}

/// Goes on, with an OS thread that is none of ours, until the standard input ends.
fn until_input_ends() -> ! {
    let _end = std::io::stdin().read(&mut [0]);
    exit(0);
}

fn long_loop() {
    let rt = runtime(1);
    drop(rt.spawn(|| {
        drop(csp::spawn(|| ()));
        spin_for_ever();
    }));
    until_input_ends();
}

#[inline(never)]
fn spin_for_ever() {
    while std::hint::black_box(true) {}
}

/// A lock of `std` is held over a switch, and its next user stops the only worker.
fn lock_of_std() {
    let rt = runtime(1);
    let lock = Arc::new(std::sync::Mutex::new(()));
    let other = lock.clone();
    drop(rt.spawn(move || {
        let _held = lock.lock().unwrap();
        drop(csp::spawn(move || drop(other.lock().unwrap())));
        csp::yield_now();
    }));
    until_input_ends();
}

fn cycle_while_others_run() {
    let rt = runtime(2);
    drop(rt.spawn(|| {
        loop {
            csp::sleep(Duration::from_millis(1));
        }
    }));
    std::thread::spawn(lock_order);
    until_input_ends();
}

/// For longer than the watcher ticks, this OS thread could still wake somebody; then it sleeps for good, too.
fn hangs_late() {
    let rt = runtime(1);
    let child = rt.spawn(csp::park);
    // Not to wait for anybody: this is the time in which the watcher, with nothing to look at, lies down.
    std::thread::sleep(Duration::from_millis(700));
    child.join().unwrap();
}

/// As `hangs_late`, but what ends is an OS thread that has never used anything of ours.
fn last_stranger_ends() {
    let stranger = || std::thread::sleep(Duration::from_millis(700));
    drop(std::thread::spawn(stranger));
    runtime(1).run(csp::park);
}

/// Who has asked for a dump does not read it. The others go on all the same: runtimes begin and end.
fn reader_stalls() {
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

fn ask_for_a_dump(answer_to: &std::io::PipeWriter) {
    let descriptor = answer_to.as_raw_fd() as usize;
    let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(descriptor) };
    let own = std::process::id().cast_signed();
    // SAFETY: touches no memory of ours.
    assert_eq!(unsafe { libc::sigqueue(own, libc::SIGQUIT, value) }, 0);
}

/// Half of a join, and a future, have been taken, and wait for what nobody brings.
fn jobs() {
    runtime(1).run(|| {
        let begun = AtomicBool::new(false);
        let until_begun = || {
            while !begun.load(Ordering::Relaxed) {
                csp::yield_now();
            }
        };
        let never_ends = || {
            begun.store(true, Ordering::Relaxed);
            let taken = Arc::new(AtomicBool::new(false));
            let is_taken = taken.clone();
            let promised = raddle_core::future(move || {
                taken.store(true, Ordering::Relaxed);
                csp::park();
            });
            while !is_taken.load(Ordering::Relaxed) {
                csp::yield_now();
            }
            promised.get();
        };
        raddle_core::join(until_begun, never_ends);
    });
}

fn deep_down() {
    runtime(1).run(|| {
        let child = Builder::new().name("diver").spawn(|| at_depth(3)).unwrap();
        child.join().unwrap();
    });
}

fn named<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> csp::JoinHandle<T> {
    Builder::new().name(name).spawn(f).unwrap()
}

/// Each receives before it sends, so that nobody ever does.
fn ring() {
    runtime(2).run(|| {
        let passes = |name, mut from: csp::Receiver<u32>, mut to: csp::Sender<u32>| {
            named(name, move || from.recv().map(|n| to.send(n)).is_ok())
        };
        let ((a, from_a), (b, from_b), (c, from_c)) = (csp::channel(), csp::channel(), csp::channel());
        let all = [passes("spinner", from_c, a), passes("dyer", from_a, b), passes("weaver", from_b, c)];
        all.into_iter().for_each(|one| drop(one.join()));
    });
}

/// Two fill each other's channels.
fn full() {
    runtime(1).run(|| {
        let ((to_b, b_has), (to_a, a_has)) = (channel::bounded(1), channel::bounded(1));
        let a = named("a", move || (0..3).for_each(|n| to_b.send((n, a_has.len())).unwrap()));
        let b = named("b", move || (0..3).for_each(|n| to_a.send((n, b_has.len())).unwrap()));
        a.join().unwrap();
        b.join().unwrap();
    });
}

/// A member of a barrier waits for something else.
fn one_is_missing() {
    runtime(1).run(|| {
        let mut first = Barrier::new();
        let mut second = first.enrol();
        let comes = named("comes", move || first.sync());
        let does_not = named("does not", move || {
            csp::park();
            second.sync();
        });
        comes.join().unwrap();
        does_not.join().unwrap();
    });
}

/// One waits for the first of two, both of whom wait for it.
fn choice() {
    runtime(1).run(|| {
        let ((mut one, mut from_one), (other, from_other)) =
            (csp::channel::<u32>(), channel::unbounded::<u32>());
        let (mut to, mut goes) = csp::channel::<u32>();
        let server = named("server", move || {
            let got = csp::alt! {
                recv(from_one) -> got => got,
            };
            to.send(got.unwrap()).unwrap();
            from_other.recv().unwrap();
        });
        let client = named("client", move || {
            one.send(goes.recv().unwrap()).unwrap();
            drop(other);
        });
        server.join().unwrap();
        client.join().unwrap();
    });
}

#[inline(never)]
fn at_depth(below: u32) -> u32 {
    if below > 0 {
        return std::hint::black_box(at_depth(below - 1)) + 1;
    }
    csp::park();
    std::hint::black_box(7)
}

/// A report without the times for which somebody has waited, ` for 0.2 s`.
fn ageless(report: &str) -> String {
    let mut parts = report.split(" for ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let is_age = part.split_once(" s").filter(|(number, _)| number.parse::<f64>().is_ok());
        match is_age {
            Some((_, rest)) => text + rest,
            None => format!("{text} for {part}"),
        }
    })
}

/// The report without what differs from run to run: times, numbers of processes, lines of this file, temporary files.
fn plain(report: &str) -> String {
    let report = ageless(report);
    let mut plain = String::new();
    let mut rest = &report[..];
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &rest[..at];
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(rest.len() - at);
        plain += before;
        let keeps = !before.ends_with(['#', ':', '-']);
        plain += if keeps { &rest[at..at + digits] } else { "N" };
        rest = &rest[at + digits..];
    }
    plain + rest
}

#[test]
fn a_cycle_of_locks_stands_in_the_first_line() {
    let output = in_program("lock_order", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = plain(&stderr(&output));
    let here = "crates/raddle-core/tests/it/hang.rs:N";
    let first = text.lines().next().unwrap();
    let warp = format!("thread 'warp' (#N, spawned at {here}) waits in Mutex::lock at {here}");
    let weft = format!("thread 'weft' (#N, spawned at {here}) waits in Mutex::lock at {here}");
    let wanted =
        format!("raddle: deadlock: {warp}, held by 'weft' since {here}; {weft}, held by 'warp' since {here}");
    assert_eq!(first, wanted, "{text}");
    assert!(text.contains("waits in join"), "{text}");
    assert!(text.contains("OS thread 'main' waits in join at"), "{text}");
    assert!(text.contains("exit code 3; RADDLE_DEADLOCK=report"), "{text}");
}

#[test]
fn a_wait_that_nobody_ends_is_told_with_who_could_have_ended_it() {
    let output = in_program("nobody_sends", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("raddle: deadlock: process 'reader' (#"), "{text}");
    assert!(first.contains("waits in csp::Receiver::recv at"), "{text}");
    // Who has the sender waits for the receiver's end: that is a cycle.
    assert_eq!(
        first.contains("could come from #") && first.contains("waits in join at"),
        SEES_PEERS,
        "{text}"
    );
}

/// Whether stacks can be looked through for who has the other end of a channel.
const SEES_PEERS: bool = !cfg!(any(raddle_tsan, raddle_twin, raddle_asan));

#[test]
fn who_could_supply_what_is_waited_for_is_told() {
    if !SEES_PEERS {
        return;
    }
    let here = "crates/raddle-core/tests/it/hang.rs:N";
    let first_line = |program: &str| {
        let text = plain(&stderr(&in_program(program, &[])));
        text.lines().next().unwrap_or_default().to_owned()
    };
    let waits =
        |who: &str, call: &str| format!("process '{who}' (#N, spawned at {here}) waits in {call} at {here}");
    let (recv, send) = ("csp::Receiver::recv", "channel::Sender::send");
    let of_ring = |who: &str, from: &str| format!("{}, could come from '{from}'", waits(who, recv));
    let ring = [of_ring("spinner", "weaver"), of_ring("weaver", "dyer"), of_ring("dyer", "spinner")];
    assert_eq!(first_line("ring"), format!("raddle: deadlock: {}", ring.join("; ")));
    let of_full = |who: &str, to: &str| {
        format!("{} (channel: senders: 1, receivers: 1), could go to '{to}'", waits(who, send))
    };
    assert_eq!(first_line("full"), format!("raddle: deadlock: {}; {}", of_full("a", "b"), of_full("b", "a")));
    let choice = format!(
        "raddle: deadlock: {} (choice: 1 channel), could come from 'client'; {}",
        waits("server", "csp::choose"),
        of_ring("client", "server")
    );
    assert_eq!(first_line("choice"), choice);
}

#[test]
fn where_a_chain_of_waits_ends_stands_in_the_first_line() {
    if !SEES_PEERS {
        return;
    }
    let text = stderr(&in_program("one_is_missing", &[]));
    assert!(text.starts_with("raddle: deadlock: process 'does not' (#"), "{text}");
    assert!(text.contains("(barrier: 1 of 2 members have not come), has not met 'does not'\n"), "{text}");
    let json = stderr(&in_program("own_handler", &[]));
    assert!(json.contains(r#""likely_cycles":[]"#), "{json}");
}

#[test]
fn a_report_says_for_how_long() {
    let text = stderr(&in_program("nobody_sends", &[]));
    assert_ne!(ageless(&text), text, "{text}");
}

#[test]
fn who_waits_for_a_job_waits_for_its_process() {
    let output = in_program("jobs", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = plain(&stderr(&output));
    let here = "crates/raddle-core/tests/it/hang.rs:N";
    assert!(text.starts_with(&format!("raddle: deadlock: job #N waits in park at {here}\n")), "{text}");
    assert!(text.contains(&format!("waits in raddle::join at {here}, for #N\n")), "{text}");
    assert!(text.contains(&format!("job #N waits in Future::get at {here}, for #N\n")), "{text}");
}

#[test]
fn a_report_shows_the_functions_of_who_waits() {
    if cfg!(any(raddle_tsan, raddle_twin)) {
        // There nobody's frames are known.
        return;
    }
    let output = in_program("deep_down", &[]);
    let text = stderr(&output);
    let depth = "it::hang::at_depth, called by it::hang::at_depth, called by it::hang::at_depth";
    assert_eq!(text.lines().nth(1), Some(&format!("  'diver' is in {depth}")[..]), "{text}");
}

#[test]
fn the_trace_of_a_deadlock_is_there() {
    let path = std::env::temp_dir().join(format!("raddle-hang-{}.rdt", std::process::id()));
    let output = in_program("nobody_sends", &[("RADDLE_TRACE", path.to_str().unwrap())]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // A switch at least, beside what stands in every file.
    assert!(std::fs::metadata(&path).unwrap().len() > 1000);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn many_fit_a_screen_and_the_rest_is_in_a_file() {
    let output = in_program("five_thousand", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    assert!(text.lines().count() < 30, "{text}");
    assert!(text.contains("5000 processes spawned at crates/raddle-core/tests/it/hang.rs:"), "{text}");
    assert!(text.contains("(barrier: "), "{text}");
    let file = text.lines().find_map(|line| line.trim().strip_prefix("each by itself: ")).unwrap();
    let list = std::fs::read_to_string(file).unwrap();
    assert_eq!(list.lines().filter(|line| line.contains("Barrier::sync")).count(), 5000, "{text}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_program_may_take_the_report_itself() {
    let output = in_program("own_handler", &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = stderr(&output);
    assert!(
        text.starts_with("handled: 1 lives; {\"schema\":\"raddle-dump/1\",\"kind\":\"deadlock\""),
        "{text}"
    );
}

#[test]
fn os_threads_that_wait_belong_to_the_cycle() {
    let output = in_program("os_threads", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    let first = text.lines().next().unwrap();
    assert!(first.contains("held by OS thread 'main' since"), "{text}");
    assert!(first.contains("; OS thread 'main' waits in Mutex::lock at"), "{text}");
}

#[test]
fn an_os_thread_that_could_still_wake_somebody_is_no_deadlock() {
    let output = in_program("a_sender_outside", &[]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn cells_that_nobody_wakes_are_a_deadlock() {
    let output = in_program("cells", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_deadlock_is_found_whenever_the_last_one_goes_to_sleep() {
    for program in ["hangs_late", "last_stranger_ends"] {
        let output = in_program(program, &[]);
        assert_eq!(output.status.code(), Some(3), "{program}: {output:?}");
    }
}

#[test]
fn who_asks_and_does_not_read_stops_nobody() {
    let (progress, report) = (Progress::default(), || String::new());
    let _dog = Watchdog::new("a dump that nobody reads".to_owned(), progress, report);
    let output = in_program("reader_stalls", &[]);
    assert!(output.status.success(), "{output:?}");
}

/// One has been handed a lock and has not run since: the one before it does not hold it any more.
#[test]
fn no_cycle_goes_through_one_who_has_given_the_lock_away() {
    let rt = Runtime::builder().workers(1).deadlock(OnDeadlock::Off).build().unwrap();
    let [begins, runs, over] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    let (may_begin, has_begun, is_over) = (begins.clone(), runs.clone(), over.clone());
    let all = rt.spawn(move || {
        let (queue, mutex) = (McsLock::new(()), Mutex::new(()));
        csp::scope(|s| {
            let held = queue.lock();
            s.spawn(move || {
                while !may_begin.load(Ordering::Relaxed) {
                    csp::yield_now();
                }
                has_begun.store(true, Ordering::Relaxed);
                while !is_over.load(Ordering::Relaxed) {}
            });
            s.spawn(|| drop(queue.lock()));
            s.spawn(|| {
                let _mutex = mutex.lock().unwrap();
                drop(queue.lock());
            });
            while mutex.try_lock().is_ok() {
                csp::yield_now();
            }
            (0..5).for_each(|_| csp::yield_now());
            begins.store(true, Ordering::Relaxed);
            drop(held);
            drop(mutex.lock().unwrap());
        });
    });
    while !runs.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    let dump = dump();
    over.store(true, Ordering::Relaxed);
    all.join().unwrap();
    assert!(dump.json().contains(r#""cycles":[]"#), "{dump}");
}

/// Runs a program until it has said `wanted`; returns what it said on standard error.
fn said_until(name: &str, wanted: &str) -> String {
    let mut child = crate::child::program(name, &[]);
    child.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut said = Vec::new();
    let mut from = child.stderr.take().unwrap();
    let mut byte = [0];
    while !String::from_utf8_lossy(&said).contains(wanted) && from.read(&mut byte).unwrap() > 0 {
        said.push(byte[0]);
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&said).into_owned()
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
fn a_long_slice_is_told_with_its_functions() {
    let text =
        said_until("long_loop", "a long loop without a switch; `yield_now` in it would let them run\n");
    assert!(text.contains("raddle: slow: process #"), "{text}");
    if cfg!(all(target_arch = "x86_64", not(any(raddle_tsan, raddle_twin)))) {
        let text = said_until("long_loop", "spin_for_ever");
        assert!(text.contains("    in it::hang::spin_for_ever"), "{text}");
    }
}

#[test]
fn a_lock_of_std_that_is_held_over_a_switch_is_told() {
    let text = said_until("lock_of_std", "`raddle::sync` has locks");
    assert!(text.contains("raddle: slow: process #"), "{text}");
}

#[test]
fn a_cycle_is_told_while_others_run() {
    if cfg!(any(raddle_tsan, raddle_twin)) {
        // Who runs cannot be stopped to look.
        return;
    }
    let text = said_until("cycle_while_others_run", "alive: ");
    let wanted = "raddle: a cycle of waits, while others run: thread 'warp' (#";
    assert!(text.lines().any(|line| line.starts_with(wanted) && line.contains("held by 'warp'")), "{text}");
}

#[test]
fn nobody_is_called_by_a_wrong_name_while_all_is_in_motion() {
    let rt = Arc::new(Runtime::builder().workers(2).deadlock(OnDeadlock::Off).build().unwrap());
    let goes_on = Arc::new(AtomicBool::new(true));
    let (other, works) = (goes_on.clone(), rt.clone());
    let churn = std::thread::spawn(move || works.run(|| in_motion(&other)));
    for _ in 0..200 {
        let dump = dump();
        for line in dump.list().lines().filter(|line| line.contains('\'') && line.contains("it/hang.rs")) {
            let name = line.split('\'').nth(1).unwrap();
            assert!(name == "weaver" || name.starts_with("shuttle "), "{line}");
        }
    }
    goes_on.store(false, Ordering::Relaxed);
    churn.join().unwrap();
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

//! What a trace says of each kind of wait: the reason that its call was given where it is defined.

use raddle::csp::{self, Builder, Process};
use raddle::sync::{self, Arc};
use raddle::{Runtime, channel};
use raddle_trace::StopReason;
use raddle_trace::analysis::Analysis;
use raddle_trace::log::Log;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// On one worker: a process of that name does what waits; when it has, `end` ends its wait.
fn wait(name: &str, waits: impl FnOnce() + Send + 'static, end: impl FnOnce(&Process)) {
    let begun = Arc::new(AtomicBool::new(false));
    let begins = begun.clone();
    let waiting = Builder::new().name(name).spawn(move || {
        begins.store(true, Ordering::Relaxed);
        waits();
    });
    let waiting = waiting.expect("there is memory");
    // It goes on until it waits: nobody else runs here meanwhile.
    while !begun.load(Ordering::Relaxed) {
        csp::yield_now();
    }
    end(&waiting.process());
    waiting.join().expect("it only waits");
}

fn locks_and_barriers() {
    let mutex = Arc::new(sync::Mutex::new(()));
    let (held, other) = (mutex.lock().unwrap(), mutex.clone());
    wait("mutex", move || drop(other.lock().unwrap()), |_| drop(held));
    let lock = Arc::new(sync::RwLock::new(()));
    let (held, other) = (lock.write().unwrap(), lock.clone());
    wait("reads", move || drop(other.read().unwrap()), |_| drop(held));
    let (held, other) = (lock.read().unwrap(), lock.clone());
    wait("writes", move || drop(other.write().unwrap()), |_| drop(held));
    let semaphore = Arc::new(sync::Semaphore::new(1));
    let (held, other) = (semaphore.acquire().unwrap(), semaphore.clone());
    wait("semaphore", move || drop(other.acquire().unwrap()), |_| drop(held));
    let shared = csp::Shared::new(7);
    let other = shared.clone();
    let claimed = shared.claim();
    wait("claims", move || assert_eq!(*other.claim(), 7), |_| drop(claimed));

    let pair = Arc::new((sync::Mutex::new(()), sync::Condvar::new()));
    let other = pair.clone();
    let waits = move || drop(other.1.wait(other.0.lock().unwrap()).unwrap());
    wait("condition", waits, |_| pair.1.notify_one());
    let barrier = Arc::new(sync::Barrier::new(2));
    let other = barrier.clone();
    wait("barrier", move || assert!(!other.wait().is_leader()), |_| assert!(barrier.wait().is_leader()));
    let mut barrier = csp::Barrier::new();
    let mut member = barrier.enrol();
    wait("member", move || member.sync(), |_| barrier.sync());
}

fn channels() {
    let (s, r) = channel::bounded(0);
    let (sends, receives) = (s.clone(), r.clone());
    wait("sends", move || sends.send(1).unwrap(), |_| assert_eq!(r.recv(), Ok(1)));
    wait("receives", move || assert_eq!(receives.recv(), Ok(2)), |_| s.send(2).unwrap());
    let selects = r.clone();
    let one = move || {
        channel::select! {
            recv(selects) -> got => assert_eq!(got, Ok(3)),
            recv(channel::never::<u8>()) -> _ => unreachable!("it never has a message"),
        }
    };
    wait("selects", one, |_| s.send(3).unwrap());
    let (to, from) = sync::mpsc::sync_channel(0);
    wait("offers", move || to.send(1).unwrap(), |_| assert_eq!(from.recv(), Ok(1)));
    let (to, from) = sync::mpsc::channel();
    wait("takes", move || assert_eq!(from.recv(), Ok(1)), |_| to.send(1).unwrap());

    let (mut to, mut from) = csp::channel();
    wait("meets to send", move || to.send(1).unwrap(), |_| assert_eq!(from.recv(), Ok(1)));
    let (mut to, mut from) = csp::channel();
    wait("meets to receive", move || assert_eq!(from.recv(), Ok(1)), |_| to.send(1).unwrap());
    let (mut to, mut from) = csp::channel();
    let long = Duration::from_secs(100);
    wait("meets in time", move || to.send_timeout(1, long).unwrap(), |_| assert_eq!(from.recv(), Ok(1)));
    let (mut to, mut from) = csp::channel();
    let alternates = move || {
        csp::alt! {
            recv(from) -> got => assert_eq!(got, Ok(1)),
            after(long) => unreachable!("it was sent"),
        }
    };
    wait("meets one", alternates, |_| to.send(1).unwrap());
}

fn others() {
    wait("parks", || csp::park(), Process::unpark);
    wait("parks for a time", || csp::park_timeout(Duration::from_secs(100)), Process::unpark);
    wait("sleeps", || csp::sleep(Duration::from_millis(1)), |_| ());
    let child = csp::spawn(csp::park);
    let process = child.process().clone();
    wait("joins", move || child.join().unwrap(), |_| process.unpark());
    wait("blocks", || raddle::blocking(|| ()), |_| ());
    // In a region that may be cancelled a sleeper waits otherwise.
    let cancellable =
        || raddle::cancel::Token::new().run(|| csp::sleep(Duration::from_millis(1))).expect("nobody does");
    wait("sleeps in a region", cancellable, |_| ());
}

#[test]
fn every_wait_has_the_reason_of_its_call() {
    let path = std::env::temp_dir().join(format!("raddle-trace-reasons-{}.rdt", std::process::id()));
    let runtime = Runtime::builder().workers(1).trace(&path).build().expect("a runtime");
    runtime.run(|| {
        locks_and_barriers();
        channels();
        others();
    });
    drop(runtime);
    let log = Log::read(&std::fs::read(&path).expect("it has been written")).expect("it is a trace");
    std::fs::remove_file(&path).expect("it is ours");
    let waits = Analysis::of(&log).waits;
    let expected = [
        ("mutex", StopReason::Lock),
        ("reads", StopReason::Lock),
        ("writes", StopReason::Lock),
        ("semaphore", StopReason::Lock),
        ("claims", StopReason::Lock),
        ("condition", StopReason::Wait),
        ("barrier", StopReason::Barrier),
        ("member", StopReason::Barrier),
        ("sends", StopReason::Send),
        ("receives", StopReason::Receive),
        ("selects", StopReason::Select),
        ("offers", StopReason::Send),
        ("takes", StopReason::Receive),
        ("meets to send", StopReason::MeetToSend),
        ("meets to receive", StopReason::MeetToReceive),
        ("meets in time", StopReason::MeetToSend),
        ("meets one", StopReason::MeetOne),
        ("parks", StopReason::Park),
        ("parks for a time", StopReason::Park),
        ("sleeps", StopReason::Sleep),
        ("joins", StopReason::Join),
        ("sleeps in a region", StopReason::Sleep),
        ("blocks", StopReason::Blocking),
    ];
    let seen = expected.map(|(name, _)| {
        let of_name = waits.iter().filter(|wait| wait.label == name);
        (name, of_name.map(|wait| wait.reason).collect::<Vec<_>>())
    });
    assert_eq!(seen, expected.map(|(name, reason)| (name, vec![reason])));
    // At this level only waits for locks, and what `Condvar` and `Once` wait for, have their lines.
    for wait in waits.iter().filter(|wait| expected.iter().any(|(name, _)| wait.label == *name)) {
        let has_line = wait.site.as_ref().is_some_and(|site| site.contains("trace_reasons.rs:"));
        let expected = matches!(wait.reason, StopReason::Lock | StopReason::Wait);
        assert_eq!((has_line, wait.site.is_some()), (expected, expected), "{wait:?}");
    }
}

//! Owns: a test of what each kind of wait says of itself.
//! May use: the public calls that wait, `process` to look at one who does.
//! Never: a process that runs on another worker than the one that looks.

use raddle::sync::{self, Arc};
use raddle::{Balance, Runtime, channel, csp, thread};
use std::time::Duration;

/// Runs `waits` in a process, and returns what it waits for, in words; then `end` ends the wait.
#[track_caller]
fn words(waits: impl FnOnce() + Send + 'static, end: impl FnOnce(&csp::Process)) -> String {
    let waiting = csp::spawn(waits);
    let process = waiting.process().clone();
    let words = loop {
        csp::yield_now();
        // SAFETY: both are on one worker, on which this runs.
        if let Some(words) = unsafe { process.waits_for() } {
            break words;
        }
        assert!(!waiting.is_finished(), "it did not wait");
    };
    end(&process);
    waiting.join().expect("it only waits");
    assert!(words.contains(file!()), "no site of the program in: {words}");
    words
}

/// What the caller, which `me` is, says that it waits for.
fn said_by(me: &csp::Process) -> Option<String> {
    // SAFETY: it is the caller.
    unsafe { me.waits_for() }
}

fn check(words: &str, call: &str, kind: &str, more: &str) {
    assert!(words.starts_with(&format!("waits in {call} at ")), "{words}");
    assert!(words.contains(&format!(" {kind} (0x")), "{kind}: {words}");
    assert!(words.contains(more), "{more}: {words}");
}

fn on_one_worker(f: impl FnOnce() + Send + 'static) {
    // Nobody takes what waits behind it, even if it stands for long, as on a busy machine.
    Runtime::builder().workers(1).balance(Balance::None).build().expect("a runtime").run(f);
}

#[test]
fn locks_say_who_holds_them() {
    on_one_worker(|| {
        let mutex = Arc::new(sync::Mutex::new(()));
        let (held, other) = (mutex.lock().unwrap(), mutex.clone());
        let said = words(move || drop(other.lock().unwrap()), |_| drop(held));
        check(&said, "Mutex::lock", "mutex", "held by the caller since");

        let lock = Arc::new(sync::RwLock::new(()));
        let (held, other) = (lock.write().unwrap(), lock.clone());
        let said = words(move || drop(other.read().unwrap()), |_| drop(held));
        check(&said, "RwLock::read", "reader-writer lock", "being written, held by the caller");
        let (held, other) = (lock.read().unwrap(), lock.clone());
        let said = words(move || drop(other.write().unwrap()), |_| drop(held));
        check(
            &said,
            "RwLock::write",
            "reader-writer lock",
            "read by 1, the last of them, held by the caller",
        );

        let semaphore = Arc::new(sync::Semaphore::new(1));
        let (held, other) = (semaphore.acquire().unwrap(), semaphore.clone());
        let said = words(move || drop(other.acquire().unwrap()), |_| drop(held));
        check(&said, "Semaphore::acquire", "semaphore", "permits left: 0, held by the caller");

        let once = Arc::new(sync::Once::new());
        let (inside, outside) = (once.clone(), once.clone());
        let runs = csp::spawn(move || inside.call_once(csp::park));
        csp::yield_now();
        let said = words(move || outside.call_once(|| ()), |_| runs.process().unpark());
        check(&said, "Once::call_once", "once", "held by a process");
        runs.join().unwrap();
    });
}

/// More wait than look near the head of a queue; and those that look say what they look for, too.
#[test]
fn queue_locks_say_what_is_waited_for() {
    on_one_worker(|| {
        let (mcs, clh) = (Arc::new(sync::McsLock::new(())), Arc::new(sync::ClhLock::new(())));
        let (held, other) = (mcs.lock(), mcs.clone());
        let said = words(move || other.with(|_| ()), |_| drop(held));
        let holder = if cfg!(debug_assertions) { "held by the caller" } else { "" };
        check(&said, "McsLock::lock", "queue lock", holder);
        let (held, other) = (clh.lock(), clh.clone());
        let said = words(move || drop(other.lock()), |_| drop(held));
        check(&said, "ClhLock::lock", "queue lock", holder);
    });
}

#[test]
fn conditions_and_barriers_say_what_is_missing() {
    on_one_worker(|| {
        let pair = Arc::new((sync::Mutex::new(()), sync::Condvar::new()));
        let other = pair.clone();
        let waits = move || drop(other.1.wait(other.0.lock().unwrap()).unwrap());
        check(&words(waits, |_| pair.1.notify_one()), "Condvar::wait", "condition variable", "");

        let barrier = Arc::new(sync::Barrier::new(2));
        let other = barrier.clone();
        let said = words(
            move || {
                other.wait();
            },
            |_| {
                barrier.wait();
            },
        );
        check(&said, "Barrier::wait", "barrier", "1 of 2 have come");

        let mut barrier = csp::Barrier::new();
        let mut member = barrier.enrol();
        let said = words(move || member.sync(), |_| barrier.sync());
        check(&said, "csp::Barrier::sync", "barrier", "1 of 2 members have not come");
    });
}

#[test]
fn channels_say_which() {
    on_one_worker(|| {
        let (s, r) = channel::bounded(0);
        let (sends, receives) = (s.clone(), r.clone());
        let said = words(move || sends.send(1).unwrap(), |_| assert_eq!(r.recv(), Ok(1)));
        check(&said, "channel::Sender::send", "channel", "senders: 2, receivers: 2");
        let said = words(move || assert_eq!(receives.recv(), Ok(2)), |_| s.send(2).unwrap());
        check(&said, "channel::Receiver::recv", "channel", "senders: 1, receivers: 2");
        let (other, selects) = (channel::never::<u8>(), r.clone());
        let both = move || {
            channel::select! {
                recv(selects) -> got => assert_eq!(got, Ok(3)),
                recv(other) -> _ => unreachable!("it never has a message"),
            }
        };
        check(&words(both, |_| s.send(3).unwrap()), "channel::select", "choice", "1 channel");

        let (mut to, mut from) = csp::channel();
        let said = words(move || to.send(1).unwrap(), |_| assert_eq!(from.recv(), Ok(1)));
        check(&said, "csp::Sender::send", "channel", "");
        let (mut to, mut from) = csp::channel();
        let said = words(move || assert_eq!(from.recv(), Ok(1)), |_| to.send(1).unwrap());
        check(&said, "csp::Receiver::recv", "channel", "");
        let (mut to, mut from) = csp::channel();
        let alternates = move || {
            csp::alt! {
                recv(from) -> got => assert_eq!(got, Ok(1)),
                after(Duration::from_secs(100)) => unreachable!("it was sent"),
            }
        };
        check(&words(alternates, |_| to.send(1).unwrap()), "csp::choose", "choice", "1 channel, or a time");

        let shared = csp::Shared::new(7);
        let other = shared.clone();
        let claimed = shared.claim();
        let said = words(move || assert_eq!(*other.claim(), 7), |_| drop(claimed));
        check(&said, "csp::Shared::claim", "claimed end", "held by the caller");
    });
}

/// A switch to a thread keeps no note; it is shown then what is waited for, as long as it is.
#[test]
fn who_waits_at_a_channel_says_so_also_if_a_thread_is_next() {
    on_one_worker(|| {
        let (tell, who) = std::sync::mpsc::channel::<csp::Process>();
        let (mut to, mut from) = csp::channel();
        let looks = thread::spawn(move || {
            let process = std::iter::repeat_with(|| {
                thread::park();
                who.try_recv().ok()
            });
            let process = process.flatten().next().expect("it goes on until it has one");
            // SAFETY: both are on one worker, on which this runs.
            let said = unsafe { process.waits_for() };
            to.send(1).unwrap();
            (said, process)
        });
        (0..5).for_each(|_| csp::yield_now());
        let reader = looks.thread().clone();
        let waits = csp::spawn(move || {
            tell.send(csp::current().expect("it is one")).unwrap();
            reader.unpark();
            assert_eq!(from.recv(), Ok(1));
            let me = csp::current().expect("it is one");
            // SAFETY: it is the caller.
            unsafe { me.waits_for() }
        });
        assert_eq!(waits.join().unwrap(), None);
        let (said, _process) = looks.join().unwrap();
        check(&said.expect("it waits"), "csp::Receiver::recv", "channel", "");
    });
}

#[test]
fn the_ends_of_others_and_ones_own_rest() {
    on_one_worker(|| {
        let child = csp::spawn(csp::park);
        let process = child.process().clone();
        let said = words(move || child.join().unwrap(), |_| process.unpark());
        check(&said, "join", "process", "spawned at ");
        check(&words(|| csp::park(), csp::Process::unpark), "park", "process", "");
        check(&words(|| csp::sleep(Duration::from_millis(5)), |_| ()), "sleep", "process", "");
        let other = csp::spawn(csp::park);
        let process = other.process().clone();
        let scoped = move || {
            csp::scope(|s| {
                s.spawn(move || other.join().unwrap());
            });
        };
        check(&words(scoped, |_| process.unpark()), "scope", "scope", "children: 1");
    });
}

/// The description stays with a thread that moves, and goes with the wait.
#[test]
fn nothing_is_said_of_one_that_does_not_wait() {
    on_one_worker(|| {
        let runs = csp::spawn(|| {
            csp::sleep(Duration::from_millis(1));
            let me = csp::current().expect("it is one");
            // SAFETY: it is the caller.
            unsafe { me.waits_for() }
        });
        assert_eq!(runs.join().unwrap(), None);
    });
    assert!(thread::spawn(|| csp::current().is_none_or(|me| said_by(&me).is_none())).join().unwrap());
}

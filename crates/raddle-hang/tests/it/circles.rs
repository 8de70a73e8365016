//! Circles of channels among some, while others run.

use crate::plain;
use crate::runtime;
use crate::{said_until, until_input_ends};
use raddle::csp::{self, Builder};
use raddle::hang::dump;
use raddle::sync::Mutex;
use raddle::{Balance, Runtime, channel, thread};
use std::sync::Arc;
use std::time::Duration;

fn named(name: &str, f: impl FnOnce() + Send + 'static) {
    drop(Builder::new().name(name).spawn(f).unwrap());
}

/// Sends what was received.
fn pass_on<E>(received: Result<u32, E>, send: impl FnOnce(u32) -> bool) {
    if let Ok(number) = received {
        assert!(send(number));
    }
}

/// Somebody else is always at something.
fn while_others_run(begin: impl FnOnce() + Send + 'static) {
    let rt = runtime(2);
    drop(rt.spawn(move || {
        begin();
        loop {
            csp::sleep(Duration::from_millis(1));
        }
    }));
    until_input_ends();
}

/// Each receives before it sends.
pub(super) fn ring_while_others_run() {
    while_others_run(|| {
        let ((mut to_b, mut b_has), (mut to_a, mut a_has)) = (csp::channel::<u32>(), csp::channel::<u32>());
        named("a", move || pass_on(a_has.recv(), |n| to_b.send(n).is_ok()));
        named("b", move || pass_on(b_has.recv(), |n| to_a.send(n).is_ok()));
    });
}

/// Two fill each other's channels.
pub(super) fn full_while_others_run() {
    while_others_run(|| {
        let ((to_b, b_has), (to_a, a_has)) = (channel::bounded(1), channel::bounded(1));
        named("a", move || (0..3).for_each(|n| to_b.send((n, a_has.len())).unwrap()));
        named("b", move || (0..3).for_each(|n| to_a.send((n, b_has.len())).unwrap()));
    });
}

/// One waits for a message of who waits for its lock.
pub(super) fn lock_and_channel_while_others_run() {
    while_others_run(|| {
        let lock = Arc::new(Mutex::new(()));
        let (mut to, mut from) = csp::channel::<u32>();
        let mine = lock.clone();
        named("locks", move || {
            let _held = mine.lock().unwrap();
            from.recv().unwrap();
        });
        named("sends", move || {
            csp::sleep(Duration::from_millis(1));
            drop(lock.lock().unwrap());
            to.send(7).unwrap();
        });
    });
}

/// What waits here waits for one who goes on: who has a deadline, who has several channels, an end in a box.
pub(super) fn no_circles() {
    while_others_run(|| {
        // One of the two gives up after an hour.
        let ((mut to_b, mut b_has), (mut to_a, mut a_has)) = (csp::channel::<u32>(), csp::channel::<u32>());
        named("hurried", move || {
            pass_on(a_has.recv_timeout(Duration::from_secs(3600)), |n| to_b.send(n).is_ok());
        });
        named("waits for it", move || pass_on(b_has.recv(), |n| to_a.send(n).is_ok()));
        // A sender that has been cloned may be anywhere.
        let ((to_d, d_has), (to_c, c_has)) = (channel::bounded::<u32>(1), channel::bounded::<u32>(1));
        let kept = to_c.clone();
        named("c", move || pass_on(c_has.recv(), |n| to_d.send(n).is_ok()));
        named("d", move || pass_on(d_has.recv(), |n| to_c.send(n).is_ok()));
        // A server that waits for requests of one who works.
        let ((mut asks, mut asked), (mut answers, mut answer)) =
            (csp::channel::<u32>(), csp::channel::<u32>());
        named("server", move || {
            while let Ok(n) = asked.recv() {
                let _gone = answers.send(n);
            }
        });
        named("client", move || {
            loop {
                csp::sleep(Duration::from_millis(100));
                asks.send(7).unwrap();
                answer.recv().unwrap();
            }
        });
        // The watcher looks at these at intervals that double: so long that it has looked several times.
        drop(thread::spawn(move || {
            let _kept = kept;
            csp::sleep(Duration::from_secs(6));
            eprintln!("dump: {}", dump().json());
        }));
    });
}

/// Whether stacks can be looked through for who has the other end: see `peers`.
const SEES_PEERS: bool = !cfg!(any(raddle_tsan, raddle_twin, raddle_asan));

/// Who has been woken, and has had no turn since, is no member of a circle.
#[test]
fn who_has_been_woken_does_not_wait() {
    // Nobody else runs who is ready, even if the worker stands for long, as on a busy machine.
    let one = Runtime::builder().workers(1).balance(Balance::None).build().unwrap();
    let dump = one.run(|| {
        let ((mut to_a, mut a_has), (mut to_b, mut b_has)) = (csp::channel::<u32>(), csp::channel::<u32>());
        let answers = move || pass_on(a_has.recv(), |n| to_b.send(n).is_ok());
        let a = Builder::new().name("a").spawn(answers).unwrap();
        let looks = csp::spawn(|| {
            csp::park();
            dump()
        });
        // Both wait: one for a message, one for a permit.
        (0..10).for_each(|_| csp::yield_now());
        // It comes before `a`, which is woken and will answer.
        looks.process().unpark();
        to_a.send(7).unwrap();
        assert_eq!(b_has.recv(), Ok(7));
        a.join().unwrap();
        looks.join().unwrap()
    });
    let json = dump.json();
    assert!(json.contains(r#""cycles":[],"likely_cycles":[],"#), "{json}");
    let a = json.lines().find(|line| line.contains(r#""name":"a""#)).expect(&json);
    assert!(a.contains(r#""state":"ready""#), "{json}");
    assert!(!dump.to_string().contains("cycle"), "{dump}");
    assert_eq!(one.shutdown(), 0);
}

#[test]
fn a_circle_of_channels_is_told_while_others_run() {
    if !SEES_PEERS {
        return;
    }
    let programs = [
        ("ring_while_others_run", "csp::Receiver::recv", "could come from"),
        ("full_while_others_run", "channel::Sender::send", "could go to"),
    ];
    for (program, call, could) in programs {
        let text = plain(&said_until(program, "alive: "));
        let first =
            text.lines().find(|line| line.starts_with("raddle: a cycle of waits, while others run: "));
        let first = first.expect(&text);
        for (one, other) in [("a", "b"), ("b", "a")] {
            assert!(first.contains(&format!("process '{one}' (#N, spawned at ")), "{text}");
            assert!(first.contains(&format!("{could} '{other}'")), "{text}");
        }
        assert!(first.contains(&format!("waits in {call} at ")), "{text}");
    }
    let text = plain(&said_until("lock_and_channel_while_others_run", "alive: "));
    let first = text.lines().find(|line| line.starts_with("raddle: a cycle of waits, while others run: "));
    let first = first.expect(&text);
    assert!(first.contains("held by 'locks' since") && first.contains("could come from 'sends'"), "{text}");
}

#[test]
fn nothing_is_told_of_channels_that_others_may_serve() {
    let text = said_until("no_circles", "dump: {");
    assert!(!text.contains("a cycle of waits"), "{text}");
}

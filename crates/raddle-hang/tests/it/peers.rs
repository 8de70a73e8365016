//! What has none: who could have supplied it, as far as stacks tell.

use crate::child::{in_program, stderr};
use crate::plain;
use crate::runtime;
use raddle::channel;
use raddle::csp::{self, Barrier, Builder};

pub(super) fn nobody_sends() {
    runtime(1).run(|| {
        let (sender, mut receiver) = csp::channel::<u32>();
        let reader = Builder::new().name("reader").spawn(move || receiver.recv()).unwrap();
        let _unjoined = reader.join();
        drop(sender);
    });
}

fn named<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> csp::JoinHandle<T> {
    Builder::new().name(name).spawn(f).unwrap()
}

/// Each receives before it sends, so that nobody ever does.
pub(super) fn ring() {
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
pub(super) fn full() {
    runtime(1).run(|| {
        let ((to_b, b_has), (to_a, a_has)) = (channel::bounded(1), channel::bounded(1));
        let a = named("a", move || (0..3).for_each(|n| to_b.send((n, a_has.len())).unwrap()));
        let b = named("b", move || (0..3).for_each(|n| to_a.send((n, b_has.len())).unwrap()));
        a.join().unwrap();
        b.join().unwrap();
    });
}

/// A member of a barrier waits for something else.
pub(super) fn one_is_missing() {
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
pub(super) fn choice() {
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

/// Whether stacks can be looked through for who has the other end of a channel. Under a sanitizer that depends on where
/// it puts the variables: then a report may name peers, and need not.
const SEES_PEERS: bool = !cfg!(any(raddle_tsan, raddle_twin, raddle_asan));

#[test]
fn a_wait_that_nobody_ends_is_told_with_who_could_have_ended_it() {
    let output = in_program("nobody_sends", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("raddle: deadlock: process 'reader' (#"), "{text}");
    assert!(first.contains("waits in csp::Receiver::recv at"), "{text}");
    // Who has the sender waits for the receiver's end: that is a cycle.
    let names_peers = first.contains("could come from #") && first.contains("waits in join at");
    assert!(names_peers || !SEES_PEERS, "{text}");
}

#[test]
fn who_could_supply_what_is_waited_for_is_told() {
    if !SEES_PEERS {
        return;
    }
    let here = "crates/raddle-hang/tests/it/peers.rs:N";
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

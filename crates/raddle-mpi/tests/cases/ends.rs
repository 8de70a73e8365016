//! Owns: what ranks do to try ends of channels: many of them, their numbers and names, choices they were not chosen in.
//! May use: `raddle`, `raddle-mpi`.
//! Never: a job of its own; the ranks of `channels` call these.

use super::{BRIEF, PATIENT};
use raddle::csp;
use raddle_mpi::{Net, PostBox, RemoteRecvError, RemoteSendError};

/// Twenty thousand small messages in a buffer lie in little more than they have, and not in 8 KiB each.
pub(crate) fn many_places(net: &Net) {
    const PLACES: u32 = 20_000;
    let peer = 1 - net.rank();
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("it is there");
        pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
    };
    let before = resident();
    if net.rank() == 0 {
        let mut to = net.buffered_sender::<u32>("many", peer, PLACES).expect("an end");
        let mut full = net.sender::<()>("all", peer).expect("an end");
        (0..PLACES).for_each(|n| to.send(n).expect("there is a place"));
        full.send(()).expect("it is taken");
    } else {
        let mut from = net.buffered_receiver::<u32>("many", peer, PLACES).expect("an end");
        let mut full = net.receiver::<()>("all", peer).expect("an end");
        // What one rank says arrives in its order: the other end has heard all then.
        full.recv().expect("it comes");
        let grown = resident().saturating_sub(before);
        assert!(grown < PLACES as usize * 2048, "{grown} bytes");
        (0..PLACES).for_each(|n| assert_eq!(from.recv(), Ok(n)));
    }
}

/// A thousand after the other, more ends than there are tags, each of which has its own message.
pub(crate) fn many_ends(net: &Net) {
    let peer = 1 - net.rank();
    for thousand in (0..33_000).step_by(1000) {
        let names = (0..1000).map(|n| format!("again {n}"));
        if net.rank() == 0 {
            let made =
                names.map(|name| net.buffered_sender::<u32>(&name, peer, 1).expect("a number is free"));
            let ends: Vec<_> = made.collect();
            (thousand..).zip(ends).for_each(|(n, mut to)| to.send(n).expect("there is a place"));
        } else {
            let made =
                names.map(|name| net.buffered_receiver::<u32>(&name, peer, 1).expect("a number is free"));
            let ends: Vec<_> = made.collect();
            (thousand..).zip(ends).for_each(|(n, mut from)| assert_eq!(from.recv(), Ok(n)));
        }
    }
}

/// An end that was not chosen is not late, however long the body of the case that was chosen goes on.
pub(crate) fn not_chosen(net: &Net) {
    let peer = 1 - net.rank();
    if net.rank() == 1 {
        net.sender::<u64>("chosen", peer).expect("an end").send(1).expect("it is taken");
        let mut to = net.sender::<u64>("not chosen", peer).expect("an end");
        ping_pong_by(net, "the choice is over");
        return to.send(2).expect("it is taken");
    }
    let [mut one, mut other] =
        ["chosen", "not chosen"].map(|name| net.receiver::<u64>(name, peer).expect("an end"));
    other.set_deadline(BRIEF);
    csp::alt! {
        recv(one.when_sent().expect("an end")) -> _ => {
            assert_eq!(one.recv(), Ok(1));
            std::thread::sleep(2 * BRIEF);
        }
        recv(other.when_sent().expect("an end")) -> _ => panic!("{:?}", other.recv()),
    }
    other.set_deadline(PATIENT);
    ping_pong_by(net, "the choice is over");
    assert_eq!(other.recv(), Ok(2));
}

/// Ends of one name meet in the order in which they were bound, whatever numbers they have: the second one of rank 0
/// has the smaller number.
pub(crate) fn same_names(net: &Net) {
    let peer = 1 - net.rank();
    let turn = |name: &str| ping_pong_by(net, name);
    let names = ["a", "b", "c", "d"];
    if net.rank() == 0 {
        let ends = names.map(|name| net.receiver::<u64>(name, peer).expect("an end"));
        turn("all are bound");
        drop(ends);
    } else {
        let ends = names.map(|name| net.sender::<u64>(name, peer).expect("an end"));
        turn("all are bound");
        drop(ends);
    }
    // Free again in their order: the last of them is the next one's.
    turn("all are free");
    if net.rank() == 0 {
        drop(net.receiver::<u64>("same", peer).expect("an end"));
        let mut second = net.receiver::<u64>("same", peer).expect("an end");
        turn("both wait");
        assert_eq!(second.recv(), Ok(2));
    } else {
        turn("both wait");
        let mut first = net.sender::<u64>("same", peer).expect("an end");
        assert_eq!(first.send(1), Err(RemoteSendError::Disconnected(1)));
        drop(first);
        net.sender::<u64>("same", peer).expect("an end").send(2).expect("it is taken");
    }
}

/// Both ranks have come here, and heard what the other one had said before.
fn ping_pong_by(net: &Net, name: &str) {
    let peer = 1 - net.rank();
    let mut to = net.sender::<u64>(name, peer).expect("an end");
    let mut from = net.receiver::<u64>(name, peer).expect("an end");
    if net.rank() == 0 {
        to.send(0).expect("it is taken");
        assert_eq!(from.recv(), Ok(1));
    } else {
        assert_eq!(from.recv(), Ok(0));
        to.send(1).expect("it is taken");
        // The numbers of rank 0's ends are free in their order, too.
        drop(to);
        drop(from);
    }
}

/// A box of which a large message was asked for without a wait has it when it is waited for.
pub(crate) fn boxes(net: &Net) {
    const LARGE: usize = 1 << 20;
    let messages = net.post_box("box").expect("both make it");
    let peer = 1 - net.rank();
    if net.rank() == 1 {
        messages.send(peer, vec![1; LARGE]).expect("it is there");
        net.sender::<()>("it is sent", peer).expect("an end").send(()).expect("it is taken");
        let last = messages.receive().expect("it comes");
        return assert_eq!(last, Some((peer, vec![3; 4])));
    }
    // The offer has come by then; one look takes it, and its bytes are not here yet.
    net.receiver::<()>("it is sent", peer).expect("an end").recv().expect("it comes");
    match messages.try_receive() {
        Ok(message) => ends_box(&messages, message, peer),
        Err(RemoteRecvError::Empty) => {
            let message = messages.receive().expect("it comes").expect("the other rank has its box");
            ends_box(&messages, message, peer);
        }
        Err(error) => panic!("{error}"),
    }
}

fn ends_box(messages: &PostBox, large: (usize, Vec<u8>), peer: usize) {
    assert!(large == (peer, vec![1; 1 << 20]), "{} bytes of {}", large.1.len(), large.0);
    messages.send(peer, vec![3; 4]).expect("it is there");
}

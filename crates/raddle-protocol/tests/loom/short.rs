//! The short lock, alone and as a channel uses it: with the note that is read outside, and with one who waits inside.

use crate::{ALL, check, go};
use raddle_protocol::model::{Short, Things};
use std::sync::Arc;

#[test]
fn who_enters_sees_what_those_before_did() {
    check(ALL, || {
        let lock = Arc::new(Short::default());
        let other = {
            let lock = lock.clone();
            go(move || assert!(lock.send().is_none(), "nobody waits"))
        };
        assert!(lock.send().is_none(), "nobody waits");
        other.join().unwrap();
        assert_eq!(lock.look_surely(), 2);
    });
}

#[test]
fn two_who_send_and_look_cannot_both_miss() {
    check(ALL, || {
        let channels = Arc::new([Short::default(), Short::default()]);
        let other = {
            let channels = channels.clone();
            go(move || {
                assert!(channels[0].send().is_none());
                channels[1].look_surely()
            })
        };
        assert!(channels[1].send().is_none());
        let found = channels[0].look_surely();
        assert!(found + other.join().unwrap() > 0, "both missed the message of the other");
    });
}

/// The receiver is thing 0: its payload is its saved context. It is run once, by the sender or by itself, and whoever
/// runs it sees the context whole.
#[test]
fn one_who_waits_inside_is_run_once() {
    check(ALL, || {
        let (channel, things) = (Arc::new(Short::default()), Things::new(1));
        let sender = {
            let channel = channel.clone();
            go(move || channel.send().into_iter().for_each(|receiver| assert_eq!(receiver.run(), 0)))
        };
        let saved = things.make(0);
        channel.receive_or_wait(saved).into_iter().for_each(|receiver| assert_eq!(receiver.run(), 0));
        sender.join().unwrap();
        assert_eq!((things.count_run(), channel.look_surely()), (1, 0));
    });
}

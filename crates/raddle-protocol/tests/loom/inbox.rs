//! The inbox: pushers against the owner, awake and falling asleep.

use crate::{ALL, check, go};
use raddle_protocol::model::{IdleSet, Inbox, Right, Things};
use std::sync::Arc;

#[test]
fn two_pushers_and_an_owner_that_takes() {
    check(ALL, || {
        let (inbox, things) = (Arc::new(Inbox::default()), Things::new(2));
        let push = |number| {
            let (inbox, things) = (inbox.clone(), things.clone());
            go(move || assert!(!inbox.push(things.make(number)), "the owner is awake"))
        };
        let pushers = [push(0), push(1)];
        inbox.run_all();
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        inbox.run_all();
        assert_eq!(things.count_run(), 2);
    });
}

#[test]
fn chains_keep_their_order() {
    check(ALL, || {
        let (inbox, things) = (Arc::new(Inbox::default()), Things::new(3));
        let pusher = {
            let (inbox, things) = (inbox.clone(), things.clone());
            go(move || {
                let chain: [Right; 2] = [things.make(0), things.make(1)];
                assert!(!inbox.push_all(chain));
                assert!(!inbox.push(things.make(2)));
            })
        };
        let mut seen = inbox.run_all();
        pusher.join().unwrap();
        seen.extend(inbox.run_all());
        assert_eq!(seen, [0, 1, 2], "mail of one sender was overtaken");
    });
}

/// Takes mail until `count` have been run, sleeping in between as a worker does.
fn owner(inbox: &Inbox, idle: &IdleSet, count: usize) {
    let mut run = inbox.run_all().len();
    while run < count {
        let watch = idle.announce(0, false);
        if inbox.try_sleep() {
            idle.sleep(0, watch);
        } else {
            idle.cancel(0, watch);
        }
        run += inbox.run_all().len();
    }
}

fn an_owner_falls_asleep_and_is_woken(pushers: usize, preemptions: Option<usize>) {
    check(preemptions, move || {
        let (inbox, idle, things) =
            (Arc::new(Inbox::default()), Arc::new(IdleSet::new(1)), Things::new(pushers));
        let push = |number| {
            let (inbox, idle, things) = (inbox.clone(), idle.clone(), things.clone());
            go(move || {
                if inbox.push(things.make(number)) {
                    idle.wake_owner(0);
                }
            })
        };
        let pushers: Vec<_> = (0..pushers).map(push).collect();
        owner(&inbox, &idle, pushers.len());
        let count = pushers.len();
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        assert_eq!(things.count_run(), count);
        assert!(idle.is_balanced(), "{idle:?}");
    });
}

#[test]
fn an_owner_falls_asleep_and_one_pusher_wakes_it() {
    an_owner_falls_asleep_and_is_woken(1, ALL);
}

#[test]
fn an_owner_falls_asleep_between_two_pushers() {
    an_owner_falls_asleep_and_is_woken(2, Some(3));
}

/// An extra worker takes the mail of one that stands, as it seems, and gives back what is bound to that one.
#[test]
fn mail_that_is_given_back_to_an_owner_that_has_fallen_asleep_wakes_it() {
    check(Some(3), || {
        let (inbox, idle, things) = (Arc::new(Inbox::default()), Arc::new(IdleSet::new(1)), Things::new(2));
        assert!(!inbox.push(things.make(0)));
        let helper = {
            let (inbox, idle) = (inbox.clone(), idle.clone());
            go(move || {
                for bound in inbox.take_for_owner() {
                    if inbox.push(bound) {
                        idle.wake_owner(0);
                    }
                }
            })
        };
        let pusher = {
            let (inbox, idle, things) = (inbox.clone(), idle.clone(), things.clone());
            go(move || {
                if inbox.push(things.make(1)) {
                    idle.wake_owner(0);
                }
            })
        };
        owner(&inbox, &idle, 2);
        helper.join().unwrap();
        pusher.join().unwrap();
        assert_eq!(things.count_run(), 2);
        assert!(idle.is_balanced(), "{idle:?}");
    });
}

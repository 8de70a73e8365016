//! The window: one owner lays out, anybody takes.

use crate::{ALL, check, go};
use raddle_protocol::model::{Things, Window};
use std::sync::Arc;

#[test]
fn an_owner_and_two_thieves() {
    check(ALL, || {
        let (window, things) = (Arc::new(Window::default()), Things::new(3));
        let take = || {
            let window = window.clone();
            go(move || window.run_one())
        };
        let thieves = [take(), take()];
        assert!(window.publish([things.make(0), things.make(1)]));
        let mut run = window.run_one();
        assert!(window.publish([things.make(2)]));
        thieves.into_iter().for_each(|thief| run.extend(thief.join().unwrap()));
        (0..2).for_each(|_| run.extend(window.run_one()));
        run.sort_unstable();
        assert_eq!(run, [0, 1, 2]);
        assert_eq!(things.count_run(), 3);
    });
}

#[test]
fn a_slot_is_filled_again_as_soon_as_it_is_empty() {
    check(Some(3), || {
        let (window, things) = (Arc::new(Window::default()), Things::new(5));
        (0..4).for_each(|number| assert!(window.publish([things.make(number)])));
        let thief = {
            let window = window.clone();
            go(move || window.run_one())
        };
        window.publish([things.make(4)]);
        thief.join().unwrap();
        (0..4).for_each(|_| drop(window.run_one()));
        assert_eq!(things.count_run(), 5);
    });
}

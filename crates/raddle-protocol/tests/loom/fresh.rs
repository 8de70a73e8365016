//! The fresh list: its owner against thieves.

use crate::{ALL, check, go};
use raddle_protocol::model::{Fresh, Parent, Things};
use std::sync::Arc;

const EVERYTHING: usize = usize::MAX;

struct List {
    fresh: Arc<Fresh>,
    things: Things,
}

impl List {
    /// A list with the first `pushed` of `all` things in it.
    fn with(pushed: usize, all: usize) -> List {
        let list = List { fresh: Arc::new(Fresh::default()), things: Things::new(all) };
        (0..pushed).for_each(|number| list.fresh.push(list.things.make(number)));
        list
    }

    fn thief(&self, looks: usize) -> loom::thread::JoinHandle<Vec<usize>> {
        let fresh = self.fresh.clone();
        go(move || (0..looks).flat_map(|_| fresh.run_half(EVERYTHING)).collect())
    }

    /// After the threads have been joined: the owner runs what is left, and each has been run once.
    fn ends_well(&self, all: usize) {
        while self.fresh.run_oldest().is_some() {}
        // A pop that finds its runnable stolen skips to what is left or to the end: nothing stays behind.
        assert_eq!(self.things.count_run(), all, "something was lost");
    }
}

#[test]
fn the_owner_pops_what_a_thief_claims() {
    check(ALL, || {
        let list = List::with(1, 1);
        let thief = list.thief(1);
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(1);
    });
}

#[test]
fn the_owner_pushes_and_pops_while_a_thief_takes_half() {
    check(Some(3), || {
        let list = List::with(2, 3);
        let thief = list.thief(1);
        list.fresh.run_oldest();
        list.fresh.push(list.things.make(2));
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(3);
    });
}

#[test]
fn a_thief_sees_what_it_takes() {
    check(ALL, || {
        let list = List::with(0, 1);
        let thief = list.thief(1);
        list.fresh.push(list.things.make(0));
        thief.join().unwrap();
        list.ends_well(1);
    });
}

#[test]
fn the_owner_against_two_thieves() {
    check(Some(2), || {
        let list = List::with(3, 3);
        let thieves = [list.thief(1), list.thief(1)];
        list.fresh.run_oldest();
        list.fresh.run_oldest();
        thieves.into_iter().for_each(|thief| drop(thief.join().unwrap()));
        list.ends_well(3);
    });
}

/// Two things of one who waits, then two of another one who waits.
fn family() -> (List, [Parent; 2]) {
    let (list, parents) = (List::with(0, 5), [Parent::new(true), Parent::new(true)]);
    (0..4).for_each(|number| list.fresh.push_of(list.things.make(number), &parents[number / 2]));
    (list, parents)
}

#[test]
fn the_owner_takes_a_child_out_of_turn_while_a_thief_takes_half() {
    check(Some(3), || {
        let (list, parents) = family();
        let thief = list.thief(1);
        assert!(list.fresh.run_child(&parents[1], None).is_none_or(|taken| taken >= 2));
        list.fresh.push_of(list.things.make(4), &parents[1]);
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(5);
    });
}

#[test]
fn the_owner_takes_a_child_out_of_turn_between_two_thieves() {
    check(Some(2), || {
        let (list, parents) = family();
        let thieves = [list.thief(1), list.thief(1)];
        list.fresh.run_child(&parents[1], Some((&list.things, 2)));
        list.fresh.run_oldest();
        thieves.into_iter().for_each(|thief| drop(thief.join().unwrap()));
        list.fresh.push_of(list.things.make(4), &parents[1]);
        list.ends_well(5);
    });
}

#[test]
fn children_go_in_order_before_those_of_others_who_wait() {
    check(ALL, || {
        let (list, parents) = family();
        let wanted = |number| Some((&list.things, number));
        assert_eq!(list.fresh.run_child(&parents[0], None), None, "the newest is none of them");
        assert_eq!(list.fresh.run_child(&parents[1], wanted(3)), None, "an elder one is there");
        assert_eq!(list.fresh.run_child(&parents[1], wanted(2)), Some(2));
        assert_eq!(list.fresh.run_child(&parents[1], None), Some(3));
        list.fresh.push_of(list.things.make(4), &parents[1]);
        let order: Vec<usize> = std::iter::from_fn(|| list.fresh.run_oldest()).collect();
        assert_eq!(order, [0, 1, 4]);
    });
}

#[test]
fn nobody_else_is_passed_by() {
    for waits in [None, Some(false)] {
        check(ALL, move || {
            let list = List::with(0, 2);
            let parents = [Parent::new(waits.is_some_and(|waits| waits)), Parent::new(true)];
            match waits {
                None => list.fresh.push_alone(list.things.make(0)),
                Some(_) => list.fresh.push_of(list.things.make(0), &parents[0]),
            }
            list.fresh.push_of(list.things.make(1), &parents[1]);
            assert_eq!(list.fresh.run_child(&parents[1], None), None);
            list.ends_well(2);
        });
    }
}

#[test]
fn the_oldest_of_all_goes_in_turn() {
    check(ALL, || {
        let (list, parent) = (List::with(0, 1), Parent::new(true));
        list.fresh.push_of(list.things.make(0), &parent);
        assert_eq!(list.fresh.run_child(&parent, None), None);
        list.ends_well(1);
    });
}

#[test]
fn a_thief_that_comes_back() {
    check(Some(3), || {
        let list = List::with(3, 3);
        let thief = list.thief(2);
        list.fresh.run_oldest();
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(3);
    });
}

#[test]
fn what_a_thief_takes_is_contiguous_and_oldest_first() {
    check(Some(2), || {
        let list = List::with(4, 4);
        let thief = list.thief(1);
        let first = list.fresh.run_oldest();
        let stolen = thief.join().unwrap();
        assert!(stolen.windows(2).all(|pair| pair[1] == pair[0] + 1), "{stolen:?} is not contiguous");
        assert!(first.is_some(), "one thief takes a half only");
        list.ends_well(4);
    });
}

#[test]
fn the_list_grows_while_a_thief_reads_it() {
    check(Some(3), || {
        let list = List::with(4, 5);
        let thief = list.thief(1);
        list.fresh.push(list.things.make(4));
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(5);
    });
}

#[test]
fn a_slot_is_used_again_after_a_thief_has_read_it() {
    check(Some(3), || {
        let list = List::with(2, 5);
        let thief = list.thief(1);
        list.fresh.run_oldest();
        list.fresh.run_oldest();
        (2..5).for_each(|number| list.fresh.push(list.things.make(number)));
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(5);
    });
}

#[test]
fn two_thieves_keep_out_of_each_others_claims() {
    check(ALL, || {
        let list = List::with(2, 2);
        let thieves = [list.thief(1), list.thief(1)];
        let count: usize = thieves.map(|thief| thief.join().unwrap().len()).iter().sum();
        assert!(count > 0, "at least one of them gets in");
        list.ends_well(2);
    });
}

#[test]
fn what_has_not_aged_is_left_alone() {
    check(ALL, || {
        let list = List::with(2, 2);
        let fresh = list.fresh.clone();
        let thief = go(move || fresh.run_half(1));
        let popped = list.fresh.run_oldest();
        let stolen = thief.join().unwrap();
        assert!(!stolen.contains(&1), "1 had not aged");
        assert!(popped.is_some());
        list.ends_well(2);
    });
}

#[test]
fn an_owner_that_only_pushes_does_not_grow_for_what_is_stolen() {
    check(ALL, || {
        let list = List::with(0, 12);
        let capacity = list.fresh.capacity();
        for number in 0..12 {
            list.fresh.push(list.things.make(number));
            assert_eq!(list.fresh.run_half(EVERYTHING), [number]);
        }
        assert_eq!(list.fresh.capacity(), capacity);
    });
}

#[test]
fn who_is_put_first_goes_before_those_that_wait() {
    check(ALL, || {
        let list = List::with(4, 8);
        assert!(!list.fresh.push_first(list.things.make(4), 0), "none has been taken yet");
        assert_eq!(list.fresh.run_oldest(), Some(0));
        assert!(list.fresh.push_first(list.things.make(5), 0));
        assert_eq!(list.fresh.run_oldest(), Some(5));
        assert_eq!(list.fresh.run_half(EVERYTHING), [1, 2]);
        assert!(list.fresh.push_first(list.things.make(6), 0));
        assert!(list.fresh.push_first(list.things.make(7), 1));
        let order: Vec<usize> = std::iter::from_fn(|| list.fresh.run_oldest()).collect();
        assert_eq!(order, [6, 7, 3, 4]);
    });
}

#[test]
fn the_owner_puts_one_first_while_a_thief_takes_half() {
    check(Some(3), || {
        let list = List::with(2, 4);
        list.fresh.run_oldest();
        let thief = list.thief(2);
        list.fresh.push_first(list.things.make(2), 0);
        list.fresh.run_oldest();
        list.fresh.push_first(list.things.make(3), 1);
        thief.join().unwrap();
        list.ends_well(4);
    });
}

#[test]
fn the_owner_puts_one_first_where_a_stolen_range_has_ended() {
    check(Some(3), || {
        let list = List::with(3, 4);
        list.fresh.run_oldest();
        list.fresh.run_half(EVERYTHING);
        let thief = list.thief(2);
        list.fresh.push_first(list.things.make(3), 0);
        list.fresh.run_oldest();
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(4);
    });
}

#[test]
fn one_is_put_first_between_two_thieves() {
    check(Some(2), || {
        let list = List::with(2, 3);
        list.fresh.run_oldest();
        let thieves = [list.thief(1), list.thief(1)];
        list.fresh.push_first(list.things.make(2), 0);
        list.fresh.run_oldest();
        thieves.into_iter().for_each(|thief| drop(thief.join().unwrap()));
        list.ends_well(3);
    });
}

#[test]
fn who_is_put_first_is_seen_by_who_takes_it() {
    check(ALL, || {
        let list = List::with(1, 2);
        list.fresh.run_oldest();
        let thief = list.thief(1);
        list.fresh.push_first(list.things.make(1), 0);
        thief.join().unwrap();
        list.ends_well(2);
    });
}

#[test]
fn a_thief_of_one_takes_one_while_others_are_put_first() {
    check(Some(3), || {
        let list = List::with(3, 5);
        list.fresh.run_oldest();
        let fresh = list.fresh.clone();
        let thief = go(move || fresh.run_stolen());
        list.fresh.push_first(list.things.make(3), 0);
        list.fresh.push_first(list.things.make(4), 1);
        list.fresh.run_oldest();
        thief.join().unwrap();
        list.ends_well(5);
    });
}

//! The list of those who wait: its lock, and leaving it from the middle.

use crate::{ALL, check, go};
use raddle_protocol::model::List;
use std::sync::Arc;

#[test]
fn who_enters_and_leaves_leaves_nothing_behind() {
    check(Some(3), || {
        let list = Arc::new(List::default());
        let other = list.clone();
        let visitor = go(move || assert!(other.visit(1), "nobody takes it out"));
        assert!(list.visit(0), "nobody takes it out");
        visitor.join().unwrap();
        assert!(list.is_empty());
    });
}

#[test]
fn one_that_is_taken_out_leaves_once() {
    check(ALL, || {
        let list = Arc::new(List::default());
        let other = list.clone();
        let taker = go(move || other.remove_first());
        list.visit(0);
        taker.join().unwrap();
        assert!(list.is_empty());
    });
}

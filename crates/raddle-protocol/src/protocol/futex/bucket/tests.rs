//! Owns: a test of a wake: in what order it selects and wakes, and that it comes by nobody again and again.
//! May use: `call`, `protocol::futex::tree`, `protocol::sleeper`.
//! Never: a thread.

use super::{Bucket, SKIPPED_MAX};
use crate::call::WaitCall;
use crate::protocol::futex::tree::Node;
use crate::protocol::sleeper::{RowSleeper, Sleeper, TimedSleeper};
use std::cell::RefCell;
use std::rc::Rc;

/// What happened to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Selected(usize),
    Woken(usize),
}

type Log = Rc<RefCell<Vec<Event>>>;

/// One that writes down what is done to it.
struct Noted(usize, Log);

// SAFETY: it is used on one thread.
unsafe impl Sleeper for Noted {
    type Right = (usize, Log);

    fn new(_call: &'static WaitCall) -> Self {
        Noted(0, Log::default())
    }

    fn wait(&self) {}

    fn select(&self) -> (usize, Log) {
        self.1.borrow_mut().push(Event::Selected(self.0));
        (self.0, self.1.clone())
    }

    fn wake((number, log): (usize, Log)) {
        log.borrow_mut().push(Event::Woken(number));
    }
}

impl TimedSleeper for Noted {
    fn wait_timed(&self) -> Option<u32> {
        None
    }

    fn try_select(&self, _outcome: u32) -> Option<(usize, Log)> {
        Some(self.select())
    }

    fn give_up(&self) {}

    fn discard(self) {}
}

impl RowSleeper for Noted {
    type Row = Vec<(usize, Log)>;

    fn line_up(row: &mut Self::Row, right: (usize, Log)) {
        row.push(right);
    }

    fn wake_row(row: Self::Row) {
        row.into_iter().for_each(Noted::wake);
    }
}

/// Wakes `count` of those with the first bit, who stand behind `before` without it; how many were woken, in which
/// order, and in how many passes.
fn wake(before: usize, meant: usize, count: u32) -> (u32, Vec<usize>, usize) {
    let (bucket, log) = (Bucket::new(), Log::default());
    let bits = |number| if number < before { 2 } else { 1 };
    let nodes: Vec<Box<Node<Noted>>> = (0..before + meant)
        .map(|number| Box::new(Node::new(64, bits(number), Noted(number, log.clone()))))
        .collect();
    nodes.iter().for_each(|node| bucket.lock().push(node));
    let woken = bucket.wake::<32>(64, count, 1);
    nodes.iter().for_each(|node| {
        bucket.lock().remove(node);
    });
    let log = log.borrow();
    let is_turn = |two: &&[Event]| matches!(two, [Event::Selected(_), Event::Woken(_)]);
    let passes = log.windows(2).filter(is_turn).count();
    let order =
        log.iter().filter_map(|one| if let Event::Woken(number) = one { Some(*number) } else { None });
    (woken, order.collect(), passes)
}

#[test]
fn a_wake_comes_by_nobody_again_and_again() {
    // Few stand before those who are meant: a batch at a time.
    assert_eq!(wake(SKIPPED_MAX, 100, u32::MAX), (100, (SKIPPED_MAX..SKIPPED_MAX + 100).collect(), 4));
    // Many do: in one pass.
    assert_eq!(wake(1000, 100, u32::MAX), (100, (1000..1100).collect(), 1));
    assert_eq!(wake(1000, 100, 50), (50, (1000..1050).collect(), 1));
    assert_eq!(wake(1000, 10, 7), (7, (1000..1007).collect(), 1));
    assert_eq!(wake(1000, 0, 7), (0, Vec::new(), 0));
}

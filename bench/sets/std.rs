//! Owns: sets of numbers under one mutex, used by OS threads.
//! May use: std.
//! Never: a runtime.

use std::collections::{BTreeSet, HashSet};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard};

use bench_common::sets::{NumberSet, Shape, Spare, run_on_os_threads};
use raddle_measure::program;

fn main() -> ExitCode {
    program::main(run_on_os_threads::<Locked>)
}

struct Locked(Mutex<Set>);

enum Set {
    List(List),
    Table(HashSet<u32>),
    Tree(BTreeSet<u32>),
}

impl Locked {
    fn lock(&self) -> MutexGuard<'_, Set> {
        self.0.lock().expect("nobody panics")
    }
}

impl NumberSet for Locked {
    fn new(shape: Shape, _: u32) -> Locked {
        Locked(Mutex::new(match shape {
            Shape::List => Set::List(List::default()),
            Shape::Table => Set::Table(HashSet::new()),
            Shape::Tree => Set::Tree(BTreeSet::new()),
        }))
    }

    fn contains(&self, number: u32) -> bool {
        match &mut *self.lock() {
            Set::List(list) => list.find(number).1,
            Set::Table(table) => table.contains(&number),
            Set::Tree(tree) => tree.contains(&number),
        }
    }

    fn insert(&self, number: u32, spare: &mut Spare) -> bool {
        let is_new = match &mut *self.lock() {
            Set::List(list) => list.insert(number),
            Set::Table(table) => table.insert(number),
            Set::Tree(tree) => tree.insert(number),
        };
        if is_new {
            spare.pop();
        }
        is_new
    }

    fn remove(&self, number: u32, spare: &mut Spare) -> bool {
        let was_there = match &mut *self.lock() {
            Set::List(list) => list.remove(number),
            Set::Table(table) => table.remove(&number),
            Set::Tree(tree) => tree.remove(&number),
        };
        // Its nodes are its own; these are counted alone.
        spare.extend(was_there.then_some(0));
        was_there
    }
}

/// A sorted list.
#[derive(Default)]
struct List(Option<Box<ListNode>>);

struct ListNode {
    number: u32,
    next: List,
}

impl List {
    /// The link at which the number is or would be, and whether it is there.
    fn find(&mut self, number: u32) -> (&mut List, bool) {
        let mut link = self;
        while link.0.as_ref().is_some_and(|node| node.number < number) {
            link = &mut link.0.as_mut().expect("there is one").next;
        }
        let is_there = link.0.as_ref().is_some_and(|node| node.number == number);
        (link, is_there)
    }

    fn insert(&mut self, number: u32) -> bool {
        let (link, is_there) = self.find(number);
        if !is_there {
            let next = std::mem::take(link);
            *link = List(Some(Box::new(ListNode { number, next })));
        }
        !is_there
    }

    fn remove(&mut self, number: u32) -> bool {
        let (link, is_there) = self.find(number);
        if is_there && let Some(node) = link.0.take() {
            *link = node.next;
        }
        is_there
    }
}

//! Owns: dependences between the tasks of one parent.
//! May use: nothing.
//! Never: an address's contents.
//!
//! A parent keeps for each address who used it last: the latest group of tasks that may run side by side there, and the
//! group before, for which those wait. `in` and `inoutset` groups have many, `out` ones have one; `mutexinoutset`
//! is an order among many that nobody may ask for, and here the order of their making.

use crate::engine::task::{self, Task};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How an address is depended on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UseKind {
    In,
    Out,
    Set,
}

/// A task in the order of others: whether it is over, and who waits for that.
#[derive(Default)]
struct DependNode {
    /// None when it is over.
    after: Mutex<NodeState>,
}

#[derive(Default)]
struct NodeState {
    is_over: bool,
    /// Their addresses.
    after: Vec<usize>,
}

/// By address.
#[derive(Default)]
struct Lasts(HashMap<usize, Last>);

struct Last {
    kind: UseKind,
    now: Vec<Arc<DependNode>>,
    before: Vec<Arc<DependNode>>,
}

/// What a task has to do with order: among its siblings, and among its children.
pub(crate) struct Depends {
    node: RefCell<Option<Arc<DependNode>>>,
    /// Those before it that are not over, and one while they are counted.
    missing: AtomicU32,
    last: RefCell<Option<Box<Lasts>>>,
}

impl Depends {
    pub(crate) fn new() -> Depends {
        Depends { node: RefCell::new(None), missing: AtomicU32::new(0), last: RefCell::new(None) }
    }

    /// Nothing is known of children any more.
    pub(crate) fn forget(&self) {
        if self.last.borrow().is_some() {
            self.last.replace(None);
        }
    }

    pub(crate) fn are_met(&self) -> bool {
        self.missing.load(Ordering::Acquire) == 0 // pairs with the release in `release`
    }

    /// The task comes after those before it by these addresses. False if there are any that are not over: then the
    /// last of them puts it into a queue.
    pub(crate) fn enter(&self, task: &Task, parent: &Task, uses: &[(usize, UseKind)]) -> bool {
        let node = Arc::new(DependNode::default());
        self.node.replace(Some(node.clone()));
        self.missing.store(1, Ordering::Relaxed);
        let mut last = parent.depends.last.borrow_mut();
        let last = last.get_or_insert_default();
        for &(address, kind) in uses {
            let entry =
                last.0.entry(address).or_insert_with(|| Last { kind, now: Vec::new(), before: Vec::new() });
            if entry.now.iter().any(|other| Arc::ptr_eq(other, &node)) {
                // Named twice: the stronger use stands.
                if kind == UseKind::Out && entry.kind != UseKind::Out {
                    entry.now.retain(|other| !Arc::ptr_eq(other, &node));
                    let now = std::mem::take(&mut entry.now);
                    self.wait_for(task, &now);
                    entry.before = now;
                    entry.kind = UseKind::Out;
                    entry.now = vec![node.clone()];
                }
                continue;
            }
            if kind == UseKind::Out || entry.kind != kind {
                entry.before = std::mem::take(&mut entry.now);
                entry.kind = kind;
            }
            self.wait_for(task, &entry.before);
            entry.now.retain(|other| !other.is_over());
            entry.now.push(node.clone());
        }
        // pairs with itself: the last one sees what all did
        self.missing.fetch_sub(1, Ordering::AcqRel) == 1
    }

    fn wait_for(&self, task: &Task, all: &[Arc<DependNode>]) {
        for other in all {
            let mut state = other.after.lock().unwrap_or_else(PoisonError::into_inner);
            if !state.is_over {
                self.missing.fetch_add(1, Ordering::Relaxed);
                state.after.push(std::ptr::from_ref(task).expose_provenance());
            }
        }
    }

    /// The task is over: those after it may run, if they wait for nobody else.
    pub(crate) fn release(&self, _task: *const Task) {
        let Some(node) = self.node.take() else { return };
        let after = {
            let mut state = node.after.lock().unwrap_or_else(PoisonError::into_inner);
            state.is_over = true;
            std::mem::take(&mut state.after)
        };
        for next in after {
            task::one_dependence_less(std::ptr::with_exposed_provenance(next));
        }
    }

    /// One of those before it is over; true if it was the last.
    pub(crate) fn one_less(&self) -> bool {
        // pairs with the acquire in `are_met`, and with itself
        self.missing.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl DependNode {
    fn is_over(&self) -> bool {
        self.after.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }
}

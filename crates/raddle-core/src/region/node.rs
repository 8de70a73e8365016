//! Owns: `Node`: something that can be cancelled once, what hears of it, and whom it takes along.
//! May use: `block::control`, `worker`, `raddle-protocol`.
//! Never: code of the program, or a wait, under the lock.
//!
//! A node is a clock that strikes once. Each region that a process is in has one of its own, so its
//! lock is hardly ever contended; it hangs below the node of the token that the region was entered with, and below that
//! of the region around it. What waits in a region leaves a [`Ring`] at its node, as it leaves an alarm with a clock.
//!
//! | field | written by |
//! |---|---|
//! | `struck` | whoever cancels, under the lock; read by anybody, who then looks again under the lock before it waits |
//! | `ring` | the one process that is in the region, under the lock: what ends its wait |
//! | `heirs` | who hangs a node or a waker below, and takes it away again |
//!
//! *No cancellation is lost*: to leave a ring and to strike take the same lock. *Nobody rings what is gone*: rings are
//! rung under it, and taken back under it.

use crate::block::Block;
use crate::block::EXPIRED;
use crate::worker;
use crate::worker::Callback;
use raddle_protocol::protocol::selection::{Selected, WaitNumber};
use raddle_protocol::protocol::token::{Generation, Notified};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};

/// What ends a wait.
pub enum Ring {
    /// The wait of this number of a process: it finds its time over.
    Select(&'static Block, WaitNumber),
    /// The park of a process in this life.
    Park(&'static Block, Generation),
    /// The wait of an OS thread, or a guard of an alternation.
    Call(Callback),
    /// The park of an OS thread.
    Thread(std::thread::Thread),
}

// SAFETY: what a ring points to may be told from any thread; it stays until the ring has been rung or taken back.
unsafe impl Send for Ring {}

impl Ring {
    /// Under the node's lock.
    fn ring(self) {
        match self {
            Ring::Select(block, wait) => {
                if block.selection.select(wait, EXPIRED) == Selected::Parked {
                    // SAFETY: the word says that it waits and that this ended the wait.
                    unsafe { worker::wake(block.as_header()) };
                }
            }
            Ring::Park(block, life) => {
                if block.token.expire(life) == Notified::Wake {
                    // SAFETY: as for `Select`.
                    unsafe { worker::wake(block.as_header()) };
                }
            }
            Ring::Call(callback) => callback.ring(),
            Ring::Thread(thread) => thread.unpark(),
        }
    }
}

/// Who is cancelled with a node.
pub(crate) enum Heir {
    Node(Weak<Node>),
    /// A task, which is to look.
    Waker(Waker),
}

/// See the module.
pub struct Node {
    struck: AtomicBool,
    state: Mutex<RegionState>,
}

#[derive(Default)]
struct RegionState {
    struck: bool,
    ring: Option<Ring>,
    heirs: Vec<Option<Heir>>,
    /// Places in `heirs` that are free.
    free: Vec<usize>,
    /// The nodes above, and the place in each.
    above: Vec<(Arc<Node>, usize)>,
}

impl Node {
    /// A node that is cancelled with each of `above`.
    pub(crate) fn below<'n>(above: impl IntoIterator<Item = &'n Arc<Node>>) -> Arc<Node> {
        let node = Arc::new(Node { struck: AtomicBool::new(false), state: Mutex::default() });
        for upper in above {
            match upper.add(Heir::Node(Arc::downgrade(&node))) {
                Some(place) => node.lock().above.push((upper.clone(), place)),
                None => node.strike(),
            }
        }
        node
    }

    fn lock(&self) -> MutexGuard<'_, RegionState> {
        // Nothing under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alone(&mut self) -> &mut RegionState {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has been cancelled.
    #[inline]
    pub(crate) fn is_struck(&self) -> bool {
        // Relaxed: a hint; what matters is looked at under the lock.
        self.struck.load(Ordering::Relaxed)
    }

    /// Leaves what ends the wait that the caller, the one in the region, is about to begin. False if it is cancelled.
    #[must_use]
    pub fn listen(&self, ring: Ring) -> bool {
        let mut state = self.lock();
        if !state.struck {
            state.ring = Some(ring);
        }
        !state.struck
    }

    /// Whether the ring that was left has been rung.
    pub(crate) fn has_rung(&self) -> bool {
        self.lock().ring.is_none()
    }

    /// Takes the ring back: after this nobody rings it. False if it has been rung.
    pub fn unlisten(&self) -> bool {
        self.lock().ring.take().is_some()
    }

    /// Has `heir` cancelled with it. `None` if it is cancelled already.
    pub(crate) fn add(&self, heir: Heir) -> Option<usize> {
        let mut state = self.lock();
        if state.struck {
            drop(state);
            drop(heir);
            return None;
        }
        match state.free.pop() {
            Some(place) => {
                state.heirs[place] = Some(heir);
                Some(place)
            }
            None => {
                state.heirs.push(Some(heir));
                Some(state.heirs.len() - 1)
            }
        }
    }

    /// Takes an heir away again.
    pub(crate) fn remove(&self, place: usize) {
        let mut state = self.lock();
        let gone = state.heirs.get_mut(place).and_then(Option::take);
        if gone.is_some() {
            state.free.push(place);
        }
        drop(state);
        // A waker's drop is not our code.
        drop(gone);
    }

    /// Cancels it and all below: the first time only.
    pub(crate) fn strike(&self) {
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        self.strike_one(&mut nodes);
        // Not by recursion: nodes may hang deep.
        while let Some(node) = nodes.pop() {
            node.strike_one(&mut nodes);
        }
    }

    fn strike_one(&self, below: &mut Vec<Arc<Node>>) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.struck, true) {
            return;
        }
        self.struck.store(true, Ordering::Relaxed);
        if let Some(ring) = state.ring.take() {
            ring.ring();
        }
        let heirs = std::mem::take(&mut state.heirs);
        drop(state);
        // The first to come is the first to be told.
        let at = below.len();
        for heir in heirs.into_iter().flatten() {
            match heir {
                Heir::Node(node) => below.extend(node.upgrade()),
                Heir::Waker(waker) => waker.wake(),
            }
        }
        below[at..].reverse();
    }
}

/// As the waker of an alarm: its deadline has come.
impl Wake for Node {
    fn wake(self: Arc<Self>) {
        self.strike();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut above = std::mem::take(&mut self.alone().above);
        // Not by recursion: nodes may hang deep.
        while let Some((upper, place)) = above.pop() {
            upper.remove(place);
            if let Some(mut last) = Arc::into_inner(upper) {
                above.append(&mut last.alone().above);
            }
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("cancelled", &self.is_struck()).finish_non_exhaustive()
    }
}

//! Owns: the region that a flow of control is in: which node ends its waits; entering, leaving, shielding.
//! May use: `block::control`, `block::current`, `raddle-protocol`.
//! Never: a wait.
//!
//! A process in a region has the flag [`CANCELLABLE`] and, in its payload, the address of its node: while it runs, its
//! closure has been taken out of there and its result not yet put. The flag is one of those that
//! [`plain_caller`](crate::wait::park::plain_caller) tests at once: so a process in no region pays nothing, and one
//! in a region takes the long way into each wait. An OS thread has the address in a thread-local.

use crate::block::Block;
use crate::region::node::Node;
use crate::region::unwind;
use crate::worker::current_header;
use raddle_protocol::header::{CANCELLABLE, Header, Kind};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

thread_local! {
    /// The node of an OS thread that is no worker.
    static OUTSIDE: Cell<*const Node> = const { Cell::new(ptr::null()) };
}

/// Who runs here, as far as regions go.
enum Who {
    Process(&'static Block),
    OsThread,
    /// A task, or the scheduler: they are in no region.
    Nobody,
}

fn who() -> Who {
    let header: *mut Header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    match unsafe { header.as_ref() }.map(|running| running.kind) {
        None => Who::OsThread,
        // SAFETY: the kind says that it is a block.
        Some(Kind::Process) => Who::Process(unsafe { Block::of_header(header) }),
        Some(_) => Who::Nobody,
    }
}

/// The node of the running process; null if it is in no region.
#[inline]
fn node_of(block: &Block) -> *const Node {
    if block.header.is(CANCELLABLE) {
        // SAFETY: the flag says that it was put there, by this process, whose payload is free while it runs.
        unsafe { block.payload.peek::<*const Node>() }
    } else {
        ptr::null()
    }
}

/// The node of whoever runs here, if it is in a region and may be cancelled now: not while it unwinds.
///
/// # Safety
/// It is not used any more when the caller has left the region that it is in.
#[inline]
pub unsafe fn current<'r>() -> Option<&'r Node> {
    let node = match who() {
        Who::Process(block) => node_of(block),
        Who::OsThread => OUTSIDE.get(),
        Who::Nobody => return None,
    };
    if node.is_null() || std::thread::panicking() {
        return None;
    }
    // SAFETY: the region that has put it there holds it, and is left by the caller only.
    Some(unsafe { &*node })
}

/// Whether whoever runs here is in a region, and may be cancelled now.
#[inline]
pub fn is_in_one() -> bool {
    // SAFETY: it is not kept.
    unsafe { current() }.is_some()
}

/// As [`current`], shared; also while it unwinds.
pub fn hold() -> Option<Arc<Node>> {
    let node = match who() {
        Who::Process(block) => node_of(block),
        Who::OsThread => OUTSIDE.get(),
        Who::Nobody => return None,
    };
    if node.is_null() {
        return None;
    }
    // SAFETY: it came from an `Arc` that the region holds.
    unsafe { Arc::increment_strong_count(node) };
    // SAFETY: the count was just raised for this one.
    Some(unsafe { Arc::from_raw(node) })
}

/// Unwinds if the region that the caller is in has been cancelled, as each wait does: for long computations.
///
/// Does nothing while the caller unwinds, and under a [`shield`](crate::cancel::shield).
#[inline]
pub fn check() {
    if is_cancelled_now() {
        unwind();
    }
}

/// As [`check`], for the running process. PERF: one test of flags that are at hand; bench `yield2`.
#[inline(always)]
pub fn check_process(block: &Block) {
    if block.header.is(CANCELLABLE) {
        check();
    }
}

/// Whether [`check`] would unwind.
#[inline]
pub fn is_cancelled_now() -> bool {
    // SAFETY: it is not kept.
    unsafe { current() }.is_some_and(Node::is_struck)
}

/// The stay of whoever runs here in a region, or under a shield. Left by the same, in its order.
pub(crate) struct Stay {
    before: *const Node,
    /// Held while it is the current one.
    node: Option<Arc<Node>>,
    /// A process may be suspended, but not passed on.
    not_send: PhantomData<*mut ()>,
}

impl Stay {
    /// From now on `node` ends the caller's waits; none does if there is none.
    pub(crate) fn new(node: Option<Arc<Node>>) -> Stay {
        let address = node.as_ref().map_or(ptr::null(), Arc::as_ptr);
        Stay { before: replace(address), node, not_send: PhantomData }
    }

    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        self.node.as_ref()
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let _ours = replace(self.before);
    }
}

/// Makes `node` that of whoever runs here, and says which was.
fn replace(node: *const Node) -> *const Node {
    match who() {
        Who::Process(block) => {
            let before = node_of(block);
            let flags = &block.header.flags;
            // SAFETY: the running process's own, whose closure has been taken out, and whose result is to come.
            unsafe { block.payload.put_here(node) };
            if node.is_null() {
                flags.set(flags.get() & !CANCELLABLE);
            } else {
                flags.set(flags.get() | CANCELLABLE);
            }
            before
        }
        Who::OsThread => OUTSIDE.replace(node),
        Who::Nobody => ptr::null(),
    }
}

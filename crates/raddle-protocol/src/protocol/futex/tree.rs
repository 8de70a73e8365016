//! Owns: `Tree`, who waits at which address, in one bucket of a `FutexTable`; `Node`, one of those who wait.
//! May use: `prim`, `loom`.
//! Never: a lock of its own, or a look at a sleeper.
//!
//! The first who waits at an address stands in a *digital search tree* (Coffman and Eve, 1970): a node lies somewhere
//! on the way that the bits of its address's hash show from the root, left for 0 and right for 1. The others who wait
//! at the address stand behind the first in a list. All links lie in the nodes, so nothing is allocated.
//!
//! - To find an address: go its way until a node has that address, or there is none.
//! - To put a new address in: where its way ends.
//! - To take a node out: the next of its list takes its place; if there is none, any leaf below it does, since the ways
//!   of all that stand below a node lead through its place.
//!
//! There are no rotations, as a balanced tree has them. Different addresses have different hashes (each step of `hash`
//! can be undone), so no way is longer than the hash: 64 steps in the worst case that anybody can bring about, and
//! about the logarithm of the number of addresses otherwise.
//!
//! Who has a reference to a tree has locked its bucket, and the nodes in it are there until they leave it, which takes
//! the lock. That is what the comments on `unsafe` call *locked*.

use crate::prim::{AtomicUsize, Guarded, Link, Ordering, const_fn};

/// Mixes the bits of an address, so that each bit of the result depends on all of them, whatever the distances between
/// the addresses are that somebody uses. Each step can be undone: different addresses have different hashes.
#[inline]
pub(super) fn hash(address: usize) -> u64 {
    /// 2^64 divided by the golden ratio; odd.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = address as u64;
    for shift in [32, 29, 32] {
        mixed = (mixed ^ mixed >> shift).wrapping_mul(GOLDEN);
    }
    mixed ^ mixed >> 32
}

/// One who waits, in its own frame. It has left the tree before the frame goes.
pub(super) struct Node<S> {
    /// Where it waits. Changed by a requeue under the locks of both buckets; read by its owner without one, which then
    /// reads it again under the lock that it has found by it.
    address: AtomicUsize,
    /// In the tree, and since which push: locked.
    queued: Guarded<Option<u64>>,
    next: Link<Node<S>>,
    /// Null for the first at an address.
    prev: Link<Node<S>>,
    /// Of the first at an address only: the last one there, ...
    last: Link<Node<S>>,
    /// ... and the firsts at other addresses.
    below: [Link<Node<S>>; 2],
    pub(super) bits: u32,
    pub(super) sleeper: S,
}

impl<S> Node<S> {
    pub(super) fn new(address: usize, bits: u32, sleeper: S) -> Self {
        let [next, prev, last, left, right] = [(); 5].map(|()| Link::new());
        let (address, queued) = (AtomicUsize::new(address), Guarded::new(None));
        Node { address, queued, next, prev, last, below: [left, right], bits, sleeper }
    }

    pub(super) fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    /// The next at the same address: locked.
    pub(super) fn next<'t>(&self) -> Option<&'t Node<S>> {
        // SAFETY: locked.
        unsafe { self.next.get().as_ref() }
    }

    /// Whether it is in a tree, and was before that tree had seen `limit` pushes: locked.
    pub(super) fn is_before(&self, limit: u64) -> bool {
        // SAFETY: locked.
        unsafe { self.queued.with(|queued| queued.is_some_and(|number| number < limit)) }
    }

    /// Is about to be pushed elsewhere: both are locked.
    pub(super) fn move_to(&self, address: usize) {
        self.address.store(address, Ordering::Relaxed);
    }

    /// The link to one below it.
    fn branch(&self) -> Option<&Link<Node<S>>> {
        self.below.iter().find(|link| !link.get().is_null())
    }
}

impl<S> Drop for Node<S> {
    fn drop(&mut self) {
        if cfg!(any(loom, debug_assertions)) {
            // SAFETY: nobody has it any more. If somebody has, loom tells.
            let queued = unsafe { self.queued.with(|queued| *queued) };
            assert!(queued.is_none(), "one who waits has gone and left itself in the tree");
        }
    }
}

/// All who wait in one bucket.
pub(super) struct Tree<S> {
    root: Link<Node<S>>,
    pushed: Guarded<u64>,
}

impl<S> Tree<S> {
    const_fn! {
        /// An empty one.
        pub(super) fn new() -> Self {
            Tree { root: Link::new(), pushed: Guarded::new(0) }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.root.get().is_null()
    }

    /// Leaves all nodes where they are, and is empty: they do not exist any more.
    pub(super) fn forget(&self) {
        self.root.set(std::ptr::null_mut());
    }

    /// So many have been pushed.
    pub(super) fn pushed(&self) -> u64 {
        // SAFETY: locked.
        unsafe { self.pushed.with(|pushed| *pushed) }
    }

    /// The link that leads to the first at `address`, or would.
    fn place(&self, address: usize) -> &Link<Node<S>> {
        let (mut link, mut way) = (&self.root, hash(address));
        // SAFETY: locked.
        while let Some(node) = unsafe { link.get().as_ref() }
            && node.address() != address
        {
            link = &node.below[(way & 1) as usize];
            way >>= 1;
        }
        link
    }

    /// Who has waited longest at `address`.
    pub(super) fn first(&self, address: usize) -> Option<&Node<S>> {
        // SAFETY: locked.
        unsafe { self.place(address).get().as_ref() }
    }

    /// Puts `node` behind all others at its address. It must leave, under the lock, before it goes.
    pub(super) fn push(&self, node: &Node<S>) {
        let me = std::ptr::from_ref(node).cast_mut();
        // SAFETY: locked.
        let number = unsafe { self.pushed.with_mut(|n| std::mem::replace(n, *n + 1)) };
        // SAFETY: locked.
        unsafe { node.queued.with_mut(|queued| *queued = Some(number)) };
        node.next.set(std::ptr::null_mut());
        let place = self.place(node.address());
        // SAFETY: locked.
        let Some(first) = (unsafe { place.get().as_ref() }) else {
            node.prev.set(std::ptr::null_mut());
            node.last.set(me);
            node.below.iter().for_each(|link| link.set(std::ptr::null_mut()));
            return place.set(me);
        };
        node.prev.set(first.last.get());
        first.last.set(me);
        // SAFETY: locked.
        unsafe { &*node.prev.get() }.next.set(me);
    }

    /// Takes `node` out, if it is in. True if it was.
    pub(super) fn remove(&self, node: &Node<S>) -> bool {
        // SAFETY: locked.
        if unsafe { node.queued.with_mut(Option::take) }.is_none() {
            return false;
        }
        // SAFETY: locked.
        let prev = unsafe { node.prev.get().as_ref() };
        match (prev, node.next()) {
            (Some(prev), next) => {
                prev.next.set(node.next.get());
                match next {
                    Some(next) => next.prev.set(node.prev.get()),
                    None => {
                        self.first(node.address()).expect("it is not the first").last.set(node.prev.get())
                    }
                }
            }
            (None, Some(next)) => {
                next.prev.set(std::ptr::null_mut());
                next.last.set(node.last.get());
                self.replace(node, Some(next));
            }
            (None, None) => {
                let leaf = cut_leaf(node);
                self.replace(node, leaf);
            }
        }
        true
    }

    /// Puts `by` into the place in the tree of `node`, which is a first.
    fn replace(&self, node: &Node<S>, by: Option<&Node<S>>) {
        if let Some(by) = by {
            by.below.iter().zip(&node.below).for_each(|(by, old)| by.set(old.get()));
        }
        self.place(node.address())
            .set(by.map_or(std::ptr::null_mut(), |by| std::ptr::from_ref(by).cast_mut()));
    }
}

/// Takes some leaf below `node` out of the tree, with its list. `None` if `node` is a leaf.
fn cut_leaf<'t, S>(node: &Node<S>) -> Option<&'t Node<S>> {
    let mut link = node.branch()?;
    loop {
        // SAFETY: locked, and not null.
        let below = unsafe { &*link.get() };
        match below.branch() {
            Some(further) => link = further,
            None => {
                link.set(std::ptr::null_mut());
                return Some(below);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

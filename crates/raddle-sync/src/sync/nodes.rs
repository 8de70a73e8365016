//! Owns: the nodes of `ClhLock` and of `McsLock`'s guards that nobody uses just now, by OS thread.
//! May use: `raddle-protocol`.
//! Never: being borrowed over a wait: it belongs to the OS thread that runs, which a wait may change.
//!
//! Such a node outlives the frame in which its lock is taken, so it lives on the heap; one of each kind stays here for
//! the next who needs it. Who locks a `ClhLock` takes one, and gets its predecessor's back at the same time.
//!
//! The places have no destructor, since asking whether one has run costs as much as an uncontended lock: a variable
//! beside them, touched when a place is first used, empties them at the end of the OS thread.
//!
//! | place | meaning |
//! |---|---|
//! | `UNUSED` | nobody will empty it yet |
//! | `EMPTY` | there is none |
//! | an address | there is one |
//! | `GONE` | the OS thread ends: nothing may be left here |

use raddle_protocol::header::Header;
use raddle_protocol::protocol::{clh, mcs};
use std::cell::Cell;
use std::ptr::NonNull;

/// A node of a `ClhLock`.
pub(super) type ClhNode = clh::ClhNode<Header>;
/// A node of an `McsLock`.
pub(super) type McsNode = mcs::McsNode<Header>;

const UNUSED: usize = 0;
const EMPTY: usize = 1;
const GONE: usize = 2;

thread_local! {
    static CLH: Cell<*mut ClhNode> = const { Cell::new(std::ptr::null_mut()) };
    static MCS: Cell<*mut McsNode> = const { Cell::new(std::ptr::null_mut()) };
    static ATTENDANT: Attendant = const { Attendant };
}

/// Empties the places at the end of its OS thread.
struct Attendant;

impl Drop for Attendant {
    fn drop(&mut self) {
        leave::<ClhNode>();
        leave::<McsNode>();
    }
}

/// A kind of node, with a place for a spare one.
pub(super) trait Spare: Sized + 'static {
    fn with_place<R>(f: impl FnOnce(&Cell<*mut Self>) -> R) -> R;

    fn boxed() -> NonNull<Self>;

    /// # Safety
    /// The caller is its owner, and it was made by `boxed`.
    unsafe fn free(node: NonNull<Self>);
}

impl Spare for ClhNode {
    #[inline(always)]
    fn with_place<R>(f: impl FnOnce(&Cell<*mut Self>) -> R) -> R {
        CLH.with(f)
    }

    #[cold]
    fn boxed() -> NonNull<Self> {
        ClhNode::boxed()
    }

    unsafe fn free(node: NonNull<Self>) {
        // SAFETY: passed on to the caller.
        unsafe { ClhNode::free(node) };
    }
}

impl Spare for McsNode {
    #[inline(always)]
    fn with_place<R>(f: impl FnOnce(&Cell<*mut Self>) -> R) -> R {
        MCS.with(f)
    }

    #[cold]
    fn boxed() -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(McsNode::new())))
    }

    unsafe fn free(node: NonNull<Self>) {
        // SAFETY: passed on to the caller.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    }
}

/// A node, whose owner the caller is.
#[inline(always)]
pub(super) fn take<N: Spare>() -> NonNull<N> {
    let spare = N::with_place(Cell::get);
    if spare.addr() > GONE {
        N::with_place(|place| place.set(std::ptr::without_provenance_mut(EMPTY)));
    }
    match NonNull::new(spare) {
        Some(node) if spare.addr() > GONE => node,
        _ => N::boxed(),
    }
}

/// The node that is kept here. It stays, so that the caller puts another into its place, or takes it out, before
/// anything else can run here: a store and a look less than to take it and to give one back.
#[inline(always)]
pub(super) fn kept<N: Spare>() -> Option<NonNull<N>> {
    NonNull::new(N::with_place(Cell::get)).filter(|node| node.addr().get() > GONE)
}

/// The kept one has been used: another stands in for it.
///
/// # Safety
/// There is a [`kept`] one, which is in use now; the caller is the owner of `node`.
#[inline(always)]
pub(super) unsafe fn replace<N: Spare>(node: NonNull<N>) {
    N::with_place(|place| place.set(node.as_ptr()));
}

/// The [`kept`] one has been used: there is none.
pub(super) fn forget<N: Spare>() {
    N::with_place(|place| place.set(std::ptr::without_provenance_mut(EMPTY)));
}

/// Takes a node back.
///
/// # Safety
/// The caller is its owner.
#[inline(always)]
pub(super) unsafe fn give<N: Spare>(node: NonNull<N>) {
    let kept = N::with_place(|place| {
        let empty = place.get().addr() == EMPTY;
        if empty {
            place.set(node.as_ptr());
        }
        empty
    });
    if !kept {
        // SAFETY: passed on to the caller.
        unsafe { give_slow(node) };
    }
}

/// # Safety
/// The caller is the owner of `node`.
#[cold]
unsafe fn give_slow<N: Spare>(node: NonNull<N>) {
    // The first one that this OS thread keeps; or it ends, and what it had as its own has ended.
    let first = N::with_place(Cell::get).addr() == UNUSED && ATTENDANT.try_with(|_| ()).is_ok();
    if first {
        N::with_place(|place| place.set(node.as_ptr()));
    } else {
        // SAFETY: passed on to the caller.
        unsafe { N::free(node) };
    }
}

/// Empties a place for good.
fn leave<N: Spare>() {
    let spare = N::with_place(|place| place.replace(std::ptr::without_provenance_mut(GONE)));
    if let Some(node) = NonNull::new(spare).filter(|node| node.addr().get() > GONE) {
        // SAFETY: a spare node belongs to the OS thread that keeps it.
        unsafe { N::free(node) };
    }
}

//! Owns: `McsQueue`, the queue lock of Mellor-Crummey and Scott.
//! May use: `order`, `prim`, `loom`.
//! Never: a decision on how to wait; the caller brings a [`Turn`].
//!
//! J. M. Mellor-Crummey, M. L. Scott: *Algorithms for scalable synchronization on shared-memory multiprocessors*, ACM
//! TOCS 9(1), 1991, figure 5. Who comes swaps the address of its own node into the tail and links itself behind the
//! one it found there; each waits on a word in its own node, which its predecessor sets: first come, first served,
//! and a hand-over touches the cache lines of the two alone. Beyond the paper, one who is far from its turn sleeps
//! (B. He, W. N. Scherer, M. L. Scott, *Preemption adaptivity in time-published queue-based spin locks*, HiPC 2005,
//! and D. Dice, *Malthusian locks*, EuroSys 2017, say why; both give up the order for it, which calling up does not).
//!
//! | node's word | meaning | who changes it |
//! |---|---|---|
//! | `LOOKS` | waits for its predecessor, and looks; or found the lock free | itself: sleeps; the predecessor |
//! | an address | sleeps; wake this | the predecessor, who wakes it |
//! | `CALLED` | waits, looks, and does not sleep any more | the predecessor |
//! | `GRANTED` | holds the lock | - |
//!
//! | step | by | from | to |
//! |---|---|---|---|
//! | `sleep` | the owner, its context saved | `LOOKS` | an address |
//! | `call_up` | the predecessor, which waits itself | anything but `GRANTED` | `CALLED`; wakes |
//! | `release` | the predecessor, which holds | anything but `GRANTED` | `GRANTED`; wakes |
//!
//! *No wake is lost*: both steps of the predecessor are swaps, and what they find is who sleeps there. *The node is
//! there*: its owner leaves after the grant, which the predecessor gives once, after it has called.
//!
//! The numbers of the nodes are a hint, and count from wherever they stood when the queue was last empty: by them one
//! who waits knows how many are before it. A wrong one costs time: somebody sleeps until its grant.
//!
//! `release` finds a successor linked and grants it; or it is still the tail and takes itself out; or somebody has
//! swapped and not linked yet, which it waits for.
//!
//! *What it costs when nobody else comes*: two locked instructions, where a spinlock or CLH (`clh`) has one and a
//! store. The second cannot go: who leaves must find out that nobody has come and say that the lock is free in one
//! step, or one who comes between waits for ever for a grant. PERF: bench `queue_lock`, the bare instructions on a line
//! that nobody else wants (floor): swap and store 2.67 ns, swap and exchange 5.56 ns, 2.05 (1.94 to 2.22) of that;
//! `McsLock` in the same 15 rounds 5.35 ns, `ClhLock` 3.10 ns. So an `McsLock` is at its floor, which is two of a
//! spinlock's.

use super::turn::Turn;
use crate::order;
use crate::prim::{AtomicPtr, Hint, Ordering, const_fn};

/// One who waits or holds. Stays where it is until it has been released. `W` is whom to wake.
#[derive(Debug)]
#[repr(align(64))]
pub struct McsNode<W> {
    next: AtomicPtr<McsNode<W>>,
    word: AtomicPtr<W>,
    /// Written by its owner before it links itself; read by the next before it does.
    number: Hint,
}

const LOOKS: usize = 0;
const CALLED: usize = 1;
const GRANTED: usize = 2;

#[inline(always)]
fn word<W>(value: usize) -> *mut W {
    std::ptr::without_provenance_mut(value)
}

/// Wakes whoever a predecessor's step has found asleep.
///
/// # Safety
/// `found` is what the swap of a node's word returned.
#[inline]
unsafe fn wake<T: Turn>(found: *mut T::Who) {
    if found.addr() > GRANTED {
        // SAFETY: the swap has taken it back.
        unsafe { T::wake(found) };
    }
}

impl<W> McsNode<W> {
    /// A node in no queue.
    #[inline]
    pub fn new() -> Self {
        McsNode {
            next: AtomicPtr::new(std::ptr::null_mut()),
            word: AtomicPtr::new(word(LOOKS)),
            number: Hint::new(0),
        }
    }

    /// As new, for one that nobody knows.
    #[inline]
    pub fn renew(&self) {
        self.next.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.word.store(word(LOOKS), Ordering::Relaxed);
    }
}

/// Adds the release by which the next one sees this node made. No row of the table: loom does not notice its absence,
/// since to it the making of an atomic is no write. It pairs with the acquire of the next one's `MCS_SWAP`.
#[inline(always)]
fn publish(acquire: Ordering) -> Ordering {
    if acquire == Ordering::Relaxed { Ordering::Release } else { Ordering::AcqRel } // pairs with `MCS_SWAP`
}

/// The tail, and the number of the one who holds.
#[derive(Debug)]
pub struct McsQueue<W> {
    tail: AtomicPtr<McsNode<W>>,
    served: Hint,
}

impl<W> McsQueue<W> {
    const_fn! {
        /// A free one.
        #[inline]
        pub fn new() -> Self {
            McsQueue { tail: AtomicPtr::new(std::ptr::null_mut()), served: Hint::new(0) }
        }
    }

    /// Takes the lock with a new node if nobody has it.
    #[inline]
    pub fn try_acquire(&self, node: &McsNode<W>) -> bool {
        node.number.set(self.served.get());
        let (me, acquire) = (std::ptr::from_ref(node).cast_mut(), publish(order::MCS_SWAP()));
        self.tail.compare_exchange(std::ptr::null_mut(), me, acquire, Ordering::Relaxed).is_ok()
    }

    /// Enters the queue with a new node. `None` if the caller holds the lock; else it waits behind that one.
    #[inline]
    #[must_use]
    pub fn enter(&self, node: &McsNode<W>) -> Option<Behind<W>> {
        let me = std::ptr::from_ref(node).cast_mut();
        node.number.set(self.served.get());
        let before = self.tail.swap(me, publish(order::MCS_SWAP()));
        if before.is_null() { None } else { Some(Behind(before)) }
    }

    /// Waits until the lock is the caller's, who has entered the queue with `node`.
    #[inline]
    pub fn wait<T: Turn<Who = W>>(&self, behind: Behind<W>, node: &McsNode<W>, turn: &mut T) {
        // SAFETY: the one before waits for the link before it lets its node go.
        let before = unsafe { &*behind.0 };
        let number = before.number.get().wrapping_add(1);
        node.number.set(number);
        before.next.store(std::ptr::from_ref(node).cast_mut(), order::MCS_LINK());
        let mut called = false;
        loop {
            let seen = node.word.load(order::MCS_SEE_GRANT()).addr();
            if seen == GRANTED {
                break;
            }
            let ahead = number.wrapping_sub(self.served.get());
            if turn.is_near(ahead) {
                called = called || Self::call_up::<T>(node);
            } else if seen == LOOKS && turn.should_sleep(ahead) {
                let release = order::MCS_SLEEP();
                let mine = &node.word;
                turn.sleep(|who| mine.compare_exchange(word(LOOKS), who, release, Ordering::Relaxed).is_ok());
                continue;
            }
            turn.look_again(ahead);
        }
        self.served.set(number);
    }

    /// The owner of `node`, which waits, calls the next one up. False if that has not linked itself yet.
    #[inline]
    fn call_up<T: Turn<Who = W>>(node: &McsNode<W>) -> bool {
        // SAFETY: who is linked waits for this one's grant.
        let Some(next) = (unsafe { node.next.load(order::MCS_SEE_LINK()).as_ref() }) else { return false };
        let found = next.word.swap(word(CALLED), order::MCS_CALL());
        // SAFETY: it came from the swap.
        unsafe { wake::<T>(found) };
        true
    }

    /// Gives the lock to the next in the queue. The node is free after it.
    #[inline]
    pub fn release<T: Turn<Who = W>>(&self, node: &McsNode<W>) {
        let me = std::ptr::from_ref(node).cast_mut();
        let next = node.next.load(order::MCS_SEE_LINK());
        let (leave, free) = (order::MCS_LEAVE(), std::ptr::null_mut());
        if !next.is_null() || self.tail.compare_exchange(me, free, leave, Ordering::Relaxed).is_err() {
            Self::grant::<T>(node, next);
        }
    }

    #[cold]
    fn grant<T: Turn<Who = W>>(node: &McsNode<W>, linked: *mut McsNode<W>) {
        let next = if linked.is_null() { Self::wait_for_link(node) } else { linked };
        // SAFETY: the next waits for this grant.
        let found = unsafe { &*next }.word.swap(word(GRANTED), order::MCS_GRANT());
        // SAFETY: it came from the swap.
        unsafe { wake::<T>(found) };
    }

    /// Somebody has swapped and not linked: it is between two instructions.
    #[inline]
    fn wait_for_link(node: &McsNode<W>) -> *mut McsNode<W> {
        let mut round = 0;
        loop {
            let next = node.next.load(order::MCS_SEE_LINK());
            if !next.is_null() {
                return next;
            }
            crate::prim::back_off(round);
            round += 1;
        }
    }

    /// Whether somebody has it, for looks that may be out of date at once.
    #[inline]
    pub fn is_locked(&self) -> bool {
        !self.tail.load(Ordering::Relaxed).is_null()
    }
}

/// The one who was last in the queue when the caller entered it. To be waited behind.
#[derive(Debug)]
#[must_use = "the queue stands until its place is linked"]
pub struct Behind<W>(*mut McsNode<W>);

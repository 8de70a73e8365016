//! Owns: `ScopeData`: the count of the processes of a scope, and the wait for all of them.
//! May use: `block::control`, `describe::wait`, `orphan`, `region`, `wait::child`, `wait::park`,
//! `raddle-protocol`.
//! Never: returning, even by a panic, while a child lives.
//!
//! The semantics are those of [`std::thread::scope`]. The wait for the children happens outside of any unwinding: a
//! panic of the closure is caught, the children are waited for, and then the panic goes on.

use crate::block::Block;
use crate::orphan;
use crate::region::{self, Node};
use crate::wait::{CallOn, Subject, Wait, WaitReason, child, park};
use raddle_protocol::header::Header;
use raddle_protocol::order;
use raddle_protocol::prim::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use raddle_protocol::protocol::join::{Finished, JoinWord, Registered};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

/// The part of a scope that its processes see.
pub struct ScopeData {
    /// The children that live, and one for the owner until it waits.
    inside: AtomicUsize,
    panicked: AtomicBool,
    empty: JoinWord<Header>,
    /// The process, of those that a fork lies between, in which the children were counted last.
    generation: AtomicU64,
    /// In a forked child: there were children that only its parent has.
    lost: AtomicBool,
    /// The process that waits for them, or null; also where they begin in turn anyway.
    owner: AtomicPtr<Header>,
    /// The region that its processes are born into.
    region: Option<Arc<Node>>,
}

/// One more child, unless it comes to nothing.
#[must_use = "dropped, it leaves the scope again"]
pub struct Entered<'a>(&'a ScopeData);

impl Entered<'_> {
    /// The child lives, and leaves by itself.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.leave(false, |_| unreachable!("the owner is here and does not wait"));
    }
}

impl ScopeData {
    /// With its owner inside.
    pub fn open() -> Self {
        ScopeData {
            inside: AtomicUsize::new(1),
            panicked: AtomicBool::new(false),
            empty: JoinWord::new(),
            generation: AtomicU64::new(orphan::generation()),
            lost: AtomicBool::new(false),
            owner: AtomicPtr::new(std::ptr::null_mut()),
            region: region::for_scope(),
        }
    }

    /// A forked child does not wait for the children that its parent had: before it makes more, or waits.
    ///
    /// Relaxed: who has forked is the only one there, and comes here first.
    #[inline]
    fn leave_those_of_the_parent(&self) {
        let now = orphan::generation();
        if self.generation.load(Ordering::Relaxed) == now {
            return;
        }
        self.generation.store(now, Ordering::Relaxed);
        let parents = self.children();
        self.inside.fetch_sub(parents, Ordering::Relaxed);
        self.lost.store(parents > 0, Ordering::Relaxed);
    }

    /// Whether some of the children will never end, since they are those of the process that has forked this one.
    pub fn has_lost_some(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// What its processes are cancelled with.
    #[inline]
    pub fn region(&self) -> Option<&Arc<Node>> {
        self.region.as_ref()
    }

    /// Before a child is made.
    pub fn enter(&self) -> Entered<'_> {
        self.leave_those_of_the_parent();
        // Relaxed: the child is handed over by a queue, which publishes this too.
        self.inside.fetch_add(1, Ordering::Relaxed);
        Entered(self)
    }

    /// How many children live, as far as the caller can know.
    pub fn children(&self) -> usize {
        self.inside.load(Ordering::Relaxed).saturating_sub(1)
    }

    /// Whether a child has panicked without a handle to tell. All children's, after [`wait`](Self::wait).
    pub fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }

    /// The children that have not begun do so in turn.
    pub(crate) fn go_in_turn(&self) {
        self.owner.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// The process that waits for all children, if one does, and they do not go in turn.
    ///
    /// Relaxed: it is only compared, and asked for its flags.
    #[inline(always)]
    pub(crate) fn who_waits(&self) -> *mut Header {
        self.owner.load(Ordering::Relaxed)
    }

    /// One has ended. The last one tells the owner; after that the scope may be gone.
    pub fn leave(&self, panicked: bool, wake: impl FnOnce(*mut Header)) {
        if panicked {
            self.note_panic();
        }
        if self.inside.fetch_sub(1, order::SCOPE_LEAVE()) == 1
            && let Finished::Wake(owner) = self.empty.finish()
        {
            wake(owner);
        }
    }

    /// A child's panic that no handle will see.
    pub(crate) fn note_panic(&self) {
        self.panicked.store(true, Ordering::Relaxed);
    }

    /// Waits for the children, in a call at `site` in the program. By the owner, once.
    pub fn wait(&self, site: &'static Location<'static>) {
        self.leave_those_of_the_parent();
        self.leave(false, |_| unreachable!("the owner waits only after it has left"));
        if !self.empty.is_done() {
            let wait = Wait::on(const { &SCOPE }, self, site);
            let _shown = wait.show();
            let _joining = child::joining_all(&self.owner);
            park::wait_registered(SCOPE.call(), |owner| self.empty.register(owner) == Registered::Waits);
        }
    }
}

/// What a forked child is told that comes to the end of a scope of before.
pub const LOST: &str =
    "a scope had processes or jobs that a worker had taken, which a forked child does not have";

const SCOPE: CallOn<ScopeData> = CallOn::new("scope", WaitReason::Join);

impl Subject for ScopeData {
    const KIND: &'static str = "scope";

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        // The owner has left it.
        write!(out, "children: {}", self.children() + 1)
    }
}

impl Block {
    /// The scope that waits for it, if any.
    ///
    /// # Safety
    /// The caller is that process, or has its handle, or ends it: a scope outlives its processes.
    #[inline(always)]
    pub(crate) unsafe fn scope<'a>(&self) -> Option<&'a ScopeData> {
        // SAFETY: passed on to the caller; who has filled the block put a scope there, or null.
        unsafe { self.scope.get().cast::<ScopeData>().as_ref() }
    }
}

//! Owns: `scope`: processes that may borrow from their maker, because it waits for them.
//! May use: `process::builder`, `process::wait`, `protocol::join`.
//! Never: returning, even by a panic, while a child lives.
//!
//! The semantics are those of [`std::thread::scope`]. The wait for the children happens outside of any unwinding: a
//! panic of the closure is caught, the children are waited for, and then the panic goes on.

use crate::block::Block;
use crate::orphan;
use crate::process::builder::Builder;
use crate::process::handle::{Joiner, Process};
use crate::region::{self, Node};
use crate::wait::park;
use crate::wait::{CallOn, Subject, Wait};
use raddle_protocol::header::Header;
use raddle_protocol::order;
use raddle_protocol::prim::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use raddle_protocol::protocol::join::{Finished, JoinWord, Registered};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::Result;

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
            park::wait_registered(SCOPE.name(), |owner| self.empty.register(owner) == Registered::Waits);
        }
    }
}

/// What a forked child is told that comes to the end of a scope of before.
pub const LOST: &str =
    "a scope had processes or jobs that a worker had taken, which a forked child does not have";

const SCOPE: CallOn<ScopeData> = CallOn::new("scope");

impl Subject for ScopeData {
    const KIND: &'static str = "scope";

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        // The owner has left it.
        write!(out, "children: {}", self.children() + 1)
    }
}

/// A scope to spawn processes in; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    data: ScopeData,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f` with a scope, waits for every process spawned in it, and returns what `f` returned.
///
/// # Panics
/// As `f`; and if a child panicked whose handle was not joined. On an OS thread, if the default runtime cannot start.
///
/// ```
/// use raddle::csp;
/// let mut numbers = [1, 2, 3];
/// csp::scope(|s| {
///     for n in &mut numbers {
///         s.spawn(move || *n *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    // Refuses a cell here: at the end, with children alive, it would be too late to panic.
    park::caller("csp::scope");
    let scope = Scope { data: ScopeData::open(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    scope.data.wait(Location::caller());
    match result {
        Err(panic) => resume_unwind(panic),
        Ok(_) if scope.data.has_panicked() => panic!("a scoped process panicked"),
        Ok(_) if scope.data.has_lost_some() => panic!("{LOST}"),
        Ok(value) => {
            region::check();
            value
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a process that may borrow what outlives the scope.
    ///
    /// # Panics
    /// If the default runtime cannot be started.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("the default runtime cannot be started")
    }
}

impl Builder {
    /// Spawns the process in `scope`, from which it may borrow.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let entered = scope.data.enter();
        // SAFETY: the scope does not end before its children have, and what they borrow outlives it.
        let joiner = unsafe { self.spawn_unchecked(&scope.data, f) }?;
        entered.keep();
        Ok(ScopedJoinHandle { joiner, scope: PhantomData })
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("processes", &self.data.children()).finish_non_exhaustive()
    }
}

/// The handle of a scoped process. Dropping it leaves the process to the scope, which waits for it.
pub struct ScopedJoinHandle<'scope, T> {
    joiner: Joiner<T>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end; see [`JoinHandle::join`](crate::process::JoinHandle::join).
    ///
    /// # Errors
    /// The payload of the process's panic; the scope then does not panic for it.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.joiner.join_or_unwind()
    }

    /// Whether the process has ended.
    pub fn is_finished(&self) -> bool {
        self.joiner.is_finished()
    }

    /// The process, to unpark it or to ask for its name.
    pub fn process(&self) -> Process {
        self.joiner.process()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("process", &self.process()).finish_non_exhaustive()
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

//! Owns: `JoinSet`, tasks that are joined as they end, and end with it.
//! May use: `host::choice`, `raddle-core`.
//! Never: a look at a task that has not ended.
//!
//! Each task of the set wakes at its end a waker of its own, which says which task it is, and wakes who waits for the
//! set. So a join looks at those alone that have ended, in the order of their ends, however many there are.

use crate::host::choice::{count_in_task, counted_point};
use raddle_core::task::{AbortHandle, JoinError, JoinHandle, spawn, spawn_blocking};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Tasks that are joined in the order in which they end. Those that have not ended are aborted when it is dropped.
///
/// ```
/// use raddle::task::{self, JoinSet};
///
/// task::block_on(async {
///     let mut squares = JoinSet::new();
///     for n in 0..10_u32 {
///         squares.spawn(async move { n * n });
///     }
///     let mut sum = 0;
///     while let Some(square) = squares.join_next().await {
///         sum += square.unwrap();
///     }
///     assert_eq!(sum, 285);
/// });
/// ```
pub struct JoinSet<T> {
    /// By number, so that they are aborted in the order in which they were spawned.
    members: BTreeMap<u64, JoinHandle<T>>,
    next: u64,
    ended: Arc<Ended>,
}

/// Which have ended and have not been joined.
#[derive(Default)]
struct Ended(Mutex<EndedState>);

#[derive(Default)]
struct EndedState {
    members: VecDeque<u64>,
    waits: Option<Waker>,
}

impl Ended {
    fn lock(&self) -> MutexGuard<'_, EndedState> {
        // Nothing under the lock can panic: wakers are cloned, called and dropped outside.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Woken at the end of one.
struct MemberEnd {
    member: u64,
    ended: Arc<Ended>,
}

impl Wake for MemberEnd {
    fn wake(self: Arc<Self>) {
        let mut state = self.ended.lock();
        state.members.push_back(self.member);
        let waits = state.waits.take();
        drop(state);
        waits.into_iter().for_each(Waker::wake);
    }
}

impl<T: Send + 'static> JoinSet<T> {
    /// An empty set.
    pub fn new() -> JoinSet<T> {
        JoinSet { members: BTreeMap::new(), next: 0, ended: Arc::default() }
    }

    fn add(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let (member, abort) = (self.next, handle.abort_handle());
        self.next += 1;
        handle.watch(Waker::from(Arc::new(MemberEnd { member, ended: self.ended.clone() })));
        self.members.insert(member, handle);
        abort
    }

    /// Spawns a future as a task of the set.
    ///
    /// # Panics
    /// As [`task::spawn`](raddle_core::task::spawn).
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
    {
        self.add(spawn(future))
    }

    /// Runs a call that may block, as [`spawn_blocking`] does, as a task of the set. An abort does nothing to it.
    ///
    /// # Panics
    /// As [`task::spawn_blocking`](raddle_core::task::spawn_blocking).
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
    {
        self.add(spawn_blocking(f))
    }

    /// Waits until one has ended; `None` if there is none left. To drop this future loses nothing.
    ///
    /// # Errors
    /// If that task panicked, or was aborted.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|context| self.poll_join_next(context)).await
    }

    /// One that has ended, if one has.
    ///
    /// # Errors
    /// As [`join_next`](Self::join_next).
    #[track_caller]
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        counted_point("JoinSet::try_join_next");
        self.next_ended()
    }

    fn next_ended(&mut self) -> Option<Result<T, JoinError>> {
        loop {
            let member = self.ended.lock().members.pop_front()?;
            // One that was detached has left.
            let Some(mut handle) = self.members.remove(&member) else { continue };
            if let Some(output) = handle.try_take() {
                return Some(output);
            }
        }
    }

    /// As [`join_next`](Self::join_next), for a future that polls.
    pub fn poll_join_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        if count_in_task() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(output) = self.next_ended() {
            return Poll::Ready(Some(output));
        }
        if self.members.is_empty() {
            return Poll::Ready(None);
        }
        let waker = context.waker().clone();
        let mut state = self.ended.lock();
        let before = state.waits.replace(waker);
        let came = !state.members.is_empty();
        drop(state);
        drop(before);
        if came { self.poll_join_next(context) } else { Poll::Pending }
    }

    /// Waits for all; their outputs in the order of their ends.
    ///
    /// # Panics
    /// With the panic of the first that has panicked, and if one was aborted. The others are aborted then.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(output) = self.join_next().await {
            match output.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(panic)) => std::panic::resume_unwind(panic),
                Err(Err(cancelled)) => panic!("{cancelled}"),
            }
        }
        outputs
    }

    /// Aborts all. They still are to be joined, or dropped with the set.
    pub fn abort_all(&mut self) {
        self.members.values().for_each(JoinHandle::abort);
    }

    /// Aborts all, and waits until they have ended.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }
}

impl<T> JoinSet<T> {
    /// How many are in the set: running, or ended and not joined.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Lets all go, which run on.
    pub fn detach_all(&mut self) {
        self.members.clear();
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.members.values().for_each(JoinHandle::abort);
    }
}

impl<T: Send + 'static> Default for JoinSet<T> {
    fn default() -> Self {
        JoinSet::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

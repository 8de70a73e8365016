//! Owns: `EdgeSource`, what the kernel's events of one descriptor are about; `Lease`, the right to one; their table.
//! May use: `den`, `raddle-core`, `raddle-protocol`.
//! Never: the descriptor itself.
//!
//! A descriptor gets a source when somebody first has to wait for it, and is told to the den of each runtime whose
//! processes do, once: edge-triggered, both directions, until it is closed. So a wait makes no system call of its own.
//! Considered: one-shot, which asks the kernel anew for each wait (one system call more); level-triggered, which does
//! so twice.
//!
//! Sources are never freed but used again, and an event says the number of one, not an address. An event that was on
//! its way to the former user only wakes somebody for no reason: all who wait try first, and wait again.
//!
//! Whoever waits at a source borrows the descriptor, or is a future that has left its waker; so nobody closes one while
//! a call waits for it.
//!
//! The kernel takes a descriptor once for each poll. If two of ours wait for the same one (standard input), the second
//! has the kernel told of a copy, which is closed with its lease.
//!
//! A forked child has sources of its own: what it inherits has, or had, a lease of the parent's, which counts no more.
//! The lock of the table is held over the fork; those of the parent's sources are not touched.

use crate::den::{self, Added, Edge, NetDen, lock};
use raddle_core::door::poller::InDen;
use raddle_core::door::{fork, futex};
use raddle_core::orphan::generation;
use raddle_core::runtime::{Shared, with_here};
use raddle_protocol::protocol::readiness::{Readiness, is_same_edge};
use std::any::Any;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::task::Waker;

/// Which of the two one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To read, to accept.
    Read = 0,
    /// To write, for a connection.
    Write = 1,
}

/// In two cache lines, which a processor fetches together, and no other has a part of them: of a server with several
/// workers, one tells an edge and another one has the connection's turn.
#[derive(Default)]
#[repr(C, align(128))]
pub(crate) struct EdgeSource {
    /// By [`Direction`].
    ready: [Readiness; 2],
    number: u32,
    /// The first den that was told of it; 0 is none.
    den: AtomicU32,
    /// The word before a read that took all there was, above [`DRAINED`]; 0 if none did.
    drained: AtomicU64,
    /// How many tasks wait by a waker; written under the lock.
    tasks: AtomicU32,
    /// More than bytes has come once: a read that got less than it asked for says nothing any more.
    is_odd: AtomicBool,
    state: Mutex<SourceState>,
}

const _: () =
    assert!(size_of::<EdgeSource>() == 128, "a source has two lines, and a server as many as connections");

#[derive(Default)]
struct SourceState {
    /// By [`Direction`], one who waits. Of most there is no other.
    first: [Option<WaitingTask>; 2],
    rare: Option<Box<RareState>>,
}

#[derive(Default)]
struct RareState {
    /// The other dens that were told of it, and whether of the copy.
    more_dens: Vec<(u32, bool)>,
    /// For dens that another source has told of the same descriptor.
    copy: Option<OwnedFd>,
    /// Those who wait besides the first.
    tasks: Vec<(Direction, WaitingTask)>,
}

/// A waker that is called at the next edge; until then it is outstanding at the runtime that it was left in.
struct WaitingTask {
    key: u64,
    waker: Waker,
    /// Dropped when the waker has been called.
    in_den: InDen,
}

/// The right to a source, for one descriptor, once it has one. Its number plus one, and above that the generation that
/// has taken it: another one's counts no more.
#[derive(Default)]
pub(crate) struct Lease(AtomicU64);

const DRAINED: u64 = 1 << 32;

impl EdgeSource {
    pub(crate) fn of(&self, direction: Direction) -> &Readiness {
        &self.ready[direction as usize]
    }

    /// A read, before which there had been so many edges, got less than it asked for: nothing is left.
    pub(crate) fn note_drained(&self, seen: u32) {
        // Relaxed: only a mark that is true is ever there, and who misses one tries in vain.
        self.drained.store(DRAINED | u64::from(seen), Ordering::Relaxed);
    }

    /// Something is there, whatever a read has found before.
    pub(crate) fn forget_drained(&self) {
        if self.drained.load(Ordering::Relaxed) != 0 {
            self.drained.store(0, Ordering::Relaxed);
        }
    }

    /// Whether nothing has come since such a read, if there have been so many edges.
    pub(crate) fn is_drained(&self, seen: u32) -> bool {
        // Relaxed: `seen` was read with acquire, after the edge that was odd.
        self.drained.load(Ordering::Relaxed) == DRAINED | u64::from(seen)
            && !self.is_odd.load(Ordering::Relaxed)
    }

    /// An edge of either direction.
    pub(crate) fn tell(&self, edge: Edge) {
        let Edge { readable, writable, is_odd } = edge;
        if is_odd {
            // Relaxed: the edge's count, which follows, releases.
            self.is_odd.store(true, Ordering::Relaxed);
        }
        for (direction, is) in [(Direction::Read, readable), (Direction::Write, writable)] {
            if !is {
                continue;
            }
            let ready = self.of(direction);
            let told = ready.tell();
            if told.waiters {
                futex::wake(std::ptr::from_ref(ready.word()), u32::MAX, futex::ANY);
            }
            if told.left {
                self.wake_tasks(direction);
            }
        }
    }

    fn wake_tasks(&self, direction: Direction) {
        let (first, others) = {
            let mut state = lock(&self.state);
            let woken = state.take_all(direction);
            self.tasks.store(state.count(), Ordering::Relaxed);
            woken
        };
        for WaitingTask { waker, in_den, .. } in first.into_iter().chain(others) {
            // The panic has been printed; the others are woken all the same.
            let _panicked = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            // Not before: its runtime, which need not be the caller's, would find that all wait and nothing comes.
            drop(in_den);
        }
    }

    /// Leaves a waker for the next edge, in place of the one with this key. False if there was one since it was `seen`.
    pub(crate) fn leave_waker(
        &self,
        (key, direction): (u64, Direction),
        waker: &Waker,
        seen: u32,
    ) -> io::Result<bool> {
        // A clone may panic: before anything is outstanding.
        let waker = waker.clone();
        let in_den = here(Shared::wait_in_den)?;
        let ready = self.of(direction);
        ready.note_left();
        let task = WaitingTask { key, waker, in_den };
        let (before, refused) = {
            let mut state = lock(&self.state);
            let before = state.take((key, direction));
            // Relaxed: see `Readiness`.
            let is_left = is_same_edge(ready.word().load(Ordering::Relaxed), seen);
            let refused = if is_left {
                state.put(direction, task);
                None
            } else {
                Some(task)
            };
            self.tasks.store(state.count(), Ordering::Relaxed);
            (before, refused)
        };
        // Not under the lock: what is a waker of the program's may do anything then.
        let is_left = refused.is_none();
        drop((before, refused));
        Ok(is_left)
    }

    /// Takes back what `leave_waker` has left, if it is there yet.
    pub(crate) fn take_waker(&self, who: (u64, Direction)) {
        let taken = {
            let mut state = lock(&self.state);
            let taken = state.take(who);
            self.tasks.store(state.count(), Ordering::Relaxed);
            taken
        };
        drop(taken);
    }

    /// As [`take_waker`](Self::take_waker), by who waits no more: most often there is none.
    pub(crate) fn has_done(&self, who: (u64, Direction)) {
        if self.tasks.load(Ordering::Relaxed) > 0 {
            self.take_waker(who);
        }
    }

    /// Has the den of the caller's runtime told of the descriptor. False if the kernel does not poll such: a regular
    /// file, which is always ready.
    pub(crate) fn tell_den(&self, descriptor: BorrowedFd<'_>) -> io::Result<bool> {
        here(|shared| {
            let den = NetDen::of(shared, tell)?;
            if self.den.load(Ordering::Relaxed) == den.number() {
                return Ok(true);
            }
            let mut state = lock(&self.state);
            let is_told = |&(number, _): &(u32, bool)| number == den.number();
            if self.den.load(Ordering::Relaxed) == den.number() || state.more_dens().iter().any(is_told) {
                return Ok(true);
            }
            let mut by_copy = false;
            match den.add(descriptor, self.number)? {
                Added::Now => {}
                Added::IsAlwaysReady => return Ok(false),
                Added::IsAnothers => {
                    state.tell_of_copy(den, descriptor, self.number)?;
                    by_copy = true;
                }
            }
            let (nobody, number, relaxed) = (0, den.number(), Ordering::Relaxed);
            if by_copy || self.den.compare_exchange(nobody, number, relaxed, relaxed).is_err() {
                let more_dens = &mut state.rare().more_dens;
                // Those that have ended with their runtimes are forgotten.
                more_dens.retain(|&(number, _)| den::find(number).is_some());
                more_dens.push((number, by_copy));
            }
            Ok(true)
        })?
    }
}

impl SourceState {
    fn rare(&mut self) -> &mut RareState {
        self.rare.get_or_insert_default()
    }

    fn more_dens(&self) -> &[(u32, bool)] {
        self.rare.as_ref().map_or(&[], |rare| &rare.more_dens)
    }

    fn count(&self) -> u32 {
        let more = self.rare.as_ref().map_or(0, |rare| rare.tasks.len());
        (self.first.iter().flatten().count() + more) as u32
    }

    fn put(&mut self, direction: Direction, task: WaitingTask) {
        let first = &mut self.first[direction as usize];
        if first.is_none() {
            *first = Some(task);
        } else {
            self.rare().tasks.push((direction, task));
        }
    }

    fn take(&mut self, (key, direction): (u64, Direction)) -> Option<WaitingTask> {
        if let Some(first) = self.first[direction as usize].take_if(|task| task.key == key) {
            return Some(first);
        }
        let tasks = &mut self.rare.as_mut()?.tasks;
        let at = tasks.iter().position(|(of, task)| *of == direction && task.key == key)?;
        Some(tasks.swap_remove(at).1)
    }

    /// All who wait for that direction. There are hardly ever others than the first, and no memory for none.
    fn take_all(&mut self, direction: Direction) -> (Option<WaitingTask>, Vec<WaitingTask>) {
        let tasks = self.rare.as_mut().map(|rare| &mut rare.tasks);
        let others =
            tasks.map(|tasks| tasks.extract_if(.., |(of, _)| *of == direction).map(|(_, task)| task));
        let others = others.map_or_else(Vec::new, Iterator::collect);
        (self.first[direction as usize].take(), others)
    }

    fn tell_of_copy(&mut self, den: &NetDen, descriptor: BorrowedFd<'_>, number: u32) -> io::Result<()> {
        let copy = match &mut self.rare().copy {
            Some(copy) => copy,
            none => none.insert(descriptor.try_clone_to_owned()?),
        };
        match den.add(copy.as_fd(), number)? {
            Added::Now => Ok(()),
            _ => Err(io::Error::other("the kernel polls a descriptor and not its copy")),
        }
    }

    /// The kernel tells nothing more.
    fn untell(&mut self, first: u32, descriptor: BorrowedFd<'_>) {
        let copy = self.rare.as_mut().and_then(|rare| rare.copy.take());
        let more_dens = self.rare.as_mut().map(|rare| std::mem::take(&mut rare.more_dens));
        let all = more_dens.into_iter().flatten().chain([(first, false)]);
        for (number, by_copy) in all.filter(|&(number, _)| number != 0) {
            let told_of = if by_copy { copy.as_ref().map(OwnedFd::as_fd) } else { Some(descriptor) };
            if let (Some(den), Some(told_of)) = (den::find(number), told_of) {
                den.remove(told_of);
            }
        }
    }
}

/// Calls `f` with the runtime of the caller.
pub(crate) fn here<T>(f: impl FnOnce(&Shared) -> T) -> io::Result<T> {
    with_here(f).map_err(io::Error::other)
}

/// The first chunk has so many, each further one twice as many as the one before.
const FIRST: usize = 64;
const CHUNKS: usize = 24;

static TABLE: [OnceLock<Box<[EdgeSource]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static FREE: Mutex<(Vec<u32>, u32)> = Mutex::new((Vec::new(), 0));

/// In which chunk, and where there.
fn place(number: usize) -> (usize, usize) {
    let chunk = (number / FIRST + 1).ilog2() as usize;
    (chunk, number - FIRST * ((1 << chunk) - 1))
}

/// The source of this number, if there is one.
fn source(number: u32) -> Option<&'static EdgeSource> {
    let (chunk, at) = place(number as usize);
    TABLE.get(chunk)?.get()?.get(at)
}

/// An edge of the source of this number.
fn tell(number: u32, edge: Edge) {
    if let Some(source) = source(number) {
        source.tell(edge);
    }
}

/// What a forked child needs of the parent's threads: nobody else changes it while the lock is held.
fn hold_over_fork() -> Box<dyn Any> {
    Box::new((lock(&FREE), den::hold_over_fork()))
}

/// Has the locks of this crate held while the program forks.
fn be_held_over_forks() {
    static ARE_HELD: AtomicBool = AtomicBool::new(false);
    if !ARE_HELD.load(Ordering::Relaxed) {
        fork::hold("descriptors", hold_over_fork);
        ARE_HELD.store(true, Ordering::Relaxed);
    }
}

impl EdgeSource {
    /// One that nobody has.
    pub(crate) fn take() -> &'static EdgeSource {
        be_held_over_forks();
        let mut free = lock(&FREE);
        let number = free.0.pop().unwrap_or_else(|| {
            free.1 += 1;
            free.1 - 1
        });
        let (chunk, at) = place(number as usize);
        let first = number - at as u32;
        let make = |at| EdgeSource { number: first + at, ..EdgeSource::default() };
        // Under the lock, so that no fork finds it half made.
        let sources = TABLE[chunk].get_or_init(|| (0..(FIRST << chunk) as u32).map(make).collect());
        &sources[at]
    }

    /// Nobody uses it any more.
    pub(crate) fn give_back(&self) {
        self.ready.iter().for_each(Readiness::reset);
        // Relaxed: the lock of the list, which follows, orders it for the next who has it.
        self.drained.store(0, Ordering::Relaxed);
        self.is_odd.store(false, Ordering::Relaxed);
        lock(&FREE).0.push(self.number);
    }
}

impl Lease {
    /// The source, if there is one.
    #[inline]
    pub(crate) fn get(&self) -> Option<&'static EdgeSource> {
        let word = self.0.load(Ordering::Acquire); // pairs with `set`
        if word >> 32 != generation() & u64::from(u32::MAX) {
            return None;
        }
        source((word as u32).checked_sub(1)?)
    }

    /// Takes this source, if there is none. False if another one has come first.
    pub(crate) fn set(&self, source: &EdgeSource) -> bool {
        let word = generation() << 32 | u64::from(source.number + 1);
        let before = self.0.load(Ordering::Relaxed);
        // Release pairs with the acquire in `get`.
        self.get().is_none()
            && self.0.compare_exchange(before, word, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The descriptor is about to be closed, or to go elsewhere: the kernel tells nothing of it any more.
    pub(crate) fn end(&mut self, descriptor: BorrowedFd<'_>) {
        // One of the parent's is left alone: its dens, and perhaps its locks, are the parent's.
        let source = self.get();
        *self.0.get_mut() = 0;
        let Some(source) = source else { return };
        let tasks = {
            let mut state = lock(&source.state);
            state.untell(source.den.swap(0, Ordering::Relaxed), descriptor);
            source.tasks.store(0, Ordering::Relaxed);
            [Direction::Read, Direction::Write].map(|direction| state.take_all(direction))
        };
        for task in tasks.into_iter().flat_map(|(first, others)| first.into_iter().chain(others)) {
            // A waker's end may panic, which has been printed.
            let _panicked = catch_unwind(AssertUnwindSafe(|| drop(task)));
        }
        source.give_back();
    }
}

#[test]
fn each_number_has_its_place() {
    assert_eq!([0, 63, 64, 191, 192].map(place), [(0, 0), (0, 63), (1, 0), (1, 127), (2, 0)]);
}

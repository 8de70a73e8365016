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

use crate::den::{self, NetDen, lock};
use raddle_core::door::futex;
use raddle_core::orphan::generation;
use raddle_core::runtime::{Shared, with_here};
use raddle_protocol::protocol::readiness::Readiness;
use std::io;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;

/// Which of the two one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To read, to accept.
    Read = 0,
    /// To write, for a connection.
    Write = 1,
}

#[derive(Default)]
pub(crate) struct EdgeSource {
    number: u32,
    /// By [`Direction`].
    ready: [Readiness; 2],
    /// The first den that was told of it; 0 is none.
    den: AtomicU32,
    /// How many tasks have left a waker.
    tasks: AtomicU32,
    state: Mutex<SourceState>,
}

#[derive(Default)]
struct SourceState {
    /// The other dens that were told of it.
    more_dens: Vec<u32>,
    tasks: Vec<WaitingTask>,
}

/// A waker that is called at the next edge; until then it is outstanding at the runtime that it was left in.
struct WaitingTask {
    key: u64,
    direction: Direction,
    waker: Waker,
    home: Arc<Shared>,
}

/// The right to a source, for one descriptor.
pub(crate) struct Lease {
    source: &'static EdgeSource,
    generation: u64,
}

impl EdgeSource {
    pub(crate) fn of(&self, direction: Direction) -> &Readiness {
        &self.ready[direction as usize]
    }

    /// An edge of either direction.
    pub(crate) fn tell(&self, readable: bool, writable: bool) {
        for (direction, is) in [(Direction::Read, readable), (Direction::Write, writable)] {
            if !is {
                continue;
            }
            let ready = self.of(direction);
            if ready.tell() {
                futex::wake(std::ptr::from_ref(ready.word()), u32::MAX, futex::ANY);
            }
            if self.tasks.load(Ordering::Relaxed) > 0 {
                self.wake_tasks(direction);
            }
        }
    }

    #[cold]
    fn wake_tasks(&self, direction: Direction) {
        let woken: Vec<WaitingTask> = {
            let mut state = lock(&self.state);
            state.tasks.extract_if(.., |task| task.direction == direction).collect()
        };
        self.tasks.fetch_sub(woken.len() as u32, Ordering::Relaxed);
        for task in woken {
            task.home.end_in_den();
            // The panic has been printed; the others are woken all the same.
            let _panicked = catch_unwind(AssertUnwindSafe(|| task.waker.wake()));
        }
    }

    /// Leaves a waker for the next edge, in place of the one with this key. False if there was one since it was `seen`.
    pub(crate) fn leave_waker(
        &self,
        (key, direction): (u64, Direction),
        waker: &Waker,
        seen: u32,
    ) -> io::Result<bool> {
        let home = here(Shared::hold)?;
        home.begin_in_den();
        let task = WaitingTask { key, direction, waker: waker.clone(), home };
        self.tasks.fetch_add(1, Ordering::Relaxed);
        let before = {
            let mut state = lock(&self.state);
            let same = |task: &WaitingTask| task.key == key && task.direction == direction;
            let before = state.tasks.iter().position(same).map(|at| state.tasks.swap_remove(at));
            state.tasks.push(task);
            before
        };
        self.forget(before);
        fence(Ordering::SeqCst); // pairs with the one in `Readiness::tell`
        let unchanged = self.of(direction).word().load(Ordering::Relaxed) == seen;
        if !unchanged {
            self.take_waker((key, direction));
        }
        Ok(unchanged)
    }

    /// Takes back what `leave_waker` has left, if it is there yet.
    pub(crate) fn take_waker(&self, (key, direction): (u64, Direction)) {
        let taken = {
            let mut state = lock(&self.state);
            let same = |task: &WaitingTask| task.key == key && task.direction == direction;
            state.tasks.iter().position(same).map(|at| state.tasks.swap_remove(at))
        };
        self.forget(taken);
    }

    fn forget(&self, task: Option<WaitingTask>) {
        if let Some(task) = task {
            self.tasks.fetch_sub(1, Ordering::Relaxed);
            task.home.end_in_den();
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
            if state.more_dens.contains(&den.number()) {
                return Ok(true);
            }
            if !den.add(descriptor, self.number)? {
                return Ok(false);
            }
            let (nobody, number) = (0, den.number());
            let (relaxed, den) = (Ordering::Relaxed, &self.den);
            if den.compare_exchange(nobody, number, relaxed, relaxed).is_err() {
                // Those that have ended with their runtimes are forgotten.
                state.more_dens.retain(|&number| den::find(number).is_some());
                state.more_dens.push(number);
            }
            Ok(true)
        })?
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
fn tell(number: u32, readable: bool, writable: bool) {
    if let Some(source) = source(number) {
        source.tell(readable, writable);
    }
}

impl Lease {
    pub(crate) fn new() -> Lease {
        let number = {
            let mut free = lock(&FREE);
            free.0.pop().unwrap_or_else(|| {
                free.1 += 1;
                free.1 - 1
            })
        };
        let (chunk, at) = place(number as usize);
        let first = number - at as u32;
        let make = |at| EdgeSource { number: first + at, ..EdgeSource::default() };
        let sources = TABLE[chunk].get_or_init(|| (0..(FIRST << chunk) as u32).map(make).collect());
        Lease { source: &sources[at], generation: generation() }
    }

    /// The descriptor is about to be closed, or to go elsewhere: the kernel tells nothing of it any more.
    pub(crate) fn end(self, descriptor: BorrowedFd<'_>) {
        let source = self.source;
        if self.generation != generation() {
            // In a forked child: the dens, and perhaps the locks, are the parent's; so it is not used again here.
            return;
        }
        let tasks = {
            let mut state = lock(&source.state);
            let first = source.den.swap(0, Ordering::Relaxed);
            let dens = std::mem::take(&mut state.more_dens).into_iter().chain([first]);
            dens.filter(|&number| number != 0).filter_map(den::find).for_each(|den| den.remove(descriptor));
            std::mem::take(&mut state.tasks)
        };
        tasks.into_iter().for_each(|task| source.forget(Some(task)));
        source.ready.iter().for_each(Readiness::reset);
        lock(&FREE).0.push(source.number);
    }
}

impl std::ops::Deref for Lease {
    type Target = EdgeSource;

    fn deref(&self) -> &EdgeSource {
        self.source
    }
}

#[test]
fn each_number_has_its_place() {
    assert_eq!([0, 63, 64, 191, 192].map(place), [(0, 0), (0, 63), (1, 0), (1, 127), (2, 0)]);
}

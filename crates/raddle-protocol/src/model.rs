//! Owns: the face of the protocols for `tests/loom`, in a build with `--cfg loom`.
//! May use: `order`, `prim`, `protocol`, `loom`.
//! Never: a decision. What a model tests is the protocol itself; this only opens doors.
//!
//! The protocols are private to the crate, and hold runnables. Here a runnable is a [`Thing`]: a header and a payload
//! cell that loom checks. Whoever makes one writes the payload before it publishes the right to it; whoever runs it
//! reads and marks the payload. So a runnable that is run twice, run before its maker's writes are visible, or never
//! run, is a failure of the model, and not only a wrong count.

use crate::protocol::fifo::Chain;
use crate::protocol::header::{Header, JOINS, Kind, Runnable};
use crate::protocol::{fresh, idle, inbox, jobs, join, outstanding, selection, short, token, window};
use crate::{order, prim};
use loom::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;

mod departure;
mod futex;
mod locks;

pub use crate::protocol::readiness::{Readiness, is_same_edge};
pub use departure::Departure;
pub use futex::Futex;
pub use locks::*;
pub use order::{Mutation, SITES, Site, mutations};

const MADE: u32 = 1;
const RUN: u32 = 2;

/// A runnable with a payload.
#[derive(Debug)]
#[repr(C)]
struct Thing {
    header: Header,
    payload: UnsafeCell<u32>,
    number: usize,
}

/// The runnables of one model. They are given back when the last holder of the value goes.
#[derive(Clone, Debug)]
pub struct Things(Arc<[Thing]>);

// SAFETY: a thing is touched by whoever holds the right to it, and loom checks that this is so.
unsafe impl Send for Things {}
// SAFETY: as above.
unsafe impl Sync for Things {}

/// The right to queue or to run one [`Things`] member.
#[derive(Debug)]
pub struct Right(Runnable);

impl Things {
    /// So many, none of them made yet.
    pub fn new(count: usize) -> Things {
        let thing =
            |number| Thing { header: Header::new(Kind::Process, 0), payload: UnsafeCell::new(0), number };
        Things((0..count).map(thing).collect())
    }

    /// Writes the payload of one and gives the right to it. Once for each.
    pub fn make(&self, number: usize) -> Right {
        let thing = &self.0[number];
        // SAFETY: loom hands out the pointer after it has checked the access.
        thing.payload.with_mut(|p| unsafe { *p = MADE });
        let header = std::ptr::from_ref(thing).cast_mut().cast();
        // SAFETY: the things live as long as the model, and each is made once.
        Right(unsafe { Runnable::from_raw(header) }.expect("a reference is not null"))
    }

    /// How many have been run; the caller has joined all threads.
    pub fn count_run(&self) -> usize {
        // SAFETY: as in `make`.
        self.0.iter().filter(|thing| thing.payload.with(|p| unsafe { *p == RUN })).count()
    }
}

impl Right {
    /// Runs it: its payload must be visible and must not have been run before. Returns its number.
    pub fn run(self) -> usize {
        // SAFETY: every runnable of a model begins a `Thing`.
        let thing = unsafe { &*self.0.as_ptr().cast::<Thing>() };
        thing.payload.with_mut(|p| {
            // SAFETY: loom hands out the pointer after it has checked the access.
            let before = unsafe { std::mem::replace(&mut *p, RUN) };
            assert_eq!(before, MADE, "runnable {} was run twice, or before it was made", thing.number);
        });
        thing.number
    }
}

fn run_all(chain: Chain) -> Vec<usize> {
    chain.map(|runnable| Right(runnable).run()).collect()
}

fn chain_of(rights: impl IntoIterator<Item = Right>) -> Chain {
    let fifo = crate::protocol::fifo::Fifo::new();
    rights.into_iter().for_each(|right| fifo.push(right.0));
    fifo.drain()
}

/// The inbox.
#[derive(Debug)]
pub struct Inbox(inbox::Inbox);

impl Default for Inbox {
    fn default() -> Self {
        Inbox(inbox::Inbox::new())
    }
}

impl Inbox {
    /// See the protocol.
    #[must_use]
    pub fn push(&self, right: Right) -> bool {
        self.0.push(right.0)
    }

    /// Pushes several at once, in their order.
    #[must_use]
    pub fn push_all(&self, rights: impl IntoIterator<Item = Right>) -> bool {
        self.0.push_chain(chain_of(rights))
    }

    /// Takes all and runs them; their numbers in the order in which they came.
    pub fn run_all(&self) -> Vec<usize> {
        run_all(self.0.take_all())
    }

    /// Takes all in the place of its owner.
    pub fn take_for_owner(&self) -> Vec<Right> {
        self.0.take_for_owner().map(Right).collect()
    }

    /// See the protocol.
    pub fn has_mail(&self) -> bool {
        self.0.has_mail()
    }

    /// See the protocol.
    pub fn is_asleep(&self) -> bool {
        self.0.is_asleep()
    }

    /// See the protocol.
    #[must_use]
    pub fn try_sleep(&self) -> bool {
        self.0.try_sleep()
    }
}

/// The fresh list.
#[derive(Debug)]
pub struct Fresh(fresh::FreshQueue);

impl Default for Fresh {
    fn default() -> Self {
        Fresh(fresh::FreshQueue::new(true))
    }
}

/// Who has made things of a fresh list.
#[derive(Debug)]
pub struct Parent(Box<Header>);

impl Parent {
    /// One that waits for its children, or runs.
    pub fn new(waits: bool) -> Parent {
        Parent(Box::new(Header::new(Kind::Process, if waits { JOINS } else { 0 })))
    }

    fn as_ptr(&self) -> *mut Header {
        std::ptr::from_ref(&*self.0).cast_mut()
    }
}

impl Fresh {
    /// By the owner only: a model that breaks this fails.
    pub fn push(&self, right: Right) {
        // SAFETY: the model calls it from one thread.
        unsafe { self.0.push(right.0) }
    }

    /// By the owner only: takes the oldest and runs it.
    pub fn run_oldest(&self) -> Option<usize> {
        // SAFETY: the model calls it from one thread.
        unsafe { self.0.pop() }.map(|runnable| Right(runnable).run())
    }

    /// By the owner only: pushes what `parent` has made.
    pub fn push_of(&self, right: Right, parent: &Parent) {
        // SAFETY: the model calls it from one thread; parents live as long as the model.
        unsafe { self.0.push_of(right.0, parent.as_ptr()) }
    }

    /// By the owner only: pushes what nobody will wait for.
    pub fn push_alone(&self, right: Right) {
        // SAFETY: the model calls it from one thread.
        unsafe { self.0.push_of(right.0, std::ptr::null_mut()) }
    }

    /// By the owner only: takes a child of `parent` out of turn and runs it, if that may be; only that one, if one is
    /// wanted.
    pub fn run_child(&self, parent: &Parent, wanted: Option<(&Things, usize)>) -> Option<usize> {
        let wanted = wanted.map(|(things, number)| std::ptr::from_ref(&things.0[number]).cast_mut().cast());
        // SAFETY: the model calls it from one thread.
        unsafe { self.0.take_child(parent.as_ptr(), wanted) }.map(|runnable| Right(runnable).run())
    }

    /// By the owner only: puts one before all but the first `behind`, or else at the end. Whether it came first.
    pub fn push_first(&self, right: Right, behind: usize) -> bool {
        // SAFETY: the model calls it from one thread.
        match unsafe { self.0.push_first(right.0, behind) } {
            Ok(()) => true,
            Err(back) => {
                self.push(Right(back));
                false
            }
        }
    }

    /// By a thief: takes half of what stands below `aged` and runs it.
    pub fn run_half(&self, aged: usize) -> Vec<usize> {
        let mut run = Vec::new();
        let count = self.0.steal_half(aged, |runnable| run.push(Right(runnable).run()));
        assert_eq!(count, run.len(), "the thief was told a wrong number");
        run
    }

    /// By a thief: takes the oldest and runs it.
    pub fn run_stolen(&self) -> Option<usize> {
        self.0.steal_oldest().map(|runnable| Right(runnable).run())
    }

    /// How many slots the list has.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

/// The window.
#[derive(Debug)]
pub struct Window(window::Window);

impl Default for Window {
    fn default() -> Self {
        Window(window::Window::new())
    }
}

impl Window {
    /// By the owner only: lays out a chain. True if there was a slot; else it is run here.
    pub fn publish(&self, rights: impl IntoIterator<Item = Right>) -> bool {
        match self.0.publish(chain_of(rights)) {
            Ok(()) => true,
            Err(chain) => {
                run_all(chain);
                false
            }
        }
    }

    /// Takes one chain and runs it.
    pub fn run_one(&self) -> Vec<usize> {
        run_all(self.0.take())
    }
}

pub use idle::{Watch, Woken};

/// The set of sleepers.
#[derive(Debug)]
pub struct IdleSet(idle::IdleSet);

impl IdleSet {
    /// For so many workers, all awake, each with a core.
    pub fn new(workers: usize) -> Self {
        IdleSet::with_room(workers, workers)
    }

    /// For so many workers, all awake, and so many cores.
    pub fn with_room(workers: usize, room: usize) -> Self {
        IdleSet(idle::IdleSet::new(workers, room))
    }

    /// See the protocol.
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// See the protocol.
    pub fn is_crowded(&self) -> bool {
        self.0.is_crowded()
    }

    /// See the protocol.
    pub fn notify_if_room(&self) -> bool {
        self.0.notify_if_room()
    }

    /// See the protocol.
    pub fn try_search(&self) -> bool {
        self.0.try_search()
    }

    /// See the protocol.
    pub fn found(&self) -> bool {
        self.0.found()
    }

    /// See the protocol.
    pub fn announce(&self, worker: usize, was_searcher: bool) -> Watch {
        self.0.announce(worker, was_searcher, false, || false)
    }

    /// See the protocol.
    pub fn is_watched(&self) -> bool {
        self.0.is_watched()
    }

    /// See the protocol: of one who lingers.
    pub fn announce_lingering(&self, worker: usize, was_searcher: bool) -> Watch {
        self.0.announce(worker, was_searcher, true, || false)
    }

    /// See the protocol: of one beside whom somebody may be up.
    pub fn announce_beside(&self, worker: usize, beside: impl FnOnce() -> bool) -> Watch {
        self.0.announce(worker, false, false, beside)
    }

    /// See the protocol.
    pub fn note_up_beside(&self) {
        self.0.note_up_beside();
    }

    /// See the protocol.
    pub fn cancel(&self, worker: usize, watch: Watch) -> Woken {
        self.0.cancel(worker, watch)
    }

    /// Sleeps until woken: time does not pass in a model.
    pub fn sleep(&self, worker: usize, watch: Watch) -> Woken {
        self.0.sleep(worker, watch, None)
    }

    /// See the protocol.
    pub fn set_bell(&self, ring: Box<dyn Fn() + Send + Sync>) {
        self.0.set_bell(ring);
    }

    /// See the protocol.
    pub fn is_polled(&self) -> bool {
        self.0.is_polled()
    }

    /// See the protocol.
    pub fn sleep_in(&self, worker: usize, watch: Watch, poll: impl FnOnce()) -> Option<Woken> {
        self.0.sleep_in(worker, watch, poll)
    }

    /// See the protocol.
    pub fn wake_owner(&self, worker: usize) {
        self.wakes_owner(worker);
    }

    /// See the protocol: whether it was asleep.
    pub fn wakes_owner(&self, worker: usize) -> bool {
        self.0.wakes_owner(worker)
    }

    /// See the protocol.
    pub fn wake_for_alarm(&self, worker: usize) {
        self.0.wake_for_alarm(worker);
    }

    /// See the protocol.
    pub fn notify(&self) -> bool {
        self.0.notify()
    }

    /// What a spawner does: looks whether somebody asks for knocks, and knocks.
    pub fn knock_if_wanted(&self) {
        if self.0.wants_knock() {
            self.0.knock();
        }
    }

    /// See the protocol.
    pub fn all_asleep(&self) -> Option<u64> {
        self.0.all_asleep()
    }

    /// See the protocol.
    pub fn wake_all(&self) {
        self.0.wake_all();
    }

    /// The word, when all is quiet, holds nothing but the wish for knocks.
    pub fn is_balanced(&self) -> bool {
        self.0.is_balanced()
    }
}

/// What is outstanding, with the set of sleepers that is to ask.
#[derive(Debug)]
pub struct Outstanding(outstanding::Outstanding, IdleSet);

impl Outstanding {
    /// Nothing, among so many workers, all awake.
    pub fn new(workers: usize) -> Self {
        Outstanding(outstanding::Outstanding::new(), IdleSet::new(workers))
    }

    /// The sleepers.
    pub fn idle(&self) -> &IdleSet {
        &self.1
    }

    /// Begins something, and calls whoever is to ask.
    pub fn begin(&self, looks: bool) {
        self.0.begin(1);
        self.0.call(&self.1.0, looks);
    }

    /// As [`begin`](Self::begin), at the poll.
    pub fn begin_in_poll(&self, looks: bool) {
        self.0.begin(1);
        self.0.call_to_poll(&self.1.0, looks);
    }

    /// What has begun is over.
    pub fn end(&self) -> bool {
        self.0.end(1)
    }

    /// Whether the poll is another one's.
    pub fn is_elsewhere(&self, worker: usize) -> bool {
        self.0.is_elsewhere(worker, &self.1.0)
    }

    /// See the protocol.
    pub fn leaves_poll(&self, is_fresh: bool, has_left: &mut bool) -> bool {
        self.0.leaves_poll(is_fresh, &self.1.0, has_left)
    }

    /// As [`pass_on`](Self::pass_on), where sleepers look around by themselves.
    pub fn pass_on_to_who_looks(&self, worker: usize) {
        self.0.pass_on(worker, &self.1.0, true, true);
    }

    /// As [`begin`](Self::begin), at a poller of which `count` is the count: only from then on does a question find it.
    pub fn begin_at(&self, count: &prim::AtomicUsize, looks: bool) {
        self.0.begin(1);
        // As `PollerBody::begin`: pairs with the acquire of the one who asks.
        if count.fetch_add(1, prim::Ordering::AcqRel) == 0 {
            self.0.note_begun();
            self.0.call(&self.1.0, looks);
        }
    }

    /// See the protocol.
    pub fn begun(&self) -> usize {
        self.0.begun()
    }

    /// Whether the worker is to ask, as an idle one looks before it sleeps.
    pub fn asks(&self, worker: usize, is_fresh: bool) -> bool {
        if self.0.any() {
            return self.0.keep(worker, is_fresh);
        }
        let _was_keeper = self.0.let_go(worker);
        false
    }

    /// See the protocol.
    pub fn is_unkept(&self) -> bool {
        self.0.is_unkept()
    }

    /// As [`pass_on`](Self::pass_on), of one who has been in the poll.
    pub fn pass_poll_on(&self, worker: usize) {
        self.0.pass_on(worker, &self.1.0, false, true);
    }

    /// See the protocol; sleepers do not look around.
    pub fn pass_on(&self, worker: usize) {
        self.0.pass_on(worker, &self.1.0, false, false);
    }
}

/// The join word. What a joiner's address points to is one of these.
#[derive(Debug)]
pub struct JoinWord(join::JoinWord<Saved>);

/// A stand-in for the saved context of one who waits: written before it is published, read by who queues it.
#[derive(Debug, Default)]
pub struct Saved(UnsafeCell<bool>, prim::AtomicBool);

// SAFETY: loom checks the accesses.
unsafe impl Sync for Saved {}
// SAFETY: as above.
unsafe impl Send for Saved {}

impl Saved {
    /// The owner leaves its stack.
    pub fn save(&self) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.0.with_mut(|p| unsafe { assert!(!std::mem::replace(&mut *p, true), "saved twice") });
    }

    /// Waits until [`resume_and_tell`](Self::resume_and_tell).
    pub fn wait(&self) {
        // Acquire pairs with the release there: a queue hands the owner over.
        while !self.1.load(prim::Ordering::Acquire) {
            loom::thread::yield_now();
        }
    }

    /// As [`resume`](Self::resume), for an owner that waits in the model.
    pub fn resume_and_tell(&self) {
        self.resume();
        self.1.store(true, prim::Ordering::Release); // pairs with the acquire in `wait`
    }

    /// Whoever has the right to queue the owner resumes it.
    pub fn resume(&self) {
        // SAFETY: as above.
        self.0.with_mut(|p| unsafe { assert!(std::mem::replace(&mut *p, false), "resumed on its stack") });
    }
}

/// What the one who ends must do next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Finished {
    /// Nothing.
    HandleHasIt,
    /// Queue the joiner; its context has been resumed.
    Woke,
    /// Drop the result.
    Free,
}

impl Default for JoinWord {
    fn default() -> Self {
        JoinWord(join::JoinWord::new())
    }
}

impl JoinWord {
    /// Ends; resumes the joiner, if one waits.
    pub fn finish(&self) -> Finished {
        match self.0.finish() {
            join::Finished::HandleHasIt => Finished::HandleHasIt,
            join::Finished::Free => Finished::Free,
            join::Finished::Wake(joiner) => {
                // SAFETY: the joiner's context lives as long as the model.
                unsafe { &*joiner }.resume();
                Finished::Woke
            }
        }
    }

    /// See the protocol.
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// True if the joiner waits.
    #[must_use]
    pub fn register(&self, joiner: &Saved) -> bool {
        self.0.register(std::ptr::from_ref(joiner).cast_mut()) == join::Registered::Waits
    }

    /// As [`register`](Self::register), for one that may give up.
    #[must_use]
    pub fn register_loosely(&self, joiner: &Saved) -> bool {
        self.0.register_loosely(std::ptr::from_ref(joiner).cast_mut()) == join::Registered::Waits
    }

    /// True if nobody will wake the joiner.
    #[must_use]
    pub fn withdraw(&self, joiner: &Saved) -> bool {
        self.0.withdraw(std::ptr::from_ref(joiner).cast_mut())
    }

    /// See the protocol.
    #[must_use]
    pub fn detach(&self) -> bool {
        self.0.detach()
    }
}

/// The ordering with which a scope's count is lowered.
pub fn scope_leave() -> prim::Ordering {
    order::SCOPE_LEAVE()
}

pub use crate::protocol::alternation::{Alternation, Choice};
pub use crate::protocol::barrier::{Barrier, WaitNode};
pub use crate::protocol::claim::{Claim, Claimed};
pub use crate::protocol::gate::{Arrived, Closing, Gate};
pub use crate::protocol::promise::{Asked, Asker, Interest, Promise};
pub use crate::protocol::rendezvous::{Answer, Ended, Rendezvous, Seen};
pub use crate::protocol::shares::Shares;
pub use crate::protocol::task::{Polled, TaskWord};
pub use crate::protocol::watch::WatchWord;

pub use selection::WaitNumber;

/// The word of a wait that several could end.
#[derive(Debug)]
pub struct Selection(selection::Selection);

impl Default for Selection {
    fn default() -> Self {
        Selection(selection::Selection::new())
    }
}

/// What one who selected must do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Selected {
    /// Nothing: somebody else was first.
    Lost,
    /// Nothing: the owner will see it.
    Running,
    /// Queue the owner.
    Parked,
}

impl Selection {
    /// See the protocol.
    pub fn begin(&self) -> WaitNumber {
        self.0.begin()
    }

    /// See the protocol.
    pub fn end(&self) {
        self.0.end();
    }

    /// See the protocol.
    #[must_use]
    pub fn park(&self) -> bool {
        self.0.park()
    }

    /// See the protocol.
    pub fn select(&self, wait: WaitNumber, outcome: u32) -> Selected {
        match self.0.select(wait, outcome) {
            selection::Selected::Lost => Selected::Lost,
            selection::Selected::Running => Selected::Running,
            selection::Selected::Parked => Selected::Parked,
        }
    }

    /// See the protocol.
    pub fn outcome(&self) -> Option<u32> {
        self.0.outcome()
    }
}

/// A short lock around what a channel is in small: a number of messages, or one who waits for one.
#[derive(Debug)]
pub struct Short(short::Short<Meeting>);

#[derive(Debug, Default)]
struct Meeting {
    messages: u32,
    waiting: Option<Right>,
}

impl short::Noted for Meeting {
    fn note(&self) -> u32 {
        self.messages
    }
}

impl Default for Short {
    fn default() -> Self {
        Short(short::Short::new(Meeting::default()))
    }
}

impl Short {
    /// Sends a message: to one who waits, whose right to be run is returned, or else to stay.
    #[must_use]
    pub fn send(&self) -> Option<Right> {
        self.0.enter(|meeting| {
            let waiting = meeting.waiting.take();
            meeting.messages += u32::from(waiting.is_none());
            waiting
        })
    }

    /// Takes a message, or leaves `saved` to wait for one; returns it if it need not.
    #[must_use]
    pub fn receive_or_wait(&self, saved: Right) -> Option<Right> {
        self.0.enter(|meeting| {
            if meeting.messages > 0 {
                meeting.messages -= 1;
                return Some(saved);
            }
            meeting.waiting = Some(saved);
            None
        })
    }

    /// How many messages there are, as the note says to who must be sure.
    pub fn look_surely(&self) -> u32 {
        self.0.look_surely()
    }
}

pub use token::Generation;

/// The token of `park` and `unpark`.
#[derive(Debug)]
pub struct Token(token::ParkToken);

impl Default for Token {
    fn default() -> Self {
        Token(token::ParkToken::new())
    }
}

impl Token {
    /// See the protocol.
    pub fn generation(&self) -> Generation {
        self.0.generation()
    }

    /// See the protocol.
    pub fn end_life(&self) {
        self.0.end_life();
    }

    /// See the protocol.
    pub fn take(&self) -> bool {
        self.0.take()
    }

    /// See the protocol.
    pub fn consume(&self) {
        self.0.consume();
    }

    /// See the protocol.
    #[must_use]
    pub fn park(&self) -> bool {
        self.0.park()
    }

    /// See the protocol; without a deadline.
    pub fn block(&self) -> bool {
        self.0.block(None)
    }

    /// True if the caller must queue the owner.
    #[must_use]
    pub fn notify(&self, life: Generation) -> bool {
        self.0.notify(life) == token::Notified::Wake
    }

    /// True if the caller must queue the owner.
    #[must_use]
    pub fn expire(&self, life: Generation) -> bool {
        self.0.expire(life) == token::Notified::Wake
    }
}

/// A flow of control with its list of forks.
#[derive(Debug)]
pub struct Flow(Box<jobs::Forks>);

impl Default for Flow {
    fn default() -> Self {
        let forks = Box::new(jobs::Forks::new());
        forks.open();
        Flow(forks)
    }
}

/// A worker's queue of promoted jobs.
#[derive(Debug)]
pub struct JobQueue(jobs::JobQueue);

impl Default for JobQueue {
    fn default() -> Self {
        JobQueue(jobs::JobQueue::new(true, false))
    }
}

/// A parent's frame: a fork, what it computes from and to, and the parent, which may wait for it.
#[derive(Debug)]
#[repr(C)]
pub struct Frame {
    node: MaybeUninit<jobs::Node>,
    payload: UnsafeCell<u32>,
    parent: Header,
    saved: Saved,
}

impl Flow {
    /// Forks in this frame: writes the payload and pushes the fork.
    pub fn fork(&self, frame: &mut Frame) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        frame.payload.with_mut(|p| unsafe { *p = MADE });
        // SAFETY: the frame is the caller's; the model reclaims the fork before it lets the frame go.
        let node = unsafe { jobs::Node::make(&raw mut frame.node, run_taken) };
        // SAFETY: as above.
        unsafe { self.0.push(node) };
    }

    /// Promotes the oldest fork, if there is one.
    pub fn promote(&self, queue: &JobQueue) -> bool {
        self.0.promote_oldest(&queue.0, std::ptr::null())
    }

    /// Comes back to a fork: runs it here, or waits for its taker. Once for each fork. True if it was taken.
    pub fn join(&self, frame: &mut Frame) -> bool {
        let node = frame.node.as_mut_ptr();
        // SAFETY: pushed by `fork`, and not had back.
        let taken = unsafe { self.0.reclaim(node) } == jobs::Reclaimed::Taken;
        if taken {
            // SAFETY: the frame is here, and the node is made.
            let word = unsafe { &(*node).join };
            frame.saved.save();
            let joiner = (&raw const frame.parent).cast_mut();
            if !word.is_done() && word.register(joiner) == join::Registered::Waits {
                frame.saved.wait();
            } else {
                frame.saved.resume();
            }
        } else {
            frame.run();
        }
        // SAFETY: as in `fork`.
        frame.payload.with(|p| unsafe { assert_eq!(*p, RUN, "the fork has not run to its end") });
        taken
    }
}

impl JobQueue {
    /// Takes the oldest job and runs it. False if there is none.
    pub fn run_oldest(&self) -> bool {
        // SAFETY: taken here, and run once.
        self.0.steal().map(|node| unsafe { jobs::Node::run(node) }).is_some()
    }

    /// See the protocol.
    pub fn is_wanted(&self) -> bool {
        self.0.is_wanted()
    }
}

impl Default for Frame {
    fn default() -> Self {
        Frame {
            node: MaybeUninit::uninit(),
            payload: UnsafeCell::new(0),
            parent: Header::new(Kind::Process, 0),
            saved: Saved::default(),
        }
    }
}

impl Frame {
    fn run(&self) {
        self.payload.with_mut(|p| {
            // SAFETY: loom hands out the pointer after it has checked the access.
            let before = unsafe { std::mem::replace(&mut *p, RUN) };
            assert_eq!(before, MADE, "a fork was run twice, or before it was made");
        });
    }
}

/// # Safety
/// `node` begins a `Frame`.
unsafe fn run_taken(node: *mut jobs::Node, how: jobs::How) {
    if matches!(how, jobs::How::Promote(_)) {
        return;
    }
    let frame = node.cast::<Frame>();
    // SAFETY: the frame waits for this.
    unsafe { &*frame }.run();
    // SAFETY: as above.
    match unsafe { &(*node).join }.finish() {
        join::Finished::HandleHasIt => {}
        join::Finished::Wake(parent) => {
            let at = std::mem::offset_of!(Frame, parent);
            // SAFETY: the parent stands in a frame, which is there until it is resumed.
            let waiting = unsafe { &*parent.byte_sub(at).cast::<Frame>() };
            waiting.saved.resume_and_tell();
        }
        join::Finished::Free => unreachable!("nobody detaches a fork"),
    }
}

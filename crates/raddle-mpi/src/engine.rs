//! Owns: the proxy: what is under way, the lock under which MPI is called, and who looks after it.
//! May use: `auto`, `error`, `gate`, `late`, `link`, `mode`, `post`, `shim`, `traced`, `libc`, `raddle-core`,
//! `raddle-syscall`.
//! Never: a switch of stacks, or a wait, while the lock is held.
//!
//! Any OS thread may poll, one at a time (`MPI_THREAD_SERIALIZED`). Who does depends on the [`Mode`]. Polls that come
//! too soon after one that has found nothing are left out: the gap begins with 200 us, doubles after each poll that
//! finds nothing, up to 2 ms, and halves when something is done. While somebody waits, nothing is left out.

use crate::auto::{Auto, AutoReport};
use crate::error::{Late, NetError};
use crate::gate::lock;
use crate::late::{LateAnswer, OnLate};
use crate::link::{EmulatedLink, Pipes};
use crate::mode::{Counters, Mode};
use crate::post::{Post, Transfer};
use crate::shim::{Address, Direction, MpiRefusal, Shim};
use crate::traced::Traced;
use raddle_core::door::futex::{self, WaitOptions};
use raddle_core::door::poller::Poller;
use std::ffi::c_int;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

const GAP_MIN_NS: u64 = 200_000;
pub(crate) const GAP_MAX_NS: u64 = 2_000_000;
/// How soon an idle worker looks again while somebody waits.
const IDLE: Duration = Duration::from_micros(20);
/// A wait looks itself after so long, whoever else is to look.
const DISTRUST: Duration = Duration::from_millis(100);
/// So often it is asked whether another rank has given up, while something is under way.
const HEARS_NS: u64 = 100_000_000;
/// The tag by which a rank says that it has; the largest that every MPI has.
const GIVEN_UP_TAG: c_int = 32_767;
/// The code by which a job ends in which something came too late; `sysexits.h` calls it an internal error.
pub(crate) const LATE_CODE: i32 = 70;
/// In mode `Inline`: so many looks without a pause, and then how long to pause, up to the tenth of a millisecond.
const LOOKS: u32 = 20;

#[derive(Default)]
struct Tally {
    polls: AtomicU64,
    empty: AtomicU64,
    longest_gap_ns: AtomicU64,
    /// The same since mode `Auto` has asked last.
    gap_of_late_ns: AtomicU64,
    polling_ns: AtomicU64,
    /// As much of that was not the keeper's.
    by_others_ns: AtomicU64,
    /// The processor time of the keeper.
    keeper_ns: AtomicU64,
}

/// What came of a message.
type TransferResult = Result<usize, MpiRefusal>;

/// A message under way.
struct ActiveRequest {
    word: u64,
    index: usize,
    post: Arc<Post>,
    /// What an emulated link has yet to move of it, and what MPI has said of it meanwhile.
    left: f64,
    told: Option<TransferResult>,
}

#[derive(Default)]
struct Underway {
    active: Vec<ActiveRequest>,
    /// Those that are active, and those that wait for one of them.
    pending: usize,
    poller: Option<Arc<Poller>>,
    pipes: Option<Pipes>,
    /// What tasks await, and when that is late.
    awaited: Vec<(u64, Weak<Post>)>,
    /// Posts of plans that went while they were under way: their requests are still to be freed.
    orphans: Vec<Arc<Post>>,
    /// When it was last asked whether another rank has given up.
    heard_ns: u64,
    is_over: bool,
}

/// Messages that are done, and what came of each.
type Finished = Vec<(Arc<Post>, usize, TransferResult)>;

pub(crate) struct Engine {
    pub(crate) shim: Shim,
    state: Mutex<Underway>,
    /// As much as `state.pending`.
    outstanding: AtomicUsize,
    waiting: AtomicUsize,
    /// How many calls are awaited.
    pub(crate) awaited: AtomicUsize,
    mode: AtomicU8,
    core: AtomicI32,
    /// Whether `auto` is there.
    is_auto: AtomicBool,
    auto: Mutex<Option<Auto>>,
    /// How often a mode was asked for: what `auto` has decided before the last time is void.
    choices: AtomicU32,
    on_late: OnLate,
    /// The rank, and how many there are.
    place: OnceLock<(usize, usize)>,
    /// Which rank has given up, and why, if this or another one has told all.
    given_up: OnceLock<(usize, String)>,
    /// How many persistent requests there are.
    pub(crate) requests: AtomicUsize,
    gap_ns: AtomicU64,
    next_ns: AtomicU64,
    last_ns: AtomicU64,
    tally: Tally,
    pub(crate) traced: Traced,
    epoch: Instant,
    /// Changed whenever the keeper has something to look at; its lowest bit says that it is to end.
    pub(crate) doorbell: AtomicU32,
    /// Something came too late: the job cannot end in good order any more.
    pub(crate) is_broken: AtomicBool,
}

/// The modes in which workers look, and in which the keeper does; 0 is `Inline`.
const SHARED: u8 = 1;
const DEDICATED: u8 = 2;
const WATCHED: u8 = 3;

/// How many processors are in a set.
/// The number of a processor as the shim takes it; -1 for any.
fn processor(core: Option<usize>) -> Result<i32, NetError> {
    let number = core.map_or(Ok(-1), i32::try_from);
    number.map_err(|_| NetError::Misuse("there is no such processor".to_owned()))
}

fn count(set: &libc::cpu_set_t) -> usize {
    // SAFETY: it only reads the set.
    usize::try_from(unsafe { libc::CPU_COUNT(set) }).unwrap_or(1)
}

/// One who waits, as long as it does; a cancellation may unwind it.
struct Waiting<'e>(&'e Engine);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Engine {
    pub(crate) fn new(shim: Shim, link: Option<EmulatedLink>, on_late: OnLate) -> Engine {
        Engine {
            shim,
            state: Mutex::new(Underway { pipes: link.map(Pipes::new), ..Underway::default() }),
            outstanding: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            awaited: AtomicUsize::new(0),
            mode: AtomicU8::new(0),
            core: AtomicI32::new(-1),
            is_auto: AtomicBool::new(false),
            auto: Mutex::default(),
            choices: AtomicU32::new(0),
            on_late,
            place: OnceLock::new(),
            given_up: OnceLock::new(),
            requests: AtomicUsize::new(0),
            gap_ns: AtomicU64::new(GAP_MIN_NS),
            next_ns: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            tally: Tally::default(),
            traced: Traced::default(),
            epoch: Instant::now(),
            doorbell: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The one that was asked for.
    pub(crate) fn mode(&self) -> Mode {
        if self.is_auto.load(Ordering::Relaxed)
            && let Some(auto) = &*lock(&self.auto)
        {
            return auto.mode();
        }
        self.acting()
    }

    /// The one that acts: never `Auto`.
    pub(crate) fn acting(&self) -> Mode {
        match self.mode.load(Ordering::Relaxed) {
            0 => Mode::Inline,
            SHARED => Mode::Shared,
            WATCHED => Mode::Watched,
            _ => Mode::Dedicated { core: usize::try_from(self.core.load(Ordering::Relaxed)).ok() },
        }
    }

    pub(crate) fn is_outstanding(&self) -> bool {
        self.outstanding.load(Ordering::Relaxed) != 0
    }

    /// From now on these look after what is under way.
    pub(crate) fn set_mode(self: &Arc<Engine>, mode: Mode) -> Result<(), NetError> {
        let (acting, auto) = match mode {
            Mode::Auto { core } => {
                processor(core)?;
                let processors = raddle_syscall::affinity().map_or(1, |set| count(&set));
                (Mode::Inline, Some(Auto::new(core, processors, GAP_MAX_NS)))
            }
            mode => (mode, None),
        };
        let mut known = lock(&self.auto);
        // Under the lock: what `auto` has decided before this is told by its number to be void.
        let choice = self.choices.fetch_add(1, Ordering::Relaxed) + 1;
        self.is_auto.store(auto.is_some(), Ordering::Relaxed);
        *known = auto;
        drop(known);
        self.act(acting, choice)
    }

    /// Has that mode act, unless another one was asked for since.
    fn act(self: &Arc<Engine>, mode: Mode, choice: u32) -> Result<(), NetError> {
        let poller = match mode {
            Mode::Shared | Mode::Watched => Some(Arc::new(self.poller()?)),
            _ => None,
        };
        let core = if let Mode::Dedicated { core } = mode { Some(processor(core)?) } else { None };
        let mut state = lock(&self.state);
        // Relaxed will do: who asked later comes to this lock later, or has changed the number before this one came.
        if self.choices.load(Ordering::Relaxed) != choice {
            return Ok(());
        }
        core.into_iter().for_each(|core| self.core.store(core, Ordering::Relaxed));
        if let Some(poller) = &poller {
            poller.begin(state.pending);
        }
        let former = std::mem::replace(&mut state.poller, poller);
        let number = match mode {
            Mode::Shared => SHARED,
            Mode::Watched => WATCHED,
            Mode::Dedicated { .. } => DEDICATED,
            Mode::Inline | Mode::Auto { .. } => 0,
        };
        self.mode.store(number, Ordering::Relaxed);
        drop(state);
        // It may wait for a call that is under way, and that wants the lock.
        drop(former);
        self.ring(0);
        Ok(())
    }

    /// A plan is about to be started: in mode `Auto` that ends an iteration, and may change who looks.
    pub(crate) fn pace(self: &Arc<Engine>, post: &Post) -> Result<(), NetError> {
        if !self.is_auto.load(Ordering::Relaxed) {
            return Ok(());
        }
        let gap = || self.tally.gap_of_late_ns.swap(0, Ordering::Relaxed);
        let mut auto = lock(&self.auto);
        let choice = self.choices.load(Ordering::Relaxed);
        let next = auto.as_mut().and_then(|auto| auto.begins(post.number, self.now(), gap));
        // A change may wait.
        drop(auto);
        next.map_or(Ok(()), |mode| self.act(mode, choice))
    }

    /// Somebody has waited for a plan.
    pub(crate) fn note_wait(&self, waited: Duration) {
        if self.is_auto.load(Ordering::Relaxed)
            && let Some(auto) = &mut *lock(&self.auto)
        {
            auto.waited(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    pub(crate) fn auto_report(&self) -> Option<AutoReport> {
        lock(&self.auto).as_ref().map(Auto::report)
    }

    fn poller(self: &Arc<Engine>) -> Result<Poller, NetError> {
        let engine: Weak<Engine> = Arc::downgrade(self);
        let poller = Poller::new("mpi", IDLE, move |_| {
            engine.upgrade().map_or(Duration::MAX, |engine| engine.asked())
        });
        poller.map_err(|error| NetError::Misuse(format!("no runtime to share with: {error}")))
    }

    /// A worker is at a boundary, or idle: looks, if it is time. When to ask again.
    fn asked(&self) -> Duration {
        if !self.is_due() {
            let due = self.next_ns.load(Ordering::Relaxed);
            return Duration::from_nanos(due.saturating_sub(self.now()).max(1000));
        }
        self.poll();
        if self.has_waiters() { IDLE } else { Duration::from_nanos(self.gap_ns.load(Ordering::Relaxed)) }
    }

    fn has_waiters(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0 || self.awaited.load(Ordering::Relaxed) != 0
    }

    fn is_due(&self) -> bool {
        self.has_waiters() || self.now() >= self.next_ns.load(Ordering::Relaxed)
    }

    /// A point in a long task.
    #[inline]
    pub(crate) fn point(&self) {
        let is_shared = || matches!(self.mode.load(Ordering::Relaxed), SHARED | WATCHED);
        if self.is_outstanding() && is_shared() && self.is_due() {
            self.poll();
        }
    }

    /// Has the keeper look at what has changed.
    pub(crate) fn ring(&self, quit: u32) {
        // Release pairs with the keeper's acquire: it sees what was changed before.
        self.doorbell.fetch_add(2, Ordering::Release);
        self.doorbell.fetch_or(quit, Ordering::Release); // pairs with the same
        raddle_syscall::futex_wake(&raw const self.doorbell, 1);
    }

    /// Posts all of it.
    pub(crate) fn start(&self, post: &Arc<Post>) -> Result<(), NetError> {
        let mut refused = Vec::new();
        self.traced.begin();
        let mut state = lock(&self.state);
        if state.is_over {
            return Err(NetError::Over);
        }
        let now = self.now();
        if !post.begin(now) {
            let text = format!("{} is still under way: its exchange was leaked", post.what);
            return Err(NetError::Misuse(text));
        }
        if state.pending == 0 {
            self.last_ns.store(now, Ordering::Relaxed);
            if let Some(pipes) = &mut state.pipes {
                pipes.begin(now);
            }
        }
        let before = state.pending;
        state.pending += post.transfers.len();
        for index in (0..post.transfers.len()).filter(|index| post.transfers[*index].after.is_none()) {
            self.begin(&mut state, post, index, &mut refused);
        }
        state.pending -= refused.len();
        self.outstanding.store(state.pending, Ordering::Relaxed);
        self.gap_ns.store(GAP_MIN_NS, Ordering::Relaxed);
        self.next_ns.store(self.now() + GAP_MIN_NS, Ordering::Relaxed);
        if let Some(poller) = &state.poller {
            poller.begin(state.pending - before);
        }
        drop(state);
        for (post, index, told) in refused {
            post.complete(index, told, self.now());
        }
        if matches!(self.mode.load(Ordering::Relaxed), WATCHED | DEDICATED) {
            self.ring(0);
        }
        Ok(())
    }

    /// Under the lock: a message is under way, or it and all that wait for it are refused.
    fn begin(&self, state: &mut Underway, post: &Arc<Post>, index: usize, refused: &mut Finished) {
        match self.launch(post, index) {
            Ok(word) => {
                let left = post.transfers[index].buffer.len() as f64;
                state.active.push(ActiveRequest { word, index, post: post.clone(), left, told: None });
            }
            Err(refusal) => {
                refused.push((post.clone(), index, Err(refusal.clone())));
                self.follow(state, post, index, &Err(refusal), refused);
            }
        }
    }

    /// Under the lock: begins what has waited for a message that is done.
    fn follow(
        &self,
        state: &mut Underway,
        post: &Arc<Post>,
        index: usize,
        told: &TransferResult,
        finished: &mut Finished,
    ) {
        let waits = |other: &usize| post.transfers[*other].after == Some(index);
        for other in (0..post.transfers.len()).filter(waits) {
            match told {
                Ok(_) => self.begin(state, post, other, finished),
                Err(refusal) => {
                    finished.push((post.clone(), other, Err(refusal.clone())));
                    self.follow(state, post, other, told, finished);
                }
            }
        }
    }

    /// Under the lock: has MPI begin one message.
    fn launch(&self, post: &Arc<Post>, index: usize) -> Result<u64, MpiRefusal> {
        let transfer = &post.transfers[index];
        transfer.posted_ns.store(self.now(), Ordering::Relaxed);
        if post.is_persistent {
            let mut word = transfer.request.load(Ordering::Relaxed);
            self.shim.start(&mut word)?;
            transfer.request.store(word, Ordering::Relaxed);
            return Ok(word);
        }
        let buffer = transfer.buffer.room();
        // SAFETY: the post has the buffer, the entry of the message the post; who reads what has come in waits for
        // the end, and what goes out is not written any more.
        unsafe { self.shim.post(transfer.direction, buffer, transfer.address) }
    }

    /// Makes the persistent requests of a post.
    pub(crate) fn prepare(&self, post: &Arc<Post>) -> Result<(), NetError> {
        let mut state = lock(&self.state);
        if state.is_over {
            return Err(NetError::Over);
        }
        self.bury(&mut state);
        for transfer in &post.transfers {
            let buffer = transfer.buffer.room();
            // SAFETY: the post has the buffer; whoever starts it keeps it, and lets nobody access it meanwhile.
            let made = unsafe { self.shim.prepare(transfer.direction, buffer, transfer.address) };
            let word = made.map_err(|MpiRefusal { class, text }| NetError::Mpi {
                what: format!("{}: {}", post.what, transfer.describe()),
                class,
                text,
            })?;
            transfer.request.store(word, Ordering::Relaxed);
            self.requests.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Frees the persistent requests of a post: now, or if it is under way, when the next plan is made or goes after
    /// it has come to its end.
    pub(crate) fn forget(&self, post: &Arc<Post>) {
        let mut state = lock(&self.state);
        state.orphans.push(post.clone());
        self.bury(&mut state);
    }

    /// Under the lock.
    fn bury(&self, state: &mut Underway) {
        if !state.is_over {
            state.orphans.extract_if(.., |post| post.is_done()).for_each(|post| self.free(&post));
        }
    }

    /// Under the lock: nothing of it is under way.
    fn free(&self, post: &Post) {
        for transfer in &post.transfers {
            let mut word = transfer.request.swap(0, Ordering::Relaxed);
            if word != 0 {
                self.requests.fetch_sub(1, Ordering::Relaxed);
                // A request that MPI does not want to free stays until the end.
                let _refused = self.shim.free(&mut word);
            }
        }
    }

    /// Looks after what is under way, if nobody else does at the moment; whether anything was done.
    pub(crate) fn poll(&self) -> bool {
        self.poll_as(false)
    }

    pub(crate) fn poll_as(&self, is_keeper: bool) -> bool {
        let mut state: MutexGuard<'_, Underway> = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return false,
        };
        if state.is_over || state.active.is_empty() {
            return false;
        }
        let began = self.now();
        let mut finished = Vec::new();
        if let Some(pipes) = &mut state.pipes {
            pipes.look(began);
        }
        let (mut index, mut end) = (0, state.active.len());
        // What is handed on is handed on in the order in which the next rank expects it, whatever comes first here.
        let mut held: Vec<usize> = Vec::new();
        while index < end {
            let ActiveRequest { post, index: which, .. } = &state.active[index];
            let is_in = post.hands_on && post.transfers[*which].direction == Direction::In;
            let post = Arc::as_ptr(post).addr();
            let is_held = is_in && held.contains(&post);
            let told = if is_held { None } else { self.look(&mut state, index, began) };
            let Some(told) = told else {
                if is_in && !is_held {
                    held.push(post);
                }
                index += 1;
                continue;
            };
            // In their order: MPI and a link serve the first one first.
            let entry = state.active.remove(index);
            end -= 1;
            self.follow(&mut state, &entry.post, entry.index, &told, &mut finished);
            finished.push((entry.post, entry.index, told));
        }
        state.pending -= finished.len();
        self.outstanding.store(state.pending, Ordering::Relaxed);
        let poller = state.poller.clone();
        let hears = self.hear(&mut state, began);
        let overdue =
            if state.awaited.is_empty() { Vec::new() } else { self.overdue(&mut state, began, hears) };
        self.note_poll(began, finished.len(), is_keeper);
        drop(state);
        // They say themselves what is late.
        overdue.iter().for_each(|post| post.wake());
        let (count, now) = (finished.len(), self.now());
        for (post, index, told) in finished {
            post.complete(index, told, now);
        }
        if let Some(poller) = poller {
            poller.end(count);
        }
        count != 0
    }

    /// Under the lock: asks, if it is time, whether another rank has given up; whether it was heard now.
    fn hear(&self, state: &mut Underway, now: u64) -> bool {
        let may_be_told = matches!(self.on_late, OnLate::ErrorOnAll | OnLate::Ask(_));
        if !may_be_told || self.given_up.get().is_some() || now.saturating_sub(state.heard_ns) < HEARS_NS {
            return false;
        }
        state.heard_ns = now;
        let Some((rank, text)) = self.shim.told(GIVEN_UP_TAG, 1) else { return false };
        self.is_broken.store(true, Ordering::Relaxed);
        self.given_up.set((usize::try_from(rank).unwrap_or(0), text)).is_ok()
    }

    /// That another rank has given up, if it has.
    pub(crate) fn given_up(&self) -> Option<NetError> {
        let (rank, text) = self.given_up.get()?;
        let is_another = self.place.get().is_some_and(|(own, _)| own != rank);
        is_another.then(|| NetError::GivenUp { rank: *rank, text: text.clone() })
    }

    /// Whether this rank or another one has told all that it has given up.
    pub(crate) fn all_know(&self) -> bool {
        self.given_up.get().is_some()
    }

    /// Which rank of how many this is.
    pub(crate) fn set_place(&self, rank: usize, size: usize) {
        let _once = self.place.set((rank, size));
    }

    /// Tells all other ranks that this one has given up. Nobody waits for that: the messages are short.
    fn tell_all(&self, text: &str) {
        let (rank, size) = self.place.get().copied().unwrap_or((0, 1));
        if self.given_up.set((rank, text.to_owned())).is_err() {
            return;
        }
        let bytes = &text.as_bytes()[..text.len().min(500)];
        let to = |peer| Address { peer: c_int::try_from(peer).unwrap_or(0), tag: GIVEN_UP_TAG, space: 1 };
        let others = (0..size).filter(|peer| *peer != rank);
        let Ok(transfers) = others.map(|peer| Transfer::out(to(peer), bytes)).collect() else { return };
        // What MPI refuses now is not worth saying: the others have deadlines of their own.
        let _refused = self.start(&Arc::new(Post::new("a rank gives up".to_owned(), transfers, false)));
    }

    /// Something is late: does what is to be done then. For how long to wait again; none if it is an error.
    pub(crate) fn give_up(&self, late: &Late) -> Option<Duration> {
        let answer = self.on_late.answer(late);
        if let LateAnswer::Wait(more) = answer {
            return Some(more);
        }
        self.is_broken.store(true, Ordering::Relaxed);
        match answer {
            LateAnswer::ErrorOnAll => self.tell_all(&late.to_string()),
            LateAnswer::Abort => {
                let rank = self.place.get().map_or(0, |(rank, _)| *rank);
                let _unwritable =
                    writeln!(std::io::stderr(), "raddle-mpi: rank {rank}: {late}; the job ends");
                let _state = lock(&self.state);
                self.shim.abort(LATE_CODE);
            }
            LateAnswer::Wait(_) | LateAnswer::Error => (),
        }
        None
    }

    /// Under the lock: what came of a message, if it is done.
    fn look(&self, state: &mut Underway, index: usize, now: u64) -> Option<TransferResult> {
        let Underway { active, pipes, .. } = state;
        let entry = &mut active[index];
        if entry.told.is_none() {
            entry.told = match self.shim.test(&mut entry.word) {
                Ok(None) => None,
                Ok(Some(bytes)) => Some(Ok(bytes)),
                Err(refusal) => Some(Err(refusal)),
            };
        }
        if let Some(pipes) = pipes {
            let age = now.saturating_sub(entry.post.posted_ns.load(Ordering::Relaxed));
            let direction = entry.post.transfers[entry.index].direction;
            if !pipes.moves(direction, &mut entry.left, age) && !matches!(entry.told, Some(Err(_))) {
                return None;
            }
        }
        entry.told.take()
    }

    /// For how long nobody has looked at what is under way.
    pub(crate) fn since_last(&self) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(self.last_ns.load(Ordering::Relaxed)))
    }

    /// The processor time that the keeper has used.
    pub(crate) fn note_keeper(&self, used: Duration) {
        let used = u64::try_from(used.as_nanos()).unwrap_or(u64::MAX);
        self.tally.keeper_ns.store(used, Ordering::Relaxed);
    }

    /// Under the lock.
    fn note_poll(&self, began: u64, found: usize, is_keeper: bool) {
        let (relaxed, now) = (Ordering::Relaxed, self.now());
        let progress = found != 0;
        self.traced.look(began, now, found, is_keeper);
        self.tally.polls.fetch_add(1, relaxed);
        self.tally.empty.fetch_add(u64::from(!progress), relaxed);
        let since = began.saturating_sub(self.last_ns.swap(now, relaxed));
        self.tally.longest_gap_ns.fetch_max(since, relaxed);
        self.tally.gap_of_late_ns.fetch_max(since, relaxed);
        self.tally.polling_ns.fetch_add(now - began, relaxed);
        if !is_keeper {
            self.tally.by_others_ns.fetch_add(now - began, relaxed);
        }
        let gap = self.gap_ns.load(relaxed);
        let gap = if progress { gap / 2 } else { gap * 2 }.clamp(GAP_MIN_NS, GAP_MAX_NS);
        self.gap_ns.store(gap, relaxed);
        self.next_ns.store(now + gap, relaxed);
    }

    pub(crate) fn counters(&self) -> Counters {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            polls: of(&self.tally.polls),
            empty: of(&self.tally.empty),
            longest_gap: Duration::from_nanos(of(&self.tally.longest_gap_ns)),
            polling: Duration::from_nanos(of(&self.tally.polling_ns)),
            processor: Duration::from_nanos(of(&self.tally.by_others_ns) + of(&self.tally.keeper_ns)),
        }
    }

    /// Waits for all of a post that was started; parks the caller.
    pub(crate) fn wait(&self, post: &Post, deadline: Duration) -> Result<(), NetError> {
        let began = Instant::now();
        let ended = self.wait_untold(post, deadline, true);
        self.traced.told(post, began.elapsed(), self.now());
        ended
    }

    /// The same, whoever has given up, and without a decision if it is late: for the end of a net that is broken.
    pub(crate) fn wait_all_the_same(&self, post: &Post, deadline: Duration) {
        let _late = self.wait_untold(post, deadline, false);
    }

    fn wait_untold(&self, post: &Post, mut deadline: Duration, heeds: bool) -> Result<(), NetError> {
        let (began, mut looks) = (Instant::now(), 0);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(self);
        loop {
            let is_inline = self.mode.load(Ordering::Relaxed) == 0;
            if is_inline {
                self.poll();
            }
            // Acquire pairs with the release in `Post::complete`.
            let left = post.left.load(Ordering::Acquire);
            if left == 0 {
                return post.sizes().map(drop);
            }
            if heeds && let Some(error) = self.given_up() {
                return Err(error);
            }
            let waited = began.elapsed();
            if waited >= deadline {
                let late = self.late(post, waited);
                match if heeds { self.give_up(&late) } else { None } {
                    Some(more) => deadline = waited.saturating_add(more),
                    None => return Err(NetError::Late(late)),
                }
            }
            looks += 1;
            if is_inline && looks <= LOOKS {
                continue;
            }
            let pause = if is_inline { Duration::from_micros(u64::from(looks.min(100))) } else { DISTRUST };
            let options = WaitOptions {
                until: Some(Instant::now() + pause.min(deadline - waited)),
                ..WaitOptions::default()
            };
            let ended = futex::wait(&post.left, left, &options);
            if !is_inline && ended == futex::WaitOutcome::TimedOut {
                self.poll();
            }
        }
    }

    /// A task awaits a post: it is woken when that is done, or late.
    pub(crate) fn await_with(&self, post: &Arc<Post>, rest: Duration) {
        self.awaited.fetch_add(1, Ordering::Relaxed);
        self.list(post, rest);
    }

    /// The task that awaits a post is to be woken after that, too.
    pub(crate) fn list(&self, post: &Arc<Post>, rest: Duration) {
        let rest = u64::try_from(rest.as_nanos()).unwrap_or(u64::MAX);
        let until = self.now().saturating_add(rest);
        let mut state = lock(&self.state);
        state.awaited.retain(|(_, post)| post.strong_count() > 0);
        state.awaited.push((until, Arc::downgrade(post)));
        drop(state);
        self.ring(0);
    }

    /// Under the lock: those that are late now.
    fn overdue(&self, state: &mut Underway, now: u64, all: bool) -> Vec<Arc<Post>> {
        let mut overdue = Vec::new();
        state.awaited.retain(|(until, post)| {
            let Some(post) = post.upgrade().filter(|post| !post.is_done()) else { return false };
            if *until <= now || all {
                overdue.push(post);
                return false;
            }
            true
        });
        overdue
    }

    /// What has not come, and what has come instead.
    pub(crate) fn late(&self, post: &Post, waited: Duration) -> Late {
        let pending = post.pending();
        let mut strays = Vec::new();
        let state = lock(&self.state);
        // Once the net is over nobody may ask MPI.
        let asks = pending.iter().filter(|_| !state.is_over);
        for transfer in asks.filter(|transfer| transfer.direction == Direction::In) {
            let (peer, space) = (transfer.address.peer, transfer.address.space);
            if let Some((tag, bytes)) = self.shim.probe(peer, space) {
                let text = format!("a message of rank {peer}, tag {tag}, {bytes} bytes");
                if !strays.contains(&text) {
                    strays.push(text);
                }
            }
        }
        let pending = pending.into_iter().map(|transfer| transfer.describe()).collect();
        let times = post.times.load(Ordering::Relaxed);
        let what =
            if post.is_persistent { format!("{}, the {times}. time,", post.what) } else { post.what.clone() };
        Late { what, waited, pending, strays }
    }

    /// Waits for what nobody waits for: MPI cannot end while it moves messages.
    pub(crate) fn drain(&self, deadline: Duration) -> Result<(), NetError> {
        loop {
            let Some(post) = lock(&self.state).active.first().map(|request| request.post.clone()) else {
                return Ok(());
            };
            // What was refused is of no interest to anybody: it is done.
            if let Err(late @ NetError::Late(_)) = self.wait(&post, deadline) {
                return Err(late);
            }
        }
    }

    /// Nobody calls MPI after this but the keeper.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        state.is_over = true;
        let poller = state.poller.take();
        self.outstanding.store(0, Ordering::Relaxed);
        drop(state);
        drop(poller);
    }
}

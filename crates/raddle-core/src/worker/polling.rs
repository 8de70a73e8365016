//! Owns: `Pollers`: what a runtime's workers ask while something of an adaptor's is outstanding, and when they do.
//! May use: `observe::watcher`, `raddle-protocol`.
//! Never: a cost while nothing is outstanding, beyond one load at a boundary, and some before a sleep.
//!
//! Which idle worker asks, and that one does, is the protocol `outstanding`'s.
//!
//! A poller's call has a lock of its own: at most one worker is in it, others that come meanwhile pass by, and who
//! takes the poller away waits for it. So no call begins after that, or is under way. The lock is the standard
//! library's: whoever holds it is in the call, and a call does not wait.
//!
//! One of a runtime's pollers may be a [`Den`], in which an idle worker sleeps: a poll of descriptors.

use super::shared::Shared;
use super::{LocalWorker, Worker};
use crate::observe::note_change;
use crate::worker::choice::outside;
use raddle_protocol::protocol::idle::{Watch, Woken};
use raddle_protocol::protocol::outstanding::Outstanding;
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{from_ref, null};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

/// For so long the den is left to who has just come out of it: as rarely busy workers look there.
const MOMENT_NS: u64 = 50_000;

/// What is called, with what it may ask and say; answers within what time it is to be asked again.
pub(crate) type PollFunction = dyn FnMut(&Asking<'_>) -> Duration + Send;

/// When a poller is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    /// The worker is busy: no more often than the gap allows.
    Boundary,
    /// It would sleep else.
    Idle,
}

/// All of a runtime's.
pub(crate) struct Pollers {
    pub(crate) outstanding: Outstanding,
    list: Mutex<Arc<[Arc<PollerBody>]>>,
    den: OnceLock<DenBody>,
}

/// Where an idle worker sleeps instead of at its futex, as long as anything is outstanding there.
pub trait Den: Send + Sync + 'static {
    /// Sleeps until there is something to [see to](Self::see_to), until it [rings](Self::ring), or for so long. By one
    /// at a time, who is announced as asleep: it wakes nobody.
    fn sleep(&self, at_most: Option<Duration>);

    /// Ends the sleep that is under way, or else the next one.
    fn ring(&self);

    /// Wakes whoever waits for what has happened; looks for more, without sleeping, if `looks`. As a poller's call, but
    /// two may be under way at once.
    fn see_to(&self, looks: bool);

    /// Itself.
    fn as_any(&self) -> &(dyn Any + Send + Sync);
}

/// A runtime's den, and the poller that counts what is outstanding there.
struct DenBody {
    body: Arc<PollerBody>,
    den: Arc<dyn Den>,
}

/// One poller, as its runtime knows it.
pub(crate) struct PollerBody {
    pub(crate) name: Box<str>,
    gap_ns: u64,
    is_den: bool,
    /// How much is outstanding at this one; never more than all pollers' together say.
    outstanding: AtomicUsize,
    /// Not before, at a boundary.
    next_ns: AtomicU64,
    /// Taken away, or has panicked, in its own call.
    is_over: AtomicBool,
    /// None when it is over.
    call: Mutex<Option<Box<PollFunction>>>,
}

/// A call of a poller, to itself.
pub struct Asking<'a> {
    body: &'a PollerBody,
    shared: &'a Shared,
    occasion: Occasion,
}

thread_local! {
    /// On a worker's own stack, whose call is under way; null elsewhere.
    static HERE: Cell<*const PollerBody> = const { Cell::new(null()) };
}

/// Whether the caller is called by a worker that asks a poller: then it must not wait.
pub fn is_asked_here() -> bool {
    !HERE.get().is_null()
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What panics under these locks is caught there.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pollers {
    pub(crate) fn new() -> Pollers {
        Pollers { outstanding: Outstanding::new(), list: Mutex::new(Arc::new([])), den: OnceLock::new() }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<PollerBody>>)) {
        let mut list = lock(&self.list);
        let mut new = list.to_vec();
        change(&mut new);
        *list = new.into();
    }
}

impl PollerBody {
    pub(crate) fn new(name: &str, gap: Duration, call: Box<PollFunction>) -> PollerBody {
        PollerBody {
            name: name.into(),
            gap_ns: nanoseconds(gap),
            is_den: false,
            outstanding: AtomicUsize::new(0),
            next_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            call: Mutex::new(Some(call)),
        }
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, shared: &Shared, count: usize) {
        if count == 0 || self.is_over.load(Ordering::Relaxed) {
            return;
        }
        shared.pollers.outstanding.begin(count);
        // Release pairs with the acquire in `ask`: the call sees what was done before. Acquire pairs with the release
        // in `forget`: a call that comes after that finds that it is over.
        if self.outstanding.fetch_add(count, Ordering::AcqRel) == 0 && shared.is_here() {
            if self.is_den {
                return shared.pollers.outstanding.call_to_poll(&shared.idle, shared.policy.looks());
            }
            self.call(shared);
        }
    }

    fn call(&self, shared: &Shared) {
        // From within its own call, the answer says when to ask again.
        if HERE.get() != from_ref(self) {
            shared.pollers.outstanding.note_begun();
        }
        shared.pollers.outstanding.call(&shared.idle, shared.policy.looks());
    }

    /// By the rule of what begins: a keeper that is about to lie down finds `begun` changed, whose release has the
    /// question see what was done before; and one that sleeps is woken.
    pub(crate) fn ask_anew(&self, shared: &Shared) {
        if self.outstanding() != 0 && shared.is_here() {
            self.call(shared);
        }
    }

    /// # Panics
    /// If less than that is outstanding.
    pub(crate) fn end(&self, shared: &Shared, count: usize) {
        let (relaxed, name) = (Ordering::Relaxed, &self.name);
        // Acquire pairs with the release in `forget`: whoever finds it forgotten sees that it is over.
        let acquire = Ordering::Acquire;
        let less = self.outstanding.fetch_update(relaxed, acquire, |seen| seen.checked_sub(count));
        if let Err(seen) = less {
            assert!(
                self.is_over.load(relaxed),
                "poller '{name}': {count} are to end, and {seen} are outstanding"
            );
            return;
        }
        shared.ended_outstanding(count);
    }

    /// What is outstanding here does not count any more.
    fn forget(&self, shared: &Shared) {
        // Release pairs with the acquire in `end`.
        shared.ended_outstanding(self.outstanding.swap(0, Ordering::Release));
    }

    /// Asks, if there is anything to ask for and it is time. When to ask again, in nanoseconds.
    fn ask(&self, shared: &Shared, occasion: Occasion, now: u64) -> Option<u64> {
        // Acquire pairs with the release in `begin`.
        if self.outstanding.load(Ordering::Acquire) == 0 {
            return None;
        }
        let is_too_early = || occasion == Occasion::Boundary && now < self.next_ns.load(Ordering::Relaxed);
        if is_too_early() {
            return None;
        }
        let mut call = match self.call.try_lock() {
            Ok(call) => call,
            Err(TryLockError::Poisoned(call)) => call.into_inner(),
            // Another worker asks just now, or it is being taken away.
            Err(TryLockError::WouldBlock) => return Some(self.gap_ns),
        };
        if self.outstanding() == 0 || is_too_early() {
            return None; // the call of another worker has just ended it, or was the last
        }
        let Some(function) = call.as_mut() else {
            // It has begun something while it ended by a panic.
            self.forget(shared);
            return None;
        };
        HERE.set(from_ref(self));
        let asking = Asking { body: self, shared, occasion };
        let answer = catch_unwind(AssertUnwindSafe(|| function(&asking)));
        self.next_ns.store(shared.clock.now_ns().saturating_add(self.gap_ns), Ordering::Relaxed);
        if answer.is_err() {
            self.is_over.store(true, Ordering::Relaxed);
        }
        let mut dropped = Ok(());
        if self.is_over.load(Ordering::Relaxed) {
            // Inside the lock, and as a part of the call: whoever takes the poller away waits for this, too.
            let over = call.take();
            self.forget(shared);
            dropped = catch_unwind(AssertUnwindSafe(|| drop(over)));
        }
        HERE.set(null());
        drop(call);
        match answer.and_then(|again| dropped.map(|()| again)) {
            Ok(again) => Some(nanoseconds(again)),
            Err(panic) => {
                shared.hooks.handle(panic, &format!("the poller '{}'", self.name));
                None
            }
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Asking<'_> {
    /// Whether the worker would sleep else. If not it is at a boundary, and others wait for their turn.
    pub fn is_idle(&self) -> bool {
        self.occasion == Occasion::Idle
    }

    /// So much more is outstanding.
    pub fn begin(&self, count: usize) {
        self.body.begin(self.shared, count);
    }

    /// So much has come to its end.
    ///
    /// # Panics
    /// If less than that is outstanding.
    pub fn end(&self, count: usize) {
        self.body.end(self.shared, count);
    }
}

impl fmt::Debug for Asking<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outstanding = self.body.outstanding();
        f.debug_struct("Asking").field("poller", &self.body.name).field("outstanding", &outstanding).finish()
    }
}

/// Marks that a poller's call is under way on this OS thread.
struct UnderWay;

impl UnderWay {
    fn by(body: &PollerBody) -> UnderWay {
        HERE.set(from_ref(body));
        UnderWay
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        HERE.set(null());
    }
}

impl DenBody {
    fn see_to(&self, looks: bool) {
        let _asked = UnderWay::by(&self.body);
        self.den.see_to(looks);
    }
}

impl Shared {
    /// The runtime's den: the first call makes it.
    ///
    /// # Errors
    /// What `make` says.
    pub fn den<E>(
        &self,
        name: &str,
        gap: Duration,
        make: impl FnOnce() -> Result<Arc<dyn Den>, E>,
    ) -> Result<&dyn Den, E> {
        if let Some(there) = self.pollers.den.get() {
            return Ok(&*there.den);
        }
        let _one_at_a_time = lock(&self.pollers.list);
        if self.pollers.den.get().is_none() {
            let den = make()?;
            let (looked, rung) = (den.clone(), den.clone());
            let ask = move |_: &Asking<'_>| {
                looked.see_to(true);
                Duration::MAX
            };
            let body = PollerBody { is_den: true, ..PollerBody::new(name, gap, Box::new(ask)) };
            let _first = self.pollers.den.set(DenBody { body: Arc::new(body), den });
            self.idle.set_bell(Box::new(move || rung.ring()));
        }
        drop(_one_at_a_time);
        let there = self.pollers.den.get().expect("it has just been made");
        self.pollers.change(|list| {
            if !list.iter().any(|body| Arc::ptr_eq(body, &there.body)) {
                list.push(there.body.clone());
            }
        });
        Ok(&*there.den)
    }

    /// One more waits for what the den tells.
    #[inline]
    pub(super) fn begin_in_den(&self) {
        if let Some(there) = self.pollers.den.get() {
            there.body.begin(self, 1);
        }
    }

    /// So many do not wait any more.
    #[inline]
    pub(super) fn end_in_den(&self, count: usize) {
        if let Some(there) = self.pollers.den.get() {
            there.body.end(self, count);
        }
    }

    pub(crate) fn add_poller(&self, body: Arc<PollerBody>) {
        self.pollers.change(|list| list.push(body));
    }

    /// When this returns the poller is not called, and will not be. From within a call, its own or another's: no more
    /// than once, which has begun before.
    pub(crate) fn remove_poller(&self, body: &Arc<PollerBody>) {
        if !self.is_here() {
            return; // in a forked child, whose parent's workers may hold the locks
        }
        self.pollers.change(|list| list.retain(|other| !Arc::ptr_eq(other, body)));
        body.is_over.store(true, Ordering::Relaxed);
        let call = if is_asked_here() {
            // It is under way here; or, if elsewhere, may wait for this one just so.
            body.call.try_lock().ok().and_then(|mut call| call.take())
        } else {
            lock(&body.call).take()
        };
        drop(call);
        body.forget(self);
    }

    /// So much of what was outstanding is not any more.
    fn ended_outstanding(&self, count: usize) {
        if count == 0 || !self.pollers.outstanding.end(count) || !self.is_here() {
            return;
        }
        if Worker::with_current(|worker| std::ptr::eq(worker.shared(), self)) == Some(true) {
            return; // which looks itself before it next sleeps
        }
        fence(Ordering::SeqCst); // pairs with the one in `wake_all`: the closer wakes a worker after this, or we do
        if self.is_closing() {
            self.idle.wake_for_alarm(0);
        }
        note_change();
    }

    /// The pollers with something outstanding: their names, and how much.
    pub fn outstanding(&self) -> Vec<(String, usize)> {
        let list = lock(&self.pollers.list).clone();
        let waits = |body: &PollerBody| {
            let put_by = if body.is_den { self.put_by() } else { 0 };
            body.outstanding().saturating_sub(put_by)
        };
        let all = list.iter().map(|body| (body.name.to_string(), waits(body)));
        all.filter(|(_, count)| *count > 0).collect()
    }
}

impl LocalWorker {
    /// A boundary: whoever has something outstanding is asked, if its gap is over.
    #[inline(always)]
    pub(super) fn ask_at_boundary(&self, now: u64) {
        if self.shared().pollers.outstanding.any() {
            self.ask_pollers(Occasion::Boundary, now);
        }
    }

    /// As [`ask_at_boundary`](Self::ask_at_boundary), by a seed, whose clock stands still.
    #[inline(always)]
    pub(super) fn ask_by_seed(&self) {
        if self.shared().pollers.outstanding.any() {
            outside("what an adaptor's poller finds");
            self.ask_pollers(Occasion::Idle, 0);
        }
    }

    /// The worker has nothing to run, and had before if it `is_fresh`. Within how many nanoseconds it is to ask again,
    /// if it is the one that asks, or leaves the den to another for a moment: then it has noted so.
    #[inline]
    pub(super) fn ask_when_idle(&self, now: u64, is_fresh: bool, has_left: &mut bool) -> Option<u64> {
        self.end_put_by();
        let outstanding = &self.shared().pollers.outstanding;
        if !outstanding.any() {
            let _was_keeper = outstanding.let_go(self.index);
            *has_left = false;
            return None;
        }
        if outstanding.is_elsewhere(self.index, &self.shared().idle) {
            *has_left = false;
            return None;
        }
        if self.leaves_den(is_fresh, has_left) {
            return Some(MOMENT_NS);
        }
        if !outstanding.keep(self.index, is_fresh) {
            return None;
        }
        self.ask_pollers(Occasion::Idle, now)
    }

    /// Only where one who lies down looks around by itself: else it was called to ask.
    fn leaves_den(&self, is_fresh: bool, has_left: &mut bool) -> bool {
        let shared = self.shared();
        let waits_there = || shared.pollers.den.get().is_some_and(|there| there.body.outstanding() > 0);
        if !shared.policy.looks() || !waits_there() {
            *has_left = false;
            return false;
        }
        shared.pollers.outstanding.leaves_poll(is_fresh, &shared.idle, has_left)
    }

    #[cold]
    #[inline(never)]
    fn ask_pollers(&self, occasion: Occasion, now: u64) -> Option<u64> {
        let shared = self.shared();
        let list = match shared.pollers.list.try_lock() {
            Ok(list) => list.clone(),
            // Somebody else copies or changes it, in no time.
            Err(_) if occasion == Occasion::Boundary => return None,
            Err(_) => lock(&shared.pollers.list).clone(),
        };
        list.iter().filter_map(|body| body.ask(shared, occasion, now)).min()
    }

    /// This worker is busy from now on: another idle one asks.
    #[inline]
    pub(super) fn pass_asking_on(&self) {
        let shared = self.shared();
        let has_polled = self.own().has_polled.take();
        shared.pollers.outstanding.pass_on(self.index, &shared.idle, shared.policy.looks(), has_polled);
    }

    /// Sleeps in the den, if anything is outstanding there that this worker keeps asking for, and nobody else does.
    #[inline]
    pub(super) fn sleep_in_den(&self, watch: Watch, at_most: Option<Duration>) -> Option<Woken> {
        let shared = self.shared();
        if !shared.pollers.outstanding.any() {
            return None;
        }
        let there = shared.pollers.den.get()?;
        if there.body.outstanding() == 0 {
            return None;
        }
        let woken = shared.idle.sleep_in(self.index, watch, || there.den.sleep(at_most))?;
        self.own().has_polled.set(true);
        there.see_to(false);
        Some(woken)
    }
}

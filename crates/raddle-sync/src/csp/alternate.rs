//! Owns: waiting for the first of several guards: channels, a deadline, or nothing at all.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: an allocation, a lock.
//!
//! After CCSP, in three steps: *enable* shows the waiting one at each guard, *wait*, *disable* takes it back. Before
//! that comes a look at each guard: if one is ready, which is the common case, nothing has to be shown. It differs
//! from CCSP in who completes: there the peer only wakes the alternation, which then receives; here the peer hands its
//! value over and goes on. What became ready first while the caller waited is chosen, whatever its priority.
//!
//! A peer that has taken hold of a guard may look at the caller's frame until it lets go; `disable` finds out by the
//! guards that it could not take back how many do, and waits for them.

use super::meet::{self, ChanWaiter, Refused, Word};
use raddle_core::block::Block;
use raddle_core::region::{self, Ring};
use raddle_core::wait::external::External;
use raddle_core::wait::park::{self, Caller};
use raddle_core::wait::{Callback, Guarded, Meeting, Subject, Thing, Wait, WaitCall};
use raddle_core::worker::choice::{counted_point_at, now};
use raddle_core::worker::timer::{Alarm, AlarmId};
use raddle_core::worker::{self, Here, Worker};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::alternation::Alternation;
use std::borrow::Borrow;
use std::cell::Cell;
use std::ptr::NonNull;
use std::time::Instant;

/// One who waits for several, in its frame.
struct Chooser {
    word: Alternation,
    /// Whom to wake. Set before the word says that it waits.
    header: Cell<*mut Header>,
}

/// The waiter of one who waits for several. A word shows a pointer to its first field.
#[repr(C)]
struct LooseWaiter {
    waiter: ChanWaiter,
    chooser: Cell<*const Chooser>,
    number: Cell<u32>,
}

enum What {
    /// A channel's word, and how to copy from or to the other side: `copy(ours, theirs)`.
    Channel(NonNull<Word>, unsafe fn(*mut (), *mut ())),
    At(Instant),
    /// Ready, if nothing else is.
    Skip,
    /// Never ready.
    Closed,
}

/// Something that one can wait for together with others. Lies still while it is waited for.
#[allow(unreachable_pub, reason = "it is named by a sealed trait's method")]
pub struct Guard {
    loose: LooseWaiter,
    what: What,
    shown: Cell<bool>,
}

impl Guarded for Guard {
    fn thing(&self) -> Option<Thing> {
        self.awaited()
    }
}

impl Guarded for &Guard {
    fn thing(&self) -> Option<Thing> {
        self.awaited()
    }
}

/// What [`choose`] chose.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) guard: usize,
    /// It is a channel, and has ended.
    pub(crate) over: bool,
}

impl Guard {
    fn new(what: What) -> Guard {
        let (chooser, number) = (Cell::new(std::ptr::null()), Cell::new(0));
        Guard {
            loose: LooseWaiter { waiter: ChanWaiter::new(std::ptr::null_mut()), chooser, number },
            what,
            shown: Cell::new(false),
        }
    }

    pub(crate) fn channel(word: &Word, copy: unsafe fn(*mut (), *mut ())) -> Guard {
        Guard::new(What::Channel(NonNull::from(word), copy))
    }

    pub(crate) fn at(deadline: Instant) -> Guard {
        Guard::new(What::At(deadline))
    }

    pub(crate) fn skip() -> Guard {
        Guard::new(What::Skip)
    }

    pub(crate) fn closed() -> Guard {
        Guard::new(What::Closed)
    }

    /// What one waits for by it.
    fn awaited(&self) -> Option<Thing> {
        match self.what {
            // SAFETY: the maker of the guard has an end of the channel, which keeps it.
            What::Channel(word, _) => Some(Thing::at(Meeting::KIND, unsafe { word.as_ref() })),
            What::At(_) => Some(Thing::TIME),
            What::Skip | What::Closed => None,
        }
    }

    /// Where the value lies, or shall lie.
    pub(crate) fn aim(&self, data: *mut ()) {
        self.loose.waiter.data.set(data);
    }

    /// Looks whether the guard's channel is ready, and if so completes its communication.
    ///
    /// # Safety
    /// As for [`choose`].
    unsafe fn poll(&self) -> Option<bool> {
        let What::Channel(word, copy) = self.what else { return None };
        // SAFETY: the caller has an end of the channel, which keeps it.
        let word = unsafe { word.as_ref() };
        if word.is_empty() {
            return None;
        }
        let ours = self.loose.waiter.data.get();
        // SAFETY: passed on to the caller; `copy` is as `Guard::channel` was given it.
        match unsafe { meet::try_meet(word, ours, copy) } {
            Ok(()) => Some(false),
            Err(Refused::Over) => Some(true),
            Err(Refused::Nobody) => None,
        }
    }

    /// Shows `chooser` at the guard. False if somebody is there already.
    fn show(&self, chooser: &Chooser, number: usize) -> bool {
        let What::Channel(word, _) = self.what else { return true };
        self.loose.chooser.set(chooser);
        // Alternations are counted in 31 bits.
        self.loose.number.set(number as u32);
        self.loose.waiter.over.set(false);
        // SAFETY: the maker of the guard has an end of the channel, which keeps it.
        self.shown.set(unsafe { word.as_ref() }.offer(self.as_waiter()).is_ok());
        self.shown.get()
    }

    /// Takes it back. False if a peer holds it.
    fn withdraw(&self) -> bool {
        let What::Channel(word, _) = self.what else { return true };
        // SAFETY: as above.
        let word = unsafe { word.as_ref() };
        !self.shown.replace(false) || word.withdraw(self.as_waiter())
    }

    /// What a word shows of it. The fields that others touch are cells.
    fn as_waiter(&self) -> *mut ChanWaiter {
        (&raw const self.loose).cast_mut().cast()
    }
}

/// The holder of a loose waiter, which it took out of a word, has copied: chooses its guard, if none was. True if so.
///
/// # Safety
/// The caller holds the waiter, and does not touch it any more.
pub(crate) unsafe fn let_go(waiter: *mut ChanWaiter) -> bool {
    // SAFETY: what is loose in a word is the first field of a `LooseWaiter`.
    let loose = unsafe { &*waiter.cast::<LooseWaiter>() };
    // SAFETY: the chooser does not leave its frame while somebody holds one of its guards.
    unsafe { choose_for(loose.chooser.get(), loose.number.get()) }
}

/// # Safety
/// The caller holds this guard of the chooser.
unsafe fn choose_for(chooser: *const Chooser, guard: u32) -> bool {
    // SAFETY: passed on to the caller.
    let choice = unsafe { &*chooser }.word.choose(guard);
    if choice.wake {
        // SAFETY: it waits for this wake, so its frame is there.
        let header = unsafe { &*chooser }.header.get();
        // SAFETY: the word said that it waits, and that this ended the wait.
        unsafe { worker::wake(header) };
    }
    choice.won
}

/// What an alarm, or a cancellation, calls for its guard: the deadline has passed, or the chooser is cancelled.
///
/// # Safety
/// `chooser` points to a [`Chooser`] of which the caller holds this guard.
unsafe fn ring(chooser: *const (), guard: u32) {
    // SAFETY: passed on to the caller.
    unsafe { choose_for(chooser.cast(), guard) };
}

/// Waits for the first guard to be ready and completes its communication. Looks at them from `first` on, and round.
///
/// # Panics
/// Inside a task; and if no guard can ever be ready.
///
/// # Safety
/// Each channel's guard was made from an end that the caller has to itself, and no two from the same; where it aims is
/// what its `copy` expects. The guards are not moved meanwhile.
#[track_caller]
pub(crate) unsafe fn choose<G: Borrow<Guard>>(guards: &[G], first: usize, wait: &Wait<'_>) -> Ready {
    counted_point_at("csp::alt", wait.site());
    // SAFETY: passed on to the caller.
    unsafe { choose_now(guards, first, wait) }
}

/// As [`choose`], for a caller that has let others go on before.
///
/// # Panics
/// As there.
///
/// # Safety
/// As there.
#[track_caller]
pub(super) unsafe fn choose_now<G: Borrow<Guard>>(guards: &[G], first: usize, wait: &Wait<'_>) -> Ready {
    let caller = park::caller(wait.name());
    let earliest = earliest(guards);
    loop {
        // SAFETY: passed on to the caller.
        if let Some(ready) = unsafe { look(guards, first) } {
            return ready;
        }
        region::check();
        let chooser = Chooser { word: Alternation::new(), header: Cell::new(std::ptr::null_mut()) };
        if let Some(guard) = chooser.wait_for(guards, earliest, &caller, wait) {
            return Ready { guard, over: guards[guard].borrow().loose.waiter.over.get() };
        }
    }
}

/// The guard with the earliest deadline.
fn earliest<G: Borrow<Guard>>(guards: &[G]) -> Option<(usize, Instant)> {
    let times = guards.iter().enumerate().filter_map(|(number, guard)| match guard.borrow().what {
        What::At(deadline) => Some((number, deadline)),
        _ => None,
    });
    times.min_by_key(|(_, deadline)| *deadline)
}

/// Looks at each guard once.
///
/// # Safety
/// As for [`choose`].
unsafe fn look<G: Borrow<Guard>>(guards: &[G], first: usize) -> Option<Ready> {
    let (mut time, mut skip, mut open) = (None, None, false);
    for step in 0..guards.len() {
        let number = if first + step < guards.len() { first + step } else { first + step - guards.len() };
        let guard: &Guard = guards[number].borrow();
        let over = match guard.what {
            // SAFETY: passed on to the caller.
            What::Channel(..) => unsafe { guard.poll() },
            What::At(deadline) => (*time.get_or_insert_with(now) >= deadline).then_some(false),
            What::Skip => {
                skip = Some(Ready { guard: number, over: false });
                None
            }
            What::Closed => continue,
        };
        if let Some(over) = over {
            return Some(Ready { guard: number, over });
        }
        open = true;
    }
    assert!(
        open,
        "no guard of this alternation is open: it would wait for ever; give it `skip` or a time-out"
    );
    skip
}

impl Chooser {
    /// The guard of this number as something to call.
    fn guard(&self, number: u32) -> Callback {
        // SAFETY: whoever has not taken it back holds the guard, and the chooser stays until it has.
        unsafe { Callback::new(std::ptr::from_ref(self).cast(), number, ring) }
    }

    /// Enables, waits, disables. `None` if somebody turned out to be ready meanwhile: look again.
    fn wait_for<G: Borrow<Guard>>(
        &self,
        guards: &[G],
        earliest: Option<(usize, Instant)>,
        caller: &Caller,
        shown: &Wait<'_>,
    ) -> Option<usize> {
        let call = shown.call();
        let _shown = shown.show();
        // One more for the alarm, and one for a cancellation. What is not shown counts as withdrawn.
        let end = guards.len() as u32;
        let total = end + 2;
        self.word.open(total);
        // SAFETY: the caller stays in its region until this returns.
        let node = unsafe { region::current() };
        let all_shown = guards.iter().enumerate().all(|(number, guard)| guard.borrow().show(self, number));
        let listens = all_shown && node.is_none_or(|node| node.listen(Ring::Call(self.guard(end))));
        let mut again = false;
        let mut alarm = None;
        if listens {
            alarm = self.wait(earliest, caller, call);
        } else {
            again = self.word.choose_own(0);
        }
        let rings = alarm.is_some_and(|(worker, id)| !worker.timers().cancel(id));
        let struck = listens && node.is_some_and(|node| !node.unlisten());
        let shown = guards.iter().map(|guard| u32::from(!guard.borrow().withdraw())).sum::<u32>();
        let chosen = self.leave(total - shown - u32::from(rings) - u32::from(struck), call);
        // Cancelled, it looks once more, too, and finds that out.
        if again || chosen == end { None } else { Some(chosen as usize) }
    }

    /// Waits until a guard is chosen. Returns the alarm that was set.
    fn wait(
        &self,
        earliest: Option<(usize, Instant)>,
        caller: &Caller,
        call: &'static WaitCall,
    ) -> Option<(&'static Worker, AlarmId)> {
        let Caller::Process(block) = caller else {
            self.wait_in_thread(earliest);
            return None;
        };
        let alarm = earliest.map(|(guard, deadline)| {
            // SAFETY: `block` is what runs here: its runtime lives.
            let worker: &'static Worker = unsafe { Worker::of(&block.header) };
            let at_ns = worker.deadline(deadline.saturating_duration_since(now()));
            (worker, worker.timers().set(at_ns, Alarm::Guard(self.guard(guard as u32))))
        });
        self.sleep(block, call, || self.word.wait());
        alarm
    }

    /// Leaves the stack, unless `enter` says that there is nothing to wait for.
    fn sleep(&self, block: &'static Block, call: &'static WaitCall, enter: impl FnOnce() -> bool) {
        if !meet::enters_first(block) {
            return park::wait_registered(call, |header| {
                self.header.set(header);
                enter()
            });
        }
        self.header.set(block.as_header());
        if enter() {
            // SAFETY: `block` is what runs here, and leaves its stack by this only.
            let worker = unsafe { Here::of(&block.header) };
            worker.note_stop(call, 0);
            // SAFETY: it waits in the word, whose peer wakes it.
            unsafe { worker.leave_here(block) };
        }
    }

    fn wait_in_thread(&self, earliest: Option<(usize, Instant)>) {
        let parker = External::new();
        self.header.set(parker.header());
        if !self.word.wait() || parker.sleep(earliest.map(|(_, deadline)| deadline)) {
            return;
        }
        let (guard, _) = earliest.expect("without a deadline it is woken");
        if !self.word.choose_own(guard as u32) {
            // Chosen at the last moment: the wake is on its way to this frame.
            let woken = parker.sleep(None);
            debug_assert!(woken, "there is no deadline to pass");
        }
    }

    /// Waits until no peer holds a guard any more. Returns the guard that was chosen.
    fn leave(&self, withdrawn: u32, call: &'static WaitCall) -> u32 {
        if let Some(chosen) = self.word.left(withdrawn) {
            return chosen;
        }
        match park::caller(call.name()) {
            Caller::Process(block) => self.sleep(block, call, || self.word.leave(withdrawn)),
            Caller::Thread => raddle_core::wait::external::wait(|header| {
                self.header.set(header);
                self.word.leave(withdrawn)
            }),
        }
        self.word.result()
    }
}

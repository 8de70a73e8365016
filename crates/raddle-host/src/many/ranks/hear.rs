//! Owns: what others say while the program runs: who hears it, and what comes of it.
//! May use: `many`, `raddle-core`, `raddle-vm`.
//! Never: two that hear at once: what a rank says is handled in its order.
//!
//! *Workers hear.* One that has nothing to run looks for what others say (a [poller](raddle_core::door::poller) of its
//! runtime's): again and again for [`HOT`] after something was last said or heard, so that an answer of another rank
//! needs no OS thread to be woken, and then after pauses that the link names, asleep in between. A busy one
//! looks between two slices, by the same rule. After [`ALONE`] each look gives the processor away, too: the other rank
//! may be on it.
//!
//! *An OS thread hears* only when no worker has looked for longer than one might pause: all are in long slices.
//!
//! *Nobody pauses beside what was said, heard or left to be told*: the protocol is [`pauses`](super::pauses)'s. What
//! may have come, and who finds it:
//!
//! | what has come, and when | who finds it |
//! |---|---|
//! | a frame, while who looks pauses | that one, when the pause is over: it is an eighth of the silence |
//! | a frame that a worker hears, and another while that one is in a long call | who is woken by the first |
//! | something is owed, and who owes it goes on to a long call | the same; or who looks soon: the count has changed |
//! | something is owed, and who looks finds the lock taken | it looks again after [`GAP`] |
//! | a frame, while the turn is another one's | that one, which looks until there is none, or soon again |
//! | a frame, before the machine hears | the OS thread, which wakes all when it does |
//! | all workers are in long calls, and the listener writes to a screen that takes nothing | nobody, until it does |

use super::frame::RankFrame;
use super::pauses::{LISTENER, Pauses, WORKER};
use super::{Keeper, KeeperState, not_understood};
use crate::Failure;
use crate::many::MachineHost;
use crate::many::outside::FromOutside;
use raddle_core::Runtime;
use raddle_core::door::poller::{Asking, Poller};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// For so long after something was said or heard an idle worker looks without a pause: longer than another rank takes
/// to answer, and than it sleeps in a pause of its own when this one begins to look.
const HOT: Duration = Duration::from_micros(400);
/// After so long it gives its processor away between two looks.
const ALONE: Duration = Duration::from_micros(20);
/// A busy worker looks no more often than that: a look that finds nothing takes a third of a microsecond.
const GAP: Duration = Duration::from_micros(50);
/// The OS thread leaves so much more to workers.
const PATIENCE: Duration = Duration::from_millis(2);
/// For longer it pauses only if nothing is stirred, and wakes when something is. Longer than any pause of one who
/// hears each millisecond, so that it is not woken while ranks answer each other.
const UNTOLD: Duration = Duration::from_millis(3);
/// A look hears at most so many frames.
const FRAMES_A_LOOK: usize = 64;

/// Whether what comes is heard.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Hears {
    /// What came before is to be seen to first.
    #[default]
    NotYet,
    Now,
    NoMore,
}

/// When to look.
pub(super) struct Hearing {
    epoch: Instant,
    /// When something was last said or heard, and when somebody has looked; in nanoseconds.
    stirred: AtomicU64,
    looked: AtomicU64,
    /// Who is to be woken then.
    pauses: Pauses,
    /// Something was taken, and its sender is perhaps not told yet: who looks next tells it.
    owes: AtomicBool,
    /// The last has been heard.
    is_over: AtomicBool,
    turn: Mutex<Hears>,
    /// By which workers hear, as long as the machine runs.
    poller: Mutex<Option<Poller>>,
    /// The OS thread.
    listener: OnceLock<Thread>,
}

fn since(now: u64, word: &AtomicU64) -> Duration {
    Duration::from_nanos(now.saturating_sub(word.load(Ordering::Relaxed)))
}

impl Hearing {
    pub(super) fn new() -> Hearing {
        let (stirred, looked) = (AtomicU64::new(0), AtomicU64::new(0));
        let (is_over, turn, poller) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        let (owes, listener) = (AtomicBool::new(false), OnceLock::new());
        let pauses = Pauses::default();
        Hearing { epoch: Instant::now(), stirred, looked, pauses, owes, is_over, turn, poller, listener }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Something was taken: under the keeper's lock.
    pub(super) fn owes(&self) {
        // Relaxed: who looks takes the lock then.
        self.owes.store(true, Ordering::Relaxed);
    }

    /// Something was said, heard or left to be told: more may come soon, and who pauses for long, a worker and the OS
    /// thread, looks sooner. (Who says something falls idle most often, and looks itself; not if it goes on to a long
    /// call. And who hears something may be a worker that answers, and goes on to one.)
    pub(super) fn stir(&self) {
        self.stirred.store(self.now(), Ordering::Relaxed);
        let woken = self.pauses.stir();
        if woken & WORKER != 0
            && let Some(poller) = &*self.poller.lock().unwrap_or_else(PoisonError::into_inner)
        {
            poller.ask_anew();
        }
        if woken & LISTENER != 0 {
            self.listener.get().into_iter().for_each(Thread::unpark);
        }
    }

    /// Workers are to look from now on, or need not any more.
    pub(super) fn expect(&self, more: bool) {
        let poller = self.poller.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(poller) = &*poller {
            if more { poller.begin(1) } else { poller.end(1) }
        }
    }
}

/// A panic of the OS thread that hears ends the program: nobody would hear what comes while workers are busy.
struct EndsByPanic<'k>(&'k Keeper, &'static MachineHost<'static>);

impl Drop for EndsByPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(self.1, "who hears other ranks has panicked".to_owned());
        }
    }
}

impl Keeper {
    /// From here on workers of that runtime hear, and an OS thread where none does, until [`stop_hearing`].
    ///
    /// [`stop_hearing`]: Keeper::stop_hearing
    pub(in crate::many) fn begin_hearing(
        &self,
        host: &'static MachineHost<'static>,
        runtime: &Runtime,
    ) -> std::io::Result<JoinHandle<()>> {
        let keeper = host.ranks.clone().expect("it is its keeper");
        let ask = move |asking: &Asking<'_>| keeper.asked(host, asking);
        let poller = Poller::at(runtime, "ranks", GAP, ask);
        *self.hearing.poller.lock().unwrap_or_else(PoisonError::into_inner) = Some(poller);
        // Rank 0 expects something only while a PLACED PAR is under way.
        if !self.is_first() {
            self.hearing.expect(true);
        }
        let keeper = host.ranks.clone().expect("it is its keeper");
        thread::Builder::new().name("ranks".into()).spawn(move || {
            let _first = keeper.hearing.listener.set(thread::current());
            let _if_it_panics = EndsByPanic(&keeper, host);
            keeper.begin_to_hear(host);
            keeper.watch_over_hearing(host);
        })
    }

    /// Nobody hears any more when this returns, but for the OS thread, which is about to end, and is to be joined
    /// before the workers are stopped.
    pub(in crate::many) fn stop_hearing(&self, thread: Option<&JoinHandle<()>>) {
        self.hearing.is_over.store(true, Ordering::Relaxed);
        // Not under the lock: a call that is under way is waited for, and may want it.
        let poller = self.hearing.poller.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(poller);
        thread.into_iter().for_each(|thread| thread.thread().unpark());
    }

    /// Until the next look.
    fn pause(&self) -> Duration {
        self.link.lull().max(GAP)
    }

    /// A worker has nothing to run, or is between two slices. When to ask again.
    fn asked(&self, host: &MachineHost<'_>, asking: &Asking<'_>) -> Duration {
        let hearing = &self.hearing;
        let count = hearing.pauses.count();
        // PERF: one reading of the clock for a look that finds nothing; in a hot wait they were a fifth of all.
        let now = hearing.now();
        let silence = since(now, &hearing.stirred);
        let pause = || if hearing.owes.load(Ordering::Relaxed) { GAP } else { self.pause() };
        if !asking.is_idle() && since(now, &hearing.looked) < pause() {
            return GAP;
        }
        self.pay_what_is_owed();
        if self.look(host, now) == Some(true) {
            return Duration::ZERO;
        }
        if silence < HOT {
            if silence >= ALONE && asking.is_idle() {
                thread::yield_now();
            }
            return Duration::ZERO;
        }
        if hearing.owes.load(Ordering::Relaxed) {
            return GAP; // somebody else had the state
        }
        if !asking.is_idle() {
            return GAP; // and it does not pause
        }
        if hearing.pauses.may_pause(WORKER, count) { self.pause() } else { Duration::ZERO }
    }

    /// Hears where no worker does, until there is nothing more to hear.
    fn watch_over_hearing(&self, host: &MachineHost<'_>) {
        let hearing = &self.hearing;
        while !hearing.is_over.load(Ordering::Relaxed) {
            let count = hearing.pauses.count();
            let now = hearing.now();
            let owes = hearing.owes.load(Ordering::Relaxed);
            let patience = if owes { PATIENCE } else { self.pause() + PATIENCE };
            let is_due = since(now, &hearing.looked) >= patience;
            // While somebody else handles what has come, perhaps at a screen that takes nothing, nobody listens: then
            // no rank is given up for its silence.
            if is_due {
                self.pay_what_is_owed();
            }
            let nobody_listens = is_due && self.look(host, now).is_none();
            if !nobody_listens && let Err(lost) = self.note_heard(None) {
                return self.fail(host, lost);
            }
            let rest = patience.saturating_sub(since(now, &hearing.looked)).max(PATIENCE / 4);
            let may = rest <= UNTOLD || hearing.pauses.may_pause(LISTENER, count);
            thread::park_timeout(if may { rest } else { PATIENCE }.min(self.patience()));
        }
    }

    /// By one who looks, before that; by the next one if somebody else has the state just now.
    pub(super) fn pay_what_is_owed(&self) {
        if self.hearing.owes.load(Ordering::Relaxed)
            && let Some(mut state) = self.try_state()
        {
            self.hearing.owes.store(false, Ordering::Relaxed);
            self.pay(&mut state);
        }
    }

    /// Hears what has come; whether anything had. None if somebody else does just now.
    fn look(&self, host: &MachineHost<'_>, now: u64) -> Option<bool> {
        let hearing = &self.hearing;
        let mut turn = match hearing.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if *turn != Hears::Now {
            return Some(false);
        }
        hearing.looked.store(now, Ordering::Relaxed);
        for count in 0..FRAMES_A_LOOK {
            let goes_on = match self.link.look() {
                Ok(None) => return Some(count > 0),
                Ok(Some((from, bytes))) => match self.note_heard(Some(from)) {
                    Ok(()) => self.hear_frame(host, from, RankFrame::read(&bytes)),
                    Err(lost) => {
                        self.fail(host, lost);
                        false
                    }
                },
                Err(error) => {
                    self.fail(host, error);
                    false
                }
            };
            if !goes_on {
                *turn = Hears::NoMore;
                hearing.is_over.store(true, Ordering::Relaxed);
                break;
            }
        }
        Some(true)
    }

    /// False if that was the last.
    fn hear_frame(&self, host: &MachineHost<'_>, from: usize, frame: Option<RankFrame>) -> bool {
        match frame {
            None => {
                self.fail(host, not_understood(from));
                false
            }
            Some(RankFrame::Alive) => true,
            Some(frame) => {
                self.hearing.stir();
                self.handle(host, from, frame)
            }
        }
    }

    /// What another rank says; false if that is the last that is heard.
    fn handle(&self, host: &MachineHost<'_>, from: usize, frame: RankFrame) -> bool {
        if let RankFrame::Output { port, bytes } = &frame {
            // Perhaps until somebody reads: so nobody is to wait for what the caller has locked but the turn.
            host.screen.write(*port, bytes);
            return true;
        }
        let mut state = self.state();
        match frame {
            RankFrame::End { well: true } => {
                host.end(None);
                host.gate.stop();
                return false;
            }
            RankFrame::End { well: false } => {
                state.outcome.ended_by.get_or_insert(from);
                host.end_from_outside(Failure::Quit);
                return false;
            }
            frame => {
                let heard = self.handle_work(host, &mut state, from, frame);
                drop(state);
                if let Err(text) = heard {
                    self.fail(host, text);
                    return false;
                }
            }
        }
        true
    }

    fn handle_work(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        from: usize,
        frame: RankFrame,
    ) -> Result<(), String> {
        if let RankFrame::Image { epoch, image } = frame {
            return self.next_image(host, state, epoch, &image);
        }
        if frame.epoch().is_some_and(|epoch| epoch > state.epoch) {
            state.early.push((from, frame));
            return Ok(());
        }
        state.counts.handled += frame.work();
        if frame.epoch().is_some_and(|epoch| epoch < state.epoch) {
            // A first touch whose channel nobody used here: its rank has ended that PLACED PAR since, and rank 0, whose
            // frames come another way, begun the next one.
            return Ok(());
        }
        match frame {
            RankFrame::Touched { channel, end, .. } => self.others_touch(host, state, (channel, end), from),
            RankFrame::Offer { channel, also_taken, message, .. } => {
                if let Some(taken) = also_taken {
                    self.taken(host, state, taken)?;
                }
                self.offered(host, state, (from, channel), &message)
            }
            RankFrame::Taken { channel, .. } => self.taken(host, state, channel),
            RankFrame::Done { .. } => {
                self.has_done(host, state, from);
                Ok(())
            }
            frame => self.handle_still(host, state, from, frame),
        }
    }

    /// Another PLACED PAR: the machine has come to the end of the last one.
    fn next_image(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        epoch: u32,
        image: &[u8],
    ) -> Result<(), String> {
        if state.is_placed {
            return Err(not_understood(0));
        }
        let taken = self.take_image(host.machine, state, epoch, image);
        taken.map_err(|outcome| outcome.told.unwrap_or_default())?;
        self.handle_early(host, state)?;
        host.machine.ring(&FromOutside { host }, host.machine.main().id());
        Ok(())
    }

    /// What was said too early is no longer.
    fn begin_to_hear(&self, host: &MachineHost<'_>) {
        let mut turn = self.hearing.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let heard = self.handle_early(host, &mut state);
        drop(state);
        *turn = Hears::Now;
        drop(turn);
        self.hearing.stir();
        if let Err(text) = heard {
            self.fail(host, text);
        }
    }

    fn handle_early(&self, host: &MachineHost<'_>, state: &mut KeeperState) -> Result<(), String> {
        for (from, frame) in std::mem::take(&mut state.early) {
            self.handle_work(host, state, from, frame)?;
        }
        Ok(())
    }

    /// The program ends for a reason that is not one process's.
    pub(in crate::many) fn fail(&self, host: &MachineHost<'_>, text: String) {
        self.state().outcome.told.get_or_insert(text);
        host.end_from_outside(Failure::Quit);
    }

    /// Notes why a process cannot go on, which its report says less well.
    pub(in crate::many) fn note(&self, text: String) {
        self.state().outcome.told.get_or_insert(text);
    }
}

//! Owns: channels as the engine sees them: looks at what ends say, what of that is under way, and waits at ends.
//! May use: `channel`, `error`, `gate`, `post`, `shim`, `raddle-core`.
//! Never: a worker that waits; only who waits is parked.
//!
//! Who waits at an end looks itself at first, and lets others run between two looks: an answer of another rank takes
//! microseconds, and an idle worker would look only every 20. Others are asked to look when the answer is not there by
//! then. Later the one who waits is parked as all others are.

use super::end::pause;
use super::wait::Waiting;
use super::{DEDICATED, Engine, Finished, GAP_MIN_NS, IDLE, Underway, WATCHED};
use crate::channel::{ChannelTable, EndBell, Heard};
use crate::error::{Late, NetError};
use crate::gate::lock;
use crate::post::Post;
use crate::shim::Shim;
use raddle_core::door::futex::WaitOutcome;
use raddle_core::door::poller::Poller;
use raddle_core::wait::park::yield_now;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// For so long one who waits looks itself, if so few do. Longer than another rank is asleep at a time: of two that
/// answer each other each would find the other one asleep else, again and again.
const LOOKS_FOR: Duration = Duration::from_micros(400);
/// After so long it gives its processor away, too, if the kernel has somebody else for it: perhaps the other rank.
const ALONE_FOR: Duration = Duration::from_micros(20);
const LOOKERS: usize = 8;
/// Who looks itself, and hears no bell, asks after so many looks.
const ASKS_EACH: u32 = 16;
/// So often it looks between two readings of the clock, after each of which others of the worker may run.
const LOOKS_EACH: u32 = 3;
/// Who has waited for so long asks who waits for whom; and again after twice the time.
const ASKS_AFTER: Duration = Duration::from_secs(1);
/// As in other waits: a look of one's own after so long, whoever else is to look.
const DISTRUST: Duration = Duration::from_millis(100);

/// What counts no more at a poller, which must be told without the lock.
#[must_use = "the poller is to be told"]
pub(super) struct EndedCount(Option<(Arc<Poller>, usize)>);

impl EndedCount {
    pub(super) fn end(self) {
        if let Some((poller, count)) = self.0 {
            poller.end(count);
        }
    }
}

/// What a wait does when the time is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtDeadline {
    /// Something is late.
    IsLate,
    /// It goes on without an answer.
    GoesOn,
}

/// How a wait begins, and what it does when it has lasted for long: asks round, again and again, and is late.
pub(crate) struct WaitsLong<'w> {
    /// Whether there may be an answer already; else it looks before it asks.
    pub(crate) asks_first: bool,
    pub(crate) asks: &'w dyn Fn(&mut ChannelTable, &Shim, Duration),
    pub(crate) late: &'w dyn Fn(&ChannelTable, Duration) -> Late,
}

/// One who waits at an end, or listens, as long as it does: others are to look for it.
pub(crate) struct WaitsAtEnd {
    engine: Arc<Engine>,
    /// Whether nobody is parked who would look in mode `Inline`.
    is_awaited: bool,
}

impl WaitsAtEnd {
    pub(crate) fn begin(engine: &Arc<Engine>, is_awaited: bool) -> Result<WaitsAtEnd, NetError> {
        engine.with_channels(|channels, _, _| channels.waits += 1)?;
        if is_awaited {
            engine.awaited.fetch_add(1, Ordering::Relaxed);
            engine.ring(0);
        }
        Ok(WaitsAtEnd { engine: engine.clone(), is_awaited })
    }
}

impl Drop for WaitsAtEnd {
    fn drop(&mut self) {
        if self.is_awaited {
            self.engine.awaited.fetch_sub(1, Ordering::Relaxed);
        }
        let mut state = lock(&self.engine.state);
        state.channels.waits -= 1;
        let ended = if state.is_over { EndedCount(None) } else { self.engine.count_channels(&mut state) };
        drop(state);
        ended.end();
    }
}

/// Lets others of the worker run between two looks.
fn give_way(waited: Duration) {
    yield_now();
    if waited > ALONE_FOR {
        std::thread::yield_now();
    }
}

impl Engine {
    /// Does something at an end.
    pub(crate) fn with_channels<R>(
        &self,
        act: impl FnOnce(&mut ChannelTable, &Shim, &mut Heard) -> R,
    ) -> Result<R, NetError> {
        let mut state = lock(&self.state);
        if state.is_over || state.channels.is_closing {
            return Err(NetError::Over);
        }
        if let Some(error) = &state.channels.broken {
            return Err(error.clone());
        }
        // In mode `Inline` only who waits looks.
        state.channels.may_owe = self.mode.load(Ordering::Relaxed) != 0;
        let mut heard = Heard::default();
        let (before, done) = (state.channels.counted, act(&mut state.channels, &self.shim, &mut heard));
        let ended = self.count_channels(&mut state);
        let is_more = state.channels.counted > before;
        let ends_lull = (state.channels.has_said || is_more) && self.ends_lull();
        if ends_lull {
            // Who looks sleeps for long just now, and answers come soon.
            state.channels.ring_who_waits(&mut heard);
        }
        drop(state);
        heard.ring();
        ended.end();
        let keeper_looks = matches!(self.mode.load(Ordering::Relaxed), WATCHED | DEDICATED);
        if (is_more || ends_lull) && keeper_looks || ends_lull && self.awaited.load(Ordering::Relaxed) != 0 {
            self.ring(0);
        }
        Ok(done)
    }

    /// Under the lock: what channels have under way counts as all else that is.
    pub(super) fn count_channels(&self, state: &mut Underway) -> EndedCount {
        let (had, now) = (state.channels.counted, state.channels.under_way());
        if now == had {
            return EndedCount(None);
        }
        if state.pending == 0 {
            self.wake_clocks(state, self.now());
        }
        state.channels.counted = now;
        state.pending = state.pending + now - had;
        self.outstanding.store(state.pending, Ordering::Relaxed);
        let poller = state.poller.clone();
        if now < had {
            return EndedCount(poller.map(|poller| (poller, had - now)));
        }
        self.gap_ns.store(GAP_MIN_NS, Ordering::Relaxed);
        self.next_ns.store(self.now() + GAP_MIN_NS, Ordering::Relaxed);
        poller.into_iter().for_each(|poller| poller.begin(now - had));
        EndedCount(None)
    }

    /// Says what was left to those who look, of whom there are none any more, perhaps.
    pub(super) fn pay_channels(&self) {
        let mut state = lock(&self.state);
        if state.is_over {
            return;
        }
        state.channels.pay(&self.shim);
        let ended = self.count_channels(&mut state);
        drop(state);
        ended.end();
    }

    /// Under the lock: hears what ends say; messages that were taken begin.
    pub(super) fn hear_channels(&self, state: &mut Underway, now: u64, finished: &mut Finished) -> Heard {
        let mut heard = state.channels.look(&self.shim);
        for post in std::mem::take(&mut heard.launches) {
            let before = state.pending;
            let _begun = self.begin_all(state, &post, now, finished);
            if let Some(poller) = &state.poller {
                poller.begin(state.pending - before);
            }
        }
        heard
    }

    /// Waits at an end until `answer` has one; parks the caller. None if the time is over and that is no fault.
    pub(crate) fn wait_at<R>(
        self: &Arc<Engine>,
        bell: &EndBell,
        (mut deadline, then): (Duration, AtDeadline),
        mut answer: impl FnMut(&mut ChannelTable, &Shim) -> Option<R>,
        long: WaitsLong<'_>,
    ) -> Result<Option<R>, NetError> {
        let mut ask = || self.with_channels(|channels, shim, _| answer(channels, shim));
        // Acquire pairs with the release in `DueRing::ring`.
        let mut asked_at = bell.word.load(Ordering::Acquire);
        if long.asks_first
            && let Some(found) = ask()?
        {
            return Ok(Some(found));
        }
        let (began, mut asks_after, mut round) = (self.now(), ASKS_AFTER, 0_u32);
        if !long.asks_first {
            asked_at = asked_at.wrapping_sub(1);
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let (_waiting, _at_bell, mut waits) = (Waiting(self), bell.wait(), None);
        loop {
            let now = if round == 0 { began } else { self.now() };
            let waited = Duration::from_nanos(now.saturating_sub(began));
            let is_inline = self.mode.load(Ordering::Relaxed) == 0;
            let looks = waited < LOOKS_FOR && self.waiting.load(Ordering::Relaxed) <= LOOKERS;
            // PERF: most answers come while it looks itself, and nobody is to be told: example `ring`, 8 bytes.
            if waits.is_none() && (!looks || waited > ALONE_FOR) {
                waits = Some(WaitsAtEnd::begin(self, false)?);
            }
            self.look_some_times(now, is_inline, looks);
            // PERF: what changes the answer rings the bell, and to ask takes the lock; example `ring`. Now and then it
            // asks all the same, and always before it parks.
            round = round.wrapping_add(1);
            let rung = bell.word.load(Ordering::Acquire); // pairs with the release in `DueRing::ring`
            if rung != asked_at || !looks || round.is_multiple_of(ASKS_EACH) {
                asked_at = rung;
                if let Some(found) = ask()? {
                    return Ok(Some(found));
                }
            }
            if let Some(error) = self.given_up() {
                return Err(error);
            }
            if waited >= deadline {
                if then == AtDeadline::GoesOn {
                    return Ok(None);
                }
                let late = (long.late)(&lock(&self.state).channels, waited);
                match self.give_up(&late) {
                    Some(more) => deadline = waited.saturating_add(more),
                    None => return Err(NetError::Late(late)),
                }
            }
            if waited >= asks_after && then == AtDeadline::IsLate {
                asks_after *= 2;
                self.with_channels(|channels, shim, _| (long.asks)(channels, shim, waited))?;
            }
            if looks {
                give_way(waited);
                continue;
            }
            let pause = if is_inline { IDLE.max(self.lull()) } else { DISTRUST };
            let ended = bell.park(asked_at, Instant::now() + pause.min(deadline - waited));
            if !is_inline && ended == WaitOutcome::TimedOut {
                self.poll();
            }
        }
    }

    /// By one who waits, and looks itself at first, or always in mode `Inline`.
    fn look_some_times(&self, now: u64, is_inline: bool, looks: bool) {
        // PERF: the answer of another rank takes several looks, and a look less time than the clock.
        let looks = if looks { LOOKS_EACH } else { u32::from(is_inline) };
        let _found = (0..looks).any(|_| self.poll_at(now, false));
    }

    /// Begins to receive the bytes of a message that was taken, and tells its sender so: both or, if the net comes to
    /// its end, neither: nobody would send what is received.
    pub(crate) fn start_taken(&self, post: &Arc<Post>, end: u32) -> Result<(), NetError> {
        self.start_beside(post, |state| {
            if state.channels.is_closing {
                return Err(NetError::Over);
            }
            state.channels.say_take(&self.shim, end);
            Ok(())
        })
    }

    /// Waits for the bytes of a message, as at an end: with looks of one's own at first.
    pub(crate) fn wait_for_bytes(&self, post: &Post, deadline: Duration) -> Result<(), NetError> {
        let began = Instant::now();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(self);
        while !post.is_done() && self.waiting.load(Ordering::Relaxed) <= LOOKERS {
            let waited = began.elapsed();
            if waited >= LOOKS_FOR.min(deadline) {
                break;
            }
            self.poll();
            give_way(waited);
        }
        drop(waiting);
        self.wait(post, deadline.saturating_sub(began.elapsed()))
    }

    /// All ends of this rank are closed, so that others who wait at theirs hear it; whether there were any.
    pub(crate) fn close_channels(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.is_over {
            state.channels.close_all(&self.shim);
            let ended = self.count_channels(&mut state);
            let is_used = state.channels.is_used();
            // Some may wait for an end that nobody has bound, which hears nothing any more.
            let mut heard = Heard::default();
            state.channels.ring_all(&mut heard);
            drop(state);
            heard.ring();
            ended.end();
            return is_used;
        }
        false
    }

    /// How many frames have gone to each rank; none goes any more.
    pub(crate) fn frames_sent(&self, ranks: usize) -> Vec<u64> {
        lock(&self.state).channels.end_sending(ranks)
    }

    /// Waits until so many frames have come of each rank: MPI is not to end while any is on its way.
    pub(crate) fn hear_out(&self, of: &[u64], deadline: Duration) -> Result<(), NetError> {
        let began = Instant::now();
        loop {
            self.poll();
            let state = lock(&self.state);
            if state.channels.has_heard_all(of) {
                return Ok(());
            }
            if let Some(error) = &state.channels.broken {
                return Err(error.clone());
            }
            drop(state);
            let waited = began.elapsed();
            if waited >= deadline {
                let pending = vec!["what ends of channels have said has not come".to_owned()];
                let what = "the end of channels".to_owned();
                return Err(NetError::Late(Late { what, waited, pending, strays: Vec::new() }));
            }
            pause();
        }
    }
}

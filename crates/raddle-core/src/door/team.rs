//! Owns: `TeamWord`, at which a team waits for its next round, spinning for a while before it sleeps; and that spin.
//! May use: `worker`.
//! Never: a spin while anything else wants the worker.
//!
//! The members of a parallel region go from round to round: a master releases them, each does its share, the last to
//! arrive begins the next round. Rounds of microseconds on as many workers as there are members are too short to sleep
//! in between: a sleep and a wake of an OS thread take longer. So who waits for a round may *spin* for a while. With
//! more members than workers that is wrong: those who are to arrive wait for the very worker. So nobody spins whose
//! worker has anything else to run.
//!
//! A barrier:
//!
//! ```
//! use raddle_core::door::team::{TeamWord, default_spin};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! struct Barrier { members: u32, missing: AtomicU32, rounds: TeamWord }
//!
//! impl Barrier {
//!     fn wait(&self) {
//!         // Before the arrival: after it the round may end at any moment.
//!         let round = self.rounds.round();
//!         if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
//!             self.missing.store(self.members, Ordering::Relaxed);
//!             self.rounds.begin_next();
//!         } else {
//!             self.rounds.wait(round, default_spin(self.members as usize));
//!         }
//!     }
//! }
//!
//! raddle::Runtime::builder().workers(2).build().unwrap().run(|| {
//!     let all = Arc::new(Barrier { members: 4, missing: AtomicU32::new(4), rounds: TeamWord::new() });
//!     let members = (0..4).map(|_| all.clone()).map(|all| {
//!         raddle::thread::spawn(move || (0..100).for_each(|_| all.wait()))
//!     });
//!     members.collect::<Vec<_>>().into_iter().for_each(|member| member.join().unwrap());
//!     assert_eq!(all.rounds.round(), 100);
//! });
//! ```

use super::futex::{self, ANY, FutexWord, WaitOptions, WaitOutcome};
use crate::worker::{Here, WakeTo, Worker};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The number of a team's round. For C it is a `uint32_t` that begins as 0.
///
/// Whoever waits has read the number, and must not sleep through 2^32 rounds.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct TeamWord(AtomicU32);

/// How long a member of a team of so many spins before it sleeps, if nobody says otherwise: 20 us, about what it takes
/// to wake a sleeping worker; nothing in a team that is larger than its runtime has workers, or on an OS thread.
pub fn default_spin(members: usize) -> Duration {
    const LOOK: Duration = Duration::from_micros(20);
    let fits = Worker::with_current(|worker| members > 1 && members <= worker.shared().workers().len());
    if fits == Some(true) { LOOK } else { Duration::ZERO }
}

/// Spins until `what` is true, for up to `spin` and no longer than a millisecond, as long as the caller's worker has
/// nothing else to do. False if it has not come true; at once so on an OS thread.
#[inline]
pub fn spin_until(spin: Duration, what: impl Fn() -> bool) -> bool {
    let spin_ns = u64::try_from(spin.as_nanos()).unwrap_or(u64::MAX);
    // SAFETY: nothing here leaves the OS thread.
    unsafe { Here::current() }.is_some_and(|worker| worker.spin_for(spin_ns, what))
}

/// As [`futex::wake`], and a thread that is woken goes to a worker that sleeps, if there is one. Else it would join the
/// caller's. For who goes on beside those whom it wakes, for longer than it takes to wake a worker.
pub fn wake_apart<W: FutexWord>(word: *const W, count: u32, bits: u32) -> u32 {
    let wakes = || futex::wake(word, count, bits);
    // SAFETY: to wake somebody is not to wait: nothing here leaves the OS thread.
    unsafe { Here::current() }.map_or_else(wakes, |worker| worker.waking(WakeTo::Apart, wakes))
}

/// As [`futex::wake`], and a thread that is woken goes to the worker of this number, counted from 0, and from the first
/// again. Else it would come to the caller's. For who wakes many that have more to do than it takes to wake a worker.
/// Others may take it there, as anywhere.
///
/// ```
/// use raddle_core::door::futex::ANY;
/// use std::sync::atomic::AtomicU32;
///
/// let word = AtomicU32::new(0);
/// assert_eq!(raddle_core::door::team::wake_at(&raw const word, 1, ANY, 1), 0, "nobody waits");
/// ```
pub fn wake_at<W: FutexWord>(word: *const W, count: u32, bits: u32, to: usize) -> u32 {
    let wakes = || futex::wake(word, count, bits);
    // SAFETY: as above.
    unsafe { Here::current() }.map_or_else(wakes, |worker| worker.waking(WakeTo::Worker(to), wakes))
}

impl TeamWord {
    /// Round 0.
    pub const fn new() -> TeamWord {
        TeamWord(AtomicU32::new(0))
    }

    /// The round that is under way. Sees all that was done before it began.
    #[inline]
    pub fn round(&self) -> u32 {
        self.0.load(Ordering::Acquire) // pairs with the release in `begin_next`
    }

    /// Begins the next round: who waits for the end of this one goes on, and sees all that was done before.
    ///
    /// It looks at the word no more when others may have seen the change: the last member may free it then.
    #[inline]
    pub fn begin_next(&self) {
        let word = &raw const self.0;
        self.0.fetch_add(1, Ordering::Release); // pairs with the acquire in `round`
        futex::wake(word, u32::MAX, ANY);
    }

    /// Waits until the round is not `round` any more. Spins for up to `spin`, and no longer than a
    /// millisecond, as long as its worker has nothing else to do; then it sleeps. An OS thread sleeps at once.
    ///
    /// A cancellation does not unwind: it ends the wait with [`WaitOutcome::Cancelled`], and the round may be the same
    /// then. Else the outcome is [`WaitOutcome::Woken`], or [`WaitOutcome::Differs`] if it need not sleep.
    ///
    /// # Panics
    /// In a Rust future, and in a poller's call, if it has to sleep.
    #[track_caller]
    pub fn wait(&self, round: u32, spin: Duration) -> WaitOutcome {
        let is_over = || self.round() != round;
        if is_over() || spin_until(spin, is_over) {
            return WaitOutcome::Differs;
        }
        loop {
            let outcome = futex::wait_or_cancelled(&self.0, round, &WaitOptions::default());
            // A wake may be meant for a former word.
            if outcome == WaitOutcome::Cancelled || is_over() {
                return outcome;
            }
        }
    }
}

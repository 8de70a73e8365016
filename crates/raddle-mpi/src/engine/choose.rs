//! Owns: which mode acts: what the program asks for, and what `auto` decides between two asks.
//! May use: `auto`, `error`, `mode`, `post`, `libc`, `raddle-core`, `raddle-syscall`.
//! Never: a decision of `auto` that outlives what was asked for later.

use super::{DEDICATED, Engine, GAP_MAX_NS, IDLE, SHARED, WATCHED};
use crate::auto::{Auto, AutoReport};
use crate::error::NetError;
use crate::mode::Mode;
use crate::post::Post;
use raddle_core::door::poller::Poller;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The number of a processor as the shim takes it; -1 for any.
fn processor(core: Option<usize>) -> Result<i32, NetError> {
    let number = core.map_or(Ok(-1), i32::try_from);
    number.map_err(|_| NetError::Misuse("there is no such processor".to_owned()))
}

/// How many processors are in a set.
fn count(set: &libc::cpu_set_t) -> usize {
    // SAFETY: it only reads the set.
    usize::try_from(unsafe { libc::CPU_COUNT(set) }).unwrap_or(1)
}

/// A mode with what it needs to act.
struct ReadyMode {
    mode: Mode,
    poller: Option<Arc<Poller>>,
    core: Option<i32>,
}

impl Engine {
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
        // First: one that cannot be leaves all as it is.
        let ready = self.ready(acting)?;
        let choice = self.choices.ask(auto);
        self.act(ready, choice);
        Ok(())
    }

    /// What is needed for that mode to act.
    fn ready(self: &Arc<Engine>, mode: Mode) -> Result<ReadyMode, NetError> {
        let poller = match mode {
            Mode::Shared | Mode::Watched => Some(Arc::new(self.poller()?)),
            _ => None,
        };
        let core = if let Mode::Dedicated { core } = mode { Some(processor(core)?) } else { None };
        Ok(ReadyMode { mode, poller, core })
    }

    /// Has that mode act, unless another one was asked for since.
    fn act(&self, ReadyMode { mode, poller, core }: ReadyMode, choice: u32) {
        let former = self.choices.act(&self.state, choice, |state| {
            core.into_iter().for_each(|core| self.core.store(core, Ordering::Relaxed));
            if let Some(poller) = &poller {
                poller.begin(state.pending);
            }
            let number = match mode {
                Mode::Shared => SHARED,
                Mode::Watched => WATCHED,
                Mode::Dedicated { .. } => DEDICATED,
                Mode::Inline | Mode::Auto { .. } => 0,
            };
            self.mode.store(number, Ordering::Relaxed);
            std::mem::replace(&mut state.poller, poller)
        });
        self.pay_channels();
        // It may wait for a call that is under way, and that wants the lock.
        if former.is_some() {
            drop(former);
            self.ring(0);
        }
    }

    /// A plan is about to be started: in mode `Auto` that ends an iteration, and may change who looks.
    pub(crate) fn pace(self: &Arc<Engine>, post: &Post) -> Result<(), NetError> {
        let gap = || self.tally.gap_of_late_ns.swap(0, Ordering::Relaxed);
        let next = self.choices.decide(|auto| auto.begins(post.number, self.now(), gap));
        if let Some((mode, choice)) = next {
            let ready = self.ready(mode)?;
            self.act(ready, choice);
        }
        Ok(())
    }

    /// Somebody has waited for a plan.
    pub(crate) fn note_wait(&self, waited: Duration) {
        let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.choices.tell(|auto| auto.waited(waited));
    }

    pub(crate) fn auto_report(&self) -> Option<AutoReport> {
        self.choices.ask_it(Auto::report)
    }

    /// The one that was asked for.
    pub(crate) fn mode(&self) -> Mode {
        self.choices.ask_it(Auto::mode).unwrap_or_else(|| self.acting())
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
            if self.has_waiters() {
                return IDLE.max(self.lull());
            }
            let due = self.next_ns.load(Ordering::Relaxed);
            return Duration::from_nanos(due.saturating_sub(self.now()).max(1000));
        }
        self.poll();
        if self.has_waiters() {
            IDLE.max(self.lull())
        } else {
            Duration::from_nanos(self.gap_ns.load(Ordering::Relaxed))
        }
    }
}

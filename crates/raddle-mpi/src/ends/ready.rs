//! Owns: `WhenSent`, a channel between ranks in `select!` and in `alt!`.
//! May use: `channel::bell`, `engine::channels`, `error`, `gate`, `raddle-sync`.
//! Never: a wait; the selection waits.
//!
//! As a descriptor there: what `select!` asks for is a channel, to which is sent when the end is ready; what `alt!`
//! asks for is an end of `csp`, whose other end is dropped then: neither waits.

use super::end::{ChannelEnd, ChoiceTime};
use crate::channel::{EndBell, ReadyListener};
use crate::engine::WaitsAtEnd;
use crate::error::NetError;
use crate::gate::lock;
use raddle_sync::channel::{self, bounded};
use raddle_sync::csp;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A [`RemoteReceiver`](crate::RemoteReceiver) in [`select!`](raddle_sync::channel::select!),
/// [`alt!`](raddle_sync::csp::alt!) and [`pri_alt!`](raddle_sync::csp::pri_alt!): made by
/// [`when_sent`](crate::RemoteReceiver::when_sent), for one selection.
#[must_use = "it is a case of `select!` or `alt!`"]
pub struct WhenSent {
    key: u64,
    bell: Arc<EndBell>,
    tells: Arc<TellsReady>,
    /// What `select!` has asked for.
    ready: OnceLock<channel::Receiver<()>>,
    /// Another channel for `alt!`.
    meets: OnceLock<csp::Receiver<()>>,
}

/// Whom to tell, and as long as that is outstanding, that somebody listens.
struct TellsReady {
    told: Mutex<(WhoIsTold, Option<WaitsAtEnd>)>,
    choice: Arc<ChoiceTime>,
    key: u64,
}

#[derive(Default)]
enum WhoIsTold {
    /// Nobody has asked yet.
    #[default]
    Nobody,
    /// It has told already.
    Done,
    Selection(channel::Sender<()>),
    Alternation(csp::Sender<()>),
}

impl WhoIsTold {
    fn tell(self) {
        match self {
            WhoIsTold::Nobody | WhoIsTold::Done => {}
            WhoIsTold::Selection(to) => {
                // Full, if it has told so already; the receiver may be gone.
                let _told = to.try_send(());
            }
            // The other end finds this one gone.
            WhoIsTold::Alternation(to) => drop(to),
        }
    }
}

impl TellsReady {
    /// Tells this one as soon as the end is ready, which it may be.
    fn ask(&self, who: WhoIsTold) {
        let mut told = lock(&self.told);
        if matches!(told.0, WhoIsTold::Done) {
            drop(told);
            return who.tell();
        }
        told.0 = who;
    }
}

impl ReadyListener for TellsReady {
    fn is_ready(&self) {
        let (who, listens) = std::mem::replace(&mut *lock(&self.told), (WhoIsTold::Done, None));
        drop(listens);
        who.tell();
    }

    fn is_late(&self) {
        self.choice.note_late(self.key);
        self.is_ready();
    }
}

impl WhenSent {
    pub(super) fn new(end: &ChannelEnd) -> Result<WhenSent, NetError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let tells = Arc::new(TellsReady { told: Mutex::default(), choice: end.choice.clone(), key });
        end.engine.poll();
        let now = end.engine.now();
        end.choice.begin(key, now);
        let until_ns = now.saturating_add(u64::try_from(end.deadline.as_nanos()).unwrap_or(u64::MAX));
        // Before it listens: who tells it takes this away.
        lock(&tells.told).1 = Some(WaitsAtEnd::begin(&end.engine, true)?);
        let is_ready = end.engine.with_channels(|channels, _, _| {
            let is_ready = channels.end(end.number).is_none_or(|record| record.is_ready())
                || end.engine.given_up().is_some();
            if !is_ready {
                end.bell.listen(key, until_ns, tells.clone());
                channels.will_be_late(until_ns);
            }
            is_ready
        })?;
        if is_ready {
            tells.is_ready();
        }
        let (ready, meets) = (OnceLock::new(), OnceLock::new());
        Ok(WhenSent { key, bell: end.bell.clone(), tells, ready, meets })
    }

    /// What `select!` asks of an end.
    #[doc(hidden)]
    pub fn receiver_of_raddle_channel(&self) -> &channel::Receiver<()> {
        self.ready.get_or_init(|| {
            let (to, from) = bounded(1);
            self.tells.ask(WhoIsTold::Selection(to));
            from
        })
    }

    fn meeting(&self) -> &csp::Receiver<()> {
        self.meets.get_or_init(|| {
            let (to, from) = csp::channel();
            self.tells.ask(WhoIsTold::Alternation(to));
            from
        })
    }
}

/// What `alt!` asks for: an end whose other end is gone when the channel is ready.
impl Deref for WhenSent {
    type Target = csp::Receiver<()>;

    fn deref(&self) -> &csp::Receiver<()> {
        self.meeting()
    }
}

impl DerefMut for WhenSent {
    fn deref_mut(&mut self) -> &mut csp::Receiver<()> {
        let _asked = self.meeting();
        self.meets.get_mut().expect("it has just been made")
    }
}

impl Drop for WhenSent {
    fn drop(&mut self) {
        self.bell.unlisten(self.key);
        // Not under the lock: it takes the engine's.
        let listens = lock(&self.tells.told).1.take();
        drop(listens);
        // As long as the body of another case runs it may be told that it is late.
        self.tells.choice.end(self.key);
    }
}

impl fmt::Debug for WhenSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WhenSent").finish_non_exhaustive()
    }
}

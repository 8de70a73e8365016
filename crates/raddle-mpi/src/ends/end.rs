//! Owns: `ChannelEnd`: what both ends of a channel between ranks are, and what they say when something is late.
//! May use: `channel`, `engine`, `error`, `net`, `shim`, `raddle-core`.
//! Never: an end that is dropped in silence: the other one hears it.

use super::message::RemoteMessage;
use crate::channel::{Binding, ChannelTable, EndBell, EndIsGone, EndRecord, EndRole, EndState, LongWait};
use crate::engine::{AtDeadline, Engine, WaitsLong};
use crate::error::{Late, NetError};
use crate::net::Net;
use crate::shim::Shim;
use raddle_core::process;
use raddle_core::wait::Author;
use std::cell::OnceCell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// So many other ends are named where one is late.
const OTHERS: usize = 8;

/// An end, of either kind.
pub(super) struct ChannelEnd {
    pub(super) engine: Arc<Engine>,
    pub(super) number: u32,
    pub(super) bell: Arc<EndBell>,
    pub(super) peer: usize,
    pub(super) name: String,
    pub(super) deadline: Duration,
    pub(super) choice: Arc<ChoiceTime>,
    /// Where it was used last.
    pub(super) place: &'static Location<'static>,
}

/// How long an end has been in a choice in which nothing has come: its last one.
#[derive(Default)]
pub(super) struct ChoiceTime {
    began_ns: AtomicU64,
    /// The key of that choice, twice, and one more if it is late; 0 when it is over. Who tells that a choice is late
    /// does so without a lock, perhaps when it is over and the end in the next one, of which that says nothing.
    choice: AtomicU64,
}

impl ChoiceTime {
    /// Keys are other than 0, and each is used once.
    pub(super) fn begin(&self, key: u64, now: u64) {
        self.began_ns.store(now, Ordering::Relaxed);
        self.choice.store(key << 1, Ordering::Relaxed);
    }

    pub(super) fn note_late(&self, key: u64) {
        // Release pairs with the acquire in `take_late`: who finds it is told since when.
        let (release, relaxed) = (Ordering::Release, Ordering::Relaxed);
        let _over = self.choice.compare_exchange(key << 1, key << 1 | 1, release, relaxed);
    }

    /// The choice is over. Who was not chosen, and is told only then that it is late, is not.
    pub(super) fn end(&self, key: u64) {
        let (relaxed, is_it) = (Ordering::Relaxed, |choice: u64| (choice >> 1 == key).then_some(0));
        let _another = self.choice.fetch_update(relaxed, relaxed, is_it);
    }

    /// For how long, if it is late and that has not been asked before.
    fn take_late(&self, now: u64) -> Option<Duration> {
        let is_late = |choice: u64| (choice & 1 != 0).then_some(choice & !1);
        // Acquire pairs with the release in `note_late`.
        let late = self.choice.fetch_update(Ordering::Acquire, Ordering::Relaxed, is_late);
        late.ok().map(|_| Duration::from_nanos(now.saturating_sub(self.began_ns.load(Ordering::Relaxed))))
    }
}

/// A number of who runs here, which no other process or OS thread of the program ever has.
fn this_user() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(3);
    thread_local! {
        static OWN: u64 = NEXT.fetch_add(2, Ordering::Relaxed);
    }
    // Those of processes are even.
    match Author::here().to_bits() {
        0 | 1 => OWN.with(|own| *own),
        process => process,
    }
}

/// A wait at an end that may come to ask round; when it is over it is not passed by any more.
struct AsksRound<'e> {
    end: &'e ChannelEnd,
    wait: OnceCell<u64>,
}

impl AsksRound<'_> {
    fn ask(&self, what: &str, (channels, shim): (&mut ChannelTable, &Shim), (user, waited): (u64, Duration)) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = *self.wait.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed));
        let who = process::current().map_or("an OS thread".to_owned(), |process| match process.name() {
            Some(name) => format!("process '{name}' (#{})", process.id()),
            None => format!("process #{}", process.id()),
        });
        let (ChannelEnd { name, place, .. }, seconds) = (self.end, waited.as_secs_f64());
        let words = format!("{what} channel `{name}` at {place} by {who}, for {seconds:.1} s");
        channels.ask_round(shim, self.end.number, LongWait { number, user, words });
    }
}

impl Drop for AsksRound<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.wait.get() {
            let end = self.end;
            // Once the net is over nobody asks.
            let _over = end.engine.with_channels(|channels, _, _| channels.ends_wait(end.number, *number));
        }
    }
}

/// Why an end has no answer.
pub(super) enum EndFailure {
    Gone,
    Net(NetError),
}

impl From<EndIsGone> for EndFailure {
    fn from(_: EndIsGone) -> Self {
        EndFailure::Gone
    }
}

impl From<NetError> for EndFailure {
    fn from(error: NetError) -> Self {
        EndFailure::Net(error)
    }
}

impl ChannelEnd {
    pub(super) fn new<T: RemoteMessage>(
        net: &Net,
        name: &str,
        (peer, role): (usize, EndRole),
        capacity: u32,
    ) -> Result<ChannelEnd, NetError> {
        ChannelEnd::at_bell::<T>(net, name, (peer, role), capacity, Arc::default())
    }

    /// An end at whose bell those of others may be, too.
    pub(super) fn at_bell<T: RemoteMessage>(
        net: &Net,
        name: &str,
        (peer, role): (usize, EndRole),
        capacity: u32,
        bell: Arc<EndBell>,
    ) -> Result<ChannelEnd, NetError> {
        if peer >= net.size() {
            let text = format!("channel `{name}`: there is no rank {peer} of {} ranks", net.size());
            return Err(NetError::Misuse(text));
        }
        let type_bytes = u32::try_from(T::type_bytes()).map_err(|_| {
            NetError::Misuse(format!("channel `{name}`: messages of {} bytes each", T::type_bytes()))
        })?;
        let (name, type_name) = (name.to_owned(), T::type_name());
        let binding = Binding { name: name.clone(), role, capacity, type_name, type_bytes };
        binding.check()?;
        let place = (net.rank(), peer);
        let number = net.engine.with_channels(|channels, shim, heard| {
            channels.bind(shim, place, (binding, bell.clone()), heard)
        })??;
        let (engine, deadline) = (net.engine.clone(), net.deadline);
        let (choice, place) = (Arc::default(), Location::caller());
        Ok(ChannelEnd { engine, number, bell, peer, name, deadline, choice, place })
    }

    /// Waits at the end until `answer` has one, or there is a fault. Asks before it looks, if it is likely to have one.
    pub(super) fn wait<R>(
        &self,
        what: &str,
        at: (Duration, AtDeadline),
        asks_first: bool,
        mut answer: impl FnMut(&mut ChannelTable, &Shim) -> Option<R>,
    ) -> Result<Option<R>, NetError> {
        let (number, user) = (self.number, this_user());
        let asks = AsksRound { end: self, wait: OnceCell::new() };
        let found = self.engine.wait_at(
            &self.bell,
            at,
            |channels, shim| {
                channels.used_by(number, user);
                match channels.end(number).map(|record| record.fault.clone()) {
                    Some(Some(fault)) => Some(Err(fault)),
                    _ => answer(channels, shim).map(Ok),
                }
            },
            WaitsLong {
                asks_first,
                asks: &|channels, shim, waited| asks.ask(what, (channels, shim), (user, waited)),
                late: &|channels, waited| self.late(what, channels, waited),
            },
        )?;
        found.transpose()
    }

    /// Whether the last choice that this end was in came to its deadline: for how long that was.
    pub(super) fn late_choice(&self) -> Option<Duration> {
        self.choice.take_late(self.engine.now())
    }

    /// The error of that, if the program does not want to wait again.
    pub(super) fn choice_is_late(&self, waited: Duration) -> Result<Option<NetError>, NetError> {
        let late = self
            .engine
            .with_channels(|channels, _, _| self.late("a choice among others at", channels, waited))?;
        Ok(self.engine.give_up(&late).is_none().then_some(NetError::Late(late)))
    }

    fn late(&self, what: &str, channels: &ChannelTable, waited: Duration) -> Late {
        let mut pending: Vec<String> = channels.end(self.number).map(pending).into_iter().collect();
        pending.extend(channels.end(self.number).and_then(|record| record.circle.clone()));
        // Who else is late, perhaps.
        let others =
            channels.awaited().filter(|(number, record)| *number != self.number && !record.is_ready());
        pending.extend(
            others.take(OTHERS).map(|(_, record)| format!("also waited for: {}", self::pending(record))),
        );
        let unbound = channels.end(self.number).is_some_and(|record| record.theirs.is_none());
        let strays = if unbound { channels.unclaimed_of(self.peer) } else { Vec::new() };
        Late { what: format!("{what} channel `{}`", self.name), waited, pending, strays }
    }
}

impl Drop for ChannelEnd {
    fn drop(&mut self) {
        // Once the net is over nobody hears it.
        let _over = self.engine.with_channels(|channels, shim, _| channels.close(shim, self.number));
    }
}

/// What an end waits for, in words.
fn pending(record: &EndRecord) -> String {
    let (EndRecord { peer, binding, .. }, of) = (record, record.describe());
    if record.theirs.is_none() {
        let verb = if binding.role == EndRole::Sends { "receives" } else { "sends" };
        return format!("{of}: rank {peer} has not bound the end that {verb} {}", binding.type_name);
    }
    match &record.state {
        EndState::Sending(end) => {
            let (offered, taken) = end.counts();
            format!("{of}: {offered} messages were offered, and rank {peer} has taken {taken}")
        }
        EndState::Receiving(end) => format!("{of}: rank {peer} has offered {} messages", end.heard()),
    }
}

/// Waits until all ends of the rank are bound.
pub(super) fn bind_all(net: &Net) -> Result<(), NetError> {
    let unbound = |channels: &ChannelTable| -> Vec<u32> {
        let each = channels.numbers();
        let waits = |end: &EndRecord| end.theirs.is_none() && !end.is_closed();
        each.filter(|number| channels.end(*number).is_some_and(waits)).collect()
    };
    loop {
        let first = net.engine.with_channels(|channels, _, _| {
            let first = unbound(channels).first().copied();
            first.and_then(|number| Some((number, channels.bell(number)?)))
        })?;
        let Some((number, bell)) = first else { break };
        let late = |channels: &ChannelTable, waited: Duration| {
            let left: Vec<&EndRecord> =
                unbound(channels).into_iter().filter_map(|end| channels.end(end)).collect();
            let mut peers: Vec<usize> = left.iter().map(|record| record.peer).collect();
            peers.sort_unstable();
            peers.dedup();
            Late {
                what: "the binding of channels".to_owned(),
                waited,
                pending: left.into_iter().map(pending).collect(),
                strays: peers.into_iter().flat_map(|peer| channels.unclaimed_of(peer)).collect(),
            }
        };
        let is_bound = |channels: &mut ChannelTable, _: &Shim| {
            // It may have been dropped meanwhile.
            let waits =
                channels.end(number).is_some_and(|record| record.theirs.is_none() && !record.is_closed());
            (!waits).then_some(())
        };
        let long = WaitsLong { asks_first: true, asks: &|_, _, _| (), late: &late };
        net.engine.wait_at(&bell, (net.deadline, AtDeadline::IsLate), is_bound, long)?;
    }
    let faults = net.engine.with_channels(|channels, _, _| {
        let mut used =
            channels.numbers().filter_map(|number| channels.end(number).filter(|end| !end.is_closed()));
        used.find_map(|end| end.fault.clone())
    })?;
    faults.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_late_once_and_not_for_the_one_before_it() {
        let (choice, after) = (ChoiceTime::default(), Duration::from_nanos);
        choice.begin(1, 100);
        assert_eq!(choice.take_late(150), None);
        choice.note_late(1);
        assert_eq!([choice.take_late(200), choice.take_late(300)], [Some(after(100)), None]);
        choice.end(1);
        // That the first is late was found before it was over, and is told when the second has begun.
        choice.begin(2, 1000);
        choice.note_late(1);
        assert_eq!(choice.take_late(1001), None);
        choice.end(1);
        choice.note_late(2);
        assert_eq!(choice.take_late(1100), Some(after(100)));
        choice.note_late(2);
        choice.end(2);
        choice.note_late(2);
        assert_eq!(choice.take_late(1200), None);
    }
}

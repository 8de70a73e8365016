//! Owns: `ChannelEnd`: what both ends of a channel between ranks are, and what they say when something is late.
//! May use: `channel`, `engine`, `error`, `net`, `shim`.
//! Never: an end that is dropped in silence: the other one hears it.

use super::message::RemoteMessage;
use crate::channel::{Binding, ChannelTable, EndBell, EndIsGone, EndRecord, EndRole, EndState};
use crate::engine::{AtDeadline, Engine};
use crate::error::{Late, NetError};
use crate::net::Net;
use crate::shim::Shim;
use std::sync::Arc;
use std::time::Duration;

/// An end, of either kind.
pub(super) struct ChannelEnd {
    pub(super) engine: Arc<Engine>,
    pub(super) number: u32,
    pub(super) bell: Arc<EndBell>,
    pub(super) peer: usize,
    pub(super) name: String,
    pub(super) deadline: Duration,
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
        Ok(ChannelEnd { engine, number, bell, peer, name, deadline })
    }

    /// Waits at the end until `answer` has one, or there is a fault.
    pub(super) fn wait<R>(
        &self,
        what: &str,
        at: (Duration, AtDeadline),
        mut answer: impl FnMut(&mut ChannelTable, &Shim) -> Option<R>,
    ) -> Result<Option<R>, NetError> {
        let number = self.number;
        let found = self.engine.wait_at(
            &self.bell,
            at,
            |channels, shim| match channels.end(number).map(|record| record.fault.clone()) {
                Some(Some(fault)) => Some(Err(fault)),
                _ => answer(channels, shim).map(Ok),
            },
            |channels, waited| self.late(what, channels, waited),
        )?;
        found.transpose()
    }

    fn late(&self, what: &str, channels: &ChannelTable, waited: Duration) -> Late {
        let pending = channels.end(self.number).map(pending).into_iter().collect();
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
        net.engine.wait_at(&bell, (net.deadline, AtDeadline::IsLate), is_bound, late)?;
    }
    let faults = net.engine.with_channels(|channels, _, _| {
        let mut used =
            channels.numbers().filter_map(|number| channels.end(number).filter(|end| !end.is_closed()));
        used.find_map(|end| end.fault.clone())
    })?;
    faults.map_or(Ok(()), Err)
}

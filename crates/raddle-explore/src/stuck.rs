//! Owns: `Stuck`: who waits when nothing can run any more, for what, and who could have ended it.
//! May use: `failure`, `known`, `site`, `raddle-core`, `raddle-protocol`.
//! Never: a look at what has ended.

use crate::failure::{Cause, StuckProcess};
use crate::known::Known;
use crate::site::Sites;
use raddle_core::block::Block;
use raddle_core::stack_search::{Candidate, ON_NO_STACK, Reached, Search, could};
use raddle_core::wait::{Thing, Wait, held_by};
use raddle_protocol::header::{Header, Kind};
use std::collections::HashMap;

/// The call that waits for another's end.
const JOIN: &str = "join";
/// Room for the things that somebody waits for.
const THINGS_MAX: usize = 10_000;
/// So many of those who could end a wait are named.
const PEERS_MAX: usize = 3;

/// Those who wait.
pub(crate) struct Stuck<'s> {
    known: &'s HashMap<*mut Header, Known>,
    sites: &'s Sites,
    /// In the order in which they came.
    waiting: Vec<(*mut Header, &'s Known)>,
    reached: Reached,
}

impl<'s> Stuck<'s> {
    /// Looks at all that are known.
    ///
    /// # Safety
    /// They have not ended, nothing runs on the worker that calls, and they belong to no other.
    pub(crate) unsafe fn of(known: &'s HashMap<*mut Header, Known>, sites: &'s Sites) -> Stuck<'s> {
        let processes = known.iter().filter(|(_, known)| known.kind == Kind::Process);
        let mut waiting: Vec<_> = processes.map(|(header, known)| (*header, known)).collect();
        waiting.sort_unstable_by_key(|(_, known)| known.number);
        let mut stuck = Stuck { known, sites, waiting, reached: Reached::default() };
        stuck.reached = stuck.search();
        stuck
    }

    /// What is told. `alive` have not ended.
    pub(crate) fn cause(&self, alive: u64) -> Cause {
        let tasks = alive.saturating_sub(self.waiting.len() as u64);
        let place = |whom: usize| self.waiting.iter().position(|(other, _)| other.addr() == whom);
        let next: Vec<Option<usize>> =
            self.waiting.iter().map(|(header, _)| self.next(*header).and_then(place)).collect();
        let order =
            StuckProcess::in_order(&next, |at| wait_of(self.waiting[at].0).is_some_and(|wait| joins(&wait)));
        let tell = |at: &usize| {
            let (header, known) = self.waiting[*at];
            StuckProcess { who: Known::to_string(known), at: self.text(header, known) }
        };
        Cause::Deadlock { waiting: order.all.iter().map(tell).collect(), first: order.first, tasks }
    }

    /// Who has something that another waits for.
    fn search(&self) -> Reached {
        let mut search = Search::with_room(THINGS_MAX);
        for (header, _) in &self.waiting {
            things_of(*header).into_iter().for_each(|thing| search.add(thing));
        }
        search.begin();
        for (header, _) in &self.waiting {
            // SAFETY: it has not ended.
            let block = unsafe { Block::of_header(*header) };
            // SAFETY: nothing runs on this worker, and it belongs to no other.
            let Some(memory) = (unsafe { block.kept() }) else { continue };
            // SAFETY: as above.
            unsafe { search.look_through(header.addr(), memory) };
        }
        search.end(|who| {
            let Some((header, known)) = self.waiting.iter().find(|(header, _)| header.addr() == who) else {
                return Candidate::default();
            };
            Candidate {
                waits_for: things_of(*header).iter().map(|thing| thing.subject).collect(),
                just_joins: wait_of(*header).is_some_and(|wait| joins(&wait)),
                born: u64::from(known.number),
            }
        })
    }

    /// The address of whom a process waits for: who holds what it needs, is to end, or could supply it.
    fn next(&self, header: *mut Header) -> Option<usize> {
        let wait = wait_of(header)?;
        let joined = (wait.name() == JOIN).then(|| wait.subject().addr());
        let could = || self.peers(header).first().copied();
        wait.held().map(|held| held.who().addr()).or(joined).or_else(could)
    }

    fn peers(&self, header: *mut Header) -> Vec<usize> {
        let mut peers = Vec::new();
        for peer in things_of(header).iter().flat_map(|thing| self.reached.with(thing)) {
            if !peers.contains(peer) {
                peers.push(*peer);
            }
        }
        peers
    }

    /// What a process waits for, and who holds that, if the call has said so; else what it did last.
    fn text(&self, header: *mut Header, known: &Known) -> String {
        let Some(wait) = wait_of(header) else {
            return format!("{}{}", known.at, self.sites.text(&known.place).unwrap_or_default());
        };
        let mut text = format!("{} at {}", wait.name(), wait.site());
        let name = |whom: usize| {
            let one = self.known.iter().find(|(header, _)| header.addr() == whom);
            one.map(|(_, known)| known.to_string())
        };
        if let Some(held) = wait.held() {
            text += &format!(", {}", held_by(name(held.who().addr()).as_deref(), held.since()));
        } else if wait.name() == JOIN {
            text += &name(wait.subject().addr()).map_or_else(String::new, |child| format!(", for {child}"));
        } else {
            text += &self.supply(header, &wait);
        }
        text
    }

    /// ` (channel: senders: 1, receivers: 1), could come from 'b'`, if nobody is known to hold it.
    fn supply(&self, header: *mut Header, wait: &Wait<'_>) -> String {
        let mut text = String::new();
        if wait.kind() != "process" {
            let _infallible = wait.write_state(&mut text);
        }
        if !text.is_empty() {
            text = format!(" ({}: {text})", wait.kind());
        }
        let known = |whom: &usize| self.known.iter().find(|(header, _)| header.addr() == *whom);
        let peers = self.peers(header);
        let names: Vec<String> =
            peers.iter().take(PEERS_MAX).filter_map(known).map(|(_, known)| known.to_string()).collect();
        let things = things_of(header);
        if !names.is_empty() {
            text += &format!(", {} {}", could(wait.name(), wait.kind()), names.join(" or "));
        } else if !things.is_empty() && things.iter().all(|thing| thing.kind == "channel") {
            text += ON_NO_STACK;
        }
        text
    }
}

/// What a process waits for, if a call of ours has said so.
fn wait_of<'w>(header: *mut Header) -> Option<Wait<'w>> {
    // SAFETY: the callers have seen that it is a process, which has not ended.
    let block = unsafe { Block::of_header(header) };
    // SAFETY: nothing runs on this worker, and it belongs to no other. On a seeded worker all waits are shown.
    unsafe { block.shows() }
}

fn things_of(header: *mut Header) -> Vec<Thing> {
    let mut things = Vec::new();
    if let Some(wait) = wait_of(header) {
        wait.things(&mut |thing| things.push(thing));
    }
    things
}

/// Whether it is for another's end.
fn joins(wait: &Wait<'_>) -> bool {
    [JOIN, "scope"].contains(&wait.name())
}

//! Owns: `Traced`: what a trace is told of exchanges: when each message was under way, and who has looked.
//! May use: `gate`, `post`, `shim`, `raddle-core`.
//! Never: a call of MPI; anything but a load while nothing is recorded.
//!
//! Looks are kept until somebody who runs on a worker has waited for something: only workers have rings, and the
//! proxy's own OS thread is none. Looks for nothing that follow each other closely are kept as one.

use crate::gate::lock;
use crate::post::Post;
use crate::shim::Direction;
use raddle_core::trace::{ExchangeNote, LookNote, MessageNote, note_exchange, number_of_name, who_records};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So many looks are kept at most, until they are told.
const LOOKS_MAX: usize = 1 << 14;
/// And so many names.
const NAMES_MAX: usize = 1 << 14;
/// Looks for nothing that are no further apart are told as one.
const TOGETHER_NS: u64 = 100_000;

/// A look, by the engine's clock.
struct SeenLook {
    began_ns: u64,
    ended_ns: u64,
    found: usize,
    is_keeper: bool,
}

/// What is to be told.
#[derive(Default)]
pub(crate) struct Traced {
    /// The runtime that records; 0 if none does.
    by: AtomicUsize,
    looks: Mutex<Vec<SeenLook>>,
    /// The numbers of names, and whose they are.
    names: Mutex<(usize, HashMap<String, u32>)>,
}

impl Traced {
    /// Something is posted: asks whether that is recorded.
    pub(crate) fn begin(&self) {
        // An OS thread that posts changes nothing.
        if let Some(by) = who_records() {
            self.by.store(by, Ordering::Relaxed);
        }
    }

    /// Whether looks are told.
    pub(crate) fn records(&self) -> bool {
        self.by.load(Ordering::Relaxed) != 0
    }

    /// Somebody has looked.
    pub(crate) fn look(&self, began_ns: u64, ended_ns: u64, found: usize, is_keeper: bool) {
        if !self.records() {
            return;
        }
        let mut looks = lock(&self.looks);
        if let Some(last) = looks.last_mut()
            && found + last.found == 0
            && last.is_keeper == is_keeper
            && began_ns.saturating_sub(last.ended_ns) < TOGETHER_NS
        {
            last.ended_ns = ended_ns;
        } else if looks.len() < LOOKS_MAX {
            looks.push(SeenLook { began_ns, ended_ns, found, is_keeper });
        }
    }

    /// Somebody has waited for a post until now, and it is done, or late.
    pub(crate) fn told(&self, post: &Post, waited: Duration, now: u64) {
        if self.by.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(by) = who_records() else { return self.by.store(0, Ordering::Relaxed) };
        let ago = |ns: u64| Duration::from_nanos(now.saturating_sub(ns));
        let looks: Vec<LookNote> = std::mem::take(&mut *lock(&self.looks))
            .into_iter()
            .map(|look| LookNote {
                began: ago(look.began_ns),
                length: Duration::from_nanos(look.ended_ns.saturating_sub(look.began_ns)),
                found: u32::try_from(look.found).unwrap_or(u32::MAX),
                by_keeper: look.is_keeper,
            })
            .collect();
        let (pending, began) = (post.is_pending(), post.posted_ns.load(Ordering::Relaxed));
        let messages: Vec<MessageNote> = post
            .transfers
            .iter()
            .zip(pending)
            // One that waits for another one may not have begun this time.
            .filter(|(transfer, _)| transfer.posted_ns.load(Ordering::Relaxed) >= began)
            .map(|(transfer, is_pending)| MessageNote {
                name: self.number(by, transfer.kind()),
                bytes: u32::try_from(transfer.buffer.len()).unwrap_or(u32::MAX),
                peer: u32::try_from(transfer.address.peer).unwrap_or(u32::MAX),
                is_in: transfer.direction == Direction::In,
                posted: ago(transfer.posted_ns.load(Ordering::Relaxed)),
                done: (!is_pending).then(|| ago(transfer.done_ns.load(Ordering::Relaxed))),
            })
            .collect();
        // Collective calls are numbered, for errors.
        let what = post.what.split(" (the ").next().unwrap_or_default().to_owned();
        let name = self.number(by, what);
        note_exchange(&ExchangeNote { name, waited, messages: &messages, looks: &looks });
    }

    fn number(&self, by: usize, name: String) -> u32 {
        let mut names = lock(&self.names);
        if names.0 != by {
            *names = (by, HashMap::new());
        }
        if let Some(number) = names.1.get(&name) {
            return *number;
        }
        if names.1.len() >= NAMES_MAX {
            return 0;
        }
        let number = number_of_name(name.clone());
        names.1.insert(name, number);
        number
    }
}

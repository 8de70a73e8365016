//! Owns: `Search`: on whose stacks there are pointers to the things that others wait for.
//! May use: `describe::thing`, `raddle-context`.
//! Never: an allocation while it looks; more than *could*: see below.
//!
//! Nobody notes who has the other end of a channel, since that would cost each use of it (`wait::Thing`). But who has
//! it has a pointer to the channel in its frames, or in something on the heap, which is not looked into. So what is
//! found is who *could* end a wait, as a collector without types finds what could be in use:
//!
//! - A pointer that was left over (an end that was moved into a child stays on its maker's stack as long as nobody
//!   writes there) is found as well. So who waits for the very same thing itself is left out; then come those who do
//!   not just wait for others to end, and of these the youngest first: ends go from makers to children.
//! - An end in a box, a vector or a cell is not found: then nothing is said, or that it is on no other stack.
//!
//! It uses the words on the stacks of those who stand still.

use crate::wait::Thing;
use raddle_context::walk::words;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// So many bytes of each stack are looked through, from the innermost frame on.
const DEPTH_BYTES: usize = 64 * 1024;
/// So far back is looked whether somebody was noted already.
const SAME_MAX: usize = 64;

/// The search for some things.
#[derive(Debug, Default)]
pub struct Search {
    things: Vec<Thing>,
    /// All of them lie in here.
    span: Range<usize>,
    /// What was found, and with whom.
    found: Vec<(usize, usize)>,
}

impl Search {
    /// Room for so many things.
    pub fn with_room(things: usize) -> Search {
        let found = Vec::with_capacity(4 * things);
        Search { things: Vec::with_capacity(things), span: 0..0, found }
    }

    /// Looks for this, too, if there is room.
    pub fn add(&mut self, thing: Thing) {
        if thing != Thing::TIME && self.things.len() < self.things.capacity() {
            self.things.push(thing);
        }
    }

    /// All have been added.
    pub fn begin(&mut self) {
        self.things.sort_unstable_by_key(|thing| thing.begin);
        self.things.dedup_by_key(|thing| thing.begin);
        let end = self.things.iter().map(|thing| thing.end).max();
        self.span = self.things.first().map_or(0, |thing| thing.begin)..end.unwrap_or(0);
    }

    /// `who` has this word.
    #[inline]
    pub fn note(&mut self, who: usize, word: usize) {
        if !self.span.contains(&word) {
            return;
        }
        let after = self.things.partition_point(|thing| thing.begin <= word);
        let Some(thing) = self.things[..after].last().filter(|thing| word < thing.end) else { return };
        let is_known = self.found.iter().rev().take(SAME_MAX).any(|one| *one == (thing.subject, who));
        if !is_known && self.found.len() < self.found.capacity() {
            self.found.push((thing.subject, who));
        }
    }

    /// Notes all that `who` has in `memory`, the live part of its stack.
    ///
    /// # Safety
    /// It may be read, and nobody writes it meanwhile.
    pub unsafe fn look_through(&mut self, who: usize, memory: Range<usize>) {
        let end = memory.end.min(memory.start.saturating_add(DEPTH_BYTES));
        // SAFETY: passed on to the caller.
        unsafe {
            words(memory.start..end, |word| {
                self.note(who, word);
                true
            });
        }
    }

    /// Of each thing that was found, with whom; those who wait for it themselves left out, and the likeliest first.
    pub fn end(self, of: impl Fn(usize) -> Candidate) -> Reached {
        let mut reached: HashMap<usize, Vec<usize>> = HashMap::new();
        for (subject, who) in self.found {
            let with = reached.entry(subject).or_default();
            if !with.contains(&who) && !of(who).waits_for.contains(&subject) {
                with.push(who);
            }
        }
        for with in reached.values_mut() {
            with.sort_unstable_by_key(|who| (of(*who).just_joins, Reverse(of(*who).born), *who));
            if let Some(first) = with.first().filter(|who| !of(**who).just_joins) {
                let first = *first;
                with.retain(|who| *who == first || !of(*who).just_joins);
            }
        }
        Reached(reached)
    }
}

/// What matters of one on whose stack something was found.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// The things that it waits for itself.
    pub waits_for: Vec<usize>,
    /// It waits for another's end.
    pub just_joins: bool,
    /// A number that is larger for who was made later.
    pub born: u64,
}

/// Who could end the waits for a thing.
#[derive(Debug, Default)]
pub struct Reached(HashMap<usize, Vec<usize>>);

impl Reached {
    /// The likeliest first.
    pub fn with(&self, thing: &Thing) -> &[usize] {
        self.0.get(&thing.subject).map_or(&[], Vec::as_slice)
    }
}

/// So one says that nobody was found who has the other end of a channel.
pub const ON_NO_STACK: &str = ", the other end is on no other stack";

/// In what words one says who could end a wait in this call for such a thing.
pub fn could(call: &str, kind: &str) -> &'static str {
    match kind {
        "channel" | "choice" if call.as_bytes().windows(4).any(|part| part == b"send") => "could go to",
        "channel" | "choice" => "could come from",
        "barrier" => "has not met",
        _ => "could be woken by",
    }
}

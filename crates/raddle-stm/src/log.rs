//! Owns: `Log`: what a transaction has read and is about to write.
//! May use: `garbage`, `host`, `mistake`, `protocol::commit`, `protocol::reserve`, `protocol::word`, `value`,
//! `variable`.
//! Never: a look at a variable's word.
//!
//! A log stays in its slot, so that its memory is there for the next transaction. It is empty while nobody has the
//! slot, but for what waits to be freed.

mod index;

use crate::garbage::{Garbage, Heap};
use crate::host;
use crate::mistake::{Mistake, made};
use crate::protocol::commit::{Write, are_of, read};
use crate::protocol::reserve::Reservation;
use crate::protocol::word::{Seen, Word};
use crate::value::{ValueKind, Words};
use crate::variable::{Head, HeadRef};
use index::Index;
use std::panic::Location;

/// See the module.
#[derive(Debug)]
pub(crate) struct Log {
    /// May have a variable more than once.
    pub(crate) reads: Vec<HeadRef>,
    /// Each variable once: what a pessimistic transaction keeps as it is.
    pub(crate) reserved: Vec<HeadRef>,
    /// What each of `reads` had, if that is to be compared.
    pub(crate) values: Vec<Words>,
    /// Each variable once.
    writes: Vec<Entry>,
    index: Index,
    /// What writes were before a nested transaction has changed them.
    undo: Vec<Undo>,
    /// Some value in `writes` or `undo` has a box.
    has_boxes: bool,
    pub(crate) heap: Heap,
}

// SAFETY: what it points to are variables and values, which are `Send` and `Sync`.
unsafe impl Send for Log {}

/// A variable's new value; after the commit, its old one.
#[derive(Debug)]
pub(crate) struct Entry {
    head: HeadRef,
    value: Words,
    before: Seen,
}

/// What a variable's entry was before. It says itself whose value it has, and not where the entry stands: a commit puts
/// the entries into another order.
#[derive(Debug)]
struct Undo {
    head: HeadRef,
    value: Words,
}

/// How long the log was when a nested transaction began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    writes: usize,
    undo: usize,
}

/// A log with so many entries or more is not kept for the next transaction: a power of two.
const KEPT_MAX: usize = 1 << 15;

impl Entry {
    #[inline(always)]
    fn head(&self) -> &Head {
        // SAFETY: variables that a transaction has met are there as long as it runs.
        unsafe { self.head.as_ref() }
    }

    #[inline(always)]
    fn kind(&self) -> &'static ValueKind {
        self.head().kind
    }

    /// The variable's reservation.
    pub(crate) fn reservation(&self) -> &Reservation {
        &self.head().reservation
    }

    fn boxed(&self, out_of_reach: u64) -> Option<Garbage> {
        boxed(self.head(), self.value, out_of_reach)
    }
}

impl Undo {
    fn boxed(&self, out_of_reach: u64) -> Option<Garbage> {
        // SAFETY: variables that a transaction has met are there as long as it runs.
        boxed(unsafe { self.head.as_ref() }, self.value, out_of_reach)
    }
}

/// A value of the variable, if it lies in a box.
fn boxed(head: &Head, value: Words, out_of_reach: u64) -> Option<Garbage> {
    let free = head.kind.free?;
    // SAFETY: it is not inline.
    let what = unsafe { value.address() };
    // SAFETY: it is of that kind; until then it may be found in the variable, if it ever was there.
    Some(unsafe { Garbage::new(what, free, out_of_reach) })
}

/// What a transaction has read.
///
/// PERF: whole vectors: of a slice a commit loads address and length at once, and that waits until the length, which
/// was stored by itself just now, is in the cache. Bench `stm`, a transfer: 2 of 38 ns, a counter 3 of 28.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads<'l> {
    heads: &'l Vec<HeadRef>,
    /// None, if versions are to be compared.
    values: &'l Vec<Words>,
}

impl Reads<'_> {
    /// Whether all is at `at`, which the clock has shown, what it was at `time`. What `owner` has locked it has judged
    /// before.
    ///
    /// PERF: a call, since each transaction of a program has its commit inline, and few look at this.
    #[inline(never)]
    pub(crate) fn hold(self, (time, owner): (u64, u64), at: u64) -> bool {
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let mut heads = self.heads.iter().map(|head| unsafe { head.as_ref() });
        if self.values.is_empty() {
            return are_of(time, owner, heads.map(|head| &head.watched.word));
        }
        heads.by_ref().zip(self.values).all(|(head, value)| has_still(head, value, (time, owner), at))
    }
}

/// Whether it has at `at` the value that it had at `time`.
fn has_still(head: &Head, value: &Words, (time, owner): (u64, u64), at: u64) -> bool {
    let seen = head.watched.word.look();
    if seen.is_of(time) || seen.is_locked_by(owner) {
        return true;
    }
    read(&head.watched.word, || head.load()).is_ok_and(|(there, seen)| {
        // What is newer than `at` was another value then, for all one knows.
        seen.is_of(at) && (there.are_same(value, head.kind) || made(Mistake::TakesAnyValue))
    })
}

impl Write for Entry {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.head().watched.word
    }

    #[inline(always)]
    fn before(&self) -> Seen {
        self.before
    }

    #[inline(always)]
    fn set_before(&mut self, seen: Seen) {
        self.before = seen;
    }

    #[inline(always)]
    fn exchange(&mut self) {
        let (head, kind) = (self.head(), self.kind());
        let old = if kind.free.is_some() { head.load() } else { self.value };
        head.value.store(self.value, kind);
        self.value = old;
    }
}

/// The variable's bit in a filter; one of a few others', too.
#[inline(always)]
pub(crate) fn bit(head: HeadRef) -> u64 {
    let address = head.addr().get();
    1 << ((address >> 4 ^ address >> 10) & 63)
}

impl Log {
    pub(crate) const fn new() -> Log {
        Log {
            reads: Vec::new(),
            reserved: Vec::new(),
            values: Vec::new(),
            writes: Vec::new(),
            index: Index::new(),
            undo: Vec::new(),
            has_boxes: false,
            heap: Heap::new(),
        }
    }

    /// A bit for each variable that the transaction is about to write, see [`bit`].
    pub(crate) fn filter(&self) -> u64 {
        self.writes.iter().fold(0, |bits, entry| bits | bit(entry.head))
    }

    /// What the transaction is about to write there, if anything.
    pub(crate) fn written(&self, head: HeadRef) -> Option<&Words> {
        self.find(head).map(|at| &self.writes[at].value)
    }

    fn find(&self, head: HeadRef) -> Option<usize> {
        if self.index.is_in_use() {
            return self.index.find(head, |at| self.writes.get(at).map(|entry| entry.head));
        }
        self.writes.iter().position(|entry| entry.head == head)
    }

    /// The transaction is about to write `value` there, the first time. Returns it if that is for
    /// [`write`](Self::write).
    #[inline(always)]
    pub(crate) fn write_first(&mut self, head: HeadRef, value: Words, has_box: bool) -> Result<(), Words> {
        if has_box {
            self.has_boxes = true;
        }
        let length = self.writes.len();
        if length == self.writes.capacity() || length + 1 >= Index::WORTH {
            return Err(value);
        }
        self.writes.push(Entry { head, value, before: Seen::NOTHING });
        Ok(())
    }

    /// The transaction is about to write `value` there. Since `mark` the log must be able to roll back. Returns what
    /// must be dropped.
    #[inline(never)]
    pub(crate) fn write(
        &mut self,
        head: HeadRef,
        value: Words,
        has_box: bool,
        mark: Mark,
    ) -> Option<Garbage> {
        self.has_boxes |= has_box;
        if let Some(at) = self.find(head) {
            return self.overwrite(at, value, mark);
        }
        self.writes.push(Entry { head, value, before: Seen::NOTHING });
        if self.writes.len() >= Index::WORTH {
            self.index.add(self.writes.len(), |at| self.writes[at].head);
        }
        None
    }

    fn overwrite(&mut self, at: usize, value: Words, mark: Mark) -> Option<Garbage> {
        let entry = &mut self.writes[at];
        let old = std::mem::replace(&mut entry.value, value);
        if at < mark.writes {
            self.undo.push(Undo { head: entry.head, value: old });
            return None;
        }
        boxed(entry.head(), old, 0)
    }

    /// How long it is.
    pub(crate) fn mark(&self) -> Mark {
        Mark { writes: self.writes.len(), undo: self.undo.len() }
    }

    /// As it was at the mark, but for the reads: the decision to roll back depends on them. Returns what must be
    /// dropped.
    pub(crate) fn roll_back(&mut self, mark: Mark) -> Vec<Garbage> {
        let mut garbage = Vec::new();
        for undo in self.undo.split_off(mark.undo).into_iter().rev() {
            let at = self.find(undo.head).expect("what was written over is there");
            let undone = std::mem::replace(&mut self.writes[at].value, undo.value);
            garbage.extend(boxed(self.writes[at].head(), undone, 0));
        }
        garbage.extend(self.writes.drain(mark.writes..).filter_map(|entry| entry.boxed(0)));
        if mark.writes < Index::WORTH {
            self.index.clear();
        } else {
            self.index.truncate(mark.writes);
        }
        self.writes.shrink_to(KEPT_MAX);
        self.undo.shrink_to(KEPT_MAX);
        garbage
    }

    /// What was done since the mark `part` stays: what was written over is wanted no more, if only it could be rolled
    /// back to, and nothing `around` it can. Returns what must be dropped.
    pub(crate) fn keep(&mut self, part: Mark, around: Mark) -> Vec<Garbage> {
        if around.writes > 0 || self.undo.len() == part.undo {
            return Vec::new();
        }
        let garbage = self.undo.drain(part.undo..).filter_map(|undo| undo.boxed(0)).collect();
        self.undo.shrink_to(KEPT_MAX);
        garbage
    }

    /// Empties it, with nothing written. Returns what must be dropped.
    pub(crate) fn discard(&mut self) -> Vec<Garbage> {
        let mut garbage = Vec::new();
        if self.has_boxes {
            garbage.extend(self.writes.iter().filter_map(|entry| entry.boxed(0)));
            garbage.extend(self.undo.iter().filter_map(|undo| undo.boxed(0)));
        }
        self.clear();
        garbage
    }

    /// How many variables it is about to write, or has written.
    pub(crate) fn written_count(&self) -> usize {
        self.writes.len()
    }

    /// The first variable that it has read, or would write, which has changed since `time`; and its version, 0 if that
    /// is locked.
    #[cold]
    pub(crate) fn changed_since(&self, time: u64) -> Option<(&Head, u64)> {
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let head = |head: HeadRef| unsafe { &*head.as_ptr() };
        let read = self.reads.iter().enumerate().find_map(|(at, read)| {
            let head = head(*read);
            let version = head.newer_than(time)?;
            let is_same = |value: &Words| version != 0 && head.load().are_same(value, head.kind);
            (!self.values.get(at).is_some_and(is_same)).then_some((head, version))
        });
        let written = || self.writes.iter().map(|entry| head(entry.head));
        read.or_else(|| written().find_map(|head| Some((head, head.newer_than(time)?))))
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.writes.is_empty()
    }

    /// What was read.
    #[inline(always)]
    pub(crate) fn reads(&self) -> Reads<'_> {
        Reads { heads: &self.reads, values: &self.values }
    }

    /// What is to be written, by the order of its addresses, or in the reverse of it if that is said; and what was
    /// read. Nothing is found in it after that by where it stood.
    ///
    /// PERF: two are not exchanged: they were written a word at a time just now, and loads of two words wait until the
    /// processor's stores are done. Bench `stm`, a transfer: 2 of 38 ns.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> ((&mut [Entry], bool), Reads<'_>) {
        let reversed = match &mut *self.writes {
            [] | [_] => false,
            [a, b] => a.head > b.head,
            all => {
                all.sort_unstable_by_key(|entry| entry.head);
                if self.index.is_in_use() {
                    self.index.clear();
                }
                false
            }
        };
        ((&mut self.writes, reversed), Reads { heads: &self.reads, values: &self.values })
    }

    /// After the commit of the time `version`, of the transaction at `site`: wakes who waits for it, and keeps what was
    /// replaced until it may be freed.
    #[inline(always)]
    pub(crate) fn committed(&mut self, version: u64, site: &'static Location<'static>) {
        let author = host::author();
        for entry in &self.writes {
            entry.head().note_writer(author, site);
            if entry.before.is_watched() {
                let head = entry.head();
                // SAFETY: it is its own stripe.
                unsafe { head.watched.wake(head.stripe(), version) };
            }
        }
        if self.has_boxes {
            self.keep_replaced(version);
        }
    }

    #[inline(never)]
    fn keep_replaced(&mut self, version: u64) {
        self.writes.iter().filter_map(|entry| entry.boxed(version)).for_each(|old| self.heap.add(old));
        self.undo.iter().filter_map(|undo| undo.boxed(version)).for_each(|old| self.heap.add(old));
    }

    /// Forgets all, and frees nothing.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        // As many bits as the longest of them has.
        let longest = self.reads.len() | self.writes.len() | self.undo.len();
        if self.writes.len() >= Index::WORTH || longest >= KEPT_MAX {
            self.let_go(longest);
        }
        self.reads.clear();
        self.values.clear();
        self.writes.clear();
        self.undo.clear();
        self.has_boxes = false;
    }

    /// Gives back what is not kept.
    #[inline(never)]
    fn let_go(&mut self, longest: usize) {
        self.index.clear();
        if longest < KEPT_MAX {
            return;
        }
        self.reads = Vec::new();
        self.reserved = Vec::new();
        self.values = Vec::new();
        self.writes = Vec::new();
        self.undo = Vec::new();
    }
}

impl Default for Log {
    fn default() -> Log {
        Log::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::TVar;
    use std::ptr::NonNull;

    #[test]
    fn what_has_the_same_value_has_not_changed() {
        let (same, other, boxed) = (TVar::new(1), TVar::new(2), TVar::new("a".to_owned()));
        let time = crate::arena::CLOCK.now();
        for by_value in [true, false] {
            let mut log = Log::new();
            for head in [same.head, other.head, boxed.head] {
                log.reads.push(head);
                // SAFETY: there is a handle.
                log.values.extend(by_value.then(|| unsafe { head.as_ref() }.load()));
            }
            let changed = || log.changed_since(time).map(|(head, _)| NonNull::from(head));
            same.store(same.load());
            assert_eq!(changed(), (!by_value).then_some(same.head));
            boxed.store("a".to_owned());
            assert_eq!(changed(), Some(if by_value { boxed.head } else { same.head }));
            other.store(other.load() + 1);
            assert_eq!(changed(), Some(if by_value { other.head } else { same.head }));
        }
    }
}

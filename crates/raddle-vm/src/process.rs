//! Owns: `Process`, all that the machine knows of one process.
//! May use: `loom`.
//! Never: another process than by its number.
//!
//! | field | who may touch it, and when |
//! |---|---|
//! | `ip`, `fp`, `message`, `length` | who runs it; while it waits, who has claimed it |
//! | `wait` | itself from 0, before it is to be found anywhere; back to 0 whoever claims it, by an exchange |
//! | `alt` | `IDLE`, `ENABLING`, `WAITING` by itself; `READY` by whoever has something for it |
//! | `parent`, `join`, `start` | written when it is made |

use crate::prim::{AtomicU32, Ordering};

/// What a process waits for: the address of a word, with one of these in its low bits; 0 if for nothing of the kind.
pub(crate) const LOCK: u32 = 0;
pub(crate) const OUTPUT: u32 = 1;
pub(crate) const INPUT: u32 = 2;
pub(crate) const JOIN: u32 = 3;

/// Values of `alt`.
pub(crate) const IDLE: u32 = 0;
pub(crate) const ENABLING: u32 = 1;
pub(crate) const WAITING: u32 = 2;
pub(crate) const READY: u32 = 3;

/// Set in a channel's word beside the number of a process in an ALT.
pub(crate) const IN_ALT: u32 = 1 << 31;
/// Set in `length` if the message is the value of a slot, not bytes in memory.
pub(crate) const IN_SLOT: u32 = 1 << 31;
/// Set in `length` if who outputs is to wait until the input's process has ended.
pub(crate) const EXTENDED: u32 = 1 << 30;
/// `length` of who stands in for one on another rank, who inputs a message of any length.
pub(crate) const ANY: u32 = EXTENDED | (EXTENDED - 1);
/// In the word of a channel that a PLACED PAR mentions and nobody has used yet. No process has that number.
pub(crate) const UNTOUCHED: u32 = 1 << 30;
/// Where the priority begins in `start`.
pub(crate) const LEVEL_SHIFT: u32 = 27;
/// The bits of the priority there.
pub(crate) const LEVEL_BITS: u32 = u32::MAX << LEVEL_SHIFT;
/// `start` of a process that does not live.
pub(crate) const DEAD: u32 = u32::MAX;

/// A word that its holder reads and writes.
#[derive(Debug, Default)]
pub(crate) struct OwnedWord(AtomicU32);

impl OwnedWord {
    #[inline(always)]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// One process. `link` is its scheduler's, and first, so that the scheduler finds the process by it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Process<L> {
    /// The scheduler's part.
    pub link: L,
    pub(crate) ip: OwnedWord,
    pub(crate) fp: OwnedWord,
    pub(crate) wait: AtomicU32,
    pub(crate) alt: AtomicU32,
    pub(crate) message: OwnedWord,
    pub(crate) length: OwnedWord,
    pub(crate) parent: OwnedWord,
    pub(crate) join: OwnedWord,
    pub(crate) start: OwnedWord,
    pub(crate) id: OwnedWord,
}

/// How far behind the beginning of a process's record its fields lie, for compiled code.
#[cfg(feature = "native")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the field of that name in the record")]
pub struct ProcessLayout {
    pub ip: usize,
    pub fp: usize,
    pub wait: usize,
    pub alt: usize,
    pub message: usize,
    pub length: usize,
    pub parent: usize,
    pub join: usize,
    pub start: usize,
    pub id: usize,
    /// The bytes of a record.
    pub size: usize,
}

#[cfg(feature = "native")]
impl<L> Process<L> {
    /// Where its fields lie.
    pub(crate) const LAYOUT: ProcessLayout = ProcessLayout {
        ip: core::mem::offset_of!(Process<L>, ip),
        fp: core::mem::offset_of!(Process<L>, fp),
        wait: core::mem::offset_of!(Process<L>, wait),
        alt: core::mem::offset_of!(Process<L>, alt),
        message: core::mem::offset_of!(Process<L>, message),
        length: core::mem::offset_of!(Process<L>, length),
        parent: core::mem::offset_of!(Process<L>, parent),
        join: core::mem::offset_of!(Process<L>, join),
        start: core::mem::offset_of!(Process<L>, start),
        id: core::mem::offset_of!(Process<L>, id),
        size: size_of::<Process<L>>(),
    };
}

impl<L> Process<L> {
    /// Its number, which is not 0.
    pub fn id(&self) -> u32 {
        self.id.get()
    }

    /// Where its frame lies, while it does not run: those of neighbours lie side by side.
    pub fn frame(&self) -> u32 {
        self.fp.get()
    }

    /// The number of the instruction with which it goes on, while it does not run.
    pub fn next_instruction(&self) -> u32 {
        self.ip.get()
    }

    /// Whether it is in a channel's word, and has not been claimed from there.
    pub fn waits_at_channel(&self) -> bool {
        self.wait.load(Ordering::Relaxed) != 0
    }

    #[inline(always)]
    pub(crate) fn save(&self, ip: usize, fp: u32) {
        self.ip.set(ip as u32);
        self.fp.set(fp);
    }
}

/// How something that may wait has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It is done.
    Done,
    /// The process waits; it belongs to whoever ends its wait.
    Waits,
}

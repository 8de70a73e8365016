//! Owns: `Walks`, the functions in which those of a snapshot are: return addresses, noted while all stand still.
//! May use: `raddle-context`, `raddle-core`, `raddle-protocol`.
//! Never: an allocation while it walks; a walk for each of a million, which would keep the workers for seconds.
//!
//! A walk takes a microsecond or two. So a number of processes are walked as they come, and after that the first of
//! each place: those who were spawned at one place and wait at one place are mostly in the same functions.

use raddle_context::walk::{Tables, walk, walk_interrupted};
use raddle_core::block::Block;
use raddle_core::os_thread::Record;
use raddle_protocol::header::{Header, Kind};
use std::collections::HashSet;
use std::ops::Range;

/// A piece of the table's text, or of its lists.
pub(crate) type Span = Range<u32>;

/// So many return addresses of each are kept.
const FRAMES_EACH: usize = 32;
/// So many places are told apart.
const PLACES_MAX: usize = 1024;

/// The addresses of all, one after the other.
#[derive(Debug)]
pub(crate) struct Walks {
    tables: Tables,
    addresses: Vec<usize>,
    places: HashSet<(usize, usize)>,
    left: usize,
}

impl Walks {
    /// Room for `most` of `everybody`, and for one of each place. Before the workers are stopped.
    pub(crate) fn with_room(everybody: usize, most: usize) -> Walks {
        Walks {
            tables: Tables::of_program(),
            addresses: Vec::with_capacity(everybody.min(most + PLACES_MAX) * FRAMES_EACH),
            places: HashSet::with_capacity(PLACES_MAX),
            left: most,
        }
    }

    /// The addresses of a piece.
    pub(crate) fn get(&self, span: &Span) -> &[usize] {
        &self.addresses[span.start as usize..span.end as usize]
    }

    /// The functions in which a process is that has left its stack, having been spawned and waiting at `place`.
    ///
    /// # Safety
    /// It is suspended, and nobody resumes it meanwhile.
    pub(crate) unsafe fn of_suspended(&mut self, block: &Block, place: (usize, usize)) -> Span {
        let is_first = self.places.len() < PLACES_MAX && self.places.insert(place);
        if !is_first && self.left == 0 {
            return 0..0;
        }
        self.left = self.left.saturating_sub(1);
        // SAFETY: it does not end meanwhile.
        let Some(stack) = (unsafe { block.stack_there() }) else { return 0..0 };
        // SAFETY: as above: nobody writes it.
        let context = unsafe { block.context_there() };
        let (begin, end) = self.room();
        let addresses = &mut self.addresses;
        // SAFETY: passed on to the caller. A library that is unloaded while processes are in it is lost anyway.
        unsafe {
            walk(context, stack, &self.tables, |address| {
                if addresses.len() < end {
                    addresses.push(address);
                }
                addresses.len() < end
            });
        };
        begin as u32..self.addresses.len() as u32
    }

    /// The functions in which a worker that stands at the gate has been interrupted, with `running` on it.
    pub(crate) fn of_worker(&mut self, record: &Record, running: *mut Header) -> Span {
        let interrupted = record.interrupted();
        // SAFETY: null, or what runs on a worker that stands still.
        let process = unsafe { running.as_ref() }.filter(|header| header.kind == Kind::Process);
        // SAFETY: the kind says that it is a block.
        let block = process.map(|_| unsafe { Block::of_header(running) });
        // SAFETY: it does not end meanwhile.
        let own = block.and_then(|block| unsafe { block.stack_there() });
        let own = own.map(|stack| stack.limit().addr()..stack.top().addr());
        let stands_in = |memory: &Range<usize>| memory.contains(&interrupted.stack_pointer());
        let Some(memory) = own.into_iter().chain([record.stack()]).find(stands_in) else { return 0..0 };
        let (begin, end) = self.room();
        let addresses = &mut self.addresses;
        // SAFETY: it stands still, on this stack. The tables as for `of_suspended`.
        unsafe {
            walk_interrupted(&interrupted, memory.end, &self.tables, |address| {
                if addresses.len() < end {
                    addresses.push(address);
                }
                addresses.len() < end
            });
        };
        begin as u32..self.addresses.len() as u32
    }

    fn room(&self) -> (usize, usize) {
        let begin = self.addresses.len();
        (begin, (begin + FRAMES_EACH).min(self.addresses.capacity()))
    }
}

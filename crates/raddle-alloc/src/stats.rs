//! Owns: what the allocator says of itself.
//! May use: `arena`, `class`, `heap`, `options`, `page`, `profile`, `registry`, `system`.
//! Never: stopping anybody: the figures are of slightly different moments.

use std::fmt::{self, Write as _};

use crate::arena::{self, Census};
use crate::class::{CLASSES, size_of_class};
use crate::heap::Counts;
use crate::page::SLICE;
use crate::system::Standard;
use crate::{options, profile, registry, system};

/// Figures of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStatistics {
    /// What a block holds.
    pub block_bytes: usize,
    /// Its pages.
    pub pages: usize,
    /// Blocks that programs have, or caches.
    pub blocks: usize,
    /// Blocks for which its pages have room.
    pub room: usize,
}

/// Figures of the whole allocator. Its `Display` is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Address space.
    pub mapped_bytes: usize,
    /// Of it, in arenas.
    pub arena_bytes: usize,
    /// What has been written since it came from the kernel, or went back there.
    pub touched_bytes: usize,
    /// What no page and no large block has.
    pub free_bytes: usize,
    /// In large blocks of arenas.
    pub large_bytes: usize,
    /// Heaps that ever were.
    pub heaps: usize,
    /// Pages that threads left when they ended, and that nobody has adopted yet.
    pub left_pages: usize,
    /// How often a cache was filled.
    pub refills: u64,
    /// How often a cache that had grown too long was flushed.
    pub flushes: u64,
    /// Blocks that went back to pages which their heap did not hold, and exchanges that took.
    pub returned_blocks: u64,
    /// See there.
    pub returned_batches: u64,
    /// Pages that changed their heap.
    pub adopted_pages: u64,
    /// Pages that were made, and given back.
    pub fresh_pages: u64,
    /// See there.
    pub freed_pages: u64,
    /// By class.
    pub classes: [ClassStatistics; CLASSES],
}

/// Counts; it takes a look at each page.
pub fn statistics() -> Statistics {
    Statistics::of(&arena::census(), registry::all().map(|heap| &heap.counts), system::mapped())
}

impl Statistics {
    /// Of what was counted, of heaps, and of so much address space.
    pub(crate) fn of<'h>(
        census: &Census,
        heaps: impl Iterator<Item = &'h Counts>,
        mapped_bytes: usize,
    ) -> Statistics {
        let &Census { arena_slices, free_slices, dirty_slices, left_pages, large_bytes, classes } = census;
        let (mut number, mut sums) = (0, [0; 7]);
        // bounded: by the heaps.
        for counts in heaps {
            number += 1;
            sums.iter_mut().zip(counts.all()).for_each(|(sum, one)| *sum += one);
        }
        let [refills, flushes, returned_blocks, returned_batches, adopted_pages, fresh_pages, freed_pages] =
            sums;
        let mut by_class = [ClassStatistics::default(); CLASSES];
        // bounded: by the classes.
        for (class, figures) in by_class.iter_mut().enumerate() {
            let (pages, blocks, room) = classes[class];
            *figures = ClassStatistics { block_bytes: size_of_class(class), pages, blocks, room };
        }
        Statistics {
            mapped_bytes,
            arena_bytes: arena_slices * SLICE,
            touched_bytes: dirty_slices * SLICE,
            free_bytes: free_slices * SLICE,
            large_bytes,
            heaps: number,
            left_pages,
            refills,
            flushes,
            returned_blocks,
            returned_batches,
            adopted_pages,
            fresh_pages,
            freed_pages,
            classes: by_class,
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = [
            ("mapped_bytes", self.mapped_bytes),
            ("arena_bytes", self.arena_bytes),
            ("touched_bytes", self.touched_bytes),
            ("free_bytes", self.free_bytes),
            ("large_bytes", self.large_bytes),
            ("heaps", self.heaps),
            ("left_pages", self.left_pages),
        ];
        let counts = [
            ("refills", self.refills),
            ("flushes", self.flushes),
            ("returned_blocks", self.returned_blocks),
            ("returned_batches", self.returned_batches),
            ("adopted_pages", self.adopted_pages),
            ("fresh_pages", self.fresh_pages),
            ("freed_pages", self.freed_pages),
        ];
        f.write_str("{")?;
        sizes.iter().try_for_each(|(name, figure)| write!(f, "\"{name}\": {figure}, "))?;
        counts.iter().try_for_each(|(name, figure)| write!(f, "\"{name}\": {figure}, "))?;
        f.write_str("\"classes\": [")?;
        let mut comma = "";
        // bounded: by the classes.
        for class in self.classes.iter().filter(|class| class.pages > 0) {
            let ClassStatistics { block_bytes, pages, blocks, room } = class;
            let figures = format_args!("\"pages\": {pages}, \"blocks\": {blocks}, \"room\": {room}");
            write!(f, "{comma}{{\"block_bytes\": {block_bytes}, {figures}}}")?;
            comma = ", ";
        }
        f.write_str("]}")
    }
}

/// Writes the figures to standard error, as JSON, without an allocation.
pub fn tell() {
    let mut standard = Standard::new();
    let _always = writeln!(standard, "{}", statistics());
    standard.flush();
}

/// As [`tell`], if the option `stats` asks for it; and writes the profile, if that is on, or says that it cannot.
pub fn report() {
    if options::reports() {
        tell();
    }
    if profile::is_on() && !profile::write() {
        let mut standard = Standard::new();
        let _always = writeln!(standard, "raddle-alloc: the heap profile could not be written to its file");
        standard.flush();
    }
}

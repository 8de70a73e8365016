//! Owns: arenas: ranges of 32 MiB, their slices, and the hints at pages that were left.
//! May use: `class`, `page`, `protocol::bits`, `spare`, `system`.
//! Never: a heap.
//!
//! An arena is never unmapped; the kernel gets the memory of slices back that have been free for a while (`purge`). Its
//! header is its first two slices, of which only what is used takes memory. A block's page is found from its address:
//! the arena is the multiple of 32 MiB below it, the slice the next bits. A block with a mapping of its own has a
//! header of the same form before it, in which only its slice's facts and the mapping are set.
//!
//! Whoever needs slices and finds none maps an arena, takes its slices, and publishes the rest. Several who do so at
//! the same time have several: nobody waits, and what is not touched takes no memory.
//!
//! It is unsafe because it makes references of addresses.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::class::CLASSES;
use crate::page::{self, Page, SLICE};
use crate::protocol::bits;
use crate::{spare, system};

/// What an arena's address is a multiple of, and its size.
pub(crate) const ARENA: usize = 32 << 20;
const SLICES: usize = ARENA / SLICE;
const WORDS: usize = SLICES / 64;
/// What an arena has where there is no address space for a whole one.
const FEW_SLICES: usize = 16;
/// The slices of the header.
pub(crate) const HEADER: usize = 2;
const ARENAS_MAX: usize = 1 << 16;
const _: () = assert!(ARENA as u64 == spare::ALIGN);

/// The header of an arena, or of a mapping that is one block.
#[repr(C, align(64))]
pub(crate) struct Arena {
    /// What can be taken.
    free: [AtomicU64; WORDS],
    /// What may hold something else than zeroes.
    dirty: [AtomicU64; WORDS],
    /// What has been free since the last purge.
    aged: [AtomicU64; WORDS],
    number: AtomicUsize,
    /// How many slices it has: fewer than others where the address space was short.
    slices: AtomicUsize,
    /// Where the mapping begins, and how long it is: of a block that has one.
    mapping: AtomicPtr<u8>,
    mapping_bytes: AtomicUsize,
    /// The class of the page or block of which each slice is.
    // PERF: each free looks here, so what is known of 64 pages is in one cache line (bench/malloc, larson).
    classes: [AtomicU8; SLICES],
    /// Pages of nobody with blocks to give, by class: hints.
    left: [[AtomicU64; WORDS]; CLASSES],
    /// One more than slices: a block that is aligned to an arena's size begins right behind one.
    pages: [Page; SLICES + 1],
}

const _: () = assert!(size_of::<Arena>() <= HEADER * SLICE);

pub(crate) static ARENAS: [AtomicPtr<Arena>; ARENAS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; ARENAS_MAX];
pub(crate) static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Which arenas may have a free slice: hints.
static ROOM: [AtomicU64; ARENAS_MAX / 64] = [const { AtomicU64::new(0) }; ARENAS_MAX / 64];
/// How many pages of each class were left: a hint.
pub(crate) static LEFT: [AtomicUsize; CLASSES] = [const { AtomicUsize::new(0) }; CLASSES];

/// The header below an address that is a block's.
///
/// # Safety
/// A block begins there that this allocator has given out.
#[inline(always)]
pub(crate) unsafe fn header_of(block: *mut u8) -> *mut Arena {
    // A block that is aligned to an arena's size lies behind its header too.
    block.wrapping_sub(1).map_addr(|address| address & !(ARENA - 1)).cast()
}

/// The slice in which a block begins.
///
/// # Safety
/// As for [`header_of`].
#[inline(always)]
pub(crate) unsafe fn slice_of<'a>(block: *mut u8) -> &'a Page {
    // SAFETY: passed on.
    let header = unsafe { header_of(block) };
    let index = (block.addr() - header.addr()) / SLICE;
    // The field's place by itself: the compiler need not know that the index is within bounds.
    let page = header.wrapping_byte_add(std::mem::offset_of!(Arena, pages) + index * size_of::<Page>());
    // SAFETY: a header stands as long as a block behind it.
    unsafe { &*page.cast() }
}

/// The class of a block, or what stands for one.
///
/// # Safety
/// As for [`header_of`].
#[inline(always)]
pub(crate) unsafe fn class_of(block: *mut u8) -> u8 {
    // SAFETY: passed on.
    let header = unsafe { header_of(block) };
    // Of a block that is aligned to an arena's size this is the header's own slice, which is of no other use.
    let index = block.addr() / SLICE % SLICES;
    let class = header.wrapping_byte_add(std::mem::offset_of!(Arena, classes) + index).cast::<AtomicU8>();
    // SAFETY: a header stands as long as a block behind it.
    unsafe { &*class }.load(Ordering::Relaxed)
}

/// The page in which a block of a class begins.
///
/// # Safety
/// As for [`header_of`], and it has a class.
#[inline(always)]
pub(crate) unsafe fn page_of(block: *mut u8) -> &'static Page {
    // SAFETY: passed on.
    let slice = unsafe { slice_of::<'static>(block) };
    let first = ptr::from_ref(slice).wrapping_sub(slice.back());
    // SAFETY: a page's first slice is of the same arena; arenas stay.
    unsafe { &*first }
}

fn arena(number: usize) -> Option<&'static Arena> {
    let arena = ARENAS[number].load(Ordering::Acquire); // pairs with `publish`
    // SAFETY: what is published stays.
    unsafe { arena.as_ref() }
}

fn count() -> usize {
    COUNT.load(Ordering::Relaxed).min(ARENAS_MAX)
}

/// The arenas that there are.
fn all() -> impl Iterator<Item = &'static Arena> {
    (0..count()).filter_map(arena)
}

/// What lies at an address that somebody calls a block's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockPlace {
    /// Nothing that this allocator has given out, as far as one can see.
    Foreign,
    /// Not the beginning of a block, but a later part of a large one.
    Inner,
    /// A large block was there, and has been freed.
    Gone,
    /// The beginning of a large block.
    Large,
    /// A page with blocks of a class.
    Page,
}

/// Looks what lies there, whatever the address: for the hardened mode, and slow.
pub(crate) fn place_of(block: *mut u8) -> BlockPlace {
    // SAFETY: only the address is used.
    let header = unsafe { header_of(block) };
    match all().find(|arena| ptr::eq(*arena, header)) {
        Some(arena) => arena.place_of((block.addr() - header.addr()) / SLICE, block),
        None => mapped_place(header, block),
    }
}

fn mapped_place(header: *mut Arena, block: *mut u8) -> BlockPlace {
    if !system::is_readable(header.wrapping_byte_add(std::mem::offset_of!(Arena, mapping)).cast()) {
        return BlockPlace::Foreign;
    }
    // SAFETY: it can be read.
    let (mapping, bytes) = unsafe { mapping_of(header) };
    if !ptr::eq(mapping, header.cast()) || bytes <= HEADER * SLICE {
        return BlockPlace::Foreign;
    }
    // SAFETY: a mapping with a header is there.
    let is_first = unsafe { slice_of::<'static>(block) }.class() == page::HUGE;
    if is_first && block.addr().is_multiple_of(SLICE) { BlockPlace::Large } else { BlockPlace::Inner }
}

impl Arena {
    fn place_of(&self, index: usize, block: *mut u8) -> BlockPlace {
        let is_free = |index: usize| self.free[index / 64].load(Ordering::Relaxed) >> (index % 64) & 1 == 1;
        let slices = self.slices.load(Ordering::Relaxed);
        if index < HEADER || index >= slices {
            return BlockPlace::Foreign;
        }
        let page = &self.pages[index];
        if is_free(index) {
            let was_large = page.class() == page::GONE && block.addr().is_multiple_of(SLICE);
            return if was_large { BlockPlace::Gone } else { BlockPlace::Foreign };
        }
        let holds = |first: &usize| {
            let page = &self.pages[*first];
            page.class() == page::LARGE && !is_free(*first) && first + page.slices() > index
        };
        if (HEADER..index).rev().any(|first| holds(&first)) {
            return BlockPlace::Inner;
        }
        match page.class() {
            page::LARGE if block.addr().is_multiple_of(SLICE) => BlockPlace::Large,
            page::LARGE => BlockPlace::Inner,
            class if usize::from(class) < CLASSES => BlockPlace::Page,
            _ => BlockPlace::Foreign,
        }
    }
}

/// Slices that were taken.
pub(crate) struct Slices {
    pub(crate) first: &'static Page,
    pub(crate) start: *mut u8,
    /// They read as zeroes.
    pub(crate) zeroed: bool,
}

/// Takes `count` slices whose address is a multiple of `align` slices; `None` if there is no memory. `seed` says where
/// to begin to look: who look in different places do not meet.
pub(crate) fn take(count: usize, align: usize, seed: usize) -> Option<Slices> {
    take_there(count, align, seed).or_else(|| grow(count, align))
}

fn take_there(count: usize, align: usize, seed: usize) -> Option<Slices> {
    let mut from = 0;
    // bounded: by the arenas.
    while let Some(number) = bits::next_set(&ROOM, from) {
        from = number + 1;
        let Some(arena) = arena(number) else { continue };
        match bits::take_any(&arena.free, count, align, seed % WORDS) {
            Some(first) => return Some(arena.taken(first, count)),
            None if count == 1 => bits::clear_unless(&ROOM, number, || bits::any(&arena.free)),
            None => {}
        }
    }
    None
}

/// Maps an arena and takes the slices there. Where a whole one is refused, by kernel or limit, it has few slices.
fn grow(count: usize, align: usize) -> Option<Slices> {
    let first = HEADER.next_multiple_of(align);
    if first + count > SLICES {
        return None;
    }
    let mut slices = SLICES;
    let mut place = spare::map(ARENA, ARENA, 0);
    if place.is_null() {
        slices = (first + count).next_multiple_of(FEW_SLICES).min(SLICES);
        place = spare::map(slices * SLICE, ARENA, 0);
    }
    let place = place.cast::<Arena>();
    // SAFETY: the header is zeroed memory of ours, of which each field is a value.
    let arena: &'static Arena = unsafe { place.as_ref() }?;
    arena.slices.store(slices, Ordering::Relaxed);
    bits::give(&arena.free, HEADER, slices - HEADER);
    let taken = bits::take_run(&arena.free, first, count);
    publish(place, arena);
    taken.then(|| arena.taken(first, count))
}

fn publish(place: *mut Arena, arena: &Arena) {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    arena.number.store(number.min(ARENAS_MAX - 1), Ordering::Relaxed);
    if number < ARENAS_MAX {
        ARENAS[number].store(place, Ordering::Release); // pairs with `arena`
        bits::set(&ROOM, number);
    }
}

impl Arena {
    fn index(&self, page: &Page) -> usize {
        (ptr::from_ref(page).addr() - ptr::from_ref(&self.pages).addr()) / size_of::<Page>()
    }

    fn start(&self, index: usize) -> *mut u8 {
        ptr::from_ref(self).cast_mut().cast::<u8>().wrapping_add(index * SLICE)
    }

    fn taken(&'static self, first: usize, count: usize) -> Slices {
        let mut zeroed = true;
        // bounded: by the run.
        for index in first..first + count {
            let (word, bit) = (index / 64, 1 << (index % 64));
            if self.aged[word].load(Ordering::Relaxed) & bit != 0 {
                self.aged[word].fetch_and(!bit, Ordering::Relaxed);
            }
            if self.dirty[word].load(Ordering::Relaxed) & bit == 0 {
                self.dirty[word].fetch_or(bit, Ordering::Relaxed);
            } else {
                zeroed = false;
            }
        }
        Slices { first: &self.pages[first], start: self.start(first), zeroed }
    }

    /// The slice that lies `offset` behind `page`.
    fn page_behind(&self, page: &Page, offset: usize) -> &Page {
        &self.pages[self.index(page) + offset]
    }

    /// Makes slices a page of a class.
    pub(crate) fn init_page(slices: &Slices, class: usize, count: usize, owner: usize) {
        let arena = arena_of(slices.first);
        slices.first.init(class, count, slices.start, owner);
        slices.first.set_class(class as u8);
        (1..count).for_each(|inner| {
            let page = arena.page_behind(slices.first, inner);
            page.init_inner(inner);
            page.set_class(class as u8);
        });
    }

    fn class_of_slice(&self, page: &Page) -> &AtomicU8 {
        &self.classes[self.index(page) % SLICES]
    }

    fn give(&self, first: usize, count: usize) {
        bits::give(&self.free, first, count);
        bits::set(&ROOM, self.number.load(Ordering::Relaxed));
    }
}

/// What the header, of an arena or a mapping, knows of it.
impl Page {
    pub(crate) fn class(&self) -> u8 {
        arena_of(self).class_of_slice(self).load(Ordering::Relaxed)
    }

    fn set_class(&self, class: u8) {
        let place = arena_of(self).class_of_slice(self);
        // Other threads read the cache line at each free.
        if place.load(Ordering::Relaxed) != class {
            place.store(class, Ordering::Relaxed);
        }
    }

    /// Makes it the first slice of a block of its own, or of what is left of one.
    pub(crate) fn init_alone(&self, class: u8, slices: usize) {
        self.init_run(slices);
        self.set_class(class);
    }
}

/// The arena of a page.
pub(crate) fn arena_of(page: &Page) -> &'static Arena {
    let header = ptr::from_ref(page).map_addr(|address| address & !(ARENA - 1)).cast::<Arena>();
    // SAFETY: what is known of slices stands in their arena's header, and arenas stay.
    unsafe { &*header }
}

/// Gives slices back, from that of `page` on. The caller has taken them, and nobody uses them.
pub(crate) fn give(page: &Page, count: usize) {
    let arena = arena_of(page);
    arena.give(arena.index(page), count);
}

/// Gives the slices back from the one `kept` behind `page` on, `count` of them.
pub(crate) fn give_behind(page: &Page, kept: usize, count: usize) {
    let arena = arena_of(page);
    arena.give(arena.index(page) + kept, count);
}

/// Takes the slices that lie `have` behind `page`, `more` of them, if they are free.
pub(crate) fn take_behind(page: &Page, have: usize, more: usize) -> bool {
    let arena = arena_of(page);
    let first = arena.index(page) + have;
    let taken = first + more <= SLICES && bits::take_run(&arena.free, first, more);
    if taken {
        let _taken = arena.taken(first, more);
    }
    taken
}

/// Lists a page that its holder, the caller, is about to leave.
pub(crate) fn list(page: &Page) {
    let (arena, class) = (arena_of(page), usize::from(page.class()));
    page.set_listed(true);
    bits::set(&arena.left[class], arena.index(page));
    LEFT[class].fetch_add(1, Ordering::Relaxed);
}

/// Takes a page from the list, by its new holder.
pub(crate) fn unlist(page: &Page) {
    if page.is_listed() {
        let (arena, class) = (arena_of(page), usize::from(page.class()));
        page.set_listed(false);
        bits::clear(&arena.left[class], arena.index(page));
        LEFT[class].fetch_sub(1, Ordering::Relaxed);
    }
}

/// Makes the caller the holder of a page of this class that somebody has left, if there is one.
pub(crate) fn adopt(class: usize) -> Option<&'static Page> {
    if LEFT[class].load(Ordering::Relaxed) == 0 {
        return None;
    }
    // bounded: by the arenas, and by the pages in each.
    for arena in all() {
        let mut from = 0;
        // bounded: by the pages of an arena.
        while let Some(index) = bits::next_set(&arena.left[class], from) {
            from = index + 1;
            let page = &arena.pages[index];
            if !page.word().claim() {
                continue;
            }
            unlist(page);
            if usize::from(page.class()) == class {
                return Some(page);
            }
            // The hint was stale, and the slice is another page of nobody now: it goes to the list where it belongs.
            list(page);
            page.word().disown();
        }
    }
    None
}

/// Gives the kernel the memory of free slices; of those only that have been free since the last call, unless
/// `all_of_it`. How many slices.
pub(crate) fn purge(all_of_it: bool) -> usize {
    all().map(|arena| (0..WORDS).map(|word| arena.purge_word(word, all_of_it)).sum::<usize>()).sum()
}

impl Arena {
    fn purge_word(&self, word: usize, all_of_it: bool) -> usize {
        let candidates = self.free[word].load(Ordering::Relaxed) & self.dirty[word].load(Ordering::Relaxed);
        let aged = self.aged[word].load(Ordering::Relaxed);
        self.aged[word].fetch_or(candidates, Ordering::Relaxed);
        let mut left = if all_of_it { candidates } else { candidates & aged };
        let mut purged = 0;
        // bounded: by the width of a word.
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let count = (left >> first).trailing_ones() as usize;
            let mask = if count == 64 { u64::MAX } else { ((1 << count) - 1) << first };
            left &= !mask;
            let from = word * 64 + first;
            if !bits::take_run(&self.free, from, count) {
                continue;
            }
            // SAFETY: the slices are free, and were just taken.
            if unsafe { system::forget(self.start(from), count * SLICE) } {
                self.dirty[word].fetch_and(!mask, Ordering::Relaxed);
                purged += count;
            }
            self.give(from, count);
        }
        purged
    }
}

/// What is known of the arenas as a whole, as far as one can see while others are at work.
pub(crate) struct Census {
    pub(crate) arena_slices: usize,
    pub(crate) free_slices: usize,
    pub(crate) dirty_slices: usize,
    pub(crate) left_pages: usize,
    pub(crate) large_bytes: usize,
    /// Pages of each class, blocks given out (to programs or to caches), and room for so many.
    pub(crate) classes: [(usize, usize, usize); CLASSES],
}

impl Census {
    /// Of no arena.
    pub(crate) fn new(left_pages: usize) -> Census {
        let classes = [(0, 0, 0); CLASSES];
        Census { arena_slices: 0, free_slices: 0, dirty_slices: 0, left_pages, large_bytes: 0, classes }
    }
}

/// Counts.
pub(crate) fn census() -> Census {
    let left_pages = LEFT.iter().map(|left| left.load(Ordering::Relaxed)).sum();
    let mut census = Census::new(left_pages);
    all().for_each(|arena| arena.count_into(&mut census));
    census
}

impl Arena {
    /// Also of a header that was copied from another process: nothing here goes by the address of a page.
    pub(crate) fn count_into(&self, census: &mut Census) {
        let is_set = |words: &[AtomicU64; WORDS], index: usize| {
            words[index / 64].load(Ordering::Relaxed) >> (index % 64) & 1 == 1
        };
        let all = self.slices.load(Ordering::Relaxed).min(SLICES);
        census.arena_slices += all;
        let mut index = HEADER;
        // bounded: by the slices.
        while index < all {
            census.dirty_slices += usize::from(is_set(&self.dirty, index));
            if is_set(&self.free, index) {
                census.free_slices += 1;
                index += 1;
                continue;
            }
            let page = &self.pages[index];
            let class = self.classes[index].load(Ordering::Relaxed);
            let slices = page.slices().max(1);
            let inner = (index + 1)..(index + slices).min(SLICES);
            census.dirty_slices += inner.filter(|inner| is_set(&self.dirty, *inner)).count();
            index += slices;
            let (used, room) = page.used();
            // Of a slice that was just taken nothing is known yet.
            if usize::from(class) < CLASSES && page.back() == 0 && room > 0 {
                let all = &mut census.classes[usize::from(class)];
                *all = (all.0 + 1, all.1 + used as usize, all.2 + room as usize);
            } else if class == page::LARGE {
                census.large_bytes += page.slices() * SLICE;
            }
        }
    }
}

/// Makes zeroed memory the header of a mapping that is one block.
///
/// # Safety
/// It is as long as a header.
pub(crate) unsafe fn init_mapping(header: *mut Arena, mapping: *mut u8, bytes: usize) {
    // SAFETY: zeroed memory of this size is a header.
    let header = unsafe { &*header };
    header.mapping.store(mapping, Ordering::Relaxed);
    header.mapping_bytes.store(bytes, Ordering::Relaxed);
}

/// Where the mapping of a block begins, and how long it is.
///
/// # Safety
/// The header is that of a block with a mapping of its own.
pub(crate) unsafe fn mapping_of(header: *mut Arena) -> (*mut u8, usize) {
    // SAFETY: passed on.
    let header = unsafe { &*header };
    (header.mapping.load(Ordering::Relaxed), header.mapping_bytes.load(Ordering::Relaxed))
}

#[test]
fn a_copy_of_a_header_counts_what_the_header_does() {
    /// Of a class that no other test here has.
    const BYTES: usize = 50_000;
    let block = crate::face::allocate(BYTES);
    // SAFETY: a block begins there, so its arena has a header.
    let header = unsafe { header_of(block) };
    let mut copy = Box::<Arena>::new_uninit();
    // SAFETY: both are headers, of numbers and addresses, and do not overlap.
    unsafe { ptr::copy_nonoverlapping(header, copy.as_mut_ptr(), 1) };
    let mut census = Census::new(0);
    // SAFETY: it was just written.
    unsafe { copy.assume_init() }.count_into(&mut census);
    let (pages, blocks, room) = census.classes[crate::class::class_of(BYTES)];
    assert_eq!((pages, room), (1, 9));
    assert!((1..=room).contains(&blocks), "{blocks}");
    // SAFETY: ours.
    unsafe { crate::face::free(block) };
}

//! Owns: a thread's heap: its cache of blocks, and the pages that it holds.
//! May use: `arena`, `class`, `decay`, `hardened`, `page`, `profile`, `protocol::rest`, `system`.
//! Never: another thread's heap; a wait.
//!
//! **The cache** is a list of free blocks for each class, of whatever pages. An allocation takes the first, a free
//! puts its block there, also one that another thread has allocated: nothing is shared, and nothing is atomic. What a
//! thread frees more than it allocates goes back in bulk (`flush`), sorted by pages: one exchange for all blocks of a
//! page, none for a page that the heap itself holds.
//!
//! **The pages** that a heap holds are in a list for each class. A refill takes what the first one has: its own list,
//! then what others gave back, then memory that was never used. A page that has nothing left is given up: it is
//! nobody's, and whoever first gives a block of it back adopts it. So a consumer's heap comes to hold the pages of
//! what it consumes, frees into them without an exchange, and gives them back whole. Where some blocks of each page
//! live on it would come to hold ever more, while the producer makes new ones: for each page of this class that
//! others have wanted since it last looked, a flush leaves one to them, the one that the heap has held longest.
//!
//! It is unsafe because blocks are links of lists.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, compiler_fence};

use crate::arena::{self, Arena, page_of};
use crate::class::{self, CLASSES, size_of_class};
use crate::page::{Block, Chain, NOBODY, Page, SLICE, next_of};
use crate::protocol::rest::RestWord;
use crate::{decay, hardened, profile, system};

/// Blocks above this have pages of eight slices.
const SMALL_BYTES_MAX: usize = 8 << 10;
const MEDIUM_SLICES: usize = 8;
/// So many pages of a class a heap does not leave to others while its thread is there.
const KEPT_PAGES: u32 = 8;
/// What a class's cache may hold beyond what it was last filled with.
const CACHE_BYTES: usize = 32 << 10;
const CACHED_MOST: u32 = 512;
/// So many times that it takes of a page at once, rather than to walk through its list to divide it.
const REFILL_MOST: u32 = 2;
/// No cache may hold more blocks.
const ROOM_MOST: u32 = REFILL_MOST * CACHED_MOST + CACHED_MOST / 4;

/// So many slices has a page of the class.
pub(crate) const fn slices_of_class(class: usize) -> usize {
    if size_of_class(class) <= SMALL_BYTES_MAX { 1 } else { MEDIUM_SLICES }
}

/// How many blocks of the class a cache keeps.
pub(crate) const fn cached_most(class: usize) -> u32 {
    let most = CACHE_BYTES / size_of_class(class);
    if most > CACHED_MOST as usize {
        CACHED_MOST
    } else if most < 2 {
        2
    } else {
        most as u32
    }
}

/// The cache of a class.
// PERF: two numbers, of which a free changes one and an allocation the other. Of one number each would wait for the
// other's store (bench/malloc, pair).
#[repr(C)]
struct Bin {
    first: Cell<*mut Block>,
    /// So many blocks were put there.
    put: Cell<u32>,
    /// If more are, the cache is flushed: those that were taken, and what the class's cache may hold.
    put_most: Cell<u32>,
}

/// The pages of a class that the heap holds.
#[repr(C)]
struct List {
    first: Cell<*const Page>,
    last: Cell<*const Page>,
    length: Cell<u32>,
}

/// How often a heap had no page of a class any more, and made or adopted one.
static WANTED: [AtomicU32; CLASSES] = [const { AtomicU32::new(0) }; CLASSES];

/// What a heap counts, for whoever looks.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) refills: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) returned_blocks: AtomicU64,
    pub(crate) returned_batches: AtomicU64,
    pub(crate) adopted_pages: AtomicU64,
    pub(crate) fresh_pages: AtomicU64,
    pub(crate) freed_pages: AtomicU64,
}

impl Counts {
    /// All of them, in the order in which they stand above.
    pub(crate) fn all(&self) -> [u64; 7] {
        let Counts { refills, flushes, returned_blocks, returned_batches, .. } = self;
        let Counts { adopted_pages, fresh_pages, freed_pages, .. } = self;
        [refills, flushes, returned_blocks, returned_batches, adopted_pages, fresh_pages, freed_pages]
            .map(|count| count.load(Ordering::Relaxed))
    }
}

/// Only the heap's thread counts; others look.
fn count(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// A heap. All zeroes is one.
#[repr(C, align(128))]
pub(crate) struct Heap {
    /// A thread is at work here: a signal handler that interrupted it must not be.
    is_busy: AtomicBool,
    /// Its number among the records, and the link of those that wait.
    pub(crate) number: AtomicU32,
    pub(crate) next: AtomicU32,
    /// Whether its thread rests, and since when.
    pub(crate) rest: RestWord,
    pub(crate) rests_since_ms: AtomicU64,
    /// So many rests there were. Who has the heap counts.
    pub(crate) rests: Cell<u64>,
    tick: Cell<u32>,
    purged_ms: Cell<u64>,
    swept: Cell<u32>,
    /// So many bytes until the next sample of the profile; and what random numbers are made of.
    sample_in: Cell<i64>,
    sample_random: Cell<u32>,
    bins: [Bin; CLASSES],
    /// The class of each small size.
    // PERF: here, and not in a static, whose address a preloaded library has to load.
    table: Cell<class::Table>,
    lists: [List; CLASSES],
    /// How many blocks each cache may hold.
    limits: [Cell<u32>; CLASSES],
    /// How many pages had been wanted of each class when others were last left some.
    seen_wanted: [Cell<u32>; CLASSES],
    pub(crate) counts: Counts,
}

/// The heap's thread is at work in it until this is dropped.
pub(crate) struct HeapWork<'h>(&'h Heap);

impl Drop for HeapWork<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::Release); // pairs with `work`, in a handler that interrupts this thread
        self.0.is_busy.store(false, Ordering::Relaxed);
    }
}

impl Heap {
    /// The right to work in the heap, unless what the caller has interrupted has it.
    #[inline(always)]
    pub(crate) fn work(&self) -> Option<HeapWork<'_>> {
        if self.is_busy.load(Ordering::Relaxed) {
            return None;
        }
        self.is_busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::Acquire); // pairs with `drop`
        Some(HeapWork(self))
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    /// How many blocks the class's cache has.
    fn count(&self, class: usize) -> u32 {
        let Bin { put, put_most, .. } = &self.bins[class];
        self.limits[class].get().wrapping_sub(put_most.get().wrapping_sub(put.get()))
    }

    /// The class's cache has so many blocks now. It may have a few more than it was filled with.
    fn set_count(&self, class: usize, count: u32) {
        let most = cached_most(class);
        let limit = most.max(count + most / 4);
        self.limits[class].set(limit);
        self.bins[class].put.set(count);
        self.bins[class].put_most.set(limit);
    }

    fn id(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Says how much each cache may hold, and of which class each size is. Until then it has nothing.
    pub(crate) fn set_limits(&self) {
        self.table.set(const { class::table() });
        (0..CLASSES).for_each(|class| self.set_count(class, 0));
    }
}

impl HeapWork<'_> {
    /// A block of the cache, null if there is none.
    #[inline(always)]
    pub(crate) fn pop(&self, class: usize) -> *mut Block {
        let bin = &self.0.bins[class];
        let block = bin.first.get();
        if !block.is_null() {
            // SAFETY: the cache's blocks are free, and the heap's.
            bin.first.set(unsafe { next_of(block) });
            bin.put_most.set(bin.put_most.get().wrapping_add(1));
        }
        block
    }

    /// As [`HeapWork::pop`], of the class of at most [`class::TABLE_MAX`] bytes.
    #[inline(always)]
    pub(crate) fn pop_small(&self, size: usize) -> *mut Block {
        let table = Cell::as_array_of_cells(&self.0.table);
        let class = usize::from(table[class::index_of(size)].get());
        // SAFETY: all that such a table has is a class, of zeroes, too.
        unsafe { std::hint::assert_unchecked(class < CLASSES) };
        self.pop(class)
    }

    /// Puts a block into the cache. True if that has grown too long, or goes round.
    ///
    /// # Safety
    /// It is of this class, and nobody uses it.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, class: usize, block: *mut Block) -> bool {
        let bin = &self.0.bins[class];
        // SAFETY: passed on.
        unsafe { crate::page::set_next(block, bin.first.get()) };
        bin.first.set(block);
        let put = bin.put.get().wrapping_add(1);
        bin.put.set(put);
        // Both numbers go round. Too many were put there, or more were taken than there were: `flush` tells them apart.
        bin.put_most.get().wrapping_sub(put) > ROOM_MOST
    }

    /// How many samples of the profile an allocation of this size is.
    pub(crate) fn samples(&self, size: usize) -> u32 {
        let Heap { sample_in, sample_random, .. } = self.0;
        let (left, random, samples) = profile::count_down(sample_in.get(), sample_random.get(), size);
        sample_in.set(left);
        sample_random.set(random);
        samples
    }

    /// Whether a refill would have to look for pages elsewhere.
    pub(crate) fn lacks_pages(&self, class: usize) -> bool {
        self.0.lists[class].first().is_none()
    }

    /// A block of a class whose cache is empty; null if there is no memory. The work in the heap is over then.
    #[cold]
    #[inline(never)]
    pub(crate) fn refill(self, class: usize) -> *mut Block {
        let block = self.pop(class);
        if !block.is_null() {
            return block;
        }
        count(&self.0.counts.refills, 1);
        let batch = (cached_most(class) / 2).max(1);
        let chain = self.take_from_pages(class, batch);
        let chain = if chain.count > 0 { chain } else { self.take_from_another_page(class, batch) };
        let bin = &self.0.bins[class];
        bin.first.set(chain.first);
        self.0.set_count(class, chain.count);
        self.pop(class)
    }

    /// Blocks of pages that the heap holds. Pages that have none are given up.
    fn take_from_pages(&self, class: usize, batch: u32) -> Chain {
        let list = &self.0.lists[class];
        // bounded: each round gives up a page, or ends; a page whose word refuses has blocks then.
        while let Some(page) = list.first() {
            if !page.has_local()
                && let Some(chain) = page.take_returned(REFILL_MOST * cached_most(class))
            {
                return chain;
            }
            if page.has_local() {
                return page.take_local(REFILL_MOST * cached_most(class), batch);
            }
            if !page.is_carved() {
                return page.carve(class, batch.min(page.fresh_at_once(class)));
            }
            list.unlink(page);
            page.set_owner(NOBODY);
            if !page.word().disown_empty() {
                page.set_owner(self.0.id());
                list.push_front(page);
            }
        }
        Chain::EMPTY
    }

    /// Blocks of a page that somebody has left, or of a new one.
    fn take_from_another_page(&self, class: usize, batch: u32) -> Chain {
        self.sweep();
        // bounded: a page that was left may have lost its last block meanwhile; the third is a new one.
        for attempt in 0..3 {
            let Some(page) = self.another_page(class, attempt < 2) else { break };
            self.0.lists[class].push_front(page);
            let chain = self.take_from_pages(class, batch);
            if chain.count > 0 {
                return chain;
            }
        }
        Chain::EMPTY
    }

    fn another_page(&self, class: usize, may_adopt: bool) -> Option<&'static Page> {
        WANTED[class].fetch_add(1, Ordering::Relaxed);
        let seen = &self.0.seen_wanted[class];
        seen.set(seen.get().wrapping_add(1));
        if may_adopt && let Some(page) = arena::adopt(class) {
            page.set_owner(self.0.id());
            count(&self.0.counts.adopted_pages, 1);
            return Some(page);
        }
        let count_of_slices = slices_of_class(class);
        let slices = arena::take(count_of_slices, 1, self.0.number.load(Ordering::Relaxed) as usize)?;
        Arena::init_page(&slices, class, count_of_slices, self.0.id());
        count(&self.0.counts.fresh_pages, 1);
        Some(slices.first)
    }

    /// Looks in one class, another one each time, for pages whose last blocks others have given back.
    fn sweep(&self) {
        let class = self.0.swept.get() as usize % CLASSES;
        self.0.swept.set(self.0.swept.get().wrapping_add(1));
        let list = &self.0.lists[class];
        let mut page = list.first();
        // bounded: by the heap's pages.
        while let Some(this) = page {
            page = this.following();
            self.free_if_empty(list, this);
        }
        self.purge_if_due();
    }

    fn free_if_empty(&self, list: &List, page: &Page) {
        if page.is_empty() && !(list.is_alone(page) && page.slices() == 1) {
            list.unlink(page);
            free_page(page);
            count(&self.0.counts.freed_pages, 1);
        }
    }

    /// Has the kernel take back what has been free for a while, once in a while.
    fn purge_if_due(&self) {
        let tick = self.0.tick.get().wrapping_add(1);
        self.0.tick.set(tick);
        if tick.is_multiple_of(16) {
            decay::purge_if_due(&self.0.purged_ms);
        }
    }
}

/// A list of free blocks is longer than what was put there.
#[cold]
#[inline(never)]
fn goes_round() -> ! {
    system::die(&["raddle-alloc: a block was freed twice, or written to after it had been freed; \
                   RADDLE_ALLOC=hardened=on tells where\n"])
}

/// What goes back.
impl HeapWork<'_> {
    /// Gives most of a cache that has grown too long back to its pages, the oldest blocks. The work in the heap is over
    /// then.
    // PERF: by value, and by C's convention, as no panic leaves it: the usual path jumps here, and has no frame
    // (bench/malloc, pair).
    #[cold]
    #[inline(never)]
    #[allow(improper_ctypes_definitions, reason = "no C calls it")]
    pub(crate) extern "C" fn flush(self, class: usize) {
        count(&self.0.counts.flushes, 1);
        let bin = &self.0.bins[class];
        let all = self.0.count(class);
        if all > self.0.limits[class].get() + 1 {
            goes_round(); // more was taken than there was
        }
        let keep = cached_most(class) / 4;
        self.purge_if_due();
        if keep == 0 || all <= keep {
            self.flush_all(class);
            return self.leave_some(class);
        }
        let mut block = bin.first.get();
        // bounded: by `keep`.
        for _ in 1..keep {
            // SAFETY: the cache's blocks are the heap's.
            block = unsafe { next_of(block) };
        }
        // SAFETY: as above.
        let rest = unsafe { next_of(block) };
        // SAFETY: as above.
        unsafe { crate::page::set_next(block, ptr::null_mut()) };
        let more = all - keep;
        self.0.set_count(class, keep);
        self.give_all(class, rest, more);
        self.leave_some(class);
    }

    /// Leaves pages to others who want some.
    fn leave_some(&self, class: usize) {
        let all = WANTED[class].load(Ordering::Relaxed);
        let wanted = all.wrapping_sub(self.0.seen_wanted[class].replace(all));
        let list = &self.0.lists[class];
        // bounded: by the heap's pages.
        for _ in 0..wanted.min(list.length.get().saturating_sub(KEPT_PAGES)) {
            let Some(page) = list.first() else { return };
            list.unlink(page);
            leave_page(page);
        }
    }

    fn flush_all(&self, class: usize) {
        let bin = &self.0.bins[class];
        let first = bin.first.replace(ptr::null_mut());
        if first.is_null() {
            return; // most classes of a thread that ends
        }
        let all = self.0.count(class);
        self.0.set_count(class, 0);
        self.give_all(class, first, all);
    }

    /// Gives `count` blocks back to their pages, one exchange for those of a page that lie near each other in the list.
    fn give_all(&self, class: usize, mut block: *mut Block, mut count: u32) {
        const OPEN: usize = 16;
        let mut open: [(*const Page, Chain); OPEN] = [(ptr::null(), Chain::EMPTY); OPEN];
        // bounded: by the count; a list may go round, if a program has freed a block twice.
        while !block.is_null() {
            count = count.checked_sub(1).unwrap_or_else(|| goes_round());
            // SAFETY: the blocks are free, and the heap's.
            let next = unsafe { next_of(block) };
            // SAFETY: as above.
            let page = unsafe { page_of(block.cast()) };
            let place = &mut open[(block.addr() / SLICE / slices_of_class(class)) % OPEN];
            if !ptr::eq(place.0, page) {
                let (other, chain) = std::mem::replace(place, (page, Chain::EMPTY));
                self.give_chain(class, other, chain);
            }
            // SAFETY: as above.
            unsafe { place.1.put(block) };
            block = next;
        }
        // bounded: by the array.
        for (page, chain) in open {
            self.give_chain(class, page, chain);
        }
    }

    fn give_chain(&self, class: usize, page: *const Page, chain: Chain) {
        // SAFETY: null, or what is known of a page, which stays.
        let Some(page) = (unsafe { page.as_ref() }) else { return };
        let list = &self.0.lists[class];
        if page.owner() == self.0.id() {
            // SAFETY: the blocks are of this page, and the heap's.
            unsafe { page.put_local(chain) };
            return self.free_if_empty(list, page);
        }
        count(&self.0.counts.returned_batches, 1);
        count(&self.0.counts.returned_blocks, u64::from(chain.count));
        // SAFETY: as above.
        if unsafe { page.push(chain) } {
            arena::unlist(page);
            page.set_owner(self.0.id());
            list.push_back(page);
            self.free_if_empty(list, page);
            count(&self.0.counts.adopted_pages, 1);
        }
    }

    /// Gives back and gives up all that the heap has: the caches, and the pages, which others may adopt.
    pub(crate) fn leave_all(&self) {
        // bounded: by the classes.
        for class in 0..CLASSES {
            self.flush_all(class);
            let list = &self.0.lists[class];
            // bounded: by the heap's pages.
            while let Some(page) = list.first() {
                list.unlink(page);
                leave_page(page);
            }
        }
    }
}

/// Gives up a page that the caller holds and that is in no list: empty ones go back to the arena.
pub(crate) fn leave_page(page: &Page) {
    // Hardened, what is known of its blocks stays, so that one that is freed again is found.
    if page.is_empty() && !hardened::is_on() {
        return free_page(page);
    }
    page.set_owner(NOBODY);
    if page.has_some() || !page.word().disown_empty() {
        arena::list(page);
        page.word().disown();
    }
}

/// Gives the slices of a page back whose holder the caller is, and of which no block is in use.
pub(crate) fn free_page(page: &Page) {
    page.set_owner(NOBODY);
    let _all_of_them = page.word().take();
    arena::give(page, slices_of_class(usize::from(page.class())));
}

/// The pages of a list, its holder's.
impl List {
    fn first(&self) -> Option<&'static Page> {
        // SAFETY: null, or what is known of a page, which stays.
        unsafe { self.first.get().as_ref() }
    }

    fn is_alone(&self, page: &Page) -> bool {
        ptr::eq(self.first.get(), page) && ptr::eq(self.last.get(), page)
    }

    fn push_front(&self, page: &Page) {
        self.length.set(self.length.get() + 1);
        page.set_previous(ptr::null());
        page.set_next(self.first.get());
        match self.first() {
            Some(first) => first.set_previous(page),
            None => self.last.set(page),
        }
        self.first.set(page);
    }

    fn push_back(&self, page: &Page) {
        self.length.set(self.length.get() + 1);
        page.set_next(ptr::null());
        page.set_previous(self.last.get());
        // SAFETY: as in `first`.
        match unsafe { self.last.get().as_ref() } {
            Some(last) => last.set_next(page),
            None => self.first.set(page),
        }
        self.last.set(page);
    }

    fn unlink(&self, page: &Page) {
        self.length.set(self.length.get() - 1);
        match page.following() {
            Some(next) => next.set_previous(page.previous()),
            None => self.last.set(page.previous()),
        }
        // SAFETY: as in `first`.
        match unsafe { page.previous().as_ref() } {
            Some(previous) => previous.set_next(page.next()),
            None => self.first.set(page.next()),
        }
    }
}

impl Page {
    fn following(&self) -> Option<&'static Page> {
        // SAFETY: null, or what is known of a page, which stays.
        unsafe { self.next().as_ref() }
    }
}

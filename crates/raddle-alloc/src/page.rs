//! Owns: what is known of a page: its class, its holder, its blocks.
//! May use: `class`, `protocol::page_word`.
//! Never: an arena's bitmaps; a heap's lists, but the links in them.
//!
//! A page is one slice of an arena, or eight, with blocks of one class. What is known of it stands in the arena's
//! header: its class in a table beside those of other pages, the rest in three cache lines, by who writes them:
//!
//! | line | written | read |
//! |---|---|---|
//! | facts | when the page is made, and `owner` when somebody becomes its holder | by who gives blocks back |
//! | holder's | by the holder alone | by the holder alone |
//! | word | by who gives blocks back, for many at once | by the holder, when it has none left |
//!
//! It is unsafe because it writes links into blocks that are free.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use crate::class::size_of_class;
use crate::protocol::page_word::{PageWord, Returned};

/// A slice: what arenas are divided into.
pub(crate) const SLICE: usize = 64 << 10;
/// The class of a run of slices that is one block.
pub(crate) const LARGE: u8 = 0xfe;
/// What is left of a run of slices that was freed.
pub(crate) const GONE: u8 = 0xfd;
/// The class of a block with a mapping of its own.
pub(crate) const HUGE: u8 = 0xff;
/// What is no page has this owner, and so has a page between two holders.
pub(crate) const NOBODY: usize = 0;
/// The owner of pages on which a thread without a heap is at work.
pub(crate) const SOMEBODY: usize = 1;

/// A free block. Its first word is the link to the next one.
#[repr(C)]
pub(crate) struct Block {
    next: *mut Block,
}

/// The link of a free block.
///
/// # Safety
/// The block is free and the caller's.
#[inline(always)]
pub(crate) unsafe fn next_of(block: *mut Block) -> *mut Block {
    // SAFETY: passed on.
    unsafe { (*block).next }
}

/// Sets the link of a free block.
///
/// # Safety
/// As for [`next_of`].
#[inline(always)]
pub(crate) unsafe fn set_next(block: *mut Block, next: *mut Block) {
    // SAFETY: passed on.
    unsafe { (*block).next = next };
}

/// A list of free blocks that are the caller's: from `first` to `last`, `count` of them. The last one's link is nothing
/// that counts.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) first: *mut Block,
    pub(crate) last: *mut Block,
    pub(crate) count: u32,
}

impl Chain {
    pub(crate) const EMPTY: Chain = Chain { first: ptr::null_mut(), last: ptr::null_mut(), count: 0 };

    /// Puts a block before the others.
    ///
    /// # Safety
    /// It is free, and the caller's.
    pub(crate) unsafe fn put(&mut self, block: *mut Block) {
        // SAFETY: passed on.
        unsafe { set_next(block, self.first) };
        self.first = block;
        if self.count == 0 {
            self.last = block;
        }
        self.count += 1;
    }
}

#[repr(C, align(64))]
struct Facts {
    /// How many slices before this one the page begins.
    back: AtomicU8,
    owner: AtomicUsize,
    /// How many slices a large block has.
    slices: AtomicU32,
    /// Where its blocks begin; of a large block that is a sample, the size that was asked for.
    start: AtomicPtr<u8>,
    /// What the hardened mode knows of them; of a large block, of which sample of the profile it is.
    table: AtomicPtr<u8>,
}

#[repr(C, align(64))]
struct HolderPart {
    local: Cell<*mut Block>,
    local_count: Count,
    /// So many blocks have ever been given out; those behind them are memory that was never touched.
    carved: Count,
    capacity: Count,
    /// The bitmap of pages that were left names it.
    is_listed: Cell<bool>,
    next: Cell<*const Page>,
    previous: Cell<*const Page>,
}

/// A number of the holder's at which whoever counts may look.
struct Count(AtomicU32);

impl Count {
    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, count: u32) {
        self.0.store(count, Ordering::Relaxed);
    }
}

#[repr(C, align(64))]
struct CacheLine<T>(T);

/// What is known of a slice; all zeroes for what is no page's first.
#[repr(C)]
pub(crate) struct Page {
    facts: Facts,
    held: HolderPart,
    word: CacheLine<PageWord>,
}

impl Page {
    /// Makes it the first slice of a page of `slices` that the caller holds. Its other slices are to be told by
    /// [`Page::init_inner`], and the class of all by the arena.
    pub(crate) fn init(&self, class: usize, slices: usize, start: *mut u8, owner: usize) {
        self.facts.back.store(0, Ordering::Relaxed);
        self.facts.owner.store(owner, Ordering::Relaxed);
        self.facts.slices.store(slices as u32, Ordering::Relaxed);
        self.facts.start.store(start, Ordering::Relaxed);
        // A thread that had its heap before the hardened mode was on gives pages back that have one, of other blocks.
        self.facts.table.store(ptr::null_mut(), Ordering::Relaxed);
        self.held.local.set(ptr::null_mut());
        self.held.local_count.set(0);
        self.held.carved.set(0);
        self.held.capacity.set((slices * SLICE / size_of_class(class)) as u32);
        self.held.is_listed.set(false);
    }

    /// Makes it a slice of the page that begins `back` slices before.
    pub(crate) fn init_inner(&self, back: usize) {
        self.facts.back.store(back as u8, Ordering::Relaxed);
    }

    /// Makes it the first slice of a run that is a block of its own, or was.
    pub(crate) fn init_run(&self, slices: usize) {
        self.facts.back.store(0, Ordering::Relaxed);
        self.facts.slices.store(slices as u32, Ordering::Relaxed);
        self.facts.table.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Makes a large block a sample of the profile: of which site, how many, and of blocks of which size.
    pub(crate) fn set_sample(&self, site: u32, samples: u32, size: usize) {
        let packed = (site as usize + 1) | (samples as usize) << 32;
        self.facts.table.store(ptr::without_provenance_mut(packed), Ordering::Relaxed);
        self.facts.start.store(ptr::without_provenance_mut(size), Ordering::Relaxed);
    }

    /// What [`Page::set_sample`] has set, once.
    pub(crate) fn take_sample(&self) -> Option<(u32, u32, usize)> {
        let packed = self.facts.table.load(Ordering::Relaxed).addr();
        if packed == 0 {
            return None;
        }
        self.facts.table.store(ptr::null_mut(), Ordering::Relaxed);
        Some(((packed as u32) - 1, (packed >> 32) as u32, self.start().addr()))
    }

    pub(crate) fn back(&self) -> usize {
        usize::from(self.facts.back.load(Ordering::Relaxed))
    }

    pub(crate) fn slices(&self) -> usize {
        self.facts.slices.load(Ordering::Relaxed) as usize
    }

    pub(crate) fn set_slices(&self, slices: usize) {
        self.facts.slices.store(slices as u32, Ordering::Relaxed);
    }

    /// How many slices of a large block are its guard: `back` says so, since a large block has no inner slices.
    pub(crate) fn guard(&self) -> usize {
        self.back()
    }

    pub(crate) fn set_guard(&self, guard: usize) {
        self.facts.back.store(guard as u8, Ordering::Relaxed);
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.facts.start.load(Ordering::Relaxed)
    }

    /// Who holds it. It is only of use to who asks whether it does so itself: it says so as long as it does.
    pub(crate) fn owner(&self) -> usize {
        self.facts.owner.load(Ordering::Relaxed)
    }

    pub(crate) fn table(&self) -> &AtomicPtr<u8> {
        &self.facts.table
    }

    pub(crate) fn word(&self) -> &PageWord {
        &self.word.0
    }

    /// The number by which the page's word names a block.
    fn number(&self, block: *mut Block) -> u32 {
        ((block.addr() - self.start().addr()) / 16 + 1) as u32
    }

    fn block(&self, number: u32) -> *mut Block {
        if number == 0 {
            return ptr::null_mut();
        }
        self.start().wrapping_add((number as usize - 1) * 16).cast()
    }

    /// Gives blocks of this page back, without being its holder. True if the caller is that now.
    ///
    /// # Safety
    /// The blocks are of this page, free, and the caller's.
    pub(crate) unsafe fn push(&self, chain: Chain) -> bool {
        // SAFETY: passed on.
        unsafe { self.push_noting(chain, |_| {}) }
    }

    /// As [`Page::push`]; `note` is told what the last block's link is, each time that it is set.
    ///
    /// # Safety
    /// As for [`Page::push`].
    pub(crate) unsafe fn push_noting(&self, chain: Chain, note: impl Fn(*mut Block)) -> bool {
        let returned = Returned { head: self.number(chain.first), count: chain.count };
        self.word().push(returned, |head| {
            // SAFETY: the chain is the caller's until the exchange.
            unsafe { set_next(chain.last, self.block(head)) };
            note(self.block(head));
        })
    }
}

/// What the holder alone does.
impl Page {
    pub(crate) fn set_owner(&self, owner: usize) {
        self.facts.owner.store(owner, Ordering::Relaxed);
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.held.is_listed.get()
    }

    pub(crate) fn set_listed(&self, listed: bool) {
        self.held.is_listed.set(listed);
    }

    pub(crate) fn next(&self) -> *const Page {
        self.held.next.get()
    }

    pub(crate) fn set_next(&self, next: *const Page) {
        self.held.next.set(next);
    }

    pub(crate) fn previous(&self) -> *const Page {
        self.held.previous.get()
    }

    pub(crate) fn set_previous(&self, previous: *const Page) {
        self.held.previous.set(previous);
    }

    /// Gives blocks back.
    ///
    /// # Safety
    /// As for [`Page::push`].
    pub(crate) unsafe fn put_local(&self, chain: Chain) {
        // SAFETY: passed on.
        unsafe { set_next(chain.last, self.held.local.get()) };
        self.held.local.set(chain.first);
        self.held.local_count.set(self.held.local_count.get() + chain.count);
    }

    /// Takes what others have given back. The own list is empty.
    pub(crate) fn collect(&self) -> bool {
        let returned = self.word().take();
        if returned.count == 0 {
            return false;
        }
        self.held.local.set(self.block(returned.head));
        self.held.local_count.set(returned.count);
        true
    }

    /// What others have given back, if it is at most `most`; more goes to the own list, which is empty before. The
    /// chain's last block is not known: to walk to it would wait for each link to come from another core's cache.
    pub(crate) fn take_returned(&self, most: u32) -> Option<Chain> {
        let returned = self.word().take();
        let first = self.block(returned.head);
        if returned.count > most {
            self.held.local.set(first);
            self.held.local_count.set(returned.count);
        }
        let is_all = (1..=most).contains(&returned.count);
        is_all.then_some(Chain { first, last: ptr::null_mut(), count: returned.count })
    }

    /// Whether no block of it is in use, as far as the holder can see. Then all of them are in its lists.
    pub(crate) fn is_empty(&self) -> bool {
        let local = self.held.local_count.get();
        let carved = self.held.carved.get();
        local == carved || local + self.word().count() == carved
    }

    /// Whether it has blocks to give, or may have some.
    pub(crate) fn has_some(&self) -> bool {
        !self.held.local.get().is_null() || !self.is_carved() || self.word().count() > 0
    }

    /// How many blocks have ever been given out.
    pub(crate) fn carved(&self) -> usize {
        self.held.carved.get() as usize
    }

    pub(crate) fn is_carved(&self) -> bool {
        self.held.carved.get() == self.held.capacity.get()
    }

    pub(crate) fn has_local(&self) -> bool {
        !self.held.local.get().is_null()
    }

    /// How many blocks that were never given out are to be so at once: a page of the kernel's at first, more later.
    pub(crate) fn fresh_at_once(&self, class: usize) -> u32 {
        let carved = self.held.carved.get() as usize * size_of_class(class);
        (carved.max(4096) / size_of_class(class)).max(1) as u32
    }

    /// How many blocks are in use, as far as can be seen, and how many there may be.
    pub(crate) fn used(&self) -> (u32, u32) {
        let free = self.held.local_count.get() + self.word().count();
        (self.held.carved.get().saturating_sub(free), self.held.capacity.get())
    }

    /// The link of the first block of the own list, for whoever mistrusts it.
    pub(crate) fn first_link(&self) -> (*mut Block, *mut Block) {
        let first = self.held.local.get();
        // SAFETY: blocks of the own list are free, and the holder's.
        (first, unsafe { next_of(first) })
    }

    /// Takes the own list if it has at most `all_of` blocks, as [`Page::take_returned`] does; else the first `most`.
    /// The chain's last link is null.
    pub(crate) fn take_local(&self, all_of: u32, most: u32) -> Chain {
        let first = self.held.local.get();
        let all = self.held.local_count.get();
        if all <= all_of {
            self.held.local.set(ptr::null_mut());
            self.held.local_count.set(0);
            return Chain { first, last: ptr::null_mut(), count: all };
        }
        let (mut last, mut count) = (first, 1);
        // SAFETY: blocks of the own list are free, and the holder's.
        let mut next = unsafe { next_of(last) };
        // bounded: by `most`.
        while count < most && !next.is_null() {
            last = next;
            // SAFETY: as above.
            next = unsafe { next_of(last) };
            count += 1;
        }
        // SAFETY: as above.
        unsafe { set_next(last, ptr::null_mut()) };
        self.held.local.set(next);
        self.held.local_count.set(self.held.local_count.get() - count);
        Chain { first, last, count }
    }

    /// Up to `most` blocks that were never given out, in the order of their addresses; at least one is left. The
    /// chain's last link is null.
    pub(crate) fn carve(&self, class: usize, most: u32) -> Chain {
        let size = size_of_class(class);
        let carved = self.held.carved.get();
        let count = most.min(self.held.capacity.get() - carved);
        let first = self.start().wrapping_add(carved as usize * size);
        let mut block = first;
        // bounded: by `count`.
        for _ in 1..count {
            let next = block.wrapping_add(size);
            // SAFETY: the block lies in the page, and nobody has it.
            unsafe { set_next(block.cast(), next.cast()) };
            block = next;
        }
        // SAFETY: as above.
        unsafe { set_next(block.cast(), ptr::null_mut()) };
        self.held.carved.set(carved + count);
        Chain { first: first.cast(), last: block.cast(), count }
    }
}

//! Owns: `Bag`, where a flow's private forks with a handle lie, and `Chunk`, the page that they lie in.
//! May use: nothing.
//! Never: memory of its own; chunks are given to it and come back from it.
//!
//! A fork that nobody asks for is written once and read once, so that with a million of them alive the bytes are
//! what they cost (PERF: bench `flat`: 64 bytes each, in a list, 16 to 25 ns; 16 bytes, 4 to 6). Here one is its word
//! and its closure, without links: places are handed out one after the other, in chunks of one page. Only the flow that
//! has made a fork looks at its place by plain loads and stores; others meet it in the word (`promise`).
//!
//! | field of a chunk | who may touch it |
//! |---|---|
//! | `home` | written when a bag takes the chunk; then whoever has a handle reads it |
//! | `live`, `scanned`, `stride`, `older`, `younger` | the flow whose bag it is in; of a free chunk: its holder |
//! | `shares` | anybody: one for the bag, and one for each handle to a promoted fork; the last one gives it back |

use super::promise::Promise;
use super::shares::Shares;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Bytes of a chunk, and what it is aligned to.
pub const CHUNK_BYTES: usize = 4096;
const HEAD_BYTES: usize = 64;
/// Bytes of a place of each size.
const STRIDES: [usize; 2] = [16, 32];

/// One fork's place: its word, and room for its closure behind.
#[repr(C, align(16))]
pub struct Place {
    /// Whether somebody has asked for it.
    pub promise: Promise,
    room: MaybeUninit<usize>,
}

impl Place {
    /// Where the closure lies.
    #[inline(always)]
    pub fn room(place: *mut Place) -> *mut () {
        place.wrapping_byte_add(size_of::<usize>()).cast()
    }
}

/// A page of places of one size.
#[repr(C, align(64))]
pub struct Chunk {
    /// The header of the flow that makes forks here.
    home: Cell<*const ()>,
    /// Places that are not used yet, or hold a private fork.
    live: Cell<usize>,
    /// Below this there is no private fork.
    scanned: Cell<*mut Place>,
    stride: Cell<usize>,
    /// The page that was filled before this one.
    pub older: Cell<*mut Chunk>,
    younger: Cell<*mut Chunk>,
    shares: Shares,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Chunk>() == HEAD_BYTES && size_of::<Place>() == STRIDES[0]);

impl Chunk {
    /// A chunk in no bag.
    #[inline]
    pub fn free(next: *mut Chunk) -> Chunk {
        Chunk {
            home: Cell::new(std::ptr::null()),
            live: Cell::new(0),
            scanned: Cell::new(null_mut()),
            stride: Cell::new(STRIDES[0]),
            older: Cell::new(next),
            younger: Cell::new(null_mut()),
            shares: Shares::none(),
        }
    }

    /// The chunk of a place in use. (By address: a pointer made of a reference to the head would not reach the places.)
    #[inline(always)]
    fn of(place: *mut Place) -> *mut Chunk {
        place.map_addr(|a| a & !(CHUNK_BYTES - 1)).cast()
    }

    /// Whose the fork is.
    ///
    /// # Safety
    /// `place` is in use.
    #[inline(always)]
    pub unsafe fn home(place: *mut Place) -> *const () {
        // SAFETY: a place lies in a chunk, which begins at a multiple of its size and is never freed.
        unsafe { &*Chunk::of(place) }.home.get()
    }

    /// Who has the handle to a promoted fork will not look at its place again: the chunk, if it is free now.
    ///
    /// # Safety
    /// `place` is in use, and its fork was promoted.
    #[inline]
    pub unsafe fn let_go(place: *mut Place) -> Option<*mut Chunk> {
        let chunk = Chunk::of(place);
        // SAFETY: as in `home`.
        unsafe { &*chunk }.shares.leave().then_some(chunk)
    }

    #[inline]
    fn first(chunk: *mut Chunk) -> *mut Place {
        chunk.wrapping_byte_add(HEAD_BYTES).cast()
    }

    #[inline]
    fn places(&self) -> usize {
        (CHUNK_BYTES - HEAD_BYTES) / self.stride.get()
    }

    /// Behind the last place of a chunk whose head is `self`.
    #[inline]
    fn end(&self, chunk: *mut Chunk) -> *mut Place {
        Chunk::first(chunk).wrapping_byte_add(self.places() * self.stride.get())
    }

    /// Ready to hand all places out.
    #[inline]
    fn renew(&self, chunk: *mut Chunk) {
        self.live.set(self.places());
        self.scanned.set(Chunk::first(chunk));
    }
}

/// Where the next place of one size is. Both null if there is no chunk.
#[derive(Debug)]
struct Cursor {
    next: Cell<*mut Place>,
    end: Cell<*mut Place>,
}

impl Cursor {
    #[inline]
    fn set(&self, next: *mut Place, end: *mut Place) {
        self.next.set(next);
        self.end.set(end);
    }
}

/// The private forks of one flow that have a handle; those of `join` and scopes are in a list (`jobs`).
#[derive(Debug)]
pub struct Bag {
    cursors: [Cursor; 2],
    oldest: Cell<*mut Chunk>,
    youngest: Cell<*mut Chunk>,
}

impl Bag {
    /// A bag without a page.
    #[inline(always)]
    pub fn new() -> Self {
        let nowhere = || Cursor { next: Cell::new(null_mut()), end: Cell::new(null_mut()) };
        Bag {
            cursors: [nowhere(), nowhere()],
            oldest: Cell::new(null_mut()),
            youngest: Cell::new(null_mut()),
        }
    }

    /// Whether there is anything to promote, or to give back.
    #[inline]
    pub fn is_used(&self) -> bool {
        !self.oldest.get().is_null()
    }

    /// A place with so many words of room, one or three, for a flow whose header is `home`.
    #[inline(always)]
    pub fn place(&self, words: usize, home: *const (), chunk: impl FnOnce() -> *mut Chunk) -> *mut Place {
        let size = usize::from(words > 1);
        let cursor = &self.cursors[size];
        let place = cursor.next.get();
        if place == cursor.end.get() {
            return self.place_in_new(size, home, chunk());
        }
        cursor.next.set(place.wrapping_byte_add(STRIDES[size]));
        place
    }

    #[cold]
    #[inline(never)]
    fn place_in_new(&self, size: usize, home: *const (), chunk: *mut Chunk) -> *mut Place {
        // SAFETY: a free chunk is its holder's alone.
        let new = unsafe { &*chunk };
        new.home.set(home);
        new.stride.set(STRIDES[size]);
        new.renew(chunk);
        new.shares.begin();
        new.younger.set(null_mut());
        new.older.set(self.youngest.get());
        // SAFETY: null, or a chunk of this bag.
        match unsafe { self.youngest.get().as_ref() } {
            Some(before) => before.younger.set(chunk),
            None => self.oldest.set(chunk),
        }
        self.youngest.set(chunk);
        let first = Chunk::first(chunk);
        self.cursors[size].set(first.wrapping_byte_add(STRIDES[size]), new.end(chunk));
        first
    }

    /// The fork at `place` is private no more. False if it was the last of its chunk: then [`clear`](Self::clear) is
    /// called, when its closure has been taken out.
    ///
    /// # Safety
    /// `place` is in this bag, and was used.
    #[inline(always)]
    pub unsafe fn leave(&self, place: *mut Place) -> bool {
        // SAFETY: passed on to the caller.
        let chunk = unsafe { &*Chunk::of(place) };
        let live = chunk.live.get() - 1;
        chunk.live.set(live);
        live != 0
    }

    /// The chunk of `place` has no private fork any more: it is used again, or comes back if nobody else looks at it.
    ///
    /// # Safety
    /// `place` was in this bag, and [`leave`](Self::leave) was false.
    #[inline]
    pub unsafe fn clear(&self, place: *mut Place) -> Option<*mut Chunk> {
        let chunk = Chunk::of(place);
        // SAFETY: passed on to the caller.
        let head = unsafe { &*chunk };
        if let Some(cursor) = self.cursor_of(chunk)
            && head.shares.is_alone()
        {
            head.renew(chunk);
            cursor.set(Chunk::first(chunk), head.end(chunk));
            return None;
        }
        // SAFETY: as above: it is in this bag.
        unsafe { self.retire(chunk) }
    }

    /// The cursor that hands out places of this chunk, if one does.
    #[inline]
    fn cursor_of(&self, chunk: *mut Chunk) -> Option<&Cursor> {
        let is_its = |cursor: &&Cursor| Chunk::of(cursor.end.get().wrapping_byte_sub(STRIDES[0])) == chunk;
        self.cursors.iter().find(is_its)
    }

    /// Takes the chunk out.
    ///
    /// # Safety
    /// It is in this bag, and nothing in it is private.
    #[inline]
    unsafe fn retire(&self, chunk: *mut Chunk) -> Option<*mut Chunk> {
        if let Some(cursor) = self.cursor_of(chunk) {
            cursor.set(null_mut(), null_mut());
        }
        // SAFETY: passed on to the caller.
        let head = unsafe { &*chunk };
        let (older, younger) = (head.older.get(), head.younger.get());
        // SAFETY: null, or a chunk of this bag.
        match unsafe { older.as_ref() } {
            Some(older) => older.younger.set(younger),
            None => self.oldest.set(younger),
        }
        // SAFETY: as above.
        match unsafe { younger.as_ref() } {
            Some(younger) => younger.older.set(older),
            None => self.youngest.set(older),
        }
        head.shares.leave().then_some(chunk)
    }

    /// The oldest private fork, and what to do with it.
    #[inline]
    pub fn oldest<W>(&self) -> Option<(*mut Place, *mut ())> {
        let mut chunk = self.oldest.get();
        // SAFETY: null, or a chunk of this bag.
        while let Some(here) = unsafe { chunk.as_ref() } {
            let end = self.cursor_of(chunk).map_or(here.end(chunk), |cursor| cursor.next.get());
            while here.scanned.get() < end {
                let place = here.scanned.get();
                // SAFETY: it was handed out, and lies in a chunk of this bag.
                if let Some(act) = unsafe { &(*place).promise }.act::<W>() {
                    return Some((place, act));
                }
                here.scanned.set(place.wrapping_byte_add(here.stride.get()));
            }
            chunk = here.younger.get();
        }
        None
    }

    /// The fork at `place` is about to be promoted: its handle keeps the chunk from now on, too.
    ///
    /// # Safety
    /// `place` is in this bag, and was used.
    #[inline]
    pub unsafe fn share(&self, place: *mut Place) {
        // SAFETY: passed on to the caller.
        unsafe { &*Chunk::of(place) }.shares.add();
    }

    /// All has been promoted; the chunks go.
    #[inline]
    pub fn close(&self, mut give: impl FnMut(*mut Chunk)) {
        while self.is_used() {
            // SAFETY: it is in this bag, from which all was promoted.
            unsafe { self.retire(self.oldest.get()) }.into_iter().for_each(&mut give);
        }
    }
}

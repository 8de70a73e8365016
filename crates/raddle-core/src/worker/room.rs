//! Owns: `Rooms`: memory for closures, results and tasks that are too large for the place where small ones lie.
//! May use: nothing.
//! Never: a wait; what is kept without a bound.
//!
//! A spawn makes a value on one worker, and another may take it out: for an allocator the dearest case. So each worker
//! keeps free *rooms*, by size, and whoever empties one keeps it; what is too much goes to the depot by whole chains,
//! whence who has none fetches one. A room is a block of the program's allocator, so that anybody may give it back
//! there: who is no worker does, and who finds the depot full, or held by another. Nobody waits for it. Who is no
//! worker takes from the depot, too.
//!
//! Considered: rooms cut from larger pieces, as slots are, which could never be given back: 10^6 tasks of a kilobyte
//! that were once alive would keep a gigabyte. And a list in each block of a process, which helps neither jobs nor
//! tasks.
//!
//! (PERF: bench `tasks`, 250 at a time, seven rounds in turn, with an `Arc` and so: 210 -> 162 ns on one worker, 208 ->
//! 166 on two; the worst 218, 221 -> 185, 185.)

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Sizes are multiples of this many bytes, a cache line.
const STEP: usize = 64;
/// How many sizes there are: up to a kilobyte. What is larger costs more to fill than to allocate.
const SIZES: usize = 16;
/// As the C library aligns: more would cost it a search.
const ALIGN: usize = 16;
/// Rooms that go to the depot, and come from it, together.
const CHAIN: usize = 32;
/// A worker keeps twice as many of one size.
const KEPT: usize = 2 * CHAIN;
/// Bytes that the depot keeps of each size at most.
const MOST_BYTES: usize = 2 << 20;

/// The size of the rooms for such values, counted in steps less one; `None` if they lie in a box.
const fn size_of_room<T>() -> Option<usize> {
    let size = size_of::<T>();
    let has_room = size > 0 && size <= STEP * SIZES && align_of::<T>() <= ALIGN;
    // A sanitizer of addresses sees what is used after it was freed; what is kept it does not see.
    if has_room && !cfg!(raddle_asan) { Some((size - 1) / STEP) } else { None }
}

const fn layout(size: usize) -> Layout {
    // SAFETY: small, and aligned by a power of two.
    unsafe { Layout::from_size_align_unchecked((size + 1) * STEP, ALIGN) }
}

/// What lies in a free room.
struct FreeRoom {
    /// Of the same chain.
    next: Cell<*mut FreeRoom>,
    /// Of the first of a chain: the first of the next chain in the depot.
    next_chain: Cell<*mut FreeRoom>,
    /// Of the first of a chain: how many it has.
    count: Cell<usize>,
}

/// A worker's free rooms.
pub(super) struct Rooms([OneSize; SIZES]);

/// Those of one size.
///
/// An array of addresses, as with [`Slots`](super::jobs::Slots): a list makes each take wait for a load from the room.
struct OneSize {
    count: Cell<usize>,
    free: UnsafeCell<[MaybeUninit<NonNull<u8>>; KEPT]>,
}

impl OneSize {
    #[inline(always)]
    fn place(&self, index: usize) -> *mut NonNull<u8> {
        debug_assert!(index < KEPT);
        self.free.get().cast::<NonNull<u8>>().wrapping_add(index)
    }

    #[inline(always)]
    fn pop(&self) -> Option<NonNull<u8>> {
        let left = self.count.get().checked_sub(1)?;
        self.count.set(left);
        // SAFETY: what is below the count has been written, and one thread at a time is here.
        Some(unsafe { self.place(left).read() })
    }

    /// There is room for one more.
    #[inline(always)]
    fn push(&self, room: NonNull<u8>) {
        let count = self.count.get();
        // SAFETY: there is room, says the caller, and one thread at a time is here.
        unsafe { self.place(count).write(room) };
        self.count.set(count + 1);
    }

    /// All go back to the allocator.
    #[cold]
    #[inline(never)]
    fn give_back(&self, size: usize) {
        while let Some(room) = self.pop() {
            // SAFETY: a free room of this size, and nobody's any more.
            unsafe { dealloc(room.as_ptr(), layout(size)) };
        }
    }
}

impl Rooms {
    /// None. In a box: a worker is moved while it is made, on stacks that may be small.
    pub(super) fn new() -> Box<Rooms> {
        // SAFETY: of each size there are none, whatever lies where they would.
        unsafe { Box::new_zeroed().assume_init() }
    }

    #[inline(always)]
    fn take(&self, size: usize) -> NonNull<u8> {
        self.0[size].pop().unwrap_or_else(|| self.refill(size))
    }

    #[cold]
    #[inline(never)]
    fn refill(&self, size: usize) -> NonNull<u8> {
        let mut chain = DEPOT[size].take();
        while let Some(room) = NonNull::new(chain) {
            // SAFETY: a free room of a chain that is ours.
            chain = unsafe { room.as_ref() }.next.get();
            self.0[size].push(room.cast());
        }
        self.0[size].pop().unwrap_or_else(|| new_room(size))
    }

    /// # Safety
    /// `room` is a room of this size, in which nothing lies, and the caller's.
    #[inline(always)]
    unsafe fn give(&self, size: usize, room: NonNull<u8>) {
        if self.0[size].count.get() < KEPT {
            return self.0[size].push(room);
        }
        let chain = self.cut(size);
        self.0[size].push(room);
        // Last, and without a look at what this worker has: an allocator may call who knows what.
        // SAFETY: of so many rooms of this size, which are ours.
        unsafe { DEPOT[size].give(size, chain) };
    }

    /// The later half of what is kept at most, for the depot.
    #[cold]
    #[inline(never)]
    fn cut(&self, size: usize) -> NonNull<FreeRoom> {
        let mut chain = null_mut();
        for room in std::iter::from_fn(|| self.0[size].pop()).take(CHAIN) {
            let free: NonNull<FreeRoom> = room.cast();
            let (next, next_chain) = (Cell::new(chain), Cell::new(null_mut()));
            // SAFETY: a free room is ours, is large and aligned enough, and has nothing else in it.
            unsafe { free.write(FreeRoom { next, next_chain, count: Cell::new(CHAIN) }) };
            chain = free.as_ptr();
        }
        NonNull::new(chain).expect("there were twice as many")
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        self.0.iter().enumerate().for_each(|(size, one)| one.give_back(size));
    }
}

impl fmt::Debug for Rooms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|one| one.count.get())).finish()
    }
}

/// Chains of one size that no worker has, of [`CHAIN`] rooms at most, linked through the first room of each. On lines
/// of its own: who looks whether there are any does not wait for who takes another size.
#[repr(align(128))]
struct RoomDepot {
    chains: Mutex<FirstChain>,
    /// How many rooms there are, at a glance.
    count: AtomicUsize,
}

struct FirstChain(*mut FreeRoom);

// SAFETY: free rooms belong to nobody; a chain is the right to use them.
unsafe impl Send for FirstChain {}

/// Whoever finds one held does without: so a child that was forked meanwhile does for ever.
static DEPOT: [RoomDepot; SIZES] =
    [const { RoomDepot { chains: Mutex::new(FirstChain(null_mut())), count: AtomicUsize::new(0) } }; SIZES];

impl RoomDepot {
    /// The chains, if there are any and nobody has them.
    fn open(&self) -> Option<MutexGuard<'_, FirstChain>> {
        // Relaxed: a glance; the lock orders what is done.
        if self.count.load(Ordering::Relaxed) == 0 { None } else { self.chains.try_lock().ok() }
    }

    /// A chain; null if there is none.
    fn take(&self) -> *mut FreeRoom {
        let Some(mut first) = self.open() else { return null_mut() };
        let chain = first.0;
        // SAFETY: null, or the depot's, which is ours while it is locked.
        if let Some(room) = unsafe { chain.as_ref() } {
            first.0 = room.next_chain.get();
            self.count.fetch_sub(room.count.get(), Ordering::Relaxed);
        }
        chain
    }

    /// One room, for who keeps none.
    fn take_one(&self) -> Option<NonNull<u8>> {
        let mut first = self.open()?;
        let one = NonNull::new(first.0)?;
        // SAFETY: the depot's, which is ours while it is locked.
        let room = unsafe { one.as_ref() };
        // SAFETY: as above: null, or of the same chain.
        match unsafe { room.next.get().as_ref() } {
            None => first.0 = room.next_chain.get(),
            Some(next) => {
                next.next_chain.set(room.next_chain.get());
                next.count.set(room.count.get() - 1);
                first.0 = room.next.get();
            }
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
        Some(one.cast())
    }

    /// Keeps a chain, which is the caller's, or gives its rooms back to the allocator.
    ///
    /// # Safety
    /// It is a chain of [`CHAIN`] free rooms of this size, and the caller's.
    unsafe fn give(&self, size: usize, chain: NonNull<FreeRoom>) {
        let has_room = (self.count.load(Ordering::Relaxed) + CHAIN) * layout(size).size() <= MOST_BYTES;
        if has_room && let Ok(mut first) = self.chains.try_lock() {
            // SAFETY: the caller's.
            unsafe { chain.as_ref() }.next_chain.set(first.0);
            first.0 = chain.as_ptr();
            self.count.fetch_add(CHAIN, Ordering::Relaxed);
            return;
        }
        let mut next = chain.as_ptr();
        while let Some(room) = NonNull::new(next) {
            // SAFETY: the caller's.
            next = unsafe { room.as_ref() }.next.get();
            // SAFETY: as above; it came from the allocator, and nobody will look at it again.
            unsafe { dealloc(room.as_ptr().cast(), layout(size)) };
        }
    }
}

#[cold]
#[inline(never)]
fn new_room(size: usize) -> NonNull<u8> {
    let layout = layout(size);
    // SAFETY: it is larger than nothing.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Memory for a `T`, with nothing in it: from who runs here, if it is a worker.
#[inline]
pub(super) fn take_from<T>(here: Option<&Rooms>) -> NonNull<T> {
    let Some(size) = (const { size_of_room::<T>() }) else {
        return NonNull::from(Box::leak(Box::<T>::new_uninit())).cast();
    };
    let elsewhere = || DEPOT[size].take_one().unwrap_or_else(|| new_room(size));
    here.map_or_else(elsewhere, |rooms| rooms.take(size)).cast()
}

/// Gives memory back that is from [`take_from`]: to who runs here, if it is a worker.
///
/// # Safety
/// It is from there, for this type, and the caller's; nothing lies in it that is to be dropped.
#[inline]
pub(super) unsafe fn give_to<T>(here: Option<&Rooms>, room: NonNull<T>) {
    let Some(size) = (const { size_of_room::<T>() }) else {
        // SAFETY: then it is a box's, says the caller.
        return drop(unsafe { Box::from_raw(room.cast::<MaybeUninit<T>>().as_ptr()) });
    };
    match here {
        // SAFETY: passed on to the caller.
        Some(rooms) => unsafe { rooms.give(size, room.cast()) },
        // SAFETY: as above: every room is the allocator's.
        None => unsafe { dealloc(room.cast().as_ptr(), layout(size)) },
    }
}

/// Puts a value into a room.
#[inline]
pub(super) fn put<T>(here: Option<&Rooms>, value: T) -> NonNull<T> {
    let room = take_from::<T>(here);
    // SAFETY: room for one, and ours.
    unsafe { room.write(value) };
    room
}

/// Takes the value out of a room, and gives that back.
///
/// # Safety
/// The room is from [`put`], for this type, and the caller's.
#[inline]
pub(super) unsafe fn take_out<T>(here: Option<&Rooms>, room: NonNull<T>) -> T {
    // SAFETY: passed on to the caller: a `T` lies there.
    let value = unsafe { room.read() };
    // SAFETY: as above; it has been moved out.
    unsafe { give_to(here, room) };
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::rc::Rc;

    /// Rooms of all sizes come and go, on no worker: each has the whole value, and drops nothing by itself.
    #[test]
    fn values_of_every_size_come_back() {
        fn check<T: Clone + PartialEq + fmt::Debug>(value: T) {
            let rooms: Vec<_> = (0..3 * KEPT).map(|_| put(None, value.clone())).collect();
            for room in rooms {
                assert!(room.as_ptr().is_aligned());
                // SAFETY: put just now, and taken once.
                assert_eq!(unsafe { take_out(None, room) }, value);
            }
        }
        check(());
        check([7_u64; 9]);
        check([7_u8; STEP * SIZES]);
        check([7_u8; STEP * SIZES + 1]);
        let counted = Rc::new(());
        check([const { None::<Rc<()>> }; 20]);
        check((counted.clone(), [1_u64; 20]));
        assert_eq!(Rc::strong_count(&counted), 1);
    }

    /// What a worker has too much of another finds in the depot; what the depot has no room for goes back.
    #[test]
    fn rooms_go_from_one_to_another_by_chains() {
        const SIZE: usize = 6;
        let (one, other) = (Rooms::new(), Rooms::new());
        let taken: Vec<_> = (0..4 * KEPT).map(|_| one.take(SIZE)).collect();
        let all: HashSet<_> = taken.iter().copied().collect();
        // SAFETY: rooms of this size, ours, and empty.
        taken.into_iter().for_each(|room| unsafe { one.give(SIZE, room) });
        assert!(one.0[SIZE].count.get() <= KEPT);
        let again: HashSet<_> = (0..all.len() - KEPT).map(|_| other.take(SIZE)).collect();
        assert_eq!(again.len(), all.len() - KEPT, "no room is handed out twice");
        assert!(again.is_subset(&all), "they are in the depot");
        // SAFETY: as above.
        again.into_iter().for_each(|room| unsafe { other.give(SIZE, room) });
    }

    #[test]
    fn who_is_no_worker_takes_one_room_of_a_chain_after_another() {
        const SIZE: usize = 12;
        let rooms = Rooms::new();
        let all: HashSet<_> = (0..2 * KEPT).map(|_| rooms.take(SIZE)).collect();
        // SAFETY: rooms of this size, ours, and empty.
        all.iter().for_each(|&room| unsafe { rooms.give(SIZE, room) });
        let count = DEPOT[SIZE].count.load(Ordering::Relaxed);
        assert!(count >= CHAIN);
        let taken: HashSet<_> = (0..count).filter_map(|_| DEPOT[SIZE].take_one()).collect();
        assert!(taken.len() == count && taken.is_subset(&all));
        assert!(DEPOT[SIZE].take_one().is_none() && DEPOT[SIZE].take().is_null());
        // SAFETY: as above.
        taken.into_iter().for_each(|room| unsafe { rooms.give(SIZE, room) });
    }

    #[test]
    fn a_depot_that_is_held_or_full_is_done_without() {
        const SIZE: usize = 9;
        let rooms = Rooms::new();
        let all = |rooms: &Rooms| -> Vec<_> { (0..2 * KEPT).map(|_| rooms.take(SIZE)).collect() };
        let held = DEPOT[SIZE].chains.lock().expect("nobody panics");
        // SAFETY: rooms of this size, ours, and empty.
        all(&rooms).into_iter().for_each(|room| unsafe { rooms.give(SIZE, room) });
        assert!(held.0.is_null());
        drop(held);
        let many = MOST_BYTES / layout(SIZE).size();
        DEPOT[SIZE].count.fetch_add(many, Ordering::Relaxed);
        let taken: Vec<_> = (0..2 * KEPT).map(|_| new_room(SIZE)).collect();
        // SAFETY: as above.
        taken.into_iter().for_each(|room| unsafe { rooms.give(SIZE, room) });
        DEPOT[SIZE].count.fetch_sub(many, Ordering::Relaxed);
        assert!(DEPOT[SIZE].chains.lock().expect("nobody panics").0.is_null());
    }
}

//! Owns: what threads do in a trial: random operations, with blocks that go from thread to thread.
//! May use: `libc`, `raddle-alloc`, `raddle-syscall`.
//! Never: the standard library's allocation: a victim that is stopped there holds nothing of ours.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// The program's `malloc` is tried, and not ours: the C library's, or a preloaded one.
pub(crate) static IS_MALLOC: AtomicBool = AtomicBool::new(false);

fn is_malloc() -> bool {
    IS_MALLOC.load(Ordering::Relaxed)
}

fn allocate(size: usize) -> *mut u8 {
    if is_malloc() {
        // SAFETY: nothing is asked of who calls it.
        return unsafe { libc::malloc(size) }.cast();
    }
    raddle_alloc::allocate(size)
}

/// # Safety
/// As for `free`, and `block` is of [`allocate`].
unsafe fn free(block: *mut u8) {
    if is_malloc() {
        // SAFETY: passed on.
        unsafe { libc::free(block.cast()) };
    } else {
        // SAFETY: passed on.
        unsafe { raddle_alloc::free(block) };
    }
}

/// # Safety
/// As for [`free`]; it is not null.
unsafe fn reallocate(block: *mut u8, size: usize) -> *mut u8 {
    if is_malloc() {
        // SAFETY: passed on.
        return unsafe { libc::realloc(block.cast(), size) }.cast();
    }
    // SAFETY: passed on.
    unsafe { raddle_alloc::reallocate(block, size, 16) }
}

/// Blocks that anybody takes and replaces.
static SLOTS: [AtomicPtr<u8>; 4096] = [const { AtomicPtr::new(ptr::null_mut()) }; 4096];

/// Which sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    Small,
    Mixed,
    Huge,
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    fn size(&mut self, sizes: Sizes) -> usize {
        let any = self.next() as usize;
        match sizes {
            Sizes::Huge if any & 15 == 1 => (8 << 20) + self.next() as usize % (24 << 20),
            Sizes::Mixed | Sizes::Huge if any & 255 == 2 => 70_000 + self.next() as usize % 300_000,
            Sizes::Mixed | Sizes::Huge if any & 31 == 3 => 1024 + self.next() as usize % 16_000,
            _ => 16 + self.next() as usize % 1000,
        }
    }
}

/// One operation: a block comes, another one goes, sometimes one grows.
pub(crate) fn operation(random: &mut Random, sizes: Sizes) {
    let size = random.size(sizes);
    let mut block = allocate(size);
    if block.is_null() {
        fail("there is no memory");
    }
    // SAFETY: ours, of this size.
    unsafe { block.write(1) };
    // SAFETY: as above.
    unsafe { block.wrapping_add(size - 1).write(1) };
    if random.next() & 63 == 0 {
        // SAFETY: as above.
        block = unsafe { reallocate(block, size * 2) };
    }
    let old = SLOTS[random.next() as usize % SLOTS.len()].swap(block, Ordering::AcqRel);
    // SAFETY: who takes it out frees it.
    unsafe { free(old) };
}

/// Ends the program, whatever state its threads are in.
pub(crate) fn fail(why: &str) -> ! {
    let _told = raddle_syscall::write(2, why.as_bytes());
    let _told = raddle_syscall::write(2, b"\n");
    exit(1)
}

/// As [`fail`], without a reason: destructors are not run, since threads are stopped.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: it ends the program.
    unsafe { libc::_exit(code) }
}

/// A thread by the C library, without an allocation of the standard library's.
pub(crate) fn start(
    function: extern "C" fn(*mut libc::c_void) -> *mut libc::c_void,
    number: usize,
) -> libc::pthread_t {
    let mut thread = 0;
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: it makes the attributes.
    unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    // SAFETY: they are made.
    unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), 256 << 10) };
    // SAFETY: as above; the number is no address.
    let refused = unsafe {
        libc::pthread_create(
            &raw mut thread,
            attributes.as_ptr(),
            function,
            ptr::without_provenance_mut(number),
        )
    };
    if refused != 0 {
        fail("no thread could be started");
    }
    thread
}

pub(crate) fn join(thread: libc::pthread_t) {
    // SAFETY: it was started, and is joined once.
    unsafe { libc::pthread_join(thread, ptr::null_mut()) };
}

/// Threads that do so many operations each, then one that is new; returns when all have.
pub(crate) fn peers(count: usize, operations: u64, sizes: Sizes) {
    static OPERATIONS: AtomicU64 = AtomicU64::new(0);
    static SIZES: AtomicU64 = AtomicU64::new(0);
    static ROUND: AtomicU64 = AtomicU64::new(1);
    extern "C" fn works(number: *mut libc::c_void) -> *mut libc::c_void {
        let sizes = [Sizes::Small, Sizes::Mixed, Sizes::Huge][SIZES.load(Ordering::Relaxed) as usize];
        let mut random =
            Random(ROUND.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..OPERATIONS.load(Ordering::Relaxed)).for_each(|_| operation(&mut random, sizes));
        number
    }
    OPERATIONS.store(operations, Ordering::Relaxed);
    SIZES.store(sizes as u64, Ordering::Relaxed);
    let threads: Vec<_> = (0..count).map(|number| start(works, number)).collect();
    threads.into_iter().for_each(join);
    join(start(works, count));
}

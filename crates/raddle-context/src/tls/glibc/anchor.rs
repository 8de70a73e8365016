//! Owns: our part of the list in which glibc keeps all its threads.
//! May use: `libc`, `raddle-syscall`.
//! Never: a node of glibc's that may come or go.
//!
//! glibc goes through a list of all threads when it loads a library whose variables have a fixed place in every
//! thread (it writes their first values there), when it unloads one, and for `setuid`. A block that is not in the
//! list would read zero where such a library expects its first values. glibc's lock of that list is hidden.
//!
//! But a joinable thread that has ended stays in the list until it is joined, and glibc adds at the head only. Two such
//! threads, made one after the other on stacks of ours, stand side by side for ever, and nobody but we will ever touch
//! the two links between them. Between the two our blocks are linked, and stay. Readers follow `next` links under
//! glibc's lock, which we do not have: so a node is complete before one store makes it visible.
//!
//! ```text
//!   head <-> ... <-> [second anchor] <-> our blocks ... <-> [first anchor] <-> ... older threads
//! ```
//!
//! It is the list of threads whose stacks are not glibc's own (`_dl_stack_user`). In a forked child glibc begins it
//! anew: our part is then detached, and [`ListLock::in_child`] puts it behind the head again. glibc has moved the
//! forking thread to the list of the others (`_dl_stack_used`); it is moved back, too: at the next fork glibc would
//! reuse the memory of all threads on that list which do not fork.
//!
//! An anchor that has not run yet is one that glibc's `setuid` waits for, and in a forked child it never runs. So a
//! fork waits until both have ended ([`Anchors::wait_for_end`]).
//!
//! It uses two joinable threads of the C library that end at once and are never joined.

use super::facts::Field;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A node of glibc's lists.
#[derive(Debug)]
#[repr(C)]
struct ListNode {
    next: AtomicPtr<ListNode>,
    prev: AtomicPtr<ListNode>,
}

/// The node after which blocks are linked, and what the anchors revealed.
pub(super) struct Anchors {
    after: Mutex<AtomicPtr<ListNode>>,
    /// The first anchor, behind our last block.
    last: AtomicPtr<ListNode>,
    /// Where the list begins and ends.
    head: AtomicPtr<ListNode>,
    /// Where a thread keeps the bounds of its stack.
    pub(super) stack: usize,
    /// Where it keeps the byte that says that a key was ever set.
    pub(super) used: Option<usize>,
}

/// Room for a short function and whatever the loaded libraries keep per thread.
const STACK_BYTES: usize = 1 << 20;
/// Another thread may be made between the two anchors; then a third one is made, and so on.
const ATTEMPTS: usize = 16;

/// The byte behind the pointers to keys' blocks, before and after a key is set, in the calling thread.
fn flag_around_a_key(own: usize, specific: Field) -> [u8; 2] {
    let flag: *const u8 =
        core::ptr::with_exposed_provenance(own + specific.offset + specific.count * size_of::<usize>());
    // SAFETY: within this thread's descriptor, behind the pointers to the keys' blocks.
    let read = || unsafe { flag.read_volatile() };
    let mut key = 0;
    let before = read();
    // SAFETY: writes a new key.
    if unsafe { libc::pthread_key_create(&raw mut key, None) } != 0 {
        return [before; 2];
    }
    // SAFETY: the key is ours, and has no destructor.
    unsafe { libc::pthread_setspecific(key, (&raw const key).cast()) };
    let after = read();
    // SAFETY: as above.
    unsafe { libc::pthread_setspecific(key, null_mut()) };
    // SAFETY: as above; nobody has it.
    unsafe { libc::pthread_key_delete(key) };
    [before, after]
}

/// What an anchor's function gets and leaves.
struct Visit {
    thread: isize,
    specific: Field,
    /// What [`flag_around_a_key`] found there, the first byte above the second, and [`FOUND`]; 0 before.
    flag: AtomicUsize,
}

const FOUND: usize = 1 << 16;

extern "C" fn run(data: *mut c_void) -> *mut c_void {
    let visit = data.cast::<Visit>();
    if visit.is_null() {
        return null_mut();
    }
    // SAFETY: `make` keeps it until this has said what it found.
    let visit = unsafe { &*visit };
    let own = super::machine::thread_pointer().wrapping_add_signed(visit.thread);
    let [before, after] = flag_around_a_key(own, visit.specific);
    // Release pairs with the acquire in `flag_of_an_anchor`; after it `visit` may be gone.
    visit.flag.store(FOUND | (usize::from(before) << 8) | usize::from(after), Ordering::Release);
    null_mut()
}

/// A thread of the C library that ends and is never joined: its descriptor, and the stack that it was given. It is in
/// the list of threads when this returns, and need not have run.
fn make_one(visit: *const Visit) -> Result<(usize, usize), &'static str> {
    let refused = "the C library made no thread";
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
    let stack = unsafe { libc::mmap(null_mut(), STACK_BYTES, protection, flags, -1, 0) };
    if stack == libc::MAP_FAILED {
        return Err("no memory for an anchor");
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: writes the attributes.
    unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    // SAFETY: initialised above; the memory is ours and is never given back.
    unsafe { libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack, STACK_BYTES) };
    let mut id: libc::pthread_t = 0;
    // SAFETY: `visit` is null, or lives until the thread has said what it found.
    let error =
        unsafe { libc::pthread_create(&raw mut id, attributes.as_ptr(), run, visit.cast_mut().cast()) };
    // SAFETY: they are not used any more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if error != 0 { Err(refused) } else { Ok((id as usize, stack.addr())) }
}

/// What a new thread finds, in which no key was ever set.
fn flag_of_an_anchor(thread: isize, specific: Field) -> Result<[u8; 2], &'static str> {
    let visit = Visit { thread, specific, flag: AtomicUsize::new(0) };
    make_one(&raw const visit)?;
    loop {
        // Acquire pairs with the release in `run`.
        match visit.flag.load(Ordering::Acquire) {
            0 => raddle_syscall::yield_processor(),
            found => return Ok([(found >> 8) as u8, found as u8]),
        }
    }
}

/// Makes two neighbours, and learns from the last one where a thread keeps the bounds of its stack.
pub(super) fn make(
    thread: isize,
    size: usize,
    list: usize,
    head: *mut u8,
    specific: Field,
) -> Result<Anchors, &'static str> {
    // PERF: what the runtime asks for when it begins (`prim::fence_is_asymmetric`). While the process has one thread
    // the kernel has nobody to wait for; with an anchor that has not ended it waits for a grace period, 2 to 10 ms
    // (`lab openmp`, start).
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;
    let _refused_or_not = raddle_syscall::membarrier(REGISTER_PRIVATE_EXPEDITED);
    // SAFETY: no preconditions.
    let own = unsafe { libc::pthread_self() } as usize;
    // A thread waits to run: so the caller itself sets a key, if it is its first one.
    let mut flag = flag_around_a_key(own, specific);
    if flag[0] != 0 {
        flag = flag_of_an_anchor(thread, specific)?;
    }
    let used = (flag == [0, 1]).then_some(specific.offset + specific.count * size_of::<usize>());
    let mut older = make_one(null())?.0;
    for _ in 0..ATTEMPTS {
        let (newer, stack) = make_one(null())?;
        let head: *mut ListNode = head.cast();
        if are_neighbours(node(newer, list), node(older, list)) && are_neighbours(head, node(newer, list)) {
            let after = Mutex::new(AtomicPtr::new(node(newer, list)));
            let (last, head) = (AtomicPtr::new(node(older, list)), AtomicPtr::new(head));
            return Ok(Anchors { after, last, head, stack: stack_bounds(newer, size, stack)?, used });
        }
        older = newer;
    }
    Err("two threads made one after the other are not the first in the list of threads")
}

fn node(descriptor: usize, list: usize) -> *mut ListNode {
    core::ptr::with_exposed_provenance_mut(descriptor + list)
}

fn are_neighbours(first: *mut ListNode, second: *mut ListNode) -> bool {
    // SAFETY: the head, or a thread that is never joined, so that its descriptor stays.
    let next = unsafe { &(*first).next };
    // SAFETY: as above.
    let prev = unsafe { &(*second).prev };
    // Acquire pairs with nothing of ours: glibc's lock was given back before the threads ran.
    next.load(Ordering::Acquire) == second && prev.load(Ordering::Acquire) == first
}

/// # Safety
/// Both stay, or the caller is the only thread.
unsafe fn join(first: *mut ListNode, second: *mut ListNode) {
    // SAFETY: passed on to the caller.
    unsafe { &*first }.next.store(second, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { &*second }.prev.store(first, Ordering::Relaxed);
}

/// The one place in an anchor's descriptor that holds its stack's address and, behind it, its size.
fn stack_bounds(descriptor: usize, size: usize, stack: usize) -> Result<usize, &'static str> {
    let at = |offset: usize| {
        let word: *const usize = core::ptr::with_exposed_provenance(descriptor + offset);
        // SAFETY: within the descriptor, which stays.
        unsafe { word.read() }
    };
    let mut found = (0..size - 16).step_by(8).filter(|&o| at(o) == stack && at(o + 8) == STACK_BYTES);
    match (found.next(), found.next()) {
        (Some(offset), None) => Ok(offset),
        _ => Err("a thread does not say where its stack lies"),
    }
}

/// The lock for linking blocks. A fork holds it, so that a child never finds it held by a thread that it lacks.
pub(super) struct ListLock<'a> {
    anchors: &'a Anchors,
    after: MutexGuard<'a, AtomicPtr<ListNode>>,
}

impl ListLock<'_> {
    /// In a forked child, whose only thread calls: our part of the list is part of it again. `own` is the node of the
    /// caller, if it has storage of ours.
    ///
    /// # Safety
    /// glibc has begun its lists anew, and has put the caller into one of them.
    pub(super) unsafe fn in_child(&self, own: Option<*mut u8>) {
        let [first, last, head] =
            [&self.after, &self.anchors.last, &self.anchors.head].map(|place| place.load(Ordering::Relaxed));
        let next = |of: *mut ListNode| {
            // SAFETY: the head, an anchor or a block; all stay.
            unsafe { &*of }.next.load(Ordering::Relaxed)
        };
        if let Some(own) = own.map(|own| own.cast::<ListNode>()) {
            // SAFETY: the caller's node, which is in a list.
            let prev = unsafe { &*own }.prev.load(Ordering::Relaxed);
            // SAFETY: there is no other thread.
            unsafe { join(prev, next(own)) };
            // SAFETY: as above.
            unsafe { join(own, next(first)) };
            // SAFETY: as above.
            unsafe { join(first, own) };
        }
        // SAFETY: as above.
        unsafe { join(last, next(head)) };
        // SAFETY: as above.
        unsafe { join(head, first) };
    }
}

impl Anchors {
    /// Returns when both have ended; `list` and `tid` are the offsets of the node and of the kernel's number.
    ///
    /// Nothing that a fork holds is needed for that: an anchor's function and its end take no lock and no memory.
    pub(super) fn wait_for_end(&self, list: usize, tid: usize) {
        const YIELDS: u32 = 20;
        let first = self.hold().after.load(Ordering::Relaxed);
        for node in [first, self.last.load(Ordering::Relaxed)] {
            let number: *mut c_int = node.wrapping_byte_sub(list).wrapping_byte_add(tid).cast();
            // SAFETY: within the descriptor of an anchor, which stays; the kernel clears it when the thread has ended.
            let number = unsafe { AtomicI32::from_ptr(number) };
            let mut yields = 0;
            // Acquire pairs with nothing of ours: whatever glibc has noted of its end came before.
            while number.load(Ordering::Acquire) != 0 {
                yields += 1;
                match yields {
                    ..YIELDS => raddle_syscall::yield_processor(),
                    // It may be one of lesser priority.
                    _ => raddle_syscall::sleep(Duration::from_micros(50)),
                }
            }
        }
    }

    /// Until the value is dropped.
    pub(super) fn hold(&self) -> ListLock<'_> {
        ListLock { anchors: self, after: self.after.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Links a block that will stay for ever.
    ///
    /// # Safety
    /// `descriptor` is a complete `struct pthread` that is in no list and is never freed; `list` is the offset of its
    /// node.
    pub(super) unsafe fn link(&self, descriptor: *mut u8, list: usize) {
        let new: *mut ListNode = descriptor.wrapping_byte_add(list).cast();
        // SAFETY: the caller vouches for it.
        let fresh = unsafe { &*new };
        fresh.next.store(new, Ordering::Relaxed);
        fresh.prev.store(new, Ordering::Relaxed);
        let held = self.hold();
        let before = held.after.load(Ordering::Relaxed);
        // SAFETY: an anchor, which stays.
        let anchor = unsafe { &*before };
        let next = anchor.next.load(Ordering::Relaxed);
        fresh.next.store(next, Ordering::Relaxed);
        fresh.prev.store(before, Ordering::Relaxed);
        // SAFETY: a block of ours or the older anchor; both stay.
        unsafe { &*next }.prev.store(new, Ordering::Relaxed);
        // Release pairs with the address dependency of glibc's readers: they see a complete node.
        anchor.next.store(new, Ordering::Release);
    }
}

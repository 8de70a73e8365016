//! Owns: `TlsBlock`, one context's thread-local storage, and the pool of free blocks.
//! May use: `current`, `firm`, `stack`, `libc`.
//! Never: giving a block back to glibc; it stays in glibc's list of threads, and is reused by the next context.
//!
//! What glibc does for a thread, and what we do for a block:
//!
//! | glibc, for a thread | here |
//! |---|---|
//! | `_dl_allocate_tls`: memory, first values of all libraries' variables | the same, in memory of `room` |
//! | fields of `struct pthread`: self, number, keys, robust list, stack | [`TlsPool::take`] |
//! | canary, pointer guard | copied from the OS thread that makes the block: they are the program's |
//! | registers the area for restartable sequences | marks it unregistered: the kernel knows the OS thread's |
//! | at the end: `__call_tls_dtors`, then keys' destructors | [`end`] |
//! | at the end: frees malloc's cache | the next context gets it, warm |
//! | another thread on the same stack: `_dl_allocate_tls_init` | the same, around glibc's own variables |

use super::anchor;
use super::carried;
use super::facts::{self, Facts, NULL};
use super::host;
use super::machine;
use super::room::{self, BlockForm};
use super::used::UsedBlocks;
use crate::current;
use crate::firm::firmly;
use crate::stack::{Stack, StackError};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most blocks in a pool, and how many move to or from the depot at a time.
pub(super) const POOL: usize = 256;
pub(super) const BATCH: usize = 64;

/// The most blocks that are made at a time.
const NEW: usize = 32;

/// Thread numbers that the kernel never gives: above the largest `pid_max`, below what a futex word can hold.
const FIRST_NUMBER: i32 = 1 << 22;
const LAST_NUMBER: i32 = (1 << 30) - 1;

/// `LC_GLOBAL_LOCALE`: the locale that `setlocale` sets for the program.
const GLOBAL_LOCALE: libc::locale_t = core::ptr::without_provenance_mut(usize::MAX);

/// One context's thread-local storage: the owner of this value may let one context use it. Not `Clone`.
#[derive(Debug)]
pub struct TlsBlock(pub(super) NonNull<u8>);

// SAFETY: a block is an exclusive right to a piece of memory and has no tie to the OS thread that took it.
unsafe impl Send for TlsBlock {}

impl TlsBlock {
    /// What [`crate::transfer_with`] loads.
    #[inline(always)]
    pub fn base(&self) -> usize {
        self.0.addr().get()
    }
}

/// Whose block is in `place`, if one is there, is soon to run: what it touches first may be on its way to this
/// processor's cache meanwhile. The place may change at any time.
///
/// ```
/// use raddle_context::tls::{self, TlsBlock};
/// let none: Option<TlsBlock> = None;
/// // SAFETY: it may be read.
/// unsafe { tls::announce(&raw const none) };
/// ```
///
/// # Safety
/// The place may be read.
#[inline(always)]
pub unsafe fn announce(place: *const Option<TlsBlock>) {
    const { assert!(size_of::<Option<TlsBlock>>() == size_of::<usize>()) };
    // SAFETY: passed on to the caller; it is the base, or 0.
    unsafe { current::announce(place.cast()) };
}

/// Blocks of ended contexts, kept for the next ones; one pool a worker.
///
/// There are two kinds of contexts, whose blocks do not mix:
///
/// | | in its block at the beginning | at the end |
/// |---|---|---|
/// | a *thread*: [`take`](Self::take), [`give`](Self::give) | first values in all variables | destructors |
/// | a *process*: [`take_as_is`](Self::take_as_is), [`give_as_is`](Self::give_as_is) | what the last left | nothing |
///
/// What processes leave is dropped when their block retires: [`take_retired`](Self::take_retired).
#[derive(Debug, Default)]
pub struct TlsPool {
    pub(super) free: Vec<NonNull<u8>>,
    /// New, with first values; and how many this pool has made.
    pub(super) fresh: Vec<NonNull<u8>>,
    pub(super) made: usize,
    /// With what the processes that ran on them have left there.
    pub(super) used: Vec<NonNull<u8>>,
    pub(super) shared: Arc<UsedBlocks>,
}

// SAFETY: what it holds are exclusive rights to memory, without a tie to an OS thread.
unsafe impl Send for TlsPool {}

/// What all pools share.
#[derive(Debug)]
pub(super) struct Depot(pub(super) Vec<NonNull<u8>>);

// SAFETY: as for `TlsPool`.
unsafe impl Send for Depot {}

pub(super) static DEPOT: Mutex<Depot> = Mutex::new(Depot(Vec::new()));

/// Holds our locks over a fork, in the parent and in the child, until it is dropped.
pub struct ForkGuard {
    _depot: MutexGuard<'static, Depot>,
    _slabs: room::HeldSlabs,
    _probing: MutexGuard<'static, ()>,
    list: Option<anchor::ListLock<'static>>,
    /// Of a caller on storage of ours: that of its OS thread, if it is known.
    left: Option<Option<usize>>,
}

impl ForkGuard {
    /// Takes them.
    ///
    /// ```
    /// let held = raddle_context::tls::ForkGuard::take();
    /// // Here the caller forks.
    /// drop(held);
    /// ```
    pub fn take() -> ForkGuard {
        let depot = DEPOT.lock().unwrap_or_else(PoisonError::into_inner);
        let slabs = room::HeldSlabs::take();
        let probing = facts::probing();
        let list = facts::known().map(|facts| {
            facts.anchors.wait_for_end(facts.list, facts.tid);
            facts.anchors.hold()
        });
        // Asked before the fork: in the child the descriptor and the OS thread have other numbers.
        let is_ours = facts::known().is_some_and(|facts| facts.is_ours(machine::thread_pointer()));
        let left = is_ours.then(host::storage_of_this);
        ForkGuard { _depot: depot, _slabs: slabs, _probing: probing, list, left }
    }

    /// In the forked child: puts our blocks back into glibc's list, so that it does not reuse their memory. If the
    /// caller forked on one of them it continues on it, and the OS thread's own storage may be another's.
    pub fn in_child(&self) {
        /// The block on which the only thread of a forked child runs, if it is one of ours; it may fork again.
        static STAYED: AtomicUsize = AtomicUsize::new(0);
        let base = machine::thread_pointer();
        if let Some(left) = self.left {
            STAYED.store(base, Ordering::Relaxed);
            left.into_iter().for_each(super::leave_in_fork);
        }
        let is_ours = STAYED.load(Ordering::Relaxed) == base;
        if let Some((facts, list)) = facts::known().zip(self.list.as_ref()) {
            let node = base.wrapping_add_signed(facts.thread) + facts.list;
            let own = is_ours.then(|| core::ptr::with_exposed_provenance_mut(node));
            // SAFETY: glibc does so before it calls the handlers of `pthread_atfork`.
            unsafe { list.in_child(own) };
        }
    }
}

impl core::fmt::Debug for ForkGuard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ForkGuard").finish_non_exhaustive()
    }
}

impl TlsPool {
    /// An empty pool.
    pub fn new() -> Self {
        TlsPool::default()
    }

    /// A block for a context that runs on `stack`, with the first values of all variables.
    ///
    /// # Errors
    /// There is no memory, or [`supported`](super::supported) says no.
    ///
    /// ```
    /// # use raddle_context::{SizeClass, StackDepot, StackPool, tls};
    /// let mut pool = tls::TlsPool::new();
    /// let stack = StackPool::new(StackDepot::new()).take(SizeClass::DEFAULT)?;
    /// if tls::supported().is_ok() {
    ///     let block = pool.take(&stack)?;
    ///     assert_ne!(block.base(), tls::base());
    ///     pool.give(block);
    /// }
    /// # Ok::<(), raddle_context::StackError>(())
    /// ```
    pub fn take(&mut self, stack: &Stack) -> Result<TlsBlock, StackError> {
        let block = self.take_used_or_new().ok_or(StackError::no_storage(stack.class()))?;
        block.note_memory(stack.limit(), stack.class().bytes());
        Ok(block)
    }

    pub(super) fn take_used_or_new(&mut self) -> Option<TlsBlock> {
        let facts = facts::get().ok()?;
        if self.free.is_empty() && self.fresh.is_empty() {
            self.refill();
        }
        let block = match self.free.pop() {
            Some(used) => facts.renew(used),
            None => self.fresh.pop().or_else(|| self.make_more(facts)),
        };
        block.map(TlsBlock)
    }

    /// Makes as many new blocks as there are already, up to [`NEW`], and returns one of them.
    ///
    /// PERF: whoever makes a block asks malloc for its vector; it runs on storage of a process that leaves its stack,
    /// mostly, and that process need not have called malloc before. So glibc made a cache for it, 656 bytes. One block
    /// at a time gave every process such a cache for the next one's sake: bench `alive`, 9930 -> 9290 resident bytes
    /// each.
    #[cold]
    fn make_more(&mut self, facts: &Facts) -> Option<NonNull<u8>> {
        let count = self.made.clamp(1, NEW);
        self.fresh.extend((0..count).map_while(|_| facts.make()));
        self.made += self.fresh.len();
        self.fresh.reverse();
        self.fresh.pop()
    }

    /// Gives a block back whose context has ended, and has left it.
    pub fn give(&mut self, block: TlsBlock) {
        if self.free.len() >= POOL
            // Only if the lock is free: to wait for it could take longer than this saves.
            && let Ok(mut depot) = DEPOT.try_lock()
        {
            depot.0.extend(self.free.drain(..BATCH));
        }
        self.free.push(block.0);
    }

    #[cold]
    fn refill(&mut self) {
        if let Ok(mut depot) = DEPOT.try_lock() {
            let from = depot.0.len().saturating_sub(BATCH);
            self.free.extend(depot.0.drain(from..));
        }
    }
}

impl Drop for TlsPool {
    fn drop(&mut self) {
        if let Ok(mut depot) = DEPOT.try_lock() {
            depot.0.append(&mut self.free);
            depot.0.append(&mut self.fresh);
        }
        self.share_all();
    }
}

/// The first thing that a context does on storage of its own; `word` becomes its [`current`] word.
///
/// # Safety
/// The caller runs on a block, which was taken for it; `word` is what those who read it take it for.
#[inline(never)]
pub unsafe fn begin(word: *mut ()) {
    // SAFETY: passed on to the caller.
    unsafe { current::set(word) };
    let Ok(facts) = facts::get() else { return };
    // SAFETY: sets this thread's locale to the program's; no preconditions.
    unsafe { libc::uselocale(GLOBAL_LOCALE) };
    // SAFETY: sets this thread's tables of characters from its locale.
    unsafe { (facts.call.ctype_init)() };
    // SAFETY: forgets the message of a failed `dlopen` of the last life; no preconditions.
    unsafe { (facts.call.dlerror)() };
    // SAFETY: the address of this thread's variable.
    let h_errno = unsafe { (facts.call.h_errno)() };
    // SAFETY: as above.
    unsafe { h_errno.write(0) };
    // SAFETY: as above.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(0) };
}

/// The last thing that a context does on storage of its own: runs the destructors of its thread-local variables and of
/// its `pthread_key_create` values. They may wait, and use thread-local variables.
///
/// # Safety
/// The caller runs on a block, and nothing of its thread-local variables is used after.
#[inline(never)]
pub unsafe fn end() {
    let Ok(facts) = facts::get() else { return };
    // SAFETY: runs the destructors of this thread, which ends here.
    unsafe { (facts.call.call_destructors)() };
    let own =
        core::ptr::with_exposed_provenance_mut(machine::thread_pointer().wrapping_add_signed(facts.thread));
    // SAFETY: this thread's own descriptor.
    unsafe { facts.keys.run_destructors(own) };
}

impl Facts {
    /// Whether the storage at `base`, which somebody runs with, is a block of ours.
    pub(super) fn is_ours(&self, base: usize) -> bool {
        // SAFETY: somebody runs with it.
        unsafe { self.is_descriptor_of_ours(base.wrapping_add_signed(self.thread)) }
    }

    /// Whether a `struct pthread` is part of a block of ours.
    ///
    /// # Safety
    /// `descriptor` is that of a live thread.
    pub(super) unsafe fn is_descriptor_of_ours(&self, descriptor: usize) -> bool {
        // SAFETY: a field of a live thread's descriptor.
        let number = unsafe { machine::peek(descriptor + self.tid) };
        (FIRST_NUMBER..=LAST_NUMBER).contains(&number)
    }

    fn descriptor(&self, block: NonNull<u8>) -> *mut u8 {
        block.as_ptr().wrapping_byte_offset(self.thread)
    }

    /// # Safety
    /// `offset` is that of a field of type `T` of the descriptor, which nobody else uses.
    unsafe fn put<T>(&self, block: NonNull<u8>, offset: usize, value: T) {
        let field: *mut T = self.descriptor(block).wrapping_byte_add(offset).cast();
        // SAFETY: passed on to the caller.
        unsafe { field.write(value) };
    }

    /// Makes a new block, by who must not be switched meanwhile.
    #[cold]
    fn make(&self) -> Option<NonNull<u8>> {
        let memory = self.form.and_then(BlockForm::cut).map_or(NULL, NonNull::as_ptr);
        // SAFETY: memory for a block, all zero, at its thread pointer; null asks for memory, too.
        self.complete(firmly(|| unsafe { (self.call.allocate)(memory) }))
    }

    /// Makes a new block, by who may be.
    pub(super) fn make_ahead(&self) -> Option<NonNull<u8>> {
        let memory = self.form.and_then(BlockForm::cut).map_or(NULL, NonNull::as_ptr);
        // SAFETY: as in `make`.
        self.complete(unsafe { (self.call.allocate)(memory) })
    }

    /// What the C library has made, if it has, becomes a block of ours.
    fn complete(&self, made: *mut u8) -> Option<NonNull<u8>> {
        let block = NonNull::new(made)?;
        block.as_ptr().expose_provenance();
        let descriptor = self.descriptor(block);
        // SAFETY: a new block, complete but for its head.
        unsafe { machine::fill_head(block.as_ptr()) };
        let first_block = descriptor.wrapping_byte_add(self.keys.first_block);
        // SAFETY: each field has this type, and the block is ours.
        unsafe { self.put(block, self.keys.blocks.offset, first_block) };
        let robust = descriptor.wrapping_byte_add(self.robust);
        // SAFETY: as above.
        unsafe { self.put(block, self.robust, robust) };
        // SAFETY: as above: the word before the head is its end.
        unsafe { self.put(block, self.robust - 8, robust) };
        // SAFETY: as above.
        unsafe { self.put(block, self.tid, next_number()) };
        if let Some(rseq) = self.rseq {
            let cpu_id: *mut i32 = block.as_ptr().wrapping_byte_offset(rseq + 4).cast();
            // SAFETY: the area's second word. -2: registration failed.
            unsafe { cpu_id.write(-2) };
        }
        carried::mark(block);
        // SAFETY: complete now, in no list, and never freed.
        unsafe { self.anchors.link(descriptor, self.list) };
        Some(block)
    }

    /// Resets all variables to their first values for the next context, except glibc's own, such as malloc's cache.
    fn renew(&self, block: NonNull<u8>) -> Option<NonNull<u8>> {
        const ROOM: usize = 1024;
        let bytes = self.libc.len_bytes();
        let own: *mut u8 = block.as_ptr().wrapping_byte_offset(self.libc.start);
        let mut kept = [0_u8; ROOM];
        let keeps = bytes <= ROOM;
        if keeps {
            // SAFETY: glibc's own variables in this block, which is ours.
            unsafe { core::ptr::copy_nonoverlapping(own, kept.as_mut_ptr(), bytes) };
        }
        // SAFETY: a block in no use.
        if unsafe { self.has_late_variables(block) } {
            // SAFETY: frees what libraries that were loaded later had in it, and keeps the block.
            firmly(|| unsafe { (self.call.deallocate)(block.as_ptr(), false) });
            // SAFETY: makes the vector anew, and the first values.
            NonNull::new(firmly(|| unsafe { (self.call.allocate)(block.as_ptr()) }))?;
        } else {
            // SAFETY: a block with a vector that holds nothing of its own.
            firmly(|| unsafe { (self.call.initialise)(block.as_ptr(), true) });
        }
        if keeps {
            // SAFETY: as above.
            unsafe { core::ptr::copy_nonoverlapping(kept.as_ptr(), own, bytes) };
        }
        // SAFETY: a field of this type; the block is ours.
        unsafe { self.put(block, self.cancelhandling, 0_i32) };
        carried::mark(block);
        Some(block)
    }

    /// Whether libraries that were loaded later have variables in memory of their own, which glibc must free.
    ///
    /// # Safety
    /// The block is ours, and in no use.
    unsafe fn has_late_variables(&self, block: NonNull<u8>) -> bool {
        let vector: *mut *mut [usize; 2] = self.descriptor(block).wrapping_byte_add(self.vector).cast();
        // SAFETY: a field of this type.
        let vector = unsafe { vector.read() };
        // SAFETY: the entry before the first says how many there are.
        let [count, _] = unsafe { vector.wrapping_sub(1).read() };
        // SAFETY: so many entries stand behind entry 0, which is the generation.
        let entries = unsafe { core::slice::from_raw_parts(vector.wrapping_add(1), count) };
        entries.iter().any(|[_, to_free]| *to_free != 0)
    }

    pub(super) fn note_memory(&self, block: NonNull<u8>, low: *mut u8, bytes: usize) {
        // SAFETY: a field of this type; the block is ours.
        unsafe { self.put(block, self.stack, low) };
        // SAFETY: as above.
        unsafe { self.put(block, self.stack + 8, bytes) };
    }
}

/// A number for a new block. There are far more numbers than blocks.
fn next_number() -> i32 {
    static NEXT: AtomicI32 = AtomicI32::new(FIRST_NUMBER);
    NEXT.fetch_add(1, Ordering::Relaxed).min(LAST_NUMBER)
}

/// The length of a range of bytes.
trait LenBytes {
    fn len_bytes(&self) -> usize;
}

impl LenBytes for core::ops::Range<isize> {
    fn len_bytes(&self) -> usize {
        (self.end - self.start).cast_unsigned()
    }
}

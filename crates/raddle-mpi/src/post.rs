//! Owns: `Post`: messages that are posted together, with their memory and what came of them.
//! May use: `error`, `gate`, `shim`, `sweep`, `raddle-core`.
//! Never: a call of MPI.
//!
//! The memory of a message is the post's own, and whatever is under way keeps its post alive: so a wait that is given
//! up, or an exchange that is leaked, leaves MPI writing into memory that is still there.

use crate::error::NetError;
use crate::gate::lock;
use crate::shim::{Address, Direction, MpiRefusal};
use crate::sweep::Element;
use raddle_core::door::futex;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

const ALIGN: usize = 64;

/// MessageMemory that MPI reads or writes.
struct MessageMemory {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: it is plain memory; who may access it when is said by the functions that do.
unsafe impl Send for MessageMemory {}
// SAFETY: as above.
unsafe impl Sync for MessageMemory {}

impl MessageMemory {
    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes.max(1), ALIGN)
            .expect("a message of less than half of the address space")
    }
}

impl Drop for MessageMemory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with that layout, and what is under way keeps its post.
        unsafe { dealloc(self.base, MessageMemory::layout(self.bytes)) };
    }
}

/// A part of memory that MPI reads or writes; what several messages carry may be one.
#[derive(Clone)]
pub(crate) struct Buffer {
    memory: Arc<MessageMemory>,
    start: usize,
    bytes: usize,
}

impl Buffer {
    /// Zeros; none if there is no memory for so many.
    pub(crate) fn new(bytes: usize) -> Option<Buffer> {
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc_zeroed(MessageMemory::layout(bytes)) };
        let memory = (!base.is_null()).then(|| Arc::new(MessageMemory { base, bytes }))?;
        Some(Buffer { memory, start: 0, bytes })
    }

    /// A part of it.
    ///
    /// # Panics
    /// If it has no such part.
    pub(crate) fn part(&self, range: Range<usize>) -> Buffer {
        assert!(range.start <= range.end && range.end <= self.bytes, "a part of a message");
        Buffer { memory: self.memory.clone(), start: self.start + range.start, bytes: range.len() }
    }

    fn base(&self) -> *mut u8 {
        self.memory.base.wrapping_add(self.start)
    }

    /// Whether no other buffer is of the same memory.
    fn is_alone(&self) -> bool {
        Arc::strong_count(&self.memory) == 1
    }

    /// For MPI: where it is, and how long.
    pub(crate) fn room(&self) -> (*mut u8, c_int) {
        (self.base(), c_int::try_from(self.bytes).expect("the size was looked at when the post was made"))
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// What is in it.
    ///
    /// # Safety
    /// Nobody writes it meanwhile: no message that comes into any of it is under way, and nobody has
    /// [`bytes_mut`](Self::bytes_mut) of any of it.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: it is initialised memory of that length; the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base(), self.bytes) }
    }

    /// To fill it.
    ///
    /// # Safety
    /// Nobody else accesses it meanwhile: no message of any of it is under way, and the caller alone may start one.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for it, as in a cell")]
    pub(crate) unsafe fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: it is initialised memory of that length; the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.base(), self.bytes) }
    }

    /// What is in it, as numbers.
    ///
    /// # Safety
    /// As for [`bytes`](Self::bytes).
    ///
    /// # Panics
    /// If it does not begin where a number may.
    pub(crate) unsafe fn cells<T: Element>(&self) -> &[T] {
        let base: *const T = self.base().cast();
        assert!(base.is_aligned(), "numbers begin where they may");
        // SAFETY: it is initialised memory of that length, every pattern of bits is a number; the caller's promise.
        unsafe { std::slice::from_raw_parts(base, self.bytes / size_of::<T>()) }
    }

    /// To fill it with numbers.
    ///
    /// # Safety
    /// As for [`bytes_mut`](Self::bytes_mut).
    ///
    /// # Panics
    /// If it does not begin where a number may.
    #[expect(clippy::mut_from_ref, reason = "as above")]
    pub(crate) unsafe fn cells_mut<T: Element>(&self) -> &mut [T] {
        let base: *mut T = self.base().cast();
        assert!(base.is_aligned(), "numbers begin where they may");
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(base, self.bytes / size_of::<T>()) }
    }
}

/// One message.
pub(crate) struct Transfer {
    pub(crate) direction: Direction,
    pub(crate) address: Address,
    pub(crate) buffer: Buffer,
    /// What it carries, in words; empty for a plain message.
    pub(crate) label: String,
    /// The persistent request; accessed under the engine's lock.
    pub(crate) request: AtomicU64,
    /// It begins when that one of its post is done, which comes before it.
    pub(crate) after: Option<usize>,
    /// When MPI was last told of it, and when it was found to be done; 0 before. For traces.
    pub(crate) posted_ns: AtomicU64,
    pub(crate) done_ns: AtomicU64,
}

impl Transfer {
    pub(crate) fn new(
        direction: Direction,
        address: Address,
        bytes: usize,
        label: String,
    ) -> Result<Transfer, NetError> {
        Ok(Transfer::over(direction, address, Transfer::memory(bytes)?, label))
    }

    /// MessageMemory for a message.
    pub(crate) fn memory(bytes: usize) -> Result<Buffer, NetError> {
        if c_int::try_from(bytes).is_err() {
            return Err(NetError::Misuse(format!("a message of {bytes} bytes: MPI takes less than 2^31")));
        }
        Buffer::new(bytes)
            .ok_or_else(|| NetError::Misuse(format!("a message of {bytes} bytes: there is no memory for it")))
    }

    /// A message of memory that others may carry, too.
    pub(crate) fn over(direction: Direction, address: Address, buffer: Buffer, label: String) -> Transfer {
        let [request, posted_ns, done_ns] = [const { AtomicU64::new(0) }; 3];
        Transfer { direction, address, buffer, label, request, after: None, posted_ns, done_ns }
    }

    /// A plain message out, with what it carries.
    pub(crate) fn out(address: Address, bytes: &[u8]) -> Result<Transfer, NetError> {
        let transfer = Transfer::new(Direction::Out, address, bytes.len(), String::new())?;
        Ok(transfer.filled(|to| to.copy_from_slice(bytes)))
    }

    /// The same, whose memory, which nobody else has yet, is filled.
    ///
    /// # Panics
    /// If somebody else has it.
    pub(crate) fn filled(self, fill: impl FnOnce(&mut [u8])) -> Transfer {
        assert!(self.buffer.is_alone(), "the memory of a new message");
        // SAFETY: nobody else has it: it is no part of another buffer, and in no post.
        fill(unsafe { self.buffer.bytes_mut() });
        self
    }

    /// A plain message in.
    pub(crate) fn into(address: Address, room: usize) -> Result<Transfer, NetError> {
        Transfer::new(Direction::In, address, room, String::new())
    }

    /// Whom it is of and what it carries, in words, for traces: who reads sees its begin.
    pub(crate) fn kind(&self) -> String {
        let Address { peer, tag, space } = self.address;
        let way = if self.direction == Direction::Out { "to" } else { "from" };
        match (self.label.is_empty(), space) {
            (false, _) => format!("{way} {peer}: {}", self.label),
            (true, 1) => format!("{way} {peer}: what ranks tell each other"),
            (true, _) => format!("{way} {peer}: tag {tag}"),
        }
    }

    /// In words, for errors.
    pub(crate) fn describe(&self) -> String {
        let Address { peer, tag, .. } = self.address;
        let (verb, bytes) = match self.direction {
            Direction::Out => ("send to", self.buffer.len()),
            Direction::In => ("receive from", self.buffer.len()),
        };
        let label = if self.label.is_empty() { String::new() } else { format!("{}: ", self.label) };
        format!("{label}{verb} rank {peer}, tag {tag}, {bytes} bytes")
    }
}

/// Messages that are posted, and waited for, together.
pub(crate) struct Post {
    /// No other post of the program has it.
    pub(crate) number: usize,
    /// How often it was begun.
    pub(crate) times: AtomicU64,
    /// In words, for errors.
    pub(crate) what: String,
    pub(crate) transfers: Box<[Transfer]>,
    pub(crate) is_persistent: bool,
    /// Some of its messages begin when others are done.
    pub(crate) hands_on: bool,
    /// How many are under way: at this word one waits.
    pub(crate) left: AtomicU32,
    results: Mutex<Vec<Option<Result<usize, NetError>>>>,
    /// The task that awaits it.
    waker: Mutex<Option<Waker>>,
    /// When it was posted, and when its last message was done, on the engine's clock.
    pub(crate) posted_ns: AtomicU64,
    pub(crate) done_ns: AtomicU64,
}

impl Post {
    pub(crate) fn new(what: String, transfers: Vec<Transfer>, is_persistent: bool) -> Post {
        let hands_on = transfers.iter().any(|transfer| transfer.after.is_some());
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Post {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            times: AtomicU64::new(0),
            what,
            hands_on,
            transfers: transfers.into(),
            is_persistent,
            left: AtomicU32::new(0),
            results: Mutex::new(Vec::new()),
            waker: Mutex::new(None),
            posted_ns: AtomicU64::new(0),
            done_ns: AtomicU64::new(0),
        }
    }

    /// From now on all of it is under way; false if some of it still is.
    pub(crate) fn begin(&self, now: u64) -> bool {
        let count = u32::try_from(self.transfers.len()).expect("few messages");
        // Acquire pairs with the release in `complete`.
        if self.left.compare_exchange(0, count, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.times.fetch_add(1, Ordering::Relaxed);
        *lock(&self.results) = (0..count).map(|_| None).collect();
        self.posted_ns.store(now, Ordering::Relaxed);
        self.done_ns.store(now, Ordering::Relaxed);
        true
    }

    /// One of it is done, or refused.
    pub(crate) fn complete(&self, index: usize, result: Result<usize, MpiRefusal>, now: u64) {
        let result = result.map_err(|MpiRefusal { class, text }| NetError::Mpi {
            what: format!("{}: {}", self.what, self.transfers[index].describe()),
            class,
            text,
        });
        lock(&self.results)[index] = Some(result);
        self.done_ns.fetch_max(now, Ordering::Relaxed);
        self.transfers[index].done_ns.store(now, Ordering::Relaxed);
        // Release pairs with the acquire of who waits: it sees what the message has brought.
        if self.left.fetch_sub(1, Ordering::Release) == 1 {
            futex::wake(&raw const self.left, u32::MAX, futex::ANY);
            self.wake();
        }
    }

    /// Whom to wake when all of it is done; he asks again whether it is after that.
    pub(crate) fn wake_by(&self, waker: &Waker) {
        *lock(&self.waker) = Some(waker.clone());
    }

    /// Wakes who awaits it.
    pub(crate) fn wake(&self) {
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether nothing of it is under way.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire pairs with the release in `complete`.
        self.left.load(Ordering::Acquire) == 0
    }

    /// The sizes of all messages, once all are done.
    pub(crate) fn sizes(&self) -> Result<Vec<usize>, NetError> {
        let results = lock(&self.results);
        results.iter().map(|result| result.clone().unwrap_or(Err(NetError::Over))).collect()
    }

    /// Whether each message is still under way.
    pub(crate) fn is_pending(&self) -> Vec<bool> {
        lock(&self.results).iter().map(Option::is_none).collect()
    }

    /// What is still under way.
    pub(crate) fn pending(&self) -> Vec<&Transfer> {
        let results = lock(&self.results);
        let indexed = self.transfers.iter().zip(results.iter());
        indexed.filter(|(_, result)| result.is_none()).map(|(transfer, _)| transfer).collect()
    }
}

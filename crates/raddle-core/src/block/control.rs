//! Owns: `Block`, the control block of a process, whatever storage it has.
//! May use: `raddle-context`, `raddle-protocol`.
//! Never: being freed. A block's memory is type-stable (see `pool`), so an old handle may always look at its token.
//!
//! | fields | who may touch them, and when |
//! |---|---|
//! | `header`, `context`, `stack`, `storage` | who holds the process: its queue, the dispatcher, or itself as it runs |
//! | `token`, `selection` | anybody, at any time, by their transitions |
//! | `join` | the process and its one handle, by its transitions |
//! | `body`, `payload` | closure: written at spawn, read at start; result: written at the end, then as `join` says |
//! | `waits` | the process itself, as it runs; read by whoever has stopped it (see `wait::describe`) |
//! | `name`, `id`, `class`, `scope` | written at spawn, before anybody else sees the block; then only read |
//! | `site` | as they; the process itself sets it anew for each spawned job that it runs |
//!
//! The first cache line holds all that a switch and a wake touch.

use crate::block::payload::Payload;
use raddle_context::tls::{self, TlsBlock};
use raddle_context::{Context, ContextEntry, SizeClass, Stack};
use raddle_protocol::glance::GlancePtr;
use raddle_protocol::header::{Header, Kind, Runnable};
use raddle_protocol::protocol::join::JoinWord;
use raddle_protocol::protocol::selection::Selection;
use raddle_protocol::protocol::token::ParkToken;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The outcome that a deadline or a cancellation selects.
pub const EXPIRED: u32 = Selection::OUTCOMES - 1;

/// What to do with the payload; one static table a closure type.
#[derive(Debug)]
pub(crate) struct Body {
    /// Runs the closure that is in the payload and leaves the result there.
    pub(crate) run: unsafe fn(&Block),
    /// Whether the result is a panic; for a process of which nobody will ask for the result. It stays undropped.
    pub(crate) has_panicked: unsafe fn(&Block) -> bool,
    /// Drops a result that nobody wants; true if it was a panic.
    pub(crate) drop_result: unsafe fn(&Block) -> bool,
    /// The first frame of the process.
    pub(crate) entry: ContextEntry,
    /// Ends a process that could not be started, on the worker that was to start it: drops the closure, and puts a
    /// panic in the place of the result.
    pub(crate) refuse: unsafe fn(&'static Block, Box<dyn std::any::Any + Send>),
}

/// The control block.
#[repr(C, align(64))]
pub struct Block {
    pub header: Header,
    pub(crate) context: UnsafeCell<Context>,
    /// Its own thread-local storage, from its start to its end; with the words above and below all that a switch
    /// touches.
    pub(crate) storage: UnsafeCell<Option<TlsBlock>>,
    /// What it waits for, while it does: in its frame. Written by the process itself.
    pub(crate) waits: GlancePtr,
    pub(crate) token: ParkToken,
    pub(crate) selection: Selection,
    pub(crate) join: JoinWord<Header>,
    pub(crate) body: Cell<&'static Body>,
    pub(crate) payload: Payload,
    pub(crate) stack: Cell<Option<Stack>>,
    pub(crate) name: UnsafeCell<Option<Arc<str>>>,
    pub site: SpawnSite,
    pub(crate) id: Cell<u64>,
    /// The scope that waits for it; `process::scope` knows what that is.
    pub(crate) scope: Cell<*const ()>,
    pub(crate) class: Cell<SizeClass>,
    /// How many guards keep it on its worker. Touched by the process itself.
    pub pins: Cell<u32>,
}

/// Where a process was spawned. Who reports looks while others begin and end.
#[derive(Debug)]
pub struct SpawnSite(AtomicPtr<Location<'static>>);

impl SpawnSite {
    fn new(site: &'static Location<'static>) -> SpawnSite {
        SpawnSite(AtomicPtr::new(std::ptr::from_ref(site).cast_mut()))
    }

    /// From any thread; to all but who holds the block it may be that of another life.
    #[inline(always)]
    pub fn get(&self) -> &'static Location<'static> {
        // SAFETY: only such references are put there.
        unsafe { &*self.0.load(Ordering::Relaxed) }
    }

    /// By who fills the block.
    #[inline(always)]
    pub(crate) fn set(&self, site: &'static Location<'static>) {
        self.0.store(std::ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
    }
}

const _: () = assert!(size_of::<Block>() == 256, "a control block has grown, or could take more");
// The contexts of the twin and of the sanitizers are larger.
#[cfg(not(any(raddle_twin, raddle_asan, raddle_tsan)))]
const _: () = assert!(std::mem::offset_of!(Block, waits) < 64, "a wait touches a second cache line");

// SAFETY: who may touch which field when is the table above; the parts that several threads touch at once are the
// three protocol words.
unsafe impl Sync for Block {}
// SAFETY: as above.
unsafe impl Send for Block {}

unsafe extern "C" fn no_entry(_me: *mut Context) -> *mut Context {
    unreachable!("a block without a life was started")
}

/// The body of a block that is in no life.
static NOBODY: Body = Body {
    run: |_| unreachable!("a block without a life was run"),
    has_panicked: |_| false,
    drop_result: |_| false,
    entry: no_entry,
    refuse: |_, _| (),
};

impl Block {
    /// A block in no life, for the pool.
    #[track_caller]
    pub(crate) fn empty() -> Block {
        Block {
            header: Header::new(Kind::Process, 0),
            context: UnsafeCell::new(Context::empty()),
            token: ParkToken::new(),
            join: JoinWord::new(),
            storage: UnsafeCell::new(None),
            selection: Selection::new(),
            body: Cell::new(&NOBODY),
            payload: Payload::new(),
            stack: Cell::new(None),
            name: UnsafeCell::new(None),
            site: SpawnSite::new(Location::caller()),
            id: Cell::new(0),
            scope: Cell::new(std::ptr::null()),
            class: Cell::new(SizeClass::DEFAULT),
            waits: GlancePtr::new(std::ptr::null_mut()),
            pins: Cell::new(0),
        }
    }

    /// # Safety
    /// `header` is the header of a `Block` (its kind says so).
    #[inline(always)]
    pub unsafe fn of_header<'a>(header: *mut Header) -> &'a Block {
        // SAFETY: the header is a block's first field (`repr(C)`), and blocks are never freed.
        unsafe { &*header.cast::<Block>() }
    }

    /// # Safety
    /// `context` is the context of a `Block`.
    #[inline(always)]
    pub(crate) unsafe fn of_context<'a>(context: *mut Context) -> &'a Block {
        // SAFETY: the caller vouches that the context stands inside a block, at this distance from its start.
        let block = unsafe { context.byte_sub(std::mem::offset_of!(Block, context)) };
        // SAFETY: as above; blocks are never freed.
        unsafe { &*block.cast::<Block>() }
    }

    #[inline(always)]
    pub fn as_header(&self) -> *mut Header {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// # Safety
    /// The caller holds the right to run or queue this process.
    #[inline(always)]
    pub unsafe fn as_runnable(&self) -> Runnable {
        // SAFETY: passed on to the caller.
        let runnable = unsafe { Runnable::from_raw(self.as_header()) };
        runnable.expect("a reference is not null")
    }

    /// It may run soon: what a switch to it touches may be on its way to this processor's cache meanwhile. By whoever
    /// has met it, whatever has become of it since.
    ///
    /// PERF: writing the thread pointer takes the processor some twenty cycles in which it fetches nothing for what
    /// follows; bench `line2000`, 45 -> 35 ns, where one switch in a while touches each of 2000 stacks.
    #[inline(always)]
    pub(crate) fn announce(&self) {
        // SAFETY: blocks are never freed; the word may change meanwhile.
        unsafe { tls::announce(self.storage.get()) };
        // SAFETY: the context is read by its one atomic word only.
        unsafe { &*self.context.get() }.announce();
    }

    /// What a transfer to this process loads; 0 if it has no storage of its own.
    #[inline(always)]
    pub(crate) fn storage_base(&self) -> usize {
        // SAFETY: set before it starts and taken at its end, by its holder, who calls.
        unsafe { &*self.storage.get() }.as_ref().map_or(0, TlsBlock::base)
    }

    /// A life is over for which storage was taken at the spawn.
    ///
    /// # Safety
    /// The caller is the block's only holder.
    pub(crate) unsafe fn take_early_storage(&self) -> Option<TlsBlock> {
        // SAFETY: the caller's.
        unsafe { &mut *self.storage.get() }.take()
    }

    /// Its stack, between its start and its end.
    ///
    /// # Safety
    /// It neither starts nor ends meanwhile.
    pub unsafe fn stack_there(&self) -> Option<&Stack> {
        // SAFETY: nobody writes it, the caller says.
        unsafe { &*self.stack.as_ptr() }.as_ref()
    }

    /// The part of its stack that is in use, between its start and its end, while it does not run.
    ///
    /// # Safety
    /// It neither starts nor runs nor ends meanwhile.
    pub unsafe fn kept(&self) -> Option<Range<usize>> {
        // SAFETY: it neither starts nor ends.
        let stack = unsafe { self.stack_there() }?;
        if self.header.holds_thread() {
            // Its worker's loop may run in its context, below the frame in which it waits.
            let memory = stack.limit().addr()..stack.top().addr();
            let from = Some(self.waits_at()).filter(|at| memory.contains(at));
            return Some(from.unwrap_or(memory.end)..memory.end);
        }
        // SAFETY: it does not run: nobody writes its context.
        let context = unsafe { &*self.context.get() };
        Some(raddle_context::walk::kept(context, stack))
    }

    /// The number of the life that the block is in; for whoever walks over all blocks, at any time.
    pub fn number(&self) -> Option<u64> {
        // Acquire pairs with the release in `begin_life`.
        Some(self.life().load(Ordering::Acquire)).filter(|number| *number != 0)
    }

    /// Where in whose frame it says what it waits for; 0 if nowhere. Not to be followed.
    pub fn waits_at(&self) -> usize {
        self.waits.get().addr()
    }

    /// The block, which is filled, is in a life of this number from now on.
    #[inline(always)]
    pub(crate) fn begin_life(&self, number: u64) {
        // Release pairs with the acquire in `number`: what is in the block is seen with it.
        self.life().store(number, Ordering::Release);
    }

    /// The block is in no life any more.
    #[inline(always)]
    pub(crate) fn leave_life(&self) {
        self.life().store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn life(&self) -> &AtomicU64 {
        // SAFETY: as large as an atomic word and aligned as one; written only here.
        unsafe { AtomicU64::from_ptr(self.id.as_ptr()) }
    }

    /// The name it was given, if any.
    ///
    /// # Safety
    /// The process is alive: the caller is it, holds it, or holds its handle.
    pub unsafe fn name(&self) -> Option<&Arc<str>> {
        // SAFETY: written at spawn only, and taken out at the end of the life.
        unsafe { &*self.name.get() }.as_ref()
    }
}

/// Takes what is left of a life out of the block. The caller is its only holder.
#[inline(always)]
pub(crate) fn end_life(block: &'static Block) {
    block.leave_life();
    // SAFETY: nobody else looks at the name any more: handles carry their own copy.
    let name = unsafe { &mut *block.name.get() };
    if name.is_some() {
        drop(name.take());
    }
    block.token.end_life();
}

//! Owns: how a process is made, in a runtime that is given.
//! May use: `block`, `ids`, `region`, `trace::job`, `tracer`, `worker::here`, `worker::rooms`, `worker::shared`,
//! `raddle-context`, `raddle-protocol`, `raddle-trace`.
//! Never: a stack; a process gets one when it starts.

use crate::block::pool;
use crate::block::{Block, Body, JOB_SITE};
use crate::process::entry;
use crate::process::handle::Joiner;
use crate::process::scope::ScopeData;
use crate::region;
use crate::trace::{note_job, number_of_job};
use crate::worker::{LocalWorker, Shared, rooms};
use raddle_context::SizeClass;
use raddle_context::tls::TlsBlock;
use raddle_protocol::header::{AS_IS, CANCELLABLE, MOVABLE, OWN_TLS};
use raddle_protocol::protocol::jobs::{How, Node};
use raddle_trace::Event;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `std` gives a thread that does not ask for another size.
const STACK_BYTES: usize = 2 << 20;

/// The settings of a process, checked.
pub struct Settings {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) class: Option<SizeClass>,
    pub(crate) worker: Option<usize>,
    pub(crate) storage: Storage,
    /// It need not start as long as anything else can run where it is spawned.
    pub(crate) later: bool,
}

impl Settings {
    pub const PLAIN: Settings =
        Settings { name: None, class: None, worker: None, storage: Storage::Usual, later: false };
    pub const LATER: Settings = Settings { later: true, ..Settings::PLAIN };

    /// As [`LATER`](Self::LATER), on the worker `home` unless a thief comes first.
    pub fn later_at(home: Option<usize>) -> Settings {
        Settings { worker: home, ..Settings::LATER }
    }
}

/// In which thread-local storage a process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Storage {
    /// As its runtime has it.
    #[default]
    Usual,
    /// Of its own, with first values: a thread.
    Own,
    /// Its worker's: it is light.
    Worker,
    /// As its runtime has it for jobs, which stay where they start.
    Job,
}

impl Storage {
    /// The flags for it, where the runtime's processes have these.
    #[inline(always)]
    const fn flags(self, of_processes: u16, of_jobs: u16) -> u16 {
        match self {
            Storage::Usual => of_processes,
            Storage::Own => OWN_TLS,
            Storage::Worker => 0,
            Storage::Job => of_jobs,
        }
    }
}

/// The flags of a runtime's processes.
pub(crate) const fn usual_flags(light: bool) -> u16 {
    if light { 0 } else { OWN_TLS | AS_IS }
}

/// Makes the block and injects it into a runtime.
///
/// # Safety
/// As `spawn::Builder::spawn_unchecked`.
pub(crate) unsafe fn spawn_outside<F, T>(
    runtime: &Shared,
    set: Settings,
    scope: *const ScopeData,
    site: &'static Location<'static>,
    f: F,
) -> Joiner<T>
where
    F: FnOnce() -> T,
{
    let block = pool::take_from_depot();
    fill(block, set.name, set.class.unwrap_or(runtime.stack_class), scope, site, crate::ids::one(), f);
    mark(block, set.storage, runtime.process_flags, runtime.job_flags);
    runtime.inject_process(block, set.worker);
    // SAFETY: just made for a result of type `T`; this is its one handle.
    unsafe { Joiner::new(block) }
}

/// Spawns a plain process in a given runtime.
///
/// # Safety
/// As `spawn::Builder::spawn_unchecked`.
#[track_caller]
pub(crate) unsafe fn spawn_in<F: FnOnce() -> T, T>(runtime: &Shared, f: F) -> Joiner<T> {
    // SAFETY: passed on to the caller.
    unsafe { spawn_outside(runtime, Settings::PLAIN, std::ptr::null(), Location::caller(), f) }
}

/// Spawns the first process of a runtime: `main`, as roomy as one expects. Nobody waits for its end.
///
/// It is told as spawned at `site` in the program.
pub fn spawn_first(runtime: &Shared, site: &'static Location<'static>, f: impl FnOnce() + Send + 'static) {
    let (name, class) = (Some(Arc::from("main")), Some(roomy(runtime.stack_class)));
    let set = Settings { name, class, ..Settings::PLAIN };
    // SAFETY: the closure is `'static`.
    drop(unsafe { spawn_outside(runtime, set, std::ptr::null(), site, f) });
}

/// As `spawn_in`, with the stack of a job; placed on `worker`, if there is one. `site` is the program's line: most
/// callers are in a closure, which knows only its own.
///
/// # Safety
/// As `spawn::Builder::spawn_unchecked`.
pub unsafe fn spawn_roomy<F: FnOnce() -> T, T>(
    runtime: &Shared,
    worker: Option<usize>,
    site: &'static Location<'static>,
    f: F,
) -> Joiner<T> {
    let (class, storage) = (Some(roomy(runtime.stack_class)), Storage::Job);
    let set = Settings { class, storage, worker, ..Settings::PLAIN };
    // SAFETY: passed on to the caller.
    unsafe { spawn_outside(runtime, set, std::ptr::null(), site, f) }
}

/// Jobs recurse: they get at least what a thread gets, of which only what is touched is memory.
///
/// AddressSanitizer clears its marks of the whole stack with each start.
pub(crate) fn roomy(class: SizeClass) -> SizeClass {
    let usual = if cfg!(raddle_asan) { 1 << 20 } else { usual_stack_bytes() };
    SizeClass::for_bytes(usual).map_or(class, |usual| usual.max(class))
}

/// Hands a job of an OS thread, which made it at `site`, over to a runtime, as a process.
///
/// # Safety
/// `job` is in no list, stays until it has been run, and is run by this only.
pub unsafe fn inject_job(runtime: &Shared, job: *mut Node, site: &'static Location<'static>) {
    // SAFETY: passed on to the caller.
    let act = unsafe { &*job }.act();
    // SAFETY: as above.
    unsafe { act(job, How::Promote(std::ptr::null())) };
    let job = PromotedJob(NonNull::new(job).expect("a job has an address"));
    // SAFETY: as above.
    drop(unsafe { spawn_roomy(runtime, None, site, move || drop(job)) });
}

struct PromotedJob(NonNull<Node>);

impl Block {
    /// The job that the process has been made for, if for one: compared, never followed. `None` in a region that may be
    /// cancelled, whose node stands in its place.
    ///
    /// # Safety
    /// Its life neither begins nor ends meanwhile.
    pub unsafe fn job(&self) -> Option<*const Node> {
        let is_job = self.is_of_job() && !self.header.is(CANCELLABLE);
        // SAFETY: what `make_job` has put there; it stays there when it has been taken, since a job returns nothing.
        let job = is_job.then(|| unsafe { self.payload.peek::<*const Node>() });
        // Null where it has left a region.
        job.filter(|job| !job.is_null())
    }
}

// SAFETY: whoever makes one vouches that the job is this process's alone; what it captures was required to be `Send`.
unsafe impl Send for PromotedJob {}

/// To drop it is to run it. So a job whose process is refused a stack still runs, where that process ends: on the
/// worker's own stack, as in a task. Somebody waits for it, and has no other way to learn that it never will. There it
/// may do all that a task may; a wait is a panic, which goes to whoever waits for the job.
impl Drop for PromotedJob {
    fn drop(&mut self) {
        let number = number_of_job(self.0.as_ptr());
        // SAFETY: the process's alone, as above.
        unsafe { Node::run(self.0) };
        note_job(Event::JobDone, number);
    }
}

/// Makes a process of `worker` that runs a job to its end. Nobody has its handle, and it is in no queue.
///
/// # Safety
/// The job was taken, and is run by this process only.
pub(crate) unsafe fn make_job(worker: &LocalWorker, job: NonNull<Node>) -> &'static Block {
    let (block, job) = (worker.take_block(), PromotedJob(job));
    let class = roomy(worker.stack_class());
    fill(block, None, class, std::ptr::null(), JOB_SITE, worker.next_id(), move || drop(job));
    // It begins where it was taken, and stays: a job sees one worker's number from its beginning to its end.
    block.header.flags.set(MOVABLE | worker.ways.job_flags);
    block.pins.set(1);
    let _not_ended = block.join.detach();
    block
}

/// Makes a thread of `worker` on storage that processes have used: at its end it runs the destructors of what they have
/// left. Nobody has its handle, and it is in no queue.
pub(crate) fn make_retiree(worker: &LocalWorker, storage: TlsBlock) -> &'static Block {
    let block = worker.take_block();
    // SAFETY: the block is in no life and ours alone.
    unsafe { *block.storage.get() = Some(storage) };
    let (class, site) = (roomy(worker.stack_class()), Location::caller());
    fill(block, None, class, std::ptr::null(), site, worker.next_id(), || ());
    block.body.set(&entry::RETIREE);
    worker.shared().begin_retiree();
    block.header.flags.set(OWN_TLS);
    block
}

#[inline(always)]
pub(crate) fn fill<F: FnOnce() -> T, T>(
    block: &'static Block,
    name: Option<Arc<str>>,
    class: SizeClass,
    scope: *const ScopeData,
    site: &'static Location<'static>,
    id: u64,
    f: F,
) {
    // SAFETY: the block is in no life and ours alone.
    unsafe { rooms::fill(&block.payload, f) };
    fill_rest(block, entry::body_of::<F, T>(), name, class, scope, site, id);
}

/// A block that has its payload gets the rest.
#[inline(always)]
pub(super) fn fill_rest(
    block: &'static Block,
    body: &'static Body,
    name: Option<Arc<str>>,
    class: SizeClass,
    scope: *const ScopeData,
    site: &'static Location<'static>,
    id: u64,
) {
    block.join.reset();
    block.body.set(body);
    if name.is_some() {
        // SAFETY: the block is in no life and ours alone; the end of the last one has left `None` here.
        unsafe { *block.name.get() = name };
    }
    block.site.set(site);
    block.scope.set(scope.cast());
    block.class.set(class);
    block.header.flags.set(MOVABLE);
    block.begin_life(id);
}

/// Says of a block that was just filled in which storage it runs.
#[inline(always)]
pub(crate) fn mark(block: &Block, storage: Storage, of_processes: u16, of_jobs: u16) {
    let flags = storage.flags(of_processes, of_jobs);
    if flags != 0 {
        block.header.flags.set(MOVABLE | flags);
        block.pins.set(u32::from(storage == Storage::Job));
    }
}

/// Runs `f` as a job of `runtime`, for whoever calls, who waits: in the caller's region, if that may be cancelled.
#[track_caller]
pub fn run_in<T: Send>(runtime: &Shared, f: impl FnOnce() -> T + Send) -> T {
    run_at(runtime, Location::caller(), f)
}

/// As [`run_in`], called at `site` in the program.
pub fn run_at<T: Send>(
    runtime: &Shared,
    site: &'static Location<'static>,
    f: impl FnOnce() -> T + Send,
) -> T {
    let region = region::for_scope();
    // SAFETY: what `f` borrows outlives this call, which waits for the job's end.
    let joiner = unsafe { spawn_roomy(runtime, None, site, || region::born_into(region, f)) };
    joiner.join_at(site).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// As [`run_in`], as a process, with the stack of a job.
#[track_caller]
pub(crate) fn run_process_in<T: Send>(runtime: &Shared, f: impl FnOnce() -> T + Send) -> T {
    let set = Settings { class: Some(roomy(runtime.stack_class)), ..Settings::PLAIN };
    let (site, region) = (Location::caller(), region::for_scope());
    let f = || region::born_into(region, f);
    // SAFETY: as there.
    let joiner = unsafe { spawn_outside(runtime, set, std::ptr::null(), site, f) };
    joiner.join_at(site).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// `RUST_MIN_STACK`, as for the threads of `std`, and what they have without it.
pub fn usual_stack_bytes() -> usize {
    /// 0 before it is known. Not behind a lock, which a forked child could find taken.
    static BYTES: AtomicUsize = AtomicUsize::new(0);
    let known = BYTES.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let from_environment = || std::env::var("RUST_MIN_STACK").ok()?.parse().ok();
    let found = from_environment().unwrap_or(STACK_BYTES).max(1);
    BYTES.store(found, Ordering::Relaxed);
    found
}

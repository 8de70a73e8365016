//! Owns: what runs at the base of a process's stack, from its first instruction to its last.
//! May use: `block::control`, `message`, `orphan`, `region`, `wait::child`, `worker`, `raddle-context`,
//! `raddle-protocol`.
//! Never: a panic past the base; `extern "C"` would abort.
//!
//! The order at the end matters, see `reclaim.md`: what the exit still needs is copied out of the block before the
//! join word says `DONE`, since from then on the block may live again elsewhere. The stack goes back to the worker's
//! own pool while the exit still stands on it; the pool promises not to let it out, and the very next process may be
//! started on it, since an end saves nothing.

use crate::block::{Block, Body};
use crate::orphan;
use crate::process::scope::ScopeData;
use crate::region::{self, Inherited};
use crate::wait::child::branch_ends;
use crate::worker::{Here, LocalWorker, choice, rooms};
use raddle_context::{Context, Stack, tls};
use raddle_protocol::header::{AS_IS, BRANCH, FOREIGN, Header, MOVABLE, OWN_TLS};
use raddle_protocol::protocol::join::Finished;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::Result;

/// The table for one closure type.
struct BodyOf<F, T>(std::marker::PhantomData<(F, T)>);

impl<F: FnOnce() -> T, T> BodyOf<F, T> {
    const BODY: Body = Body {
        run: run::<F, T>,
        has_panicked: has_panicked::<T>,
        drop_result: drop_result::<T>,
        entry,
        refuse: refuse::<F, T>,
    };
}

/// The table for a closure of type `F`.
pub(crate) const fn body_of<F: FnOnce() -> T, T>() -> &'static Body {
    &BodyOf::<F, T>::BODY
}

/// Runs the closure and leaves `Ok` or the panic's payload in its place.
fn run<F: FnOnce() -> T, T>(block: &Block) {
    // SAFETY: spawn put an `F`, and the process is the payload's only user while it runs.
    let closure = unsafe { rooms::empty::<F>(&block.payload) };
    let region = inherit(block);
    let result: Result<T> = match region.as_ref().and_then(Inherited::refusal) {
        None => catch_unwind(AssertUnwindSafe(closure)),
        Some(cancelled) => catch_unwind(AssertUnwindSafe(|| drop(closure))).and(Err(cancelled)),
    };
    drop(region);
    // SAFETY: as above; the closure has been taken.
    unsafe { rooms::fill(&block.payload, result) };
}

fn has_panicked<T>(block: &Block) -> bool {
    // SAFETY: called once, after the run, by the process itself.
    let result = std::mem::ManuallyDrop::new(unsafe { rooms::empty::<Result<T>>(&block.payload) });
    is_panic(&result)
}

/// A process that was cancelled has not panicked.
fn is_panic<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(|payload| !region::was_cancelled(&**payload))
}

fn drop_result<T>(block: &Block) -> bool {
    // SAFETY: called once, after the end, by whom the join word gave the result to.
    let result = unsafe { rooms::empty::<Result<T>>(&block.payload) };
    let panicked = is_panic(&result);
    if catch_unwind(AssertUnwindSafe(|| drop(result))).is_err() {
        crate::message::fatal("the result of a process panicked while it was dropped");
    }
    panicked
}

/// # Safety
/// The closure was put and never run, the caller holds the block, and is the worker that it names.
unsafe fn refuse<F, T>(block: &'static Block, payload: Box<dyn Any + Send>) {
    // SAFETY: the closure was put at spawn and never run.
    let closure = unsafe { rooms::empty::<F>(&block.payload) };
    // What it has captured is the program's, and a job runs by this: it may panic, or fork.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(closure)));
    if orphan::is_orphan() {
        orphan::end_of_orphan(dropped.is_err());
    }
    let payload = dropped.err().unwrap_or(payload);
    // SAFETY: the closure has been taken, and the block is still its holder's alone.
    unsafe { rooms::fill::<Result<T>>(&block.payload, Err(payload)) };
    // SAFETY: passed on to the caller.
    unsafe { end_refused(block) };
}

/// What is the same for all results. Alone, so that a program has it once.
///
/// # Safety
/// As [`refuse`]; the result has been put.
#[cold]
#[inline(never)]
unsafe fn end_refused(block: &'static Block) {
    // SAFETY: passed on to the caller; this is the worker's own stack, which nothing leaves.
    let worker = unsafe { Here::of(&block.header) };
    end(&worker, block);
}

/// What a process that begins is in: the region that its scope was opened in, or that of the run that is explored.
#[inline(always)]
fn inherit(block: &Block) -> Option<Inherited> {
    // SAFETY: it begins by this.
    let scope = unsafe { block.scope() };
    let region = scope.and_then(ScopeData::region).map(region::stay_below);
    region.or_else(|| choice::region().and_then(region::stay_below_run))
}

/// The first frame of every process.
///
/// # Safety
/// `me` is the context of a block that its worker has just started.
unsafe extern "C" fn entry(me: *mut Context) -> *mut Context {
    // SAFETY: the caller vouches for it.
    let block = unsafe { Block::of_context(me) };
    if block.header.is(OWN_TLS) {
        begin_storage(block);
    }
    // SAFETY: a started block has a worker, and this is its thread.
    unsafe { Here::of(&block.header) }.arrive();
    // SAFETY: the closure is there: it was put at spawn and this is its one run.
    unsafe { (block.body.get().run)(block) };
    if block.header.is(BRANCH) {
        branch_ends(block);
    }
    if orphan::is_orphan() {
        // SAFETY: the result is there, and nobody will ask for it.
        orphan::end_of_orphan(unsafe { (block.body.get().has_panicked)(block) });
    }
    if block.header.is(OWN_TLS) {
        if block.header.is(AS_IS) {
            let_go_of_forks(block);
            return exit_as_is(block);
        }
        if !block.header.is(FOREIGN) {
            // As with std: before the destructors, if the handle has gone by now.
            let unseen = block.join.is_detached().then(|| drop_unseen(block));
            run_destructors();
            let_go_of_forks(block);
            return exit_thread(block, unseen);
        }
        leave_storage(block);
    }
    let_go_of_forks(block);
    exit(block)
}

/// The body of what runs the destructors of storage that processes have used. Its closure, a pointer, is not run.
pub(crate) static RETIREE: Body = Body { entry: retire, refuse: refuse_retiree, ..*body_of::<fn(), ()>() };

/// There is no stack for it: what is left in its storage stays there.
///
/// # Safety
/// As [`refuse`].
unsafe fn refuse_retiree(block: &'static Block, _refused: Box<dyn Any + Send>) {
    // SAFETY: its holder calls.
    let _stays = unsafe { &mut *block.storage.get() }.take();
    // SAFETY: passed on to the caller; this is the worker's own stack, which nothing leaves.
    let worker = unsafe { Here::of(&block.header) };
    worker.shared().end_retiree();
    worker.free_block(block);
}

/// The only frame of a retiree. Neither its beginning nor its end counts: the program knows nothing of it.
///
/// # Safety
/// As [`entry`].
unsafe extern "C" fn retire(me: *mut Context) -> *mut Context {
    // SAFETY: the caller vouches for it.
    let block = unsafe { Block::of_context(me) };
    begin_storage(block);
    // SAFETY: as in `entry`.
    unsafe { Here::of(&block.header) }.arrive();
    run_destructors();
    leave_storage(block);
    let_go_of_forks(block);
    // SAFETY: as in `exit`.
    let worker = unsafe { Here::of(&block.header) };
    let stack = block.stack.take().expect("a process that runs has a stack");
    worker.shared().end_retiree();
    worker.free_block(block);
    worker.give_stack(stack);
    worker.note_exit();
    // SAFETY: as in `exit`.
    unsafe { worker.pick_last() }
}

/// What begins runs in the storage that has been taken for it.
#[inline(never)]
fn begin_storage(block: &Block) {
    let word = block.as_header().cast();
    if block.header.is(AS_IS) {
        // SAFETY: the transfer to here has loaded the storage that was taken for this block.
        unsafe { tls::begin_as_is(word) };
    } else {
        // SAFETY: as above.
        unsafe { tls::begin(word) };
    }
}

/// The destructors of the storage in which the caller runs; they may wait.
#[inline(never)]
fn run_destructors() {
    // SAFETY: the caller's storage, which nothing but its destructors uses any more.
    unsafe { tls::end() };
}

/// What runs in storage of its own is over, destructors and all: it ends as a light process does.
///
/// A function of its own, as `exit` is: no address of a thread-local variable may be kept from one to the other.
#[inline(never)]
fn leave_storage(block: &'static Block) {
    let flags = &block.header.flags;
    flags.set(flags.get() & !(OWN_TLS | MOVABLE));
    // SAFETY: it has run on this worker since its last wait, and stays with it from now on.
    let worker = unsafe { Here::of(&block.header) };
    // SAFETY: it runs here, its function and its destructors are over, and this returns next.
    unsafe { worker.take_storage_back(block) };
}

/// What a process that ends has forked and not waited for is everybody's. After the last code of the program's that
/// runs in its name: destructors and drops may fork, too.
#[inline(always)]
fn let_go_of_forks(block: &Block) {
    if !block.header.forks.get().is_null() {
        crate::worker::promote::end_of_flow(&block.header);
    }
}

/// The last act: publish the result, give everything back, choose who is next.
#[inline(never)]
fn exit(block: &'static Block) -> *mut Context {
    // SAFETY: as in `entry`; it is bound to its worker now, whatever the drop of a result may wait for.
    let worker = unsafe { Here::of(&block.header) };
    let stack = block.stack.take().expect("a process that runs has a stack");
    measure(&worker, &stack);
    end(&worker, block);
    worker.give_stack(stack);
    worker.note_exit();
    // SAFETY: returned to the base of this stack, whose switch goes there next; nothing of it touches a variable.
    unsafe { worker.pick_last() }
}

/// As [`exit`], of a process with storage that the next one takes as it is. It runs with that to its last instruction:
/// the drop of a result is the program's code, and may wait.
#[inline(never)]
fn exit_as_is(block: &'static Block) -> *mut Context {
    // Not borrowed over the drop of a result: if that waits, whoever resumes it looks there.
    let place = block.storage.get();
    // SAFETY: the one who runs holds the block.
    let mut storage = unsafe { &mut *place }.take().expect("a process that runs has storage");
    let stack = block.stack.take().expect("and a stack");
    // SAFETY: as in `entry`.
    let mut worker = unsafe { Here::of(&block.header) };
    measure(&worker, &stack);
    // SAFETY: it ends by this.
    let scope = unsafe { block.scope() };
    let mut unseen_panic = false;
    choice::ended(&worker, block);
    match block.join.finish() {
        Finished::HandleHasIt => {}
        // SAFETY: the joiner registered itself to be woken once, by this.
        Finished::Wake(joiner) => unsafe { worker.wake(joiner) },
        Finished::Free => {
            // Nobody else has the block: it waits, if it does, as in its life.
            // SAFETY: as above.
            unsafe { *place = Some(storage) };
            unseen_panic = drop_unseen(block);
            // SAFETY: as above.
            storage = unsafe { &mut *place }.take().expect("it was put there");
            // SAFETY: whoever resumed it last said on which worker it runs now.
            worker = unsafe { Here::of(&block.header) };
            worker.free_block(block);
        }
    }
    leave(&worker, scope, unseen_panic);
    let memory = stack.memory();
    worker.give_stack(stack);
    worker.give_storage(storage);
    worker.note_exit();
    // SAFETY: as in `exit`.
    unsafe { worker.pick_last_as_is(memory) }
}

/// As [`exit_as_is`], of a thread, whose destructors have run. `unseen`: its result has been dropped, and was a panic.
///
/// If the handle has gone meanwhile, it is dropped here, in the thread's storage, whose destructors run once more. Only
/// then is the storage free, and only from elsewhere, since the next one renews it.
#[inline(never)]
fn exit_thread(block: &'static Block, unseen: Option<bool>) -> *mut Context {
    let place = block.storage.get();
    let stack = block.stack.take().expect("a process that runs has a stack");
    // SAFETY: as in `entry`.
    let mut worker = unsafe { Here::of(&block.header) };
    measure(&worker, &stack);
    // SAFETY: it ends by this.
    let scope = unsafe { block.scope() };
    let mut unseen_panic = false;
    choice::ended(&worker, block);
    // SAFETY: the one who runs holds the block.
    let mut storage = unsafe { &mut *place }.take();
    match block.join.finish() {
        Finished::HandleHasIt => {}
        // SAFETY: the joiner registered itself to be woken once, by this.
        Finished::Wake(joiner) => unsafe { worker.wake(joiner) },
        Finished::Free => {
            unseen_panic = unseen.unwrap_or_else(|| {
                // SAFETY: nobody else has the block: it waits, if it does, as in its life.
                unsafe { *place = storage.take() };
                let panicked = drop_unseen(block);
                run_destructors();
                let_go_of_forks(block);
                // SAFETY: as above.
                storage = unsafe { &mut *place }.take();
                panicked
            });
            // SAFETY: whoever resumed it last said on which worker it runs now.
            worker = unsafe { Here::of(&block.header) };
            worker.free_block(block);
        }
    }
    leave(&worker, scope, unseen_panic);
    // SAFETY: it is over, on this stack, and this has used no variable.
    unsafe { worker.leave_storage(block, storage.expect("a thread has storage"), stack.memory()) };
    worker.give_stack(stack);
    worker.note_exit();
    // SAFETY: as in `exit`.
    unsafe { worker.pick_last() }
}

/// Before the end is published: who joins may ask at once how much of a stack was used.
#[inline(always)]
fn measure(worker: &LocalWorker, stack: &Stack) {
    if worker.shared().measure_stacks {
        stack.high_water_bytes().into_iter().for_each(|bytes| worker.shared().note_depth(bytes));
    }
}

/// Ends a life: after this the block is somebody else's. Also the end of a process that could not be started.
#[inline(always)]
fn end(worker: &LocalWorker, block: &'static Block) {
    // SAFETY: it ends by this.
    let scope = unsafe { block.scope() };
    let mut unseen_panic = false;
    choice::ended(worker, block);
    match block.join.finish() {
        Finished::HandleHasIt => {}
        // SAFETY: the joiner registered itself to be woken once, by this.
        Finished::Wake(joiner) => unsafe { worker.wake(joiner) },
        Finished::Free => unseen_panic = end_unseen(worker, block),
    }
    leave(worker, scope, unseen_panic);
}

/// A process that has ended is counted, and is no part of its scope any more.
///
/// Not earlier: the drop of a result may wait, and what is counted as ended does not keep its worker's memory.
#[inline(always)]
fn leave(worker: &LocalWorker, scope: Option<&ScopeData>, unseen_panic: bool) {
    worker.count_exit();
    if let Some(scope) = scope {
        let owner = scope.who_waits();
        if !owner.is_null() && !worker.put_next_child_first(owner) {
            scope.go_in_turn();
        }
        scope.leave(unseen_panic, |joiner: *mut Header| {
            // SAFETY: as for the join word.
            unsafe { worker.wake(joiner) };
        });
    }
}

/// Nobody will come for the result: drops it, and frees the block. True if it was a panic.
#[inline(never)]
fn end_unseen(worker: &LocalWorker, block: &'static Block) -> bool {
    let panicked = drop_unseen(block);
    worker.free_block(block);
    panicked
}

fn drop_unseen(block: &'static Block) -> bool {
    // SAFETY: detached: the result is ours to drop.
    let panicked = unsafe { (block.body.get().drop_result)(block) };
    if panicked && block.scope.get().is_null() {
        choice::unseen_panic();
    }
    let_go_of_forks(block);
    panicked
}

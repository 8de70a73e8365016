//! Owns: `blocking`: a call that may block an OS thread is made on a spare one, and the caller's worker goes on.
//! May use: `block::control`, `describe::wait`, `orphan`, `wait::park`, `worker`, `raddle-context`,
//! `raddle-protocol`.
//! Never: a worker that waits for the call.
//!
//! | caller | what runs the function |
//! |---|---|
//! | one with storage of its own | itself: it goes over to a spare OS thread and comes back (`carry.rs`) |
//! | a light process | a spare OS thread, with that one's thread-locals; the process waits |
//! | an OS thread of the program; whoever is inside a `blocking` already | itself: there is no worker to free |
//! | a light process that unwinds, and so must not switch | itself, and blocks its worker |
//! | a task | nobody: a panic. A task awaits [`task::spawn_blocking`](crate::task::spawn_blocking) |
//!
//! Whoever runs the function, it is the caller to itself: `thread::current` is the caller,
//! what it spawns belongs to the caller's runtime, and waits by Raddle's means are the spare OS thread's, which they
//! block. For that the caller's header is what runs on the spare OS thread, marked [`AWAY`]: then it has no worker. The
//! runtime counts who is away, and does not end before they are back.

mod carry;
mod growth;
mod pool;
mod spare;

pub(crate) use pool::{PoolGuard, lock as lock_pool};
pub(crate) use spare::run_detached;

use crate::block::Block;
use crate::orphan::{end_of_orphan, is_orphan};
use crate::wait::park::{Caller, caller, wait_registered};
use crate::wait::{CallOn, Wait, WaitReason};
use crate::worker::Worker;
use carry::Trip;
use raddle_protocol::header::{AWAY, Header, OWN_TLS};
use spare::BlockingCall;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::thread::Result;

/// Runs `f`, which may block an OS thread, without blocking a worker: in a process, on a spare OS thread.
///
/// For what waits by other means than Raddle's and may do so for long: a read, a lock of another library, a child
/// process. The way there and back takes some microseconds, so what takes less needs none of it. `f` may borrow; it is
/// [`Send`] because of light processes: another OS thread runs it for them, whose thread-locals it sees. A process or
/// `thread` is itself carried over, and sees its own.
///
/// Up to 512 spare OS threads are started as they are asked for. More calls than that wait for their turn, while any
/// of these comes to an end or computes; if all stand still for 10 ms, more are started, as many as it takes and the
/// system gives. If it refuses, that is said on standard error, with who waits, and it is asked again. A spare that has
/// had nothing to do for ten seconds ends. If the system refuses even the first, that is said, too, and `f` runs where
/// it is.
///
/// # Panics
/// As `f`. Inside a task, which awaits [`task::spawn_blocking`](crate::task::spawn_blocking) instead.
///
/// ```
/// use raddle::{blocking, csp};
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let reader = csp::spawn(move || blocking(move || receiver.recv()));
/// csp::spawn(move || sender.send("by a std channel")).join().unwrap().unwrap();
/// assert_eq!(reader.join().unwrap(), Ok("by a std channel"));
/// ```
///
/// ```compile_fail
/// let shared = std::rc::Rc::new(7);
/// raddle::blocking(|| println!("{shared}"));
/// ```
#[track_caller]
pub fn blocking<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    crate::worker::choice::outside("a `blocking` call");
    let Caller::Process(block) = caller(BLOCKING.name()) else { return f() };
    let wait = Wait::on(const { &BLOCKING }, block, Location::caller());
    let _shown = wait.show_at(block);
    if block.header.is(OWN_TLS) { carried(block, f) } else { elsewhere(block, f) }
}

const BLOCKING: CallOn<Block> = CallOn::new("blocking", WaitReason::Blocking);

/// The thread goes over to a spare OS thread, makes the call there, and comes back.
fn carried<T>(block: &'static Block, f: impl FnOnce() -> T) -> T {
    // SAFETY: `block` is what runs here.
    let away = unsafe { Worker::of(&block.header) }.shared().count_away();
    let trip = Trip::new(block);
    let is_away = trip.leave();
    let result = if is_away {
        without_forks(block, || catch_unwind(AssertUnwindSafe(f)))
    } else {
        // It waits for nothing after all.
        block.waits.set(std::ptr::null_mut());
        catch_unwind(AssertUnwindSafe(f))
    };
    if is_orphan() {
        // Forked in the call: in the child the thread goes on, and there is neither worker nor runtime to come back to.
        std::mem::forget(away);
    } else {
        if is_away {
            trip.come_back();
        }
        drop(away);
    }
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs `f`, which catches its panics, for a process that is away: its list of forks is for its worker's OS thread
/// only. Nothing is in the list: who leaves lets go of its forks.
fn without_forks<T>(block: &Block, f: impl FnOnce() -> T) -> T {
    let forks = block.header.forks.replace(std::ptr::null());
    let result = f();
    block.header.forks.set(forks);
    result
}

/// A call, in the frame of the one who waits for it.
struct Call<F, T> {
    state: CallState<F, T>,
    block: &'static Block,
}

enum CallState<F, T> {
    ToDo(F),
    Running,
    Done(Result<T>),
}

fn elsewhere<F: FnOnce() -> T, T>(block: &'static Block, f: F) -> T {
    let mut call = Call { state: CallState::ToDo(f), block };
    let at: *mut Call<F, T> = &raw mut call;
    // SAFETY: `block` is what runs here.
    let runtime = unsafe { Worker::of(&block.header) }.shared();
    let away = runtime.count_away();
    wait_registered(BLOCKING.call(), |_me| {
        // SAFETY: the frame stays until its owner is woken, which the job does as its last act.
        let job = unsafe { BlockingCall::borrowed(block, runtime, at.cast(), make::<F, T>) };
        pool::submit(job, runtime).is_ok()
    });
    drop(away);
    match call.state {
        CallState::Done(result) => result.unwrap_or_else(|panic| resume_unwind(panic)),
        // No spare OS thread at all: better here than not at all.
        CallState::ToDo(f) => {
            block.waits.set(std::ptr::null_mut());
            f()
        }
        CallState::Running => unreachable!("whoever makes the call wakes the caller when it is done"),
    }
}

/// On a spare OS thread: makes the call in its caller's name, and wakes the caller.
///
/// # Safety
/// `call` is the address of a `Call<F, T>` whose owner waits for this.
unsafe fn make<F: FnOnce() -> T, T>(call: *mut ()) {
    // SAFETY: the owner waits, and nobody else touches the call.
    let call = unsafe { &mut *call.cast::<Call<F, T>>() };
    let header: *mut Header = call.block.as_header();
    if let CallState::ToDo(f) = std::mem::replace(&mut call.state, CallState::Running) {
        // SAFETY: the process waits for this and is held by nobody else.
        let result = unsafe { as_away(call.block, || catch_unwind(AssertUnwindSafe(f))) };
        call.state = CallState::Done(result);
    }
    // SAFETY: the owner registered itself to be woken once, by this.
    unsafe { crate::worker::wake(header) };
}

/// Runs `f`, which catches its panics, on this spare OS thread as if it were the process, away from its worker.
///
/// # Safety
/// The process is suspended, and the caller holds it.
unsafe fn as_away<T>(block: &Block, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let flags = &block.header.flags;
    flags.set(flags.get() | AWAY);
    // It has let go of its forks; a join of the call is an OS thread's.
    let forks = block.header.forks.replace(std::ptr::null());
    // SAFETY: the process waits for this, which stands for it here.
    unsafe { raddle_context::current::set(block.as_header().cast()) };
    let result = without_forks(block, f);
    if is_orphan() {
        // Forked in the call: in the child the process, which waits for this, does not exist.
        end_of_orphan(result.is_err());
    }
    // SAFETY: nothing of ours runs on a spare OS thread but such a call.
    unsafe { raddle_context::current::set(std::ptr::null_mut()) };
    block.header.forks.set(forks);
    flags.set(flags.get() & !AWAY);
    result
}

/// Whether no spare OS thread has anything to do.
pub fn spares_are_idle() -> bool {
    lock_pool().is_idle()
}

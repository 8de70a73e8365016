//! Owns: the ways for the running flow of control to wait: yield, park, sleep, and the one that all others use.
//! May use: `block::control`, `block::current`, `describe::wait`, `region`, `worker`, `raddle-protocol`,
//! `raddle-syscall`.
//! Never: a switch during unwinding, or inside a task's poll.
//!
//! Each call asks first where it runs:
//!
//! | caller | how it waits |
//! |---|---|
//! | a process | leaves its stack; the next context publishes that it waits |
//! | a light process that is unwinding | blocks its worker: panics are counted for the OS thread, which others share |
//! | a job that holds its OS thread | blocks it, but for another job's end: then its worker goes on below it |
//! | an OS thread of the program, or a process inside of a `blocking` | a futex |
//! | a task, or the scheduler itself | a panic that says to use `.await` |

use crate::block::Block;
use crate::describe::{CallOn, PARK, Parked, Wait};
use crate::region::{self, Node, Ring};
use crate::wait::Waiter;
use crate::wait::external;
use crate::wait::refuse::refuse_in_task;
use crate::worker::choice::{self, count, counted_point, counted_point_at, point};
use crate::worker::lent::while_waiting;
use crate::worker::timer::{Alarm, AlarmId};
use crate::worker::{Here, RECORDED, SEEDED, current_header};
use raddle_protocol::call::{WaitCall, WaitReason};
use raddle_protocol::header::{CANCELLABLE, FOREIGN, Header, Kind, OWN_TLS};
use raddle_protocol::protocol::token::Notified;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a call comes from.
pub enum Caller {
    /// A process that may switch.
    Process(&'static Block),
    /// An OS thread, or a process that must not switch now.
    Thread,
}

/// Finds out who calls; panics inside a task, where waiting would stop the whole worker, at the caller's place.
#[inline(always)]
#[track_caller]
pub fn caller(what: &str) -> Caller {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let Some(running) = (unsafe { header.as_ref() }) else { return Caller::Thread };
    if may_switch(running) {
        // SAFETY: the kind says that it is a block.
        return Caller::Process(unsafe { Block::of_header(header) });
    }
    refuse_in_task(running.kind, what);
    Caller::Thread
}

/// The caller, if it is a process that may switch, and in no [region](crate::cancel) that may be cancelled: the one for
/// whom waits are compiled into their callers. (A thread of C has control words to be switched, too, and is none.)
#[inline(always)]
pub fn plain_caller() -> Option<&'static Block> {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() }?;
    let may_switch = running.waits_plainly() && !std::thread::panicking();
    // SAFETY: its kind is a process, so it is a block.
    may_switch.then(|| unsafe { Block::of_header(header) })
}

/// The caller, if it is a process that may switch, and in no region that may be cancelled.
#[inline(always)]
pub(crate) fn caller_outside_regions() -> Option<&'static Block> {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() }?;
    let is_plain = !running.is(CANCELLABLE) && may_switch(running);
    // SAFETY: its kind is a process, so it is a block.
    is_plain.then(|| unsafe { Block::of_header(header) })
}

/// Whether what runs here is a process that may leave its stack now.
#[inline(always)]
pub(super) fn may_switch(running: &Header) -> bool {
    let may_leave = running.is_process_on_worker() && !running.holds_thread();
    may_leave && (!std::thread::panicking() || running.is(OWN_TLS))
}

/// Whether so little of the caller's stack is in use that `child`, which was to have one of its own, may run on it: at
/// most a sixteenth, of a stack that is as large. A recursion by `par!` goes to further stacks with that.
#[inline(always)]
pub(crate) fn has_room_for_a_call(caller: &Block, child: &Block) -> bool {
    let here = 0_u8;
    // SAFETY: it runs, and is the caller: it neither starts nor ends meanwhile.
    let Some(stack) = (unsafe { caller.stack_there() }) else { return false };
    // Wraps to no room where a process runs elsewhere: the twin's, and one whose variables AddressSanitizer moves.
    let used = stack.top().addr().wrapping_sub((&raw const here).addr());
    stack.class() >= child.class.get() && used <= stack.class().bytes() / 16
}

/// Whether the caller could wait at all: a task must not.
pub fn may_wait() -> bool {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    unsafe { current_header().as_ref() }.is_none_or(|running| running.kind != Kind::Worker)
}

/// Lets others run: the caller goes to the end of its worker's batch. On an OS thread: `std::thread::yield_now`.
///
/// Returns at once if nothing else can run here, and in a process that is unwinding.
///
/// # Panics
/// Inside a task, whose way to yield is [`crate::task::yield_now`].
///
/// ```
/// raddle::csp::spawn(|| raddle::csp::yield_now()).join().unwrap();
/// ```
#[inline]
#[track_caller]
pub fn yield_now() {
    match caller("csp::yield_now") {
        Caller::Process(block) => {
            region::check_process(block);
            yield_process(block);
        }
        Caller::Thread => {
            region::check();
            yield_thread();
        }
    }
}

/// As [`yield_now`], and no cancellation ends it. A job that holds its OS thread begins nothing: the caller may have a
/// place in a queue, and what was begun one behind it.
#[track_caller]
pub fn let_others_run() {
    match caller("csp::yield_now") {
        Caller::Process(block) => yield_process(block),
        Caller::Thread => raddle_syscall::yield_processor(),
    }
}

/// As [`let_others_run`], for a caller that has just seen that [others wait](processes_wait_here); compiled into it.
///
/// PERF: two that let each other run in turn, each in code of its own: the returns from a place of all into each of
/// them are mispredicted, see [`Here::leave_here`]; bench `retry`, form `turn`.
#[inline(always)]
#[track_caller]
pub fn let_ready_run() {
    let Some(block) = plain_caller() else { return let_others_run() };
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    if worker.watched() & SEEDED != 0 || !block.header.forks.get().is_null() {
        return yield_process(block);
    }
    // SAFETY: `block` is what runs here, and waits plainly; it has forked nothing.
    unsafe { worker.yield_here(block) };
}

/// As [`let_others_run`], for a job of a pool's, which has others begin.
#[track_caller]
pub fn let_jobs_run() {
    match caller("yield_now") {
        Caller::Process(block) => yield_process(block),
        Caller::Thread => yield_thread(),
    }
}

/// The caller, if it is a job that holds its OS thread.
#[inline(always)]
pub(super) fn holder() -> Option<&'static Block> {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() }?;
    // SAFETY: only processes hold one, so it is a block.
    running.holds_thread().then(|| unsafe { Block::of_header(header) })
}

#[cold]
fn yield_thread() {
    match holder().filter(|_| !std::thread::panicking()) {
        Some(block) => {
            // SAFETY: `block` is what runs here, and gives the proof away.
            let worker = unsafe { Here::of(&block.header) };
            // SAFETY: as above, and it holds its OS thread.
            unsafe { worker.yield_nested(block) }
        }
        None => raddle_syscall::yield_processor(),
    }
}

#[inline(always)]
#[track_caller]
fn yield_process(block: &'static Block) {
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    if worker.watched() & SEEDED != 0 {
        choice::yields();
    }
    // SAFETY: `block` is what runs here.
    unsafe { worker.yield_process(block) };
}

/// Waits until somebody calls `Process::unpark` for the caller, or takes the token of an
/// earlier call. May return for no reason, as `std::thread::park`. On an OS thread of the program it is that.
///
/// # Panics
/// Inside a task.
///
/// ```
/// use raddle::csp;
/// let sleeper = csp::spawn(|| csp::park());
/// sleeper.process().unpark();
/// sleeper.join().unwrap();
/// ```
#[inline]
#[track_caller]
pub fn park() {
    let site = Location::caller();
    let Some(block) = plain_caller() else { return park_otherwise(site) };
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    if worker.watched() & (SEEDED | RECORDED) != 0 {
        return park_otherwise(site);
    }
    if block.token.take() {
        return count();
    }
    let wait = Parked::at(site);
    let _shown = wait.show_alone(block);
    // SAFETY: `block` is what runs here, and `park_saved` gets its address.
    unsafe { worker.leave_after(block, park_saved, std::ptr::from_ref(block).cast_mut().cast()) };
    block.token.consume();
}

/// As [`park`], for whoever does not wait plainly, or is watched.
#[inline(never)]
#[track_caller]
fn park_otherwise(site: &'static Location<'static>) {
    counted_point_at("park", site);
    let Caller::Process(block) = caller("csp::park") else { return park_thread(None) };
    if block.token.take() {
        return;
    }
    let wait = Wait::on(const { &PARK }, block, site);
    let _shown = wait.show_at(block);
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    worker.note_stop(PARK.call(), 0);
    // SAFETY: the caller stays in its region until this returns.
    if let Some(node) = unsafe { region::current() } {
        // SAFETY: as above.
        return unsafe { park_in_region(node, worker, block, None) };
    }
    // SAFETY: as above, and `park_saved` gets its address.
    unsafe { worker.leave_after(block, park_saved, std::ptr::from_ref(block).cast_mut().cast()) };
    block.token.consume();
}

/// Parks the caller, whom a cancellation wakes, too.
///
/// # Safety
/// `block` is what runs here, on `worker`.
#[cold]
unsafe fn park_in_region(node: &Node, worker: Here<'static>, block: &'static Block, alarm: Option<AlarmId>) {
    let keeper = worker.public();
    if node.listen(Ring::Park(block, block.token.generation())) {
        // The region may be left, and the node go, as soon as somebody wakes the caller.
        let node = region::hold();
        let mut timed = Timed { block, alarm, node };
        // SAFETY: `park_timed` gets the address of `timed`, which lives until this has been resumed.
        unsafe { worker.leave_after(block, park_timed, (&raw mut timed).cast()) };
        std::mem::forget(timed);
        block.token.consume();
    }
    if let Some(alarm) = alarm {
        // As in `park_timeout`.
        keeper.timers().cancel(alarm);
    }
    node.unlisten();
    region::check();
}

/// As [`park`], and a token that is there already means a yield: others run, even if the caller wakes itself each time.
#[track_caller]
pub(crate) fn park_or_yield() {
    match caller("csp::park") {
        Caller::Process(block) if block.token.take() => {
            yield_process(block);
        }
        _ => park(),
    }
}

/// Runs on the next context: the parked one's is saved.
///
/// # Safety
/// `block` points to the block that has just left its stack.
unsafe fn park_saved(block: *mut ()) {
    // SAFETY: blocks are never freed.
    let block = unsafe { &*block.cast::<Block>() };
    // Before anybody can resume it elsewhere.
    // SAFETY: it left its stack on this very worker, and nobody else holds it yet.
    let worker = unsafe { Here::of(&block.header) };
    if !block.token.park() {
        // SAFETY: the token came first, so nobody else will queue it.
        worker.push_local(unsafe { block.as_runnable() });
    }
}

/// As [`park`], and returns at the latest after `timeout`.
///
/// # Panics
/// Inside a task.
#[track_caller]
pub fn park_timeout(timeout: Duration) {
    counted_point("park_timeout");
    let Caller::Process(block) = caller("csp::park_timeout") else { return park_thread(Some(timeout)) };
    if block.token.take() {
        return;
    }
    let wait = Wait::on(const { &PARK_TIMEOUT }, block, Location::caller());
    let _shown = wait.show_at(block);
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    let alarm = Alarm::Expire(block, block.token.generation());
    let alarm = worker.timers().set(worker.deadline(timeout), alarm);
    worker.note_stop(PARK_TIMEOUT.call(), 0);
    // SAFETY: the caller stays in its region until this returns.
    if let Some(node) = unsafe { region::current() } {
        // SAFETY: as above.
        return unsafe { park_in_region(node, worker, block, Some(alarm)) };
    }
    let keeper = worker.public();
    let mut timed = Timed { block, alarm: Some(alarm), node: None };
    // SAFETY: `park_timed` gets the address of `timed`, which lives until this has been resumed.
    unsafe { worker.leave_after(block, park_timed, (&raw mut timed).cast()) };
    block.token.consume();
    // That worker may be another than the one that we run on now: it lives, and its alarms have a lock.
    keeper.timers().cancel(alarm);
}

/// What ends a park, beside an unpark.
struct Timed {
    block: &'static Block,
    alarm: Option<AlarmId>,
    node: Option<Arc<Node>>,
}

/// Runs on the next context. An alarm that has rung before its sleeper was parked has found nobody to wake, so that
/// the one who parks looks whether it is still set: it rings after this look, and finds the sleeper, or we ring it.
/// A cancellation likewise.
///
/// A thread may be woken and run on another worker from the moment in which it is parked: its frame is read before.
///
/// # Safety
/// `timed` points to what `park_timeout` put on its stack.
unsafe fn park_timed(timed: *mut ()) {
    // SAFETY: the caller vouches for it; nobody can have woken its owner yet.
    let Timed { block, alarm, node } = unsafe { timed.cast::<Timed>().read() };
    // SAFETY: the process left its stack on this worker, and nobody else holds it yet.
    let worker = unsafe { Here::of(&block.header) };
    let life = block.token.generation();
    let woken = if block.token.park() {
        let has_rung = alarm.is_some_and(|alarm| !worker.timers().is_set(alarm))
            || node.is_some_and(|node| node.has_rung());
        has_rung && block.token.expire(life) == Notified::Wake
    } else {
        true
    };
    if woken {
        // SAFETY: the token, or the deadline, came first, so nobody else will queue it.
        worker.push_local(unsafe { block.as_runnable() });
    }
}

/// As [`park_thread`], for an OS thread of the program, whom a cancellation wakes, too.
#[cold]
fn park_thread_in_region(node: &Node, timeout: Option<Duration>) {
    if node.listen(Ring::Thread(std::thread::current())) {
        timeout.map_or_else(std::thread::park, std::thread::park_timeout);
        node.unlisten();
    }
    region::check();
}

/// An OS thread parks by its own means; a process that keeps its OS thread sleeps at its own token.
fn park_thread(timeout: Option<Duration>) {
    let header = current_header();
    if header.is_null()
        // SAFETY: the caller stays in its region until this returns.
        && let Some(node) = unsafe { region::current() }
    {
        return park_thread_in_region(node, timeout);
    }
    // SAFETY: the word is null or the header of what runs here, which is alive.
    match (unsafe { header.as_ref() }.map(|running| running.kind), timeout) {
        // SAFETY: the kind says that it is a block.
        (Some(Kind::Process), _) => block_thread(unsafe { Block::of_header(header) }, timeout),
        // A task that unwinds: nobody has a handle to unpark it, and a park may return for no reason.
        (Some(_), None) => (),
        (_, Some(timeout)) => while_waiting(|| std::thread::park_timeout(timeout)),
        (None, None) => while_waiting(std::thread::park),
    }
}

/// Parks an OS thread by its own means, whoever runs on it; one of the program's a cancellation wakes, too.
pub(crate) fn park_os_thread() {
    if current_header().is_null()
        // SAFETY: the caller stays in its region until this returns.
        && let Some(node) = unsafe { region::current() }
    {
        return park_thread_in_region(node, None);
    }
    while_waiting(std::thread::park);
}

fn block_thread(block: &Block, timeout: Option<Duration>) {
    choice::abandons();
    let until = timeout.and_then(|t| Instant::now().checked_add(t));
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if block.token.block(left) || left.is_some_and(|left| left.is_zero()) {
            return;
        }
    }
}

/// Waits for at least `duration`; its worker runs others meanwhile. On an OS thread: `std::thread::sleep`.
///
/// # Panics
/// Inside a task.
///
/// ```
/// use std::time::Duration;
/// raddle::csp::spawn(|| raddle::csp::sleep(Duration::from_millis(1))).join().unwrap();
/// ```
#[track_caller]
pub fn sleep(duration: Duration) {
    point("sleep");
    let caller = caller("csp::sleep");
    if region::is_in_one() {
        return sleep_in_region(caller, duration, Location::caller());
    }
    let Caller::Process(block) = caller else { return raddle_syscall::sleep(duration) };
    let wait = Wait::on(const { &SLEEP }, block, Location::caller());
    let _shown = wait.show_at(block);
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    let mut alarm = (block, worker.deadline(duration));
    worker.note_stop(SLEEP.call(), 0);
    // SAFETY: `set_alarm` gets the address of `alarm`, which lives until this has been resumed.
    unsafe { worker.leave_after(block, set_alarm, (&raw mut alarm).cast()) };
}

/// As [`sleep`], and a cancellation ends it.
#[cold]
fn sleep_in_region(caller: Caller, duration: Duration, site: &'static Location<'static>) {
    let wait = match &caller {
        Caller::Process(block) => Some(Wait::on(const { &SLEEP }, *block, site)),
        Caller::Thread => None,
    };
    let _shown = wait.as_ref().map(Wait::show);
    let deadline = choice::now().checked_add(duration);
    Waiter::new(SLEEP.call()).wait(deadline);
    region::check();
}

/// Runs on the next context: sets the alarm whose ringing is the only thing that queues the sleeper.
///
/// # Safety
/// `alarm` points to what `sleep` put on its stack.
unsafe fn set_alarm(alarm: *mut ()) {
    // SAFETY: the sleeper does not run before the alarm rings, so its frame is there.
    let (block, at) = unsafe { alarm.cast::<(&'static Block, u64)>().read() };
    // SAFETY: the sleeper left its stack on this worker.
    let worker = unsafe { Here::of(&block.header) };
    // SAFETY: the sleeper is held by nobody; the right to queue it goes to the alarm.
    worker.timers().set(at, Alarm::Wake(unsafe { block.as_runnable() }));
}

/// Waits until `deadline` has passed. On an OS thread it sleeps for what is left.
///
/// # Panics
/// Inside a task.
#[track_caller]
pub fn sleep_until(deadline: Instant) {
    let left = deadline.saturating_duration_since(choice::now());
    if left.is_zero() {
        counted_point("sleep_until");
    } else {
        sleep(left);
    }
}

const PARK_TIMEOUT: CallOn<Block> = CallOn::with_deadline("park_timeout", WaitReason::Park);
const SLEEP: CallOn<Block> = CallOn::with_deadline("sleep", WaitReason::Sleep);

/// Whether the caller is a process and another is ready on its worker.
#[inline(always)]
pub fn processes_wait_here() -> bool {
    match plain_caller() {
        // SAFETY: `block` is what runs here; the proof is gone at once.
        Some(block) => !unsafe { Here::of(&block.header) }.is_alone(),
        None => processes_wait_here_otherwise(),
    }
}

/// As [`processes_wait_here`], for whoever does not wait plainly.
#[inline(never)]
fn processes_wait_here_otherwise() -> bool {
    match caller("yield") {
        // SAFETY: `block` is what runs here; the proof is gone at once.
        Caller::Process(block) => !unsafe { Here::of(&block.header) }.is_alone(),
        Caller::Thread => false,
    }
}

/// Whether something else could run where the caller runs: another process of its worker, or any OS thread.
pub fn others_wait_here() -> bool {
    match caller("yield") {
        // SAFETY: `block` is what runs here; the proof is gone at once.
        Caller::Process(block) => unsafe { Here::of(&block.header) }.has_others(),
        Caller::Thread => true,
    }
}

/// As [`wait_registered`]; and `enter` runs on the caller's own stack if it is a process, so that it need not leave if
/// `enter` returns false. See [`Here::leave_here`].
#[inline]
#[track_caller]
pub fn wait_entered<R: FnOnce(*mut Header) -> bool>(call: &'static WaitCall, enter: R) {
    match caller(call.name()) {
        Caller::Process(block) if !block.header.is(FOREIGN) => {
            if enter(block.as_header()) {
                // SAFETY: `block` is what runs here, and leaves its stack by this only.
                let worker = unsafe { Here::of(&block.header) };
                worker.note_stop(call, 0);
                // SAFETY: whoever `enter` has shown it to wakes it.
                unsafe { worker.leave_here(block) };
            }
        }
        _ => wait_registered(call, enter),
    }
}

/// As [`wait_entered`], for a wait that has not been shown, and compiled into the caller if that is a process.
#[inline(always)]
#[track_caller]
pub fn wait_shown<R: FnOnce(*mut Header) -> bool>(wait: &Wait<'_>, enter: R) {
    let Some(block) = plain_caller() else { return wait_shown_otherwise(wait, enter) };
    if enter(block.as_header()) {
        let _shown = wait.show_alone(block);
        // SAFETY: `block` is what runs here, and leaves its stack by this only.
        let worker = unsafe { Here::of(&block.header) };
        worker.note_stop(wait.call(), 0);
        // SAFETY: whoever `enter` has shown it to wakes it.
        unsafe { worker.leave_here(block) };
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn wait_shown_otherwise<R: FnOnce(*mut Header) -> bool>(wait: &Wait<'_>, enter: R) {
    let _shown = wait.show();
    wait_registered(wait.call(), enter);
}

/// Waits until whoever got the caller's header by `register` wakes it. `register` runs when the caller's context is
/// saved; if it returns false nobody will wake the caller, and it goes on at once.
///
/// As soon as `register` has let anybody know of the header, the caller may run on, on another worker: from then on
/// `register` touches nothing that lies in the caller's frame.
#[track_caller]
pub fn wait_registered<R: FnOnce(*mut Header) -> bool>(call: &'static WaitCall, register: R) {
    wait_registered_on(call, 0, register);
}

/// As [`wait_registered`]; traces say that it waits on the object at that address.
#[track_caller]
pub fn wait_registered_on<R: FnOnce(*mut Header) -> bool>(
    call: &'static WaitCall,
    object: usize,
    register: R,
) {
    struct Registration<R>(&'static Block, Option<R>);
    /// # Safety
    /// `data` points to the `Registration` on the stack of the one who waits.
    unsafe fn saved<R: FnOnce(*mut Header) -> bool>(data: *mut ()) {
        // SAFETY: the frame is there until its owner is queued, which only the next lines bring about.
        let waiting = unsafe { &mut *data.cast::<Registration<R>>() };
        let block = waiting.0;
        let register = waiting.1.take().expect("it is run once");
        if !register(block.as_header()) {
            // SAFETY: it left its stack on this worker, and nobody has been told of it.
            let worker = unsafe { Here::of(&block.header) };
            // SAFETY: nobody else will queue it.
            worker.push_local(unsafe { block.as_runnable() });
        }
    }
    match caller(call.name()) {
        Caller::Process(block) => {
            let mut waiting = Registration(block, Some(register));
            // SAFETY: `block` is what runs here, and leaves its stack by this only.
            let worker = unsafe { Here::of(&block.header) };
            worker.note_stop(call, object);
            // SAFETY: as above; `waiting` lives until it has been resumed.
            unsafe { worker.leave_after(block, saved::<R>, (&raw mut waiting).cast()) };
        }
        Caller::Thread => wait_as_thread(call, object, register),
    }
}

/// Blocks the OS thread; a job that holds it and waits for another one lets its worker go on.
#[cold]
fn wait_as_thread<R: FnOnce(*mut Header) -> bool>(call: &'static WaitCall, object: usize, register: R) {
    let is_for_job = matches!(call.reason(), WaitReason::Join | WaitReason::Fork);
    match holder().filter(|_| is_for_job) {
        Some(block) => {
            // SAFETY: `block` is what runs here, and gives the proof away.
            let worker = unsafe { Here::of(&block.header) };
            // SAFETY: as above, and it holds its OS thread.
            unsafe { worker.wait_nested(block, (call, object), register) }
        }
        None => {
            if let Some(block) = holder() {
                // What it has forked may be what it waits for; nobody here will come to it.
                // SAFETY: `block` is what runs here; the proof is gone at once.
                unsafe { Here::of(&block.header) }.let_go(&block.header);
            }
            external::wait(register);
        }
    }
}

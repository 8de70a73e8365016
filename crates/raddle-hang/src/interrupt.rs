//! Owns: ticks at any instruction: who has a worker for longer than a tick while others wait is taken off it.
//! May use: `runtimes`, `signals`, `stand`, `stop`, `libc`, `raddle-context`, `raddle-core`,
//! `raddle-syscall`.
//! Never: a signal to a worker for which nobody waits, or in a program whose adaptor has not asked for it.
//!
//! `raddle_core::door::tick` says when, and where. The watcher looks at all workers once a tick. One that has
//! dispatched nothing since the last look, and has used a processor, though somebody waits for it, gets the signal. Its
//! handler runs on the stack of the thread that it interrupts, which leaves its worker there as by a yield, and comes
//! back to the handler when it is its turn again, on that worker or another one. Where it may not leave, the next look
//! asks again: a program is in its own code most of the time.
//!
//! Threads that spin for each other (the lot of a server with spinning helpers, and fewer workers than these) go on at
//! ticks only. So slices become shorter while somebody has to be taken off, down to [`SHORT`], and longer again when
//! nobody waits for a worker. A tick costs 5 us.

use crate::runtimes::{Watched, runtimes};
use crate::signals;
use crate::stand::os_thread_of;
use crate::stop;
use raddle_context::walk::Interrupted;
use raddle_core::door::tick::{self, Interruption};
use raddle_core::os_thread;
use raddle_core::runtime::Shared;
use raddle_core::worker::Worker;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How short slices become while somebody has to be taken off his worker.
const SHORT: Duration = Duration::from_millis(1);

/// What was seen of a worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SliceState {
    /// Nobody waits for it.
    Free,
    /// Somebody does.
    Wanted,
    /// And what runs there has run since the last look.
    Over,
}

/// How long slices may last from here on, of at most a tick.
fn next_slice(slice: Duration, tick: Duration, seen: SliceState) -> Duration {
    match seen {
        SliceState::Free => (slice * 2).min(tick),
        SliceState::Wanted => slice,
        SliceState::Over => (slice / 2).max(SHORT.min(tick)),
    }
}

/// Who has used less of a processor than this since it was looked at first has not run: it has handled a tick.
const RUNS: Duration = Duration::from_micros(200);

/// What a worker was at when somebody waited for it.
struct Busy {
    os_thread: i32,
    progress: [u64; 3],
    processor: Option<Duration>,
}

/// The workers for which somebody waited at the last look, by address.
#[derive(Default)]
pub(crate) struct Ticks {
    seen: HashMap<usize, Busy>,
    looked: Option<Instant>,
}

impl Ticks {
    /// How often is to be looked, at least; none if nobody is taken off.
    pub(crate) fn period() -> Option<Duration> {
        Interruption::tick()?;
        runtimes().iter().map(|watched| watched.shared().slice()).min()
    }

    /// Looks at all workers, if it is time.
    pub(crate) fn look(&mut self) {
        let Some(signal) = Interruption::tick() else { return };
        let list = runtimes();
        let Some(slice) = list.iter().map(|watched| watched.shared().slice()).min() else { return };
        if self.looked.is_some_and(|looked| looked.elapsed() < slice) {
            return;
        }
        self.looked = Some(Instant::now());
        for shared in list.iter().map(Watched::shared) {
            let seen = shared.everybody().map(|worker| {
                let seen = self.see(shared, worker, slice);
                if seen == SliceState::Over {
                    send(worker, signal);
                }
                seen
            });
            let seen = seen.max().unwrap_or(SliceState::Free);
            shared.set_slice(next_slice(shared.slice(), shared.tick(), seen));
        }
    }

    fn see(&mut self, shared: &Shared, worker: &Worker, slice: Duration) -> SliceState {
        let key = std::ptr::from_ref(worker).addr();
        let is_wanted = || {
            worker.waiting_for_others().0 > 0
                || worker.waiting_in_batch() > 0
                || worker.has_alarm_due()
                || shared.has_shared(worker.index)
                || shared.asks_no_poller(slice)
        };
        if worker.follows_seed() || shared.worker_sleeps(worker.index) || !is_wanted() {
            self.seen.remove(&key);
            return SliceState::Free;
        }
        let progress = worker.progress();
        let same = self.seen.get(&key).filter(|seen| seen.progress == progress);
        let os_thread = same.map_or_else(|| os_thread_of(key), |seen| seen.os_thread);
        let processor = (os_thread != 0).then(|| raddle_syscall::processor_time(os_thread)).flatten();
        let before = same.and_then(|seen| seen.processor);
        // The handler of a tick takes some, too: who waits in the kernel would be sent another for that, for ever.
        let least = before.map(|before| before + RUNS);
        let runs = processor.is_some() && least.is_some_and(|least| processor >= Some(least));
        // What was less counts with what comes.
        let counted = if runs { processor } else { before.or(processor) };
        self.seen.insert(key, Busy { os_thread, progress, processor: counted });
        if runs { SliceState::Over } else { SliceState::Wanted }
    }
}

/// Has the workers that run something look whether something has [arrived](Interruption::arrives) for that. It may be
/// at a place where nothing arrives: who has sent something asks again.
pub fn nudge() {
    let Some(signal) = Interruption::tick() else { return };
    for watched in runtimes().iter() {
        let shared = watched.shared();
        let runs = |worker: &&Worker| !worker.follows_seed() && !shared.worker_sleeps(worker.index);
        shared.everybody().filter(runs).for_each(|worker| send(worker, signal));
    }
}

fn send(worker: &Worker, signal: libc::c_int) {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if !*INSTALLED.get_or_init(|| signals::install_to_leave(signal, on_tick)) {
        return;
    }
    let os_thread = os_thread_of(std::ptr::from_ref(worker).addr());
    let records = os_thread::records();
    if let Some(record) = records.iter().find(|record| os_thread != 0 && record.tid() == os_thread)
        && record.begin_tick()
        && !Interruption::send(|| stop::queue(record, signal))
    {
        // The next look asks again.
        record.end_tick();
    }
}

/// On the worker: the thread that runs there leaves it, if it may.
extern "C-unwind" fn on_tick(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's, for this call.
    let Some(record) = (unsafe { stop::sent_with(info) }) else { return };
    record.end_tick();
    // SAFETY: the kernel has given it to this handler.
    let interrupted = unsafe { Interrupted::of(context) };
    // In another handler its mask is that one's, and would be this worker's.
    // On the alternate stack it is one of a fault, and that stack is the worker's.
    // SAFETY: the kernel's, for this call.
    let alternate = unsafe { stack_of(context) };
    // SAFETY: as above.
    let alternate = unsafe { alternate.read() };
    let here = (&raw const alternate).addr();
    let is_on_alternate = here.wrapping_sub(alternate.ss_sp.addr()) < alternate.ss_size;
    let is_in_handler = is_on_alternate || interrupted.blocked != record.blocked_at_begin();
    let Some(said) = Interruption::get() else { return };
    let may_leave = (said.may_leave)(interrupted.address);
    if is_in_handler || !may_leave || record.tid() != raddle_syscall::thread_number() {
        return;
    }
    // SAFETY: the location is of the storage of the thread, wherever it runs.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    let has_left = tick::yield_if_interrupted();
    if (said.arrives)(context) || has_left {
        // SAFETY: as the kernel's.
        unsafe { has_moved(context) };
    }
    // SAFETY: as above.
    unsafe { errno.write(before) };
}

/// What a context says of the alternate stack.
///
/// # Safety
/// `context` is what the kernel has given to the handler that calls.
unsafe fn stack_of(context: *mut c_void) -> *mut libc::stack_t {
    // SAFETY: the caller's.
    unsafe { &raw mut (*context.cast::<libc::ucontext_t>()).uc_stack }
}

/// The handler returns perhaps on another OS thread, to which the kernel would give the first one's alternate stack.
///
/// # Safety
/// `context` is what the kernel has given to the handler that calls.
unsafe fn has_moved(context: *mut c_void) {
    // SAFETY: the caller's.
    let stack = unsafe { stack_of(context) };
    // SAFETY: the kernel writes there which one it is, and sets none.
    let _same = unsafe { raddle_syscall::call(libc::SYS_sigaltstack, [0, stack.expose_provenance()]) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_to_be_taken_off_again_and_again_has_shorter_slices() {
        let ms = Duration::from_millis;
        let slices = |from, tick, seen: &[SliceState]| {
            seen.iter().fold(from, |slice, &seen| next_slice(slice, tick, seen))
        };
        let pressed = [
            SliceState::Over,
            SliceState::Wanted,
            SliceState::Over,
            SliceState::Wanted,
            SliceState::Over,
            SliceState::Wanted,
            SliceState::Over,
        ];
        assert_eq!(slices(ms(10), ms(10), &pressed), SHORT);
        assert_eq!(slices(SHORT, ms(10), &[SliceState::Free; 3]), ms(8));
        assert_eq!(slices(SHORT, ms(10), &[SliceState::Free; 5]), ms(10));
        let short = Duration::from_micros(300);
        assert_eq!(slices(short, short, &pressed), short);
    }
}

//! Owns: `Crowd`, by which a queue lock keeps its queue short when many want it.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: the lock's queue; what stands here is a hint, and the lock is right without it.
//!
//! With hundreds of processes in the queue of an MCS or CLH lock, each hand-over goes to one that sleeps, as often as
//! not on another worker: to wake it moves four cache lines between the cores, and its stack has left the nearest
//! caches (PERF: bench `queue_lock`, 1000 processes on 2 workers: 3.8 and 3.1 times what 2 processes take). None of
//! that is needed for the order: of the processes of one worker only one can run. So when somebody has found itself far
//! back in the queue and its worker with other things to do, the lock is *crowded*, and from then on the processes of
//! each worker come in through a gate of that worker's, one at a time, in the order in which they came to it. They wait
//! there without an atomic, and are woken by the one before them on their own worker. The queue has as many members
//! then as there are workers, each awake.
//!
//! That is the admission of D. Dice and A. Kogan, *Avoiding scalability collapse by restricting concurrency*, Euro-Par
//! 2019, with the worker for the processor. The lock is first come, first served within a worker, and in turn between
//! the workers; before it is crowded, it is so for all.
//!
//! | number | meaning | who leaves it |
//! |---|---|---|
//! | 0 | not crowded | who waits far back, to a number that was never used |
//! | n | crowded: the gates of this number | who leaves a gate at which nobody waits |
//!
//! *Nobody waits in vain.* Who waits at a gate waits for one of its own worker that is inside and has the lock, or
//! waits for it in the queue. It leaves when it has released, and lets in the next. Whoever forgets a guard never does:
//! but then the lock is never free again. Numbers are not used twice, so what is left of such a gate does not matter to
//! the lock that comes to lie at the same address. *Who has no worker to itself* goes past the gates: OS threads,
//! threads that may move, a process that unwinds.

use raddle_core::wait::WaitCall;
use raddle_core::wait::park::{Caller, caller, wait_entered};
use raddle_core::worker::Here;
use raddle_protocol::header::{MOVABLE, OWN_TLS};
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Whether a lock is crowded.
#[derive(Debug)]
pub(crate) struct Crowd(AtomicU64);

/// The gate through which one has come to the lock, and has to leave. None for most.
#[derive(Clone, Copy, Debug)]
#[must_use = "who has come through a gate leaves it"]
pub(crate) struct Through(u64);

impl Through {
    pub(crate) const NO_GATE: Through = Through(0);
}

impl Crowd {
    pub(crate) const fn new() -> Crowd {
        Crowd(AtomicU64::new(0))
    }

    /// Somebody waits far back, and others of its worker might.
    #[cold]
    pub(crate) fn note(&self) {
        if self.0.load(Ordering::Relaxed) == 0 {
            self.0.store(NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Whether newcomers go through the gates.
    #[inline(always)]
    pub(crate) fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Goes through this worker's gate if there is one: waits until nobody else of the worker is on its way to the
    /// lock. The caller has not entered the lock's queue yet.
    pub(crate) fn come(&self, call: &'static WaitCall) -> Through {
        match self.0.load(Ordering::Relaxed) {
            0 => Through::NO_GATE,
            number => come_through(number, call),
        }
    }

    /// The caller has released the lock.
    #[inline(always)]
    pub(crate) fn leave(&self, through: Through) {
        if through.0 != 0 {
            self.leave_gate(through.0);
        }
    }

    #[inline(never)]
    fn leave_gate(&self, number: u64) {
        // In a forked child, who came through a gate is a process no more, and nobody of its worker is there.
        // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
        let Some(worker) = (unsafe { Here::current() }) else { return };
        match worker.gates().leave(number) {
            // SAFETY: it waited at this worker's gate, and has just been taken out.
            Some(next) => unsafe { worker.wake(next.as_ptr()) },
            None if self.0.load(Ordering::Relaxed) == number => self.0.store(0, Ordering::Relaxed),
            None => {}
        }
    }
}

fn come_through(number: u64, call: &'static WaitCall) -> Through {
    let Caller::Process(block) = caller(call.name()) else { return Through::NO_GATE };
    if block.header.is(MOVABLE | OWN_TLS) {
        return Through::NO_GATE;
    }
    // SAFETY: `block` is what runs here, and is bound to this worker.
    let worker = unsafe { Here::of(&block.header) };
    if !worker.gates().try_enter(number) {
        wait_entered(call, |_| {
            // SAFETY: it runs, so the right to queue it is its own. Nobody else of this worker runs before it has left.
            worker.gates().wait(number, unsafe { block.as_runnable() });
            true
        });
    }
    Through(number)
}

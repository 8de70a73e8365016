//! Owns: how the scheduler comes to know the watcher: by a function that runs before `main` wherever this is linked.
//! May use: `call`, `quit`, `runtimes`, `watch`, `raddle-core`.
//! Never: anything started before a runtime begins.

use crate::runtimes::{self, Runtimes};
use crate::{call, watch};
use raddle_core::door::tick::Interruption;
use raddle_core::observe::{HangPlan, OnDeadlock};
use raddle_core::runtime::Shared;
use raddle_core::worker::Worker;
use raddle_core::worker::watching::{BlockingCall, HeldOverFork, WATCHER, Watcher};
use std::sync::Arc;

struct Hangs;

impl Watcher for Hangs {
    fn runtime_begins(&self, runtime: &Arc<Shared>, plan: HangPlan) {
        let catches_quit = plan.on_quit;
        let wants_watcher = catches_quit || plan.deadlock != OnDeadlock::Off || plan.slow_slice.is_some();
        let wants_watcher = wants_watcher || plan.livelock.is_some() || Interruption::tick().is_some();
        if catches_quit {
            crate::quit::catch();
        }
        runtimes::add(runtime, plan);
        if wants_watcher {
            watch::start();
        }
    }

    fn runtime_ends(&self, runtime: &Shared) {
        runtimes::remove(runtime);
    }

    fn sleeps_in(&self, worker: &Worker) -> Option<BlockingCall> {
        call::of_worker(worker)
    }

    fn words_of(&self, call: &BlockingCall) -> Option<String> {
        call::words_of(call)
    }

    fn hold_over_fork(&self) -> Box<dyn HeldOverFork> {
        Box::new(RuntimesAtFork(runtimes::runtimes()))
    }
}

/// The list of runtimes, over a fork.
struct RuntimesAtFork(Runtimes);

impl HeldOverFork for RuntimesAtFork {
    fn in_child(&mut self) {
        self.0.clear();
    }
}

/// The loader calls this before `main`.
extern "C" fn attach() {
    WATCHER.attach(&Hangs);
}

// The number has the linker put it before those that bear none: a program may start a runtime in one of these.
// SAFETY: the section is a list of functions, which the loader calls once each.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static ATTACH: extern "C" fn() = attach;

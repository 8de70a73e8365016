//! Owns: the beginning of an extra worker's OS thread, when whoever watches calls for one.
//! May use: `os_thread`, `worker`.
//! Never: more than the runtime may have.

use super::Shared;
use super::builder::run_worker;
use crate::os_thread;
use crate::worker::Worker;
use std::sync::{Arc, OnceLock};
use std::thread;

/// What makes extra workers when a runtime begins, if workers may stand in an allocator's lock, for which an OS thread
/// more would have to wait, too. By its address: a program that never asks for it does not have its code.
static MAKES_AHEAD: OnceLock<fn(&Shared)> = OnceLock::new();

pub(crate) fn let_malloc_wait() {
    let _first = MAKES_AHEAD.set(|shared| {
        const AHEAD: usize = 2;
        // One that the system refuses is missed when it is needed, if at all.
        let _made = (0..AHEAD).all(|_| shared.add_extra(begin));
    });
}

pub(crate) fn malloc_may_wait() -> bool {
    MAKES_AHEAD.get().is_some()
}

/// The workers run: what is to be ready before one of them stands.
pub(super) fn make_ahead(shared: &Shared) {
    if let Some(make) = MAKES_AHEAD.get() {
        make(shared);
    }
}

/// Some workers of the runtime, of which the caller knows that it lives, stand in calls that the scheduler does not
/// know: an extra worker takes what waits behind them. With none that stands, it stops doing so. If the work
/// `is_starved` though there are extra workers, one more begins.
///
/// False if there is none that could help: the runtime may have none, or all are at something, or the system refuses
/// another OS thread.
pub fn help(shared: &Shared, stands: impl Fn(&Worker) -> bool, is_starved: bool) -> bool {
    shared.call_extra(stands) || !is_starved || shared.add_extra(begin)
}

fn begin(shared: Arc<Shared>, index: usize) -> Option<thread::JoinHandle<()>> {
    let body = move || {
        shared.block_signals_as_workers();
        run_worker(&shared, index, None);
    };
    os_thread::begin(format!("raddle-extra-{index}"), Box::new(body)).ok()
}

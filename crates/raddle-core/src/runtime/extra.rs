//! Owns: the beginning of an extra worker's OS thread, when whoever watches calls for one.
//! May use: `worker`.
//! Never: more than the runtime may have.

use super::Shared;
use super::builder::run_worker;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Workers may stand in an allocator's lock, for which an OS thread more would have to wait, too.
static MALLOC_MAY_WAIT: AtomicBool = AtomicBool::new(false);

pub(crate) fn let_malloc_wait() {
    MALLOC_MAY_WAIT.store(true, Ordering::Relaxed);
}

pub(crate) fn malloc_may_wait() -> bool {
    MALLOC_MAY_WAIT.load(Ordering::Relaxed)
}

/// The workers run: what is to be ready before one of them stands.
pub(super) fn make_ahead(shared: &Shared) {
    const AHEAD: usize = 2;
    if malloc_may_wait() {
        // One that the system refuses is missed when it is needed, if at all.
        let _made = (0..AHEAD).all(|_| shared.add_extra(begin));
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
    thread::Builder::new().name(format!("raddle-extra-{index}")).spawn(body).ok()
}

//! Owns: the beginning of an extra worker's OS thread, when whoever watches calls for one.
//! May use: `worker`.
//! Never: more than the runtime may have.

use super::Shared;
use super::builder::run_worker;
use crate::worker::Worker;
use std::sync::Arc;
use std::thread;

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

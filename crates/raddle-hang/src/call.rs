//! Owns: in which call of the program a worker sleeps, for traces.
//! May use: `kernel`, `stand`, `stop`, `symbol`, `walks`, `raddle-core`.
//! Never: a worker interrupted that does not sleep in the kernel, or whose sleep no signal ends.
//!
//! The worker is stopped as for a report, since `/proc` tells only two of its registers, and the functions of `std`
//! keep frame pointers. A system call that is interrupted may fail with `EINTR`: so who asks does it seldom.

use crate::kernel::{self, Stay};
use crate::stand::os_thread_of;
use crate::stop;
use crate::symbol;
use crate::walks::Walks;
use raddle_core::os_thread;
use raddle_core::worker::Worker;
use raddle_core::worker::watching::BlockingCall;
use std::sync::atomic::Ordering;

/// See [`Watcher::sleeps_in`](raddle_core::worker::watching::Watcher::sleeps_in).
pub(crate) fn of_worker(worker: &Worker) -> Option<BlockingCall> {
    let os_thread = os_thread_of(std::ptr::from_ref(worker).addr());
    if os_thread == 0 {
        return None;
    }
    let stay = Stay::of(os_thread)?;
    let number = stay.number;
    if kernel::state(os_thread)? != 'S' {
        return Some(BlockingCall { number, frames: Vec::new() });
    }
    // With room before it is stopped: meanwhile nobody allocates.
    let mut walks = Walks::with_room(1, 1);
    let mut span = 0..0;
    let records = os_thread::records();
    let record = records.iter().find(|record| record.tid() == os_thread)?;
    let look = || span = walks.of_worker(record, record.running.load(Ordering::Relaxed));
    let stood = stop::while_in_system_call(record, look);
    drop(records);
    // Where none can be stopped, it is still in that call.
    let is_there = stood || Stay::of(os_thread) == Some(stay);
    is_there.then(|| BlockingCall { number, frames: walks.get(&span).to_vec() })
}

/// See [`Watcher::words_of`](raddle_core::worker::watching::Watcher::words_of).
pub(crate) fn words_of(call: &BlockingCall) -> Option<String> {
    if symbol::are_within_ours(&call.frames) {
        return None;
    }
    let name = kernel::name_of_call(call.number);
    let function = symbol::of_program(symbol::functions(&call.frames)).into_iter().next();
    let function = function.map(|function| format!(" in {}", function.without_distance()));
    Some(name + &function.unwrap_or_default())
}

//! Owns: foreign calls that can be cancelled: those of `BX.` whose first parameter is a channel.
//! May use: nothing.
//! Never: a thread that may have been detached: an entry goes before its thread's handle does.
//!
//! The channel is never used as one: its address says which call is meant. A cancelled routine's thread gets a signal,
//! whose handler does nothing, so that what the routine waits for in the system ends with EINTR; and again each time
//! that the program asks whether it has ended, since the first may come before it waits.

use std::ffi::c_int;
use std::os::unix::thread::{JoinHandleExt as _, RawPthread};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
    fn siginterrupt(number: c_int, interrupts: c_int) -> c_int;
    fn pthread_kill(thread: RawPthread, number: c_int) -> c_int;
}

/// A signal that nobody else uses here: five below the last one of the real-time ones.
const CANCEL: c_int = 59;

extern "C" fn nothing(_: c_int) {}

/// A call on a thread of its own.
pub(crate) struct RunningCall {
    channel: usize,
    ticket: u32,
    ended: Arc<AtomicBool>,
    /// Dropped with the entry, and detached by that.
    thread: JoinHandle<()>,
    cancelled: bool,
}

static RUNNING: Mutex<Vec<RunningCall>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<RunningCall>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunningCall {
    fn interrupt(&self) {
        // SAFETY: the handle is here, so the thread is neither joined nor detached; a handler is installed.
        let _sent = unsafe { pthread_kill(self.thread.as_pthread_t(), CANCEL) };
    }

    fn has_ended(&self) -> bool {
        // Pairs with the store at the call's end.
        self.ended.load(Ordering::Acquire)
    }
}

/// From now on the call can be cancelled by its channel.
pub(crate) fn begun(channel: usize, ticket: u32, ended: Arc<AtomicBool>, thread: JoinHandle<()>) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the handler does nothing.
        unsafe { signal(CANCEL, nothing as *const () as usize) };
        // SAFETY: what waits in the system is to be interrupted by this signal, and not begun anew.
        unsafe { siginterrupt(CANCEL, 1) };
    });
    running().push(RunningCall { channel, ticket, ended, thread, cancelled: false });
}

/// Cancels the call that has the channel; false if none runs.
pub(crate) fn cancel(channel: usize) -> bool {
    let mut all = running();
    let Some(call) = all.iter_mut().find(|it| it.channel == channel && !it.has_ended()) else { return false };
    call.cancelled = true;
    call.interrupt();
    true
}

/// The program asks whether a call has ended: it is interrupted once more if it was cancelled, and forgotten if so.
pub(crate) fn asked(ticket: u32) {
    let mut all = running();
    let Some(at) = all.iter().position(|it| it.ticket == ticket) else { return };
    if all[at].has_ended() {
        all.swap_remove(at);
    } else if all[at].cancelled {
        all[at].interrupt();
    }
}

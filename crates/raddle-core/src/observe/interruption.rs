//! Owns: `Interruption`, by which an adaptor says where a thread may be taken off its worker, and by which signals.
//! May use: `raddle-syscall`.
//! Never: a signal sent, or handled: the watcher does that.
//!
//! A program that is to become another one must have no signal pending for which that one has no handler: it would be
//! its end. So whoever sends one says so ([`Interruption::send`]), and a program that is to become another one sees to
//! it that nobody does, and nobody will ([`Interruption::hold`]).

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What an adaptor says of signals, in a program of others: where a thread may be taken off its worker, and with which
/// signals, which the workers do not block, and nothing of the program's handles.
#[derive(Clone, Copy, Debug)]
pub struct Interruption {
    /// Takes a thread off its worker; none if nobody is to be.
    pub tick: Option<c_int>,
    /// Has a worker stand still for a moment, for a report.
    pub stop: c_int,
    /// By a handler: whether a thread that is interrupted at this address may leave its worker there.
    pub may_leave: fn(usize) -> bool,
    /// By a handler, where that is so, with the context that the kernel has given to it: does what has arrived for the
    /// thread that is interrupted, and may unwind it, or leave by a jump. True if it may have moved meanwhile.
    pub arrives: fn(*mut std::ffi::c_void) -> bool,
    /// Whether something may wait for a signal, or be woken by the handler of one: then a program that stands still
    /// may go on.
    pub waits_for_signals: fn() -> bool,
}

static INTERRUPTION: OnceLock<Interruption> = OnceLock::new();
/// Somebody sends a signal, or nobody may.
static SENDING: AtomicBool = AtomicBool::new(false);
/// Who sends needs a few microseconds, unless the kernel takes its core. A child that was forked in the midst of it
/// would wait for ever.
const WAITS_MAX: u32 = 200;
const WAIT: Duration = Duration::from_micros(100);

impl Interruption {
    /// Before the first runtime begins. The first one stays.
    pub fn install(self) {
        let _second = INTERRUPTION.set(self);
    }

    /// What has been said.
    pub fn get() -> Option<Interruption> {
        INTERRUPTION.get().copied()
    }

    /// The signal that takes a thread off its worker, if one does.
    pub fn tick() -> Option<c_int> {
        Interruption::get().and_then(|said| said.tick)
    }

    /// Sends a signal, unless nobody may, or somebody else sends one: then false.
    pub fn send(send: impl FnOnce() -> bool) -> bool {
        if !claim() {
            return false;
        }
        let sent = send();
        give();
        sent
    }

    /// From here on no signal is sent, until the holder is dropped. It waits for 20 ms at most for who does now.
    pub fn hold() -> Hold {
        let held = (0..WAITS_MAX).any(|times| {
            if times > 0 {
                raddle_syscall::sleep(WAIT);
            }
            claim()
        });
        Hold { held }
    }
}

/// While it is there, no signal is sent.
#[derive(Debug)]
pub struct Hold {
    held: bool,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.held {
            give();
        }
    }
}

fn claim() -> bool {
    // Acquire pairs with the release in `give`: what was sent before is sent.
    SENDING.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn give() {
    // Release pairs with the acquire in `claim`.
    SENDING.store(false, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sent_while_it_is_held() {
        let held = Interruption::hold();
        assert!(!Interruption::send(|| true));
        // Who cannot have it goes on in time, and gives nothing back that is another one's.
        drop(Interruption::hold());
        assert!(!Interruption::send(|| true));
        drop(held);
        assert!(Interruption::send(|| true) && !Interruption::send(|| false));
    }
}

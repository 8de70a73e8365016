//! Owns: ending what a thread waits in, for a handler or a cancellation.
//! May use: `thread::record`, `thread::wait`.
//! Never: a wait that is ended and does not know why.

use super::TELL;
use super::handled::note;
use super::sent::send;
use crate::thread::record::ThreadRecord;
use crate::thread::wait;
use std::ffi::c_int;
use std::ptr::without_provenance;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ends what it waits in. `breathe` lets it run, if the caller is a thread of ours.
pub(super) fn end_wait(record: &ThreadRecord, mut breathe: impl FnMut()) {
    loop {
        let address = record.waits_at.load(Ordering::SeqCst); // pairs with the stores there
        if address == 0 || wait::wake(without_provenance::<AtomicU32>(address), u32::MAX) > 0 {
            break;
        }
        breathe();
    }
    end_wait_for_descriptor(record);
}

/// Wakes it once, if it waits for something; true if it does. It may not sleep yet.
pub(crate) fn wake_up(record: &ThreadRecord) -> bool {
    let address = record.waits_at.load(Ordering::SeqCst); // pairs with the stores in `wait`
    if address != 0 {
        wait::wake(without_provenance::<AtomicU32>(address), u32::MAX);
    }
    let waits_for = record.waits_for.load(Ordering::SeqCst); // pairs with the stores in `watched`
    let is_away = end_wait_for_descriptor(record);
    address != 0 || waits_for != 0 || is_away
}

/// Has those who wait for a descriptor look whether their wait is over: said by `watched`, before the first wait.
pub(crate) static LOOK_AGAIN: OnceLock<fn(c_int)> = OnceLock::new();

/// As [`end_wait`], of a wait for a descriptor, or in a call of the kernel's.
/// Whether it was in such a call: perhaps not yet in the kernel, where the signal would have ended that.
pub(crate) fn end_wait_for_descriptor(record: &ThreadRecord) -> bool {
    let descriptor = record.waits_for.load(Ordering::SeqCst); // pairs with the stores in `watched`
    if descriptor != 0 {
        LOOK_AGAIN.get().into_iter().for_each(|look_again| look_again(descriptor - 1));
    }
    let away = record.away.load(Ordering::SeqCst); // pairs with the stores in `call_away`
    if away != 0 {
        // It may have come back.
        let _late = send(away, TELL);
    }
    away != 0
}

/// Ends what another thread waits in, by a thread of ours.
pub(crate) fn interrupt(record: &ThreadRecord) {
    note(record, false);
    let mut times = 0;
    end_wait(record, || wait::breathe(&mut times));
}

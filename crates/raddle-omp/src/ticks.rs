//! Owns: that a member may be taken off its worker by a signal, and by which one.
//! May use: `report`, `raddle-core`, `raddle-hang`.
//! Never: anybody taken off in a program whose allocator cannot be told from the program.
//!
//! Members that spin on a flag, without any call, wait for others that wait for their worker. The watcher sends such a
//! worker a signal, whose handler leaves it there.

use crate::report;
use raddle_core::door::tick::Interruption;
use raddle_hang::ClosedCode;
use std::ffi::{c_int, c_void};
use std::sync::Once;

/// Takes a member off its worker.
const TICK: c_int = 61;
/// Has a worker stand still, for a report.
const STOP: c_int = 62;

fn nothing_arrives(_: *mut c_void) -> bool {
    false
}

/// The program's signals are the kernel's business: none of its handlers ends a wait of a member.
fn nobody_waits_for_signals() -> bool {
    false
}

/// Before the runtime begins. `OPENMP_TICKS=off` takes nobody off.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(install_first);
}

fn install_first() {
    let is_off = std::env::var_os("OPENMP_TICKS").is_some_and(|text| text == "off");
    let ClosedCode { has_own_allocator } = ClosedCode::close();
    if has_own_allocator && !is_off {
        report::once("the program has its own allocator: no member is taken off a worker");
    }
    let tick = (!is_off && !has_own_allocator).then_some(TICK);
    let interruption = Interruption {
        tick,
        stop: STOP,
        may_leave: ClosedCode::is_open,
        arrives: nothing_arrives,
        waits_for_signals: nobody_waits_for_signals,
    };
    interruption.install();
}

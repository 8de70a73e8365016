//! Owns: that a thread of the program may be taken off its worker by a signal, and by which one.
//! May use: `report`, `raddle-core`, `raddle-hang`.
//! Never: anybody taken off in a program whose allocator cannot be told from the program.

use crate::report;
use crate::thread::{handlers, signals};
use raddle_core::door::thread;
use raddle_core::door::tick::Interruption;
use raddle_hang::ClosedCode;

/// Before the runtime begins. `LIBRADDLE_TICKS=off` takes nobody off.
pub(crate) fn install() {
    let is_off = std::env::var_os("LIBRADDLE_TICKS").is_some_and(|text| text == "off");
    let ClosedCode { has_own_allocator } = ClosedCode::close();
    if has_own_allocator {
        thread::allocator_may_wait();
    }
    if has_own_allocator && !is_off {
        report::once("the program has its own allocator: nobody is taken off a worker");
    }
    let tick = (!is_off && !has_own_allocator).then_some(signals::TICK);
    let waits_for_signals = signals::are_waited_for;
    let may_leave = ClosedCode::is_open;
    Interruption { tick, stop: signals::STOP, may_leave, arrives: handlers::at_tick, waits_for_signals }
        .install();
}

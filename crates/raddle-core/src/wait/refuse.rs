//! Owns: what a call that waits says where it must not: in a task, in a poller's call, on a worker's own stack.
//! May use: `worker`, `raddle-protocol`.
//! Never: a wait; a place in the runtime's own files. Whoever may be refused passes its caller on.

use crate::worker::has_no_stack;
use crate::worker::polling::is_asked_here;
use raddle_protocol::header::Kind;

/// What to write in a task instead of a call.
const WAYS_OUT: &[(&str, &str)] = &[
    ("channel::Receiver::recv", "`recv_async().await`"),
    ("channel::Receiver::recv_deadline", "`task::timeout_at(deadline, r.recv_async()).await`"),
    ("channel::Sender::send", "`send_async(msg).await`"),
    ("channel::Sender::send_deadline", "`task::timeout_at(deadline, s.send_async(msg)).await`"),
    ("channel::select", "futures of `recv_async` and `send_async`, and `.await` the first"),
    ("Mutex::lock", "`task::Mutex` and `lock().await`"),
    ("Semaphore::acquire", "`acquire_async().await`"),
    ("retry", "`stm::atomically_async(body).await`"),
    ("csp::sleep", "`task::sleep(duration).await`"),
    ("csp::yield_now", "`task::yield_now().await`"),
    ("thread::yield_now", "`task::yield_now().await`"),
    ("task::block_on", "`.await` on the future itself"),
    ("blocking", "`task::spawn_blocking(f).await`"),
];

fn way_out(what: &str) -> &'static str {
    WAYS_OUT.iter().find(|(call, _)| *call == what).map_or("`.await` on a future", |(_, way)| way)
}

/// Panics, at the place of the program that has called, unless it is unwinding.
#[cold]
#[track_caller]
pub(super) fn refuse_in_task(kind: Kind, what: &str) {
    if kind != Kind::Worker || std::thread::panicking() {
        return;
    }
    assert!(
        !is_asked_here(),
        "`{what}` waits, and a poller's call must not: it would stop its whole worker; let a process wait, and \
         wake it from the call"
    );
    assert!(
        !has_no_stack(),
        "`{what}` waits, and this job must not: it runs on its worker's own stack, since there was no memory, or \
         room among the program's mappings, for one of its own; let fewer processes live at once, or raise \
         `ulimit -v` or `vm.max_map_count`"
    );
    panic!(
        "`{what}` waits, and a task must not: it would stop its whole worker; use {}, or `task::spawn_blocking`, or a \
         process",
        way_out(what)
    );
}

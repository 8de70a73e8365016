//! Owns: libgomp's cancellation.
//! May use: `engine::member`, `engine::share`, `engine::task::wait`, `engine::team`, `icv`.
//! Never: stopping anybody who does not ask.

use crate::engine::member::me;
use crate::engine::share;
use crate::engine::task::Group;
use crate::engine::team::{LOOP, PARALLEL, SECTIONS};
use crate::icv::settings;

const TASKGROUP: u32 = 8;

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_cancellation_point(which: u32) -> bool {
    if !settings().is_cancellation {
        return false;
    }
    let member = me();
    let team = member.team();
    if which & (LOOP | SECTIONS) != 0 {
        return team.is_cancelled(LOOP | SECTIONS | PARALLEL);
    }
    if which & TASKGROUP != 0 && member.task().group().is_some_and(Group::is_cancelled) {
        return true;
    }
    team.is_cancelled(PARALLEL)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_cancel(which: u32, does: bool) -> bool {
    if !settings().is_cancellation {
        return false;
    }
    if !does {
        return GOMP_cancellation_point(which);
    }
    let member = me();
    if which & TASKGROUP != 0 {
        if let Some(group) = member.task().group() {
            group.cancel();
        }
    } else if which & PARALLEL != 0 {
        member.team().cancel(PARALLEL);
    } else {
        member.team().cancel(which & (LOOP | SECTIONS));
    }
    true
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_barrier_cancel() -> bool {
    let member = me();
    member.team().barrier_or_cancelled(member)
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn GOMP_loop_end_cancel() -> bool {
    share::end(me());
    GOMP_barrier_cancel()
}

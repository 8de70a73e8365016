//! Owns: libgomp's cancellation.
//! May use: `engine`, `icv`, `told`.
//! Never: stopping anybody who does not ask.

use crate::engine::member::me;
use crate::engine::share;
use crate::engine::task::Group;
use crate::engine::team::{LOOP, PARALLEL, SECTIONS};
use crate::icv::settings;
use crate::told::ProgramSite;

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

extern "C-unwind" fn barrier(code: usize) -> bool {
    let member = me();
    member.site.set(ProgramSite::of_return(code));
    member.team().barrier_or_cancelled(member)
}

pub(super) extern "C-unwind" fn loop_end(code: usize) -> bool {
    share::end(me());
    barrier(code)
}

crate::micro::from_where! {
    GOMP_barrier_cancel => barrier, "rdi";
    GOMP_loop_end_cancel => loop_end, "rdi";
}

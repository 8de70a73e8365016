//! Owns: libomp's cancellation.
//! May use: `engine::member`, `engine::task::wait`, `engine::team`, `icv`.
//! Never: stopping anybody who does not ask.

use super::SourceSite;
use crate::engine::member::me;
use crate::engine::task::Group;
use crate::engine::team::{LOOP, PARALLEL, SECTIONS};
use crate::icv::settings;
use std::sync::atomic::Ordering;

const TASKGROUP: i32 = 4;

fn flag(kind: i32) -> u32 {
    match kind {
        1 => PARALLEL,
        2 => LOOP,
        3 => SECTIONS,
        _ => 0,
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_cancel(_: SourceSite, _: i32, kind: i32) -> i32 {
    if !settings().is_cancellation {
        return 0;
    }
    let member = me();
    if kind == TASKGROUP {
        return member.task().group().map_or(0, |group| {
            group.cancel();
            1
        });
    }
    member.team().cancelled.fetch_or(flag(kind), Ordering::Relaxed);
    1
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_cancellationpoint(_: SourceSite, _: i32, kind: i32) -> i32 {
    if !settings().is_cancellation {
        return 0;
    }
    let member = me();
    if kind == TASKGROUP {
        return member.task().group().is_some_and(Group::is_cancelled).into();
    }
    member.team().is_cancelled(flag(kind)).into()
}

/// A barrier that all pass, whether they have cancelled or not; then whether the region is cancelled, which all are
/// told alike: who was told otherwise would leave the region while others wait in it.
extern "C-unwind" fn barrier(source: SourceSite, gtid: i32, code: usize) -> i32 {
    let team = me().team();
    super::barrier(source, gtid, code);
    team.was_cancelled().into()
}

crate::micro::from_where! {
    __kmpc_cancel_barrier => barrier, "rdx";
}

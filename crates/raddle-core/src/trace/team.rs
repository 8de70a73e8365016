//! Owns: what a trace is told of teams: their regions, barriers and tasks, by an adaptor.
//! May use: `tracer::place`, `worker`, `raddle-trace`.
//! Never: a name that is looked for while the program runs: a mark finds it when the trace is written.

use crate::tracer::{Mark, place_of_mark};
use crate::worker::Worker;
use raddle_trace::{Event, Level};

/// What the running thread does as a member of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamStep {
    /// It enters a region.
    RegionBegin,
    /// It has come to the region's end.
    RegionEnd,
    /// It has come to a barrier, or waits for tasks.
    BarrierBegin,
    /// It goes on.
    BarrierEnd,
    /// It begins a task.
    TaskBegin,
    /// It has done it.
    TaskEnd,
}

/// Records a step of the running thread's: as member `member` of the region of that number. Nothing on an OS thread.
#[cold]
pub fn note_step(step: TeamStep, name: &'static Mark, member: u32, region: u32) {
    let event = match step {
        TeamStep::RegionBegin => Event::RegionBegin,
        TeamStep::RegionEnd => Event::RegionEnd,
        TeamStep::BarrierBegin => Event::BarrierBegin,
        TeamStep::BarrierEnd => Event::BarrierEnd,
        TeamStep::TaskBegin => Event::TaskBegin,
        TeamStep::TaskEnd => Event::TaskEnd,
    };
    Worker::with_current(|worker| {
        if worker.traces_at(Level::Sched) {
            let number = raddle_trace::event::pack(member.min(255) as u8, region);
            worker.tracer.record(event, place_of_mark(name), number);
        }
    });
}

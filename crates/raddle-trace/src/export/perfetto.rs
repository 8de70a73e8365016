//! Owns: the Perfetto format: scheduler events of a machine whose processors are the workers.
//! May use: `analysis`, `event`, `log`.
//! Never: flow arrows; a ring of threads would be one chain of a million, which freezes the viewer.
//!
//! Perfetto supports kernel scheduling: thread states, wake-up latencies, critical paths. So workers become
//! processors and Raddle's threads become threads, in `sched_switch` and `sched_waking`. The program's
//! own events are in `user_events`, what a thread waited for in `waits`, messages between ranks in `messages`.

use super::protobuf::{Message, Packets};
use super::steps::{ScheduleStep, Steps};
use super::{ExportOptions, messages, user_events};
use crate::analysis::Analysis;
use crate::event::{Event, StopReason, unpack};
use crate::log::{At, Log};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The first thread id; 0 is the idle thread.
const FIRST_TID: u64 = 1000;
/// The one process that they all belong to.
pub(super) const PID: u64 = FIRST_TID - 1;
/// The first id of OS threads that are not workers, plus the number of the name; all ids must fit into 31 bits.
const FIRST_OS_TID: u64 = 1 << 30;
const PRIORITY: u64 = 120;

/// The id of a Raddle thread.
pub(super) fn tid(thread: u32) -> u64 {
    (FIRST_TID + u64::from(thread)).min(FIRST_OS_TID - 1)
}

/// How many events a packet of them has: one packet is in memory at a time.
const EVENTS_PER_PACKET: usize = 4096;

pub(super) fn export(
    log: &Log,
    analysis: &Analysis,
    options: ExportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let out = &mut Packets(out);
    let all = Steps::of(log, analysis, options);
    // Sequence numbers: 1 for packets of no worker, then one per worker.
    out.put(&process_tree(log, &all))?;
    for (sequence, worker) in (2..).zip(&log.workers) {
        let mut running = 0;
        for steps in all.of_worker(worker).chunks(EVENTS_PER_PACKET) {
            let mut bundle = Message::default().number(1, u64::from(worker.number));
            for (ns, step) in steps {
                if let Some(event) = sched_event(log, *ns, *step, &mut running) {
                    bundle = bundle.message(2, &event);
                }
            }
            out.put(&Message::default().number(10, sequence).message(1, &bundle))?;
        }
    }
    let sequence = 2 + log.workers.len() as u64;
    out.put(&Message::default().number(10, sequence).message(1, &outside(log, options)))?;
    samples(out, log, options)?;
    messages::add(out, log, analysis, options)?;
    user_events::add(out, log, analysis, options)
}

/// The list of threads, all of one process.
fn process_tree(log: &Log, all: &Steps<'_>) -> Message {
    let program = log.about("program").unwrap_or("program");
    let process = Message::default().number(1, PID).number(2, 1).bytes(3, program.as_bytes());
    let mut tree = Message::default().message(1, &process);
    for thread in all.threads() {
        let name = log.name(thread);
        let message = Message::default().number(1, tid(thread)).bytes(2, name.as_bytes()).number(3, PID);
        tree = tree.message(2, &message);
    }
    for (tid, name) in
        log.outside.events.iter().map(|at| (os_tid(at), log.os_thread(at))).collect::<BTreeSet<_>>()
    {
        let message = Message::default().number(1, tid).bytes(2, name.as_bytes()).number(3, PID);
        tree = tree.message(2, &message);
    }
    Message::default().number(8, 0).number(10, 1).message(2, &tree)
}

fn os_tid(at: &At) -> u64 {
    FIRST_OS_TID + u64::from(unpack(at.b).1)
}

/// The wakes by OS threads that are not workers, on an extra processor after the last worker.
fn outside(log: &Log, options: ExportOptions) -> Message {
    let none = log.workers.iter().map(|worker| u64::from(worker.number) + 1).max().unwrap_or(0);
    let wakes = log.outside.events.iter().filter(|at| at.event.wakes() && options.holds(at.ns));
    wakes.fold(Message::default().number(1, none), |bundle, at| {
        let waking = waking(log, at.a, unpack(at.b).0.into());
        let event = Message::default().number(1, options.time(at.ns)).number(2, os_tid(at));
        bundle.message(2, &event.message(20, &waking))
    })
}

fn waking(log: &Log, thread: u32, target: u64) -> Message {
    let waking = Message::default().bytes(1, log.name(thread).as_bytes()).number(2, tid(thread));
    waking.number(3, PRIORITY).number(4, 1).number(5, target)
}

/// One ftrace event: time, thread, and a switch or a wake-up.
fn sched_event(log: &Log, ns: u64, step: ScheduleStep, running: &mut u32) -> Option<Message> {
    let name = |thread: u32| log.name(thread).into_bytes();
    let switch = |prev: (&[u8], u64), state: u64, next: (&[u8], u64)| {
        let prev_part = Message::default().bytes(1, prev.0).number(2, prev.1).number(3, PRIORITY);
        prev_part.number(4, state).bytes(5, next.0).number(6, next.1).number(7, PRIORITY)
    };
    let idle = (b"idle".as_slice(), 0);
    let (by, field, event) = match step {
        ScheduleStep::Run(thread) => {
            *running = thread;
            (0, 4, switch(idle, 0, (&name(thread), tid(thread))))
        }
        ScheduleStep::Stop(thread, why) => {
            *running = 0;
            // Runnable, sleeping, or dead, in the kernel's numbers.
            let state = match why {
                StopReason::Yield | StopReason::Preempted | StopReason::None => 0,
                StopReason::Exit => 16,
                _ => 1,
            };
            (tid(thread), 4, switch((&name(thread), tid(thread)), state, idle))
        }
        ScheduleStep::Wake { thread, target } => {
            let waker = if *running == 0 { 0 } else { tid(*running) };
            (waker, 20, waking(log, thread, target.into()))
        }
        ScheduleStep::Spawn(_) | ScheduleStep::Migrate { .. } | ScheduleStep::WokenOutside { .. } => {
            return None;
        }
    };
    Some(Message::default().number(1, ns).number(2, by).message(field, &event))
}

/// The published ready-queue lengths, as a counter of each worker.
fn samples(out: &mut Packets<'_>, log: &Log, options: ExportOptions) -> io::Result<()> {
    for worker in &log.workers {
        let mut of_worker =
            worker.events.iter().filter(|at| at.event == Event::Sample && options.holds(at.ns));
        let uuid = 1_000_000 + u64::from(worker.number);
        let mut first = true;
        for at in &mut of_worker {
            if std::mem::take(&mut first) {
                let name = format!("ready at worker {}", worker.number);
                let track = Message::default().number(1, uuid).bytes(2, name.as_bytes()).bytes(8, &[]);
                out.put(&Message::default().number(10, 1).message(60, &track))?;
            }
            let event = Message::default().number(9, 4).number(11, uuid).number(30, u64::from(at.a));
            out.put(&Message::default().number(8, options.time(at.ns)).number(10, 1).message(11, &event))?;
        }
    }
    Ok(())
}

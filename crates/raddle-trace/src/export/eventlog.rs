//! Owns: the format of GHC's event log, as ThreadScope 0.2.14 and ghc-events 0.17 read it.
//! May use: `analysis`, `event`, `log`.
//! Never: an event type that the header does not declare; a stop status that newer readers reject.
//!
//! Big-endian. A header declares the types of events with their sizes; the data are blocks, each of one capability.
//! ThreadScope draws a capability from its run and stop events alone; names, wakes and migrations are there for its
//! event list and for `ghc-events validate`, which wants a thread created on the capability that first owns it.

use super::ExportOptions;
use super::steps::{ScheduleStep, Steps};
use crate::analysis::Analysis;
use crate::event::StopReason;
use crate::log::Log;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// A type of event: number, bytes of its payload (`None` if they vary), description.
type EventType = (u16, Option<u16>, &'static str);

const CREATE: EventType = (0, Some(4), "Create thread");
const RUN: EventType = (1, Some(4), "Run thread");
const STOP: EventType = (2, Some(10), "Stop thread");
const RUNNABLE: EventType = (3, Some(4), "Thread runnable");
const MIGRATE: EventType = (4, Some(6), "Migrate thread");
const WAKEUP: EventType = (8, Some(6), "Wakeup thread");
const MESSAGE: EventType = (19, None, "User message");
const BLOCK: EventType = (18, Some(14), "Block marker");
const CAPSET_CREATE: EventType = (25, Some(6), "Create capability set");
const CAPSET_ASSIGN: EventType = (27, Some(6), "Add capability to capability set");
const IDENTIFIER: EventType = (29, None, "RTS name and version");
const ARGUMENTS: EventType = (30, None, "Program arguments");
const PID: EventType = (32, Some(8), "Process ID");
const WALL_CLOCK: EventType = (43, Some(16), "Wall clock time");
const LABEL: EventType = (44, None, "Thread label");
const CAP_CREATE: EventType = (45, Some(2), "Create capability");
const TYPES: [EventType; 16] = [
    CREATE,
    RUN,
    STOP,
    RUNNABLE,
    MIGRATE,
    WAKEUP,
    MESSAGE,
    BLOCK,
    CAPSET_CREATE,
    CAPSET_ASSIGN,
    IDENTIFIER,
    ARGUMENTS,
    PID,
    WALL_CLOCK,
    LABEL,
    CAP_CREATE,
];

/// The file being written.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(mut self, n: u16) -> Self {
        self.0.extend(n.to_be_bytes());
        self
    }

    fn u32(mut self, n: u32) -> Self {
        self.0.extend(n.to_be_bytes());
        self
    }

    fn u64(mut self, n: u64) -> Self {
        self.0.extend(n.to_be_bytes());
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.bytes());
        self
    }

    /// Adds an event; a payload of varying size is cut at 65535 bytes.
    fn event(&mut self, kind: EventType, ns: u64, payload: &Bytes) {
        self.0.extend(kind.0.to_be_bytes());
        self.0.extend(ns.to_be_bytes());
        let length = u16::try_from(payload.0.len()).unwrap_or(u16::MAX);
        if kind.1.is_none() {
            self.0.extend(length.to_be_bytes());
        }
        self.0.extend(&payload.0[..usize::from(length)]);
    }
}

fn header() -> Bytes {
    let mut out = Bytes::default().text("hdrb").text("hetb");
    for (number, size, description) in TYPES {
        out = out.text("etb\0").u16(number).u16(size.unwrap_or(u16::MAX));
        out = out.u32(description.len() as u32).text(description).u32(0).text("ete\0");
    }
    out.text("hete").text("hdre").text("datb")
}

/// The stop status; only those that every reader knows.
fn status(stopped: StopReason) -> u16 {
    match stopped {
        StopReason::Yield | StopReason::Preempted | StopReason::None => 3,
        StopReason::Exit => 5,
        StopReason::Blocking => 6,
        StopReason::Sleep => 11,
        StopReason::Receive | StopReason::MeetToReceive => 20,
        _ => 7,
    }
}

fn about(out: &mut Bytes, log: &Log) {
    let set = 0;
    out.event(CAPSET_CREATE, 0, &Bytes::default().u32(set).u16(2));
    out.event(IDENTIFIER, 0, &Bytes::default().u32(set).text("Raddle"));
    let (seconds, ns) = (log.started_at_ns / 1_000_000_000, log.started_at_ns % 1_000_000_000);
    out.event(WALL_CLOCK, 0, &Bytes::default().u32(set).u64(seconds).u32(ns as u32));
    let pid = log.about("pid").and_then(|pid| pid.parse().ok()).unwrap_or(0);
    out.event(PID, 0, &Bytes::default().u32(set).u32(pid));
    let program = log.about("program").unwrap_or("program");
    out.event(ARGUMENTS, 0, &Bytes::default().u32(set).text(program).text("\0"));
    for worker in &log.workers {
        let cap = worker.number as u16;
        out.event(CAP_CREATE, 0, &Bytes::default().u16(cap));
        out.event(CAPSET_ASSIGN, 0, &Bytes::default().u32(set).u16(cap));
    }
}

/// How many steps a block has at most: its length is a number of 32 bits, and it is made in memory.
const STEPS_PER_BLOCK: usize = 1 << 18;

pub(super) fn export(
    log: &Log,
    analysis: &Analysis,
    options: ExportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut begin = header();
    about(&mut begin, log);
    out.write_all(&begin.0)?;
    let all = Steps::of(log, analysis, options);
    let mut owners = Owners::of(log, &all);
    for worker in &log.workers {
        for steps in all.of_worker(worker).chunks(STEPS_PER_BLOCK) {
            let body = block(log, worker.number, steps, &mut owners);
            let Some((begin, end)) = steps.first().zip(steps.last()).map(|(first, last)| (first.0, last.0))
            else {
                continue;
            };
            // The size counts the marker itself: type, time and payload.
            let size = 24 + body.0.len() as u32;
            let mut marker = Bytes::default();
            marker.event(BLOCK, begin, &Bytes::default().u32(size).u64(end).u16(worker.number as u16));
            out.write_all(&marker.0)?;
            out.write_all(&body.0)?;
        }
    }
    out.write_all(&Bytes::default().u16(0xffff).0)
}

/// The worker of each thread's first event, and the threads whose creation has been written.
struct Owners {
    first: HashMap<u32, u32>,
    created: HashSet<u32>,
}

impl Owners {
    fn of(log: &Log, all: &Steps<'_>) -> Owners {
        let mut seen: HashMap<u32, (u64, u32)> = HashMap::new();
        for worker in &log.workers {
            for (ns, step) in all.of_worker(worker) {
                let (ScheduleStep::Run(thread) | ScheduleStep::Spawn(thread)) = step else { continue };
                let first = seen.entry(thread).or_insert((ns, worker.number));
                if ns < first.0 {
                    *first = (ns, worker.number);
                }
            }
        }
        Owners {
            first: seen.into_iter().map(|(thread, (_, worker))| (thread, worker)).collect(),
            created: HashSet::new(),
        }
    }
}

fn block(log: &Log, worker: u32, steps: &[(u64, ScheduleStep)], owners: &mut Owners) -> Bytes {
    let mut out = Bytes::default();
    for (ns, step) in steps {
        if let ScheduleStep::Run(thread) | ScheduleStep::Spawn(thread) = step
            && owners.first.get(thread) == Some(&worker)
            && owners.created.insert(*thread)
        {
            out.event(CREATE, *ns, &Bytes::default().u32(*thread));
            out.event(LABEL, *ns, &Bytes::default().u32(*thread).text(&log.name(*thread)));
        }
        match *step {
            ScheduleStep::Run(thread) => out.event(RUN, *ns, &Bytes::default().u32(thread)),
            ScheduleStep::Stop(thread, why) => {
                out.event(STOP, *ns, &Bytes::default().u32(thread).u16(status(why)).u32(0))
            }
            ScheduleStep::Migrate { thread, to } => {
                out.event(MIGRATE, *ns, &Bytes::default().u32(thread).u16(to as u16))
            }
            ScheduleStep::Wake { thread, target } if target != worker => {
                out.event(WAKEUP, *ns, &Bytes::default().u32(thread).u16(target as u16))
            }
            ScheduleStep::Wake { thread, .. } => out.event(RUNNABLE, *ns, &Bytes::default().u32(thread)),
            ScheduleStep::WokenOutside { thread, event } => {
                // An OS thread has no capability, so its wake is a message.
                let waker = log.os_thread(&log.outside.events[event]);
                let text = format!("{waker} wakes {}", log.name(thread));
                out.event(MESSAGE, *ns, &Bytes::default().text(&text));
                out.event(RUNNABLE, *ns, &Bytes::default().u32(thread));
            }
            ScheduleStep::Spawn(_) => (),
        }
    }
    out
}

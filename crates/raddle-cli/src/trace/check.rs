//! Owns: the checks of `raddle trace check`.
//! May use: `raddle-trace`.
//! Never: a repair.

use std::fmt::Write as _;

use raddle_trace::analysis::{Analysis, Class, WorkerTime, duration};
use raddle_trace::event::unpack;
use raddle_trace::log::{Log, Worker};
use raddle_trace::{Event, StopReason};

use super::Report;

/// The errors in a trace, and other findings.
pub(super) fn findings(log: &Log, analysis: &Analysis) -> Report {
    let (mut wrong, mut text) = (0, String::new());
    for damage in &log.damage {
        wrong += 1;
        let _ = writeln!(text, "wrong: {damage}");
    }
    for worker in &analysis.workers {
        let idle: u64 = Class::ALL.into_iter().map(|class| worker.idle_ns(class)).sum();
        let sum = worker.running_ns + idle + worker.overhead_ns;
        if sum.abs_diff(analysis.wall_ns) * 100 > analysis.wall_ns {
            wrong += 1;
            let (sum, wall) = (duration(sum), duration(analysis.wall_ns));
            let _ = writeln!(text, "wrong: worker {}: its times add up to {sum} of {wall}", worker.number);
        }
    }
    if log.about("whole") == Some("yes") {
        let are_made =
            |worker: &Worker| counted(worker, "promoted") > 0 || counted(worker, "children_open") > 0;
        let forks = log.workers.iter().any(are_made);
        let whole = log.workers.iter().zip(&analysis.workers).filter(|(worker, _)| worker.lost == 0);
        for (worker, time) in whole {
            for differs in disagreements(worker, time, analysis.wall_ns, forks) {
                wrong += 1;
                let _ = writeln!(text, "wrong: worker {}: {differs}", worker.number);
            }
        }
    }
    if !log.ended {
        let _ = writeln!(text, "note: the program did not complete its trace: it was killed, or still runs");
    }
    for worker in log.workers.iter().filter(|worker| worker.lost > 0) {
        let _ =
            writeln!(text, "note: worker {}: {} older records were overwritten", worker.number, worker.lost);
    }
    for worker in log.workers.iter().filter(|worker| worker.unknown > 0) {
        let _ =
            writeln!(text, "note: worker {}: {} records of a newer raddle", worker.number, worker.unknown);
    }
    let events: usize = log.workers.iter().map(|worker| worker.events.len()).sum();
    let _ = writeln!(
        text,
        "{events} events of {} workers in {}: {}",
        log.workers.len(),
        duration(analysis.wall_ns),
        if wrong == 0 { "sound".to_owned() } else { format!("{wrong} things are wrong") }
    );
    Report { text, well: wrong == 0 }
}

/// Differences of more than a hundredth between a worker's counters and its records.
///
/// Things that counters count differently are not compared: turns, the processes of a virtual machine, and spawns where
/// there are forks, since taking a fork makes a process without a spawn. Idle times may differ by a hundredth of the
/// whole, and by the kernel's share: the kernel may take the core between two readings of the clock.
fn disagreements(worker: &Worker, time: &WorkerTime, wall_ns: u64, forks: bool) -> Vec<String> {
    let counted = |name: &str| counted(worker, name);
    let recorded = |event: Event| worker.events.iter().filter(|at| at.event == event).count() as u64;
    let exits = worker
        .events
        .iter()
        .filter(|at| at.event == Event::Switch && StopReason::of_number(unpack(at.b).0) == StopReason::Exit);
    let (spawns, exits) = (recorded(Event::Spawn), exits.count() as u64);
    let engine = counted("spawns") == 0 && counted("exits") == 0;
    let (incidents, idle_ns) = idle_times(worker);
    let decades: u64 = time.decades.incidents.iter().sum();
    let histogram: u64 = raddle_trace::analysis::Decades::NAMES
        .into_iter()
        .map(|decade| counted(&format!("idle {decade}")))
        .fold(0, u64::saturating_add);
    let compared = [
        (
            "spawns",
            counted("spawns"),
            if forks {
                counted("spawns")
            } else if engine {
                0
            } else {
                spawns
            },
        ),
        ("ends", counted("exits"), if engine { 0 } else { exits }),
        ("wakes", counted("local_wakes").saturating_add(counted("remote_wakes")), recorded(Event::Wake)),
        ("migrations", counted("migrations"), recorded(Event::Migrate)),
        ("steals", counted("steals"), recorded(Event::Steal)),
        ("idle incidents", counted("idle_incidents"), incidents),
        ("idle incidents in its histogram", counted("idle_incidents"), histogram),
        ("gaps in the trace's histogram", time.gaps.len() as u64, decades),
    ];
    // What a damaged file has counted may be any number.
    let differ = |one: u64, other: u64| one.abs_diff(other) > 2 && one.abs_diff(other) > one.max(other) / 100;
    let mut said: Vec<String> = compared
        .into_iter()
        .filter(|(_, one, other)| differ(*one, *other))
        .map(|(what, one, other)| format!("{one} {what} were counted, {other} recorded"))
        .collect();
    let kernel_ns = time.idle_ns(Class::Kernel);
    if counted("idle_ns").abs_diff(idle_ns) > wall_ns / 100 + kernel_ns {
        let (one, other) = (duration(counted("idle_ns")), duration(idle_ns));
        said.push(format!("{one} of idle time were counted, {other} recorded"));
    }
    said
}

/// A counter of the worker; 0 if there is none of that name.
fn counted(worker: &Worker, name: &str) -> u64 {
    worker.counters.iter().find(|(counter, _)| counter == name).map_or(0, |(_, counted)| *counted)
}

/// How often the worker recorded that it was idle, and for how long.
fn idle_times(worker: &Worker) -> (u64, u64) {
    let (mut incidents, mut ns, mut since) = (0, 0, None);
    for at in &worker.events {
        match at.event {
            Event::IdleBegin => since = Some(at.ns),
            Event::IdleEnd => {
                if let Some(since) = since.take() {
                    incidents += 1;
                    ns += at.ns - since;
                }
            }
            _ => (),
        }
    }
    (incidents, ns)
}

/// As a damaged or forged file may have them.
#[test]
fn counters_that_add_up_to_more_than_fits_are_compared_without_a_panic() {
    use raddle_trace::clock::Reading;
    use raddle_trace::file::Writer;
    let mut writer = Writer::begin(Vec::new(), [("whole", "yes")]).expect("memory takes it");
    let reading = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
    writer.clock(&[reading(0), reading(1000)]).expect("memory takes it");
    let decades = raddle_trace::analysis::Decades::NAMES.map(|decade| format!("idle {decade}"));
    let names = ["promoted", "children_open", "local_wakes", "remote_wakes", "spawns", "exits", "idle_ns"];
    let all = decades.iter().map(String::as_str).chain(names).map(|name| (name, u64::MAX));
    writer.counters(0, all).expect("memory takes it");
    let log = Log::read(&writer.end().expect("memory takes it")).expect("it is a trace");
    let report = findings(&log, &Analysis::of(&log));
    assert!(!report.well && report.text.contains("wakes were counted"), "{}", report.text);
}

//! Owns: what `raddle trace check` looks at.
//! May use: the log and its analysis.
//! Never: a repair.

use std::fmt::Write as _;

use raddle_trace::analysis::{Analysis, Class, duration};
use raddle_trace::log::Log;

use super::Said;

/// What is wrong with a trace, and what is only worth knowing.
pub(super) fn findings(log: &Log, analysis: &Analysis) -> Said {
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
    if !log.ended {
        let _ = writeln!(text, "note: the program did not end its trace: it was killed, or still runs");
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
    Said { text, well: wrong == 0 }
}

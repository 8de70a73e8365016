//! Owns: what an application says of a run: how evenly its threads got on, and what each worker did meanwhile.
//! May use: `raddle`, `raddle-measure`.
//! Never: a clock; the application says when a run begins and ends.
//!
//! The measures have the names of the study of thread migration in K42: **thread spread**, **idle incidents** and their
//! histogram by decade, **total idle time**, **number of migrations**. A [`Moment`] is what a runtime had counted when
//! it was taken; the difference of two is a [`Period`].

use std::fmt::{self, Display, Formatter};

use raddle::{DECADE_NAMES, DECADES, IdleDecade, Runtime, Stats};
use raddle_measure::table::{Table, figure};

/// What the workers of a runtime have counted so far.
#[derive(Clone, Debug)]
pub struct Moment {
    stats: Vec<Stats>,
    idle: Vec<[IdleDecade; DECADES]>,
    migrations: Vec<Vec<u64>>,
}

impl Moment {
    /// Reads the counters.
    pub fn of(runtime: &Runtime) -> Self {
        Moment { stats: runtime.stats(), idle: runtime.idle_times(), migrations: runtime.migrations() }
    }

    /// What was counted from then on until `later`.
    pub fn until(&self, later: &Moment) -> Period {
        // An extra worker may have begun meanwhile.
        let workers = later.stats.iter().enumerate().map(|(index, after)| {
            let turns = self.stats.get(index).map_or(0, |before| before.dispatches);
            let idle = self.idle.get(index).copied().unwrap_or_default();
            WorkerPeriod {
                turns: after.dispatches - turns,
                came: came(&later.migrations, index) - came(&self.migrations, index),
                idle: std::array::from_fn(|decade| IdleDecade {
                    incidents: later.idle[index][decade].incidents - idle[decade].incidents,
                    ns: later.idle[index][decade].ns - idle[decade].ns,
                }),
            }
        });
        Period { workers: workers.collect() }
    }
}

/// How many have come to worker `index` from others.
fn came(migrations: &[Vec<u64>], index: usize) -> u64 {
    migrations.get(index).map_or(0, |from| from.iter().sum())
}

/// What the workers did during a part of a run.
#[derive(Clone, Debug, Default)]
pub struct Period {
    /// Each worker's share.
    pub workers: Vec<WorkerPeriod>,
}

/// What one worker did.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkerPeriod {
    /// Turns that it gave.
    pub turns: u64,
    /// Started threads that came to it from other workers.
    pub came: u64,
    /// Its idle incidents by decade of their length.
    pub idle: [IdleDecade; DECADES],
}

impl WorkerPeriod {
    /// How many idle incidents it had.
    pub fn incidents(&self) -> u64 {
        self.idle.iter().map(|decade| decade.incidents).sum()
    }

    /// How long they were together, in nanoseconds.
    pub fn idle_ns(&self) -> u64 {
        self.idle.iter().map(|decade| decade.ns).sum()
    }
}

impl Period {
    /// Migrations of started threads, by all workers.
    pub fn migrations(&self) -> u64 {
        self.workers.iter().map(|worker| worker.came).sum()
    }

    /// Idle incidents of all workers.
    pub fn incidents(&self) -> u64 {
        self.workers.iter().map(WorkerPeriod::incidents).sum()
    }

    /// Idle time of all workers, in nanoseconds.
    pub fn idle_ns(&self) -> u64 {
        self.workers.iter().map(WorkerPeriod::idle_ns).sum()
    }
}

impl Display for Period {
    /// A table of the workers, then their idle incidents by decade.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut totals =
            Table::new(["worker", "turns", "migrations in", "idle incidents", "average us", "total idle ms"]);
        let mut decades = Table::new(["idle incidents"].into_iter().chain(DECADE_NAMES));
        for (index, worker) in self.workers.iter().enumerate() {
            let average_us = worker.idle_ns() as f64 / 1e3 / worker.incidents().max(1) as f64;
            totals.row([
                index.to_string(),
                worker.turns.to_string(),
                worker.came.to_string(),
                worker.incidents().to_string(),
                figure(average_us),
                figure(worker.idle_ns() as f64 / 1e6),
            ]);
            let counts = worker.idle.iter().map(|decade| decade.incidents.to_string());
            decades.row([format!("worker {index}")].into_iter().chain(counts));
        }
        write!(f, "{totals}\n{decades}")
    }
}

/// Thread spread, as SPECjbb2000 reports it: by how many per cent the slowest thread did less than the fastest.
///
/// ```
/// assert_eq!(ledger::thread_spread(&[75, 100, 90]), 25.0);
/// assert_eq!(ledger::thread_spread(&[]), 0.0);
/// ```
pub fn thread_spread(done: &[u64]) -> f64 {
    let (most, least) = (done.iter().max().copied().unwrap_or(0), done.iter().min().copied().unwrap_or(0));
    if most == 0 { 0.0 } else { 100.0 * (most - least) as f64 / most as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_period_counts_what_lies_within_it() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let nap = || runtime.run(|| raddle::thread::sleep(Duration::from_millis(1)));
        nap();
        let before = Moment::of(&runtime);
        let empty = before.until(&before);
        assert_eq!((empty.incidents(), empty.idle_ns(), empty.workers[0].turns), (0, 0, 0));
        nap();
        let period = before.until(&Moment::of(&runtime));
        assert!(period.incidents() > 0 && period.workers[0].turns > 0, "{period:?}");
        assert!(period.idle_ns() >= 1_000_000, "{period:?}");
        assert!(period.to_string().contains("100 us-1 ms"), "{period}");
    }
}

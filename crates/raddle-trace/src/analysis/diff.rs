//! Owns: the comparison of two traces: which worker time was added.
//! May use: `log`.
//! Never: a cause that the figures do not show.

use super::hardware::SlowerBy;
use super::{Advice, Analysis, Class, Forecast, Language, predict};
use crate::log::Log;
use std::fmt;

/// One kind of worker time in two traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The kind of time.
    pub what: &'static str,
    /// Nanoseconds over all workers, in the first trace and in the second.
    pub ns: [u64; 2],
}

impl Change {
    /// The difference: second minus first.
    pub fn more_ns(&self) -> i128 {
        i128::from(self.ns[1]) - i128::from(self.ns[0])
    }
}

/// Two traces of one program compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// How long each took, in nanoseconds.
    pub wall_ns: [u64; 2],
    /// How many workers each had.
    pub workers: [usize; 2],
    /// Each kind of worker time, the largest increase first.
    pub changes: Vec<Change>,
    /// Wakes that crossed workers.
    pub crossing: [u64; 2],
    /// Wakes by OS threads that are not workers.
    pub outside: [u64; 2],
    /// Whether wakes across workers slow the second trace down, and not the first.
    pub crosses: bool,
    /// If the same work took much longer in the second trace, on more workers: the label of which that is most true,
    /// and how many times as long all running took.
    pub slower: Option<(String, f64)>,
    /// Why, as far as the processor's counters tell.
    pub slower_by: SlowerBy,
    /// What to do about the second.
    pub advice: Advice,
    /// In whose words to say that.
    pub language: Language,
    /// Whether one worker would take no longer than the second trace: it did in the first, or the second says so.
    pub one_worker: bool,
    /// The prediction for the advice, if there is one.
    pub predicted: Option<Forecast>,
}

/// Compares two traces, the second of which is to be explained.
pub fn diff(one: &Analysis, two: &Analysis) -> Diff {
    let both = |f: &dyn Fn(&Analysis) -> u64| [f(one), f(two)];
    let mut changes = vec![Change { what: "running", ns: both(&|a| a.running_ns()) }];
    changes.extend(Class::ALL.map(|class| Change { what: class.words(), ns: both(&|a| a.idle_ns(class)) }));
    changes.push(Change { what: "the scheduler itself", ns: both(&|a| a.overhead_ns()) });
    changes.sort_by_key(|change| std::cmp::Reverse(change.more_ns()));
    Diff {
        wall_ns: [one.wall_ns, two.wall_ns],
        workers: [one.workers.len(), two.workers.len()],
        changes,
        slower: slower(one, two),
        slower_by: SlowerBy::of(one.hardware, two.hardware),
        crosses: two.verdict.crossed.is_some() && one.verdict.crossed.is_none(),
        crossing: both(&|a| wakes(a, false)),
        outside: both(&|a| wakes(a, true)),
        advice: supported(one, two),
        language: two.verdict.language,
        one_worker: match one.workers.len() {
            1 => one.wall_ns <= two.wall_ns,
            _ => two.verdict.one_worker,
        },
        predicted: two.predicted,
    }
}

impl Diff {
    /// Adds the prediction for an advised placement, if the first trace is of one worker.
    pub fn with_forecast(mut self, one: (&Log, &Analysis), two: (&Log, &Analysis)) -> Diff {
        if let (Advice::Segments(label, segments), 1) = (&self.advice, self.workers[0])
            && self.language.has_placement()
        {
            self.predicted = predict::placed(one, two, label, segments);
        }
        self
    }
}

/// The advice for the second trace; not to use fewer workers, if on so many or more the first took longer.
fn supported(one: &Analysis, two: &Analysis) -> Advice {
    match two.verdict.advice {
        Advice::FewerWorkers(fewer)
            if (fewer..two.workers.len()).contains(&one.workers.len()) && one.wall_ns > two.wall_ns =>
        {
            Advice::Elsewhere
        }
        _ => two.verdict.advice.clone(),
    }
}

/// From so many times as long on, work is said to be slower; what the recording of wakes across workers adds is less.
const SLOWER: f64 = 1.5;

/// Whether the same work took much longer on more workers, which no wake explains. Time in which others had the core,
/// or in which it slept in the kernel, is no running time.
fn slower(one: &Analysis, two: &Analysis) -> Option<(String, f64)> {
    let times = two.running_ns() as f64 / one.running_ns().max(1) as f64;
    let is_fit = two.workers.len() > one.workers.len() && two.verdict.crossed.is_none();
    if !is_fit || times < SLOWER {
        return None;
    }
    let more = |(label, ns): (&String, &u64)| {
        let before = one.ran.get(label).copied().unwrap_or(0);
        (ns.saturating_sub(before), label.clone())
    };
    two.ran.iter().map(more).max().map(|(_, label)| (label, times))
}

/// How many wakes crossed workers, or came from outside.
fn wakes(analysis: &Analysis, outside: bool) -> u64 {
    analysis.edges.iter().filter(|edge| edge.outside == outside).map(|edge| edge.count).sum()
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = super::duration;
        let ratio = self.wall_ns[1] as f64 / self.wall_ns[0].max(1) as f64;
        let [w1, w2] = self.workers;
        writeln!(
            f,
            "{} with {w1} workers, {} with {w2}: {ratio:.2} times",
            d(self.wall_ns[0]),
            d(self.wall_ns[1])
        )?;
        if self.crosses {
            let all: i128 = self.changes.iter().map(Change::more_ns).sum();
            let more = d(u64::try_from(all).unwrap_or(0));
            let [before, now] = self.crossing;
            writeln!(
                f,
                "the cause: {}: {now} wakes crossed workers ({before} before), {more} more worker time",
                Class::HandOff.words()
            )?;
        }
        if let Some((label, times)) = &self.slower {
            let why = self.slower_by;
            writeln!(f, "the same work took {times:.1} times as long, above all {label}: {why}")?;
        }
        match self.changes.first().filter(|change| change.more_ns() > 0) {
            Some(most) => writeln!(
                f,
                "most of what was added: {}, {} of worker time (from {} to {})",
                most.what,
                d(u64::try_from(most.more_ns()).unwrap_or(0)),
                d(most.ns[0]),
                d(most.ns[1])
            )?,
            None => writeln!(f, "nothing was added")?,
        }
        writeln!(f, "wakes that crossed workers: {} and {}", self.crossing[0], self.crossing[1])?;
        if self.outside != [0, 0] {
            writeln!(
                f,
                "wakes by OS threads that are not workers: {} and {}",
                self.outside[0], self.outside[1]
            )?;
        }
        writeln!(f, "advice: {}", self.advice.in_language(self.language).or_on_one_worker(self.one_worker))?;
        if let Some(forecast) = self.predicted {
            writeln!(f, "predicted with that: {forecast}")?;
        }
        writeln!(f)?;
        writeln!(f, "{:<52} {:>12} {:>12} {:>13}", "worker time", "first", "second", "more")?;
        for change in &self.changes {
            let more = change.more_ns();
            let sign = if more < 0 { "-" } else { "+" };
            let size = d(u64::try_from(more.unsigned_abs()).unwrap_or(u64::MAX));
            writeln!(
                f,
                "{:<52} {:>12} {:>12} {sign:>2}{size:>11}",
                change.what,
                d(change.ns[0]),
                d(change.ns[1])
            )?;
        }
        Ok(())
    }
}

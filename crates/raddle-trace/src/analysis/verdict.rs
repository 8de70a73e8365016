//! Owns: the first sentence of a report: what cost the most, and one thing to do about it.
//! May use: `event`, `log`.
//! Never: advice without the figure that it is based on.

use super::edges::Edge;
use super::idle::Class;
use super::labels;
use super::language::Language;
use super::placement::{PinnedLoad, Placements};
use super::timeline::WorkerTime;
use crate::event::Event;
use crate::log::Log;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Losses below this share of the workers' time are not reported.
const WORTH_SAYING: f64 = 0.05;

/// The finding and the advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// How many workers ran something on average.
    pub busy: f64,
    /// How many workers there were.
    pub workers: usize,
    /// What cost the most besides running, and its share of the workers' time; `None` if nothing is worth reporting.
    pub worst: Option<(Class, f64)>,
    /// The kernel's share of the workers' time, if it is worth reporting and something else is the worst.
    pub kernel: Option<f64>,
    /// The share of wakes that crossed workers, if that is the problem: many crossing wakes between short slices.
    pub crossed: Option<f64>,
    /// What to do about it.
    pub advice: Advice,
    /// The language of the program, in whose terms to give the advice.
    pub language: Language,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    None,
    /// Place these contiguous segments of one label together: first and last number, one segment a worker.
    Segments(String, Vec<(u64, u64)>),
    /// Place the members of these two labels together.
    Together(String, String),
    /// Let idle workers take ready threads.
    Migrate,
    /// Idle workers may take movable threads, but started light processes are not: make them movable.
    MakeMovable,
    /// The program placed the members of this label unevenly: distribute them.
    Spread(String),
    /// This thread ran alone, for so many nanoseconds: split it.
    Split(String, u64),
    /// There is not enough parallel work.
    MoreWork,
    /// Steal less often: make the pieces larger.
    Coarser,
    /// Use so many workers.
    FewerWorkers(usize),
    /// Let a process do the work of this OS thread, which wakes members of that label.
    Inside(String, String),
}

impl Advice {
    /// Whether it lets waiting threads go to another worker.
    pub(super) fn moves(&self) -> bool {
        matches!(self, Advice::Migrate | Advice::MakeMovable | Advice::Spread(_))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::None => f.write_str("nothing to do"),
            Advice::Segments(label, segments) => {
                f.write_str("place ")?;
                for (place, (first, last)) in segments.iter().enumerate() {
                    let joint = if place == 0 { "" } else { " and " };
                    write!(f, "{joint}{label} {first}-{last}")?;
                }
                f.write_str(" together (`spawn_on`), one segment a worker")
            }
            Advice::Together(one, two) if one == two => {
                write!(f, "place {one} together on one worker (`spawn_on`)")
            }
            Advice::Together(one, two) => {
                write!(f, "place {one} and {two} together on one worker (`spawn_on`)")
            }
            Advice::Migrate => {
                f.write_str("let idle workers take them: RADDLE_MIGRATION=on, RADDLE_BALANCE=steal")
            }
            Advice::MakeMovable => f.write_str(
                "started light processes stay where they are: place a share of them on each worker (`spawn_on`), \
                 or let them have storage of their own, with which they move: RADDLE_PROCESSES=full",
            ),
            Advice::Spread(label) => write!(
                f,
                "the program has placed {label} unevenly (`spawn_on`): place a share of them on each worker, \
                 or do not place them"
            ),
            Advice::Split(thread, ns) => {
                write!(f, "split {thread}, which ran alone for {}", crate::analysis::duration(*ns))
            }
            Advice::MoreWork => f.write_str("give it more parallel work, or fewer workers: RADDLE_WORKERS"),
            Advice::Coarser => f.write_str("make the pieces of work larger: stealing one costs more than it saves"),
            Advice::FewerWorkers(n) => {
                write!(f, "use no more workers than there are free cores: RADDLE_WORKERS={n}")
            }
            Advice::Inside(from, to) => {
                write!(f, "let a process do the work of {from}, which wakes {to} from outside the workers")
            }
        }
    }
}

impl Verdict {
    /// The finding, without the advice.
    pub fn finding(&self) -> String {
        let mut text = format!("{:.2} of {} workers busy", self.busy, self.workers);
        if let Some(share) = self.crossed {
            text += &format!(
                "; {:.0} % of wakes cross workers, and the slices between them are shorter than a wake",
                share * 100.0
            );
        } else if let Some((class, share)) = self.worst {
            let words = match (&self.advice, class) {
                (Advice::Inside(from, _), Class::HandOff) => {
                    format!("hand-off from {from}, which is not a worker")
                }
                _ => class.words().to_owned(),
            };
            text += &format!("; {:.0} % of worker time is {words}", share * 100.0);
        }
        if let Some(share) = self.kernel {
            text += &format!("; besides, {:.0} % was {}", share * 100.0, Class::Kernel.words());
        }
        text
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.finding())?;
        if self.advice != Advice::None {
            write!(f, "; {}", self.advice.in_language(self.language))?;
        }
        Ok(())
    }
}

pub(super) fn of(log: &Log, workers: &[WorkerTime], edges: &[Edge]) -> Verdict {
    let wall = log.wall_ns().max(1) as f64;
    let all = wall * workers.len().max(1) as f64;
    let running: u64 = workers.iter().map(|worker| worker.running_ns).sum();
    let share = |class| workers.iter().map(|worker| worker.idle_ns(class)).sum::<u64>() as f64 / all;
    let worst = worst(share).filter(|_| workers.len() > 1);
    let kernel = Some(share(Class::Kernel)).filter(|share| *share >= WORTH_SAYING);
    let kernel = kernel.filter(|_| worst.is_some_and(|(class, _)| class != Class::Kernel));
    let crossed = crossed(log, workers, edges);
    let inner = edges.iter().find(|edge| !edge.outside);
    let advice = match worst {
        _ if crossed.is_some() => together(log, workers, inner),
        Some((Class::HandOff, _)) => match edges.first() {
            Some(edge) if edge.outside => Advice::Inside(edge.from.clone(), edge.to.clone()),
            _ => together(log, workers, inner),
        },
        Some((Class::Misplaced, _)) => match Placements::of(log).pinned_while_idle(log, workers) {
            Some(PinnedLoad::Unevenly(label)) => Advice::Spread(label),
            // These threads may not move, and are distributed evenly already.
            Some(PinnedLoad::Evenly) => longest_alone(log, workers),
            None if moves_already(log) => Advice::MakeMovable,
            None => Advice::Migrate,
        },
        Some((Class::Starved, _)) => longest_alone(log, workers),
        Some((Class::Stealing, _)) => Advice::Coarser,
        Some((Class::Kernel, share)) => {
            Advice::FewerWorkers(((workers.len() as f64 * (1.0 - share)).floor() as usize).max(1))
        }
        None => Advice::None,
    };
    Verdict {
        busy: running as f64 / wall,
        workers: workers.len(),
        worst,
        kernel,
        crossed,
        advice,
        language: Language::of(log),
    }
}

/// What cost the most. Other programs are blamed only if they took more than everything that a change of this program
/// could win back: a wait for a core makes hand-offs longer, and would be taken for their cause.
pub(super) fn worst(share: impl Fn(Class) -> f64) -> Option<(Class, f64)> {
    let own = Class::ALL.into_iter().filter(|class| *class != Class::Kernel);
    let own: Vec<(Class, f64)> = own.map(|class| (class, share(class))).collect();
    let kernel = share(Class::Kernel);
    let sum: f64 = own.iter().map(|(_, share)| share).sum();
    if kernel > sum && kernel >= WORTH_SAYING {
        return Some((Class::Kernel, kernel));
    }
    // Each may be too small to report, and yet the sum is not.
    let most = own.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.filter(|_| sum >= WORTH_SAYING)
}

/// A slice shorter than this costs less than waking a thread on another worker.
const SHORT_NS: u64 = 10_000;
/// From this share on, wakes across workers are the problem of short slices: they cost not only gaps, but cache misses
/// on everything that another core has touched.
const MUCH_CROSSING: f64 = 0.2;

/// The share of wakes that crossed workers, if it is large and the slices are short.
fn crossed(log: &Log, workers: &[WorkerTime], edges: &[Edge]) -> Option<f64> {
    let events = log.workers.iter().flat_map(|worker| &worker.events);
    let wakes = events.filter(|at| at.event == Event::Wake && at.ns >= log.begin_ns).count();
    let crossing: u64 = edges.iter().filter(|edge| !edge.outside).map(|edge| edge.count).sum();
    let slices: usize = workers.iter().map(|worker| worker.slices.len()).sum();
    let running: u64 = workers.iter().map(|worker| worker.running_ns).sum();
    let share = crossing as f64 / wakes.max(1) as f64;
    let short = running / (slices as u64).max(1) < SHORT_NS;
    // Threads that only yield are rarely woken, so wakes cost them little.
    let often = crossing as f64 >= MUCH_CROSSING * slices as f64;
    (share >= MUCH_CROSSING && often && short && slices >= SLICES_MIN).then_some(share)
}

/// With fewer slices the shares are not reliable.
const SLICES_MIN: usize = 1000;

/// Whether the runtime's settings let idle workers steal.
fn moves_already(log: &Log) -> bool {
    log.about("policy").is_some_and(|policy| {
        policy.contains("migration: true")
            && !policy.contains("balance: None")
            && !policy.contains("balance: Share")
    })
}

/// Which threads to place together, so that fewer wakes cross workers.
fn together(log: &Log, workers: &[WorkerTime], worst: Option<&Edge>) -> Advice {
    let Some(worst) = worst else { return Advice::MoreWork };
    if worst.neighbours * 10 < worst.count * 8 {
        return Advice::Together(worst.from.clone(), worst.to.clone());
    }
    let threads: BTreeMap<u64, ()> = threads_of(log, workers, &worst.from).map(|n| (n, ())).collect();
    let numbers: Vec<u64> = threads.into_keys().collect();
    let size = numbers.len().div_ceil(workers.len().max(1)).max(1);
    let segments = numbers.chunks(size).filter_map(|part| Some((*part.first()?, *part.last()?))).collect();
    Advice::Segments(worst.from.clone(), segments)
}

/// The numbers of a label's members that ran.
fn threads_of<'a>(log: &'a Log, workers: &'a [WorkerTime], label: &'a str) -> impl Iterator<Item = u64> + 'a {
    let slices = workers.iter().flat_map(|worker| &worker.slices);
    slices.filter_map(move |slice| {
        let name = log.name(slice.thread);
        let (own, number) = labels::split(&name);
        number.filter(|_| own == label)
    })
}

/// The thread that ran longest while no other did, if that explains most of the lost time.
pub(super) fn longest_alone(log: &Log, workers: &[WorkerTime]) -> Advice {
    let slices = workers.iter().flat_map(|worker| &worker.slices);
    let mut edges: Vec<(u64, bool, u32)> =
        slices.flat_map(|s| [(s.begin_ns, true, s.thread), (s.end_ns, false, s.thread)]).collect();
    edges.sort_unstable();
    let mut running: Vec<u32> = Vec::new();
    let mut alone: HashMap<u32, u64> = HashMap::new();
    let mut since = 0;
    for (ns, begins, thread) in edges {
        if let [only] = running[..] {
            *alone.entry(only).or_default() += ns - since;
        }
        since = ns;
        if begins {
            running.push(thread);
        } else if let Some(place) = running.iter().position(|t| *t == thread) {
            running.swap_remove(place);
        }
    }
    let lost = |worker: &WorkerTime| worker.idle_ns(Class::Starved) + worker.idle_ns(Class::Misplaced);
    let lost: u64 = workers.iter().map(lost).sum();
    match alone.into_iter().max_by_key(|(thread, ns)| (*ns, *thread)) {
        Some((thread, ns)) if ns * 2 >= lost / (workers.len() as u64 - 1).max(1) => {
            Advice::Split(log.name(thread), ns)
        }
        _ => Advice::MoreWork,
    }
}

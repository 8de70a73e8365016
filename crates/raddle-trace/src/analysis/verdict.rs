//! Owns: the first sentence of a report: what cost the most, and one thing to do about it.
//! May use: `event`, `log`.
//! Never: advice without the figure that it is based on.

use super::blocked;
use super::convoy::{self, Convoy};
use super::edges::Edge;
use super::idle::Class;
use super::labels;
use super::language::{InLanguage, Language};
use super::path::Path;
use super::placement::{PinnedLoad, Placements, WaitedBeside};
use super::storm::{self, Storm};
use super::teams::{self, TeamAdvice, Teams};
use super::timeline::{Slice, WorkerTime};
use crate::event::{Event, StopReason};
use crate::log::{At, Log};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Losses below this share of the workers' time are not reported.
const WORTH_SAYING: f64 = 0.05;

/// With so large losses of its own, a program is told of these first: what others took changes from run to run.
const MUCH_OF_ITS_OWN: f64 = 0.15;

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
    /// The lock convoy, if that is the problem.
    pub convoy: Option<Convoy>,
    /// The wake storm, if it is worth reporting; it is the problem if the advice says so.
    pub storm: Option<Storm>,
    /// The share of the workers' time for which members of teams waited, if that is the problem.
    pub team: Option<f64>,
    /// What to do about it.
    pub advice: Advice,
    /// Whether all that ran, and the scheduler's own time, would have taken no longer on one worker.
    pub one_worker: bool,
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
    /// Members of this label sleep until a time comes, and nothing else is ready.
    Time(String),
    /// Members of this label wait for what others send them, and nothing else is ready.
    Peer(String),
    /// Steal less often: make the pieces larger.
    Coarser,
    /// The members of this label spawn so many threads, which run for so many nanoseconds each: make them larger.
    Larger(String, u64, u64),
    /// The members of this label make a call that blocks their worker, at this place, if that is known.
    Blocking(String, Option<String>),
    /// Use so many workers.
    FewerWorkers(usize),
    /// Nothing of this program: others take its cores.
    Elsewhere,
    /// Let a process do the work of this OS thread, which wakes members of that label.
    Inside(String, String),
    /// Members of this label queue for the lock at this place, if it is known: do less under it, or have several.
    Convoy(String, Option<String>),
    /// Wake one of the members of this label, who wait at this place, and not all.
    WakeOne(String, Option<String>),
    /// Members of teams wait for each other.
    Team(TeamAdvice),
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
            Advice::MoreWork => f.write_str("give it more parallel work"),
            Advice::Time(label) => {
                write!(f, "{label} sleep until a time comes, and nothing else is ready: it ends when they do")
            }
            Advice::Peer(label) => {
                write!(f, "{label} wait for descriptors, and nothing else is ready: it is their peers that take long")
            }
            Advice::Coarser => f.write_str("make the pieces of work larger: stealing one costs more than it saves"),
            Advice::Larger(label, count, ns) => {
                let each = crate::analysis::duration(*ns);
                write!(f, "make the pieces of work larger: {label} spawned {count} that ran for {each} each")
            }
            Advice::Blocking(label, place) => {
                let place = place.as_deref().unwrap_or("the call");
                if place.starts_with("`futex`") {
                    write!(f, "{label} waits for what is none of Raddle's, in {place}: use locks and channels ")?;
                    return f.write_str("that let others run, `raddle::sync` and `raddle::channel`");
                }
                write!(f, "let others run meanwhile: `raddle::blocking` around {place}, which blocks {label}")
            }
            Advice::Elsewhere => f.write_str("end the other programs, or trace again when they have ended"),
            Advice::FewerWorkers(n) => {
                write!(f, "use no more workers than there are free cores: RADDLE_WORKERS={n}")
            }
            Advice::Inside(from, to) => {
                write!(f, "let a process do the work of {from}, which wakes {to} from outside the workers")
            }
            Advice::Convoy(label, site) => {
                let place = at(site.as_deref());
                write!(f, "do less under the lock{place}, or have several of them, so that {label} need not queue")
            }
            Advice::WakeOne(label, _) => {
                write!(f, "wake one of {label}, or as many as can go on: `notify_one`, not `notify_all`")
            }
            Advice::Team(advice) => advice.fmt(f),
        }
    }
}

/// The words for a place, if it is known.
pub(super) fn at(site: Option<&str>) -> String {
    site.map_or_else(String::new, |site| format!(" at {site}"))
}

impl Verdict {
    /// The cause and the kind of advice, without figures: two traces of one program are to have the same.
    pub fn cause(&self) -> String {
        let class = match &self.advice {
            Advice::Convoy(..) => "lock convoy",
            Advice::WakeOne(..) => "wake storm",
            Advice::Team(TeamAdvice::Short(..)) => "small regions",
            Advice::Team(_) => "uneven teams",
            // Whether who waits for small pieces finds none, or has not stolen one yet, differs from run to run.
            Advice::Coarser | Advice::Larger(..) => Class::Stealing.name(),
            _ if self.crossed.is_some() => Class::HandOff.name(),
            _ => self.worst.map_or("none", |(class, _)| class.name()),
        };
        let label = |name: &str| labels::split(name).0.into_owned();
        let advice = match &self.advice {
            Advice::None => "nothing".to_owned(),
            Advice::Segments(one, _) => format!("segments of {one}"),
            Advice::Together(one, two) => format!("{one} and {two} together"),
            Advice::Migrate => "migrate".to_owned(),
            Advice::MakeMovable => "make movable".to_owned(),
            Advice::Spread(of) => format!("spread {of}"),
            Advice::Split(name, _) => format!("split {}", label(name)),
            Advice::MoreWork => "more work".to_owned(),
            Advice::Time(_) => "waits for time".to_owned(),
            Advice::Peer(_) => "waits for peers".to_owned(),
            Advice::Coarser | Advice::Larger(..) => "larger pieces".to_owned(),
            Advice::FewerWorkers(_) => "fewer workers".to_owned(),
            Advice::Elsewhere => "end others".to_owned(),
            Advice::Blocking(label, _) | Advice::Convoy(label, _) | Advice::WakeOne(label, _) => {
                label.clone()
            }
            Advice::Inside(from, to) => format!("{} inside, for {to}", label(from)),
            Advice::Team(advice) => advice.name().to_owned(),
        };
        format!("{class}: {advice}")
    }

    /// The advice in terms of the program's language.
    pub fn said_advice(&self) -> InLanguage<'_> {
        self.advice.in_language(self.language).or_on_one_worker(self.one_worker)
    }

    /// The finding, without the advice.
    pub fn finding(&self) -> String {
        let mut text = format!("{:.2} of {} workers busy", self.busy, self.workers);
        if let Some(share) = self.team {
            text += &format!("; {:.0} % of worker time is waits in teams, for other members", share * 100.0);
        } else if let Some(convoy) = &self.convoy {
            let (share, queue, place) = (convoy.share * 100.0, convoy.queue, at(convoy.site.as_deref()));
            text +=
                &format!("; {share:.0} % of worker time is lost in a lock convoy: on average {queue:.1} of ");
            text += &format!("{} wait for the lock{place}", convoy.label);
        } else if let (Some(storm), Advice::WakeOne(..)) = (&self.storm, &self.advice) {
            let share = storm.share * 100.0;
            text += &format!("; {share:.0} % of worker time is lost in a wake storm: {}", in_words(storm));
        } else if let Some(share) = self.crossed {
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
        if let Some(storm) = self.storm.as_ref().filter(|_| !matches!(self.advice, Advice::WakeOne(..))) {
            let share = storm.share * 100.0;
            text += &format!("; besides, {share:.0} % was a wake storm: {}", in_words(storm));
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
            write!(f, "; {}", self.said_advice())?;
        }
        Ok(())
    }
}

/// What a storm does.
fn in_words(storm: &Storm) -> String {
    let in_vain = storm.in_vain as f64 / storm.woken.max(1) as f64 * 100.0;
    format!(
        "{} times {} of {} were woken{}, and {in_vain:.0} % of them waited again at once",
        storm.events,
        (storm.woken + storm.events / 2) / storm.events.max(1),
        storm.label,
        at(storm.site.as_deref())
    )
}

pub(super) fn of(
    log: &Log,
    workers: &[WorkerTime],
    edges: &[Edge],
    (path, teams): (&Path, &Teams),
    by_time: &[(u32, At)],
) -> Verdict {
    let wall = log.wall_ns().max(1) as f64;
    let all = wall * workers.len().max(1) as f64;
    let running: u64 = workers.iter().map(|worker| worker.running_ns).sum();
    let ns_of = |class| workers.iter().map(|worker| worker.idle_ns(class)).sum::<u64>();
    let own = Class::OWN.map(ns_of).iter().sum::<u64>();
    let (beside, behind) = hand_offs_beside(workers, path);
    // Only if there is more of that kind: it is a queue at another worker, and not a moment in one.
    let behind = if ns_of(Class::Misplaced) as f64 >= WORTH_SAYING * all { behind } else { 0 };
    let is_serial = unavoidable_ns(workers) * 2 >= own;
    let share = |class| {
        let ns = match class {
            Class::Kernel | Class::Blocked => ns_of(class),
            Class::Starved if is_serial => own,
            _ if is_serial => 0,
            Class::HandOff => ns_of(class) - beside - behind,
            Class::Starved => ns_of(class) + beside,
            Class::Misplaced => ns_of(class) + behind,
            _ => ns_of(class),
        };
        ns as f64 / all
    };
    let blocked = Some(ns_of(Class::Blocked)).filter(|ns| {
        let is_much = *ns >= running || Class::OWN.iter().all(|class| *ns >= ns_of(*class));
        is_much && *ns as f64 >= WORTH_SAYING * all
    });
    // What a blocked worker keeps waiting is booked elsewhere: so this comes first.
    let blocked = blocked.map(|ns| (Class::Blocked, ns as f64 / all));
    let worst = blocked.or_else(|| worst(share).filter(|_| workers.len() > 1));
    let (worst, fine) = fine_beside_others(log, workers, worst, own as f64 / all);
    let kernel = Some(share(Class::Kernel)).filter(|share| *share >= WORTH_SAYING);
    let kernel = kernel.filter(|_| worst.is_some_and(|(class, _)| class != Class::Kernel));
    let team = teams::advice(teams, (all, own), WORTH_SAYING).filter(|_| blocked.is_none());
    let worst = worst.filter(|_| team.is_none());
    let named = Named::of(log, workers, by_time, worst);
    let crossed = crossed(log, workers, edges).filter(|_| blocked.is_none() && named.advice().is_none());
    let crossed = crossed.filter(|_| team.is_none());
    let share_of_team = team.as_ref().map(|(_, share)| *share);
    let advice = match team {
        Some((advice, _)) => Advice::Team(advice),
        None => advised(log, workers, edges, worst, (&named, crossed.is_some(), fine)),
    };
    Verdict {
        busy: running as f64 / wall,
        workers: workers.len(),
        worst,
        kernel,
        crossed,
        convoy: named.convoy,
        storm: named.storm,
        team: share_of_team,
        advice,
        one_worker: work_ns(workers) <= log.wall_ns(),
        language: Language::of(log),
    }
}

/// What to do about what cost the most.
fn advised(
    log: &Log,
    workers: &[WorkerTime],
    edges: &[Edge],
    worst: Option<(Class, f64)>,
    (named, is_crossed, fine): (&Named, bool, Option<Advice>),
) -> Advice {
    let inner = edges.iter().find(|edge| !edge.outside);
    match worst {
        Some((Class::Blocked, _)) => blocking(log, workers),
        _ if let Some(advice) = named.advice() => advice,
        _ if is_crossed => together(log, workers, inner),
        Some((Class::HandOff, _)) => match edges.first() {
            Some(edge) if edge.outside => Advice::Inside(edge.from.clone(), edge.to.clone()),
            _ => together(log, workers, inner),
        },
        Some((Class::Misplaced, _)) => misplaced(log, workers),
        Some((Class::Starved, _)) => sleepers(log, workers).unwrap_or_else(|| alone(log, workers)),
        _ if let Some(larger) = fine => larger,
        Some((Class::Stealing, _)) if costs_more_than_it_saves(workers) => coarser(log, workers),
        Some((Class::Stealing, _)) => alone(log, workers),
        Some((Class::Kernel, share)) => fewer(log, workers, share),
        None => Advice::None,
    }
}

/// What has a name of its own, whatever the class of the idle time that it makes.
struct Named {
    convoy: Option<Convoy>,
    storm: Option<Storm>,
    /// Whether that took a fourth of what ran: then it is the problem.
    most_is_storm: bool,
}

impl Named {
    fn of(log: &Log, workers: &[WorkerTime], by_time: &[(u32, At)], worst: Option<(Class, f64)>) -> Named {
        let running: u64 = workers.iter().map(|worker| worker.running_ns).sum();
        let storm = storm::of(log, by_time).filter(|storm| storm.share >= WORTH_SAYING);
        let most_is_storm = storm.as_ref().is_some_and(|storm| storm.cost_ns.saturating_mul(4) >= running);
        let is_own = worst.is_some_and(|(class, _)| Class::OWN.contains(&class)) && !most_is_storm;
        Named { convoy: convoy::of(log, workers).filter(|_| is_own), storm, most_is_storm }
    }

    fn advice(&self) -> Option<Advice> {
        let storm = self.storm.as_ref().filter(|_| self.most_is_storm);
        let storm = storm.map(|storm| Advice::WakeOne(storm.label.clone(), storm.site.clone()));
        let convoy = self.convoy.as_ref();
        storm.or_else(|| convoy.map(|convoy| Advice::Convoy(convoy.label.clone(), convoy.site.clone())))
    }
}

/// The time of hand-offs while something ran on the critical path, and while that waited for a turn. However fast they
/// were, the program would not have ended sooner: these workers waited for what ran there, or would have had nothing of
/// what waited. A consumer that its producer keeps waiting is woken for each item, and how much of its idle time the
/// wakes take differs between two runs; what it waits for does not.
fn hand_offs_beside(workers: &[WorkerTime], path: &Path) -> (u64, u64) {
    let (mut beside, mut behind) = (0, 0);
    for gap in workers.iter().flat_map(|worker| &worker.gaps) {
        let mut at = gap.begin_ns;
        for (class, ns) in &gap.parts {
            if *class == Class::HandOff {
                let runs = path.runs_within(at, at + ns);
                beside += runs;
                behind += path.waits_for_turn_within(at, at + ns).min(ns - runs);
            }
            at += ns;
        }
    }
    (beside, behind)
}

/// The idle time that would be there if every hand-off and every steal took no time: a thread can use one worker only,
/// and so the program takes as long as its longest thread runs.
fn unavoidable_ns(workers: &[WorkerTime]) -> u64 {
    let mut by_thread: HashMap<u32, u64> = HashMap::new();
    for slice in workers.iter().flat_map(|worker| &worker.slices) {
        *by_thread.entry(slice.thread).or_default() += slice.ns();
    }
    let (longest, all) = (by_thread.values().max().copied().unwrap_or(0), by_thread.values().sum::<u64>());
    longest.saturating_mul(workers.len() as u64).saturating_sub(all)
}

/// What to do about threads that waited beside an idle worker.
fn misplaced(log: &Log, workers: &[WorkerTime]) -> Advice {
    let placements = Placements::of(log);
    match placements.waited_while_idle(log, workers) {
        WaitedBeside::Placed(PinnedLoad::Unevenly(label)) => Advice::Spread(label),
        // These threads may not move, and are distributed evenly already.
        WaitedBeside::Placed(PinnedLoad::Evenly) => alone(log, workers),
        _ if !moves_already(log) => Advice::Migrate,
        WaitedBeside::Light => Advice::MakeMovable,
        // They could move, and it took too long.
        WaitedBeside::Movable => coarser(log, workers),
    }
}

/// Whether to steal takes about as long as what is stolen then runs.
fn costs_more_than_it_saves(workers: &[WorkerTime]) -> bool {
    let (mut stealing, mut ran) = (0, 0);
    for worker in workers {
        for gap in worker.gaps.iter().filter(|gap| gap.stole) {
            let slice = worker.slices.partition_point(|slice| slice.begin_ns < gap.end_ns);
            ran += worker.slices.get(slice).map_or(0, Slice::ns);
            stealing += gap
                .parts
                .iter()
                .filter(|(class, _)| *class == Class::Stealing)
                .map(|part| part.1)
                .sum::<u64>();
        }
    }
    stealing * 2 >= ran
}

/// What to do about calls that block their worker: those that took most, at the place that took most of it.
fn blocking(log: &Log, workers: &[WorkerTime]) -> Advice {
    let totals = blocked::totals(log, workers);
    let Some((label, ..)) = totals.first() else { return Advice::None };
    let place = totals.iter().filter(|(of, ..)| of == label).find_map(|(_, place, _)| place.clone());
    Advice::Blocking(label.clone(), place)
}

/// What to do about other programs. With fewer workers all of this one's work is on these: that helps only if there
/// are too few cores in any case, or if the figures say so.
fn fewer(log: &Log, workers: &[WorkerTime], share: f64) -> Advice {
    let cores = log.about("cores").and_then(|cores| cores.parse::<usize>().ok()).filter(|cores| *cores > 0);
    if let Some(cores) = cores.filter(|cores| *cores < workers.len()) {
        return Advice::FewerWorkers(cores);
    }
    let free = ((workers.len() as f64 * (1.0 - share)).floor() as usize).max(1);
    let (work, wall) = (work_ns(workers), log.wall_ns());
    if work / (free as u64) < wall - wall / 20 { Advice::FewerWorkers(free) } else { Advice::Elsewhere }
}

/// All that ran, and the scheduler's own time.
fn work_ns(workers: &[WorkerTime]) -> u64 {
    workers.iter().map(|worker| worker.running_ns + worker.overhead_ns).sum()
}

/// What cost the most. Other programs are blamed only if they took more than everything that a change of this program
/// could win back, and that is little: a wait for a core makes hand-offs longer, and would be taken for their cause.
pub(super) fn worst(share: impl Fn(Class) -> f64) -> Option<(Class, f64)> {
    let own = Class::OWN.map(|class| (class, share(class)));
    let kernel = share(Class::Kernel);
    let sum: f64 = own.iter().map(|(_, share)| share).sum();
    if kernel > sum && kernel >= WORTH_SAYING && sum < MUCH_OF_ITS_OWN {
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

/// The share of wakes that crossed workers, if it is large and most of the time went into short slices.
fn crossed(log: &Log, workers: &[WorkerTime], edges: &[Edge]) -> Option<f64> {
    let events = log.workers.iter().flat_map(|worker| &worker.events);
    let wakes = events.filter(|at| at.event == Event::Wake && at.ns >= log.begin_ns).count();
    let crossing: u64 = edges.iter().filter(|edge| !edge.outside).map(|edge| edge.count).sum();
    let slices = || workers.iter().flat_map(|worker| &worker.slices);
    let (count, ran) = (slices().count(), slices().map(Slice::ns).sum::<u64>());
    let share = crossing as f64 / wakes.max(1) as f64;
    let in_short: u64 = slices().map(Slice::ns).filter(|ns| *ns < SHORT_NS).sum();
    // Threads that only yield are rarely woken, so wakes cost them little.
    let often = crossing as f64 >= MUCH_CROSSING * count as f64;
    (share >= MUCH_CROSSING && often && in_short * 2 > ran && count >= SLICES_MIN).then_some(share)
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
        // Who takes longer to come, on the way there or back, is left to chance.
        let [one, two] =
            if worst.from <= worst.to { [&worst.from, &worst.to] } else { [&worst.to, &worst.from] };
        return Advice::Together(one.clone(), two.clone());
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

/// What to do about workers that had nothing to run: split what ran alone, or have it make larger pieces.
pub(super) fn alone(log: &Log, workers: &[WorkerTime]) -> Advice {
    match longest_alone(log, workers) {
        Some(alone) => larger(log, workers, &alone).unwrap_or(Advice::Split(alone.name, alone.ns)),
        None => Advice::MoreWork,
    }
}

/// What to do about pieces of work that are not worth a steal: who makes them is told, if the trace says who.
fn coarser(log: &Log, workers: &[WorkerTime]) -> Advice {
    longest_alone(log, workers).and_then(|alone| larger(log, workers, &alone)).unwrap_or(Advice::Coarser)
}

/// What ran while no other thread did.
struct Alone {
    label: String,
    /// The thread, if most of that time was its own, else the label.
    name: String,
    ns: u64,
}

/// The label that ran longest while no other thread did, if that explains much of the lost time. The label, and not a
/// thread: which of several equal threads is the last differs between two runs.
fn longest_alone(log: &Log, workers: &[WorkerTime]) -> Option<Alone> {
    let slices = workers.iter().flat_map(|worker| &worker.slices);
    let mut edges: Vec<(u64, bool, u32)> =
        slices.flat_map(|s| [(s.begin_ns, true, s.thread), (s.end_ns, false, s.thread)]).collect();
    edges.sort_unstable();
    let mut running: Vec<u32> = Vec::new();
    let mut by_thread: HashMap<u32, u64> = HashMap::new();
    let mut since = 0;
    for (ns, begins, thread) in edges {
        if let [only] = running[..] {
            *by_thread.entry(only).or_default() += ns - since;
        }
        since = ns;
        if begins {
            running.push(thread);
        } else if let Some(place) = running.iter().position(|t| *t == thread) {
            running.swap_remove(place);
        }
    }
    // Of each label: the sum, and the thread with the most of it.
    let mut by_label: BTreeMap<String, (u64, u64, u32)> = BTreeMap::new();
    for (thread, ns) in by_thread {
        let of = by_label.entry(labels::split(&log.name(thread)).0.into_owned()).or_default();
        *of = (of.0 + ns, of.1.max(ns), if (ns, thread) > (of.1, of.2) { thread } else { of.2 });
    }
    let (label, (ns, most, thread)) = by_label.into_iter().max_by_key(|(_, of)| of.0)?;
    let lost = |worker: &WorkerTime| worker.idle_total_ns() - worker.idle_ns_in_gaps(Class::Kernel);
    let lost: u64 = workers.iter().map(lost).sum();
    let name = if most >= ns - ns / 4 { log.name(thread) } else { label.clone() };
    (ns >= lost / (workers.len() as u64 - 1).max(1) / 4).then_some(Alone { label, name, ns })
}

/// Pieces that run for less cost more than they do, whoever else has a core.
const FINE_NS: u64 = 2_000;

/// Where others seem to cost the most: whether the pieces are what the program is to be told of, with that advice.
fn fine_beside_others(
    log: &Log,
    workers: &[WorkerTime],
    worst: Option<(Class, f64)>,
    own: f64,
) -> (Option<(Class, f64)>, Option<Advice>) {
    let is_others = own >= WORTH_SAYING && worst.is_some_and(|(class, _)| class == Class::Kernel);
    let alone = if is_others { longest_alone(log, workers) } else { None };
    let is_fine = |advice: &Advice| matches!(advice, Advice::Larger(_, _, mean) if *mean < FINE_NS);
    let fine = alone.and_then(|alone| larger(log, workers, &alone)).filter(is_fine);
    (if fine.is_some() { Some((Class::Stealing, own)) } else { worst }, fine)
}

/// Three quarters of something.
fn is_most(part: u64, of: u64) -> bool {
    of > 0 && u128::from(part) * 4 >= u128::from(of) * 3
}

/// If workers idled together, for the most part, until a time came, or until a peer did something: who waited for that.
fn sleepers(log: &Log, workers: &[WorkerTime]) -> Option<Advice> {
    let slices = workers.iter().flat_map(|worker| &worker.slices);
    let mut last_stops: HashMap<u32, Vec<(u64, StopReason)>> = HashMap::new();
    for slice in slices.clone() {
        last_stops.entry(slice.thread).or_default().push((slice.end_ns, slice.stopped));
    }
    last_stops.values_mut().for_each(|stops| stops.sort_unstable_by_key(|(ns, _)| *ns));
    let last_stop = |thread: u32, ns: u64| {
        let stops = last_stops.get(&thread)?;
        stops[..stops.partition_point(|(ended, _)| *ended <= ns)].last().map(|last| last.1)
    };
    let (mut all, mut ended) = (0, 0);
    // Who slept, and who waited for a descriptor.
    let mut waits =
        [StopReason::Sleep, StopReason::Descriptor].map(|why| (why, 0, BTreeMap::<String, u64>::new()));
    for gap in workers.iter().flat_map(|worker| &worker.gaps) {
        all += gap.ns();
        ended += if gap.after == 0 { 0 } else { gap.ns() };
        let why = last_stop(gap.after, gap.end_ns);
        if let Some((_, waited, by_label)) = waits.iter_mut().find(|wait| Some(wait.0) == why) {
            *waited += gap.ns();
            *by_label.entry(labels::split(&log.name(gap.after)).0.into_owned()).or_default() += gap.ns();
        }
    }
    let mut ran: Vec<(u64, u64)> = slices.map(|slice| (slice.begin_ns, slice.end_ns)).collect();
    ran.sort_unstable();
    let (mut busy, mut until) = (0, 0);
    for (begin, end) in ran {
        busy += end.saturating_sub(begin.max(until));
        until = until.max(end);
    }
    let together = log.wall_ns().saturating_sub(busy).saturating_mul(workers.len() as u64);
    if !is_most(together, all) {
        return None;
    }
    let (why, _, by_label) = waits.into_iter().find(|(_, waited, _)| is_most(*waited, ended))?;
    let (label, _) = by_label.into_iter().max_by_key(|(_, ns)| *ns)?;
    Some(if why == StopReason::Sleep { Advice::Time(label) } else { Advice::Peer(label) })
}

/// How often what is named so, or has that label, ran while no other thread did, if for as long as a wake takes.
pub(super) fn times_alone(log: &Log, workers: &[WorkerTime], name: &str, wake_ns: u64) -> u64 {
    let slices = workers.iter().flat_map(|worker| &worker.slices);
    let mut edges: Vec<(u64, bool, u32)> =
        slices.flat_map(|s| [(s.begin_ns, true, s.thread), (s.end_ns, false, s.thread)]).collect();
    edges.sort_unstable();
    let is_it = |thread: u32| {
        let own = log.name(thread);
        own == name || labels::split(&own).0 == name
    };
    let (mut running, mut since, mut times): (Vec<u32>, u64, u64) = (Vec::new(), 0, 0);
    for (ns, begins, thread) in edges {
        if let [only] = running[..]
            && ns - since >= wake_ns
            && is_it(only)
        {
            times += 1;
        }
        since = ns;
        if begins {
            running.push(thread);
        } else if let Some(place) = running.iter().position(|t| *t == thread) {
            running.swap_remove(place);
        }
    }
    times
}

/// From so many pieces on, their mean is reliable.
const PIECES_MIN: u64 = 200;

/// The advice to make larger pieces, if what ran alone did little but spawn threads that run for a moment.
fn larger(log: &Log, workers: &[WorkerTime], alone: &Alone) -> Option<Advice> {
    let mut is_spawner: HashMap<u32, bool> = HashMap::new();
    let mut pieces: HashMap<u32, u64> = HashMap::new();
    for worker in &log.workers {
        let mut running = 0;
        for at in &worker.events {
            match at.event {
                Event::Switch => running = at.a,
                Event::Spawn => {
                    let is_it = is_spawner
                        .entry(running)
                        .or_insert_with(|| labels::split(&log.name(running)).0 == alone.label);
                    if *is_it {
                        pieces.insert(at.a, 0);
                    }
                }
                _ => (),
            }
        }
    }
    for slice in workers.iter().flat_map(|worker| &worker.slices) {
        if let Some(ran) = pieces.get_mut(&slice.thread) {
            *ran += slice.ns();
        }
    }
    let count = pieces.len() as u64;
    let mean = pieces.values().sum::<u64>() / count.max(1);
    let is_fine = count >= PIECES_MIN && mean < SHORT_NS && alone.ns / count < SHORT_NS;
    is_fine.then(|| Advice::Larger(alone.label.clone(), count, mean))
}

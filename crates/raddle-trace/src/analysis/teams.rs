//! Owns: what is said of teams: how evenly their regions are shared out, where members wait, what tasks take.
//! May use: `event`, `log`.
//! Never: work that is not a member's own; what it runs while it waits at a barrier is work, and no wait.
//!
//! A member of a team that fits the workers spins at a barrier for a while, so a worker's time does not show that it
//! waits. The program's own steps do: a member enters a region, waits at its barriers, runs tasks above either, and
//! comes to the region's end, where it waits for the last one. It works while it runs and does not wait.

use super::duration;
use crate::event::{Event, unpack};
use crate::log::{At, Log};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// All regions of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamRegion {
    /// Its construct and place: `region of main (sum.c:12)`.
    pub name: String,
    /// How often it was entered.
    pub times: u64,
    /// How many members it had, at most.
    pub members: u64,
    /// From the first member's begin to the last one's end, all times together, in nanoseconds.
    pub wall_ns: u64,
    /// How long all its members worked.
    pub busy_ns: u64,
    /// How long those worked who did most, each time.
    pub most_ns: u64,
    /// How long they would have, had all done as much.
    pub mean_ns: u64,
    /// How long members waited in it: at barriers, for tasks, at its end.
    pub waited_ns: u64,
    /// The member that most often did most, and how often.
    pub busiest: (u32, u64),
}

/// All waits of members at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamWait {
    /// `barrier in main (sum.c:20)`.
    pub name: String,
    /// How often a member waited there.
    pub count: u64,
    /// For how long together, in nanoseconds; without tasks that it ran meanwhile.
    pub waited_ns: u64,
    /// The member that most often came last, in how many of how many rounds, if several waited together.
    pub last: Option<(u32, u64, u64)>,
}

/// All tasks of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamTask {
    /// `task of fib (fib.c:7)`.
    pub name: String,
    /// How many have ended.
    pub count: u64,
    /// How long they ran together, in nanoseconds; without other tasks that ran above them, and without waits.
    pub ran_ns: u64,
}

/// What is known of teams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teams {
    /// Those in which most was waited first.
    pub regions: Vec<TeamRegion>,
    /// Most time first.
    pub waits: Vec<TeamWait>,
    /// Most time first.
    pub tasks: Vec<TeamTask>,
}

impl TeamRegion {
    /// How many times the mean those did who did most.
    pub fn ratio(&self) -> f64 {
        self.most_ns as f64 / self.mean_ns.max(1) as f64
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Region,
    Wait,
    Task,
}

/// Something that a thread is in.
struct Frame {
    kind: StepKind,
    name: u32,
    member: u32,
    region: u32,
    begin_ns: u64,
    /// How long it worked there, or waited.
    ns: u64,
}

#[derive(Default)]
struct MemberFlow {
    since_ns: u64,
    is_running: bool,
    frames: Vec<Frame>,
}

/// What one member did in one region.
#[derive(Default)]
struct MemberPart {
    begin_ns: u64,
    end_ns: u64,
    busy_ns: u64,
    waited_ns: u64,
    /// Tasks that it ran when it had come to the end.
    late_ns: u64,
}

/// One region, once.
#[derive(Default)]
struct Once {
    name: u32,
    end_ns: u64,
    members: BTreeMap<u32, MemberPart>,
}

#[derive(Default)]
struct TeamWalk {
    flows: HashMap<u32, MemberFlow>,
    regions: HashMap<u32, Once>,
    /// By name: how often, how long.
    waits: HashMap<u32, (u64, u64)>,
    tasks: HashMap<u32, (u64, u64)>,
    /// How often each member of a region has come to a wait; and who came last in each round there, how many did.
    passed: HashMap<(u32, u32, u32), u32>,
    rounds: HashMap<(u32, u32, u32), (u64, u32, u32)>,
}

impl MemberFlow {
    /// Until now it has done what its last frame is.
    fn advance(&mut self, ns: u64, regions: &mut HashMap<u32, Once>) {
        let elapsed = ns.saturating_sub(std::mem::replace(&mut self.since_ns, ns));
        let is_running = self.is_running;
        let Some(last) = self.frames.last_mut() else { return };
        if last.kind == StepKind::Wait {
            last.ns += elapsed;
            return;
        }
        if !is_running {
            return;
        }
        if last.kind == StepKind::Task {
            last.ns += elapsed;
            let (region, member) = (last.region, last.member);
            let is_within = |frame: &Frame| frame.kind == StepKind::Region && frame.region == region;
            if !self.frames.iter().any(is_within) {
                let part = regions.entry(region).or_default().members.entry(member).or_default();
                part.late_ns += elapsed;
            }
        }
        self.frames
            .iter_mut()
            .filter(|frame| frame.kind == StepKind::Region)
            .for_each(|frame| frame.ns += elapsed);
    }
}

impl TeamWalk {
    fn begin(&mut self, thread: u32, kind: StepKind, at: &At) {
        let (member, region) = unpack(at.b);
        let member = member.into();
        let flow = self.flows.entry(thread).or_default();
        flow.advance(at.ns, &mut self.regions);
        flow.is_running = true;
        flow.frames.push(Frame { kind, name: at.a, member, region, begin_ns: at.ns, ns: 0 });
        if kind == StepKind::Wait {
            let passed = self.passed.entry((region, at.a, member)).or_default();
            let round = self.rounds.entry((region, at.a, *passed)).or_default();
            *passed += 1;
            // Those who come are met in the order of time.
            *round = (at.ns, member, round.2 + 1);
        }
    }

    fn end(&mut self, thread: u32, kind: StepKind, at: &At) {
        let flow = self.flows.entry(thread).or_default();
        flow.advance(at.ns, &mut self.regions);
        let place = flow.frames.iter().rposition(|frame| frame.kind == kind && frame.name == at.a);
        // One whose begin was overwritten.
        let Some(place) = place else { return };
        let frame = flow.frames.remove(place);
        let once = self.regions.entry(frame.region).or_default();
        once.end_ns = once.end_ns.max(at.ns);
        let part = once.members.entry(frame.member).or_default();
        let count = match kind {
            StepKind::Region => {
                once.name = frame.name;
                (part.begin_ns, part.end_ns) = (frame.begin_ns, at.ns);
                part.busy_ns += frame.ns;
                return;
            }
            StepKind::Wait => {
                part.waited_ns += frame.ns;
                self.waits.entry(frame.name).or_default()
            }
            StepKind::Task => self.tasks.entry(frame.name).or_default(),
        };
        *count = (count.0 + 1, count.1 + frame.ns);
    }
}

fn step_of(event: Event) -> Option<(StepKind, bool)> {
    Some(match event {
        Event::RegionBegin => (StepKind::Region, true),
        Event::RegionEnd => (StepKind::Region, false),
        Event::BarrierBegin => (StepKind::Wait, true),
        Event::BarrierEnd => (StepKind::Wait, false),
        Event::TaskBegin => (StepKind::Task, true),
        Event::TaskEnd => (StepKind::Task, false),
        _ => return None,
    })
}

pub(super) fn of(log: &Log, by_time: &[(u32, At)]) -> Teams {
    if !by_time.iter().any(|(_, at)| at.event == Event::RegionBegin) {
        return Teams::default();
    }
    let mut walk = TeamWalk::default();
    let mut running: HashMap<u32, u32> = HashMap::new();
    for (worker, at) in by_time {
        if at.event == Event::Switch {
            let before = running.insert(*worker, at.a).unwrap_or(0);
            for (thread, runs) in [(before, false), (at.a, true)] {
                if let Some(flow) = walk.flows.get_mut(&thread) {
                    flow.advance(at.ns, &mut walk.regions);
                    flow.is_running = runs;
                }
            }
        } else if let Some((kind, begins)) = step_of(at.event) {
            let thread = running.get(worker).copied().unwrap_or(0);
            if begins { walk.begin(thread, kind, at) } else { walk.end(thread, kind, at) }
        }
    }
    walk.told(log)
}

/// The one with the largest count.
fn most(counts: &BTreeMap<u32, u64>) -> (u32, u64) {
    counts.iter().map(|(member, count)| (*member, *count)).max_by_key(|(_, count)| *count).unwrap_or_default()
}

impl TeamWalk {
    fn told(self, log: &Log) -> Teams {
        let mut regions: BTreeMap<u32, (TeamRegion, BTreeMap<u32, u64>)> = BTreeMap::new();
        let mut ends: BTreeMap<u32, TeamWait> = BTreeMap::new();
        for once in self.regions.values().filter(|once| once.name != 0) {
            let fresh = || {
                let name = log.string(once.name);
                let region = TeamRegion {
                    name,
                    times: 0,
                    members: 0,
                    wall_ns: 0,
                    busy_ns: 0,
                    most_ns: 0,
                    mean_ns: 0,
                    waited_ns: 0,
                    busiest: (0, 0),
                };
                (region, BTreeMap::new())
            };
            let (region, busiest) = regions.entry(once.name).or_insert_with(fresh);
            let end = ends.entry(once.name).or_insert_with(|| TeamWait {
                name: format!("end of the {}", log.string(once.name)),
                count: 0,
                waited_ns: 0,
                last: None,
            });
            add(once, region, busiest, end);
        }
        let mut told = Teams {
            regions: regions
                .into_values()
                .filter(|(region, _)| region.times > 0)
                .map(|(region, busiest)| TeamRegion { busiest: most(&busiest), ..region })
                .collect(),
            waits: ends.into_values().filter(|end| end.waited_ns > 0).chain(self.told_waits(log)).collect(),
            tasks: self
                .tasks
                .iter()
                .map(|(name, (count, ran_ns))| TeamTask {
                    name: log.string(*name),
                    count: *count,
                    ran_ns: *ran_ns,
                })
                .collect(),
        };
        told.regions.sort_by(|a, b| b.waited_ns.cmp(&a.waited_ns).then_with(|| a.name.cmp(&b.name)));
        told.waits.sort_by(|a, b| b.waited_ns.cmp(&a.waited_ns).then_with(|| a.name.cmp(&b.name)));
        told.tasks.sort_by(|a, b| b.ran_ns.cmp(&a.ran_ns).then_with(|| a.name.cmp(&b.name)));
        told
    }

    fn told_waits(&self, log: &Log) -> Vec<TeamWait> {
        let mut last: BTreeMap<u32, (u64, BTreeMap<u32, u64>)> = BTreeMap::new();
        for ((_, name, _), (_, member, came)) in &self.rounds {
            if *came > 1 {
                let (rounds, by_member) = last.entry(*name).or_default();
                *rounds += 1;
                *by_member.entry(*member).or_default() += 1;
            }
        }
        let one = |(name, (count, waited_ns)): (&u32, &(u64, u64))| {
            let last = last.get(name).map(|(rounds, by_member)| {
                let (member, times) = most(by_member);
                (member, times, *rounds)
            });
            TeamWait { name: log.string(*name), count: *count, waited_ns: *waited_ns, last }
        };
        self.waits.iter().map(one).collect()
    }
}

/// One time more. Of members whose begin or end is not in the trace nothing is known.
fn add(once: &Once, region: &mut TeamRegion, busiest: &mut BTreeMap<u32, u64>, end: &mut TeamWait) {
    let whole = || once.members.iter().filter(|(_, part)| part.end_ns != 0);
    let did = |part: &MemberPart| part.busy_ns.saturating_add(part.late_ns);
    let count = whole().count() as u64;
    let Some(begin) = whole().map(|(_, part)| part.begin_ns).min() else { return };
    let all = whole().map(|(_, part)| did(part)).fold(0_u64, u64::saturating_add);
    let sum = |total: &mut u64, more: u64| *total = total.saturating_add(more);
    region.times += 1;
    region.members = region.members.max(count);
    sum(&mut region.wall_ns, once.end_ns.saturating_sub(begin));
    sum(&mut region.busy_ns, all);
    sum(&mut region.mean_ns, all / count);
    if let Some((member, part)) = whole().max_by_key(|(_, part)| did(part)) {
        sum(&mut region.most_ns, did(part));
        *busiest.entry(*member).or_default() += 1;
    }
    for (_, part) in whole() {
        let at_end = once.end_ns.saturating_sub(part.end_ns.saturating_add(part.late_ns));
        sum(&mut region.waited_ns, part.waited_ns.saturating_add(at_end));
        end.count += 1;
        sum(&mut end.waited_ns, at_end);
    }
}

/// What to do about members that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamAdvice {
    /// In this region one member did this percentage of the mean, and the others waited so long for it.
    Uneven(String, u32, u64, u64),
    /// At this barrier members waited for the last one, so often, and for so long each.
    Apart(String, u64, u64),
    /// This region takes so long, and its members wait for so much of the team's time, in percent.
    Short(String, u64, u64),
}

impl TeamAdvice {
    /// Where to do something.
    pub(super) fn name(&self) -> &str {
        match self {
            TeamAdvice::Uneven(name, ..) | TeamAdvice::Apart(name, ..) | TeamAdvice::Short(name, ..) => name,
        }
    }
}

impl fmt::Display for TeamAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TeamAdvice::Uneven(region, member, percent, ns) => {
                let (ratio, waited) = (*percent as f64 / 100.0, duration(*ns));
                write!(
                    f,
                    "share out the {region} more evenly: member {member} did {ratio:.2} times the mean, and others "
                )?;
                write!(f, "waited {waited} for it; `schedule(dynamic)` or `guided`, or tasks")
            }
            TeamAdvice::Apart(wait, count, ns) => {
                let each = duration(*ns);
                write!(
                    f,
                    "members come apart to the {wait}: {count} waits of {each}; share out more evenly what lies "
                )?;
                f.write_str("before it, or do without it (`nowait`)")
            }
            TeamAdvice::Short(region, ns, percent) => {
                let each = duration(*ns);
                write!(
                    f,
                    "make the {region} larger, or have fewer barriers in it: it takes {each}, and members wait "
                )?;
                write!(f, "for {percent} % of that")
            }
        }
    }
}

/// With less than this between members the barrier itself is what costs.
const APART_NS: u64 = 20_000;

/// The share of all workers' time that members waited, if that is worth saying and explains half of what was lost; and
/// what to do about it.
pub(super) fn advice(teams: &Teams, (all_ns, lost_ns): (f64, u64), worth: f64) -> Option<(TeamAdvice, f64)> {
    let waited: u64 = teams.regions.iter().map(|region| region.waited_ns).sum();
    let share = waited as f64 / all_ns;
    let region = teams.regions.first()?;
    if share < worth || waited < lost_ns / 2 {
        return None;
    }
    let wait = teams.waits.first()?;
    let ratio = region.ratio();
    let team_ns = region.wall_ns.saturating_mul(region.members.max(1));
    let advice = if ratio >= 1.1 {
        TeamAdvice::Uneven(
            region.name.clone(),
            region.busiest.0,
            (ratio * 100.0).round() as u64,
            region.waited_ns,
        )
    } else if wait.waited_ns / wait.count.max(1) >= APART_NS {
        TeamAdvice::Apart(wait.name.clone(), wait.count, wait.waited_ns / wait.count.max(1))
    } else {
        let each = region.wall_ns / region.times.max(1);
        TeamAdvice::Short(region.name.clone(), each, region.waited_ns.saturating_mul(100) / team_ns.max(1))
    };
    Some((advice, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Advice, Analysis};
    use crate::event::{StopReason, pack};
    use crate::log::tests::Script;

    /// Two members on two workers: one works for 900, meets the other at a barrier, and both end; the other for 100.
    fn uneven() -> Script {
        let mut script = Script::new(2, 1_000_000);
        for worker in [0, 1] {
            script.switch(worker, 0, StopReason::None, worker + 1);
        }
        let mut step = |worker: u32, us: u64, event, name| {
            script.put(worker, us * 1000, event, name, pack(worker as u8, 7));
        };
        step(0, 10, Event::RegionBegin, 5);
        step(1, 10, Event::RegionBegin, 5);
        step(1, 110, Event::BarrierBegin, 6);
        // While it waits there, it runs a task.
        step(1, 200, Event::TaskBegin, 8);
        step(1, 300, Event::TaskEnd, 8);
        step(0, 910, Event::BarrierBegin, 6);
        step(0, 911, Event::BarrierEnd, 6);
        step(1, 911, Event::BarrierEnd, 6);
        step(0, 912, Event::RegionEnd, 5);
        step(1, 932, Event::RegionEnd, 5);
        for worker in [0, 1] {
            script.switch(worker, 1_000_000, StopReason::Exit, 0);
        }
        script
    }

    #[test]
    fn who_waits_for_whom_is_told() {
        let analysis = Analysis::of(&uneven().log());
        let [region] = &analysis.teams.regions[..] else { panic!("one region") };
        // Member 0: 900 before the barrier, 1 behind. Member 1: 100, the task's 100, and 21.
        assert_eq!((region.times, region.members, region.wall_ns), (1, 2, 922_000));
        assert_eq!((region.most_ns, region.busy_ns), (901_000, 901_000 + 221_000));
        assert_eq!(region.busiest, (0, 1));
        // 801 without the task's 100, 1 of member 0, and 20 at the end.
        assert_eq!(region.waited_ns, 701_000 + 1_000 + 20_000);
        let [barrier, end] = &analysis.teams.waits[..] else { panic!("two places") };
        assert_eq!((barrier.count, barrier.waited_ns, barrier.last), (2, 702_000, Some((0, 1, 1))));
        assert_eq!((end.count, end.waited_ns), (2, 20_000));
        assert_eq!((analysis.teams.tasks[0].count, analysis.teams.tasks[0].ran_ns), (1, 100_000));
        let Advice::Team(TeamAdvice::Uneven(_, member, percent, _)) = analysis.verdict.advice else {
            panic!("{}", analysis.verdict)
        };
        assert_eq!((member, percent), (0, 161));
        assert!(analysis.verdict.to_string().contains("waits in teams"), "{}", analysis.verdict);
    }

    #[test]
    fn a_member_whose_begin_is_not_in_the_trace_is_left_out() {
        let mut script = Script::new(2, 2_000_000_000);
        for worker in [0, 1] {
            script.switch(worker, 0, StopReason::None, worker + 1);
        }
        let mut step = |worker: u32, us: u64, event, name| {
            script.put(worker, (us + 1_000_000) * 1000, event, name, pack(worker as u8, 7));
        };
        step(0, 10, Event::RegionBegin, 5);
        step(1, 110, Event::BarrierBegin, 6);
        step(0, 120, Event::BarrierBegin, 6);
        step(0, 121, Event::BarrierEnd, 6);
        step(1, 121, Event::BarrierEnd, 6);
        step(0, 912, Event::RegionEnd, 5);
        step(1, 913, Event::RegionEnd, 5);
        let analysis = Analysis::of(&script.log());
        let [region] = &analysis.teams.regions[..] else { panic!("one region") };
        assert_eq!((region.times, region.members, region.wall_ns), (1, 1, 902_000));
        assert_eq!(region.waited_ns, 1_000);
    }

    #[test]
    fn a_program_without_teams_has_none() {
        let mut script = Script::new(1, 1000);
        script.switch(0, 0, StopReason::None, 1).switch(0, 900, StopReason::Exit, 0);
        assert_eq!(Analysis::of(&script.log()).teams, Teams::default());
    }
}

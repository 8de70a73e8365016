//! Owns: how many threads a region gets; a region's begin, body, end.
//! May use: `abi`, `icv`, `micro`, `told`, `raddle-core`.
//! Never: a barrier.

use crate::engine::affinity;
use crate::engine::bound::Binding;
use crate::engine::member::{Member, me};
use crate::engine::place;
use crate::engine::team::{Preset, RegionWork, Team};
use crate::icv::{Icv, processors, settings};
use crate::told::{self, Construct, ProgramSite};
use raddle_core::door::team::default_spin;
use raddle_core::trace::TeamStep;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How many threads a region has that asks for so many; 0 asks for none.
pub(crate) fn count_for(member: &Member, wanted: u32) -> u32 {
    let pushed = member.pushed.replace(0);
    let icv = member.task().icv.get();
    let team = member.team();
    let wanted = match (pushed, wanted) {
        (0, 0) => icv.threads,
        (0, wanted) | (wanted, _) => wanted,
    };
    if team.active.get() >= icv.levels_max {
        return 1;
    }
    let wanted = if icv.is_dynamic { wanted.min(processors() as u32) } else { wanted };
    wanted.min(icv.limit).clamp(1, 1 << 14)
}

fn spin_set() -> Option<u64> {
    static SET: OnceLock<Option<u64>> = OnceLock::new();
    *SET.get_or_init(|| std::env::var("OPENMP_SPIN").ok().and_then(|text| text.parse().ok()))
}

/// Whether who waits may find out for how long to spin.
pub(crate) fn spin_adapts() -> bool {
    spin_set().is_none()
}

/// How long members of a team of so many spin.
fn spin_of(count: u32) -> Duration {
    thread_local! {
        static KNOWN: Cell<(u32, Duration)> = const { Cell::new((0, Duration::ZERO)) };
    }
    let (of, spin) = KNOWN.get();
    if of == count {
        return spin;
    }
    let usual = default_spin(count as usize);
    let spin = spin_set().filter(|_| !usual.is_zero()).map_or(usual, Duration::from_micros);
    KNOWN.set((count, spin));
    spin
}

/// Whether the team's threads stand where these are to be. Each of them stays on the worker that it was made on.
fn stands(team: &Team, bound: &[Binding]) -> bool {
    let workers = raddle_core::door::thread::workers();
    let is_there = |(member, to): (&&'static Member, &Binding)| {
        member.bound.get().is_some_and(|at| place::worker_of(at, workers) == place::worker_of(*to, workers))
    };
    team.members.iter().zip(bound).skip(1).all(is_there)
}

/// The caller's team for so many at its next level, each bound as the clause or the variable says. With it, where the
/// master is in the region.
///
/// Threads stay where they were made. So for each placement there is a team of its own at a level, up to some number;
/// beyond it one has members that are not where they should be, rather than threads that end in each region.
fn team_bound(member: &'static Member, count: u32, icv: &Icv) -> (&'static Team, Option<Binding>) {
    const PLACEMENTS: usize = 16;
    let clause = member.pushed_bind.replace(0);
    let bind = if clause == 0 { icv.bind } else { clause };
    let here = member.bound.get().filter(|_| icv.bind != 0 && count > 1);
    let Some(here) = here else { return (team_for(member, count, &[]), None) };
    let key = (bind, count, here);
    let (level, forks) = (member.team().level + 1, crate::engine::start::forks());
    let is_idle = |team: &Team| team.level == level && !team.is_busy.get();
    let is_whole = |team: &Team| team.members.len() >= count as usize;
    let mut hot = member.hot.borrow_mut();
    let known = hot.iter().filter(|team| is_idle(team) && team.forks == forks && is_whole(team));
    for team in known {
        if let Some((_, master)) = team.bound.get().filter(|(of, _)| *of == key) {
            return (team, Some(master));
        }
    }
    hot.retain(|team| !is_idle(team) || team.forks == forks);
    let bound = here.of_team(bind, count);
    let idle = || hot.iter().enumerate().filter(|(_, team)| is_idle(team));
    let standing = idle().find(|(_, team)| stands(team, &bound)).map(|(at, _)| at);
    let any = idle().next().filter(|_| idle().count() >= PLACEMENTS).map(|(at, _)| at);
    let team = match standing.or(any) {
        Some(at) if is_whole(hot[at]) => hot[at],
        at => {
            let before = at.map_or_else(|| vec![member], |at| hot.swap_remove(at).members.clone());
            let team = Team::with_members(before, count, level, &bound);
            hot.push(team);
            team
        }
    };
    if stands(team, &bound) {
        for (member, bound) in team.members.iter().zip(&bound).skip(1) {
            member.bound.set(Some(*bound));
        }
        team.bound.set(Some((key, bound[0])));
    }
    (team, Some(bound[0]))
}

/// Where `OMP_DISPLAY_AFFINITY` asks for it, a member tells where it runs, whenever that has changed.
#[inline]
pub(crate) fn tell_affinity(member: &'static Member) {
    if settings().display_affinity {
        let facts = member.facts();
        if facts.threads > 1 && member.told_affinity.replace(Some(facts)) != Some(facts) {
            affinity::tell(&facts);
        }
    }
}

/// The caller's team for so many at its next level: the same threads as before.
fn team_for(member: &'static Member, count: u32, bound: &[Binding]) -> &'static Team {
    let level = member.team().level + 1;
    let mut hot = member.hot.borrow_mut();
    let forks = crate::engine::start::forks();
    let at = hot.iter().position(|team| team.level == level && !team.is_busy.get());
    let members = match at {
        Some(at) if hot[at].forks != forks => {
            hot.swap_remove(at);
            vec![member]
        }
        Some(at) if hot[at].members.len() >= count as usize => return hot[at],
        Some(at) => hot.swap_remove(at).members.clone(),
        None => vec![member],
    };
    let team = Team::with_members(members, count, level, bound);
    hot.push(team);
    team
}

/// The caller's teams end, and its next region has new threads.
pub(crate) fn forget_teams(member: &'static Member) {
    let busy = |team: &&'static Team| team.is_busy.get();
    let (kept, idle): (Vec<_>, Vec<_>) = member.hot.take().into_iter().partition(busy);
    member.hot.replace(kept);
    // A larger team at a level has had the members of the smaller one before it.
    idle.iter().flat_map(|team| &team.members).filter(|other| !std::ptr::eq(**other, member)).for_each(
        |other| {
            other.end();
        },
    );
}

/// The caller begins a region, and is its first member.
pub(crate) fn begin(work: RegionWork, wanted: u32, preset: Preset) -> &'static Team {
    let count = count_for(me(), wanted);
    begin_with(work, count, preset, 0)
}

/// The same, of so many, with reductions over tasks.
pub(crate) fn begin_with(work: RegionWork, count: u32, preset: Preset, tables: usize) -> &'static Team {
    let member = me();
    let mut icv = member.task().icv.get();
    let taken = take(count - 1, icv.limit);
    let (team, master) = match place::is_bound() {
        false => (team_for(member, taken + 1, &[]), None),
        true => team_bound(member, taken + 1, &icv),
    };
    let count = (taken + 1).min(team.members.len() as u32);
    team.taken.set(if is_limited(icv.limit) { taken } else { 0 });
    // The next level has what the list says for it.
    let threads = &settings().threads;
    if let Some(&next) = threads.get(team.level as usize) {
        icv.threads = next;
    }
    if let Some(&bind) = settings().binds.get(team.level as usize) {
        icv.bind = bind;
    }
    team.work.set(work);
    team.preset.set(preset);
    team.site.set(site_of(work, member.site.take()));
    if told::is_traced() {
        team.number.set(told::next_region());
    }
    team.begin(member, count, icv, spin_of(count), tables);
    if master.is_some() {
        member.bound.set(master);
    }
    told::note(
        TeamStep::RegionBegin,
        Construct::Region,
        team.site.get(),
        (member.tid.get(), team.number.get()),
    );
    tell_affinity(member);
    if let Some(plan) = preset {
        crate::engine::share::begin(member, plan, &[]);
    }
    team
}

/// Where a region stands: clang says it, and of gcc's there is the function.
fn site_of(work: RegionWork, said: ProgramSite) -> ProgramSite {
    match work {
        RegionWork::Data(function, _) => {
            ProgramSite::of_function(function.map_or(0, |function| function as usize))
        }
        RegionWork::Micro(..) | RegionWork::None => said,
    }
}

/// By each member but the first: what the region has for it.
pub(crate) fn run(team: &'static Team, member: &'static Member) {
    if let Some(plan) = team.preset.get() {
        crate::engine::share::begin(member, plan, &[]);
    }
    work(team, member);
}

/// Calls the region's body.
pub(crate) fn work(team: &'static Team, member: &'static Member) {
    match team.work.get() {
        RegionWork::None => {}
        RegionWork::Data(function, data) => crate::abi::call(function, data),
        RegionWork::Micro(function, count, arguments) => {
            let (global, local) = (member.gtid.cast_signed(), member.tid.get().cast_signed());
            // SAFETY: the compiler's function takes so many; the master keeps a row of four at least.
            unsafe { crate::micro::invoke(function, &raw const global, &raw const local, count, arguments) };
        }
    }
}

/// The caller ends the region that it has begun.
pub(crate) fn end() {
    let member = me();
    let team = member.team();
    told::note(
        TeamStep::RegionEnd,
        Construct::Region,
        team.site.get(),
        (member.tid.get(), team.number.get()),
    );
    team.end(member);
    let taken = team.taken.replace(0);
    if taken > 0 {
        TAKEN.fetch_sub(taken, Ordering::Relaxed);
    }
}

/// How many threads regions have besides their masters, where their number is limited.
static TAKEN: AtomicU32 = AtomicU32::new(0);

fn is_limited(limit: u32) -> bool {
    limit < i32::MAX as u32
}

/// As many of these as the limit leaves.
fn take(wanted: u32, limit: u32) -> u32 {
    if wanted == 0 || !is_limited(limit) {
        return wanted;
    }
    let mut taken = TAKEN.load(Ordering::Relaxed);
    loop {
        let some = wanted.min((limit - 1).saturating_sub(taken));
        match TAKEN.compare_exchange_weak(taken, taken + some, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return some,
            Err(now) => taken = now,
        }
    }
}

/// A whole region.
pub(crate) fn region(body: RegionWork, wanted: u32, preset: Preset) {
    let team = begin(body, wanted, preset);
    work(team, me());
    end();
}

/// Runs it as if no region were around, with these variables: a device's region, or a league's.
pub(crate) fn as_root<R>(icv: Icv, body: impl FnOnce() -> R) -> R {
    let member = me();
    let kept = (member.teams.get(), member.pushed.get());
    // A team of one at level zero, of its own, with the variables of the process.
    let team = {
        let mut hot = member.hot.borrow_mut();
        match hot.iter().find(|team| team.level == 0 && !team.is_busy.get()) {
            Some(team) => team,
            None => {
                let team = Team::with_members(vec![member], 1, 0, &[]);
                hot.push(team);
                team
            }
        }
    };
    team.work.set(RegionWork::None);
    team.begin(member, 1, icv, Duration::ZERO, 0);
    team.active.set(0);
    member.teams.set((0, 1));
    let result = body();
    team.end(member);
    member.teams.set(kept.0);
    member.pushed.set(kept.1);
    result
}

/// The teams of a league, one after the other.
pub(crate) fn league(teams: u32, limit: u32, body: impl Fn()) {
    as_root(me().task().icv.get(), || {
        let member = me();
        let task = member.task();
        let mut icv = task.icv.get();
        let set = crate::icv::TEAMS_LIMIT.load(Ordering::Relaxed);
        let limit = if limit > 0 { limit } else { u32::try_from(set).unwrap_or(0) };
        if limit > 0 {
            icv.limit = icv.limit.min(limit);
        }
        for number in 0..teams {
            task.icv.set(icv);
            member.teams.set((number, teams));
            body();
        }
    });
}

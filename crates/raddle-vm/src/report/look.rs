//! Owns: looking at the processes of a machine that does not run.
//! May use: `machine`, `memory`, `process`, `raddle-bytecode`.
//! Never: more than some thousands of processes.

use super::absint::{AbstractInterpreter, Interval, Pending, Summary};
use super::{Network, NetworkChannel, Report, SourceLocation, WaitingProcess};
use crate::machine::{Fault, Machine};
use crate::memory::FLOOR;
use crate::process::{IN_ALT, INPUT, JOIN, OUTPUT, Process, WAITING};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_bytecode::{Effect, End, Insn, Trap};

const PROCESSES_MAX: usize = 5000;
const CALLS_MAX: usize = 64;
/// So many elements of an array of channels are looked at.
const ELEMENTS_MAX: u32 = 4096;
/// So many steps into the summary are gone for all processes together.
const STEPS_MAX: u32 = 5_000_000;

/// Who may use ends of channels on other ranks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FarUsers {
    /// The ranks that may, by channel, and whether to output.
    pub ends: BTreeMap<(u32, bool), Vec<u32>>,
    /// Of these ranks that is not known.
    pub unknown: Vec<u32>,
}

/// Which ends of some channels the processes of a machine may still use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UsedEnds {
    /// By channel, and whether to output.
    pub ends: Vec<(u32, bool)>,
    /// There may be others.
    pub more: bool,
}

/// What a process needs of others.
pub(super) enum Needs {
    /// That one of these ends is used: (channel, whether to output).
    Ends(Vec<(u32, bool)>),
    /// A lock.
    Lock(u32),
    /// That all others come to a barrier.
    Barrier(u32),
    /// The end of all processes that count in this word: those of its PAR, or forked in its block.
    Children(u32),
    /// What other ranks do.
    Ranks,
    Unknown,
}

/// What a process's children may write.
#[derive(Default)]
struct Written {
    places: BTreeSet<(u32, u32)>,
    anywhere: bool,
}

/// Who may use an end, by place in the list of processes.
#[derive(Default)]
struct Users {
    exact: BTreeMap<(u32, bool), Vec<usize>>,
    /// Those who will use one of several.
    vague: Vec<(Interval, bool, usize)>,
    unknown: Vec<usize>,
}

impl Users {
    fn of(summaries: &[Summary]) -> Users {
        let mut users = Users::default();
        for (number, summary) in summaries.iter().enumerate() {
            if summary.unknown {
                users.unknown.push(number);
            }
            for &(value, output) in &summary.ends {
                match value.known() {
                    Some(channel) => users.exact.entry((channel, output)).or_default().push(number),
                    None => users.vague.push((value, output, number)),
                }
            }
        }
        users
    }

    fn of_end(&self, (channel, output): (u32, bool)) -> Vec<usize> {
        let mut who = self.exact.get(&(channel, output)).cloned().unwrap_or_default();
        let vague = self.vague.iter().filter(|(value, it, _)| *it == output && value.contains(channel));
        who.extend(vague.map(|&(_, _, number)| number));
        who
    }

    /// Who may come to a barrier, or leave it.
    fn of_barrier(&self, summaries: &[Summary], barrier: u32) -> Vec<usize> {
        (0..summaries.len()).filter(|&number| summaries[number].comes_to(barrier)).collect()
    }

    fn holders(&self, summaries: &[Summary], lock: u32) -> Vec<usize> {
        (0..summaries.len()).filter(|&number| summaries[number].has(lock)).collect()
    }
}

impl<L: Default> Machine<L> {
    pub(super) fn place_of(&self, at: u32) -> SourceLocation {
        let module = self.program.module();
        let Some(line) = module.line_at(at) else { return SourceLocation::default() };
        SourceLocation { file: module.string(line.file).to_string(), line: line.line, column: line.column }
    }

    pub(super) fn function_name(&self, at: u32) -> String {
        let module = self.program.module();
        let function = module.function_at(at).map(|number| module.functions[number as usize].name);
        function.map_or_else(|| "?".to_string(), |name| module.string(name).to_string())
    }

    /// The instruction at which it stands or which failed.
    pub(super) fn stands_at(&self, process: &Process<L>) -> u32 {
        let ip = process.ip.get();
        let again = self
            .code()
            .get(ip as usize)
            .is_some_and(|insn| matches!(insn.op.effect(), Effect::JoinMany | Effect::Sleep));
        if again || ip == process.beginning() { ip } else { ip.saturating_sub(1) }
    }

    /// The channels that a process, and what has called it, has names for; from the outside in.
    fn names_of(&self, process: &Process<L>) -> Vec<(u32, String)> {
        let frames = self.frames(self.stands_at(process), process.fp.get());
        let named = frames.iter().rev().flat_map(|&(at, fp)| self.ends_at(at, fp));
        named.map(|(_, channel, name)| (channel, name)).collect()
    }

    /// Instruction and frame of a process and of what has called it, from the inside out.
    pub(super) fn frames(&self, at: u32, fp: u32) -> Vec<(u32, u32)> {
        let mut frames = vec![(at, fp)];
        let mut fp = fp;
        while frames.len() < CALLS_MAX {
            let token = self.memory.load_w(fp).unwrap_or(0);
            let Some(site) = token.checked_sub(1).and_then(|number| self.sites.get(number as usize)) else {
                break;
            };
            fp = match site.dynamic {
                true => self.memory.load_w(fp.wrapping_add(4)).unwrap_or(0),
                false => fp.wrapping_sub(site.base_bytes),
            };
            frames.push((site.back - 1, fp));
        }
        frames
    }

    /// The calls and PARs that it is in, in words, and the indices of the replicated ones; from the inside out.
    pub(super) fn within(&self, process: &Process<L>, at: u32) -> (Vec<String>, Vec<i32>) {
        let (mut lines, mut indices) = (Vec::new(), Vec::new());
        let mut frames = self.frames(at, process.fp.get());
        let mut process = process;
        while lines.len() < CALLS_MAX {
            let (start, number) = (self.place_of(process.beginning()), process.parent.get());
            let Some(parent) = self.processes.get(number).filter(|_| number != 0) else {
                self.add_calls(&frames, &SourceLocation::default(), &mut lines);
                break;
            };
            let above = self.frames(self.stands_at(parent), parent.fp.get());
            let (own, forked) = self.forked_in(&frames, &above);
            // A branch that is one call is begun there; once is enough.
            self.add_calls(&frames[..=own], &start, &mut lines);
            let base = frames[own].1;
            let mut index = String::new();
            let begun = match self.is_forked(process) {
                true => "forked",
                false => "begun",
            };
            if base != above[forked].1 && begun == "begun" {
                let number = self.memory.load_w(base.wrapping_add(8)).unwrap_or(0) as i32;
                index = format!(" for index {number}");
                indices.push(number);
            }
            lines.push(format!("{begun} at {start} by `{}`{index}", self.function_name(above[forked].0)));
            frames = above;
            frames.drain(..forked);
            process = parent;
        }
        (lines, indices)
    }

    /// Whether it is a forked process, which has a frame of its own and no index.
    fn is_forked(&self, process: &Process<L>) -> bool {
        let module = self.program.module();
        let begins = |insn: &&Insn| {
            let function = module.functions.get(insn.imm() as usize);
            function.is_some_and(|function| function.first == process.beginning())
        };
        module.code.iter().filter(|insn| insn.op.effect() == Effect::Spawn).any(|insn| begins(&insn))
    }

    /// The calls that lead to the innermost frame, but for one at `begun` and the host's call of the program.
    fn add_calls(&self, frames: &[(u32, u32)], begun: &SourceLocation, lines: &mut Vec<String>) {
        let entry = Some(self.program.module().entry);
        for &(at, _) in &frames[1..] {
            let place = self.place_of(at);
            if place != *begun && self.program.module().function_at(at) != entry {
                lines.push(format!("called at {place} in `{}`", self.function_name(at)));
            }
        }
    }

    /// The outermost of a process's own frames, and the frame of its parent that forked it: the same one for the
    /// branch of a PAR, the one in its slot 1 for an instance of a replicated one.
    fn forked_in(&self, frames: &[(u32, u32)], above: &[(u32, u32)]) -> (usize, usize) {
        let place = |wanted: u32| above.iter().position(|&(_, fp)| fp == wanted);
        let shared = frames.iter().enumerate().find_map(|(own, &(_, fp))| Some((own, place(fp)?)));
        let last = frames.len() - 1;
        let link = self.memory.load_w(frames[last].1.wrapping_add(4)).unwrap_or(0);
        shared.unwrap_or_else(|| (last, place(link).unwrap_or(0)))
    }

    /// The ends that a piece of code holds, the channels that they are of, and what those are called.
    fn ends_at(&self, at: u32, fp: u32) -> Vec<(End, u32, String)> {
        let module = self.program.module();
        let mut found = Vec::new();
        let here = |end: &&End| (end.from..end.to).contains(&at);
        for end in module.ends.iter().filter(here) {
            let slot = fp.wrapping_add(4 * u32::from(end.slot));
            let value = self.memory.load_w(slot).unwrap_or(0);
            let name = module.string(end.name);
            if let Some(bundle) = end.bundle {
                let block = if bundle.by_reference { self.memory.load_w(value).unwrap_or(0) } else { value };
                if block != 0 {
                    found.push((*end, block.wrapping_add(4 * u32::from(bundle.word)), name.to_string()));
                }
                continue;
            }
            if !end.is_array {
                found.push((*end, value, name.to_string()));
                continue;
            }
            let inner = u32::from(end.inner);
            let count = self.memory.load_w(slot.wrapping_add(4)).unwrap_or(0).saturating_mul(inner.max(1));
            for index in 0..count.min(ELEMENTS_MAX) {
                let channel = self.memory.load_w(value.wrapping_add(4 * index)).unwrap_or(0);
                let name = match inner {
                    0 => name.to_string(),
                    1 => format!("{name}[{index}]"),
                    _ => format!("{name}[{}][{}]", index / inner, index % inner),
                };
                found.push((*end, channel, name));
            }
        }
        found
    }

    fn channel_name(&self, process: &Process<L>, at: u32, channel: u32) -> String {
        match channel {
            16 => return "`keyboard`".to_string(),
            20 => return "`screen`".to_string(),
            _ => {}
        }
        let ends = self.ends_at(at, process.fp.get());
        // An array of which not all elements were looked at.
        let whole = |(end, _, _): &&(End, u32, String)| end.is_array && end.inner == 0;
        let name = ends.iter().find(|(_, it, _)| *it == channel).or_else(|| ends.iter().find(whole));
        name.map_or_else(|| format!("number {channel}"), |(_, _, name)| format!("`{name}`"))
    }

    /// The channels of the ALT that it waits in.
    fn alternatives(&self, process: &Process<L>, at: u32, summary: &Summary) -> Vec<u32> {
        let mine = |channel: &u32| self.memory.load_w(*channel) == Some(process.id() | IN_ALT);
        let named = self.ends_at(at, process.fp.get()).into_iter().map(|(_, channel, _)| channel);
        let mut channels: Vec<u32> = named.filter(mine).collect();
        channels.extend(summary.guards.iter().copied().filter(mine));
        let mut seen = BTreeSet::new();
        channels.retain(|&channel| seen.insert(channel));
        channels
    }

    /// What it does, and what it needs of others for that.
    fn doing(&self, process: &Process<L>, at: u32, summary: &Summary) -> (String, Needs) {
        let wait = process.wait.load(Ordering::Relaxed);
        let channel = wait & !3;
        let name = |channel| self.channel_name(process, at, channel);
        match (wait, wait & 3) {
            (0, _) if process.alt.load(Ordering::Relaxed) == WAITING && self.ends_placed(at) => {
                ("waits for the branches of its PLACED PAR on other ranks".to_string(), Needs::Ranks)
            }
            (0, _) if process.alt.load(Ordering::Relaxed) == WAITING => {
                let channels = self.alternatives(process, at, summary);
                let names: Vec<String> = channels.iter().map(|&channel| name(channel)).collect();
                let what = match names.is_empty() {
                    true => "waits in an ALT or for time".to_string(),
                    false => format!("waits in an ALT for channel {}", names.join(", ")),
                };
                let needs = channels.into_iter().map(|channel| (channel, true)).collect();
                (what, Needs::Ends(needs))
            }
            (0, _) => ("can run".to_string(), Needs::Unknown),
            (_, OUTPUT) => {
                (format!("waits to output on channel {}", name(channel)), Needs::Ends(vec![(channel, false)]))
            }
            (_, INPUT) => {
                (format!("waits to input from channel {}", name(channel)), Needs::Ends(vec![(channel, true)]))
            }
            (_, JOIN) => {
                let effect = self.code().get(at as usize).map(|insn| insn.op.effect());
                let what = match effect {
                    Some(Effect::JoinForked) => "waits for the processes forked in its FORKING block",
                    _ => "waits for the processes of its PAR",
                };
                (what.to_string(), Needs::Children(channel))
            }
            _ if self.code().get(at as usize).is_some_and(|insn| insn.op.effect() == Effect::Sync) => {
                if let Some(mobile) = self.at_mobile(process, channel) {
                    return mobile;
                }
                let word = |number: u32| self.memory.load_w(channel.wrapping_add(4 * number)).unwrap_or(0);
                let (enrolled, left) = (word(0), word(1));
                let (come, name) = (enrolled.wrapping_sub(left), name(channel));
                let what = format!("waits to SYNC on barrier {name}: {come} of {enrolled} have come");
                (what, Needs::Barrier(channel))
            }
            _ => ("waits for a CLAIM".to_string(), Needs::Lock(channel)),
        }
    }

    fn waiting(&self, process: &Process<L>, doing: String) -> WaitingProcess {
        let at = self.stands_at(process);
        let (id, name, place) = (process.id(), self.function_name(at), self.place_of(at));
        let (within, indices) = self.within(process, at);
        WaitingProcess { id, name, indices, place, doing, within, ..WaitingProcess::default() }
    }

    /// What each of them may still do. Children come before their parents: what they write, the parent finds.
    fn summaries(&self, all: &[&Process<L>]) -> Vec<Summary> {
        let place_of: BTreeMap<u32, usize> = all.iter().enumerate().map(|(at, it)| (it.id(), at)).collect();
        let mut summaries: Vec<Summary> = all.iter().map(|_| Summary::default()).collect();
        let mut written: Vec<Written> = all.iter().map(|_| Written::default()).collect();
        let mut interpreter = AbstractInterpreter::new(self, STEPS_MAX);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_cached_key(|&at| core::cmp::Reverse(self.ancestors(all[at])));
        for at in order {
            let (process, below) = (all[at], core::mem::take(&mut written[at]));
            if below.anywhere {
                summaries[at].unknown = true;
            } else {
                let wait = process.wait.load(Ordering::Relaxed);
                let stands = self.code().get(self.stands_at(process) as usize).copied();
                let pending = match stands {
                    _ if self.can_run(process) => Pending::Nothing,
                    Some(insn) if insn.op.effect() != Effect::Claim => Pending::Instruction(insn),
                    _ => Pending::Lock(wait & !3),
                };
                summaries[at] =
                    interpreter.summary_of(process.ip.get(), process.fp.get(), pending, &below.places);
                // What it finds after its next activation is written by whoever activates it.
                summaries[at].unknown |= self.mobile_around(process).is_some();
            }
            if let Some(&parent) = place_of.get(&process.parent.get())
                && !self.is_mobile(process)
            {
                written[parent].anywhere |= summaries[at].unknown;
                let own = self.own_frame(process);
                let places = summaries[at].writes.iter().filter(|&&(lo, hi)| lo < own.0 || own.1 < hi);
                written[parent].places.extend(places);
            }
        }
        summaries
    }

    fn can_run(&self, process: &Process<L>) -> bool {
        process.wait.load(Ordering::Relaxed) == 0 && process.alt.load(Ordering::Relaxed) != WAITING
    }

    fn ancestors(&self, process: &Process<L>) -> usize {
        let mut count = 0;
        let mut next = self.processes.get(process.parent.get());
        while let Some(parent) = next.filter(|parent| parent.id() != 0 && count < PROCESSES_MAX) {
            count += 1;
            next = Some(parent.parent.get()).filter(|&id| id != 0).and_then(|id| self.processes.get(id));
        }
        count
    }

    /// Whether it was begun by that one, or by one that was.
    fn descends(&self, process: &Process<L>, from: u32) -> bool {
        let mut next = process.parent.get();
        for _ in 0..PROCESSES_MAX {
            match self.processes.get(next).filter(|_| next != 0) {
                Some(_) if next == from => return true,
                Some(parent) => next = parent.parent.get(),
                None => return false,
            }
        }
        false
    }

    /// Where the process and its ancestors began, and for which indices: no matter which schedule made it.
    fn way_to(&self, process: &Process<L>) -> (Vec<u32>, Vec<i32>) {
        let mut starts = vec![process.beginning()];
        let mut next = self.processes.get(process.parent.get());
        while let Some(parent) = next.filter(|parent| parent.id() != 0 && starts.len() < CALLS_MAX) {
            starts.push(parent.beginning());
            next = Some(parent.parent.get()).filter(|&id| id != 0).and_then(|id| self.processes.get(id));
        }
        let mut indices = self.within(process, self.stands_at(process)).1;
        starts.reverse();
        indices.reverse();
        (starts, indices)
    }

    /// From where to where the frame lies that an instance of a replicated PAR has for itself.
    fn own_frame(&self, process: &Process<L>) -> (u32, u32) {
        let module = self.program.module();
        let start = process.beginning();
        let function = module.function_at(start).and_then(|number| module.functions.get(number as usize));
        let frames = self.frames(self.stands_at(process), process.fp.get());
        match (function, frames.last()) {
            (Some(function), Some(&(_, fp))) if function.first == start => {
                (fp, fp.saturating_add(4 * function.slots - 1))
            }
            _ => (u32::MAX, 0),
        }
    }

    /// Those of whom there is an account, in an order that no schedule changes, and how many there are beside them.
    fn looked_at(&self, most: usize) -> (Vec<&Process<L>>, usize) {
        let mut all: Vec<&Process<L>> = self.processes.living().take(most).collect();
        all.sort_by_cached_key(|process| self.way_to(process));
        let more = self.processes.living().count() - all.len();
        (all, more)
    }

    /// What each of them waits for, and for whom. `more` there are of whom nothing is known.
    fn waits(
        &self,
        all: &[&Process<L>],
        more: usize,
        summaries: &[Summary],
        far: &FarUsers,
    ) -> Vec<WaitingProcess> {
        let users = Users::of(summaries);
        let mut processes = Vec::new();
        for (number, process) in all.iter().enumerate() {
            let (doing, needs) = self.doing(process, self.stands_at(process), &summaries[number]);
            let mut waiting = self.waiting(process, doing);
            waiting.unsure = more > 0;
            match needs {
                Needs::Children(join) => {
                    let counted = |child: &Process<L>| (child.parent.get(), child.join.get());
                    let child = |&at: &usize| {
                        counted(all[at]) == (process.id(), join) && all[at].id() != process.id()
                    };
                    (waiting.waits_for, waiting.all) = ((0..all.len()).filter(child).collect(), true);
                }
                Needs::Barrier(barrier) => {
                    let others = users.of_barrier(summaries, barrier).into_iter();
                    let come = |&other: &usize| all[other].wait.load(Ordering::Relaxed) != barrier;
                    // Who waits for the end of this one has given it its membership.
                    let waits_for_us = |&other: &usize| !self.descends(process, all[other].id());
                    waiting.waits_for = others.filter(come).filter(waits_for_us).collect();
                }
                Needs::Lock(lock) => waiting.waits_for = users.holders(summaries, lock),
                Needs::Ends(ends) => {
                    waiting.unsure |= ends.is_empty();
                    waiting.outside = ends.iter().any(|&(channel, _)| channel < FLOOR);
                    waiting.waits_for = ends.iter().flat_map(|&end| users.of_end(end)).collect();
                    waiting.ranks =
                        ends.iter().filter_map(|end| far.ends.get(end)).flatten().copied().collect();
                    waiting.unsure |= !far.unknown.is_empty();
                    waiting.outside |= !waiting.ranks.is_empty();
                }
                Needs::Ranks => waiting.outside = true,
                Needs::Unknown => waiting.unsure = true,
            }
            waiting.waits_for.retain(|&other| other != number);
            waiting.waits_for.sort_unstable();
            waiting.waits_for.dedup();
            let listed = |other: &usize| waiting.waits_for.contains(other) || *other == number;
            waiting.unsure |= !waiting.all && users.unknown.iter().any(|other| !listed(other));
            processes.push(waiting);
        }
        processes
    }

    /// The account of a deadlock. Meaningful while nothing runs.
    pub fn report_deadlock(&self) -> Report {
        self.report_deadlock_among(&FarUsers::default())
    }

    /// Which ends of these channels processes here may still use. Meaningful while nothing runs.
    pub fn used_ends(&self, channels: &BTreeSet<u32>) -> UsedEnds {
        let (all, more) = self.looked_at(PROCESSES_MAX);
        let summaries = self.summaries(&all);
        let users = Users::of(&summaries);
        let ends = channels.iter().flat_map(|&channel| [(channel, false), (channel, true)]);
        let ends = ends.filter(|&end| !users.of_end(end).is_empty()).collect();
        UsedEnds { ends, more: more > 0 || !users.unknown.is_empty() }
    }

    /// The same account, on one of several ranks, with what the others have said of the ends that they may use.
    pub fn report_deadlock_among(&self, far: &FarUsers) -> Report {
        let (all, more) = self.looked_at(PROCESSES_MAX);
        let processes = self.waits(&all, more, &self.summaries(&all), far);
        let total = all.len() + more;
        let headline = format!(
            "deadlock: {total} process{} wait{}, and nothing can go on",
            if total == 1 { "" } else { "es" },
            if total == 1 { "s" } else { "" }
        );
        let mut report = Report { headline, processes, more, ..Report::default() };
        report.find_front();
        report
    }

    /// Who lives, what each does, and the channels between them; of `most` processes at most. Meaningful while nothing
    /// runs. Who waits for its PAR has no end of a channel here, and a channel that only one knows is none.
    pub fn network(&self, most: usize) -> Network {
        let (all, more) = self.looked_at(most.min(PROCESSES_MAX));
        let summaries = self.summaries(&all);
        let mut channels: BTreeMap<u32, NetworkChannel> = BTreeMap::new();
        let mut add = |channel: u32, output: bool, number: usize| {
            let channel = channels.entry(channel).or_default();
            let side = if output { &mut channel.writers } else { &mut channel.readers };
            if !side.contains(&number) {
                side.push(number);
            }
        };
        for (number, process) in all.iter().enumerate() {
            let needs = self.doing(process, self.stands_at(process), &summaries[number]).1;
            if let Needs::Children(_) = needs {
                continue;
            }
            for &(value, output) in &summaries[number].ends {
                value.known().into_iter().for_each(|channel| add(channel, output, number));
            }
            summaries[number].ports.iter().for_each(|&(port, output)| add(port, output, number));
            if let Needs::Ends(ends) = needs {
                ends.into_iter().for_each(|(channel, others_output)| add(channel, !others_output, number));
            }
        }
        let mut names = BTreeMap::from([(16, "keyboard".to_string()), (20, "screen".to_string())]);
        names.insert(24, "error".to_string());
        let mut outermost: Vec<&&Process<L>> = all.iter().collect();
        outermost.sort_by_cached_key(|process| self.ancestors(process));
        for (channel, name) in outermost.into_iter().flat_map(|process| self.names_of(process)) {
            names.entry(channel).or_insert(name);
        }
        channels.retain(|&at, it| at < FLOOR || !it.writers.is_empty() && !it.readers.is_empty());
        for (at, channel) in &mut channels {
            channel.name = names.get(at).cloned().unwrap_or_default();
        }
        let processes = self.waits(&all, more, &summaries, &FarUsers::default());
        Network { processes, channels: channels.into_values().collect(), more }
    }

    /// The account of a run-time error.
    pub fn report_fault(&self, fault: Fault) -> Report {
        let headline = format!("run-time error: {}: {}", fault.trap.word(), fault.trap.what());
        let Some(process) = self.processes.get(fault.process).filter(|_| fault.process != 0) else {
            return Report { headline, ..Report::default() };
        };
        if let Some(race) = self.races.found().filter(|_| fault.trap == Trap::Race) {
            return self.report_race(race);
        }
        let mut doing = fault.trap.word().to_string();
        if let Some(values) = self.failed_with(fault, process) {
            doing = format!("{doing}: {values}");
        }
        let (name, place) = (self.function_name(fault.at), self.place_of(fault.at));
        let (within, indices) = self.within(process, fault.at);
        let id = fault.process;
        let process = WaitingProcess { id, name, indices, place, doing, within, ..WaitingProcess::default() };
        Report { headline, processes: vec![process], ..Report::default() }
    }
}

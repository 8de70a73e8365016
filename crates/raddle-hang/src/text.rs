//! Owns: the words of reports: the cycle first, then groups of those who wait alike, then each alone.
//! May use: `age`, `cycle`, `kernel`, `process_table`, `symbol`, `walks`, `libc`, `raddle-core`.
//! Never: more lines than a screen has, in the summary.

use crate::age;
use crate::cycle::{Cycle, Who};
use crate::kernel;
use crate::process_table::{HeldSince, OsThreadRow, ProcessState, ProcessTable, Row, Waiting};
use crate::symbol;
use crate::walks::Span;
use raddle_core::door::tick::Interruption;
use raddle_core::stack_search::{ON_NO_STACK, could};
use raddle_core::wait::held_by;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write};
use std::panic::Location;

/// So many groups fit a screen.
const GROUPS_MAX: usize = 20;
/// So many members of a cycle stand in the first line, and so many others.
const CYCLE_MAX: usize = 8;
const ROOTS_MAX: usize = 4;
/// So many names of a group are told.
const NAMES_MAX: usize = 5;
/// So many of those who could end a wait.
const PEERS_MAX: usize = 3;
/// So many of those who hold something that several may hold.
const HOLDERS_MAX: usize = 8;
/// Of what several hold the rest is told, too.
const SEMAPHORE: &str = "semaphore";
/// So many functions of one who waits are told on the screen.
const FUNCTIONS_MAX: usize = 3;

/// ` at src/main.rs:3:5`. In a program of others' nothing: there it is a place of the adaptor's.
fn at(site: &Location<'_>) -> String {
    if Interruption::get().is_some() { String::new() } else { format!(" at {site}") }
}

/// `spawned at src/main.rs:3:5` behind `before`, or nothing.
fn spawned(site: &Location<'_>, before: &str) -> String {
    let at = at(site);
    if at.is_empty() { at } else { format!("{before}spawned{at}") }
}

/// The name of an object in the program, `lock at 0x5080`, or only where it lies.
fn named(address: usize) -> String {
    symbol::object(address).map_or_else(|| format!("{address:#x}"), |name| format!("{name} at {address:#x}"))
}

impl ProcessTable {
    /// `process 'name' (#7, spawned at src/main.rs:3:5)`.
    pub(crate) fn who(&self, row: &Row) -> String {
        let kind = kind_of(row);
        match &row.name {
            // A fork does not note where it was made.
            None if row.job != 0 => format!("{kind} #{}", row.id),
            Some(name) => {
                format!("{kind} '{}' (#{}{})", self.name_in(name), row.id, spawned(row.site, ", "))
            }
            None if at(row.site).is_empty() => format!("{kind} #{}", row.id),
            None => format!("{kind} #{} ({})", row.id, spawned(row.site, "")),
        }
    }

    /// `'name'`, or `#7`.
    fn short(&self, row: &Row) -> String {
        row.name.as_ref().map_or_else(|| format!("#{}", row.id), |name| format!("'{}'", self.name_in(name)))
    }

    /// A name that a program has given, in one line, and without what changes a terminal.
    fn name_in(&self, name: &Span) -> String {
        printable(self.text(name))
    }

    /// `Mutex::lock at src/main.rs:7:13, held by 'b' since src/main.rs:9:3`.
    fn wait(&self, waiting: &Waiting) -> String {
        let word = match waiting.kind {
            "futex" => format!("({:#x})", waiting.subject),
            // Of a program of others', which knows it by its own name.
            "object" if waiting.subject != 0 && waiting.awaited().is_none() => {
                format!("({})", named(waiting.subject))
            }
            _ => String::new(),
        };
        let mut text = format!("{}{word}{}{}", waiting.call.name(), at(waiting.site), self.age(waiting));
        let state = self.with_authors(&with_functions(self.text(&waiting.more)));
        if !self.held(waiting).is_empty() {
            let with_state = waiting.kind == SEMAPHORE && !state.is_empty();
            let state = if with_state { format!(" (semaphore: {state})") } else { String::new() };
            text = format!("{text}{state}, {}", self.holders(waiting));
        } else if let Some(child) = self.joined(waiting) {
            let _infallible = write!(text, ", for {}", self.short(child));
        } else if !state.is_empty() && waiting.kind != "process" {
            let _infallible = write!(text, " ({}: {state})", waiting.kind);
        }
        text += &self.supply(waiting);
        text
    }

    /// A state with processes in it by their numbers, as who has written a variable: those that are here by their
    /// names, if they have one, and of others that they have ended.
    fn with_authors(&self, state: &str) -> String {
        const BY: &str = "written by #";
        let mut parts = state.split(BY);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let (number, rest) = part.split_at(digits);
            let there = number.parse::<u64>().ok().and_then(|id| self.rows.iter().find(|row| row.id == id));
            let _infallible = match there {
                Some(row) if row.name.is_some() => write!(text, "written by {}", self.short(row)),
                Some(_) => write!(text, "{BY}{number}"),
                None => write!(text, "{BY}{number}, which has ended,"),
            };
            text += rest;
        }
        text
    }

    /// `, could come from 'b'`, if it is known who could end it.
    fn supply(&self, waiting: &Waiting) -> String {
        let things = self.things(waiting);
        let peers = self.peers(waiting);
        let names: Vec<String> = peers.iter().take(PEERS_MAX).map(|who| self.name(*who)).collect();
        let is_channel = !things.is_empty() && things.iter().all(|thing| thing.kind == "channel");
        let more = if peers.len() > PEERS_MAX { ", ..." } else { "" };
        match names.is_empty() {
            false => format!(", {} {}{more}", could(waiting.call.name(), waiting.kind), names.join(" or ")),
            true if is_channel && self.is_final => ON_NO_STACK.to_owned(),
            true => String::new(),
        }
    }

    fn name(&self, who: Who) -> String {
        match who {
            Who::Process(at) => self.short(&self.rows[at]),
            Who::OsThread(at) => name_of(&self.os_threads[at]),
        }
    }

    /// ` for 0.2 s`, if that is known.
    fn age(&self, waiting: &Waiting) -> String {
        age::age(waiting.since, self.now).map(|age| format!(" {}", age::in_words(age))).unwrap_or_default()
    }

    /// Whom a `join`, or one of its like, waits for.
    pub(crate) fn joined(&self, waiting: &Waiting) -> Option<&Row> {
        waiting.awaited().and_then(|address| self.row_at(address)).map(|at| &self.rows[at])
    }

    /// `held by 'a' since src/main.rs:9:3 and by 'b' since src/main.rs:9:3`.
    fn holders(&self, waiting: &Waiting) -> String {
        let held = self.held(waiting);
        let tell = |(holder, since): &HeldSince| held_by(self.holder(*holder).as_deref(), *since);
        let told: Vec<String> = held.iter().take(HOLDERS_MAX).map(tell).collect();
        let more = held.len().saturating_sub(HOLDERS_MAX);
        let more = if more > 0 { format!(", and by {more} more") } else { String::new() };
        // One word for all of them.
        told.join(", ").replace(", held by", ", by") + &more
    }

    fn holder(&self, address: usize) -> Option<String> {
        if let Some(at) = self.row_at(address) {
            return Some(self.short(&self.rows[at]));
        }
        self.os_threads.iter().find(|thread| thread.address == address).map(name_of)
    }

    fn sentence(&self, who: Who) -> String {
        match who {
            Who::Process(at) => {
                let row = &self.rows[at];
                format!("{} {}", self.who(row), self.state(row))
            }
            Who::OsThread(at) => {
                let thread = &self.os_threads[at];
                format!("{} waits in {}", name_of(thread), self.wait(&thread.waits))
            }
        }
    }

    fn state(&self, row: &Row) -> String {
        match &row.state {
            ProcessState::Fresh => "has not begun".to_owned(),
            ProcessState::Ready => "can run".to_owned(),
            ProcessState::Runs(usize::MAX) => "runs".to_owned(),
            ProcessState::Runs(worker) => format!("runs on worker {worker}"),
            ProcessState::Blocked(worker, call) => blocked(*worker, *call),
            ProcessState::Away(Some(waiting)) => {
                format!("is in a call of `blocking`{}{}", at(waiting.site), self.age(waiting))
            }
            ProcessState::Away(None) => "is in a call of `blocking`".to_owned(),
            ProcessState::Waits(waiting) => format!("waits in {}", self.wait(waiting)),
            ProcessState::Unknown => "is at something that could not be looked at".to_owned(),
        }
    }

    /// What is wrong: the cycle; without one, those who wait for no other's end. And how many more there are.
    pub(crate) fn first(&self, cycles: &[Cycle]) -> (Vec<String>, usize) {
        let Some(Cycle(cycle)) = cycles.first() else {
            let mut roots = self.roots();
            let more = roots.len().saturating_sub(ROOTS_MAX);
            roots.truncate(ROOTS_MAX);
            return (roots, more);
        };
        let told = cycle.iter().take(CYCLE_MAX).map(|who| self.sentence(*who)).collect();
        (told, cycle.len().saturating_sub(CYCLE_MAX))
    }

    /// In which functions of the program those are who stand in the first line.
    pub(crate) fn first_functions(&self, cycles: &[Cycle], out: &mut String) {
        let rows: Vec<&Row> = match cycles.first() {
            Some(Cycle(cycle)) => {
                let row = |who: &Who| if let Who::Process(at) = who { Some(&self.rows[*at]) } else { None };
                cycle.iter().filter_map(row).take(CYCLE_MAX).collect()
            }
            None => self.root_groups().iter().take(ROOTS_MAX).map(|group| group[0]).collect(),
        };
        rows.into_iter().for_each(|row| self.functions_of(row, out));
    }

    fn functions_of(&self, row: &Row, out: &mut String) {
        let mut functions = symbol::of_program(symbol::functions(self.frames(row)));
        functions.truncate(FUNCTIONS_MAX);
        let plain: Vec<String> =
            functions.into_iter().map(|one| one.without_distance().to_string()).collect();
        if !plain.is_empty() {
            let _infallible = writeln!(out, "  {} is in {}", self.short(row), plain.join(", called by "));
        }
    }

    /// The same in one line.
    pub(crate) fn first_line(&self, (told, more): &(Vec<String>, usize)) -> String {
        let more = if *more > 0 { format!("; and {more} more") } else { String::new() };
        let tasks = match (self.tasks, told.is_empty()) {
            (0, _) => String::new(),
            (1, true) => "1 task waits for a waker that nobody calls".to_owned(),
            (tasks, true) => format!("{tasks} tasks wait for a waker that nobody calls"),
            (tasks, false) => format!("; and {}", count(tasks, "task", "s")),
        };
        let futures: Vec<String> =
            self.futures.iter().take(ROOTS_MAX).map(|one| self.tell_futures(one)).collect();
        let before = if futures.is_empty() { "" } else { "; " };
        format!("{}{more}{tasks}{before}{}", told.join("; "), futures.join("; "))
    }

    /// `a future waits in retry at src/main.rs:3:5 (...)`.
    fn tell_futures(&self, (waits, many): (&String, &usize)) -> String {
        let waits = self.with_authors(waits);
        if *many == 1 {
            format!("a future waits in {waits}")
        } else {
            format!("{many} futures wait in {waits}")
        }
    }

    /// A line for what futures wait for; but for what stands in the first line, if there is one.
    pub(crate) fn more_futures(&self, has_first: bool, out: &mut String) {
        let skipped = if has_first { ROOTS_MAX } else { 0 };
        for one in self.futures.iter().take(GROUPS_MAX).skip(skipped) {
            let _infallible = writeln!(out, "  {}", self.tell_futures(one));
        }
    }

    /// Who waits for something else than another's end, in groups: what the others wait for in the end.
    fn roots(&self) -> Vec<String> {
        let outside = (0..self.os_threads.len()).filter(|at| !self.os_threads[*at].waits.for_an_end());
        let outside = outside.map(|at| self.sentence(Who::OsThread(at)));
        self.root_groups().iter().map(|group| self.tell_group(group)).chain(outside).collect()
    }

    fn root_groups(&self) -> Vec<Vec<&Row>> {
        let blocked = |row: &Row| matches!(&row.state, ProcessState::Blocked(..));
        let are_blocked: Vec<Vec<&Row>> =
            self.groups().into_iter().filter(|group| blocked(group[0])).collect();
        if self.is_stuck && !are_blocked.is_empty() {
            return are_blocked;
        }
        let is_root = |row: &Row| matches!(&row.state, ProcessState::Waits(waits) if !waits.for_an_end());
        let roots: Vec<Vec<&Row>> = self.groups().into_iter().filter(|group| is_root(group[0])).collect();
        // What somebody waits for who could be supplied by one of the others is explained by them.
        let ends =
            |row: &Row| matches!(&row.state, ProcessState::Waits(waits) if self.peers(waits).is_empty());
        let last: Vec<Vec<&Row>> = roots.iter().filter(|group| ends(group[0])).cloned().collect();
        if last.is_empty() { roots } else { last }
    }

    /// The further cycles, and all that live and were not `reported` by themselves, in groups. True if something was
    /// left out.
    pub(crate) fn summary(&self, cycles: &[Cycle], reported: &[String], out: &mut String) -> bool {
        if self.is_shallow {
            out.push_str(
                "  the workers could not be stopped, so that nothing is known of what anybody waits for\n",
            );
        }
        for cycle in cycles.iter().skip(1).take(3) {
            let told: Vec<String> = cycle.0.iter().map(|who| self.sentence(*who)).collect();
            let _infallible = writeln!(out, "  another cycle: {}", told.join("; "));
        }
        let is_reported = |row: &&Row| {
            let members = cycles.first().into_iter().flat_map(|cycle| cycle.0.iter().take(CYCLE_MAX));
            members.into_iter().any(|who| matches!(who, Who::Process(at) if self.rows[*at].id == row.id))
        };
        let mut groups = self.groups();
        groups.retain(|group| !group.iter().all(is_reported));
        let lines = groups.iter().take(GROUPS_MAX).map(|group| self.tell_group(group));
        for line in lines.filter(|line| !reported.contains(line)) {
            let _infallible = writeln!(out, "  {line}");
        }
        if groups.len() > GROUPS_MAX {
            let left: usize = groups[GROUPS_MAX..].iter().map(Vec::len).sum();
            let _infallible = writeln!(out, "  and {left} more in {} groups", groups.len() - GROUPS_MAX);
        }
        let outside = (0..self.os_threads.len()).take(GROUPS_MAX).map(|at| self.sentence(Who::OsThread(at)));
        for line in outside.filter(|line| !reported.contains(line)) {
            let _infallible = writeln!(out, "  {line}");
        }
        for (poller, count) in &self.outstanding {
            let poller = printable(poller);
            let _infallible = writeln!(out, "  outstanding at the poller '{poller}': {count}");
        }
        let (alive, tasks) = (count(self.rows.len() as u64, "process", "es"), count(self.tasks, "task", "s"));
        let workers = count(self.workers as u64, "worker", "s");
        let _infallible = writeln!(out, "  alive: {alive}, {tasks}, on {workers}");
        groups.len() > GROUPS_MAX || cycles.len() > 4 || groups.iter().any(|group| group.len() > NAMES_MAX)
    }

    /// Those that are alike: spawned at one place, and waiting at one place. The largest group first.
    fn groups(&self) -> Vec<Vec<&Row>> {
        let mut groups: BTreeMap<(String, String), Vec<&Row>> = BTreeMap::new();
        for row in &self.rows {
            let at = match &row.state {
                ProcessState::Waits(waiting) => format!("{} {}", waiting.call.name(), waiting.site),
                other => format!("{:?}", std::mem::discriminant(other)),
            };
            groups.entry((row.site.to_string(), at)).or_default().push(row);
        }
        let mut groups: Vec<Vec<&Row>> = groups.into_values().collect();
        groups.sort_unstable_by_key(|group| (std::cmp::Reverse(group.len()), group[0].id));
        groups
    }

    fn tell_group(&self, group: &[&Row]) -> String {
        let first = group[0];
        if group.len() == 1 {
            return format!("{} {}", self.who(first), self.state(first));
        }
        let some: Vec<String> = group.iter().take(NAMES_MAX).map(|row| self.short(row)).collect();
        let dots = if group.len() > NAMES_MAX { ", ..." } else { "" };
        let (many, site, state) = (group.len(), first.site, self.state(first));
        let kind = match kind_of(first) {
            "job" => "jobs".to_owned(),
            "thread" => format!("threads{}", spawned(site, " ")),
            _ => format!("processes{}", spawned(site, " ")),
        };
        format!("{many} {kind} ({}{dots}), such as {}: {state}", some.join(", "), some[0])
    }

    /// Those with these numbers, in groups; and in which functions the first of each is.
    pub(crate) fn tell_those(&self, ids: &HashSet<u64>) -> (String, String) {
        let groups = self.groups_of(ids);
        let mut told: Vec<String> =
            groups.iter().take(ROOTS_MAX).map(|group| self.tell_group(group)).collect();
        if groups.len() > ROOTS_MAX {
            let left: usize = groups[ROOTS_MAX..].iter().map(Vec::len).sum();
            told.push(format!("and {left} more"));
        }
        let mut functions = String::new();
        groups.iter().take(ROOTS_MAX).for_each(|group| self.functions_of(group[0], &mut functions));
        (told.join("; "), functions)
    }

    /// Whether a function of the program is known for each that [`tell_those`](Self::tell_those) follows into some.
    /// Not of one that was stopped between two stacks.
    pub(crate) fn knows_functions_of(&self, ids: &HashSet<u64>) -> bool {
        let is_known = |group: &Vec<&Row>| {
            let functions = symbol::of_program(symbol::functions(self.frames(group[0])));
            functions.iter().any(symbol::Function::has_name)
        };
        self.groups_of(ids).iter().take(ROOTS_MAX).all(is_known)
    }

    /// The places at which those with these numbers were spawned, and at which they are.
    pub(crate) fn places_of(&self, ids: &HashSet<u64>) -> Vec<String> {
        let place = |group: &Vec<&Row>| match &group[0].state {
            ProcessState::Waits(waiting) => format!("{} {}", group[0].site, waiting.site),
            _ => group[0].site.to_string(),
        };
        self.groups_of(ids).iter().map(place).collect()
    }

    fn groups_of(&self, ids: &HashSet<u64>) -> Vec<Vec<&Row>> {
        let mut groups = self.groups();
        groups.iter_mut().for_each(|group| group.retain(|row| ids.contains(&row.id)));
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Each by itself, with the functions that it is in.
    pub(crate) fn list(&self, out: &mut impl Write) -> fmt::Result {
        for row in &self.rows {
            writeln!(out, "{} {}", self.who(row), self.state(row))?;
            out.write_str(&symbol::lines(self.frames(row)))?;
        }
        for thread in &self.os_threads {
            writeln!(out, "{} waits in {}", name_of(thread), self.wait(&thread.waits))?;
        }
        Ok(())
    }
}

/// A state with code addresses in it, as `@0x5601`: the functions that they are in, and their places. What has noted
/// them stood still, and could look for nothing.
fn with_functions(state: &str) -> String {
    let mut parts = state.split("@0x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        let address = usize::from_str_radix(&part[..digits], 16).unwrap_or(0);
        let functions = symbol::functions(&[address]);
        let told = functions.into_iter().next_back().map(|function| match function.place {
            Some(_) => function.without_distance().to_string(),
            None => function.to_string(),
        });
        text += &told.unwrap_or_else(|| format!("{address:#x}"));
        text += &part[digits..];
    }
    text
}

/// Without control characters.
fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// It does not come to a switch, and does not run either.
fn blocked(worker: usize, call: i64) -> String {
    let on = if worker == usize::MAX { String::new() } else { format!(" on worker {worker}") };
    let lock = if call == libc::SYS_futex { ", perhaps at a lock that is none of ours" } else { "" };
    format!("is blocked{on}, in the system call {}{lock}", kernel::name_of_call(call))
}

/// What it is in a word.
pub(crate) fn kind_of(row: &Row) -> &'static str {
    match row {
        Row { is_thread: true, .. } => "thread",
        Row { job: 0, .. } => "process",
        _ => "job",
    }
}

/// `1 worker`, `2 workers`.
fn count(many: u64, one: &str, ending: &str) -> String {
    format!("{many} {one}{}", if many == 1 { "" } else { ending })
}

/// `OS thread 'main'`.
fn name_of(thread: &OsThreadRow) -> String {
    let number = thread.os_thread;
    let name = std::fs::read_to_string(format!("/proc/self/task/{number}/comm")).unwrap_or_default();
    let is_first = u32::try_from(number) == Ok(std::process::id());
    let name = if is_first { "main" } else { name.trim_end_matches('\n') };
    format!("OS thread '{}'", printable(name))
}

//! Owns: an analysis as text for a terminal, and as JSON.
//! May use: `log`, `serde_json`.
//! Never: a figure that the analysis does not hold.

use super::{
    Analysis, Class, Convoy, Decades, Edge, Jobs, Messages, PeerWait, Range, Slice, Storm, TeamRegion, Teams,
    Transactions, WaitedFor, WorkerTime,
};
use crate::log::Log;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How many rows of a list are shown in text.
const ROWS: usize = 8;

/// Nanoseconds for display: three digits and a unit.
pub fn duration(ns: u64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "us"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = if unit == "ns" || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

/// The report of `raddle trace stats`.
pub fn report(log: &Log, analysis: &Analysis) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", analysis.verdict);
    if let Some(forecast) = analysis.predicted {
        let _ = writeln!(text, "predicted with that: {forecast}");
    }
    text.push('\n');
    let wall = duration(analysis.wall_ns);
    let _ = writeln!(text, "wall {wall}, at least two workers at once {}", duration(analysis.together_ns));
    let lost = log.lost();
    if lost > 0 {
        let _ = writeln!(text, "{lost} records were overwritten: the figures are of the last {wall}");
    }
    if !log.ended {
        let _ = writeln!(text, "the program did not complete its trace: it was killed, or still runs");
    }
    for damage in &log.damage {
        let _ = writeln!(text, "damaged {damage}");
    }
    worker_table(&mut text, analysis);
    decade_table(&mut text, analysis);
    lists(&mut text, analysis);
    jobs(&mut text, analysis);
    transactions(&mut text, analysis);
    teams(&mut text, analysis);
    messages(&mut text, &analysis.messages);
    operations(&mut text, log, analysis);
    counter_table(&mut text, log);
    text
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

fn worker_table(text: &mut String, analysis: &Analysis) {
    let _ = write!(text, "\n{:<10} {:>9} {:>9}", "worker", "running", "overhead");
    for class in Class::ALL {
        let _ = write!(text, " {:>10}", class.name());
    }
    let _ = writeln!(text, " {:>9} {:>10}", "idle", "incidents");
    for worker in &analysis.workers {
        let share = |ns| percent(ns, analysis.wall_ns);
        let _ = write!(
            text,
            "{:<10} {:>9} {:>9}",
            worker.number,
            share(worker.running_ns),
            share(worker.overhead_ns)
        );
        for class in Class::ALL {
            let _ = write!(text, " {:>10}", share(worker.idle_ns(class)));
        }
        let _ = writeln!(text, " {:>9} {:>10}", share(worker.idle_total_ns()), worker.decades.total());
    }
}

fn decade_table(text: &mut String, analysis: &Analysis) {
    if analysis.workers.iter().all(|worker| worker.decades.total() == 0) {
        return;
    }
    let _ = write!(text, "\n{:<12}", "idle");
    for worker in &analysis.workers {
        let _ = write!(text, " {:>22}", format!("worker {}", worker.number));
    }
    text.push('\n');
    for place in 0..Decades::COUNT {
        let _ = write!(text, "{:<12}", Decades::NAMES[place]);
        for worker in &analysis.workers {
            let (incidents, ns) = (worker.decades.incidents[place], worker.decades.ns[place]);
            let cell =
                if incidents == 0 { "-".to_owned() } else { format!("{incidents} = {}", duration(ns)) };
            let _ = write!(text, " {cell:>22}");
        }
        text.push('\n');
    }
}

/// Level `sync`: the promoted forks.
fn jobs(text: &mut String, analysis: &Analysis) {
    let jobs = &analysis.jobs;
    let taken = jobs.stolen + jobs.taken_here;
    if jobs.promoted + taken > 0 {
        let Jobs { promoted, stolen, taken_here, had_back, done, open_ns } = jobs;
        let mean = duration(open_ns / taken.max(1));
        let _ = writeln!(
            text,
            "\njobs: {promoted} forks promoted; {stolen} taken by another worker, {taken_here} by their own, after \
             {mean}; {had_back} taken back; {done} done"
        );
    }
}

/// Level `sync`: the transactions.
fn transactions(text: &mut String, analysis: &Analysis) {
    let Transactions { committed, overtaken, hottest, pairs } = &analysis.transactions;
    if committed + overtaken == 0 {
        return;
    }
    let _ = writeln!(text, "\ntransactions: {committed} have written; {overtaken} attempts were overtaken");
    for (site, count) in hottest.iter().take(ROWS) {
        let _ = writeln!(text, "{count:>9} x  at a variable made at {site}");
    }
    for (by, whom, count) in pairs.iter().take(ROWS) {
        let by = by.as_deref().unwrap_or("one that kept it, or is not recorded,");
        let _ = writeln!(text, "{count:>9} x  {by} overtook {whom}");
    }
}

/// Teams of an adaptor: regions, where their members wait, tasks.
fn teams(text: &mut String, analysis: &Analysis) {
    let Teams { regions, waits, tasks } = &analysis.teams;
    if !regions.is_empty() {
        let _ = writeln!(text, "\nregions of teams, by how long members waited in them");
    }
    for region in regions.iter().take(ROWS) {
        let TeamRegion { name, times, members, wall_ns, waited_ns, busiest, .. } = region;
        let each = duration(wall_ns / times.max(&1));
        let waited = percent(*waited_ns, wall_ns.saturating_mul(*members));
        let (ratio, (member, most)) = (region.ratio(), busiest);
        let _ = writeln!(
            text,
            "{times:>9} x {each:>9}  {name}, {members} members: {waited} of their time is waits; who does most does \
             {ratio:.2} of the mean, {most} times member {member}"
        );
    }
    if !waits.is_empty() {
        let _ = writeln!(text, "\nwaits in teams");
    }
    for wait in waits.iter().take(ROWS) {
        let last = wait.last.map_or_else(String::new, |(member, times, rounds)| {
            format!(", {times} of {rounds} times for member {member}")
        });
        let mean = duration(wait.waited_ns / wait.count.max(1));
        let _ = writeln!(text, "{:>9} x {mean:>9}  {}{last}", wait.count, wait.name);
    }
    if !tasks.is_empty() {
        let _ = writeln!(text, "\ntasks of teams");
    }
    for task in tasks.iter().take(ROWS) {
        let mean = duration(task.ran_ns / task.count.max(1));
        let _ = writeln!(text, "{:>9} x {mean:>9}  {}", task.count, task.name);
    }
}

/// Messages between ranks.
fn messages(text: &mut String, messages: &Messages) {
    let Some(advice) = &messages.advice else { return };
    let (waited, gap) = (duration(messages.waited_ns), duration(messages.longest_gap_ns));
    let _ = writeln!(text, "\nmessages between ranks: {advice}");
    let _ = writeln!(
        text,
        "{} exchanges, waited for {waited}, {} % hidden; at most {gap} without a look",
        messages.exchanges,
        messages.hidden()
    );
    for wait in messages.waits.iter().take(ROWS) {
        let PeerWait { exchange, peer, count, bytes, under_way_ns, waited_ns, last, late } = wait;
        let each = |sum: &u64| sum / count.max(&1);
        let under_way = duration(each(under_way_ns));
        let late = if *late > 0 { format!(", {late} messages late") } else { String::new() };
        let last = if *last > 0 { format!(", last {last} times") } else { String::new() };
        let (waited, bytes) = (duration(each(waited_ns)), each(bytes));
        let _ = writeln!(
            text,
            "{count:>9} x {under_way:>9}  {exchange} with rank {peer}: {waited} waited for, {bytes} bytes{last}{late}"
        );
    }
}

fn messages_json(messages: &Messages) -> Value {
    json!({
        "advice": messages.advice, "exchanges": messages.exchanges, "waited_ns": messages.waited_ns,
        "under_way_ns": messages.under_way_ns, "longest_gap_ns": messages.longest_gap_ns,
        "waits": messages.waits.iter().map(|wait| json!({
            "exchange": wait.exchange, "peer": wait.peer, "count": wait.count, "bytes": wait.bytes,
            "under_way_ns": wait.under_way_ns, "waited_ns": wait.waited_ns, "last": wait.last, "late": wait.late,
        })).collect::<Vec<_>>(),
    })
}

/// The same as JSON.
fn teams_json(teams: &Teams) -> Value {
    json!({
        "regions": teams.regions.iter().map(|region| json!({
            "name": region.name, "times": region.times, "members": region.members, "wall_ns": region.wall_ns,
            "busy_ns": region.busy_ns, "most_ns": region.most_ns, "mean_ns": region.mean_ns,
            "waited_ns": region.waited_ns, "busiest": region.busiest.0, "busiest_times": region.busiest.1,
        })).collect::<Vec<_>>(),
        "waits": teams.waits.iter().map(|wait| json!({
            "name": wait.name, "count": wait.count, "waited_ns": wait.waited_ns,
            "last": wait.last.map(|last| last.0), "last_times": wait.last.map(|last| last.1),
            "rounds": wait.last.map(|last| last.2),
        })).collect::<Vec<_>>(),
        "tasks": teams.tasks.iter().map(|task| json!({
            "name": task.name, "count": task.count, "ran_ns": task.ran_ns,
        })).collect::<Vec<_>>(),
    })
}

/// Level `sync`: the operations, most frequent first.
fn operations(text: &mut String, log: &Log, analysis: &Analysis) {
    let mut all: Vec<(u64, String)> =
        analysis.user.operations.iter().map(|(name, count)| (*count, log.string(*name))).collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    if !all.is_empty() {
        let _ = writeln!(text, "\noperations");
    }
    for (count, name) in all.iter().take(2 * ROWS) {
        let _ = writeln!(text, "{count:>9} x  {name}");
    }
}

/// Level 0: the workers' counters of the whole run, however much was recorded or lost.
fn counter_table(text: &mut String, log: &Log) {
    let counting = || log.workers.iter().filter(|worker| !worker.counters.is_empty());
    let Some(names) = counting().next().map(|worker| worker.counters.iter().map(|(name, _)| name)) else {
        return;
    };
    let _ = write!(text, "\n{:<28}", "always counted");
    counting().for_each(|worker| text.push_str(&format!(" {:>14}", format!("worker {}", worker.number))));
    text.push('\n');
    for name in names {
        let values: Vec<u64> = counting().map(|worker| worker.counter(name).unwrap_or(0)).collect();
        if values.iter().any(|value| *value > 0) {
            let _ = write!(text, "{name:<28}");
            values.iter().for_each(|value| text.push_str(&format!(" {value:>14}")));
            text.push('\n');
        }
    }
}

fn lists(text: &mut String, analysis: &Analysis) {
    let _ = writeln!(text, "\nmigrations {}, steals {}", analysis.migrations, analysis.steals);
    if !analysis.ends.is_empty() {
        let _ = writeln!(text, "\nidle time by what ended it");
    }
    let idle = analysis.ends.iter().map(|(_, ns)| ns).sum();
    for (what, ns) in analysis.ends.iter().take(ROWS) {
        let _ = writeln!(text, "{:>9}  {what}", percent(*ns, idle));
    }
    if !analysis.stays.is_empty() {
        let _ = writeln!(text, "\nblocked in the kernel");
    }
    for (label, place, ns) in analysis.stays.iter().take(ROWS) {
        let place = place.as_ref().map_or_else(String::new, |place| format!(": {place}"));
        let _ = writeln!(text, "{:>9}  {label}{place}", duration(*ns));
    }
    edges(text, analysis, false, "wakes across workers");
    edges(text, analysis, true, "wakes by OS threads that are not workers");
    if !analysis.waits.is_empty() {
        let _ = writeln!(text, "\nwaits");
        for wait in analysis.waits.iter().take(ROWS) {
            let mean = duration(wait.waited_ns / wait.count.max(1));
            let objects =
                if wait.objects < 2 { String::new() } else { format!(", {} objects", wait.objects) };
            let (label, words) = (&wait.label, wait.reason.words());
            let site = wait.site.as_ref().map_or_else(String::new, |site| format!(" at {site}"));
            let _ = writeln!(text, "{:>9} x {:>9}  {label} {words}{site}{objects}", wait.count, mean);
        }
    }
    if analysis.path.steps > 1 {
        let (steps, ns) = (analysis.path.steps, duration(analysis.path.ns));
        let _ = writeln!(text, "\ncritical path: {steps} slices, {ns}");
        for (what, ns) in analysis.path.parts.iter().take(ROWS) {
            let _ = writeln!(text, "{:>9}  {what}", percent(*ns, analysis.path.ns));
        }
    }
    if !analysis.spreads.is_empty() {
        let _ = writeln!(text, "\nthread spread, 100 * (max - min) / max of run time");
        for spread in analysis.spreads.iter().take(ROWS) {
            let _ = writeln!(
                text,
                "{:>8.1} %  {} threads of {}, {} to {}",
                spread.percent(),
                spread.members,
                spread.label,
                duration(spread.least_ns),
                duration(spread.most_ns)
            );
        }
    }
}

fn edges(text: &mut String, analysis: &Analysis, outside: bool, title: &str) {
    let edges: Vec<&Edge> = analysis.edges.iter().filter(|edge| edge.outside == outside).collect();
    if !edges.is_empty() {
        let _ = writeln!(text, "\n{title}");
    }
    for edge in edges.into_iter().take(ROWS) {
        let mean = duration(edge.latency_ns / edge.count.max(1));
        let _ = writeln!(text, "{:>9} x {:>9}  {} -> {}", edge.count, mean, edge.from, edge.to);
    }
}

fn range(of: Range) -> [u64; 2] {
    [of.least_ns, of.most_ns]
}

/// The same as JSON; times are in nanoseconds.
pub fn json(log: &Log, analysis: &Analysis) -> Value {
    json!({
        "verdict": analysis.verdict.to_string(),
        "finding": analysis.verdict.finding(),
        "cause": analysis.verdict.cause(),
        "busy": analysis.verdict.busy,
        "advice": analysis.verdict.said_advice().to_string(),
        "convoy": analysis.verdict.convoy.as_ref().map(convoy_json),
        "storm": analysis.verdict.storm.as_ref().map(storm_json),
        "predicted": analysis.predicted.map(|forecast| forecast.to_string()),
        "predicted_ns": analysis.predicted.map(|forecast| range(forecast.recorded)),
        "predicted_bare_ns": analysis.predicted.and_then(|forecast| forecast.bare).map(range),
        "wall_ns": analysis.wall_ns,
        "together_ns": analysis.together_ns,
        "ended": log.ended,
        "lost": log.lost(),
        "migrations": analysis.migrations,
        "steals": analysis.steals,
        "workers": analysis.workers.iter().map(worker_json).collect::<Vec<_>>(),
        "counters": log.workers.iter().map(|worker| {
            let counters = worker.counters.iter().map(|(name, value)| (name.clone(), (*value).into()));
            counters.collect::<serde_json::Map<_, _>>()
        }).collect::<Vec<_>>(),
        "edges": analysis.edges.iter().map(|edge| json!({
            "from": edge.from, "to": edge.to, "count": edge.count, "latency_ns": edge.latency_ns,
            "outside": edge.outside,
        })).collect::<Vec<_>>(),
        "ends": analysis.ends.iter().map(|(what, ns)| json!({ "what": what, "ns": ns })).collect::<Vec<_>>(),
        "blocked": analysis.stays.iter().map(|(label, place, ns)| json!({
            "label": label, "place": place, "ns": ns,
        })).collect::<Vec<_>>(),
        "waits": analysis.waits.iter().map(|wait| json!({
            "label": wait.label, "reason": wait.reason.words(), "site": wait.site, "objects": wait.objects,
            "count": wait.count, "waited_ns": wait.waited_ns,
        })).collect::<Vec<_>>(),
        "waited_for": analysis.waited.iter().map(waited_json).collect::<Vec<_>>(),
        "path": json!({
            "steps": analysis.path.steps,
            "ns": analysis.path.ns,
            "parts": analysis.path.parts.iter().map(|(what, ns)| json!({ "what": what, "ns": ns })).collect::<Vec<_>>(),
        }),
        "jobs": jobs_json(&analysis.jobs),
        "transactions": json!({
            "committed": analysis.transactions.committed, "overtaken": analysis.transactions.overtaken,
            "hottest": analysis.transactions.hottest.iter().map(|(site, count)| json!({
                "site": site, "count": count,
            })).collect::<Vec<_>>(),
            "pairs": analysis.transactions.pairs.iter().map(|(by, whom, count)| json!({
                "by": by, "whom": whom, "count": count,
            })).collect::<Vec<_>>(),
        }),
        "teams": teams_json(&analysis.teams),
        "messages": messages_json(&analysis.messages),
        "operations": analysis.user.operations.iter().map(|(name, count)| json!({
            "name": log.string(*name), "count": count,
        })).collect::<Vec<_>>(),
        "spreads": analysis.spreads.iter().map(|spread| json!({
            "label": spread.label, "members": spread.members, "percent": spread.percent(),
            "least_ns": spread.least_ns, "most_ns": spread.most_ns,
        })).collect::<Vec<_>>(),
        "about": log.about.iter().map(|(k, v)| (k.clone(), Value::from(v.clone()))).collect::<serde_json::Map<_, _>>(),
    })
}

fn jobs_json(jobs: &Jobs) -> Value {
    json!({
        "promoted": jobs.promoted, "stolen": jobs.stolen, "taken_here": jobs.taken_here,
        "had_back": jobs.had_back, "done": jobs.done, "open_ns": jobs.open_ns,
    })
}

fn convoy_json(convoy: &Convoy) -> Value {
    json!({
        "label": convoy.label, "site": convoy.site, "waits": convoy.waits, "waited_ns": convoy.waited_ns,
        "queue": convoy.queue, "idle_ns": convoy.idle_ns,
    })
}

fn storm_json(storm: &Storm) -> Value {
    json!({
        "label": storm.label, "site": storm.site, "events": storm.events, "woken": storm.woken,
        "in_vain": storm.in_vain, "cost_ns": storm.cost_ns,
    })
}

fn waited_json(it: &WaitedFor) -> Value {
    json!({
        "label": it.waiter, "by": it.by, "reason": it.reason.words(), "site": it.site,
        "count": it.count, "waited_ns": it.waited_ns,
    })
}

fn worker_json(worker: &WorkerTime) -> Value {
    let classes: serde_json::Map<String, Value> =
        Class::ALL.map(|class| (class.name().to_owned(), worker.idle_ns(class).into())).into_iter().collect();
    json!({
        "worker": worker.number,
        "running_ns": worker.running_ns,
        "ran_ns": worker.slices.iter().map(Slice::ns).sum::<u64>(),
        "overhead_ns": worker.overhead_ns,
        "idle_ns": worker.idle_total_ns(),
        "classes_ns": classes,
        "incidents": worker.decades.incidents,
        "incidents_ns": worker.decades.ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(duration(7), "7 ns");
        assert_eq!(duration(1_500), "1.50 us");
        assert_eq!(duration(45_600_000), "45.6 ms");
        assert_eq!(duration(123_000_000_000), "123 s");
    }
}

//! Owns: the parsed page of a program, and the frame made of two pages.
//! May use: `raddle`, `raddle-trace`.
//! Never: the clock; a page contains its time.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use raddle_trace::analysis::duration;

/// A page of more workers is not of a runtime's.
const WORKERS_MAX: usize = 1024;

/// The counters of a runtime at one moment.
pub(super) struct Page {
    pub(super) pid: u64,
    pub(super) workers: usize,
    /// Extra workers, which follow the others.
    extra: usize,
    ns: u64,
    lines: HashMap<String, Vec<u64>>,
}

/// The columns that are rates per second: titles, and the counters that they add up.
const RATES: [(&str, &[&str]); 7] = [
    ("turns/s", &["dispatches"]),
    ("spawns/s", &["spawns"]),
    ("wakes/s", &["local_wakes"]),
    ("remote/s", &["remote_wakes"]),
    ("steals/s", &["steals"]),
    ("moved/s", &["migrations"]),
    ("sleeps/s", &["parks"]),
];

impl Page {
    /// Parses a page; `None` if it is incomplete.
    pub(super) fn of(text: &str) -> Option<Page> {
        let mut lines = HashMap::new();
        for line in text.lines() {
            let mut words = line.split(' ');
            let name = words.next()?.to_owned();
            let values: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            let ends = name == "end";
            lines.insert(name, values);
            if ends {
                break;
            }
        }
        let one = |name: &str| lines.get(name).and_then(|values| values.first().copied());
        let whole = one("raddle-top") == Some(1) && one("page").is_some() && one("page") == one("end");
        let count = |name| usize::try_from(one(name).unwrap_or(0)).ok().filter(|count| *count <= WORKERS_MAX);
        let (workers, extra) = (count("workers")?, count("extra")?);
        whole.then_some(())?;
        Some(Page { pid: one("pid")?, ns: one("ns")?, workers, extra, lines })
    }

    fn at(&self, name: &str, worker: usize) -> u64 {
        self.lines.get(name).and_then(|values| values.get(worker).copied()).unwrap_or(0)
    }

    /// How long a worker was idle, the current idle time included.
    fn idle_ns(&self, worker: usize) -> u64 {
        let since = self.at("idle_since", worker);
        let now = if since == 0 { 0 } else { self.ns.saturating_sub(since) };
        self.at("idle_ns", worker).saturating_add(now)
    }

    /// The share of time since `before`, or else since its beginning, that a worker was busy. 0 if nothing has been
    /// written since: all workers sleep.
    fn busy(&self, before: Option<&Page>, worker: usize) -> f64 {
        let (then, idle) = before.map_or((0, 0), |page| (page.ns, page.idle_ns(worker)));
        let then = then.max(self.at("began", worker));
        let time = self.ns.saturating_sub(then);
        if time == 0 {
            return 0.0;
        }
        1.0 - (self.idle_ns(worker).saturating_sub(idle) as f64 / time as f64).min(1.0)
    }

    fn rate(&self, before: Option<&Page>, names: &[&str], worker: usize) -> f64 {
        let sum = |page: &Page| names.iter().map(|name| page.at(name, worker)).fold(0, u64::saturating_add);
        let (then, count) = before.map_or((0, 0), |page| (page.ns, sum(page)));
        let time = self.ns.saturating_sub(then);
        if time == 0 { 0.0 } else { sum(self).saturating_sub(count) as f64 * 1e9 / time as f64 }
    }
}

/// Formats a rate with three digits.
fn many(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.1}M", v / 1e6),
        v if v >= 1e4 => format!("{:.0}k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

/// The size of a terminal.
#[derive(Clone, Copy)]
pub(super) struct TerminalSize {
    pub(super) columns: usize,
    pub(super) lines: usize,
}

/// The columns beside the rates: worker, busy, ready, backlog.
const OTHER_COLUMNS: usize = 34;
const RATE_COLUMNS: usize = 10;

/// Cuts a text to the size of the terminal: a wrapped line would push others out of view.
pub(super) fn cut_to_size(text: &str, room: TerminalSize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let fits = lines.len() < room.lines;
    let shown = if fits { lines.len() } else { room.lines.saturating_sub(2) };
    let mut out: Vec<String> =
        lines[..shown].iter().map(|line| line.chars().take(room.columns).collect()).collect();
    if !fits {
        out.push(format!("... and {} lines more", lines.len() - shown).chars().take(room.columns).collect());
    }
    out.join("\n") + "\n"
}

/// A frame: figures since the page before, else since the beginning; as many rates as fit into `columns`.
pub(super) fn frame(program: &str, before: Option<&Page>, now: &Page, columns: usize) -> String {
    let workers = 0..now.workers + now.extra;
    let busy = |workers: Range<usize>| workers.map(|worker| now.busy(before, worker)).sum::<f64>();
    let extra = match now.extra {
        0 => String::new(),
        count => format!(", {:.2} of {count} extra", busy(now.workers..workers.end)),
    };
    let since = if before.is_some() { "" } else { ", since its beginning" };
    let mut text = format!(
        "{program}\npid {}, runs for {}: {:.2} of {} workers busy{extra}{since}\n\n",
        now.pid,
        duration(now.ns),
        busy(0..now.workers),
        now.workers
    );
    let rates = &RATES[..RATES.len().min(columns.saturating_sub(OTHER_COLUMNS) / RATE_COLUMNS)];
    let _ = write!(text, "{:<8}{:>8}", "worker", "busy");
    rates.iter().for_each(|(title, _)| text.push_str(&format!("{title:>10}")));
    let _ = writeln!(text, "{:>8}{:>10}", "ready", "backlog");
    for worker in workers.clone() {
        let name = if worker < now.workers { worker.to_string() } else { format!("extra {worker}") };
        let _ = write!(text, "{name:<8}{:>6.1} %", 100.0 * now.busy(before, worker));
        for (_, names) in rates {
            let _ = write!(text, "{:>10}", many(now.rate(before, names, worker)));
        }
        let backlog = duration(now.at("backlog_ns", worker));
        let _ = writeln!(text, "{:>8}{backlog:>10}", now.at("ready", worker));
    }
    text.push_str("\nidle since the beginning: incidents, and their time\n");
    for decade in raddle::DECADE_NAMES {
        let name = format!("idle_{}", decade.replace(' ', "_"));
        let cell = |worker| {
            let (count, ns) = (now.at(&name, worker), now.at(&format!("{name},_ns"), worker));
            format!("{count} = {}", duration(ns))
        };
        if workers.clone().any(|worker| now.at(&name, worker) > 0) {
            let _ = write!(text, "{decade:<14}");
            workers.clone().for_each(|worker| text.push_str(&format!("{:>22}", cell(worker))));
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: u64, ns: u64, dispatches: u64, idle_ns: u64, idle_since: u64) -> String {
        format!(
            "raddle-top 1\npid 7\npage {number}\nns {ns}\nworkers 2\ndispatches {dispatches} 0\nidle_ns {idle_ns} 0\n\
             idle_0-10_us 3 0\nidle_0-10_us,_ns 900 0\nidle_since 0 {idle_since}\nready 12 0\nbacklog_ns 4000 0\n\
             end {number}\nof a longer page 1"
        )
    }

    #[test]
    fn a_torn_page_is_none() {
        assert!(Page::of(&page(1, 5, 0, 0, 0)).is_some());
        assert!(Page::of(&page(1, 5, 0, 0, 0).replace("end 1", "end 2")).is_none());
        assert!(Page::of("").is_none() && Page::of("raddle-top 1\npage 1").is_none());
    }

    /// Whoever writes a page may write anything.
    #[test]
    fn a_forged_page_does_no_harm() {
        let most = u64::MAX;
        assert!(Page::of(&page(1, 5, 0, 0, 0).replace("workers 2", &format!("workers {most}"))).is_none());
        let before = Page::of(&page(1, 5, most, most, 1)).unwrap();
        let forged = Page::of(&page(2, most, most, most, 1)).unwrap();
        for (before, now) in [(None, &forged), (Some(&before), &forged), (Some(&forged), &before)] {
            let text = frame("a program", before, now, usize::MAX);
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
        }
    }

    #[test]
    fn a_frame_is_what_changed_between_two_pages() {
        let one = Page::of(&page(1, 1_000_000_000, 500, 0, 1)).unwrap();
        let two = Page::of(&page(11, 2_000_000_000, 2_000_500, 250_000_000, 1)).unwrap();
        let text = frame("line 2000", Some(&one), &two, usize::MAX);
        assert!(text.contains("pid 7, runs for 2.00 s: 0.75 of 2 workers busy\n"), "{text}");
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.iter().any(|row| row.starts_with(&["0", "75.0", "%", "2.0M", "0"])), "{text}");
        assert!(
            rows.iter().any(|row| row.starts_with(&["1", "0.0", "%", "0"])),
            "it slept all the time: {text}"
        );
        assert!(rows.iter().any(|row| row.starts_with(&["0-10", "us", "3", "=", "900", "ns"])), "{text}");
        let still = frame("line 2000", Some(&two), &two, usize::MAX);
        assert!(still.contains("0.00 of 2 workers busy"), "nothing was written: all sleep: {still}");
    }

    /// One has begun since.
    #[test]
    fn an_extra_worker_has_a_line_of_its_own() {
        let one = Page::of(&page(1, 1_000_000_000, 500, 0, 1)).unwrap();
        let with_extra = page(11, 2_000_000_000, 500, 0, 1)
            .replace(
                "workers 2\ndispatches 500 0",
                "workers 2\nextra 1\nbegan 0 0 1500000000\ndispatches 500 0 700",
            )
            .replace("\nidle_ns 0 0", "\nidle_ns 0 0 250000000");
        let two = Page::of(&with_extra).unwrap();
        let text = frame("a program", Some(&one), &two, usize::MAX);
        assert!(text.contains(": 1.00 of 2 workers busy, 0.50 of 1 extra\n"), "{text}");
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.iter().any(|row| row.starts_with(&["extra", "2", "50.0", "%", "700"])), "{text}");
    }

    #[test]
    fn a_frame_fits_into_its_terminal() {
        let page = Page::of(&page(1, 1_000_000_000, 500, 0, 1)).unwrap();
        for (columns, lines) in [(120, 50), (80, 24), (40, 10), (20, 5), (1, 1), (0, 0)] {
            let text =
                cut_to_size(&frame("a program", None, &page, columns), TerminalSize { columns, lines });
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
            assert!(text.lines().count() <= lines.max(1), "{lines}: {text}");
            // What waits at each worker has room sooner than what it did.
            assert!(columns < 34 || lines < 10 || text.contains("backlog"), "{columns}: {text}");
        }
        let text = cut_to_size("one\ntwo\nthree\nfour\n", TerminalSize { columns: 80, lines: 4 });
        assert_eq!(text, "one\ntwo\n... and 2 lines more\n");
    }
}

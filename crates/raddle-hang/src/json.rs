//! Owns: a table of processes as JSON, by the schema in `docs/HANGS.md`.
//! May use: `age`, `cycle`, `kernel`, `livelock`, `process_table`, `symbol`, `text`.
//! Never: another schema under the same number.

use crate::age;
use crate::cycle::{Cycle, Who};
use crate::kernel;
use crate::livelock::Round;
use crate::process_table::{HeldSince, ProcessState, ProcessTable, Row, Waiting};
use crate::symbol;
use crate::text::kind_of;
use std::fmt::{self, Write};

/// A text with quotes around it.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl ProcessTable {
    pub(crate) fn json(
        &self,
        kind: &str,
        (sure, likely, rounds): (&[Cycle], &[Cycle], &[Round]),
        out: &mut impl Write,
    ) -> fmt::Result {
        let (workers, tasks, whole) = (self.workers, self.tasks, !self.is_shallow);
        write!(out, r#"{{"schema":"raddle-dump/1","kind":"{kind}","workers":{workers},"tasks":{tasks}"#)?;
        let (sure, likely) = (self.json_cycles(sure), self.json_cycles(likely));
        write!(out, r#","whole":{whole},"cycles":[{sure}],"likely_cycles":[{likely}],"processes":["#)?;
        for (at, row) in self.rows.iter().enumerate() {
            out.write_str(if at == 0 { "\n" } else { ",\n" })?;
            self.json_row(row, out)?;
        }
        out.write_str(r#"],"os_threads":["#)?;
        for (at, thread) in self.os_threads.iter().enumerate() {
            out.write_str(if at == 0 { "\n" } else { ",\n" })?;
            write!(out, r#"{{"os_thread":{}"#, thread.os_thread)?;
            self.json_wait(&thread.waits, out)?;
            out.write_char('}')?;
        }
        out.write_char(']')?;
        if !self.outstanding.is_empty() {
            let one = |(poller, count): &(String, usize)| {
                format!(r#"{{"poller":{},"count":{count}}}"#, Quoted(poller))
            };
            let all: Vec<String> = self.outstanding.iter().map(one).collect();
            write!(out, r#","outstanding":[{}]"#, all.join(","))?;
        }
        if !self.futures.is_empty() {
            let one = |(waits, count): (&String, &usize)| {
                format!(r#"{{"waits":{},"count":{count}}}"#, Quoted(waits))
            };
            let all: Vec<String> = self.futures.iter().map(one).collect();
            write!(out, r#","futures":[{}]"#, all.join(","))?;
        }
        if !rounds.is_empty() {
            let one = |round: &Round| {
                format!(r#"{{"for_ms":{},"turns":{}}}"#, round.lasts.as_millis(), round.turns)
            };
            let all: Vec<String> = rounds.iter().map(one).collect();
            let mut at_it: Vec<u64> = rounds.iter().flat_map(|round| self.lately_at_it(round)).collect();
            at_it.sort_unstable();
            let at_it: Vec<String> = at_it.iter().map(u64::to_string).collect();
            write!(out, r#","going_round":[{}],"at_it":[{}]"#, all.join(","), at_it.join(","))?;
        }
        out.write_str("}\n")
    }

    fn json_cycles(&self, cycles: &[Cycle]) -> String {
        let names = |cycle: &Cycle| {
            let names: Vec<String> = cycle.0.iter().map(|who| self.json_name(*who)).collect();
            format!("[{}]", names.join(","))
        };
        cycles.iter().map(names).collect::<Vec<_>>().join(",")
    }

    /// The number of a process, or `"os-thread 4711"`.
    fn json_name(&self, who: Who) -> String {
        match who {
            Who::Process(at) => self.rows[at].id.to_string(),
            Who::OsThread(at) => format!("\"os-thread {}\"", self.os_threads[at].os_thread),
        }
    }

    fn json_row(&self, row: &Row, out: &mut impl Write) -> fmt::Result {
        write!(out, r#"{{"id":{}"#, row.id)?;
        if let Some(name) = &row.name {
            write!(out, r#","name":{}"#, Quoted(self.text(name)))?;
        }
        let (kind, site) = (kind_of(row), row.site.to_string());
        write!(out, r#","kind":"{kind}""#)?;
        if row.job == 0 {
            write!(out, r#","spawned":{}"#, Quoted(&site))?;
        }
        write!(out, r#","state":"{}""#, word(&row.state))?;
        match &row.state {
            ProcessState::Runs(worker) if *worker != usize::MAX => write!(out, r#","worker":{worker}"#)?,
            ProcessState::Blocked(worker, call) => {
                let name = kernel::name_of_call(*call);
                write!(out, r#","worker":{worker},"system_call":{}"#, Quoted(name.trim_matches('`')))?;
            }
            ProcessState::Waits(waiting) | ProcessState::Away(Some(waiting)) => {
                self.json_wait(waiting, out)?
            }
            _ => {}
        }
        let functions = symbol::functions(self.frames(row));
        if !functions.is_empty() {
            let quoted: Vec<String> =
                functions.iter().map(|one| Quoted(&one.to_string()).to_string()).collect();
            write!(out, r#","frames":[{}]"#, quoted.join(","))?;
        }
        out.write_char('}')
    }

    fn json_wait(&self, waiting: &Waiting, out: &mut impl Write) -> fmt::Result {
        let (call, kind, site) = (waiting.call.name(), waiting.kind, waiting.site.to_string());
        let (object, more) = (waiting.subject, Quoted(self.text(&waiting.more)));
        write!(out, r#","wait":{{"call":"{call}","for":"{kind}","at":{}"#, Quoted(&site))?;
        write!(out, r#","object":"{object:#x}","detail":{more}"#)?;
        if let Some(age) = age::age(waiting.since, self.now) {
            write!(out, r#","for_ms":{}"#, age.as_millis())?;
        }
        let peers: Vec<String> = self.peers(waiting).iter().map(|who| self.json_name(*who)).collect();
        if !peers.is_empty() {
            write!(out, r#","could":[{}]"#, peers.join(","))?;
        }
        if let Some(child) = self.joined(waiting) {
            write!(out, r#","joins":{}"#, child.id)?;
        }
        self.json_holders(waiting, out)?;
        out.write_char('}')
    }

    fn json_holders(&self, waiting: &Waiting, out: &mut impl Write) -> fmt::Result {
        let name = |(holder, _): &HeldSince| {
            let process = self.row_at(*holder).map(Who::Process);
            let outside = self.os_threads.iter().position(|one| one.address == *holder).map(Who::OsThread);
            process.or(outside).map_or_else(|| "null".to_owned(), |who| self.json_name(who))
        };
        let held = self.held(waiting);
        if let Some(first) = held.first() {
            write!(out, r#","held_by":{}"#, name(first))?;
            if let Some(since) = first.1 {
                write!(out, r#","held_since":{}"#, Quoted(&since.to_string()))?;
            }
        }
        if held.len() > 1 {
            let all: Vec<String> = held.iter().map(name).collect();
            write!(out, r#","holders":[{}]"#, all.join(","))?;
        }
        Ok(())
    }
}

fn word(state: &ProcessState) -> &'static str {
    match state {
        ProcessState::Fresh => "fresh",
        ProcessState::Ready => "ready",
        ProcessState::Runs(_) => "runs",
        ProcessState::Blocked(..) => "blocked",
        ProcessState::Away(_) => "blocking",
        ProcessState::Waits(_) => "waits",
        ProcessState::Unknown => "unknown",
    }
}

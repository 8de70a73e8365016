//! Owns: what the page is told, as JSON.
//! May use: `raddle-occam`, `raddle-vm`.
//! Never: how it looks there.

use raddle_occam::diag::{CODES, Diagnostic, Label, Severity};
use raddle_occam::program::Program;
use raddle_occam::source::Sources;
use raddle_vm::{Network, Report, WaitingProcess};
use std::fmt::Write as _;

/// More complaints than this nobody reads.
const COMPLAINTS_MAX: usize = 100;

/// A text in quotes.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            character if u32::from(character) < 32 || ('\u{7f}'..'\u{a0}').contains(&character) => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

fn list<T>(items: impl IntoIterator<Item = T>, one: impl FnMut(T) -> String) -> String {
    let items: Vec<String> = items.into_iter().map(one).collect();
    format!("[{}]", items.join(","))
}

fn numbers(items: &[usize]) -> String {
    list(items, usize::to_string)
}

fn place(label: &Label, sources: &Sources) -> String {
    let from = sources.place(label.span.lo);
    let to = sources.place(label.span.hi.max(label.span.lo)).or_else(|| from.clone());
    let text = quoted(&label.text);
    let (Some(from), Some(to)) = (from, to) else { return format!("{{\"label\":{text}}}") };
    format!(
        "{{\"file\":{},\"line\":{},\"column\":{},\"to\":[{},{}],\"label\":{text}}}",
        quoted(from.file),
        from.line,
        from.column,
        to.line,
        to.column
    )
}

pub(crate) fn complaints(complaints: &[Diagnostic], sources: &Sources) -> String {
    list(complaints.iter().take(COMPLAINTS_MAX), |it| {
        format!(
            "{{\"code\":\"{}\",\"error\":{},\"message\":{},\"at\":{},\"also\":{},\"notes\":{},\"help\":{}}}",
            it.code,
            it.severity == Severity::Error,
            quoted(&it.message),
            place(&it.primary, sources),
            list(&it.secondary, |label| place(label, sources)),
            list(&it.notes, |note| quoted(note)),
            it.help.as_ref().map_or("null".to_owned(), |help| quoted(help))
        )
    })
}

/// The tests of a program: their names, what they read, what they must write, how they must fail.
pub(crate) fn tests(program: &Program) -> String {
    let bytes = |bytes: &[u8]| quoted(&String::from_utf8_lossy(bytes));
    let or_null = |it: &Option<Vec<u8>>| it.as_ref().map_or("null".to_owned(), |it| bytes(it));
    list(program.tests(), |(mark, routine)| {
        format!(
            "{{\"name\":{},\"input\":{},\"output\":{},\"fails\":{}}}",
            quoted(program.spelling(program.routines[routine.0 as usize].name)),
            bytes(&mark.input),
            or_null(&mark.output),
            or_null(&mark.fails)
        )
    })
}

pub(crate) fn explanation(code: &str) -> Option<String> {
    let entry = CODES.iter().find(|entry| entry.code.to_string() == code)?;
    let words: Vec<_> = entry.explanation.split_whitespace().collect();
    Some(format!("{{\"title\":{},\"text\":{}}}", quoted(entry.title), quoted(&words.join(" "))))
}

pub(crate) fn report(report: &Report, deadlock: bool) -> String {
    // A run-time error is one process: there is nothing to draw.
    let svg = if deadlock { quoted(&report.svg()) } else { "null".to_owned() };
    format!(
        "{{\"headline\":{},\"text\":{},\"svg\":{svg},\"processes\":{},\"front\":{}}}",
        quoted(&report.headline),
        quoted(&report.to_string()),
        list(&report.processes, process),
        report.cycle
    )
}

fn process(it: &WaitingProcess) -> String {
    format!(
        "{{\"id\":{},\"name\":{},\"indices\":{},\"file\":{},\"line\":{},\"column\":{},\"doing\":{},\"for\":{},\
         \"all\":{}}}",
        it.id,
        quoted(&it.name),
        list(&it.indices, i32::to_string),
        quoted(&it.place.file),
        it.place.line,
        it.place.column,
        quoted(&it.doing),
        numbers(&it.waits_for),
        it.all
    )
}

pub(crate) fn network(network: &Network) -> String {
    format!(
        "{{\"processes\":{},\"channels\":{},\"more\":{}}}",
        list(&network.processes, process),
        list(&network.channels, |it| {
            let (writers, readers) = (numbers(&it.writers), numbers(&it.readers));
            format!("{{\"name\":{},\"writers\":{writers},\"readers\":{readers}}}", quoted(&it.name))
        }),
        network.more
    )
}

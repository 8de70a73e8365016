//! Owns: where in the program a construct stands, and what reports and traces say of it.
//! May use: `abi`, `raddle-core`, `raddle-hang`.
//! Never: a name that is looked for while the program runs; a file that is read before somebody asks.
//!
//! clang says of each call where it stands, if the program is compiled with `-g`; of gcc's there is the return address,
//! or the function that the compiler made of a region or a task. A call that may wait leaves both in its member
//! (`Member::site`), which costs two stores. What they mean is found when a report or a trace is written: from the
//! compiler's text, else from symbols and debug information.

use crate::abi::At;
use raddle_core::trace::{Mark, TeamStep, note_step};
use std::fmt;
use std::ptr::with_exposed_provenance_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// Where a construct stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramSite {
    /// clang's `ident_t`, or 0.
    source: usize,
    /// A return address, or the first byte of a function and one; or 0.
    code: usize,
}

/// What stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Construct {
    Region = 1,
    Barrier,
    Tasks,
    Task,
}

impl Construct {
    fn words(self) -> &'static str {
        match self {
            Construct::Region => "region of",
            Construct::Barrier => "barrier in",
            Construct::Tasks => "wait for tasks in",
            Construct::Task => "task of",
        }
    }
}

/// Where the parts of `;file;function;line;column;;` begin and end.
struct SourceText {
    text: At<u8>,
    file: (usize, usize),
    function: (usize, usize),
    line: (usize, usize),
}

impl SourceText {
    /// None if the compiler does not know either.
    fn of(source: usize) -> Option<SourceText> {
        const LONGEST: usize = 4096;
        /// Four numbers of four bytes stand before the address.
        const BEHIND: usize = 2;
        if source == 0 {
            return None;
        }
        let text = At::<usize>::new(with_exposed_provenance_mut(source)).at(BEHIND).get();
        let text = At::<u8>::new(with_exposed_provenance_mut(text));
        if text.is_null() {
            return None;
        }
        let mut ends = [0; 4];
        let mut found = 0;
        for at in 0..LONGEST {
            match text.at(at).get() {
                0 => return None,
                b';' => {
                    ends[found] = at;
                    found += 1;
                    if found == ends.len() {
                        break;
                    }
                }
                _ => {}
            }
        }
        let part = |n: usize| (ends[n] + 1, ends[n + 1]);
        let whole = SourceText { text, file: part(0), function: part(1), line: part(2) };
        (found == ends.len() && !whole.is(whole.file, b"unknown")).then_some(whole)
    }

    fn is(&self, (from, to): (usize, usize), word: &[u8]) -> bool {
        to - from == word.len()
            && word.iter().enumerate().all(|(n, byte)| self.text.at(from + n).get() == *byte)
    }

    fn part(&self, (from, to): (usize, usize), out: &mut dyn fmt::Write) -> fmt::Result {
        (from..to).try_for_each(|at| out.write_char(char::from(self.text.at(at).get())))
    }

    /// `main (sum.c:12)`; allocates nothing.
    fn write(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let (from, to) = self.file;
        let slash = (from..to).rev().find(|at| self.text.at(*at).get() == b'/');
        self.part(self.function, out)?;
        out.write_str(" (")?;
        self.part((slash.map_or(from, |at| at + 1), to), out)?;
        out.write_str(":")?;
        self.part(self.line, out)?;
        out.write_str(")")
    }
}

impl ProgramSite {
    /// Of a call of gcc's, which is to return there.
    pub(crate) fn of_return(code: usize) -> ProgramSite {
        ProgramSite { source: 0, code }
    }

    /// Of what runs in a function that the compiler made.
    pub(crate) fn of_function(function: usize) -> ProgramSite {
        ProgramSite { source: 0, code: if function == 0 { 0 } else { function + 1 } }
    }

    /// Of a call of clang's.
    pub(crate) fn of_source(source: *const u8, code: usize) -> ProgramSite {
        ProgramSite { source: source.expose_provenance(), code }
    }

    pub(crate) fn is_known(self) -> bool {
        self != ProgramSite::default()
    }

    /// For a report: what stands still may have the allocator's lock, so nothing is allocated. A code address is told
    /// by who writes the report.
    pub(crate) fn write(self, out: &mut dyn fmt::Write) -> fmt::Result {
        match SourceText::of(self.source) {
            Some(text) => text.write(out),
            None if self.code != 0 => write!(out, "@{:#x}", self.code),
            None => out.write_str("?"),
        }
    }
}

/// `main (sum.c:12)`, or `main + 0x3e`.
fn told_by_code(code: usize) -> String {
    let Some((name, place)) = raddle_hang::function_before(code) else { return format!("{code:#x}") };
    let (function, distance) = name.split_once(" + ").unwrap_or((&name, ""));
    let own = own_name(function);
    let Some(place) = place else {
        // At the begin of a function that is a region there is nothing but that.
        let is_begin = matches!(distance, "" | "0x0" | "0x1");
        return if is_begin { function.to_owned() } else { name };
    };
    let file = place.rsplit('/').next().unwrap_or(&place);
    let line = file.match_indices(':').nth(1).map_or(file, |(column, _)| &file[..column]);
    if own.is_empty() { line.to_owned() } else { format!("{own} ({line})") }
}

/// Of a function that a compiler made of a part of another one: that one's name.
fn own_name(function: &str) -> &str {
    let made = ["._omp_fn", ".omp_outlined", ".omp_task_entry", ".omp_"];
    let cut = made.iter().filter_map(|part| function.find(part)).min();
    cut.map_or(function, |at| &function[..at])
}

/// So many constructs have names; those beyond share one.
const SITES: usize = 1024;

/// A construct that a trace names. The table lies in the library, since a trace knows a mark by its distance.
struct ConstructSlot {
    key: AtomicUsize,
    named: OnceLock<NamedConstruct>,
}

struct NamedConstruct {
    construct: Construct,
    code: usize,
    /// The library that has the compiler's text may be gone when the trace is written.
    source: Option<String>,
    mark: Mark,
}

static TABLE: [ConstructSlot; SITES] =
    [const { ConstructSlot { key: AtomicUsize::new(0), named: OnceLock::new() } }; SITES];

fn tell(at: usize) -> String {
    let Some(named) = TABLE[at].named.get() else { return String::new() };
    let name = named.source.clone().unwrap_or_else(|| told_by_code(named.code));
    format!("{} {name}", named.construct.words())
}

/// The name of a construct that stands there.
fn mark_of(construct: Construct, site: ProgramSite) -> &'static Mark {
    static OTHER: Mark = Mark::told_by(|_| "one of more than 1024 constructs".to_owned(), 0);
    let address = if site.code != 0 { site.code } else { site.source };
    let key = address << 3 | construct as usize;
    let begin = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    for step in 0..SITES {
        let at = (begin + step) % SITES;
        let entry = &TABLE[at];
        let known = match entry.key.load(Ordering::Relaxed) {
            0 => entry
                .key
                .compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed)
                .unwrap_or_else(|other| other),
            other => other,
        };
        if known == 0 || known == key {
            let named = entry.named.get_or_init(|| {
                let mut text = String::new();
                let source = SourceText::of(site.source).filter(|source| source.write(&mut text).is_ok());
                let source = source.map(|_| text);
                NamedConstruct { construct, code: site.code, source, mark: Mark::told_by(tell, at) }
            });
            return &named.mark;
        }
    }
    &OTHER
}

static IS_TRACED: AtomicBool = AtomicBool::new(false);

/// Before the first region: whether there is to be a trace.
pub(crate) fn look_for_trace() {
    IS_TRACED.store(std::env::var_os("RADDLE_TRACE").is_some(), Ordering::Relaxed);
}

/// Whether steps are to be noted.
#[inline(always)]
pub(crate) fn is_traced() -> bool {
    IS_TRACED.load(Ordering::Relaxed)
}

/// The number of the next region.
pub(crate) fn next_region() -> u32 {
    static REGIONS: AtomicU32 = AtomicU32::new(0);
    REGIONS.fetch_add(1, Ordering::Relaxed)
}

/// For the trace, if there is one: a step of the caller's, at what stands there, as that member of the region of that
/// number.
#[inline]
pub(crate) fn note(step: TeamStep, construct: Construct, site: ProgramSite, (member, region): (u32, u32)) {
    if is_traced() {
        note_step(step, mark_of(construct, site), member, region);
    }
}

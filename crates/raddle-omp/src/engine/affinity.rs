//! Owns: the affinity format: what is told of a thread and where it runs.
//! May use: `icv::place_text`, `icv::places`, `report`.
//! Never: where that is decided.

use crate::icv::place_text::ranges;
use crate::icv::places::{allowed, places};
use std::sync::{Mutex, PoisonError};

/// What is known of a thread in a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AffinityFacts {
    /// Which team of a league, of how many.
    pub(crate) team: (u32, u32),
    pub(crate) level: u32,
    pub(crate) thread: u32,
    pub(crate) threads: u32,
    /// The number of its team's master in the team around; -1 if there is none.
    pub(crate) ancestor: i32,
    pub(crate) gtid: u32,
    /// Where it is bound.
    pub(crate) place: Option<u32>,
}

static FORMAT: Mutex<Option<String>> = Mutex::new(None);

pub(crate) fn format() -> String {
    let set = FORMAT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let from = || std::env::var("OMP_AFFINITY_FORMAT").ok();
    set.or_else(from).unwrap_or_else(|| "level %L thread %i affinity %A".to_owned())
}

/// From now on.
pub(crate) fn set_format(text: String) {
    *FORMAT.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
}

/// The value of a field, by its short or its long name; none if there is no such one.
fn field(of: &AffinityFacts, name: &str) -> Option<String> {
    let number = |number: u32| Some(number.to_string());
    match name {
        "t" | "team_num" => number(of.team.0),
        "T" | "num_teams" => number(of.team.1),
        "L" | "nesting_level" => number(of.level),
        "n" | "thread_num" => number(of.thread),
        "N" | "num_threads" => number(of.threads),
        "a" | "ancestor_tnum" => Some(of.ancestor.to_string()),
        "H" | "host" => {
            Some(std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().into())
        }
        "P" | "process_id" => number(std::process::id()),
        "i" | "native_thread_id" => number(of.gtid),
        "A" | "thread_affinity" => Some(match of.place {
            Some(place) => ranges(&places()[place as usize]),
            None => ranges(allowed()),
        }),
        _ => None,
    }
}

/// `%[0][.][width]type`, or `%[...]{name}`.
pub(crate) fn expand(of: &AffinityFacts, format: &str) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(more) = rest.strip_prefix('%') {
            text.push('%');
            rest = more;
            continue;
        }
        let zero = rest.starts_with("0.") || rest.starts_with('0');
        rest = rest.strip_prefix('0').unwrap_or(rest);
        let right = rest.starts_with('.');
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let width: usize = rest[..digits].parse().unwrap_or(0).min(1 << 12);
        rest = &rest[digits..];
        let name = match rest.strip_prefix('{').and_then(|more| more.split_once('}')) {
            Some((name, more)) => {
                rest = more;
                name
            }
            None => {
                let end = rest.chars().next().map_or(0, char::len_utf8);
                let name = &rest[..end];
                rest = &rest[end..];
                name
            }
        };
        let value = field(of, name).unwrap_or_else(|| "undefined".to_owned());
        match (zero && right, right) {
            (true, _) => {
                // The sign stands before the zeroes.
                let digits = value.trim_start_matches('-');
                let sign = &value[..value.len() - digits.len()];
                text.push_str(&format!("{sign}{digits:0>rest$}", rest = width.saturating_sub(sign.len())));
            }
            (_, true) => text.push_str(&format!("{value:>width$}")),
            _ => text.push_str(&format!("{value:<width$}")),
        }
    }
    text + rest
}

/// To standard error.
pub(crate) fn tell(of: &AffinityFacts) {
    crate::report::write(&(expand(of, &format()) + "\n"));
}

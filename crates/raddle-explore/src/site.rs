//! Owns: where in the user's own code an operation is called, for reports.
//! May use: `raddle-core`.
//! Never: work in a run that nobody will read about; a backtrace costs microseconds, and its names milliseconds.
//!
//! Most operations say where they were called. For those that cannot (a guard that is dropped, an iterator's step) it
//! is found in a backtrace of the caller's own stack, which knows lines only where there is debug information.

use raddle_core::message::OWN_CRATES;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::Location;

/// A place that was noted down.
#[derive(Debug, Default)]
pub(crate) enum Site {
    /// In a run that nobody reads about.
    #[default]
    Unwanted,
    Told(&'static Location<'static>),
    Among(Box<Backtrace>),
}

/// Notes places down, if they are wanted.
#[derive(Debug)]
pub(crate) struct Sites {
    wanted: bool,
}

impl Sites {
    pub(crate) fn new(wanted: bool) -> Sites {
        Sites { wanted }
    }

    pub(crate) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// Where the caller stands, who has been told that it is at `site`.
    pub(crate) fn at(&self, site: &'static Location<'static>) -> Site {
        match self.wanted {
            false => Site::Unwanted,
            true if is_elsewhere(site.file()) => Site::Among(Box::new(Backtrace::force_capture())),
            true => Site::Told(site),
        }
    }

    /// ` at FILE:LINE:COLUMN`, if that is known.
    pub(crate) fn text(&self, site: &Site) -> Option<String> {
        let place = match site {
            Site::Unwanted => None,
            Site::Told(site) => Some(site.to_string()),
            Site::Among(trace) if trace.status() == BacktraceStatus::Captured => place_in(&trace.to_string()),
            Site::Among(_) => None,
        };
        place.map(|place| format!(" at {place}"))
    }
}

/// The first place of a backtrace that is not ours or the standard library's.
fn place_in(trace: &str) -> Option<String> {
    let mut lines = trace.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((_, function)) = line.split_once(": ") else { continue };
        let place = lines.next_if(|next| next.starts_with("at "));
        if let Some(place) = place.filter(|place| !is_ours(function) && !is_elsewhere(place)) {
            return Some(place.trim_start_matches("at ").trim_start_matches("./").to_owned());
        }
    }
    None
}

/// Code of the standard library, or of ours, by its place: with few debug symbols an inlined function has no path, and
/// a closure of the program that is dropped as it is called goes by the closure's name.
fn is_elsewhere(place: &str) -> bool {
    let own = file!().trim_end_matches("site.rs");
    let mut ours = OWN_CRATES
        .iter()
        .map(|name| own.replace("raddle-explore", &name.trim_end_matches(':').replace('_', "-")));
    let of_std =
        || ["core", "alloc", "std"].iter().any(|name| place.contains(&format!("/library/{name}/src/")));
    let mut is_ours = || own.contains("raddle-explore") && ours.any(|root| place.contains(&root));
    place.starts_with("at /rustc/") || is_ours() || of_std()
}

fn is_ours(function: &str) -> bool {
    let function = function.trim_start_matches('<').trim_start_matches("dyn ");
    let crates = ["std::", "core::", "alloc::", "__", "backtrace"];
    OWN_CRATES.iter().chain(&crates).any(|name| function.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_is_the_users() {
        let trace = "
   0: std::backtrace::Backtrace::force_capture
             at /rustc/lib.rs:1:2
   1: raddle_core::worker::choice::point
             at ./src/choice.rs:30:9
   2: <raddle_core::sync::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop
             at ./src/sync/mutex.rs:30:9
   3: core::ptr::drop_in_place
   3: <dining::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once
             at /rustc/0a1b/library/core/src/ops/function.rs:250:5
   3: here
             at /home/weaver/crates/raddle-core/src/choice.rs:28:26
   4: dining::eat
             at ./tests/dining.rs:12:5
   5: dining::main
             at ./tests/dining.rs:40:5
";
        assert_eq!(place_in(trace).unwrap(), "tests/dining.rs:12:5");
        assert_eq!(place_in("   0: dining::eat\n   1: dining::main\n"), None);
    }
}

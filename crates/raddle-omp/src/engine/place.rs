//! Owns: on which worker a member is that is bound to a place; that workers are bound to processors.
//! May use: `icv`, `raddle-core`.
//! Never: reading a variable.
//!
//! The workers are bound to processors, one each, in the order in which the places name them; a member that is bound
//! runs on a worker of its place, and stays there. Without `OMP_PROC_BIND` and its like nobody is bound.

use crate::engine::bound::{Binding, SPREAD, TRUE};
use crate::icv::places::{allowed, places};
use crate::icv::settings;
use std::sync::OnceLock;

/// The bindings that a team's come from: how, of how many, and from where.
pub(crate) type BindingKey = (u32, u32, Binding);

/// Whether members are bound at all.
#[inline]
pub(crate) fn is_bound() -> bool {
    settings().first.bind != 0
}

/// The processors that workers are bound to, in order: those of the places, then the rest.
fn order() -> &'static [usize] {
    static ORDER: OnceLock<Vec<usize>> = OnceLock::new();
    ORDER.get_or_init(|| {
        let mut all = Vec::new();
        for &at in places().iter().flatten().chain(allowed()) {
            if !all.contains(&at) {
                all.push(at);
            }
        }
        all
    })
}

/// To be called before the runtime begins; again, it does nothing.
pub(crate) fn begin() {
    if is_bound() {
        raddle_core::door::thread::pin_workers(order().to_vec());
    }
}

/// What a region's clause says, by its number; 0 for none that is known.
pub(crate) fn clause(bind: u32) -> u32 {
    if (TRUE..=SPREAD).contains(&bind) { bind } else { 0 }
}

/// Where the initial thread is.
pub(crate) fn initial() -> Binding {
    Binding { place: 0, first: 0, count: places().len() as u32, turn: 0 }
}

/// The worker for whom is bound so, of so many.
pub(crate) fn worker_of(bound: Binding, workers: usize) -> usize {
    let place = &places()[bound.place as usize];
    let processor = place[bound.turn as usize % place.len()];
    let (at, all) = (order().iter().position(|at| *at == processor).unwrap_or(0), order().len());
    // As workers are bound: each has the processors from its own up to the next one's.
    if workers < all { ((at + 1) * workers).div_ceil(all) - 1 } else { at }
}

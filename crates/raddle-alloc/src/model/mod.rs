//! Owns: loom's models of the protocols: every interleaving of two or three threads, of the code that runs.
//! May use: `loom`.
//! Never: memory; a block is a cell here.
//!
//! Each mistake that an interleaving can show is made in turn, in a process of its own, and some model must fail.

mod bits;
pub(crate) mod counted;
mod mistakes;
mod page_word;
mod records;
mod rest;
mod slots;
mod stopped;

/// Runs a model. `preemptions` bounds how often a thread that could go on is interrupted in one execution.
fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 5_000;
    builder.check(model);
}

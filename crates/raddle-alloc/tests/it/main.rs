//! Owns: what the allocator promises, from outside: sizes, alignments, contents, refusals, threads.
//! May use: `raddle-alloc`.
//! Never: a time.

#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

mod random;
mod sizes;
mod threads;

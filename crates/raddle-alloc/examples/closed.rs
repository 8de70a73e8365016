//! A library of Rust's that has the allocator for itself, and can be opened and closed.

#![allow(unsafe_code, reason = "it exports a name")]

#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

/// Allocates, and frees most of it.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_closed_work() -> usize {
    let words: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    words.iter().map(String::len).sum()
}

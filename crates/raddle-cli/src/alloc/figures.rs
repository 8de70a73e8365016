//! Owns: the allocator's figures as text and as JSON.
//! May use: `raddle-alloc`, `serde_json`.
//! Never: a figure of its own, but sums and quotients.

use std::fmt::Write as _;

use raddle_alloc::Statistics;
use serde_json::{Value, json};

/// What the pages of small blocks have, and what of it no block in use has.
struct Small {
    blocks_bytes: usize,
    pages_bytes: usize,
}

impl Small {
    fn of(statistics: &Statistics) -> Small {
        let classes = statistics.classes.iter();
        let sums = classes.map(|class| (class.blocks * class.block_bytes, class.room * class.block_bytes));
        let (blocks_bytes, pages_bytes) = sums.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        Small { blocks_bytes, pages_bytes }
    }

    /// The part of the pages that no block in use has.
    fn unused(&self) -> f64 {
        unused(self.blocks_bytes, self.pages_bytes)
    }
}

fn unused(used: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { 1.0 - used as f64 / all as f64 }
}

/// A size for people.
fn size(bytes: usize) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// The figures for people.
pub(super) fn text(statistics: &Statistics, resident: Option<u64>) -> String {
    let small = Small::of(statistics);
    let mut text = String::new();
    let mut line = |what: &str, figure: String| {
        writeln!(text, "{what:<42}{figure:>12}").expect("a string takes it");
    };
    if let Some(resident) = resident {
        line("resident, the whole process", size(resident as usize));
    }
    line("touched by the allocator", size(statistics.touched_bytes));
    line("address space", size(statistics.mapped_bytes));
    line("small blocks, of programs or in caches", size(small.blocks_bytes));
    line("their pages", size(small.pages_bytes));
    line("of those unused", format!("{:.1} %", small.unused() * 100.0));
    line("large blocks in arenas", size(statistics.large_bytes));
    line("heaps that ever were", statistics.heaps.to_string());
    line("pages that threads left", statistics.left_pages.to_string());
    line("blocks given back to others' pages", statistics.returned_blocks.to_string());
    line("exchanges that took", statistics.returned_batches.to_string());
    line("pages that changed their heap", statistics.adopted_pages.to_string());
    line("refills and flushes of caches", format!("{}, {}", statistics.refills, statistics.flushes));
    writeln!(text, "\n{:>9}{:>9}{:>12}{:>12}{:>10}", "block", "pages", "in use", "room", "unused")
        .expect("a string takes it");
    for class in statistics.classes.iter().filter(|class| class.pages > 0) {
        let unused = unused(class.blocks, class.room) * 100.0;
        let (bytes, pages, blocks, room) = (class.block_bytes, class.pages, class.blocks, class.room);
        writeln!(text, "{bytes:>9}{pages:>9}{blocks:>12}{room:>12}{unused:>8.1} %")
            .expect("a string takes it");
    }
    text
}

/// The figures for programs: the allocator's own, and what is derived from them.
pub(super) fn json(statistics: &Statistics, resident: Option<u64>) -> String {
    let small = Small::of(statistics);
    let own: Value = serde_json::from_str(&statistics.to_string()).expect("the allocator writes JSON");
    let mut all = json!({
        "resident_bytes": resident,
        "small_block_bytes": small.blocks_bytes,
        "small_page_bytes": small.pages_bytes,
        "unused_part": small.unused(),
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
        all.extend(own);
    }
    format!("{all:#}\n")
}

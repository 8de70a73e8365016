//! Owns: mappings of large blocks that were freed, for the next of about this size.
//! May use: `protocol::slots`, `system`.
//! Never: a block in use.
//!
//! A mapping that is unmapped and mapped again costs a fault for each of its pages: malloc-large of mimalloc-bench took
//! five times as long. A mapping begins at a multiple of an arena's size: the bits below hold how many pages of the
//! kernel's it has. They go back to the kernel with what else has been free for so long.
//!
//! It is unsafe because it unmaps.

use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::protocol::slots;
use crate::system::{self, OS_PAGE};

const SLOTS: usize = 32;
/// A longer one is not kept; nor are more than so many bytes in all.
const MAPPING_BYTES_MAX: usize = 128 << 20;
const ALL_BYTES_MAX: usize = 256 << 20;
/// What a mapping's address is a multiple of.
pub(crate) const ALIGN: u64 = 32 << 20;

static KEPT: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
static SINCE_MS: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
static BYTES: AtomicUsize = AtomicUsize::new(0);

fn parts(word: u64) -> (*mut u8, usize) {
    let place = ptr::with_exposed_provenance_mut((word & !(ALIGN - 1)) as usize);
    (place, (word & (ALIGN - 1)) as usize * OS_PAGE)
}

/// As [`system::map`]; where that is refused, what is kept here is given back first.
pub(crate) fn map(length: usize, align: usize, offset: usize) -> *mut u8 {
    let place = system::map(length, align, offset);
    if place.is_null() && purge(0) > 0 { system::map(length, align, offset) } else { place }
}

/// Keeps a mapping; false if it is to be unmapped.
pub(crate) fn keep(mapping: *mut u8, bytes: usize) -> bool {
    if bytes > MAPPING_BYTES_MAX || !mapping.addr().is_multiple_of(ALIGN as usize) {
        return false;
    }
    let all = BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    let word = mapping.expose_provenance() as u64 | (bytes / OS_PAGE) as u64;
    let slot = if all <= ALL_BYTES_MAX { slots::put(&KEPT, word) } else { None };
    match slot {
        Some(slot) => SINCE_MS[slot].store(system::now_ms(), Ordering::Relaxed),
        None => _ = BYTES.fetch_sub(bytes, Ordering::Relaxed),
    }
    slot.is_some()
}

/// A mapping for a block that needs so many bytes, and its length, which may be less or more: the shortest that is
/// enough and at most a quarter longer; or the longest that is not enough, if it is at least half as long; or any longer
/// one.
pub(crate) fn take(bytes: usize) -> Option<(*mut u8, usize)> {
    let length = |slot: usize| parts(KEPT[slot].load(Ordering::Relaxed)).1;
    // The best is the first by this order; what is no use has none.
    let rank = |slot: usize| match length(slot) {
        have if have >= bytes && have <= bytes + bytes / 4 => Some((0, have - bytes)),
        have if have < bytes && have >= bytes / 2 => Some((1, bytes - have)),
        have if have > bytes => Some((2, have - bytes)),
        _ => None,
    };
    // bounded: who is second at the best one looks once more.
    for _ in 0..2 {
        let (_, best) = (0..SLOTS).filter_map(|slot| Some((rank(slot)?, slot))).min()?;
        let word = KEPT[best].load(Ordering::Relaxed);
        if word != 0 && slots::take(&KEPT, best, word) {
            let (place, have) = parts(word);
            BYTES.fetch_sub(have, Ordering::Relaxed);
            return Some((place, have));
        }
    }
    None
}

/// Unmaps those that have been kept for so long; how many bytes.
pub(crate) fn purge(for_ms: u64) -> usize {
    let now = system::now_ms();
    let mut purged = 0;
    // bounded: by the slots.
    for (slot, since) in SINCE_MS.iter().enumerate() {
        let word = KEPT[slot].load(Ordering::Relaxed);
        let is_old = now.saturating_sub(since.load(Ordering::Relaxed)) >= for_ms;
        if word != 0 && is_old && slots::take(&KEPT, slot, word) {
            let (place, bytes) = parts(word);
            BYTES.fetch_sub(bytes, Ordering::Relaxed);
            // SAFETY: it was kept, and is the caller's now.
            unsafe { system::unmap(place, bytes) };
            purged += bytes;
        }
    }
    purged
}

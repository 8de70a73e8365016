//! Owns: the heap profile: which calls have allocated what is in use, by samples.
//! May use: `calls`, `page`, `system`.
//! Never: a cost where it is off: only paths without a heap's cache ask for it, and where it is on all go there.
//!
//! Where it is on, each heap counts down the bytes that it gives out. The allocation at which the count ends is a
//! sample: it stands for as many bytes as were counted, so that the sums are right on average, whatever the sizes. A
//! sample of a small block is served by a run of slices, like a large one; so a free needs no look-up to know one. The
//! slice has the number of the *site* (the calls that led there) and what the sample stands for.
//!
//! Sites stand in a table; who meets new calls takes an entry by one exchange of its hash. If the table is full, the
//! first entry stands for all others. The file is text as gperftools write it; `raddle trace view` and pprof read it.
//!
//! It is unsafe because it makes a reference of an address.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::calls::calls;
use crate::page::Page;
use crate::system::{self, FileText};

static ON: AtomicBool = AtomicBool::new(false);
/// One sample for so many bytes.
static INTERVAL: AtomicUsize = AtomicUsize::new(512 << 10);
static SITES: AtomicPtr<AllocationSite> = AtomicPtr::new(std::ptr::null_mut());
const SITES_MAX: usize = 8192;
const TRIES: usize = 64;
const CALLS: usize = 30;
const PATH_BYTES: usize = 256;
static PATH: [AtomicU8; PATH_BYTES] = [const { AtomicU8::new(0) }; PATH_BYTES];

/// Calls that led to an allocation, and what came of it. All zeroes is one that is free.
struct AllocationSite {
    hash: AtomicU64,
    objects: AtomicI64,
    bytes: AtomicI64,
    all_objects: AtomicU64,
    all_bytes: AtomicU64,
    calls: [AtomicUsize; CALLS],
}

/// Whether it is on.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

pub(crate) fn interval() -> usize {
    INTERVAL.load(Ordering::Relaxed)
}

/// No block is longer.
pub(crate) const INTERVAL_MAX: usize = 1 << 47;

pub(crate) fn set_interval(bytes: usize) {
    INTERVAL.store(bytes, Ordering::Relaxed);
}

/// Turns it on, for good; false if the path is too long, or there is no memory.
pub(crate) fn turn_on(path: &str) -> bool {
    if path.is_empty() || path.len() >= PATH_BYTES {
        return false;
    }
    PATH.iter().for_each(|place| place.store(0, Ordering::Relaxed));
    PATH.iter().zip(path.bytes()).for_each(|(place, byte)| place.store(byte, Ordering::Relaxed));
    if SITES.load(Ordering::Relaxed).is_null() {
        let bytes = (SITES_MAX * size_of::<AllocationSite>()).next_multiple_of(system::OS_PAGE);
        SITES.store(system::map(bytes, system::OS_PAGE, 0).cast(), Ordering::Release); // pairs with `sites`
    }
    let has_room = sites().is_some();
    ON.store(has_room, Ordering::Relaxed);
    has_room
}

fn sites() -> Option<&'static [AllocationSite]> {
    let first = SITES.load(Ordering::Acquire); // pairs with `turn_on`
    // SAFETY: zeroed memory of so many sites, which stays.
    (!first.is_null()).then(|| unsafe { std::slice::from_raw_parts(first, SITES_MAX) })
}

/// The number of the site of the calls that have led here.
fn site_here(sites: &[AllocationSite]) -> usize {
    let calls = calls::<CALLS>();
    let hash =
        calls.iter().fold(1, |hash: u64, call| (hash.rotate_left(5) ^ *call as u64).wrapping_mul(PRIME)) | 1;
    // bounded: by the tries.
    for step in 0..TRIES {
        let number = (hash as usize >> 16).wrapping_add(step) % SITES_MAX;
        let site = &sites[number];
        if number == 0 {
            continue;
        }
        match site.hash.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                site.calls.iter().zip(calls).for_each(|(place, call)| place.store(call, Ordering::Relaxed));
                return number;
            }
            Err(there) if there == hash => return number,
            Err(_) => {}
        }
    }
    0
}

const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;

/// Has a large block stand for `samples` samples of blocks of `size` bytes that were allocated here.
#[cold]
#[inline(never)]
pub(crate) fn mark(slice: &Page, size: usize, samples: u32) {
    let Some(sites) = sites() else { return };
    let number = site_here(sites);
    slice.set_sample(number as u32, samples, size);
    let (objects, bytes) = stands_for(size, samples);
    sites[number].objects.fetch_add(objects as i64, Ordering::Relaxed);
    sites[number].bytes.fetch_add(bytes as i64, Ordering::Relaxed);
    sites[number].all_objects.fetch_add(objects, Ordering::Relaxed);
    sites[number].all_bytes.fetch_add(bytes, Ordering::Relaxed);
}

/// The block is free: if it was a sample, what it stands for is gone. How many samples it was.
pub(crate) fn unmark(slice: &Page) -> u32 {
    let (Some((site, samples, size)), Some(sites)) = (slice.take_sample(), sites()) else { return 0 };
    let (objects, bytes) = stands_for(size, samples);
    sites[site as usize].objects.fetch_sub(objects as i64, Ordering::Relaxed);
    sites[site as usize].bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
    samples
}

/// As [`mark`], of a block that has become larger or smaller where it is.
pub(crate) fn mark_again(slice: &Page, size: usize) {
    mark(slice, size, u32::try_from(size / interval()).unwrap_or(u32::MAX).max(1));
}

/// How many blocks and bytes so many samples of this size stand for.
fn stands_for(size: usize, samples: u32) -> (u64, u64) {
    let bytes = u64::from(samples) * interval() as u64;
    ((bytes / size.max(1) as u64).max(1), bytes)
}

/// Counts `size` bytes down; how many samples the allocation is. `left` and `random` are the heap's.
pub(crate) fn count_down(left: i64, random: u32, size: usize) -> (i64, u32, u32) {
    let interval = interval().max(1);
    let next = |random| next_sample(random, interval);
    let (mut left, mut random) = if random == 0 { next(size as u32 | 1) } else { (left, random) };
    if size / 64 > interval {
        return (left, random, u32::try_from(size / interval).unwrap_or(u32::MAX));
    }
    left -= size as i64;
    let mut samples = 0;
    // bounded: an interval is at least half of what it is on average, and the size was looked at.
    while left <= 0 {
        let (more, after) = next(random);
        (left, random, samples) = (left + more.max(1), after | 1, samples + 1);
    }
    (left, random, samples)
}

/// So many bytes until the next sample: from half of an interval to one and a half; and the next random number.
fn next_sample(random: u32, interval: usize) -> (i64, u32) {
    let random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    let part = (u128::from(random) * interval as u128) >> 32;
    ((interval / 2) as i64 + part as i64, random)
}

/// Writes the profile to the file of the option; false if it is off, or the file cannot be written.
pub(crate) fn write() -> bool {
    let Some(sites) = sites().filter(|_| is_on()) else { return false };
    let mut path = [0; PATH_BYTES];
    PATH.iter().zip(&mut path).for_each(|(from, to)| *to = from.load(Ordering::Relaxed));
    let Some(mut file) = FileText::create(&path) else { return false };
    let written = text(sites, &mut file);
    file.copy(c"/proc/self/maps");
    file.close();
    written.is_ok()
}

fn text(sites: &[AllocationSite], file: &mut FileText) -> fmt::Result {
    let sum = |of: fn(&AllocationSite) -> i64| sites.iter().map(of).sum::<i64>();
    let totals = [
        sum(|site| site.objects.load(Ordering::Relaxed)),
        sum(|site| site.bytes.load(Ordering::Relaxed)),
        sum(|site| site.all_objects.load(Ordering::Relaxed) as i64),
        sum(|site| site.all_bytes.load(Ordering::Relaxed) as i64),
    ];
    let [objects, bytes, all_objects, all_bytes] = totals;
    writeln!(file, "heap profile: {objects}: {bytes} [{all_objects}: {all_bytes}] @ heapprofile")?;
    // bounded: by the table.
    for site in sites.iter().filter(|site| site.all_objects.load(Ordering::Relaxed) > 0) {
        let (objects, bytes) = (site.objects.load(Ordering::Relaxed), site.bytes.load(Ordering::Relaxed));
        let all_objects = site.all_objects.load(Ordering::Relaxed);
        let all_bytes = site.all_bytes.load(Ordering::Relaxed);
        write!(file, "{objects}: {bytes} [{all_objects}: {all_bytes}] @")?;
        let calls = site.calls.iter().map(|call| call.load(Ordering::Relaxed));
        calls.take_while(|call| *call != 0).try_for_each(|call| write!(file, " {call:#x}"))?;
        writeln!(file)?;
    }
    write!(file, "\nMAPPED_LIBRARIES:\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_many_gigabytes_are_as_long_as_they_are_called() {
        for interval in [1 << 10, 8 << 30, INTERVAL_MAX] {
            let (mut random, mut all) = (1, 0.0);
            for _ in 0..10_000 {
                let left;
                (left, random) = next_sample(random, interval);
                all += left as f64;
            }
            assert!((all / 1e4 / interval as f64 - 1.0).abs() < 0.05, "{interval}: {all}");
        }
    }

    #[test]
    fn samples_stand_for_the_bytes_that_were_counted() {
        for size in [64, 1000, 70_000, 400_000, 3_000_000, 100 << 20] {
            let (mut left, mut random, mut all) = (0, 0, 0_u64);
            let rounds = (400_000_000 / size).max(64);
            for _ in 0..rounds {
                let samples;
                (left, random, samples) = count_down(left, random, size);
                all += u64::from(samples) * interval() as u64;
            }
            let expected = (rounds * size) as f64;
            assert!((all as f64 / expected - 1.0).abs() < 0.05, "{size}: {all} for {expected}");
        }
    }
}

//! Owns: the calls that tell of places and of how threads are bound; those of the affinity format.
//! May use: `abi`, `engine::affinity`, `engine::member`, `icv`.
//! Never: binding a thread.

use crate::abi::At;
use crate::engine::affinity;
use crate::engine::member::me;
use crate::icv::places::places;

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_num_places() -> i32 {
    places().len() as i32
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_place_num_procs(place: i32) -> i32 {
    usize::try_from(place).ok().and_then(|place| places().get(place)).map_or(0, |place| place.len() as i32)
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_place_proc_ids(place: i32, ids: At<i32>) {
    let Some(place) = usize::try_from(place).ok().and_then(|place| places().get(place)) else { return };
    place.iter().enumerate().for_each(|(n, at)| ids.at(n).set(*at as i32));
}

/// Where the caller is bound; -1 if it is not.
#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_place_num() -> i32 {
    me().bound.get().map_or(-1, |bound| bound.place.cast_signed())
}

/// The caller's partition: of one that is not bound, all places.
fn partition() -> std::ops::Range<i32> {
    match me().bound.get() {
        Some(bound) => bound.first.cast_signed()..(bound.first + bound.count).cast_signed(),
        None => 0..places().len() as i32,
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_partition_num_places() -> i32 {
    partition().len() as i32
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_partition_place_nums(numbers: At<i32>) {
    partition().enumerate().for_each(|(n, place)| numbers.at(n).set(place));
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_proc_bind() -> i32 {
    me().task().icv.get().bind.cast_signed()
}

fn string(text: At<u8>) -> String {
    let bytes: Vec<u8> = (0..).map(|n| text.at(n).get()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Copies as much as there is room for, with a zero behind; answers how much there is.
fn copy_out(text: &str, buffer: At<u8>, size: usize) -> usize {
    let fits = text.len().min(size.saturating_sub(1));
    if size > 0 && !buffer.is_null() {
        text.bytes().take(fits).enumerate().for_each(|(n, byte)| buffer.at(n).set(byte));
        buffer.at(fits).set(0);
    }
    text.len()
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_set_affinity_format(text: At<u8>) {
    affinity::set_format(string(text));
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_affinity_format(buffer: At<u8>, size: usize) -> usize {
    copy_out(&affinity::format(), buffer, size)
}

fn expanded(given: At<u8>) -> String {
    let given = if given.is_null() { String::new() } else { string(given) };
    let format = if given.is_empty() { affinity::format() } else { given };
    affinity::expand(&me().facts(), &format)
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_display_affinity(given: At<u8>) {
    use std::io::Write as _;
    // Nobody could be told.
    let _ = writeln!(std::io::stdout(), "{}", expanded(given));
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_capture_affinity(buffer: At<u8>, size: usize, given: At<u8>) -> usize {
    copy_out(&expanded(given), buffer, size)
}

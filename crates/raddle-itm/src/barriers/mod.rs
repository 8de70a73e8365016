//! Owns: the calls by which gcc's code reads, writes and keeps single values, and what all of them do.
//! May use: `tx`.
//! Never: the algorithm.
//!
//! It holds `unsafe` for the program's memory, where a value is read or written that no other thread can see, or whose
//! transaction has the clock.
//!
//! The kinds of a read (after a read, after a write, for a write) and of a write are hints, which this algorithm has no
//! use for.

mod copies;
mod values;
mod wide;

use crate::tx::{current, restart};
use std::mem::MaybeUninit;
use std::ptr::{copy_nonoverlapping, with_exposed_provenance, with_exposed_provenance_mut};

/// The value at `address`, as the caller's transaction sees it.
#[inline(always)]
fn read<T: Copy>(address: usize) -> T {
    let size = size_of::<T>();
    match if size <= 8 { current().read_fast(address, size) } else { None } {
        // SAFETY: its first bytes are those of the value, which is a number, or several.
        Some(word) => unsafe { std::mem::transmute_copy(&word) },
        None => read_slowly(address),
    }
}

#[inline(never)]
fn read_slowly<T: Copy>(address: usize) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let bytes = value.as_mut_ptr().cast::<u8>();
    // SAFETY: the value's own bytes, which are only written.
    read_bytes(address, unsafe { std::slice::from_raw_parts_mut(bytes, size_of::<T>()) });
    // SAFETY: all its bytes are written; it is a number, or several.
    unsafe { value.assume_init() }
}

/// Writes `value` to `address`, in the caller's transaction.
#[inline(always)]
fn write<T: Copy>(address: usize, value: T) {
    let size = size_of::<T>();
    if size <= 8 {
        let mut word = 0_u64;
        // SAFETY: a word has room for it.
        unsafe { (&raw mut word).cast::<T>().write(value) };
        if current().write_fast(address, word, size) {
            return;
        }
    }
    write_slowly(address, value);
}

#[inline(never)]
fn write_slowly<T: Copy>(address: usize, value: T) {
    // SAFETY: the value's own bytes: it is a number, or several without a gap.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
    write_bytes(address, bytes);
}

/// As [`read`](fn@read), of bytes.
fn read_bytes(address: usize, bytes: &mut [u8]) {
    let tx = current();
    if tx.is_plain(address) {
        // SAFETY: the program's, as if it read by itself; the buffer is ours.
        unsafe { copy_nonoverlapping(with_exposed_provenance(address), bytes.as_mut_ptr(), bytes.len()) };
    } else if !bytes.is_empty() && tx.read(address, bytes).is_err() {
        restart();
    }
}

/// As [`write()`], of bytes.
fn write_bytes(address: usize, bytes: &[u8]) {
    let tx = current();
    if tx.is_plain(address) {
        tx.will_write(address, bytes.len());
        // SAFETY: the program's, as if it wrote by itself; the buffer is ours.
        unsafe { copy_nonoverlapping(bytes.as_ptr(), with_exposed_provenance_mut(address), bytes.len()) };
    } else {
        tx.write(address, bytes);
    }
}

/// Keeps what stands at `address`.
fn keep(address: usize, size: usize) {
    // SAFETY: the compiler's, which is about to write there by itself.
    unsafe { current().keep(address, size) };
}

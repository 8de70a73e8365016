//! Owns: the calls that copy and fill memory.
//! May use: nothing.
//! Never: the algorithm.
//!
//! It holds `unsafe` for the names that C calls. Either side of a copy may be one that no transaction sees
//! (`n`), which is read and written by itself; between them the bytes go through a buffer.

use super::{keep, read_bytes, write_bytes};
use std::ptr::{copy_nonoverlapping, with_exposed_provenance, with_exposed_provenance_mut};

/// How many bytes are in the buffer at a time.
const BUFFER: usize = 256;

/// What a side of a copy is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Nobody else sees it.
    Own,
    Shared,
}

use Side::{Own, Shared};

impl Side {
    fn read(self, address: usize, bytes: &mut [u8]) {
        match self {
            Shared => read_bytes(address, bytes),
            // SAFETY: the program's, as if it read by itself; the buffer is ours.
            Own => unsafe {
                copy_nonoverlapping(with_exposed_provenance(address), bytes.as_mut_ptr(), bytes.len());
            },
        }
    }

    fn write(self, address: usize, bytes: &[u8]) {
        match self {
            Shared => write_bytes(address, bytes),
            // SAFETY: the program's, as if it wrote by itself; the buffer is ours.
            Own => unsafe {
                copy_nonoverlapping(bytes.as_ptr(), with_exposed_provenance_mut(address), bytes.len());
            },
        }
    }
}

/// Copies from `from` to `to`, which may overlap: from the end if the end would be written over otherwise.
fn copy(to: usize, from: usize, size: usize, reads: Side, writes: Side) {
    let mut buffer = [0; BUFFER];
    let is_backward = to > from;
    let mut done = 0;
    while done < size {
        let part = BUFFER.min(size - done);
        let place = if is_backward { size - done - part } else { done };
        reads.read(from + place, &mut buffer[..part]);
        writes.write(to + place, &buffer[..part]);
        done += part;
    }
}

fn fill(to: usize, byte: i32, size: usize) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as C's `memset` takes it")]
    let buffer = [byte as u8; BUFFER];
    let mut done = 0;
    while done < size {
        let part = BUFFER.min(size - done);
        write_bytes(to + done, &buffer[..part]);
        done += part;
    }
}

/// Calls that copy, each by what its sides are.
macro_rules! copies {
    ($($name:ident: $reads:ident to $writes:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name(to: usize, from: usize, size: usize) {
                copy(to, from, size, $reads, $writes);
            }
        )*
    };
}

copies! {
    _ITM_memcpyRnWt: Own to Shared;
    _ITM_memcpyRnWtaR: Own to Shared;
    _ITM_memcpyRnWtaW: Own to Shared;
    _ITM_memcpyRtWn: Shared to Own;
    _ITM_memcpyRtWt: Shared to Shared;
    _ITM_memcpyRtWtaR: Shared to Shared;
    _ITM_memcpyRtWtaW: Shared to Shared;
    _ITM_memcpyRtaRWn: Shared to Own;
    _ITM_memcpyRtaRWt: Shared to Shared;
    _ITM_memcpyRtaRWtaR: Shared to Shared;
    _ITM_memcpyRtaRWtaW: Shared to Shared;
    _ITM_memcpyRtaWWn: Shared to Own;
    _ITM_memcpyRtaWWt: Shared to Shared;
    _ITM_memcpyRtaWWtaR: Shared to Shared;
    _ITM_memcpyRtaWWtaW: Shared to Shared;
    _ITM_memmoveRnWt: Own to Shared;
    _ITM_memmoveRnWtaR: Own to Shared;
    _ITM_memmoveRnWtaW: Own to Shared;
    _ITM_memmoveRtWn: Shared to Own;
    _ITM_memmoveRtWt: Shared to Shared;
    _ITM_memmoveRtWtaR: Shared to Shared;
    _ITM_memmoveRtWtaW: Shared to Shared;
    _ITM_memmoveRtaRWn: Shared to Own;
    _ITM_memmoveRtaRWt: Shared to Shared;
    _ITM_memmoveRtaRWtaR: Shared to Shared;
    _ITM_memmoveRtaRWtaW: Shared to Shared;
    _ITM_memmoveRtaWWn: Shared to Own;
    _ITM_memmoveRtaWWt: Shared to Shared;
    _ITM_memmoveRtaWWtaR: Shared to Shared;
    _ITM_memmoveRtaWWtaW: Shared to Shared;
}

/// Calls that fill.
macro_rules! fills {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name(to: usize, byte: i32, size: usize) {
                fill(to, byte, size);
            }
        )*
    };
}

fills! { _ITM_memsetW _ITM_memsetWaR _ITM_memsetWaW }

/// Keeps so many bytes.
#[unsafe(no_mangle)]
extern "C" fn _ITM_LB(address: usize, size: usize) {
    keep(address, size);
}

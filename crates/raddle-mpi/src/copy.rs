//! Owns: copies between a box of an array, every so many cells of it, and a message.
//! May use: `array`, `sweep`.
//! Never: a message's memory that is under way; the caller sees to that.

use crate::array::DistArray;
use crate::sweep::Element;
use std::ops::Range;

/// Copies cells into a message, counted from the ghost before the first one; the first axis varies fastest.
pub(crate) fn pack<T: Element>(
    array: &DistArray<T>,
    region: &[Range<usize>; 3],
    stride: [usize; 3],
    to: &mut [T],
) {
    let mut at = 0;
    each_row(array, region, stride, |row| {
        if stride[0] == 1 {
            to[at..at + row.len()].copy_from_slice(&array.cells()[row.clone()]);
            at += row.len();
        } else {
            for place in row.step_by(stride[0]) {
                to[at] = array.cells()[place];
                at += 1;
            }
        }
    });
}

/// The way back.
pub(crate) fn unpack<T: Element>(
    array: &mut DistArray<T>,
    region: &[Range<usize>; 3],
    stride: [usize; 3],
    from: &[T],
) {
    let mut at = 0;
    let mut rows = Vec::new();
    each_row(array, region, stride, |row| rows.push(row));
    let cells = array.cells_mut();
    for row in rows {
        if stride[0] == 1 {
            let length = row.len();
            cells[row].copy_from_slice(&from[at..at + length]);
            at += length;
        } else {
            for place in row.step_by(stride[0]) {
                cells[place] = from[at];
                at += 1;
            }
        }
    }
}

/// The rows of a box, as ranges of the array's cells.
pub(crate) fn each_row<T: Element>(
    array: &DistArray<T>,
    [x, y, z]: &[Range<usize>; 3],
    stride: [usize; 3],
    mut row: impl FnMut(Range<usize>),
) {
    let [_, south, below] = array.strides();
    for plane in z.clone().step_by(stride[2]) {
        for line in y.clone().step_by(stride[1]) {
            let start = x.start + line * south + plane * below;
            row(start..start + x.len());
        }
    }
}

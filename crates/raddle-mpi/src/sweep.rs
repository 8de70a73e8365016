//! Owns: `ColourPlane`: the cells of one colour of a plane, to be changed by what their neighbours are.
//! May use: nothing.
//! Never: two planes of two colours at a time.
//!
//! Cells are coloured as a chessboard. Who changes cells of one colour reads besides only cells of the other one, and
//! those nobody changes meanwhile: so several planes of *one* colour may be changed at a time, by several workers.

use std::marker::PhantomData;
use std::ops::Range;

/// So many cells of a row get their new values together.
const TOGETHER: usize = 4;

/// A number that arrays are of.
pub trait Element: Copy + Default + Send + Sync + PartialEq + sealed::Plain + 'static {
    /// As plans compare it on both sides.
    #[doc(hidden)]
    const NAME: &'static str;
}

mod sealed {
    /// Every pattern of bits is a value, and there is no padding.
    pub trait Plain {}
}

macro_rules! elements {
    ($($type:ident)*) => {
        $(impl sealed::Plain for $type {}
        impl Element for $type {
            const NAME: &'static str = stringify!($type);
        })*
    };
}

elements!(f64 f32 i64 i32 u64 u32);

/// A half of the cells: by the sum of their three places in the whole array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The sum is even.
    Red,
    /// The sum is odd.
    Black,
}

/// A cell with its six neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seven<T> {
    /// Its place in the whole array.
    pub at: [usize; 3],
    /// The cell itself.
    pub here: T,
    /// Before it along the first axis.
    pub west: T,
    /// After it along the first axis.
    pub east: T,
    /// Before it along the second axis.
    pub south: T,
    /// After it along the second axis.
    pub north: T,
    /// Before it along the last axis.
    pub below: T,
    /// After it along the last axis.
    pub above: T,
}

/// Cells of one colour, of one plane.
pub struct ColourPlane<'a, T> {
    reach: Reach<T>,
    colour: Colour,
    plane: usize,
    columns: Range<usize>,
    rows: Range<usize>,
    array: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for the right to change its cells and to read those of the other colour, which all planes that are
// there at a time only read; both are plain numbers.
unsafe impl<T: Element> Send for ColourPlane<'_, T> {}

impl<T: Element> ColourPlane<'_, T> {
    /// Gives each of its cells a new value.
    #[inline]
    pub fn relax(&mut self, value: impl Fn(Seven<T>) -> T) {
        self.relax_rows(|_| &value);
    }

    /// As [`relax`](Self::relax), for what is the same for a whole row: `row` is called once for each, with its places
    /// along the second and the last axis of the whole array, and returns what gives its cells new values.
    #[inline]
    pub fn relax_rows<F: Fn(Seven<T>) -> T>(&mut self, mut row: impl FnMut([usize; 2]) -> F) {
        // Copies: what is written might be fields of `self`, for all that the compiler knows, and each would be loaded
        // anew for each cell.
        let (reach, columns, plane) = (self.reach, self.columns.clone(), self.plane);
        for y in self.rows.clone() {
            let sum = y + reach.offset[1] + plane + reach.offset[2] + columns.start + reach.offset[0];
            // Places here are one too high along each axis: the first cell is at 1.
            let is_red = !(sum - 3).is_multiple_of(2);
            let skip = usize::from(is_red == (self.colour == Colour::Red));
            let base = y * reach.strides[1] + plane * reach.strides[2];
            let value = row([y + reach.offset[1] - 1, plane + reach.offset[2] - 1]);
            let mut x = columns.start + skip;
            // PERF: some at a time, all read before any is written: so the compiler sees that they do not depend on
            // each other, and divides two at once.
            while x + 2 * (TOGETHER - 1) < columns.end {
                let values: [T; TOGETHER] = std::array::from_fn(|at| {
                    let x = x + 2 * at;
                    // SAFETY: boxes of cells are within the array without its ghosts, so that neighbours are within it;
                    // a cell of the other colour is not changed while planes of this one are there, and one of this
                    // colour by its own plane.
                    value(unsafe { reach.seven(base + x, [x, y, plane]) })
                });
                for (at, value) in values.into_iter().enumerate() {
                    // SAFETY: as above; the cell is of this plane and of its colour.
                    unsafe { reach.base.wrapping_add(base + x + 2 * at).write(value) };
                }
                x += 2 * TOGETHER;
            }
            while x < columns.end {
                // SAFETY: as above.
                let cell = unsafe { reach.seven(base + x, [x, y, plane]) };
                // SAFETY: as above.
                unsafe { reach.base.wrapping_add(base + x).write(value(cell)) };
                x += 2;
            }
        }
    }

    /// How many rows it has; a hint for who shares out work.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

/// Where the cells of an array lie, ghosts included.
#[derive(Clone, Copy)]
struct Reach<T> {
    base: *mut T,
    /// All accesses are below it.
    count: usize,
    strides: [usize; 3],
    /// What is to be added to a place here for one in the whole array; the ghost before its first cell is at -1.
    offset: [usize; 3],
}

impl<T: Element> Reach<T> {
    // PERF: by hand, not by `map` of an array, which is not inlined: apps/redblack3d took 27 ns a cell with it.
    /// # Safety
    /// The cell at `place` and its neighbours are in the array, and nobody changes them.
    #[inline(always)]
    unsafe fn seven(self, place: usize, [column, row, plane]: [usize; 3]) -> Seven<T> {
        let [_, south, below] = self.strides;
        let [x, y, z] = self.offset;
        let read = |place: usize| {
            debug_assert!(place < self.count);
            // SAFETY: the caller says so.
            unsafe { self.base.wrapping_add(place).read() }
        };
        Seven {
            at: [column + x - 1, row + y - 1, plane + z - 1],
            here: read(place),
            west: read(place - 1),
            east: read(place + 1),
            south: read(place - south),
            north: read(place + south),
            below: read(place - below),
            above: read(place + below),
        }
    }
}

/// Cells of a rank with one layer of ghosts around them, in one piece of memory.
pub(crate) struct CellBlock<'a, T> {
    cells: &'a mut [T],
    /// The place of its first cell in the whole array.
    offset: [usize; 3],
    /// Without the ghosts.
    length: [usize; 3],
}

impl<'a, T: Element> CellBlock<'a, T> {
    pub(crate) fn new(cells: &'a mut [T], offset: [usize; 3], length: [usize; 3]) -> CellBlock<'a, T> {
        assert_eq!(
            cells.len(),
            length.iter().map(|length| length + 2).product::<usize>(),
            "a block with its ghosts"
        );
        CellBlock { cells, offset, length }
    }
}

/// The planes of boxes that have no cell in common; empty ones are left out.
pub(crate) fn planes<'a, T: Element>(
    block: CellBlock<'a, T>,
    colour: Colour,
    boxes: &[[Range<usize>; 3]],
) -> Vec<ColourPlane<'a, T>> {
    let CellBlock { cells, offset, length } = block;
    let strides = [1, length[0] + 2, (length[0] + 2) * (length[1] + 2)];
    let (count, base) = (cells.len(), cells.as_mut_ptr());
    let reach = Reach { base, count, strides, offset };
    let mut planes = Vec::new();
    for part in boxes {
        let is_within =
            part.iter().zip(length).all(|(part, length)| part.start >= 1 && part.end <= length + 1);
        assert!(is_within, "a box beyond the array");
        let [columns, rows, deep] = part;
        if columns.is_empty() || rows.is_empty() {
            continue;
        }
        planes.extend(deep.clone().map(|plane| ColourPlane {
            reach,
            colour,
            plane,
            columns: columns.clone(),
            rows: rows.clone(),
            array: PhantomData,
        }));
    }
    planes
}

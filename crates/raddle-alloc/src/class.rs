//! Owns: the sizes of blocks: which class serves a request.
//! May use: nothing.
//! Never: memory.
//!
//! Steps of 16 bytes up to 128, then four to each doubling, up to 64 KiB: a block is at most a fourth larger than what
//! was asked for, an eighth on average. All are multiples of 16, the alignment of `max_align_t`; pages begin at
//! multiples of 64 KiB, so that each block of a class has every alignment that divides the class's size.

/// How many classes there are.
pub(crate) const CLASSES: usize = 44;
/// The largest size that has a class.
pub(crate) const CLASS_SIZE_MAX: usize = size_of_class(CLASSES - 1);
/// The largest size whose class stands in a [`Table`].
pub(crate) const TABLE_MAX: usize = 1024;

const LINEAR: usize = 8;
/// The class of each multiple of 16 up to [`TABLE_MAX`].
pub(crate) type Table = [u8; TABLE_MAX / 16 + 1];

/// What a [`Table`] has.
pub(crate) const fn table() -> Table {
    let mut table = [0; TABLE_MAX / 16 + 1];
    let mut index = 0;
    // bounded: by the table.
    while index < table.len() {
        table[index] = class_of(index * 16) as u8;
        index += 1;
    }
    table
}

/// Where in a [`Table`] the class of a size stands.
#[inline(always)]
pub(crate) fn index_of(size: usize) -> usize {
    size.wrapping_add(15) / 16
}

/// The class that serves a size of at most [`CLASS_SIZE_MAX`].
pub(crate) const fn class_of(size: usize) -> usize {
    if size <= 16 {
        return 0;
    }
    let last = size - 1;
    if size <= 128 {
        return last / 16;
    }
    let log = last.ilog2() as usize;
    LINEAR + 4 * (log - 7) + (last >> (log - 2) & 3)
}

/// What a block of the class holds.
pub(crate) const fn size_of_class(class: usize) -> usize {
    if class < LINEAR {
        return (class + 1) * 16;
    }
    let (doubling, step) = ((class - LINEAR) / 4, (class - LINEAR) % 4);
    (128 << doubling) + (step + 1) * (32 << doubling)
}

/// The first class from that of `size` whose blocks lie at multiples of `align`; both are at most [`CLASS_SIZE_MAX`].
pub(crate) fn class_aligned(size: usize, align: usize) -> usize {
    let first = class_of(size.max(align));
    // The last step of the doubling is a power of two that is no smaller.
    (first..CLASSES).find(|class| size_of_class(*class).is_multiple_of(align)).unwrap_or(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_the_smallest_class_that_holds_it() {
        for size in 0..=CLASS_SIZE_MAX {
            let class = class_of(size);
            assert!(
                size_of_class(class) >= size && (class == 0 || size_of_class(class - 1) < size),
                "{size}"
            );
            if size <= TABLE_MAX {
                assert_eq!(usize::from(table()[index_of(size)]), class);
            }
        }
        assert_eq!(CLASS_SIZE_MAX, 64 << 10);
    }

    #[test]
    fn each_alignment_has_a_class() {
        for size in (0..=CLASS_SIZE_MAX).step_by(7) {
            for align in (0..=16).map(|log| 1 << log) {
                let class = class_aligned(size, align);
                assert!(
                    size_of_class(class) >= size && size_of_class(class).is_multiple_of(align),
                    "{size} {align}"
                );
            }
        }
    }
}

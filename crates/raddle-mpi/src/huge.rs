//! Owns: large pages for large arrays.
//! May use: `libc`.
//! Never: a page that is touched here.
//!
//! A sweep over an array in pages of 4 KiB waits for translations of addresses, in a virtual machine longest of all:
//! apps/redblack3d took 12 % longer than with large ones, and the same solver in C, too.

/// Less would be a few large pages at most.
const LEAST: usize = 16 << 20;

/// Asks the kernel for large pages where nothing was touched yet. It may decline; what is in the memory stays.
pub(crate) fn advise<T>(cells: &[T]) {
    let bytes = size_of_val(cells);
    if bytes < LEAST {
        return;
    }
    // SAFETY: it asks for the size of a page.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16);
    let base: *const u8 = cells.as_ptr().cast();
    let skip = base.addr().next_multiple_of(page) - base.addr();
    let length = (bytes - skip) / page * page;
    // SAFETY: whole pages within memory that the caller has; how large they are changes nothing that is in them.
    let _if_it_can =
        unsafe { libc::madvise(base.wrapping_add(skip).cast_mut().cast(), length, libc::MADV_HUGEPAGE) };
}

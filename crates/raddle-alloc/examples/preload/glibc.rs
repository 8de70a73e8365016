//! Owns: the names under which glibc has `malloc` once more, and those by which programs ask for its figures.
//! May use: `libc`, `raddle-alloc`, the functions of `main`.
//! Never: a block of glibc's.
//!
//! A program that calls `__libc_malloc` frees the block by `free`: both have to be ours.
//!
//! It is unsafe because it exports names.

use raddle_alloc as alloc;
use std::ffi::{c_int, c_void};
use std::fmt::{self, Write as _};

macro_rules! again {
    ($($name:ident = $function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            #[allow(unused_unsafe, reason = "some of them are safe")]
            // SAFETY: passed on to the program.
            unsafe { crate::$function($($argument),*) }
        }
    )*};
}

again! {
    __libc_malloc = malloc(size: usize) -> *mut c_void;
    __libc_calloc = calloc(count: usize, size: usize) -> *mut c_void;
    __libc_realloc = realloc(block: *mut c_void, size: usize) -> *mut c_void;
    __libc_reallocarray = reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    __libc_free = free(block: *mut c_void);
    __libc_cfree = free(block: *mut c_void);
    __libc_memalign = memalign(align: usize, size: usize) -> *mut c_void;
    __libc_valloc = valloc(size: usize) -> *mut c_void;
    __libc_pvalloc = pvalloc(size: usize) -> *mut c_void;
    __posix_memalign = posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int;
}

/// What `mallinfo2` gives, in its order: `arena` is what arenas have of address space, `uordblks` what programs and
/// caches have of it, `fordblks` the rest; `hblks` and `hblkhd` are about mappings of their own.
fn figures() -> [usize; 10] {
    let figures = alloc::statistics();
    let blocks: usize = figures.classes.iter().map(|class| class.blocks * class.block_bytes).sum();
    let used = blocks + figures.large_bytes;
    let own = figures.mapped_bytes.saturating_sub(figures.arena_bytes);
    let free = figures.arena_bytes.saturating_sub(used);
    [figures.arena_bytes, 0, 0, 0, own, 0, 0, used, free, figures.touched_bytes.saturating_sub(used)]
}

#[unsafe(no_mangle)]
extern "C" fn mallinfo2() -> libc::mallinfo2 {
    let [arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost] = figures();
    libc::mallinfo2 { arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost }
}

/// As [`mallinfo2`]; a figure that is too large for it is the largest one.
#[unsafe(no_mangle)]
extern "C" fn mallinfo() -> libc::mallinfo {
    let figures = figures().map(|figure| c_int::try_from(figure).unwrap_or(c_int::MAX));
    let [arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost] = figures;
    libc::mallinfo { arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost }
}

/// JSON on standard error.
#[unsafe(no_mangle)]
extern "C" fn malloc_stats() {
    alloc::tell();
}

/// A file of the C library's.
struct ToFile(*mut libc::FILE);

impl fmt::Write for ToFile {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: the text is there; the file is the caller's.
        let written = unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), self.0) };
        if written == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// XML with the figures of `mallinfo2` and the classes, in glibc's elements as far as they say the same. No options are
/// known, there either.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_info(options: c_int, file: *mut libc::FILE) -> c_int {
    if options != 0 {
        crate::set_errno(libc::EINVAL);
        return -1;
    }
    let figures = alloc::statistics();
    let [arena, .., used, free, _] = self::figures();
    let mut out = ToFile(file);
    let mut tell = || {
        out.write_str("<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n")?;
        for class in figures.classes.iter().filter(|class| class.pages > 0) {
            let (size, blocks) = (class.block_bytes, class.room.saturating_sub(class.blocks));
            let total = size * blocks;
            writeln!(out, "  <size from=\"{size}\" to=\"{size}\" total=\"{total}\" count=\"{blocks}\"/>")?;
        }
        writeln!(out, "</sizes>\n<total type=\"rest\" count=\"1\" size=\"{free}\"/>")?;
        writeln!(out, "<system type=\"current\" size=\"{arena}\"/>")?;
        writeln!(out, "<aspace type=\"total\" size=\"{arena}\"/>\n</heap>")?;
        writeln!(out, "<total type=\"used\" size=\"{used}\"/>")?;
        let mapped = figures.mapped_bytes.saturating_sub(figures.arena_bytes);
        writeln!(out, "<total type=\"mmap\" size=\"{mapped}\"/>\n</malloc>")
    };
    // A file that takes no more keeps its own error, as with glibc.
    let _unwritten: fmt::Result = tell();
    0
}

//! Owns: what the allocator asks the kernel for.
//! May use: `libc`, `raddle-syscall`.
//! Never: a function of the C library that may allocate; `errno`.
//!
//! It is unsafe because it maps and unmaps memory.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The smallest page of all our machines.
pub(crate) const OS_PAGE: usize = 4096;

/// How many bytes are mapped, and how many may be.
pub(crate) static MAPPED: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static ADVICE: AtomicUsize = AtomicUsize::new(0);

/// Refuses what would make more than so many bytes of address space the allocator's.
pub(crate) fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// What `madvise` says of each new mapping: nothing if 0.
pub(crate) fn set_advice(advice: i32) {
    ADVICE.store(advice as usize, Ordering::Relaxed);
}

/// The address space that the allocator has.
pub(crate) fn mapped() -> usize {
    MAPPED.load(Ordering::Relaxed)
}

fn count_in(bytes: usize) -> bool {
    let before = MAPPED.fetch_add(bytes, Ordering::Relaxed);
    let fits = before.checked_add(bytes).is_some_and(|all| all <= LIMIT.load(Ordering::Relaxed));
    if !fits {
        MAPPED.fetch_sub(bytes, Ordering::Relaxed);
    }
    fits
}

/// At `wish` if nothing is there, and wherever the kernel likes otherwise, or if that is 0.
fn raw_map(wish: usize, length: usize) -> *mut u8 {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new mapping, which replaces none.
    let place =
        unsafe { raddle_syscall::call(libc::SYS_mmap, [wish, length, protection, flags, usize::MAX, 0]) };
    place.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

fn raw_unmap(from: usize, length: usize) {
    if length > 0 {
        // SAFETY: the callers unmap what they have mapped and nobody uses.
        let _always = unsafe { raddle_syscall::call(libc::SYS_munmap, [from, length]) };
    }
}

/// Zeroed memory such that `offset` within it is a multiple of `align`; null if the kernel or the limit refuses.
/// `length` and `offset` are multiples of the kernel's pages, `align` is a power of two that is.
pub(crate) fn map(length: usize, align: usize, offset: usize) -> *mut u8 {
    if !count_in(length) {
        return ptr::null_mut();
    }
    let place = map_aligned(length, align, offset);
    if place.is_null() {
        MAPPED.fetch_sub(length, Ordering::Relaxed);
        return place;
    }
    let advice = ADVICE.load(Ordering::Relaxed);
    if advice != 0 {
        // SAFETY: advice changes no contents.
        let _if_it_can = unsafe { raddle_syscall::call(libc::SYS_madvise, [place.addr(), length, advice]) };
    }
    place
}

fn map_aligned(length: usize, align: usize, offset: usize) -> *mut u8 {
    const WISHES: usize = 4;
    // The kernel puts mappings beside each other: often the first one does.
    let mut place = raw_map(0, length);
    let below = (place.addr() + offset) & !(align - 1);
    // Below that there mostly is room, and a wish takes no more address space than what is wanted: a program may have
    // little.
    // bounded: by the wishes.
    for step in 0..=WISHES {
        if place.is_null() || (place.addr() + offset).is_multiple_of(align) {
            return place;
        }
        raw_unmap(place.addr(), length);
        let wish = below.checked_sub(step * align + offset).filter(|wish| *wish > align);
        let (Some(wish), true) = (wish, step < WISHES) else { break };
        place = raw_map(wish, length);
    }
    let Some(more) = length.checked_add(align) else { return ptr::null_mut() };
    let place = raw_map(0, more);
    if place.is_null() {
        return place;
    }
    let start = (place.addr() + offset).next_multiple_of(align) - offset;
    raw_unmap(place.addr(), start - place.addr());
    raw_unmap(start + length, place.addr() + more - start - length);
    place.with_addr(start)
}

/// Gives the memory back.
///
/// # Safety
/// It is of [`map`], of this length or what [`shrink`] left, and nobody uses it any more.
pub(crate) unsafe fn unmap(place: *mut u8, length: usize) {
    raw_unmap(place.addr(), length);
    MAPPED.fetch_sub(length, Ordering::Relaxed);
}

/// Gives the end of a mapping back.
///
/// # Safety
/// As for [`unmap`], of what lies behind `new`.
pub(crate) unsafe fn shrink(place: *mut u8, old: usize, new: usize) {
    raw_unmap(place.addr() + new, old - new);
    MAPPED.fetch_sub(old - new, Ordering::Relaxed);
}

/// Makes a mapping longer where it is; false if the kernel or the limit refuses.
///
/// # Safety
/// It is of [`map`], and of this length.
pub(crate) unsafe fn grow(place: *mut u8, old: usize, new: usize) -> bool {
    if !count_in(new - old) {
        return false;
    }
    // SAFETY: passed on; the mapping stays where it is.
    let grown = unsafe { raddle_syscall::call(libc::SYS_mremap, [place.addr(), old, new, 0]) };
    if grown.is_err() {
        MAPPED.fetch_sub(new - old, Ordering::Relaxed);
    }
    grown.is_ok()
}

/// Moves the pages of a mapping to the place of another one, whose own are gone; those also if the kernel refuses.
///
/// # Safety
/// Both are of [`map`], `to` at least as long; nobody uses either.
pub(crate) unsafe fn move_pages(from: *mut u8, length: usize, to: *mut u8) -> bool {
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    let arguments = [from.addr(), length, length, flags, to.addr()];
    // SAFETY: passed on.
    let moved = unsafe { raddle_syscall::call(libc::SYS_mremap, arguments) };
    // Either way so much is gone: what was moved, or the place for it.
    MAPPED.fetch_sub(length, Ordering::Relaxed);
    moved.is_ok()
}

/// The memory reads as zeroes again, and is the kernel's until it is written.
///
/// # Safety
/// It is part of a mapping, and nobody uses it.
pub(crate) unsafe fn forget(place: *mut u8, length: usize) -> bool {
    // SAFETY: passed on.
    unsafe { raddle_syscall::call(libc::SYS_madvise, [place.addr(), length, libc::MADV_DONTNEED as usize]) }
        .is_ok()
}

/// Makes pages such that each access ends the program.
///
/// # Safety
/// As for [`forget`].
pub(crate) unsafe fn protect(place: *mut u8, length: usize, accessible: bool) {
    let protection = if accessible { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    // SAFETY: passed on.
    let _if_it_can =
        unsafe { raddle_syscall::call(libc::SYS_mprotect, [place.addr(), length, protection as usize]) };
}

/// Whether a word can be read there. The kernel is asked to set a signal mask by it in a way that there is not: it
/// reads the word first.
pub(crate) fn is_readable(place: *mut u8) -> bool {
    const NO_SUCH_WAY: usize = 0x1000;
    let arguments = [NO_SUCH_WAY, place.addr(), 0, size_of::<u64>()];
    // SAFETY: it reads a word, if it can, and changes nothing.
    let refused = unsafe { raddle_syscall::call(libc::SYS_rt_sigprocmask, arguments) };
    refused != Err(raddle_syscall::Errno(libc::EFAULT))
}

/// Milliseconds, coarse.
pub(crate) fn now_ms() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time; it takes no lock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Text on standard error, without an allocation.
pub(crate) struct Standard {
    buffer: [u8; 512],
    filled: usize,
}

impl Standard {
    pub(crate) fn new() -> Standard {
        Standard { buffer: [0; 512], filled: 0 }
    }

    pub(crate) fn flush(&mut self) {
        let _if_it_can = raddle_syscall::write(2, &self.buffer[..self.filled]);
        self.filled = 0;
    }
}

impl fmt::Write for Standard {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // bounded: by the text.
        for byte in text.bytes() {
            if self.filled == self.buffer.len() {
                self.flush();
            }
            self.buffer[self.filled] = byte;
            self.filled += 1;
        }
        Ok(())
    }
}

/// A file of text that is written without an allocation.
pub(crate) struct FileText {
    file: usize,
    buffer: [u8; 4096],
    filled: usize,
}

impl FileText {
    /// Makes it, of a path that ends with a zero; in that, `%p` is the process id.
    pub(crate) fn create(path: &[u8]) -> Option<FileText> {
        let mut name = FileText { file: 0, buffer: [0; 4096], filled: 0 };
        let mut rest = path.split(|byte| *byte == 0).next()?;
        // bounded: by the path.
        while let Some((first, others)) = rest.split_first() {
            rest = others;
            if rest.first() == Some(&b'p') && *first == b'%' {
                // SAFETY: no preconditions.
                fmt::Write::write_fmt(&mut name, format_args!("{}", unsafe { libc::getpid() })).ok()?;
                rest = &rest[1..];
            } else {
                name.put(*first);
            }
        }
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        let file = open(name.buffer.as_ptr(), flags)?;
        Some(FileText { file, buffer: [0; 4096], filled: 0 })
    }

    fn put(&mut self, byte: u8) {
        if self.filled == self.buffer.len() {
            self.flush();
        }
        self.buffer[self.filled] = byte;
        self.filled += 1;
    }

    fn flush(&mut self) {
        let _if_it_can = raddle_syscall::write(self.file as i32, &self.buffer[..self.filled]);
        self.filled = 0;
    }

    /// Appends what another file holds.
    pub(crate) fn copy(&mut self, path: &std::ffi::CStr) {
        self.flush();
        let Some(from) = open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) else { return };
        // bounded: by the file.
        loop {
            let arguments = [from, self.buffer.as_mut_ptr().expose_provenance(), self.buffer.len()];
            // SAFETY: the kernel writes to the buffer.
            match unsafe { raddle_syscall::call(libc::SYS_read, arguments) } {
                Ok(count) if count > 0 => self.filled = count,
                _ => break,
            }
            self.flush();
        }
        close(from);
    }

    pub(crate) fn close(mut self) {
        self.flush();
        close(self.file);
    }
}

impl fmt::Write for FileText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.put(byte));
        Ok(())
    }
}

fn open(path: *const u8, flags: i32) -> Option<usize> {
    let arguments = [libc::AT_FDCWD as usize, path.expose_provenance(), flags as usize, 0o666];
    // SAFETY: the callers' paths end with a zero.
    unsafe { raddle_syscall::call(libc::SYS_openat, arguments) }.ok()
}

fn close(file: usize) {
    // SAFETY: the callers have opened it.
    let _always = unsafe { raddle_syscall::call(libc::SYS_close, [file]) };
}

/// Says why on standard error, and ends the program.
pub(crate) fn die(parts: &[&str]) -> ! {
    let _if_it_can = parts.iter().try_for_each(|part| raddle_syscall::write(2, part.as_bytes()).map(|_| ()));
    // SAFETY: no preconditions.
    unsafe { libc::abort() }
}

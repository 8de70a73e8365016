//! Owns: the figures of another process that has this allocator, read from its memory.
//! May use: `arena`, `heap`, `registry`, `stats`, `system`.
//! Never: stopping that process, or a change there; a call from within the allocator: it allocates.
//!
//! The allocator has a word of address for each of its tables in one place, `ROOT`, which begins with bytes that
//! nothing else begins with and says where it lies. Who may read the process's memory (its user's, where the kernel
//! lets them) looks for it in the data of the files that are mapped there. What is found must be of this version of the
//! tables.
//!
//! It is unsafe because it takes bytes that were read for what they are.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::ptr;

use crate::arena::{self, Arena, Census};
use crate::heap::{Counts, Heap};
use crate::stats::Statistics;
use crate::{registry, system};

const MAGIC: [u64; 2] = [0x6c61_656c_6464_6172, 0x746f_6f72_2e63_6f6c];
/// The form of what is read.
const FORM: u64 = 1 << 56 | (size_of::<Heap>() as u64) << 32 | size_of::<Arena>() as u64;
/// No file's data is longer; what is, is not looked at.
const DATA_BYTES_MAX: u64 = 64 << 20;

/// Where everything is.
#[repr(C)]
struct Root {
    magic: [u64; 2],
    form: u64,
    itself: *const Root,
    arenas: *const u8,
    arena_count: *const u8,
    left: *const u8,
    chunks: *const u8,
    heap_count: *const u8,
    mapped: *const u8,
}

/// The word of it that says where the number of arenas is.
const ARENA_COUNT: usize = std::mem::offset_of!(Root, arena_count) / 8;

// SAFETY: it is only read, and its addresses are never followed here.
unsafe impl Sync for Root {}

#[used]
static ROOT: Root = Root {
    magic: MAGIC,
    form: FORM,
    itself: &raw const ROOT,
    arenas: arena::ARENAS.as_ptr().cast(),
    arena_count: (&raw const arena::COUNT).cast(),
    left: arena::LEFT.as_ptr().cast(),
    chunks: registry::ALL.as_ptr().cast(),
    heap_count: (&raw const registry::MADE).cast(),
    mapped: (&raw const system::MAPPED).cast(),
};

/// The memory of a process.
struct ProcessMemory(File);

impl ProcessMemory {
    fn words(&self, at: u64, count: usize) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; count * 8];
        self.0.read_exact_at(&mut bytes, at)?;
        Ok(bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
            .collect())
    }

    fn word(&self, at: u64) -> io::Result<u64> {
        Ok(self.words(at, 1)?[0])
    }

    /// What lies there, as a value of which each pattern of bits is one.
    ///
    /// # Safety
    /// Each pattern of bits is a `T`.
    unsafe fn value<T>(&self, at: u64) -> io::Result<Box<T>> {
        let mut value = Box::<T>::new_uninit();
        let words = self.words(at, size_of::<T>().div_ceil(8))?;
        // SAFETY: both have as many bytes, and do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), value.as_mut_ptr().cast(), size_of::<T>())
        };
        // SAFETY: passed on.
        Ok(unsafe { value.assume_init() })
    }

    /// The root, if it lies in this range.
    fn root_in(&self, range: &Range<u64>) -> Option<Vec<u64>> {
        const WORDS: usize = size_of::<Root>() / 8;
        let words = self.words(range.start, ((range.end - range.start) / 8) as usize).ok()?;
        let begins =
            |at: &usize| words[*at..].starts_with(&MAGIC) && words[at + 3] == range.start + *at as u64 * 8;
        let at = (0..words.len().saturating_sub(WORDS)).find(begins)?;
        Some(words[at..at + WORDS].to_vec())
    }
}

/// The data of files that a process has mapped: from a text of the form of `/proc/PID/maps`.
fn data_of_files(maps: &str) -> Vec<Range<u64>> {
    let range = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (begin, end) = words.next()?.split_once('-')?;
        let (rights, path) = (words.next()?, words.nth(3)?);
        let is_data = rights.starts_with('r') && !rights.contains('x') && path.starts_with('/');
        let range = u64::from_str_radix(begin, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        (is_data && range.end.checked_sub(range.start)? <= DATA_BYTES_MAX).then_some(range)
    };
    maps.lines().filter_map(range).collect()
}

/// The figures of another process that has this allocator, as `/proc/PID/mem` shows them; it is not stopped.
///
/// # Errors
/// There is no such process, its memory cannot be read (it is another user's, or the kernel lets nobody), it has not
/// this allocator, or another version of it.
///
/// ```
/// let own = raddle_alloc::statistics_of(std::process::id());
/// # let known = own.map_err(|error| error.kind());
/// # assert!(matches!(known, Ok(_) | Err(std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)));
/// ```
pub fn statistics_of(process: u32) -> io::Result<Statistics> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let memory = ProcessMemory(File::open(format!("/proc/{process}/mem"))?);
    // A program may have one of its own beside the one that is preloaded: who has arenas is at work.
    let roots = data_of_files(&maps).into_iter().filter_map(|range| memory.root_in(&range));
    let arenas_of = |root: &Vec<u64>| memory.word(root[ARENA_COUNT]).unwrap_or(0);
    let Some(root) = roots.max_by_key(arenas_of) else {
        return Err(io::Error::new(ErrorKind::NotFound, format!("process {process} has not this allocator")));
    };
    let [_, _, form, _, arenas, arena_count, left, chunks, heap_count, mapped] = root[..] else {
        unreachable!("as many words as a root has")
    };
    if form != FORM {
        let text = format!("process {process} has another version of the allocator");
        return Err(io::Error::new(ErrorKind::Unsupported, text));
    }
    let left = memory.words(left, arena::LEFT.len())?.iter().sum::<u64>() as usize;
    let mut census = Census::new(left);
    // bounded: by the arenas.
    for place in memory.words(arenas, (memory.word(arena_count)? as usize).min(arena::ARENAS.len()))? {
        if place != 0 {
            // SAFETY: an arena's header is numbers and addresses.
            let arena = unsafe { memory.value::<Arena>(place)? };
            arena.count_into(&mut census);
        }
    }
    let mut counts = Vec::new();
    let heaps = memory.word(heap_count & !7)? >> (8 * (heap_count & 7)) & 0xffff_ffff;
    let chunk_of = |heap: u64| memory.word(chunks + heap / registry::CHUNK as u64 * 8);
    // bounded: by the heaps.
    for heap in 1..=heaps {
        let chunk = chunk_of(heap)?;
        if chunk != 0 {
            let at = chunk + heap % registry::CHUNK as u64 * size_of::<Heap>() as u64;
            // SAFETY: eight-byte numbers.
            counts.push(unsafe { *memory.value::<Counts>(at + std::mem::offset_of!(Heap, counts) as u64)? });
        }
    }
    Ok(Statistics::of(&census, counts.iter(), memory.word(mapped)? as usize))
}

#[test]
fn data_is_what_files_have_and_nobody_runs() {
    let maps = "1000-2000 r--p 00000000 08:01 7 /lib/a.so\n2000-3000 r-xp 00001000 08:01 7 /lib/a.so\n\
                3000-4000 rw-p 00002000 08:01 7 /lib/a.so\n4000-5000 rw-p 00000000 00:00 0\n\
                5000-fffff000 rw-p 00000000 08:01 8 /large\nnonsense\n";
    assert_eq!(data_of_files(maps), [0x1000..0x2000, 0x3000..0x4000]);
}

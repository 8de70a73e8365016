//! Owns: what shows that `debug` reads what `backtrace` reads, and withstands what is damaged.
//! May use: `bytes`, `elf`, `backtrace`, `libc`.
//! Never: a file but this program's own.

use super::{DebugInformation, Sections};
use crate::bytes::Unread;
use crate::elf::ElfFile;
use std::path::{Path, PathBuf};

/// A file, a line, a column.
type Told = Option<(PathBuf, u64, u64)>;

/// So many functions are asked for, from all over the program.
const FUNCTIONS: usize = 1000;

fn own_file() -> ElfFile {
    ElfFile::open(Path::new("/proc/self/exe")).expect("it runs")
}

/// Addresses within functions of this program, as its file counts.
fn addresses(file: &ElfFile) -> Vec<u64> {
    const FUNCTION: u64 = 2;
    let (symbols, _) = file.symbols().expect("tests are not stripped");
    let each = (0..symbols.len()).step_by(24).filter_map(|at| {
        let kind = Unread::at(symbols, at + 4).number(1)? & 15;
        let mut place = Unread::at(symbols, at + 8);
        let (begin, len) = (place.number(8)?, place.number(8)?);
        (kind == FUNCTION && len > 4).then_some((begin, len))
    });
    let all: Vec<_> = each.collect();
    let some = all.iter().step_by((all.len() / FUNCTIONS).max(1));
    some.flat_map(|(begin, len)| [begin + 1, begin + len / 2, begin + len - 1]).collect()
}

/// Where the program lies in memory.
fn base() -> usize {
    // SAFETY: all zeroes is a value of this struct.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = std::ptr::from_ref(&FUNCTIONS).cast();
    // SAFETY: any address may be asked for; it writes the answer.
    assert_ne!(unsafe { libc::dladdr(here, &raw mut info) }, 0);
    info.dli_fbase.addr()
}

fn as_backtrace_says(address: usize) -> Vec<(String, Told)> {
    let mut found = Vec::new();
    // It takes an address for that of the instruction behind a call.
    backtrace::resolve(std::ptr::without_provenance_mut(address + 1), |symbol| {
        let name = symbol.name().map(|name| format!("{name:#}")).unwrap_or_default();
        let line = symbol.filename().zip(symbol.lineno());
        let place = line
            .map(|(file, line)| (file.to_owned(), u64::from(line), u64::from(symbol.colno().unwrap_or(0))));
        found.push((name, place));
    });
    found
}

#[test]
fn it_reads_what_backtrace_reads() {
    let (file, base) = (own_file(), base());
    let mut debug = DebugInformation::of(&file);
    let (mut inlined, mut with_place, mut count) = (0, 0, 0);
    for address in addresses(&file) {
        let ours: Vec<(String, Told)> = debug
            .functions_at(&file, address)
            .into_iter()
            .map(|one| {
                let name = one.name.map(|name| format!("{:#}", rustc_demangle::demangle(&name)));
                (name.unwrap_or_default(), one.place.map(|place| (place.file, place.line, place.column)))
            })
            .collect();
        // Where there is no debug information it knows a symbol.
        let theirs = as_backtrace_says(if file.is_fixed { 0 } else { base } + address as usize);
        if theirs.len() == 1 && theirs[0].1.is_none() {
            assert!(ours.iter().all(|(_, place)| place.is_none()), "{address:#x}: {ours:?}");
            continue;
        }
        // In a build with tables of lines alone a function has an entry only if others were compiled into it. For the
        // rest it knows a symbol again, beside the line.
        if let [(name, place)] = &ours[..]
            && name.is_empty()
        {
            assert_eq!((theirs.len(), place), (1, &theirs[0].1), "{address:#x}");
            continue;
        }
        assert_eq!(ours, theirs, "{address:#x}");
        count += 1;
        inlined += usize::from(ours.len() > 1);
        with_place += usize::from(ours[0].1.is_some());
    }
    assert!(count > 100 && inlined > 10 && with_place > 100, "{count}, {inlined}, {with_place}");
}

/// The next of a row of numbers without a pattern.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 16) as usize
}

/// The first bytes of a section, some of them others.
fn damaged(section: &[u8], state: &mut u64) -> Vec<u8> {
    const BYTES_MAX: usize = 100_000;
    const DAMAGES: usize = 20;
    let mut bytes = section[..section.len().min(BYTES_MAX)].to_vec();
    for _ in 0..DAMAGES.min(bytes.len()) {
        let (at, byte) = (next(state) % bytes.len(), next(state));
        bytes[at] = byte.to_le_bytes()[0];
    }
    bytes
}

#[test]
fn damage_is_withstood() {
    const ROUNDS: usize = 200;
    let (file, mut state) = (own_file(), 0x9e37_79b9_7f4a_7c15);
    let whole = Sections::of(&file);
    let mut told = 0;
    for _ in 0..ROUNDS {
        let mut damaged = |section| damaged(section, &mut state);
        let (entries, abbreviations) = (damaged(whole.entries), damaged(whole.abbreviations));
        let (lines, ranges) = (damaged(whole.lines), damaged(whole.ranges));
        let range_lists = damaged(whole.range_lists);
        let sections = Sections {
            entries: &entries,
            abbreviations: &abbreviations,
            lines: &lines,
            ranges: &ranges,
            range_lists: &range_lists,
            ..whole
        };
        let mut debug = DebugInformation::of_sections(&sections);
        let some: Vec<u64> =
            debug.covered.iter().step_by(7).map(|(begin, end, _)| begin / 2 + end / 2).collect();
        told +=
            some.iter().take(30).map(|address| debug.functions_in(&sections, *address).len()).sum::<usize>();
    }
    assert!(told > ROUNDS, "only {told} functions: nothing was read");
}

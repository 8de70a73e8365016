//! Owns: reading a heap profile, and the names of the functions in it.
//! May use: `raddle`, `raddle-trace`.
//! Never: belief in what the file says: it may name any file, and addresses that are none.
//!
//! A profile is text as gperftools write it: a line for each site with blocks and bytes in use, those ever allocated,
//! and the return addresses; behind them what the kernel says of the process's memory.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use raddle::hang::ProgramFile;
use raddle_trace::view::heap::HeapSite;

/// What such a file begins with.
pub(super) const BEGIN: &[u8] = b"heap profile: ";
/// The allocator's own.
const LIBRARY: &str = "libraddle_alloc";
const MAPPED: &str = "MAPPED_LIBRARIES:";

/// Part of a file that lies in memory.
struct Mapped {
    range: Range<u64>,
    offset: u64,
    path: PathBuf,
}

fn mapped(line: &str) -> Option<Mapped> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let mut words = rest.splitn(5, ' ');
    let offset = number(words.nth(1)?)?;
    let path = words.nth(2)?.trim();
    let range = number(begin)?..number(end)?;
    path.starts_with('/').then(|| Mapped { range, offset, path: path.into() })
}

/// The names of functions by addresses.
struct Names {
    mapped: Vec<Mapped>,
    files: HashMap<PathBuf, Option<ProgramFile>>,
    known: HashMap<u64, Vec<String>>,
}

impl Names {
    /// The functions that a return address lies in, the outermost first.
    fn at(&mut self, address: u64) -> Vec<String> {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let names = self.find(address.saturating_sub(1)).unwrap_or_else(|| vec![format!("{address:#x}")]);
        self.known.insert(address, names.clone());
        names
    }

    fn find(&mut self, address: u64) -> Option<Vec<String>> {
        let part = self.mapped.iter().find(|part| part.range.contains(&address))?;
        if part.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(LIBRARY)) {
            return Some(vec![LIBRARY.to_owned()]);
        }
        let begins = |other: &&Mapped| other.path == part.path && other.offset == 0;
        let base = self.mapped.iter().find(begins).map_or(part.range.start, |first| first.range.start);
        let file = self.files.entry(part.path.clone()).or_insert_with(|| ProgramFile::open(&part.path));
        let names = file.as_mut().map(|file| {
            let in_file = if file.is_fixed() { address } else { address.wrapping_sub(base) };
            file.functions_at(in_file)
        });
        let name = part.path.file_name().unwrap_or_default().to_string_lossy();
        let otherwise = || vec![format!("{name} + {:#x}", address.wrapping_sub(base))];
        let mut names = names.filter(|names| !names.is_empty()).unwrap_or_else(otherwise);
        names.reverse();
        Some(names)
    }
}

/// `12: 34 [56: 78] @ 0x1 0x2`.
fn site(line: &str, names: &mut Names) -> Option<HeapSite> {
    let (figures, calls) = line.split_once(" @")?;
    let numbers: Vec<i64> = figures
        .split(|c: char| !c.is_ascii_digit() && c != '-')
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [blocks, bytes, all_blocks, all_bytes] = numbers[..] else { return None };
    let number = |call: &str| u64::from_str_radix(call.trim_start_matches("0x"), 16).ok();
    let addresses: Vec<u64> = calls.split_ascii_whitespace().map(number).collect::<Option<_>>()?;
    let calls: Vec<_> = addresses.into_iter().rev().flat_map(|address| names.at(address)).collect();
    // What frees and what allocates may be counted at slightly different moments.
    let [blocks, bytes, all_blocks, all_bytes] =
        [blocks, bytes, all_blocks, all_bytes].map(|number| u64::try_from(number).unwrap_or(0));
    Some(HeapSite { calls: without_allocator(calls), bytes, blocks, all_bytes, all_blocks })
}

/// Without the allocator's own functions, by which each site ends; those compiled into them do not say whose they are.
fn without_allocator(mut calls: Vec<String>) -> Vec<String> {
    let is_own = |call: &String| call.contains("raddle_alloc::") || call.starts_with(LIBRARY);
    if let Some(first) = calls.iter().position(is_own) {
        calls.truncate(first);
    }
    calls
}

/// The sites of a profile; why that is none.
pub(super) fn sites(text: &[u8]) -> Result<Vec<HeapSite>, String> {
    let text = String::from_utf8_lossy(text);
    let (profile, maps) = text.split_once(MAPPED).unwrap_or((&text, ""));
    let mapped = maps.lines().filter_map(mapped).collect();
    let mut names = Names { mapped, files: HashMap::new(), known: HashMap::new() };
    let lines = profile.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            site(line, &mut names).ok_or_else(|| format!("line {} is no site of a heap profile", number + 1))
        })
        .collect()
}

/// The path as it is shown, and where the page goes.
pub(super) fn page_of(file: &Path, output: Option<PathBuf>) -> (String, PathBuf) {
    (file.display().to_string(), output.unwrap_or_else(|| file.with_extension("html")))
}

#[test]
fn sites_have_their_figures_and_what_is_wrong_is_told() {
    let text = "heap profile: 1: 2 [3: 4] @ heapprofile\n1: 200 [3: 400] @ 0x1000 0x2000\n\nMAPPED_LIBRARIES:\n\
                1000-3000 r-xp 00000000 00:00 1 /nowhere/lib a.so\n";
    let found = sites(text.as_bytes()).unwrap();
    let calls = vec!["lib a.so + 0xfff".to_owned(), "0x1000".to_owned()];
    assert_eq!(found, [HeapSite { calls, bytes: 200, blocks: 1, all_bytes: 400, all_blocks: 3 }]);
    let own = ["main", "raddle_alloc::allocate", "inlined"].map(str::to_owned);
    assert_eq!(without_allocator(own.into()), ["main"]);
    assert_eq!(sites(b"heap profile: \nx\n"), Err("line 2 is no site of a heap profile".to_owned()));
}

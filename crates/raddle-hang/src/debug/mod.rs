//! Owns: `DebugInformation`: which functions of the source an instruction belongs to, and on which lines.
//! May use: `elf`.
//! Never: a symbol table; a function that was compiled nowhere.
//!
//! It reads DWARF, versions 2 to 5, as compilers of Rust, C and C++ write it. A file has many *units*, one for each
//! piece that a compiler was given. A unit has a tree of *entries*: functions, and in them those that were compiled
//! into them, with the places where they were called. Beside that stand *rows*: which instruction belongs to which
//! line.
//!
//! | file | what |
//! |---|---|
//! | `entries` | the entries of a unit, one after the other |
//! | `unit` | a unit: what it covers, its functions, the names of entries |
//! | `lines` | its rows |
//!
//! Each unit is read once, when an instruction of it is asked for; after that a question costs one function and one
//! sequence of rows. What is not read: sections that are compressed, and files beside the program (`.dwo`, `.dwp`,
//! `.debug`). Where these are, what is in the program itself is told, which `docs/HANGS.md` says.
//!
//! The crate `backtrace` reads all of that and was here; the tests compare. With what it needs it was a quarter of the
//! time that it took to compile `raddle`, and 155 KB in every program.

mod entries;
mod lines;
#[cfg(test)]
mod tests;
mod unit;

use crate::elf::ElfFile;
use std::path::PathBuf;
use unit::Unit;

/// The sections that it reads.
#[derive(Clone, Copy)]
struct Sections<'f> {
    entries: &'f [u8],
    abbreviations: &'f [u8],
    lines: &'f [u8],
    texts: &'f [u8],
    line_texts: &'f [u8],
    text_offsets: &'f [u8],
    addresses: &'f [u8],
    /// Of DWARF 4 and before.
    ranges: &'f [u8],
    range_lists: &'f [u8],
}

impl<'f> Sections<'f> {
    fn of(file: &'f ElfFile) -> Sections<'f> {
        Sections {
            entries: file.section(b".debug_info"),
            abbreviations: file.section(b".debug_abbrev"),
            lines: file.section(b".debug_line"),
            texts: file.section(b".debug_str"),
            line_texts: file.section(b".debug_line_str"),
            text_offsets: file.section(b".debug_str_offsets"),
            addresses: file.section(b".debug_addr"),
            ranges: file.section(b".debug_ranges"),
            range_lists: file.section(b".debug_rnglists"),
        }
    }
}

/// A function that an instruction belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceFunction {
    /// As the linker knows it, if the compiler says that; else as in the source, without its path.
    pub(crate) name: Option<String>,
    pub(crate) place: Option<SourcePlace>,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourcePlace {
    pub(crate) file: PathBuf,
    pub(crate) line: u64,
    /// 0: not known.
    pub(crate) column: u64,
}

/// What has been read of a file.
#[derive(Default)]
pub(crate) struct DebugInformation {
    /// In the order of the file.
    units: Vec<Unit>,
    /// Which addresses belong to which unit; sorted.
    covered: Vec<(u64, u64, usize)>,
}

impl DebugInformation {
    /// Sees which units a file has.
    pub(crate) fn of(file: &ElfFile) -> DebugInformation {
        DebugInformation::of_sections(&Sections::of(file))
    }

    fn of_sections(sections: &Sections<'_>) -> DebugInformation {
        let (mut units, mut covered) = (Vec::new(), Vec::new());
        for (index, (unit, ranges)) in Unit::all(sections).into_iter().enumerate() {
            units.push(unit);
            covered.extend(ranges.into_iter().map(|(begin, end)| (begin, end, index)));
        }
        covered.sort_unstable();
        DebugInformation { units, covered }
    }

    /// The functions that the instruction at this address of the file belongs to, the innermost first. The last is the
    /// one that stands there under its own name; the others were compiled into it.
    pub(crate) fn functions_at(&mut self, file: &ElfFile, address: u64) -> Vec<SourceFunction> {
        self.functions_in(&Sections::of(file), address)
    }

    fn functions_in(&mut self, sections: &Sections<'_>, address: u64) -> Vec<SourceFunction> {
        let Some(index) = unit::last_with(&self.covered, address) else { return Vec::new() };
        self.units[index].read(sections);
        let unit = &self.units[index];
        let calls = unit.calls_to(sections, address);
        // From the outermost: each tells where the next one was called.
        let mut found = Vec::new();
        let mut outer = SourceFunction::default();
        for entry in &calls {
            if entry.is_call() {
                outer.place = unit.call_place(entry);
                found.push(std::mem::take(&mut outer));
            }
            outer.name = unit::name(&self.units, sections, index, entry);
        }
        outer.place = unit.place(sections, address);
        found.push(outer);
        found.reverse();
        found
    }
}

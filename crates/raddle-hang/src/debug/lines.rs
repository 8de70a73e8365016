//! Owns: `LineTable`: which instructions of a unit belong to which lines.
//! May use: `bytes`.
//! Never: all rows at once; a sequence is gone through when an instruction of it is asked for.
//!
//! The rows are written as a program that makes them, one after the other (DWARF 5, 6.2). A *sequence* is a part of it
//! that begins anew: compilers of Rust write one for each function.

use super::entries::{Layout, Value};
use super::unit::last_with;
use super::{Sections, SourcePlace};
use crate::bytes::Unread;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// From this instruction on, up to the next row.
#[derive(Clone, Copy)]
struct LineRow {
    address: u64,
    file: u64,
    line: u64,
    column: u64,
}

const FIRST_ROW: LineRow = LineRow { address: 0, file: 1, line: 1, column: 0 };

/// What a program's short steps mean.
struct Encoding {
    instruction_bytes: u64,
    line_base: i64,
    line_range: u64,
    /// The first of those that move by their own number.
    special: u64,
    /// How many numbers follow the ones before.
    operands: Vec<u8>,
}

pub(super) struct LineTable {
    /// As they are counted in rows.
    files: Vec<PathBuf>,
    encoding: Encoding,
    /// What they cover, and where they begin; sorted.
    sequences: Vec<(u64, u64, usize)>,
    end: usize,
}

impl LineTable {
    /// The table at a place of the section.
    pub(super) fn read(sections: &Sections<'_>, unit: Layout, folder: &Path, at: u64) -> Option<LineTable> {
        const WIDE: u64 = 0xffff_ffff;
        let mut bytes = Unread::at(sections.lines, usize::try_from(at).ok()?);
        let (mut len, mut layout) = (bytes.number(4)?, Layout { offset_bytes: 4, ..unit });
        if len == WIDE {
            (len, layout.offset_bytes) = (bytes.number(8)?, 8);
        }
        let end = bytes.place.checked_add(usize::try_from(len).ok()?)?.min(sections.lines.len());
        layout.version = bytes.number(2)?;
        if layout.version >= 5 {
            bytes.skip(2)?;
        }
        let len = usize::try_from(bytes.number(layout.offset_bytes)?).ok()?;
        let program = bytes.place.checked_add(len)?;
        let encoding = Encoding::read(&mut bytes, layout.version)?;
        let files = if layout.version >= 5 {
            let folders =
                listed(sections, layout, &mut bytes)?.into_iter().map(|(name, _)| folder.join(name));
            let folders: Vec<_> = folders.collect();
            let in_folder = |(name, at): (&Path, u64)| folders.get(at as usize).map(|one| one.join(name));
            listed(sections, layout, &mut bytes)?.into_iter().map(in_folder).collect::<Option<_>>()?
        } else {
            old_files(&mut bytes, folder)?
        };
        let mut table = LineTable { files, encoding, sequences: Vec::new(), end };
        table.find_sequences(sections, program);
        Some(table)
    }

    fn find_sequences(&mut self, sections: &Sections<'_>, program: usize) {
        let (mut found, mut first, mut begin) = (Vec::new(), None, program);
        self.run(sections, program, &mut |row, is_end, next| {
            let low = *first.get_or_insert(row.address);
            if is_end {
                // What a linker has left out is at 0.
                if low != 0 && low < row.address {
                    found.push((low, row.address, begin));
                }
                (first, begin) = (None, next);
            }
            false
        });
        found.sort_unstable();
        self.sequences = found;
    }

    /// The line that an instruction belongs to.
    pub(super) fn place(&self, sections: &Sections<'_>, address: u64) -> Option<SourcePlace> {
        let mut last: Option<LineRow> = None;
        self.run(sections, last_with(&self.sequences, address)?, &mut |row, is_end, _| {
            let is_behind = row.address > address;
            if !is_behind && !is_end {
                last = Some(row);
            }
            is_behind || is_end
        });
        let row = last.filter(|row| row.line > 0)?;
        Some(SourcePlace { file: self.file(row.file)?, line: row.line, column: row.column })
    }

    pub(super) fn file(&self, number: u64) -> Option<PathBuf> {
        self.files.get(usize::try_from(number).ok()?).cloned()
    }

    /// Runs the program from a sequence's begin on. Calls `each` with every row, whether it ends its sequence, and the
    /// place of the next step; until that says to stop.
    fn run(
        &self,
        sections: &Sections<'_>,
        from: usize,
        each: &mut dyn FnMut(LineRow, bool, usize) -> bool,
    ) -> Option<()> {
        let mut bytes = Unread::at(&sections.lines[..self.end], from);
        let mut row = FIRST_ROW;
        while !bytes.is_at_end() {
            let (is_row, is_end) = self.encoding.step(&mut bytes, &mut row)?;
            if is_row && each(row, is_end, bytes.place) {
                break;
            }
            if is_end {
                row = FIRST_ROW;
            }
        }
        Some(())
    }
}

impl Encoding {
    fn read(bytes: &mut Unread<'_>, version: u64) -> Option<Encoding> {
        let instruction_bytes = bytes.number(1)?;
        // Several operations in one instruction, which no machine here has; whether a row begins a statement.
        bytes.skip(if version >= 4 { 2 } else { 1 })?;
        let line_base = i64::from(bytes.number(1)?.to_le_bytes()[0].cast_signed());
        let (line_range, special) = (bytes.number(1)?, bytes.number(1)?);
        let operands = bytes.take(usize::try_from(special).ok()?.checked_sub(1)?)?.to_vec();
        (line_range > 0).then_some(Encoding { instruction_bytes, line_base, line_range, special, operands })
    }

    fn advance(&self, row: &mut LineRow, instructions: u64) {
        row.address = row.address.wrapping_add(instructions.wrapping_mul(self.instruction_bytes));
    }

    /// One step: whether it makes a row, and whether that is the last of its sequence.
    fn step(&self, bytes: &mut Unread<'_>, row: &mut LineRow) -> Option<(bool, bool)> {
        let code = bytes.number(1)?;
        if code >= self.special {
            let moved = code - self.special;
            self.advance(row, moved / self.line_range);
            let lines = self.line_base + (moved % self.line_range).cast_signed();
            row.line = row.line.wrapping_add_signed(lines);
            return Some((true, false));
        }
        match code {
            0 => return extended(bytes, row),
            1 => return Some((true, false)),
            2 => self.advance(row, bytes.uleb()?),
            3 => row.line = row.line.wrapping_add_signed(bytes.sleb()?),
            4 => row.file = bytes.uleb()?,
            5 => row.column = bytes.uleb()?,
            8 => self.advance(row, (255 - self.special) / self.line_range),
            9 => row.address = row.address.wrapping_add(bytes.number(2)?),
            code => {
                for _ in 0..*self.operands.get(usize::try_from(code).ok()? - 1)? {
                    bytes.uleb()?;
                }
            }
        }
        Some((false, false))
    }
}

/// A step with a length of its own.
fn extended(bytes: &mut Unread<'_>, row: &mut LineRow) -> Option<(bool, bool)> {
    let len = usize::try_from(bytes.uleb()?).ok()?;
    let mut inside = *bytes;
    bytes.skip(len)?;
    match inside.number(1)? {
        1 => return Some((true, true)),
        2 => row.address = inside.number(len.checked_sub(1).filter(|len| *len <= 8)?)?,
        _ => {}
    }
    Some((false, false))
}

fn path(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text))
}

/// Files of DWARF 4 and before, which are counted from 1, as their folders are; 0 is the unit's own.
fn old_files(bytes: &mut Unread<'_>, folder: &Path) -> Option<Vec<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    loop {
        match bytes.text()? {
            [] => break,
            name => folders.push(folder.join(path(name))),
        }
    }
    let mut files = vec![folder.to_owned()];
    loop {
        let name = bytes.text()?;
        if name.is_empty() {
            return Some(files);
        }
        let at = bytes.uleb()?;
        bytes.uleb()?;
        bytes.uleb()?;
        files.push(folders.get(usize::try_from(at).ok()?)?.join(path(name)));
    }
}

/// A list of DWARF 5, of folders or of files: names, and the numbers of their folders.
fn listed<'f>(
    sections: &Sections<'f>,
    layout: Layout,
    bytes: &mut Unread<'f>,
) -> Option<Vec<(&'f Path, u64)>> {
    const NAME: u64 = 1;
    const FOLDER: u64 = 2;
    let forms = (0..bytes.number(1)?).map(|_| Some((bytes.uleb()?, bytes.uleb()?)));
    let forms = forms.collect::<Option<Vec<_>>>()?;
    let mut found = Vec::new();
    for _ in 0..bytes.uleb()? {
        let (mut name, mut folder, begin) = (path(b""), 0, bytes.place);
        for (what, form) in &forms {
            match (*what, layout.value(sections, bytes, *form, 0)?) {
                (NAME, Value::Text(text)) => name = path(text),
                (FOLDER, Value::Number(number)) => folder = number,
                _ => {}
            }
        }
        found.push((name, folder));
        // Of entries without bytes there could be any number.
        (bytes.place > begin).then_some(())?;
    }
    Some(found)
}

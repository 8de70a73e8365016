//! Owns: `Unit`: what a compiler was given at once; the functions in it, and the names of entries.
//! May use: `bytes`.
//! Never: an entry read that no question leads to, but once to find the functions.

use super::entries::{Abbreviation, Entry, Layout, Value};
use super::lines::LineTable;
use super::{Sections, SourcePlace};
use crate::bytes::{Unread, part};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// From the first address to the one behind the last.
pub(super) type AddressRange = (u64, u64);

/// So far a name is followed from one entry to the next.
const ORIGINS_MAX: usize = 8;

pub(super) struct Unit {
    layout: Layout,
    abbreviations: usize,
    /// Its first entry, which is about the unit itself; and where it ends.
    first: usize,
    end: usize,
    /// From which ranges are counted.
    low: u64,
    text_base: u64,
    address_base: u64,
    range_base: u64,
    rows: Option<u64>,
    folder: PathBuf,
    contents: Option<Contents>,
}

/// What is read when the unit is asked for the first time.
struct Contents {
    abbreviations: HashMap<u64, Abbreviation>,
    /// Functions by what they cover, with the places of their entries; sorted.
    functions: Vec<(u64, u64, usize)>,
    lines: Option<LineTable>,
}

impl Unit {
    /// Those of a file, with what each covers.
    pub(super) fn all(sections: &Sections<'_>) -> Vec<(Unit, Vec<AddressRange>)> {
        let mut begin = 0;
        let next = || {
            let unit = Unit::head(sections, begin)?;
            begin = unit.end;
            Some(unit)
        };
        std::iter::from_fn(next).map(|unit| unit.with_first(sections)).collect()
    }

    /// The head of the unit that begins here.
    fn head(sections: &Sections<'_>, begin: usize) -> Option<Unit> {
        const WIDE: u64 = 0xffff_ffff;
        let mut bytes = Unread::at(sections.entries, begin);
        let (mut len, mut offset_bytes) = (bytes.number(4)?, 4);
        if len == WIDE {
            (len, offset_bytes) = (bytes.number(8)?, 8);
        }
        let end = bytes.place.checked_add(usize::try_from(len).ok()?)?;
        part(sections.entries, begin, end - begin)?;
        let version = bytes.number(2)?;
        let kind = if version >= 5 { bytes.number(1)? } else { 0 };
        let mut address_bytes = if version >= 5 { bytes.number(1)? } else { 0 };
        let abbreviations = bytes.number(offset_bytes)?;
        if version < 5 {
            address_bytes = bytes.number(1)?;
        }
        bytes.skip(match kind {
            // A number that a file beside this one has, too; a type.
            4 | 5 => 8,
            2 | 6 => 8 + offset_bytes,
            _ => 0,
        })?;
        let address_bytes = usize::try_from(address_bytes).ok().filter(|len| *len <= 8)?;
        Some(Unit {
            layout: Layout { version, offset_bytes, address_bytes, begin },
            abbreviations: usize::try_from(abbreviations).ok()?,
            first: bytes.place,
            end,
            low: 0,
            text_base: 0,
            address_base: 0,
            range_base: 0,
            rows: None,
            folder: PathBuf::new(),
            contents: None,
        })
    }

    /// With what its first entry says of the others, and what it covers.
    fn with_first(mut self, sections: &Sections<'_>) -> (Unit, Vec<AddressRange>) {
        let Some(entry) = self.entry_at(sections, self.first) else { return (self, Vec::new()) };
        self.text_base = entry.text_base.unwrap_or(0);
        self.address_base = entry.address_base.unwrap_or(0);
        self.range_base = entry.range_base.unwrap_or(0);
        self.low = entry.low.and_then(|low| self.address(sections, low)).unwrap_or(0);
        self.rows = entry.rows;
        let folder = entry.folder.and_then(|folder| self.text(sections, folder));
        self.folder = folder.map(|folder| OsStr::from_bytes(folder).into()).unwrap_or_default();
        let covers = self.ranges(sections, &entry);
        (self, covers)
    }

    /// Finds its functions and reads its rows, if that has not been done.
    pub(super) fn read(&mut self, sections: &Sections<'_>) {
        if self.contents.is_some() {
            return;
        }
        let abbreviations = Abbreviation::all(sections.abbreviations, self.abbreviations);
        let mut functions = Vec::new();
        let mut bytes = self.bytes_from(sections, self.first);
        while let Some(place) = Some(bytes.place).filter(|_| !bytes.is_at_end()) {
            let Some(entry) = self.next(&abbreviations, sections, &mut bytes) else { break };
            if let Some(entry) = entry.filter(Entry::is_function) {
                let ranges = self.ranges(sections, &entry).into_iter();
                functions.extend(ranges.map(|(begin, end)| (begin, end, place)));
            }
        }
        functions.sort_unstable();
        let lines = self.rows.and_then(|at| LineTable::read(sections, self.layout, &self.folder, at));
        self.contents = Some(Contents { abbreviations, functions, lines });
    }

    fn bytes_from<'f>(&self, sections: &Sections<'f>, place: usize) -> Unread<'f> {
        Unread::at(&sections.entries[..self.end], place)
    }

    /// The next entry; `Some(None)` for the end of the children of one.
    fn next<'f>(
        &self,
        abbreviations: &HashMap<u64, Abbreviation>,
        sections: &Sections<'f>,
        bytes: &mut Unread<'f>,
    ) -> Option<Option<Entry<'f>>> {
        match bytes.uleb()? {
            0 => Some(None),
            number => Entry::read(abbreviations.get(&number)?, self.layout, sections, bytes).map(Some),
        }
    }

    fn entry_at<'f>(&self, sections: &Sections<'f>, place: usize) -> Option<Entry<'f>> {
        let mut bytes = self.bytes_from(sections, place);
        if let Some(contents) = &self.contents {
            return self.next(&contents.abbreviations, sections, &mut bytes)?;
        }
        let number = bytes.uleb()?;
        let abbreviation = Abbreviation::one(sections.abbreviations, self.abbreviations, number)?;
        Entry::read(&abbreviation, self.layout, sections, &mut bytes)
    }

    /// The function that an address belongs to, and the calls in it that do, from the outermost to the innermost.
    pub(super) fn calls_to<'f>(&self, sections: &Sections<'f>, address: u64) -> Vec<Entry<'f>> {
        let mut calls = Vec::new();
        let Some(contents) = &self.contents else { return calls };
        let Some(place) = last_with(&contents.functions, address) else { return calls };
        let mut bytes = self.bytes_from(sections, place);
        let mut depth = 0;
        loop {
            match self.next(&contents.abbreviations, sections, &mut bytes) {
                None => break,
                Some(None) => depth -= 1,
                Some(Some(entry)) => {
                    let is_in = |(begin, end): &AddressRange| (*begin..*end).contains(&address);
                    if calls.is_empty() || entry.is_call() && self.ranges(sections, &entry).iter().any(is_in)
                    {
                        calls.push(entry);
                    }
                    depth += i32::from(entry.has_children);
                }
            }
            if depth <= 0 {
                break;
            }
        }
        calls
    }

    /// Where a call stands.
    pub(super) fn call_place(&self, call: &Entry<'_>) -> Option<SourcePlace> {
        let line = call.call_line.filter(|line| *line > 0)?;
        let file = self.contents.as_ref()?.lines.as_ref()?.file(call.call_file?)?;
        Some(SourcePlace { file, line, column: call.call_column.unwrap_or(0) })
    }

    /// The line that an address belongs to.
    pub(super) fn place(&self, sections: &Sections<'_>, address: u64) -> Option<SourcePlace> {
        self.contents.as_ref()?.lines.as_ref()?.place(sections, address)
    }

    fn address(&self, sections: &Sections<'_>, value: Value<'_>) -> Option<u64> {
        match value {
            Value::Address(address) => Some(address),
            Value::AddressAt(index) => self.address_at(sections, index),
            _ => None,
        }
    }

    fn address_at(&self, sections: &Sections<'_>, index: u64) -> Option<u64> {
        let len = self.layout.address_bytes;
        let at = index.checked_mul(len as u64)?.checked_add(self.address_base)?;
        Unread::at(sections.addresses, usize::try_from(at).ok()?).number(len)
    }

    fn text<'f>(&self, sections: &Sections<'f>, value: Value<'f>) -> Option<&'f [u8]> {
        match value {
            Value::Text(text) => Some(text),
            Value::TextAt(index) => {
                let len = self.layout.offset_bytes;
                let at = index.checked_mul(len as u64)?.checked_add(self.text_base)?;
                let at = Unread::at(sections.text_offsets, usize::try_from(at).ok()?).number(len)?;
                Unread::at(sections.texts, usize::try_from(at).ok()?).text()
            }
            _ => None,
        }
    }

    /// What an entry covers. What a linker has left out is at 0.
    fn ranges(&self, sections: &Sections<'_>, entry: &Entry<'_>) -> Vec<AddressRange> {
        let mut found = Vec::new();
        if let Some(value) = entry.ranges {
            if self.layout.version < 5 {
                self.old_ranges(sections, value, &mut found);
            } else {
                self.range_list(sections, value, &mut found);
            }
        } else if let Some((low, high)) = entry.low.zip(entry.high)
            && let Some(low) = self.address(sections, low)
        {
            let len = high.number().map(|len| low.wrapping_add(len));
            found.extend(len.or_else(|| self.address(sections, high)).map(|high| (low, high)));
        }
        found.retain(|(begin, end)| *begin != 0 && begin < end);
        found
    }

    /// Of DWARF 4: pairs of addresses.
    fn old_ranges(
        &self,
        sections: &Sections<'_>,
        value: Value<'_>,
        found: &mut Vec<AddressRange>,
    ) -> Option<()> {
        let len = self.layout.address_bytes;
        let mut bytes = Unread::at(sections.ranges, usize::try_from(value.number()?).ok()?);
        let mut base = self.low;
        let highest = u64::MAX >> (64 - 8 * u32::try_from(len).ok()?.clamp(1, 8));
        loop {
            match (bytes.number(len)?, bytes.number(len)?) {
                (0, 0) => return Some(()),
                (begin, end) if begin == highest => base = end,
                (begin, end) => found.push((base.wrapping_add(begin), base.wrapping_add(end))),
            }
        }
    }

    /// Of DWARF 5: pairs in one of several forms.
    fn range_list(
        &self,
        sections: &Sections<'_>,
        value: Value<'_>,
        found: &mut Vec<AddressRange>,
    ) -> Option<()> {
        let place = match value {
            Value::RangesAt(index) => {
                let len = self.layout.offset_bytes;
                let at = index.checked_mul(len as u64)?.checked_add(self.range_base)?;
                let offset = Unread::at(sections.range_lists, usize::try_from(at).ok()?).number(len)?;
                self.range_base.checked_add(offset)?
            }
            value => value.number()?,
        };
        let mut bytes = Unread::at(sections.range_lists, usize::try_from(place).ok()?);
        let (mut base, len) = (self.low, self.layout.address_bytes);
        loop {
            let (begin, end) = match bytes.number(1)? {
                0 => return Some(()),
                1 => {
                    base = self.address_at(sections, bytes.uleb()?)?;
                    continue;
                }
                2 => (self.address_at(sections, bytes.uleb()?)?, self.address_at(sections, bytes.uleb()?)?),
                3 => counted(self.address_at(sections, bytes.uleb()?)?, bytes.uleb()?),
                4 => (base.wrapping_add(bytes.uleb()?), base.wrapping_add(bytes.uleb()?)),
                5 => {
                    base = bytes.number(len)?;
                    continue;
                }
                6 => (bytes.number(len)?, bytes.number(len)?),
                7 => counted(bytes.number(len)?, bytes.uleb()?),
                _ => return None,
            };
            found.push((begin, end));
        }
    }
}

fn counted(begin: u64, len: u64) -> AddressRange {
    (begin, begin.wrapping_add(len))
}

/// Of sorted ranges the last that an address is in. They lie side by side, but for what was left out or is nested.
pub(super) fn last_with(ranges: &[(u64, u64, usize)], address: u64) -> Option<usize> {
    const NESTED_MAX: usize = 64;
    let after = ranges.partition_point(|(begin, ..)| *begin <= address);
    let near = ranges[..after].iter().rev().take(NESTED_MAX);
    near.filter(|(_, end, _)| address < *end).map(|(.., found)| *found).next()
}

/// The name of an entry of a unit, or of the entry that it comes from.
pub(super) fn name(
    units: &[Unit],
    sections: &Sections<'_>,
    index: usize,
    entry: &Entry<'_>,
) -> Option<String> {
    let (mut unit, mut entry, mut plain) = (&units[index], *entry, None);
    for _ in 0..ORIGINS_MAX {
        let text = |value| unit.text(sections, value).map(|text| String::from_utf8_lossy(text).into_owned());
        if let Some(name) = entry.linkage_name.and_then(text) {
            return Some(name);
        }
        plain = plain.or_else(|| entry.name.and_then(text));
        let Some(place) = entry.origin else { break };
        let after = units.partition_point(|unit| unit.layout.begin <= place);
        let Some(other) = units[..after].last().filter(|unit| place < unit.end) else { break };
        let Some(origin) = other.entry_at(sections, place) else { break };
        (unit, entry) = (other, origin);
    }
    plain
}

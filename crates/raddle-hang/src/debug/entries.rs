//! Owns: `Entry`: what debug information says of a function, a call or a unit; and how entries are written.
//! May use: `bytes`.
//! Never: what does not help to find a name or a line.
//!
//! An entry begins with the number of its *abbreviation*, which says what it is, whether it has children, and which
//! attributes follow in which *form* (DWARF 5, 7.5).

use super::Sections;
use crate::bytes::Unread;
use std::collections::HashMap;

/// How the units of a file may differ.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) version: u64,
    /// The bytes of a place in a section.
    pub(super) offset_bytes: usize,
    pub(super) address_bytes: usize,
    /// Where the unit begins, from which entries are counted.
    pub(super) begin: usize,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'f> {
    Address(u64),
    /// In the table of addresses.
    AddressAt(u64),
    /// A constant, or a place in a section.
    Number(u64),
    /// The place of another entry.
    Entry(usize),
    Text(&'f [u8]),
    /// In the table of texts.
    TextAt(u64),
    /// In the table of ranges.
    RangesAt(u64),
    Other,
}

impl Value<'_> {
    pub(super) fn number(self) -> Option<u64> {
        if let Value::Number(number) = self { Some(number) } else { None }
    }
}

/// An attribute's name and form, and its value where that stands in the abbreviation.
type Attribute = (u64, u64, i64);

pub(super) struct Abbreviation {
    tag: u64,
    has_children: bool,
    attributes: Vec<Attribute>,
}

impl Abbreviation {
    /// The next of a table, with its number; `None` at the table's end.
    fn next(bytes: &mut Unread<'_>) -> Option<(u64, Abbreviation)> {
        const STANDS_HERE: u64 = 0x21;
        let number = bytes.uleb().filter(|number| *number != 0)?;
        let (tag, has_children) = (bytes.uleb()?, bytes.number(1)? != 0);
        let mut attributes = Vec::new();
        loop {
            let (name, form) = (bytes.uleb()?, bytes.uleb()?);
            if (name, form) == (0, 0) {
                return Some((number, Abbreviation { tag, has_children, attributes }));
            }
            let value = if form == STANDS_HERE { bytes.sleb()? } else { 0 };
            attributes.push((name, form, value));
        }
    }

    /// A whole table.
    pub(super) fn all(section: &[u8], at: usize) -> HashMap<u64, Abbreviation> {
        let mut bytes = Unread::at(section, at);
        std::iter::from_fn(|| Abbreviation::next(&mut bytes)).collect()
    }

    /// One of a table. The first entry of a unit mostly has the first one.
    pub(super) fn one(section: &[u8], at: usize, wanted: u64) -> Option<Abbreviation> {
        let mut bytes = Unread::at(section, at);
        let found =
            std::iter::from_fn(|| Abbreviation::next(&mut bytes)).find(|(number, _)| *number == wanted);
        found.map(|(_, abbreviation)| abbreviation)
    }
}

/// What matters of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry<'f> {
    tag: u64,
    pub(super) has_children: bool,
    pub(super) name: Option<Value<'f>>,
    pub(super) linkage_name: Option<Value<'f>>,
    /// The entry that says more of the same function.
    pub(super) origin: Option<usize>,
    pub(super) low: Option<Value<'f>>,
    pub(super) high: Option<Value<'f>>,
    pub(super) ranges: Option<Value<'f>>,
    pub(super) call_file: Option<u64>,
    pub(super) call_line: Option<u64>,
    pub(super) call_column: Option<u64>,
    /// Of a unit: its rows, its folder, and where its parts of three tables begin.
    pub(super) rows: Option<u64>,
    pub(super) folder: Option<Value<'f>>,
    pub(super) text_base: Option<u64>,
    pub(super) address_base: Option<u64>,
    pub(super) range_base: Option<u64>,
}

impl<'f> Entry<'f> {
    /// A function that was compiled.
    pub(super) fn is_function(&self) -> bool {
        self.tag == 0x2e
    }

    /// A function that was compiled into another one.
    pub(super) fn is_call(&self) -> bool {
        self.tag == 0x1d
    }

    /// The rest of an entry, behind the number of its abbreviation.
    pub(super) fn read(
        abbreviation: &Abbreviation,
        layout: Layout,
        sections: &Sections<'f>,
        bytes: &mut Unread<'f>,
    ) -> Option<Entry<'f>> {
        let Abbreviation { tag, has_children, .. } = *abbreviation;
        let mut entry = Entry { tag, has_children, ..Entry::default() };
        for (name, form, stands_there) in &abbreviation.attributes {
            let value = layout.value(sections, bytes, *form, *stands_there)?;
            entry.set(*name, value);
        }
        Some(entry)
    }

    fn set(&mut self, attribute: u64, value: Value<'f>) {
        match attribute {
            0x03 => self.name = Some(value),
            0x10 => self.rows = value.number(),
            0x11 => self.low = Some(value),
            0x12 => self.high = Some(value),
            0x1b => self.folder = Some(value),
            0x31 | 0x47 => {
                if let Value::Entry(place) = value {
                    self.origin = Some(place);
                }
            }
            0x55 => self.ranges = Some(value),
            0x57 => self.call_column = value.number(),
            0x58 => self.call_file = value.number(),
            0x59 => self.call_line = value.number(),
            0x6e | 0x2007 => self.linkage_name = Some(value),
            0x72 => self.text_base = value.number(),
            0x73 => self.address_base = value.number(),
            0x74 => self.range_base = value.number(),
            _ => {}
        }
    }
}

impl Layout {
    /// A value of this form.
    pub(super) fn value<'f>(
        self,
        sections: &Sections<'f>,
        bytes: &mut Unread<'f>,
        form: u64,
        stands_there: i64,
    ) -> Option<Value<'f>> {
        let text = |section: &'f [u8], at: u64| {
            Some(Value::Text(Unread::at(section, usize::try_from(at).ok()?).text().unwrap_or_default()))
        };
        let entry = |from: usize, distance: u64| from.checked_add(usize::try_from(distance).ok()?);
        Some(match form {
            0x01 => Value::Address(bytes.number(self.address_bytes)?),
            0x1b => Value::AddressAt(bytes.uleb()?),
            0x29..=0x2c => Value::AddressAt(bytes.number(form as usize - 0x28)?),
            0x0b | 0x0c => Value::Number(bytes.number(1)?),
            0x05 => Value::Number(bytes.number(2)?),
            0x06 => Value::Number(bytes.number(4)?),
            0x07 => Value::Number(bytes.number(8)?),
            0x0d => Value::Number(bytes.sleb()?.cast_unsigned()),
            0x0f => Value::Number(bytes.uleb()?),
            0x17 => Value::Number(bytes.number(self.offset_bytes)?),
            0x19 => Value::Number(1),
            0x21 => Value::Number(stands_there.cast_unsigned()),
            0x08 => Value::Text(bytes.text()?),
            0x0e => text(sections.texts, bytes.number(self.offset_bytes)?)?,
            0x1f => text(sections.line_texts, bytes.number(self.offset_bytes)?)?,
            0x1a => Value::TextAt(bytes.uleb()?),
            0x25..=0x28 => Value::TextAt(bytes.number(form as usize - 0x24)?),
            0x11..=0x14 => Value::Entry(entry(self.begin, bytes.number(1 << (form - 0x11))?)?),
            0x15 => Value::Entry(entry(self.begin, bytes.uleb()?)?),
            0x10 => {
                let len = if self.version == 2 { self.address_bytes } else { self.offset_bytes };
                Value::Entry(entry(0, bytes.number(len)?)?)
            }
            0x23 => Value::RangesAt(bytes.uleb()?),
            0x16 => {
                let form = bytes.uleb().filter(|form| *form != 0x16)?;
                self.value(sections, bytes, form, 0)?
            }
            other => self.skip(bytes, other)?,
        })
    }

    /// A value that nobody here asks for.
    fn skip<'f>(self, bytes: &mut Unread<'f>, form: u64) -> Option<Value<'f>> {
        let len = match form {
            0x0a => bytes.number(1)?,
            0x03 => bytes.number(2)?,
            0x04 => bytes.number(4)?,
            0x09 | 0x18 => bytes.uleb()?,
            0x1c => 4,
            0x20 | 0x24 => 8,
            0x1e => 16,
            // In a file beside this one.
            0x1d | 0x1f20 | 0x1f21 => self.offset_bytes as u64,
            0x22 | 0x1f01 | 0x1f02 => {
                bytes.uleb()?;
                0
            }
            _ => return None,
        };
        bytes.skip(usize::try_from(len).ok()?)?;
        Some(Value::Other)
    }
}

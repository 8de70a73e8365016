//! Owns: a module as bytes.
//! May use: `insn`, `module`, `names`, `table`.
//! Never: trusts a byte: a length is believed when as many bytes are there.

use crate::NUMBERING;
use crate::insn::Insn;
use crate::module::{Bundle, End, ForeignRoutine, Function, Line, Module, Site, Watched};
use crate::names::printable;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

const MAGIC: &[u8; 4] = b"RDLB";
/// The layout of the file. 1 did not say how instructions are numbered.
const VERSION: u32 = 2;

const AGAIN: &str = "compile its source again, with `raddle build`";

/// Why bytes are no module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileError {
    /// They do not begin as a module does.
    NotBytecode,
    /// Of a version that this reader does not know.
    Version(u32),
    /// Its instructions are numbered in another way, this one.
    Numbering(u32),
    /// They end too early, or a length does not fit its content.
    Cut(String),
    /// An instruction of this number, which there is not.
    Instruction {
        /// Which one, from 0.
        at: u32,
        /// Its number.
        number: u8,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::NotBytecode => f.write_str("it is no Raddle bytecode, which begins with `RDLB`"),
            FileError::Version(version) => {
                write!(
                    f,
                    "it is a file of version {version}, and this raddle reads version {VERSION}; {AGAIN}"
                )
            }
            FileError::Numbering(numbering) => {
                write!(
                    f,
                    "its instructions have numbering {numbering}, and this raddle has {NUMBERING}; {AGAIN}"
                )
            }
            FileError::Cut(chunk) => write!(f, "it is cut short or damaged in `{chunk}`"),
            FileError::Instruction { at, number } => {
                write!(
                    f,
                    "instruction {at} has the number {number}, which numbering {NUMBERING} does not have; "
                )?;
                f.write_str("the file is damaged, or a newer raddle has made it")
            }
        }
    }
}

impl core::error::Error for FileError {}

/// As [`FileError`], for whom no memory is needed.
enum Wrong<'a> {
    NotBytecode,
    Version(u32),
    Numbering(u32),
    Cut(&'a [u8]),
    Instruction { at: u32, number: u8 },
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn padded(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes(count)?;
        self.bytes(count.next_multiple_of(4) - count)?;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        self.bytes(4).map(|bytes| word_at(bytes, 0))
    }

    /// Reads things until nothing is left.
    fn all<T>(mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut things = Vec::new();
        while !self.0.is_empty() {
            things.push(one(&mut self)?);
        }
        Some(things)
    }

    /// Things of so many words each: as many as there are, and no half one behind them.
    fn each<const N: usize, T>(self, one: impl Fn([u32; N]) -> T) -> Option<Vec<T>> {
        let records = self.0.chunks_exact(4 * N);
        if !records.remainder().is_empty() {
            return None;
        }
        Some(records.map(|bytes| one(core::array::from_fn(|number| word_at(bytes, number)))).collect())
    }
}

/// The word of that number, which must be there. Not compiled into each of its users: on a board that is too much.
#[inline(never)]
fn word_at(bytes: &[u8], number: usize) -> u32 {
    let bytes = &bytes[4 * number..4 * number + 4];
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn string(reader: &mut Reader<'_>) -> Option<String> {
    let length = reader.word()? as usize;
    let bytes = reader.padded(length)?;
    Some(printable(&String::from_utf8_lossy(bytes)))
}

fn watched(reader: &mut Reader<'_>) -> Option<Watched> {
    let [name, element, count] = [reader.word()?, reader.word()?, reader.word()?];
    // As many words as there are, at most: a length is believed when its content is there.
    let dims = (0..count).map_while(|_| reader.word()).collect::<Vec<u32>>();
    (dims.len() == count as usize).then_some(Watched { name, element, dims })
}

fn read_chunk<const BARE: bool>(module: &mut Module, tag: &[u8], mut content: Reader<'_>) -> Option<()> {
    match tag {
        b"HEAD" => module.entry = content.word()?,
        b"STRS" if !BARE => module.strings = content.all(string)?,
        b"FUNC" => {
            let function = |[name, first, count, slots]: [u32; 4]| Function { name, first, count, slots };
            module.functions = content.each(function)?;
        }
        b"SITE" => {
            let site = |[callee, base, at]: [u32; 3]| Site { callee, base, at };
            module.sites = content.each(site)?;
        }
        b"POOL" => {
            let constant = |[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32;
            module.pool = content.each(constant)?;
        }
        b"DATA" => {
            let length = content.word()? as usize;
            module.data = content.padded(length)?.to_vec();
        }
        b"LINE" if !BARE => {
            let line = |[at, file, line, column]: [u32; 4]| Line { at, file, line, column };
            module.lines = content.each(line)?;
        }
        b"ENDS" if !BARE => {
            let end = |[from, to, slot, name]: [u32; 4]| {
                let (output, is_array) = (slot & 1 << 16 != 0, slot & 1 << 17 != 0);
                let (by_reference, word) = (slot & 1 << 19 != 0, (slot >> 20) as u16);
                let bundle = (slot & 1 << 18 != 0).then_some(Bundle { by_reference, word });
                let inner = if is_array && bundle.is_none() { word } else { 0 };
                End { from, to, slot: slot as u16, output, is_array, inner, bundle, name }
            };
            module.ends = content.each(end)?;
        }
        b"FRGN" => {
            let routine = |[name, parameters]: [u32; 2]| ForeignRoutine { name, parameters };
            module.foreign = content.each(routine)?;
        }
        b"LIBS" => module.libraries = content.each(|[name]| name)?,
        b"WTCH" if !BARE => module.watched = content.all(watched)?,
        _ => {}
    }
    Some(())
}

fn read_code<'a>(mut content: Reader<'_>) -> Result<Vec<Insn>, Wrong<'a>> {
    let mut code = Vec::with_capacity(content.0.len() / 8);
    while let Some(bytes) = content.bytes(8) {
        let bytes: [u8; 8] = bytes.try_into().expect("eight bytes were asked for");
        let (at, number) = (code.len() as u32, bytes[0]);
        code.push(Insn::from_bytes(bytes).ok_or(Wrong::Instruction { at, number })?);
    }
    Ok(code)
}

/// What a file has under that tag; `None` if it has nothing there, or is no module.
///
/// ```
/// use raddle_bytecode::{Module, file};
/// let mut bytes = Module::default().write();
/// file::append(&mut bytes, b"ROOM", &[64, 2]);
/// assert_eq!(file::part(&bytes, b"ROOM").map(<[u8]>::len), Some(8));
/// assert_eq!(file::part(&bytes, b"LINE"), None);
/// assert!(Module::read(&bytes).is_ok());
/// ```
pub fn part<'a>(bytes: &'a [u8], tag: &[u8; 4]) -> Option<&'a [u8]> {
    let mut reader = Reader(bytes);
    reader.bytes(12).filter(|head| head.starts_with(MAGIC))?;
    loop {
        let found = reader.bytes(4)?;
        let length = reader.word()? as usize;
        let content = reader.bytes(length)?;
        if found == tag {
            return Some(content);
        }
    }
}

/// Adds a part, of words, to a module's file.
pub fn append(bytes: &mut Vec<u8>, tag: &[u8; 4], words: &[u32]) {
    let mut out = Writer(core::mem::take(bytes));
    out.chunk(tag, words, |out, &word| out.word(word));
    *bytes = out.0;
}

struct Writer(Vec<u8>);

impl Writer {
    fn word(&mut self, word: u32) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn chunk<T>(&mut self, tag: &[u8; 4], things: &[T], mut one: impl FnMut(&mut Self, &T)) {
        if things.is_empty() {
            return;
        }
        self.0.extend_from_slice(tag);
        let length_at = self.0.len();
        self.word(0);
        things.iter().for_each(|thing| one(self, thing));
        let length = (self.0.len() - length_at - 4) as u32;
        self.0[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
    }

    fn words<const N: usize>(&mut self, words: [u32; N]) {
        words.into_iter().for_each(|word| self.word(word));
    }
}

impl Module {
    /// Reads a module from the bytes of a file.
    ///
    /// # Errors
    /// If they are none, of another version or numbering, or damaged.
    ///
    /// ```
    /// use raddle_bytecode::Module;
    /// let module = Module::default();
    /// assert_eq!(Module::read(&module.write()), Ok(module));
    /// assert!(Module::read(b"something else").is_err());
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Module, FileError> {
        Module::read_as::<false>(bytes).map_err(|wrong| match wrong {
            Wrong::NotBytecode => FileError::NotBytecode,
            Wrong::Version(version) => FileError::Version(version),
            Wrong::Numbering(numbering) => FileError::Numbering(numbering),
            Wrong::Cut(part) => FileError::Cut(String::from_utf8_lossy(part).into_owned()),
            Wrong::Instruction { at, number } => FileError::Instruction { at, number },
        })
    }

    /// Reads what a machine needs to run it, and no more: neither names, nor places in the source, nor what is looked
    /// at in a debug build. For a machine with little memory, whose reports look those up in the file. `None` if it
    /// cannot be read.
    pub fn read_bare(bytes: &[u8]) -> Option<Module> {
        Module::read_as::<true>(bytes).ok()
    }

    fn read_as<const BARE: bool>(bytes: &[u8]) -> Result<Module, Wrong<'_>> {
        let mut reader = Reader(bytes);
        if reader.bytes(4) != Some(MAGIC) {
            return Err(Wrong::NotBytecode);
        }
        match reader.word().ok_or(Wrong::Cut(b"the header"))? {
            VERSION => {}
            other => return Err(Wrong::Version(other)),
        }
        match reader.word().ok_or(Wrong::Cut(b"the header"))? {
            NUMBERING => {}
            other => return Err(Wrong::Numbering(other)),
        }
        let mut module = Module::default();
        while let Some(tag) = reader.bytes(4) {
            let length = reader.word().ok_or(Wrong::Cut(tag))? as usize;
            let content = Reader(reader.bytes(length).ok_or(Wrong::Cut(tag))?);
            if tag == b"CODE" {
                module.code = read_code(content)?;
            } else {
                read_chunk::<BARE>(&mut module, tag, content).ok_or(Wrong::Cut(tag))?;
            }
        }
        if reader.0.is_empty() { Ok(module) } else { Err(Wrong::Cut(b"the end")) }
    }

    /// The module as the bytes of a file; equal modules give equal bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        out.word(VERSION);
        out.word(NUMBERING);
        out.chunk(b"HEAD", &[self.entry], |out, &entry| out.word(entry));
        out.chunk(b"STRS", &self.strings, |out, text| out.padded(text.as_bytes()));
        out.chunk(b"FUNC", &self.functions, |out, f| out.words([f.name, f.first, f.count, f.slots]));
        out.chunk(b"CODE", &self.code, |out, insn| out.0.extend_from_slice(&insn.to_bytes()));
        out.chunk(b"SITE", &self.sites, |out, site| out.words([site.callee, site.base, site.at]));
        out.chunk(b"POOL", &self.pool, |out, &value| out.words([value as u32, (value >> 32) as u32]));
        if !self.data.is_empty() {
            out.chunk(b"DATA", &[&self.data], |out, data| out.padded(data));
        }
        out.chunk(b"LINE", &self.lines, |out, it| out.words([it.at, it.file, it.line, it.column]));
        out.chunk(b"ENDS", &self.ends, |out, end| {
            let bundle = end.bundle.map_or(u32::from(end.inner) << 20, |it| {
                1 << 18 | u32::from(it.by_reference) << 19 | u32::from(it.word) << 20
            });
            let flags = u32::from(end.output) << 16 | u32::from(end.is_array) << 17 | bundle;
            let slot = u32::from(end.slot) | flags;
            out.words([end.from, end.to, slot, end.name]);
        });
        out.chunk(b"WTCH", &self.watched, |out, it| {
            out.words([it.name, it.element, it.dims.len() as u32]);
            it.dims.iter().for_each(|&size| out.word(size));
        });
        out.chunk(b"FRGN", &self.foreign, |out, it| out.words([it.name, it.parameters]));
        out.chunk(b"LIBS", &self.libraries, |out, &it| out.word(it));
        out.0
    }
}

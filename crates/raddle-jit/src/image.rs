//! Owns: files of the format ELF, in memory: sections, symbols, relocations.
//! May use: nothing.
//! Never: what is in a section.
//!
//! System V ABI, chapter 4, with 64 bits and the lowest byte first, as both processors have it.

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImageKind {
    /// A linker is to give its sections places.
    Relocatable,
    /// Its sections lie where they say.
    InMemory,
}

/// The name of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImageProcessor {
    X86,
    Arm,
}

impl ImageProcessor {
    fn machine(self) -> u16 {
        match self {
            ImageProcessor::X86 => 62,
            ImageProcessor::Arm => 183,
        }
    }

    /// The relocation by an address of eight bytes.
    fn address(self) -> u64 {
        match self {
            ImageProcessor::X86 => 1,
            ImageProcessor::Arm => 257,
        }
    }
}

/// A part of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImagePart {
    pub(crate) name: &'static str,
    /// Where it lies, in memory.
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
    /// It has no bytes in the file; so many lie at its address.
    pub(crate) elsewhere: u64,
    pub(crate) flags: u64,
    pub(crate) align: u64,
    /// Where an address of eight bytes is to be put: the place, the number of the symbol, and how far behind it.
    pub(crate) relocations: Vec<(u64, usize, i64)>,
}

/// Of [`ImagePart::flags`]: it lies in memory when the program runs.
pub(crate) const ALLOCATED: u64 = 2;
/// The processor executes it.
pub(crate) const EXECUTED: u64 = 4;
/// It may be written.
pub(crate) const WRITTEN: u64 = 1;

/// A name for a place.
#[derive(Clone, Debug)]
pub(crate) struct ImageSymbol {
    pub(crate) name: String,
    /// The number of its part; none if it lies in another file.
    pub(crate) part: Option<usize>,
    /// How far behind the beginning of its part.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) is_code: bool,
    /// Other files may have the name, too.
    pub(crate) is_local: bool,
}

/// The size of the file's header, and of one of a section.
const HEADER: u64 = 64;
const SECTION: u64 = 64;
/// The sections before the parts: number 0 is none.
const BEFORE: usize = 1;

const PROGRAM_BITS: u32 = 1;
const SYMBOL_TABLE: u32 = 2;
const STRING_TABLE: u32 = 3;
const RELOCATIONS: u32 = 4;
const NO_BITS: u32 = 8;

/// One that is to be written.
struct SectionHeader {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
}

/// Strings, each of which ends with 0.
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend(text.bytes().filter(|&byte| byte != 0));
        self.0.push(0);
        at
    }
}

/// The file. A symbol that relocations name is given by its number in `symbols`.
pub(crate) fn write(
    (kind, processor): (ImageKind, ImageProcessor),
    parts: &[ImagePart],
    symbols: &[ImageSymbol],
) -> Vec<u8> {
    let mut bytes = vec![0; HEADER as usize];
    let (mut names, mut strings) = (Strings(vec![0]), Strings(vec![0]));
    let mut headers = vec![SectionHeader::none()];
    for part in parts {
        let offset = place(&mut bytes, part.align.max(1), &part.bytes);
        headers.push(SectionHeader {
            name: names.add(part.name),
            kind: if part.elsewhere > 0 { NO_BITS } else { PROGRAM_BITS },
            flags: part.flags,
            address: part.address,
            offset,
            size: if part.elsewhere > 0 { part.elsewhere } else { part.bytes.len() as u64 },
            align: part.align.max(1),
            ..SectionHeader::none()
        });
    }
    let table = BEFORE + parts.len();
    let order = ordered(symbols);
    let mut places = vec![1; symbols.len()];
    order.iter().zip(1_u64..).for_each(|(&number, place)| places[number] = place);
    let locals = order.iter().filter(|&&number| symbols[number].is_local).count();
    let listed = symbol_table(kind, parts, (symbols, &order), &mut strings);
    let offset = place(&mut bytes, 8, &listed);
    let header = SectionHeader { name: names.add(".symtab"), kind: SYMBOL_TABLE, ..SectionHeader::none() };
    let (size, link) = (listed.len() as u64, table as u32 + 1);
    headers.push(SectionHeader {
        offset,
        size,
        link,
        info: 1 + locals as u32,
        align: 8,
        entry: 24,
        ..header
    });
    let offset = place(&mut bytes, 1, &strings.0);
    let header = SectionHeader { name: names.add(".strtab"), kind: STRING_TABLE, ..SectionHeader::none() };
    headers.push(SectionHeader { offset, size: strings.0.len() as u64, ..header });
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| !part.relocations.is_empty()) {
        let mut listed = Vec::new();
        for &(at, symbol, more) in &part.relocations {
            let words = [at, places[symbol] << 32 | processor.address(), more as u64];
            words.iter().for_each(|word| listed.extend_from_slice(&word.to_le_bytes()));
        }
        let offset = place(&mut bytes, 8, &listed);
        let name = names.add(&format!(".rela{}", part.name));
        let header = SectionHeader { name, kind: RELOCATIONS, ..SectionHeader::none() };
        let (size, info) = (listed.len() as u64, (BEFORE + number) as u32);
        headers.push(SectionHeader { offset, size, link: table as u32, info, align: 8, entry: 24, ..header });
    }
    let name = names.add(".shstrtab");
    let offset = place(&mut bytes, 1, &names.0);
    let header = SectionHeader { name, kind: STRING_TABLE, ..SectionHeader::none() };
    headers.push(SectionHeader { offset, size: names.0.len() as u64, ..header });
    let listed: Vec<u8> = headers.iter().flat_map(SectionHeader::written).collect();
    let offset = place(&mut bytes, 8, &listed);
    bytes[..HEADER as usize].copy_from_slice(&file_header((kind, processor), offset, headers.len() as u16));
    bytes
}

/// Puts bytes where they may lie; gives where.
fn place(bytes: &mut Vec<u8>, align: u64, more: &[u8]) -> u64 {
    bytes.resize(bytes.len().next_multiple_of(align as usize), 0);
    let offset = bytes.len() as u64;
    bytes.extend_from_slice(more);
    offset
}

/// The numbers of the symbols in the order of the table: those of this file alone come first.
fn ordered(symbols: &[ImageSymbol]) -> Vec<usize> {
    let of = |is_local| (0..symbols.len()).filter(move |&number| symbols[number].is_local == is_local);
    of(true).chain(of(false)).collect()
}

fn symbol_table(
    kind: ImageKind,
    parts: &[ImagePart],
    (symbols, order): (&[ImageSymbol], &[usize]),
    strings: &mut Strings,
) -> Vec<u8> {
    const FUNCTION: u8 = 2;
    const OBJECT: u8 = 1;
    const UNKNOWN: u8 = 0;
    let mut listed = vec![0; 24];
    for symbol in order.iter().map(|&number| &symbols[number]) {
        let what = match symbol.part {
            None => UNKNOWN,
            Some(_) if symbol.is_code => FUNCTION,
            Some(_) => OBJECT,
        };
        let base = match (kind, symbol.part) {
            (ImageKind::InMemory, Some(part)) => parts[part].address,
            _ => 0,
        };
        listed.extend_from_slice(&strings.add(&symbol.name).to_le_bytes());
        listed.push(u8::from(!symbol.is_local) << 4 | what);
        listed.push(0);
        let section = symbol.part.map_or(0, |part| (BEFORE + part) as u16);
        listed.extend_from_slice(&section.to_le_bytes());
        listed.extend_from_slice(&(base + symbol.offset).to_le_bytes());
        listed.extend_from_slice(&symbol.bytes.to_le_bytes());
    }
    listed
}

fn file_header((kind, processor): (ImageKind, ImageProcessor), sections: u64, count: u16) -> Vec<u8> {
    // 64 bits, the lowest byte first, version 1.
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    let kind: u16 = if kind == ImageKind::Relocatable { 1 } else { 2 };
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes.extend_from_slice(&processor.machine().to_le_bytes());
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    // No entry, and no headers of segments.
    [0, 0, sections].iter().for_each(|word: &u64| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes.extend_from_slice(&0_u32.to_le_bytes());
    for word in [HEADER as u16, 0, 0, SECTION as u16, count, count - 1] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

impl SectionHeader {
    fn none() -> SectionHeader {
        SectionHeader {
            name: 0,
            kind: 0,
            flags: 0,
            address: 0,
            offset: 0,
            size: 0,
            link: 0,
            info: 0,
            align: 0,
            entry: 0,
        }
    }

    fn written(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        [self.name, self.kind].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        for word in [self.flags, self.address, self.offset, self.size] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        [self.link, self.info].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        [self.align, self.entry].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes
    }
}

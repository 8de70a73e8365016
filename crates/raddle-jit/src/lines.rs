//! Owns: what debuggers want to know of code, by the format DWARF, version 4: its routines, and its lines.
//! May use: `raddle-bytecode`.
//! Never: variables: what of a frame is in memory changes at every instruction.
//!
//! The parts `.debug_info`, `.debug_abbrev` and `.debug_line`. Where an address is to be put stands 0, if the code has
//! none yet, and a note of the place.

use raddle_bytecode::Module;

/// The code of a routine, which lies in one piece: how far behind the beginning of all code.
#[derive(Clone, Debug)]
pub(crate) struct RoutineCode {
    /// The number of its function.
    pub(crate) number: usize,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    /// Of which instruction the code is from there on, in order.
    pub(crate) rows: Vec<(usize, u32)>,
}

/// A part, and where in it addresses of code are to be put: the place, and how far behind the beginning of all code.
#[derive(Clone, Debug, Default)]
pub(crate) struct DebugPart {
    pub(crate) bytes: Vec<u8>,
    pub(crate) addresses: Vec<(u64, u64)>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DebugParts {
    pub(crate) info: DebugPart,
    pub(crate) abbreviations: Vec<u8>,
    pub(crate) lines: DebugPart,
}

impl DebugPart {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn half(&mut self, half: u16) {
        self.bytes.extend_from_slice(&half.to_le_bytes());
    }

    pub(crate) fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    pub(crate) fn long(&mut self, long: u64) {
        self.bytes.extend_from_slice(&long.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend(text.bytes().filter(|&byte| byte != 0));
        self.byte(0);
    }

    /// A number of as many bytes as it takes, seven bits in each.
    fn unsigned(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    fn signed(&mut self, mut number: i64) {
        while !(-0x40..0x40).contains(&number) {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8 & 0x7f);
    }

    /// The address of code, all of which begins at `place`.
    pub(crate) fn address(&mut self, place: u64, offset: u64) {
        self.addresses.push((self.bytes.len() as u64, offset));
        self.long(place + offset);
    }

    /// Puts the number of bytes that follow into the four bytes there.
    fn measure(&mut self, at: usize) {
        let length = (self.bytes.len() - at - 4) as u32;
        self.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// Files by number from 1, as they are come to.
struct Files(Vec<u32>);

impl Files {
    fn add(&mut self, name: u32) {
        if !self.0.contains(&name) {
            self.0.push(name);
        }
    }

    fn number(&mut self, name: u32) -> u64 {
        self.add(name);
        self.0.iter().position(|&it| it == name).map_or(0, |at| at as u64 + 1)
    }
}

/// Of the routines of a program, whose code begins at `place` and has so many bytes.
pub(crate) fn describe(program: &Module, (place, bytes): (u64, u64), routines: &[RoutineCode]) -> DebugParts {
    let mut files = Files(Vec::new());
    for at in routines.iter().flat_map(|it| &it.rows).map(|row| row.1) {
        program.line_at(at).into_iter().for_each(|line| files.add(line.file));
    }
    let lines = line_table(program, place, routines, &mut files);
    let info = entries(program, (place, bytes), routines, &mut files);
    DebugParts { info, abbreviations: ABBREVIATIONS.to_vec(), lines }
}

// Tags, attributes, forms, as DWARF 4 numbers them (7.5).
const COMPILE_UNIT: u8 = 0x11;
const SUBPROGRAM: u8 = 0x2e;
const NAME: u8 = 0x03;
const STATEMENTS: u8 = 0x10;
const LOW: u8 = 0x11;
const HIGH: u8 = 0x12;
const LANGUAGE: u8 = 0x13;
const FOLDER: u8 = 0x1b;
const PRODUCER: u8 = 0x25;
const DECLARED_FILE: u8 = 0x3a;
const DECLARED_LINE: u8 = 0x3b;
const AS_ADDRESS: u8 = 0x01;
const AS_HALF: u8 = 0x05;
const AS_LONG: u8 = 0x07;
const AS_TEXT: u8 = 0x08;
const AS_NUMBER: u8 = 0x0f;
const AS_OFFSET: u8 = 0x17;

/// Abbreviation 1 is the unit, 2 a routine.
#[rustfmt::skip]
const ABBREVIATIONS: &[u8] = &[
    1, COMPILE_UNIT, 1,
    PRODUCER, AS_TEXT, LANGUAGE, AS_HALF, NAME, AS_TEXT, FOLDER, AS_TEXT, LOW, AS_ADDRESS, HIGH, AS_LONG,
    STATEMENTS, AS_OFFSET, 0, 0,
    2, SUBPROGRAM, 0,
    NAME, AS_TEXT, LOW, AS_ADDRESS, HIGH, AS_LONG, DECLARED_FILE, AS_NUMBER, DECLARED_LINE, AS_NUMBER, 0, 0,
    0,
];

/// There is no number for occam; names are looked up as in C.
const C99: u16 = 0x0c;

fn entries(
    program: &Module,
    (place, bytes): (u64, u64),
    routines: &[RoutineCode],
    files: &mut Files,
) -> DebugPart {
    let mut info = DebugPart::default();
    info.word(0);
    info.half(4);
    info.word(0);
    info.byte(size_of::<u64>() as u8);
    info.unsigned(1);
    info.text("raddle");
    info.half(C99);
    info.text(files.0.first().map_or("?", |&name| program.string(name)));
    info.text(&std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default());
    info.address(place, 0);
    info.long(bytes);
    info.word(0);
    for routine in routines {
        let function = &program.functions[routine.number];
        info.unsigned(2);
        info.text(program.string(function.name));
        info.address(place, routine.offset as u64);
        info.long(routine.bytes as u64);
        let line = program.line_at(function.first).unwrap_or_default();
        info.unsigned(if line.line == 0 { 0 } else { files.number(line.file) });
        info.unsigned(u64::from(line.line));
    }
    info.byte(0);
    info.measure(0);
    info
}

fn line_table(program: &Module, place: u64, routines: &[RoutineCode], files: &mut Files) -> DebugPart {
    for routine in routines {
        let line = program.line_at(program.functions[routine.number].first);
        line.into_iter().for_each(|line| files.add(line.file));
    }
    let mut table = DebugPart::default();
    table.word(0);
    table.half(4);
    let header = table.bytes.len();
    table.word(0);
    // Each instruction by itself, each row a statement; no row is written by an opcode of its own.
    [1, 1, 1, 0xfb, 14, OPCODE_BASE].iter().for_each(|&byte| table.byte(byte));
    [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1].iter().for_each(|&count| table.byte(count));
    table.byte(0);
    for &name in &files.0 {
        table.text(program.string(name));
        [0, 0, 0].iter().for_each(|&byte| table.byte(byte));
    }
    table.byte(0);
    table.measure(header);
    for routine in routines {
        sequence(&mut table, program, (place, routine), files);
    }
    table.measure(0);
    table
}

// Opcodes (6.2.5).
const OPCODE_BASE: u8 = 13;
const COPY: u8 = 1;
const ADVANCE_PLACE: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const SET_FILE: u8 = 4;
const SET_COLUMN: u8 = 5;
const EXTENDED: u8 = 0;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

/// The rows of one routine.
fn sequence(
    table: &mut DebugPart,
    program: &Module,
    (place, routine): (u64, &RoutineCode),
    files: &mut Files,
) {
    [EXTENDED, 9, SET_ADDRESS].iter().for_each(|&byte| table.byte(byte));
    table.address(place, routine.offset as u64);
    let (mut before, mut line, mut at) = (None, 1, routine.offset);
    let first = (routine.offset, program.functions[routine.number].first);
    for (offset, instruction) in std::iter::once(first).chain(routine.rows.iter().copied()) {
        let Some(found) = program.line_at(instruction) else { continue };
        let this = (found.file, found.line, found.column);
        if before == Some(this) {
            continue;
        }
        before = Some(this);
        table.byte(SET_FILE);
        table.unsigned(files.number(found.file));
        table.byte(SET_COLUMN);
        table.unsigned(u64::from(found.column));
        table.byte(ADVANCE_LINE);
        table.signed(i64::from(found.line) - line);
        table.byte(ADVANCE_PLACE);
        table.unsigned((offset - at) as u64);
        table.byte(COPY);
        (line, at) = (i64::from(found.line), offset);
    }
    table.byte(ADVANCE_PLACE);
    table.unsigned((routine.offset + routine.bytes - at) as u64);
    [EXTENDED, 1, END_SEQUENCE].iter().for_each(|&byte| table.byte(byte));
}

#[test]
fn numbers_have_as_many_bytes_as_they_take() {
    // The examples of DWARF 4, 7.6.
    let mut part = DebugPart::default();
    [2, 127, 128, 129, 12857].iter().for_each(|&number| part.unsigned(number));
    assert_eq!(part.bytes, [2, 127, 0x80, 1, 0x81, 1, 0xb9, 0x64]);
    let mut part = DebugPart::default();
    [2, -2, 127, -127, 128, -128].iter().for_each(|&number| part.signed(number));
    assert_eq!(part.bytes, [2, 0x7e, 0xff, 0, 0x81, 0x7f, 0x80, 1, 0x80, 0x7f]);
}

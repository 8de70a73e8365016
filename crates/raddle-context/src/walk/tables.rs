//! Owns: `Tables`, the unwind tables of the program and its libraries, and the row for an address.
//! May use: `libc`.
//! Never: a byte outside the loaded segment that holds the tables.
//!
//! `.eh_frame_hdr` is a sorted list of functions, which all linkers write in the same form; only that is read here. It
//! leads to a function's entry in `.eh_frame`, and that to a part that several functions share (Linux Standard Base,
//! Core, 10.6; DWARF 5, 6.4).
//!
//! It uses the loader's list of what is loaded.

use super::rows::{Bytes, Row, UnwindProgram};
use core::ffi::{c_int, c_void};
use core::fmt;
use core::ops::Range;

/// The unwind tables of the loaded objects. Making them allocates and takes a lock of the loader; look-ups do not.
pub struct Tables(Vec<LoadedCode>);

/// A piece of code, and the segment with its tables.
struct LoadedCode {
    code: Range<usize>,
    /// Where the sorted list begins, in `segment`.
    list: usize,
    base: usize,
    segment: &'static [u8],
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|module| &module.code)).finish()
    }
}

impl Tables {
    /// The tables of everything that is loaded now.
    pub fn of_program() -> Tables {
        let mut modules: Vec<LoadedCode> = Vec::new();
        // SAFETY: `add` gets the address of the list, and does not keep it.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut modules).cast()) };
        Tables(modules)
    }

    /// The row for the instruction at `address`.
    pub(super) fn row(&self, address: usize) -> Option<Row> {
        self.0.iter().find(|module| module.code.contains(&address))?.row(address)
    }
}

/// Called for each loaded file.
unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _size: usize, modules: *mut c_void) -> c_int {
    // SAFETY: what `of_program` has given.
    let modules = unsafe { &mut *modules.cast::<Vec<LoadedCode>>() };
    // SAFETY: the loader's own description, which stays during the call.
    let info = unsafe { &*info };
    // SAFETY: as above: so many headers are there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let place = |header: &libc::Elf64_Phdr| {
        let begin = (info.dlpi_addr + header.p_vaddr) as usize;
        begin..begin + header.p_filesz as usize
    };
    let loaded = |flag: u32| {
        headers.iter().filter(move |header| header.p_type == libc::PT_LOAD && header.p_flags & flag != 0)
    };
    let Some(list) = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(place) else {
        return 0;
    };
    let Some(segment) = loaded(libc::PF_R).map(place).find(|segment| segment.contains(&list.start)) else {
        return 0;
    };
    let begin = std::ptr::with_exposed_provenance(segment.start);
    // SAFETY: a loaded segment that may be read; whoever looks into it vouches that it still is loaded.
    let bytes = unsafe { std::slice::from_raw_parts(begin, segment.len()) };
    let list = list.start - segment.start;
    modules.extend(loaded(libc::PF_X).map(|header| LoadedCode {
        code: place(header),
        list,
        base: segment.start,
        segment: bytes,
    }));
    0
}

/// The shared part of several functions' unwind information.
struct Common<'a> {
    program: Bytes<'a>,
    code_unit: usize,
    data_unit: isize,
    return_register: usize,
    /// The encoding of addresses.
    encoding: u8,
    is_augmented: bool,
}

/// Four signed bytes, from where they stand: as all linkers of today write it.
const RELATIVE: u8 = 0x1b;
/// Four signed bytes, from the begin of the list.
const FROM_LIST: u8 = 0x3b;
const FOUR_BYTES: u8 = 0x03;

impl LoadedCode {
    fn row(&self, address: usize) -> Option<Row> {
        let at = self.description_of(address)?;
        let mut bytes = self.entry(at)?;
        let shared_field = bytes.at;
        let shared = self.common(shared_field.checked_sub(bytes.unsigned(4)?)?)?;
        let (begin, len) = match shared.encoding {
            RELATIVE => {
                let place = self.base + bytes.at;
                (place.checked_add_signed(bytes.signed(4)?)?, bytes.unsigned(4)?)
            }
            // As they are: in tables that were made at run time.
            0 => (bytes.unsigned(8)?, bytes.unsigned(8)?),
            _ => return None,
        };
        if !(begin..begin.checked_add(len)?).contains(&address) {
            return None;
        }
        if shared.is_augmented {
            let skipped = bytes.uleb()?;
            bytes.skip(skipped)?;
        }
        let (code_unit, data_unit) = (shared.code_unit, shared.data_unit);
        let program = UnwindProgram { code_unit, data_unit, return_register: shared.return_register };
        program.row(shared.program, bytes, address - begin)
    }

    /// The address of the unwind information of the last function that begins at or before `address`.
    fn description_of(&self, address: usize) -> Option<usize> {
        let mut head = Bytes { all: self.segment, at: self.list, end: self.segment.len() };
        let forms = [head.byte()?, head.byte()?, head.byte()?, head.byte()?];
        if forms != [1, RELATIVE, FOUR_BYTES, FROM_LIST] {
            return None;
        }
        head.skip(4)?;
        let count = head.unsigned(4)?;
        let (first, list) = (head.at, self.base + self.list);
        let word = |index: usize, which: usize| {
            let at = first.checked_add(index.checked_mul(8)?)?.checked_add(4 * which)?;
            let mut bytes = Bytes { at, ..head };
            list.checked_add_signed(bytes.signed(4)?)
        };
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if word(middle, 0)? <= address { low = middle + 1 } else { high = middle }
        }
        word(low.checked_sub(1)?, 1)?.checked_sub(self.base)
    }

    /// The entry of `.eh_frame` at this address, without its length.
    fn entry(&self, at: usize) -> Option<Bytes<'static>> {
        let mut bytes = Bytes { all: self.segment, at, end: self.segment.len() };
        let len = bytes.unsigned(4)?;
        let end = bytes.at.checked_add(len)?;
        (len != 0xffff_ffff && end <= bytes.end).then_some(Bytes { end, ..bytes })
    }

    fn common(&self, at: usize) -> Option<Common<'static>> {
        let mut bytes = self.entry(at)?;
        if bytes.unsigned(4)? != 0 {
            return None;
        }
        let version = bytes.byte()?;
        let text = bytes.text()?;
        let (code_unit, data_unit) = (bytes.uleb()?, bytes.sleb()?);
        let return_register = if version == 1 { usize::from(bytes.byte()?) } else { bytes.uleb()? };
        let is_augmented = text.first() == Some(&b'z');
        let mut encoding = 0;
        if is_augmented {
            let len = bytes.uleb()?;
            let mut data = Bytes { end: bytes.at.checked_add(len)?, ..bytes };
            bytes.skip(len)?;
            for letter in &text[1..] {
                match letter {
                    b'R' => encoding = data.byte()?,
                    b'L' => data.skip(1)?,
                    b'P' => {
                        // On aarch64 it is eight bytes even where it is relative.
                        let bytes = match data.byte()? & 0x0f {
                            0x00 | 0x04 | 0x0c => 8,
                            0x03 | 0x0b => 4,
                            0x02 | 0x0a => 2,
                            _ => return None,
                        };
                        data.skip(bytes)?;
                    }
                    b'S' | b'B' | b'G' => {}
                    _ => return None,
                }
            }
        } else if !text.is_empty() {
            return None;
        }
        Some(Common { program: bytes, code_unit, data_unit, return_register, encoding, is_augmented })
    }
}

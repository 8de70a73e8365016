//! Owns: `ElfFile`: a program's or a library's file, mapped, and where its sections lie in it.
//! May use: `bytes`, `libc`.
//! Never: a byte copied; a file of a program may have hundreds of megabytes, of which little is looked at.
//!
//! A file that is cut short while it is mapped ends the program, as it does where the standard library prints a
//! backtrace; what links programs writes new files.

use crate::bytes::{Unread, part};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr::NonNull;

/// The bytes of a file, as they are there.
struct Mapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: memory of its own, which nobody writes.
unsafe impl Send for Mapping {}

impl Mapping {
    fn of(file: &File) -> Option<Mapping> {
        let len = usize::try_from(file.metadata().ok()?.len()).ok().filter(|len| *len > 0)?;
        let (rights, kind) = (libc::PROT_READ, libc::MAP_PRIVATE);
        // SAFETY: a mapping at a place that the kernel chooses; it outlives the descriptor.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, kind, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        Some(Mapping { at: NonNull::new(at)?.cast(), len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for reading, so many bytes, until it is dropped.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody has its bytes any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

/// Where a section lies in the file, and what its header says.
struct Section {
    name: u64,
    kind: u64,
    flags: u64,
    begin: usize,
    len: usize,
    /// The section of its names.
    link: u64,
}

/// A 64-bit ELF file.
pub(crate) struct ElfFile {
    mapping: Mapping,
    sections: Vec<Section>,
    names: usize,
    /// Its addresses are those in memory.
    pub(crate) is_fixed: bool,
}

impl ElfFile {
    /// `None` for a file that cannot be read or is none.
    pub(crate) fn open(path: &Path) -> Option<ElfFile> {
        const FIXED_ADDRESS: u64 = 2;
        let mapping = Mapping::of(&File::open(path).ok()?)?;
        let all = mapping.bytes();
        if !all.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let is_fixed = Unread::at(all, 16).number(2)? == FIXED_ADDRESS;
        let table = Unread::at(all, 0x28).number(8)?;
        let mut sizes = Unread::at(all, 0x3a);
        let (each, count, names) = (sizes.number(2)?, sizes.number(2)?, sizes.number(2)?);
        let headers = (0..count).map(|index| usize::try_from(table.checked_add(index * each)?).ok());
        let sections = headers.map(|at| section(all, at?)).collect::<Option<Vec<_>>>()?;
        Some(ElfFile { mapping, sections, names: usize::try_from(names).ok()?, is_fixed })
    }

    fn contents(&self, section: &Section) -> &[u8] {
        part(self.mapping.bytes(), section.begin, section.len).unwrap_or_default()
    }

    /// The section of this name; empty if there is none, or if it is compressed.
    pub(crate) fn section(&self, name: &[u8]) -> &[u8] {
        const COMPRESSED: u64 = 0x800;
        let names = self.sections.get(self.names).map(|names| self.contents(names)).unwrap_or_default();
        let has_name = |section: &&Section| Unread::at(names, section.name as usize).text() == Some(name);
        let found = self.sections.iter().find(has_name).filter(|section| section.flags & COMPRESSED == 0);
        found.map(|section| self.contents(section)).unwrap_or_default()
    }

    /// The table of symbols, and their names.
    pub(crate) fn symbols(&self) -> Option<(&[u8], &[u8])> {
        const SYMBOL_TABLE: u64 = 2;
        let table = self.sections.iter().find(|section| section.kind == SYMBOL_TABLE)?;
        let names = self.sections.get(usize::try_from(table.link).ok()?)?;
        Some((self.contents(table), self.contents(names)))
    }
}

/// The section whose header is at this place.
fn section(all: &[u8], at: usize) -> Option<Section> {
    let mut header = Unread::at(all, at);
    let (name, kind, flags) = (header.number(4)?, header.number(4)?, header.number(8)?);
    header.skip(8)?;
    let (begin, len, link) = (header.number(8)?, header.number(8)?, header.number(4)?);
    // One without bytes in the file may have any place.
    Some(Section { name, kind, flags, begin: begin as usize, len: len as usize, link })
}

//! Owns: the names of functions by addresses, from the symbol tables of the program and its libraries.
//! May use: `dladdr`, files, `rustc-demangle`.
//! Never: debug information; a name and a distance are enough to find a loop. `addr2line` knows the line.

use std::ffi::{CStr, OsStr};
use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// A module's file, and where it lies in memory.
#[derive(PartialEq, Eq)]
struct Module {
    file: PathBuf,
    base: usize,
}

impl Module {
    /// The module that an address lies in.
    fn of(address: usize) -> Option<Module> {
        // SAFETY: all zeroes is a value of this struct.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: any address may be asked for; it writes the answer.
        let found = unsafe { libc::dladdr(std::ptr::without_provenance(address), &raw mut info) };
        if found == 0 || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the name of a loaded file, which stays loaded.
        let name = unsafe { CStr::from_ptr(info.dli_fname) };
        let file = Path::new(OsStr::from_bytes(name.to_bytes()));
        // The program itself may go by the name that it was called by.
        let file = if file.is_file() { file.to_owned() } else { PathBuf::from("/proc/self/exe") };
        Some(Module { file, base: info.dli_fbase.addr() })
    }

    /// `function + 0x12`, or the file's name and the distance from its begin.
    fn name(&self, table: Option<&Table>, address: usize) -> String {
        let offset = address - self.base;
        let named = table.and_then(|table| table.name_at(if table.is_fixed { address } else { offset }));
        named.unwrap_or_else(|| format!("{} + {offset:#x}", self.file.display()))
    }
}

/// The symbols of a 64-bit ELF file.
struct Table {
    is_fixed: bool,
    symbols: Vec<u8>,
    names: Vec<u8>,
}

fn word(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(len)?)?;
    Some(part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

impl Table {
    /// Reads the section `.symtab` and its names, and no more of the file: it may have hundreds of megabytes.
    fn read(file: &Path) -> Option<Table> {
        const FIXED_ADDRESS: u64 = 2;
        const SYMBOL_TABLE: u64 = 2;
        let file = File::open(file).ok()?;
        let part = |at: u64, len: u64| -> Option<Vec<u8>> {
            let size = file.metadata().ok()?.len();
            let mut bytes = vec![0; usize::try_from(len.min(size)).ok()?];
            file.read_exact_at(&mut bytes, at).ok()?;
            Some(bytes)
        };
        let head = part(0, 64)?;
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (begin, size) = (word(&head, 0x28, 8)?, word(&head, 0x3a, 2)?);
        let sections = part(begin, size * word(&head, 0x3c, 2)?)?;
        let section = |at: usize| part(word(&sections, at + 24, 8)?, word(&sections, at + 32, 8)?);
        let each = (0..sections.len()).step_by(usize::try_from(size).ok()?.max(1));
        let table = each.clone().find(|at| word(&sections, at + 4, 4) == Some(SYMBOL_TABLE))?;
        let names = usize::try_from(word(&sections, table + 40, 4)? * size).ok()?;
        let is_fixed = word(&head, 16, 2)? == FIXED_ADDRESS;
        Some(Table { is_fixed, symbols: section(table)?, names: section(names)? })
    }

    fn name_at(&self, wanted: usize) -> Option<String> {
        let wanted = wanted as u64;
        self.symbols.chunks_exact(24).find_map(|symbol| {
            let (value, len) = (word(symbol, 8, 8)?, word(symbol, 16, 8)?);
            if wanted.checked_sub(value)? >= len {
                return None;
            }
            let name = self.names.get(word(symbol, 0, 4)? as usize..)?.split(|byte| *byte == 0).next()?;
            Some(format!("{} + {:#x}", plain(&String::from_utf8_lossy(name)), wanted - value))
        })
    }
}

/// The names of the functions that these addresses lie in.
fn names(addresses: impl Iterator<Item = usize>) -> Vec<String> {
    let mut read: Vec<(Module, Option<Table>)> = Vec::new();
    let name = |address: usize| {
        let module = Module::of(address)?;
        let at = read.iter().position(|(known, _)| *known == module).unwrap_or_else(|| {
            let table = Table::read(&module.file);
            read.push((module, table));
            read.len() - 1
        });
        let (module, table) = &read[at];
        Some(module.name(table.as_ref(), address))
    };
    addresses.filter_map(name).collect()
}

/// A symbol as its programmer knows it, without the compiler's hash.
fn plain(mangled: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(mangled))
}

/// A line for each of these return addresses, from the first that is not ours on.
pub(super) fn lines(addresses: &[usize]) -> String {
    // A return address may be the begin of the next function.
    let names = names(addresses.iter().map(|address| address.saturating_sub(1)));
    // The handler, and what the kernel returns to after it.
    let handler = names.iter().rposition(|name| name.contains("hang::stop")).map_or(0, |at| at + 2);
    let is_base = |name: &String| name.starts_with("<core::panic::unwind_safe::AssertUnwindSafe");
    let mut text = String::new();
    for name in names.iter().skip(handler).take_while(|name| !is_base(name)).take(12) {
        let _infallible = writeln!(text, "    in {name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_in_the_source() {
        let mangled = "_ZN4demo3fmt17h1a87c3d2a856cee1E";
        assert_eq!(plain(mangled), "demo::fmt");
        let closure = "_ZN4demo4main28_$u7b$$u7b$closure$u7d$$u7d$17h23a3c466ec4ca3d9E";
        assert_eq!(plain(closure), "demo::main::{{closure}}");
        assert_eq!(plain("_RNvCs123_4demo3fmt"), "demo::fmt");
        assert_eq!(plain("memcpy"), "memcpy");
    }

    #[test]
    fn a_function_of_this_program_is_found() {
        let here = a_function_of_this_program_is_found as fn() as usize + 1;
        let found = names([here, 1].into_iter());
        assert!(found[0].contains("symbol::tests::a_function_of_this_program_is_found"), "{found:?}");
        assert_eq!(found.len(), 1, "no module is at 1");
    }
}

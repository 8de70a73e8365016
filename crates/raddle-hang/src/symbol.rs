//! Owns: the names of functions by addresses, from the symbol tables of the program and its libraries.
//! May use: `libc`, `raddle-core`, `rustc-demangle`.
//! Never: a file read twice for one address; debug information: a name and a distance are enough to find a loop.

use raddle_core::message::OWN_CRATES;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A module's file, and where it lies in memory.
#[derive(PartialEq, Eq)]
struct ObjectFile {
    file: PathBuf,
    base: usize,
}

impl ObjectFile {
    /// The module that an address lies in.
    fn of(address: usize) -> Option<ObjectFile> {
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
        Some(ObjectFile { file, base: info.dli_fbase.addr() })
    }

    /// `function + 0x12`, or the file's name and the distance from its begin.
    fn name(&self, table: Option<&SymbolTable>, address: usize) -> String {
        let offset = address - self.base;
        let named = table.and_then(|table| table.name_at(if table.is_fixed { address } else { offset }));
        named.unwrap_or_else(|| format!("{} + {offset:#x}", self.file.display()))
    }
}

/// The symbols of a 64-bit ELF file.
struct SymbolTable {
    is_fixed: bool,
    /// Where each begins, and its entry in the table; sorted.
    order: Vec<(u64, usize)>,
    symbols: Vec<u8>,
    names: Vec<u8>,
}

/// The bytes of an entry.
const SYMBOL_BYTES: usize = 24;

fn word(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(len)?)?;
    Some(part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

impl SymbolTable {
    /// Reads the section `.symtab` and its names, and no more of the file: it may have hundreds of megabytes.
    fn read(file: &Path) -> Option<SymbolTable> {
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
        let (symbols, names) = (section(table)?, section(names)?);
        let begin = |at: usize| Some((word(&symbols, at + 8, 8)?, at));
        // Those without a length mark places, and are no functions.
        let has_length = |at: &usize| word(&symbols, at + 16, 8).is_some_and(|len| len > 0);
        let each = (0..symbols.len()).step_by(SYMBOL_BYTES).filter(has_length);
        let mut order: Vec<_> = each.filter_map(begin).collect();
        order.sort_unstable();
        Some(SymbolTable { is_fixed, order, symbols, names })
    }

    fn name_at(&self, wanted: usize) -> Option<String> {
        let wanted = wanted as u64;
        let after = self.order.partition_point(|(begin, _)| *begin <= wanted);
        // Several may begin at one place, of which the last may be empty of names.
        let (begin, at) = *self.order[..after].last()?;
        if wanted - begin >= word(&self.symbols, at + 16, 8)? {
            return None;
        }
        let name = self.names.get(word(&self.symbols, at, 4)? as usize..)?.split(|byte| *byte == 0).next()?;
        Some(format!("{} + {:#x}", plain(&String::from_utf8_lossy(name)), wanted - begin))
    }
}

/// What has been read and found: a program that hangs is asked more than once.
#[derive(Default)]
struct Known {
    /// How many libraries had been unloaded by then: another may be loaded in the place of one.
    unloaded: u64,
    names: HashMap<usize, Option<String>>,
    tables: Vec<(ObjectFile, Option<SymbolTable>)>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// So many names are kept.
const NAMES_MAX: usize = 20_000;

impl Known {
    fn name(&mut self, address: usize) -> Option<String> {
        if let Some(name) = self.names.get(&address) {
            return name.clone();
        }
        let name = self.find(address);
        self.names.insert(address, name.clone());
        name
    }

    fn find(&mut self, address: usize) -> Option<String> {
        let module = ObjectFile::of(address)?;
        let at = self.tables.iter().position(|(known, _)| *known == module).unwrap_or_else(|| {
            let table = SymbolTable::read(&module.file);
            self.tables.push((module, table));
            self.tables.len() - 1
        });
        let (module, table) = &self.tables[at];
        Some(module.name(table.as_ref(), address))
    }
}

/// How many libraries have been unloaded.
fn unloaded() -> u64 {
    /// Called for the first loaded file only.
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: the loader's own description.
        let subs = unsafe { (*info).dlpi_subs };
        // SAFETY: what `unloaded` has given.
        unsafe { count.cast::<u64>().write(subs) };
        1
    }
    let mut count = 0_u64;
    // SAFETY: `note` gets the address of the count, and does not keep it.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut count).cast()) };
    count
}

/// The functions that the calls before these return addresses are in, each with the distance from its begin.
pub(crate) fn functions(addresses: &[usize]) -> Vec<String> {
    if addresses.is_empty() {
        return Vec::new();
    }
    let mut fresh = None;
    // Somebody else may have it, in a parent that has forked even for ever.
    let mut guard = KNOWN.try_lock().ok();
    let known = guard.as_deref_mut().unwrap_or(&mut fresh).get_or_insert_default();
    let unloaded = unloaded();
    if known.unloaded != unloaded || known.names.len() > NAMES_MAX {
        *known = Known { unloaded, ..Known::default() };
    }
    // A return address may be the begin of the next function.
    addresses.iter().filter_map(|address| known.name(address.saturating_sub(1))).collect()
}

/// Of these functions those of the program: from the first that is not ours on, up to the process's own.
pub(crate) fn of_program(functions: Vec<String>) -> Vec<String> {
    let begins = |name: &String, with: &[&str]| {
        with.iter().any(|with| name.trim_start_matches(['<', '&']).starts_with(with))
    };
    let is_ours = |name: &String| begins(name, OWN_CRATES);
    let is_between = |name: &String| begins(name, &["core::", "std::", "alloc::", "__"]);
    // Of what has no symbol only the file is known: assembly, a jump to a library.
    let is_nameless = |name: &String| name.contains('/') && !name.contains("::");
    let is_base = |name: &String| {
        begins(name, &["core::panic::unwind_safe::", "std::panicking::", "std::panic::", "__rust_try"])
    };
    let is_named = |name: &String| !is_ours(name) && !is_between(name) && !is_nameless(name);
    let has_names = functions.iter().take_while(|name| !is_base(name)).any(is_named);
    let is_before = |name: &String| is_ours(name) || is_between(name) || (has_names && is_nameless(name));
    let own = functions.into_iter().skip_while(is_before);
    own.take_while(|name| !is_base(name)).filter(|name| !is_ours(name)).collect()
}

/// Whether what stands still in these functions was called by one of ours, and not by the program's own: the first that
/// belongs to no library of Rust's or of C's says so.
pub(crate) fn are_within_ours(addresses: &[usize]) -> bool {
    let is_path = |name: &&String| name.contains("::");
    let functions = functions(addresses);
    let mut named = functions.iter().filter(is_path).map(|name| name.trim_start_matches(['<', '&']));
    let is_library = |name: &&str| ["core::", "std::", "alloc::"].iter().any(|with| name.starts_with(with));
    // The program's function may be compiled into the first frame of its process.
    let is_base = |name: &str| name.starts_with("raddle_core::process::entry::");
    named
        .find(|name| !is_library(name))
        .is_some_and(|name| OWN_CRATES.iter().any(|own| name.starts_with(own)) && !is_base(name))
}

/// A symbol as its programmer knows it, without the compiler's hash.
fn plain(mangled: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(mangled))
}

/// A line for each of the program's functions among those with these return addresses.
pub(crate) fn lines(addresses: &[usize]) -> String {
    let functions = of_program(functions(addresses));
    functions.iter().take(12).map(|name| format!("    in {name}\n")).collect()
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
    fn what_a_report_shows_is_the_programs() {
        let functions = [
            "raddle_core::worker::leave::<impl raddle_core::worker::Worker>::leave + 0x1",
            "<raddle_sync::sync::mutex::RawMutex as X>::lock + 0x2",
            "demo::second + 0x3",
            "core::ops::function::FnOnce::call_once + 0x4",
            "demo::first + 0x5",
            "<core::panic::unwind_safe::AssertUnwindSafe<F> as Y>::call_once + 0x6",
            "demo::never + 0x7",
        ];
        let told = of_program(functions.map(str::to_owned).to_vec());
        assert_eq!(told, &functions[2..5]);
    }

    /// A stay in the C library, below a lock of `std`.
    #[test]
    fn a_library_is_not_the_programs() {
        let functions =
            ["/lib/x86_64-linux-gnu/libc.so.6 + 0x1", "std::sync::Mutex<T>::lock + 0x2", "demo::lock + 0x3"];
        assert_eq!(of_program(functions.map(str::to_owned).to_vec()), &functions[2..]);
        // A program without symbols has nothing else.
        let functions = ["raddle_core::x + 0x1", "/bin/demo + 0x2", "/bin/demo + 0x3"];
        assert_eq!(of_program(functions.map(str::to_owned).to_vec()), &functions[1..]);
    }

    #[test]
    fn what_it_has_called_is_not() {
        let functions = [
            "/lib/x86_64-linux-gnu/libc.so.6 + 0x101826",
            "<std::thread::thread::Thread>::park + 0xa5",
            "/usr/lib/libother.so + 0x1",
            "std::sync::mpsc::Receiver<T>::recv + 0x9",
            "demo::first + 0x5",
            "/usr/lib/libother.so + 0x2",
            "demo::second + 0x5",
        ];
        let told = of_program(functions.map(str::to_owned).to_vec());
        assert_eq!(told, &functions[4..]);
    }

    #[test]
    fn a_function_of_this_program_is_found() {
        let here = a_function_of_this_program_is_found as fn() as usize + 2;
        let found = functions(&[here, 2]);
        assert!(found[0].contains("symbol::tests::a_function_of_this_program_is_found"), "{found:?}");
        assert_eq!(found.len(), 1, "no module is at 1");
    }
}

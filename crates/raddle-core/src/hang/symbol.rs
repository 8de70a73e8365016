//! Owns: the names of functions by addresses, from the symbol tables of the program and its libraries.
//! May use: `dladdr`, files.
//! Never: debug information; a name and a distance are enough to find a loop. `addr2line` knows the line.

use std::ffi::CStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A module's file, and where it lies in memory.
struct Module {
    file: PathBuf,
    base: usize,
}

/// `module::function + 0x12`, or the file's name and the distance from its begin.
pub(super) fn name_of(address: usize) -> Option<String> {
    let module = module_of(address)?;
    let offset = address - module.base;
    let named = std::fs::read(&module.file).ok().and_then(|file| symbol_at(&file, address, module.base));
    Some(named.map_or_else(
        || format!("{} + {offset:#x}", module.file.display()),
        |(name, at)| format!("{name} + {at:#x}"),
    ))
}

fn module_of(address: usize) -> Option<Module> {
    // SAFETY: all zeroes is a value of this struct.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for; it writes the answer.
    let found = unsafe { libc::dladdr(std::ptr::without_provenance(address), &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name of a loaded file, which stays loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let file = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    // The program itself may go by the name that it was called by.
    let file = if file.is_file() { file.to_owned() } else { PathBuf::from("/proc/self/exe") };
    Some(Module { file, base: info.dli_fbase.addr() })
}

fn word(file: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let part = file.get(at..at.checked_add(bytes)?)?;
    Some(part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

/// Looks into the table `.symtab` of a 64-bit ELF file.
fn symbol_at(file: &[u8], address: usize, base: usize) -> Option<(String, usize)> {
    const FIXED_ADDRESS: u64 = 2;
    const SYMBOL_TABLE: u64 = 2;
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let wanted = if word(file, 16, 2)? == FIXED_ADDRESS { address } else { address - base };
    let (sections, size, count) = (word(file, 0x28, 8)?, word(file, 0x3a, 2)?, word(file, 0x3c, 2)?);
    let section = |index: u64| usize::try_from(sections + index * size).ok();
    let table = (0..count).filter_map(section).find(|at| word(file, at + 4, 4) == Some(SYMBOL_TABLE))?;
    let names = section(word(file, table + 40, 4)?)?;
    let names = usize::try_from(word(file, names + 24, 8)?).ok()?;
    let (begin, bytes) = (word(file, table + 24, 8)? as usize, word(file, table + 32, 8)? as usize);
    (begin..begin + bytes).step_by(24).find_map(|symbol| {
        let (value, len) = (word(file, symbol + 8, 8)? as usize, word(file, symbol + 16, 8)? as usize);
        let inside = (value..value + len).contains(&wanted);
        let name = names + word(file, symbol, 4)? as usize;
        let raw = file.get(name..)?.split(|byte| *byte == 0).next()?;
        inside.then(|| (plain(&String::from_utf8_lossy(raw)), wanted - value))
    })
}

/// A name as it stands in the source, if it was mangled in the old way of Rust.
fn plain(mangled: &str) -> String {
    let Some(mut rest) = mangled.strip_prefix("_ZN") else { return mangled.to_owned() };
    let mut parts = Vec::new();
    while let Some(len) = rest.find(|c: char| !c.is_ascii_digit()) {
        let Ok(bytes) = rest[..len].parse::<usize>() else { break };
        let Some(part) = rest.get(len..len + bytes) else { return mangled.to_owned() };
        parts.push(part);
        rest = &rest[len + bytes..];
    }
    if parts.last().is_some_and(|last| last.len() == 17 && last.starts_with('h')) {
        parts.pop();
    }
    let mut name = parts.join("::");
    for (code, text) in [("$LT$", "<"), ("$GT$", ">"), ("$u20$", " "), ("$u7b$", "{"), ("$u7d$", "}")] {
        name = name.replace(code, text);
    }
    for (code, text) in
        [("$RF$", "&"), ("$BP$", "*"), ("$C$", ","), ("$u27$", "'"), ("..", "::"), ("_<", "<")]
    {
        name = name.replace(code, text);
    }
    name
}

/// A line for each of these return addresses, from the first that is not ours on.
pub(super) fn lines(addresses: &[usize]) -> String {
    // A return address may be the begin of the next function.
    let names: Vec<String> =
        addresses.iter().filter_map(|address| name_of(address.saturating_sub(1))).collect();
    let is_handler = |name: &String| name.contains("hang::stop") || name.contains("__restore_rt");
    let first = names.iter().rposition(is_handler).map_or(0, |at| at + 1);
    let is_base = |name: &String| name.starts_with("raddle_core::process::entry");
    let mut text = String::new();
    for name in names[first..].iter().take_while(|name| !is_base(name)).take(12) {
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
        assert_eq!(plain(closure), "demo::main::_{{closure}}");
        assert_eq!(plain("memcpy"), "memcpy");
    }

    #[test]
    fn a_function_of_this_program_is_found() {
        let name = name_of(a_function_of_this_program_is_found as fn() as usize + 1);
        assert!(name.is_some_and(|name| name.contains("a_function_of_this_program_is_found")));
        assert_eq!(name_of(1), None);
        assert_eq!(symbol_at(b"\x7fELF\x02\x01", 1, 0), None);
    }
}

//! Owns: the names of functions by addresses, and their places in the source where there is debug information.
//! May use: `bytes`, `debug`, `elf`, `libc`, `raddle-core`, `rustc-demangle`.
//! Never: a file read twice for one address.
//!
//! A name and a distance come from the symbol tables of the program and its libraries: most libraries have no more.
//! Lines, and functions that were compiled into others, stand in debug information, which `debug` reads. The standard
//! library reads both for a backtrace, but gives no names for addresses of another OS thread.

use crate::bytes::Unread;
use crate::debug::{DebugInformation, SourceFunction};
use crate::elf::ElfFile;
use raddle_core::message::OWN_CRATES;
use raddle_core::os_thread;
use raddle_core::worker::current_header;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

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

    /// `demo + 0x12`: the file's name and the distance from its begin.
    fn place(&self, address: usize) -> String {
        format!("{} + {:#x}", self.file.display(), address - self.base)
    }
}

/// What has been read of a file.
struct Contents {
    file: ElfFile,
    /// Where each symbol begins, and its entry in the table; sorted.
    order: Vec<(u64, usize)>,
    /// Read when it is asked for.
    debug: Option<DebugInformation>,
}

/// The bytes of an entry.
const SYMBOL_BYTES: usize = 24;

impl Contents {
    fn read(path: &Path) -> Option<Contents> {
        let file = ElfFile::open(path)?;
        let symbols = file.symbols().map(|(symbols, _)| symbols).unwrap_or_default();
        let word = |at: usize| Unread::at(symbols, at).number(8);
        // Those without a length mark places, and are no functions.
        let has_length = |at: &usize| word(at + 16).is_some_and(|len| len > 0);
        let each = (0..symbols.len()).step_by(SYMBOL_BYTES).filter(has_length);
        let mut order: Vec<_> = each.filter_map(|at| Some((word(at + 8)?, at))).collect();
        order.sort_unstable();
        Some(Contents { file, order, debug: None })
    }

    /// An address as the file counts.
    fn address(&self, module: &ObjectFile, address: usize) -> u64 {
        (if self.file.is_fixed { address } else { address - module.base }) as u64
    }

    /// `function + 0x12`.
    fn name_at(&self, wanted: u64) -> Option<String> {
        let (symbols, names) = self.file.symbols()?;
        let after = self.order.partition_point(|(begin, _)| *begin <= wanted);
        // Several may begin at one place, of which the last may be empty of names.
        let (begin, at) = *self.order[..after].last()?;
        if wanted - begin >= Unread::at(symbols, at + 16).number(8)? {
            return None;
        }
        let name = usize::try_from(Unread::at(symbols, at).number(4)?).ok()?;
        let name = Unread::at(names, name).text()?;
        Some(format!("{} + {:#x}", plain(&String::from_utf8_lossy(name)), wanted - begin))
    }

    fn functions_at(&mut self, address: u64) -> Vec<SourceFunction> {
        let debug = self.debug.get_or_insert_with(|| DebugInformation::of(&self.file));
        debug.functions_at(&self.file, address)
    }
}

/// The file of a program or a library, and what it says of its functions.
///
/// ```
/// let own = raddle_hang::ProgramFile::open(&std::env::current_exe()?).expect("a program");
/// // The loader chooses a place for it, as for most programs.
/// assert!(!own.is_fixed());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ProgramFile(Contents);

impl ProgramFile {
    /// Reads it; `None` if that is no such file, or none of this machine's kind.
    pub fn open(path: &Path) -> Option<ProgramFile> {
        Contents::read(path).map(ProgramFile)
    }

    /// Whether it lies in memory where the file says, and not at a place of the loader's choice.
    pub fn is_fixed(&self) -> bool {
        self.0.file.is_fixed
    }

    /// The functions at an address as the file counts: the innermost of those that were compiled into another first.
    /// With lines, where there is debug information; nothing where there is no symbol either.
    pub fn functions_at(&mut self, address: u64) -> Vec<String> {
        let name = self.0.name_at(address).map(|name| Function { name, place: None }.without_distance().name);
        let mut inner = in_debug_information(self.0.functions_at(address));
        // The outermost has the symbol.
        let place = inner.pop().and_then(|(_, place)| place);
        let inner = inner.into_iter().filter_map(|(name, place)| Some(Function { name: name?, place }));
        let outermost = name.map(|name| Function { name, place });
        inner.chain(outermost).map(|function| function.to_string()).collect()
    }
}

/// A function that somebody is in: its own, or one that was compiled into that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// `demo::work + 0x12`; without a distance of one that was compiled into another.
    pub(crate) name: String,
    /// `src/main.rs:7:13`, if that is known.
    pub(crate) place: Option<String>,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.place.as_ref().map_or(Ok(()), |place| write!(f, " at {place}"))
    }
}

impl Function {
    /// Not only the file of its code: that is all there is of what has no symbol, as assembly or a jump to a library.
    pub(crate) fn has_name(&self) -> bool {
        !is_nameless(&self.name)
    }

    /// Without the distance from its begin.
    pub(crate) fn without_distance(self) -> Function {
        let name = self.name.rsplit_once(" + ").map_or(&self.name[..], |(name, _)| name).to_owned();
        Function { name, ..self }
    }
}

/// What has been read and found: a program that hangs is asked more than once.
#[derive(Default)]
struct Known {
    /// How many libraries had been loaded and unloaded by then: another may be loaded in the place of one.
    libraries: [u64; 2],
    functions: HashMap<usize, Vec<Function>>,
    modules: Vec<(ObjectFile, Option<Contents>)>,
    /// There is stack enough for it.
    reads_debug_information: bool,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// So many names are kept.
const NAMES_MAX: usize = 20_000;

impl Known {
    /// If all of them have been found before, and no library has come or gone since.
    fn all(&self, addresses: &[usize]) -> Option<Vec<Function>> {
        let found: Option<Vec<&Vec<Function>>> =
            addresses.iter().map(|address| self.functions.get(address)).collect();
        let found = found.filter(|_| self.libraries == libraries())?;
        Some(found.into_iter().flatten().cloned().collect())
    }

    fn functions(&mut self, address: usize) -> Vec<Function> {
        if let Some(functions) = self.functions.get(&address) {
            return functions.clone();
        }
        let functions = self.find(address);
        self.functions.insert(address, functions.clone());
        functions
    }

    /// The function that the call before this return address is in, and behind those that were compiled into it, as
    /// calls are.
    fn find(&mut self, address: usize) -> Vec<Function> {
        // A return address may be the begin of the next function.
        let address = address.saturating_sub(1);
        let Some(module) = ObjectFile::of(address) else { return Vec::new() };
        let place = module.place(address);
        let reads_debug_information = self.reads_debug_information;
        let Some((in_file, contents)) = self.contents(module, address) else {
            return vec![Function { name: place, place: None }];
        };
        let name = contents.name_at(in_file).unwrap_or(place);
        let mut inner = Vec::new();
        if reads_debug_information {
            inner = in_debug_information(contents.functions_at(in_file));
        }
        // The outermost has the symbol.
        let place = inner.pop().and_then(|(_, place)| place);
        let inner = inner.into_iter().filter_map(|(name, place)| Some(Function { name: name?, place }));
        inner.chain([Function { name, place }]).collect()
    }

    /// What is in the file of a module, and an address as that file counts.
    fn contents(&mut self, module: ObjectFile, address: usize) -> Option<(u64, &mut Contents)> {
        let at = self.modules.iter().position(|(known, _)| *known == module).unwrap_or_else(|| {
            let contents = Contents::read(&module.file);
            self.modules.push((module, contents));
            self.modules.len() - 1
        });
        let (module, contents) = &mut self.modules[at];
        contents.as_mut().map(|contents| (contents.address(module, address), contents))
    }
}

/// The names and places of functions, as they are told.
fn in_debug_information(functions: Vec<SourceFunction>) -> Vec<(Option<String>, Option<String>)> {
    let own = std::env::current_dir().ok();
    let told = functions.into_iter().map(|function| {
        let file = function.place.as_ref().map(|place| place.file.as_path());
        let place = function.place.as_ref().map(|place| {
            let column = if place.column > 0 { format!(":{}", place.column) } else { String::new() };
            format!("{}:{}{column}", short(&place.file, own.as_deref()).display(), place.line)
        });
        // Where there are only lines, a name is without its path: of a library's nobody would know whose it is.
        let name = function.name.map(|name| plain(&name));
        let is_whose = |name: &String| has_path(name) || !file.is_some_and(is_library);
        (name.filter(is_whose), place)
    });
    told.collect()
}

/// Whether a name says where the function belongs, as `{closure#0}<std::fs::File>` does not.
fn has_path(name: &str) -> bool {
    name.starts_with('<') || name.split('<').next().is_some_and(|own| own.contains("::"))
}

/// A file's path from where the program runs, or in the sources of Rust.
fn short<'f>(file: &'f Path, own: Option<&Path>) -> &'f Path {
    if let Ok(library) = file.strip_prefix("/rustc") {
        let mut parts = library.components();
        parts.next();
        return parts.as_path();
    }
    own.and_then(|own| file.strip_prefix(own).ok()).unwrap_or(file)
}

/// Whether a file belongs to the libraries of Rust, or to us.
fn is_library(file: &Path) -> bool {
    let parts: Vec<&str> = file.iter().filter_map(OsStr::to_str).collect();
    let is_own = |part: &str| {
        let own = |own: &&str| {
            let rest = part.strip_prefix(&own.trim_end_matches("::").replace('_', "-"));
            let is_version = |rest: &str| rest.strip_prefix('-')?.chars().next().map(|c| c.is_ascii_digit());
            rest.is_some_and(|rest| rest.is_empty() || is_version(rest) == Some(true))
        };
        OWN_CRATES.iter().any(own)
    };
    file.starts_with("/rustc") || parts.windows(2).any(|two| two[1] == "src" && is_own(two[0]))
}

/// How many libraries have been loaded, and unloaded.
fn libraries() -> [u64; 2] {
    /// Called for the first loaded file only.
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: the loader's own description.
        let info = unsafe { &*info };
        let counts = [info.dlpi_adds, info.dlpi_subs];
        // SAFETY: what `libraries` has given.
        unsafe { count.cast::<[u64; 2]>().write(counts) };
        1
    }
    let mut count = [0_u64; 2];
    // SAFETY: `note` gets the address of the count, and does not keep it.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut count).cast()) };
    count
}

/// `table + 0x8`, if an object of the program's, or of a library's, lies at this address.
pub(crate) fn object(address: usize) -> Option<String> {
    let mut guard = KNOWN.try_lock().ok()?;
    let known = guard.get_or_insert_default();
    let (in_file, contents) = known.contents(ObjectFile::of(address)?, address)?;
    let name = contents.name_at(in_file)?;
    Some(name.strip_suffix(" + 0x0").unwrap_or(&name).to_owned())
}

/// The functions that the calls before these return addresses are in.
///
/// To read debug information takes 38 KB of stack in an unoptimised build: so a process has it read elsewhere.
pub(crate) fn functions(addresses: &[usize]) -> Vec<Function> {
    let known = || KNOWN.try_lock().ok()?.as_ref()?.all(addresses);
    if addresses.is_empty() {
        return Vec::new();
    }
    if current_header().is_null() {
        return find(addresses, true);
    }
    known().unwrap_or_else(|| {
        let (given, found) = (addresses.to_vec(), Arc::new(OnceLock::new()));
        let to = found.clone();
        let reads = move || drop(to.set(find(&given, true)));
        if let Ok(reader) = os_thread::begin("raddle-names".to_owned(), Box::new(reads)) {
            // It has printed why it panics, if it does.
            let _panicked = reader.join();
        }
        Arc::into_inner(found).and_then(OnceLock::into_inner).unwrap_or_else(|| find(addresses, false))
    })
}

/// The function that the call before a return address is in, with its distance, and the place in the source, as far as
/// they are known. Reads files: not in a signal handler.
///
/// ```
/// fn called() {}
/// let (name, _) = raddle_hang::function_before(called as fn() as usize + 1).expect("this program has symbols");
/// assert!(name.contains("called"), "{name}");
/// ```
pub fn function_before(return_address: usize) -> Option<(String, Option<String>)> {
    let mut found = functions(&[return_address]);
    let outermost = found.pop()?;
    // The place of the call itself is that of the innermost.
    let place = found.into_iter().next().map_or(outermost.place, |inner| inner.place);
    Some((outermost.name, place))
}

fn find(addresses: &[usize], with_debug_information: bool) -> Vec<Function> {
    let mut fresh = None;
    // Somebody else may have it, in a parent that has forked even for ever.
    let mut guard = if with_debug_information { KNOWN.try_lock().ok() } else { None };
    let known = guard.as_deref_mut().unwrap_or(&mut fresh).get_or_insert_default();
    let libraries = libraries();
    if known.libraries != libraries || known.functions.len() > NAMES_MAX {
        *known = Known { libraries, reads_debug_information: with_debug_information, ..Known::default() };
    }
    addresses.iter().flat_map(|address| known.functions(*address)).collect()
}

/// See [`Function::has_name`].
fn is_nameless(name: &str) -> bool {
    name.contains('/') && !name.contains("::")
}

/// Of these functions those of the program: from the first that is not ours on, up to the process's own.
pub(crate) fn of_program(functions: Vec<Function>) -> Vec<Function> {
    let begins = |name: &str, with: &[&str]| {
        with.iter().any(|with| name.trim_start_matches(['<', '&']).starts_with(with))
    };
    let is_ours = |name: &str| begins(name, OWN_CRATES);
    let is_between = |name: &str| begins(name, &["core::", "std::", "alloc::", "__"]) || is_built_in(name);
    let is_base = |name: &str| {
        begins(name, &["core::panic::unwind_safe::", "std::panicking::", "std::panic::", "__rust_try"])
    };
    let is_named = |name: &str| !is_ours(name) && !is_between(name) && !is_nameless(name);
    let has_names = functions.iter().map(|one| &one.name[..]).take_while(|name| !is_base(name)).any(is_named);
    let is_before = |name: &str| is_ours(name) || is_between(name) || (has_names && is_nameless(name));
    let own = functions.into_iter().skip_while(|one| is_before(&one.name));
    own.take_while(|one| !is_base(&one.name)).filter(|one| !is_ours(&one.name)).collect()
}

/// Whether what stands still in these functions was called by one of ours, and not by the program's own: the first that
/// belongs to no library of Rust's or of C's says so.
pub(crate) fn are_within_ours(addresses: &[usize]) -> bool {
    let functions = functions(addresses);
    let names = functions.iter().map(|one| &one.name[..]).filter(|name| name.contains("::"));
    let mut named = names.filter(|name| !is_built_in(name)).map(|name| name.trim_start_matches(['<', '&']));
    let is_library = |name: &&str| ["core::", "std::", "alloc::"].iter().any(|with| name.starts_with(with));
    // The program's function may be compiled into the first frame of its process.
    let is_base = |name: &str| name.starts_with("raddle_core::process::entry::");
    named
        .find(|name| !is_library(name))
        .is_some_and(|name| OWN_CRATES.iter().any(|own| name.starts_with(own)) && !is_base(name))
}

/// Whether it is a function of a pointer, slice or number itself, as `<*mut demo::Node>::as_ref`: these are Rust's, of
/// whatever they point to. A trait's function, as `<*mut demo::Node as demo::Walk>::next`, is not.
fn is_built_in(name: &str) -> bool {
    let Some(of) = name.strip_prefix('<') else { return false };
    let letter = of.starts_with(|c: char| c.is_ascii_lowercase());
    if letter {
        return of.find('>').is_some_and(|end| of[..end].bytes().all(|c| c.is_ascii_alphanumeric()));
    }
    // What is enclosed by the first bracket: of a function type's arrow, the head is no bracket.
    let mut depth = 1;
    let mut last = ' ';
    let end = of.char_indices().find(|&(_, c)| {
        depth += i32::from(c == '<') - i32::from(c == '>' && last != '-');
        last = c;
        depth == 0
    });
    of.starts_with(['*', '[']) && end.is_some_and(|(end, _)| !has_outer_as(&of[..end]))
}

/// Whether it reads `type as trait`, and not only something within it does.
fn has_outer_as(text: &str) -> bool {
    text.match_indices(" as ").any(|(at, _)| {
        let before = &text[..at];
        let arrows = before.matches("->").count();
        before.matches('<').count() + arrows == before.matches('>').count()
    })
}

/// A symbol as its programmer knows it, without the compiler's hash.
fn plain(mangled: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(mangled))
}

/// A line for each of the program's functions among those with these return addresses.
pub(crate) fn lines(addresses: &[usize]) -> String {
    let functions = of_program(functions(addresses));
    functions.iter().take(12).map(|one| format!("    in {one}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program's of these.
    fn told(names: &[&str]) -> Vec<String> {
        let function = |name: &&str| Function { name: (*name).to_owned(), place: None };
        of_program(names.iter().map(function).collect()).into_iter().map(|one| one.name).collect()
    }

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
        assert_eq!(told(&functions), &functions[2..5]);
    }

    #[test]
    fn what_is_built_in_is_rusts() {
        for name in [
            "<*mut raddle_protocol::protocol::header::Header>::as_ref",
            "<*const fn(demo::A) -> demo::B>::read",
            "<[<demo::A as demo::B>::C]>::sort::<demo::D>",
            "<u64>::wrapping_add",
            "<str>::len",
        ] {
            assert!(is_built_in(name), "{name}");
            assert_eq!(told(&[name, "demo::first"]), ["demo::first"]);
        }
        for name in [
            "<*mut demo::Node as demo::Walk>::next",
            "<[demo::Node] as demo::Walk<u8>>::next",
            "<*const fn(demo::A) -> demo::B as demo::Walk>::next",
            "<demo::Node>::next",
            "<(demo::A, u8) as demo::Walk>::next",
            "demo::first",
        ] {
            assert!(!is_built_in(name), "{name}");
        }
    }

    /// A stay in the C library, below a lock of `std`.
    #[test]
    fn a_library_is_not_the_programs() {
        let functions =
            ["/lib/x86_64-linux-gnu/libc.so.6 + 0x1", "std::sync::Mutex<T>::lock + 0x2", "demo::lock + 0x3"];
        assert_eq!(told(&functions), &functions[2..]);
        // A program without symbols has nothing else.
        let functions = ["raddle_core::x + 0x1", "/bin/demo + 0x2", "/bin/demo + 0x3"];
        assert_eq!(told(&functions), &functions[1..]);
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
        assert_eq!(told(&functions), &functions[4..]);
    }

    #[test]
    fn libraries_are_known_by_their_files() {
        for file in
            ["/rustc/0123/library/std/src/sync/mpsc.rs", "/home/me/raddle-core-0.1.0/src/worker/turn.rs"]
        {
            assert!(is_library(Path::new(file)), "{file}");
        }
        for file in
            ["/home/me/demo/src/main.rs", "/a/raddle-core/tests/it/main.rs", "/a/flume-0.11.0/src/lib.rs"]
        {
            assert!(!is_library(Path::new(file)), "{file}");
        }
        assert!(has_path("demo::work") && has_path("<demo::Job as core::ops::FnOnce<()>>::call_once"));
        assert!(!has_path("work<demo::Job>") && !has_path("{closure#0}<std::fs::File>"));
        let name = |file| short(Path::new(file), Some(Path::new("/home/me"))).display().to_string();
        assert_eq!(name("/rustc/0123/library/std/src/sync/mpsc.rs"), "library/std/src/sync/mpsc.rs");
        assert_eq!(name("/home/me/src/main.rs"), "src/main.rs");
        assert_eq!(name("/home/you/src/main.rs"), "/home/you/src/main.rs");
    }

    const BEFORE: u32 = line!();

    #[test]
    fn a_function_of_this_program_is_found() {
        let here = a_function_of_this_program_is_found as fn() as usize + 2;
        let found = functions(&[here, 2]);
        assert!(
            found[0].name.contains("symbol::tests::a_function_of_this_program_is_found + 0x1"),
            "{found:?}"
        );
        let place = format!("src/symbol.rs:{}", BEFORE + 3);
        assert_eq!(found[0].place, Some(place));
        assert_eq!(found.len(), 1, "no module is at 1");
    }
}

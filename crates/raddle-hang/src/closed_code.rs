//! Owns: `ClosedCode`: the code of a program of others in which nobody may be taken off a worker.
//! May use: `libc`.
//! Never: a list read in a handler that changes: what must not be interrupted was loaded before `main`.
//!
//! A thread may leave its worker at any instruction of the program's: of its file, of its libraries, of what it has
//! compiled itself. Not in the adaptor's library, and not in what that one calls: the C library, whose locks know
//! nothing of workers, the loader, the unwinder, the kernel's page of clocks, and the library of the allocator, if that
//! is another one. These are loaded before the program begins and stay where they are.
//!
//! If the program itself has an allocator by the names of the C library's, one cannot tell by the address whether the
//! program calls it or the runtime: then nobody is to be taken off.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

/// The code in which nobody is interrupted.
static CLOSED: OnceLock<Vec<Range<usize>>> = OnceLock::new();

/// What an adaptor in a library of its own knows of a program's code.
#[derive(Debug)]
pub struct ClosedCode {
    /// Whether the program's own file has an allocator: then there is no telling.
    pub has_own_allocator: bool,
}

impl ClosedCode {
    /// Looks for it, before the program begins; to be called by a library that is not the program's file.
    pub fn close() -> ClosedCode {
        let asked = closed_code();
        let _first = CLOSED.set(asked.code);
        ClosedCode { has_own_allocator: asked.last_is_programs }
    }

    /// Whether who is interrupted at that address may leave its worker; may be called by a handler.
    pub fn is_open(address: usize) -> bool {
        CLOSED.get().is_some_and(|closed| !closed.iter().any(|range| range.contains(&address)))
    }
}

/// What is asked of the list of loaded files: for the code of those in which one of these addresses lies.
struct AskedFiles {
    addresses: Vec<usize>,
    code: Vec<Range<usize>>,
    /// Whether the last address lies in the program's file, which comes first in the list.
    last_is_programs: bool,
    files: usize,
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, asked: *mut c_void) -> c_int {
    // SAFETY: the caller's, for this call.
    let asked = unsafe { &mut *asked.cast::<AskedFiles>() };
    // SAFETY: the C library's, for this call.
    let info = unsafe { info.read() };
    // SAFETY: the file's headers, as many as that says.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let range = |header: &libc::Elf64_Phdr| {
        let begin = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        begin..begin.wrapping_add(header.p_memsz as usize)
    };
    let holds = |address: &usize| loaded().any(|header| range(header).contains(address));
    if asked.addresses.iter().any(holds) {
        let code = loaded().filter(|header| header.p_flags & libc::PF_X != 0).map(range);
        asked.code.extend(code);
    }
    if asked.files == 0 {
        asked.last_is_programs = asked.addresses.last().is_some_and(holds);
    }
    asked.files += 1;
    0
}

unsafe extern "C" {
    fn gnu_get_libc_version() -> *const libc::c_char;
    fn __tls_get_addr(index: *mut c_void) -> *mut c_void;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

fn closed_code() -> AskedFiles {
    // SAFETY: a name, looked up among all that is loaded: whose allocator it is.
    let allocator = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    // An allocator that keeps its heap with the worker, under another name than `malloc`.
    // SAFETY: as above.
    let keeper = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"raddle_worker_words".as_ptr()) };
    // SAFETY: no preconditions.
    let clocks = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    let addresses = vec![
        ClosedCode::is_open as *const () as usize,
        gnu_get_libc_version as *const () as usize,
        __tls_get_addr as *const () as usize,
        _Unwind_GetCFA as *const () as usize,
        clocks as usize,
        keeper.addr(),
        allocator.addr(),
    ];
    let mut asked = AskedFiles { addresses, code: Vec::new(), last_is_programs: false, files: 0 };
    // SAFETY: the function keeps to the interface.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut asked).cast()) };
    asked
}

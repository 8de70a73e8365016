//! Owns: what gdb is told of code that was made while a program runs.
//! May use: `image`, `lines`, `raddle-bytecode`.
//! Never: an error of the program.
//!
//! By gdb's "JIT Compilation Interface": a debugger that is attached, or will be, looks for two names in a program. One
//! is a list of ELF files in memory; the other a function in which it sets a breakpoint, and which is called when the
//! list has changed. Without a debugger that costs what it takes to write the file: a hundredth of what the code does.

use crate::image::{self, ALLOCATED, EXECUTED, ImageKind, ImagePart, ImageProcessor, ImageSymbol};
use crate::lines::{RoutineCode, describe};
use raddle_bytecode::Module;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// One file, as gdb has it.
#[repr(C)]
struct GdbEntry {
    next: *mut GdbEntry,
    before: *mut GdbEntry,
    file: *const u8,
    bytes: u64,
}

/// The list, as gdb has it.
#[repr(C)]
pub(crate) struct GdbList {
    version: u32,
    action: u32,
    relevant: *mut GdbEntry,
    first: *mut GdbEntry,
}

const NO_ACTION: u32 = 0;
const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

/// The list of files, by the name that gdb looks for.
#[unsafe(no_mangle)]
pub(crate) static mut __jit_debug_descriptor: GdbList =
    GdbList { version: 1, action: NO_ACTION, relevant: ptr::null_mut(), first: ptr::null_mut() };

/// Where gdb sets a breakpoint, by the name that it looks for.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn __jit_debug_register_code() {
    // So that it is called, whatever the compiler knows of it.
    std::hint::black_box(());
}

/// Who changes the list.
static CHANGES: Mutex<()> = Mutex::new(());

/// A file that gdb knows, until this is dropped.
#[derive(Debug)]
pub(crate) struct ShownToGdb {
    entry: *mut GdbEntry,
    /// What the entry names.
    _file: Box<[u8]>,
}

// SAFETY: the entry is this one's, and is changed by who has the lock alone.
unsafe impl Send for ShownToGdb {}

impl ShownToGdb {
    /// The code of routines, which lies at `place` and has so many bytes.
    pub(crate) fn new(program: &Module, code: (usize, usize), routines: &[RoutineCode]) -> ShownToGdb {
        let file = file_of(program, code, routines).into_boxed_slice();
        let (next, before) = (ptr::null_mut(), ptr::null_mut());
        let entry = GdbEntry { next, before, file: file.as_ptr(), bytes: file.len() as u64 };
        let entry = Box::into_raw(Box::new(entry));
        let _change = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
        let list = &raw mut __jit_debug_descriptor;
        // SAFETY: there is such a list, which who has the lock alone changes.
        let first = unsafe { (*list).first };
        // SAFETY: nobody else knows of the entry yet.
        unsafe { (*entry).next = first };
        if !first.is_null() {
            // SAFETY: what is in the list is there, and changed by who has the lock alone.
            unsafe { (*first).before = entry };
        }
        // SAFETY: as above.
        unsafe { (*list).first = entry };
        tell(REGISTER, entry);
        ShownToGdb { entry, _file: file }
    }
}

/// The list has changed; who says it has the lock.
fn tell(action: u32, entry: *mut GdbEntry) {
    let list = &raw mut __jit_debug_descriptor;
    // SAFETY: there is such a list, which who has the lock alone changes.
    unsafe { (*list).relevant = entry };
    // SAFETY: as above.
    unsafe { (*list).action = action };
    __jit_debug_register_code();
    // SAFETY: as above.
    unsafe { (*list).action = NO_ACTION };
}

impl Drop for ShownToGdb {
    fn drop(&mut self) {
        let _change = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: what is in the list is there, and changed by who has the lock alone.
        let next = unsafe { (*self.entry).next };
        // SAFETY: as above.
        let before = unsafe { (*self.entry).before };
        if before.is_null() {
            let list = &raw mut __jit_debug_descriptor;
            // SAFETY: there is such a list, which who has the lock alone changes.
            unsafe { (*list).first = next };
        } else {
            // SAFETY: as with the entry itself.
            unsafe { (*before).next = next };
        }
        if !next.is_null() {
            // SAFETY: as with the entry itself.
            unsafe { (*next).before = before };
        }
        tell(UNREGISTER, self.entry);
        // SAFETY: it came of a box, and nothing leads to it any more.
        drop(unsafe { Box::from_raw(self.entry) });
    }
}

/// The processor that this is.
pub(crate) const PROCESSOR: ImageProcessor =
    if cfg!(target_arch = "aarch64") { ImageProcessor::Arm } else { ImageProcessor::X86 };

fn file_of(program: &Module, (place, bytes): (usize, usize), routines: &[RoutineCode]) -> Vec<u8> {
    let text = ImagePart {
        name: ".text",
        address: place as u64,
        elsewhere: bytes as u64,
        flags: ALLOCATED | EXECUTED,
        align: 16,
        ..ImagePart::default()
    };
    let about = describe(program, (place as u64, bytes as u64), routines);
    let part = |name, bytes| ImagePart { name, bytes, ..ImagePart::default() };
    let parts = [
        text,
        part(".debug_info", about.info.bytes),
        part(".debug_abbrev", about.abbreviations),
        part(".debug_line", about.lines.bytes),
    ];
    let symbols: Vec<ImageSymbol> = routines.iter().map(|it| symbol_of(program, it)).collect();
    image::write((ImageKind::InMemory, PROCESSOR), &parts, &symbols)
}

/// The name of a routine, for its code, which is in the first part.
pub(crate) fn symbol_of(program: &Module, routine: &RoutineCode) -> ImageSymbol {
    ImageSymbol {
        name: program.string(program.functions[routine.number].name).to_owned(),
        part: Some(0),
        offset: routine.offset as u64,
        bytes: routine.bytes as u64,
        is_code: true,
        is_local: true,
    }
}

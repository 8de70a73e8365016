//! Owns: the hardened mode: what is known of each block, and what is said when a program misuses one.
//! May use: `arena`, `class`, `page`, `system`, `libc`.
//! Never: a cost where it is off: only paths without a heap ask for it, and where it is on no thread has one.
//!
//! Beside each page lies a table with an entry for each block, mapped when the page first gives one out: whether the
//! block is in use, and the calls that allocated and freed it last. A block that is freed is filled; what has been
//! written to it since is found when it is given out again, and so is a link that leads out of the page. A large block
//! has a slice behind it that ends the program at an access. The calls are found by walking the stack, which takes a
//! microsecond.
//!
//! It is unsafe because it reads blocks, and walks stacks.

use std::ffi::{c_int, c_void};
use std::fmt::{self, Write as _};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::arena;
use crate::class::size_of_class;
use crate::page::{Block, Page};
use crate::system::{self, Standard};

static ON: AtomicBool = AtomicBool::new(false);

/// Whether it is on.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Turns it on, for good.
pub(crate) fn turn_on() {
    ON.store(true, Ordering::Relaxed);
}

const CALLS: usize = 8;
const FILL: u8 = 0xdf;
const UNUSED: usize = 0;
const IN_USE: usize = 1;
const FREED: usize = 2;

/// The calls that have led to an event, the innermost first.
#[derive(Default)]
struct Calls([AtomicUsize; CALLS]);

/// What is known of a block.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Entry {
    state: AtomicUsize,
    allocated: Calls,
    freed: Calls,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, walk: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Walk<'c> {
    calls: &'c Calls,
    found: usize,
}

extern "C" fn each_call(context: *mut c_void, walk: *mut c_void) -> c_int {
    const STOP: c_int = 5;
    // SAFETY: it is what `Calls::set` gave to the walk.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    // SAFETY: the context is the walk's.
    let at = unsafe { _Unwind_GetIP(context) };
    if walk.found == CALLS || at == 0 {
        return STOP;
    }
    walk.calls.0[walk.found].store(at, Ordering::Relaxed);
    walk.found += 1;
    0
}

impl Calls {
    /// Those that have led here.
    #[inline(never)]
    fn set(&self) {
        let mut walk = Walk { calls: self, found: 0 };
        // SAFETY: the function is called with the walk while this call lasts.
        unsafe { _Unwind_Backtrace(each_call, (&raw mut walk).cast()) };
        self.0[walk.found..].iter().for_each(|call| call.store(0, Ordering::Relaxed));
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // bounded: by the array.
        for call in &self.0 {
            let at = call.load(Ordering::Relaxed);
            let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
            // SAFETY: it writes what it knows of the address.
            if at == 0 || unsafe { libc::dladdr(ptr::without_provenance(at), info.as_mut_ptr()) } == 0 {
                continue;
            }
            // SAFETY: it has been written.
            let info = unsafe { info.assume_init() };
            // SAFETY: the library's name, which stays while it is loaded.
            let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) }.to_str().unwrap_or("?");
            writeln!(f, "    {name}+{:#x}", at - info.dli_fbase.addr())?;
        }
        Ok(())
    }
}

/// The table of a page.
fn table(page: &Page) -> Option<&'static [Entry]> {
    let capacity = page.used().1 as usize;
    let place: &AtomicPtr<u8> = page.table();
    let mut table = place.load(Ordering::Acquire); // pairs with the exchange
    if table.is_null() {
        let bytes = (capacity * size_of::<Entry>()).next_multiple_of(system::OS_PAGE);
        let new = system::map(bytes, system::OS_PAGE, 0);
        // pairs with the load
        match place.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => table = new,
            Err(other) => {
                table = other;
                if !new.is_null() {
                    // SAFETY: it was just mapped, and nobody knows it.
                    unsafe { system::unmap(new, bytes) };
                }
            }
        }
    }
    // SAFETY: zeroed memory of so many entries, which goes with the page.
    (!table.is_null()).then(|| unsafe { std::slice::from_raw_parts(table.cast(), capacity) })
}

fn entry(page: &Page, block: *mut Block) -> Option<&'static Entry> {
    let size = size_of_class(usize::from(page.class()));
    let offset = block.addr().wrapping_sub(page.start().addr());
    if !offset.is_multiple_of(size) {
        complain("a pointer into the middle of a block is freed", block.addr(), None, true);
    }
    table(page)?.get(offset / size)
}

/// Holds a pointer that a program gives back against the arenas.
pub(crate) fn check_pointer(block: *mut u8) {
    if !block.addr().is_multiple_of(16) || !arena::may_hold(block) {
        complain("a pointer is freed that this allocator has not given out", block.addr(), None, true);
    }
}

/// A block of the page is about to be given out.
pub(crate) fn gives(page: &Page, block: *mut Block) {
    let Some(entry) = entry(page, block) else { return };
    let size = size_of_class(usize::from(page.class()));
    if entry.state.swap(IN_USE, Ordering::Relaxed) == FREED {
        // SAFETY: a free block, the caller's.
        let bytes = unsafe { std::slice::from_raw_parts(block.cast::<u8>(), size) };
        if bytes[size_of::<Block>()..].iter().any(|byte| *byte != FILL) {
            complain("a block was written to after it had been freed", block.addr(), Some(entry), false);
        }
    }
    entry.allocated.set();
}

/// Whether a link leads to a block of its page.
pub(crate) fn check_link(page: &Page, block: *mut Block, next: *mut Block) {
    let size = size_of_class(usize::from(page.class()));
    let offset = next.addr().wrapping_sub(page.start().addr());
    if !next.is_null() && (!offset.is_multiple_of(size) || offset / size >= page.used().1 as usize) {
        complain("the link in a free block was overwritten", block.addr(), entry(page, block), false);
    }
}

/// A program gives a block of the page back.
pub(crate) fn takes(page: &Page, block: *mut Block) {
    let Some(entry) = entry(page, block) else { return };
    match entry.state.compare_exchange(IN_USE, FREED, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {}
        // It was given out before the mode was on.
        Err(UNUSED) => entry.state.store(FREED, Ordering::Relaxed),
        Err(_) => complain("a block is freed twice", block.addr(), Some(entry), true),
    }
    entry.freed.set();
    // SAFETY: nobody uses the block any more, and it is so large.
    unsafe { ptr::write_bytes(block.cast::<u8>(), FILL, size_of_class(usize::from(page.class()))) };
}

/// Says what is wrong, where the block was allocated and freed, where this is seen, and ends the program.
fn complain(what: &str, block: usize, entry: Option<&Entry>, is_free: bool) -> ! {
    let here = Calls::default();
    here.set();
    let mut standard = Standard::new();
    let _always = writeln!(standard, "raddle-alloc: {what}: {block:#x}");
    if let Some(entry) = entry {
        let _always = write!(standard, "  allocated at\n{}  freed at\n{}", entry.allocated, entry.freed);
    }
    let _always = write!(standard, "  {} at\n{here}", if is_free { "freed now" } else { "seen" });
    standard.flush();
    system::die(&[])
}

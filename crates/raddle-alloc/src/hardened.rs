//! Owns: the hardened mode: what is known of each block, and what is said when a program misuses one.
//! May use: `arena`, `calls`, `class`, `page`, `system`, `libc`.
//! Never: a cost where it is off: only paths without a heap ask for it, and where it is on no thread has one.
//!
//! Beside each page lies a table with an entry for each block, mapped when the page first gives one out: whether the
//! block is in use, and the calls that allocated and freed it last. A block that is freed is filled; what has been
//! written to it since is found when it is given out again, and so is a link that leads out of the page. A large block
//! has a slice behind it that ends the program at an access. The calls are found by walking the stack, which takes a
//! microsecond.
//!
//! It is unsafe because it reads blocks, and walks stacks.

use std::fmt::{self, Write as _};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::arena::{self, BlockPlace};
use crate::calls::calls;
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
const MIDDLE: &str = "a pointer into the middle of a block is freed";
const USED_AFTER: &str = "realloc or malloc_usable_size of a block after it was freed";
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
    /// The link of a free block, once more: what was written over the block itself does not reach this.
    link: AtomicPtr<Block>,
    allocated: Calls,
    freed: Calls,
}

impl Calls {
    /// Those that have led here.
    #[inline(never)]
    fn set(&self) {
        let found = calls::<CALLS>();
        self.0.iter().zip(found).for_each(|(call, found)| call.store(found, Ordering::Relaxed));
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
        complain(MIDDLE, block.addr(), None, true);
    }
    table(page)?.get(offset / size)
}

/// Holds a pointer that a program gives back against the arenas.
pub(crate) fn check_pointer(block: *mut u8) {
    let what = match arena::place_of(block) {
        BlockPlace::Large => return,
        BlockPlace::Page if has_been_given(block) => return,
        BlockPlace::Gone => "a large block is freed twice",
        BlockPlace::Inner => MIDDLE,
        BlockPlace::Page | BlockPlace::Foreign => "a pointer is freed that this allocator has not given out",
    };
    complain(what, block.addr(), None, true);
}

/// Holds a pointer that a program calls a block in use against the arenas, and against what is known of it.
pub(crate) fn check_used(block: *mut u8) {
    let what = match arena::place_of(block) {
        BlockPlace::Large => return,
        BlockPlace::Page if has_been_given(block) => return check_state(block),
        BlockPlace::Gone => USED_AFTER,
        BlockPlace::Inner | BlockPlace::Page | BlockPlace::Foreign => {
            "realloc or malloc_usable_size of a pointer that this allocator has not given out"
        }
    };
    complain(what, block.addr(), None, false);
}

fn check_state(block: *mut u8) {
    // SAFETY: a page is there.
    let page = unsafe { arena::page_of(block) };
    let entry = entry(page, block.cast());
    if entry.is_some_and(|entry| entry.state.load(Ordering::Relaxed) == FREED) {
        complain(USED_AFTER, block.addr(), entry, false);
    }
}

/// Whether the part of the page in which the address lies was ever given out.
fn has_been_given(block: *mut u8) -> bool {
    // SAFETY: a page is there.
    let page = unsafe { arena::page_of(block) };
    let size = size_of_class(usize::from(page.class()));
    block.addr().wrapping_sub(page.start().addr()) / size < page.carved()
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

/// Notes the link of a block that is being given back.
pub(crate) fn links(page: &Page, block: *mut Block, next: *mut Block) {
    if let Some(entry) = entry(page, block) {
        entry.link.store(next, Ordering::Relaxed);
    }
}

/// Whether a link is what it was when the block was freed; whether it leads to a block of its page, if that was before
/// the mode was on.
pub(crate) fn check_link(page: &Page, block: *mut Block, next: *mut Block) {
    let size = size_of_class(usize::from(page.class()));
    let offset = next.addr().wrapping_sub(page.start().addr());
    let leads_there = next.is_null() || offset.is_multiple_of(size) && offset / size < page.carved();
    let entry = entry(page, block);
    let is_it = entry.is_none_or(|entry| {
        entry.state.load(Ordering::Relaxed) != FREED || ptr::eq(entry.link.load(Ordering::Relaxed), next)
    });
    if !leads_there || !is_it {
        complain("the link in a free block was overwritten", block.addr(), entry, false);
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

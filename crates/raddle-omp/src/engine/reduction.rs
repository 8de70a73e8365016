//! Owns: reductions over tasks: the copies of all threads, found by address, put together at the end of a group.
//! May use: `abi`, `report`, `libc`.
//! Never: an operation of its own: the compilers give functions.

use crate::abi::At;
use crate::engine::member::me;
use crate::engine::task::Group;
use std::alloc::Layout;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// One variable of a group: what it is, and a copy for each thread.
#[derive(Clone, Copy)]
pub(crate) struct Registered {
    pub(crate) shared: usize,
    pub(crate) stride: usize,
    pub(crate) memory: usize,
    pub(crate) threads: usize,
    pub(crate) combine: usize,
    pub(crate) finish: usize,
    /// Whether the group that has it puts it together.
    pub(crate) is_owned: bool,
}

type Combine = unsafe extern "C-unwind" fn(usize, usize);
type Finish = unsafe extern "C-unwind" fn(usize);

/// Zeroed, for all threads.
pub(crate) fn zeroed(bytes: usize, align: usize) -> usize {
    let layout = Layout::from_size_align(bytes.max(1), align.max(64).next_power_of_two());
    let Ok(layout) = layout else { crate::report::fatal("a reduction is too large") };
    // SAFETY: the layout is not empty.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    if memory.is_null() {
        crate::report::fatal("no memory for a reduction");
    }
    memory.expose_provenance()
}

/// Gives back what `zeroed` made. glibc's allocator, below Rust's, needs no layout.
pub(crate) fn free(memory: usize) {
    // SAFETY: Rust's system allocator here is the C library's.
    unsafe { libc::free(std::ptr::with_exposed_provenance_mut(memory)) };
}

/// What clang describes a variable by; the older form has no `original`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Input {
    pub(crate) shared: usize,
    pub(crate) original: usize,
    pub(crate) bytes: usize,
    pub(crate) init: usize,
    pub(crate) finish: usize,
    pub(crate) combine: usize,
    pub(crate) flags: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct OldInput {
    pub(crate) shared: usize,
    pub(crate) bytes: usize,
    pub(crate) init: usize,
    pub(crate) finish: usize,
    pub(crate) combine: usize,
    pub(crate) flags: u32,
}

/// A variable with its copies, all begun.
pub(crate) fn register(input: &Input, has_original: bool) -> Registered {
    let threads = me().team().threads() as usize;
    let stride = input.bytes.next_multiple_of(64);
    let memory = zeroed(stride * threads, 64);
    if input.init != 0 {
        for copy in (0..threads).map(|tid| memory + tid * stride) {
            if has_original {
                // SAFETY: the compiler's function, of two addresses.
                let init = unsafe { std::mem::transmute::<usize, Combine>(input.init) };
                // SAFETY: as above.
                unsafe { init(copy, input.original) };
            } else {
                // SAFETY: the compiler's function, of an address.
                let init = unsafe { std::mem::transmute::<usize, Finish>(input.init) };
                // SAFETY: as above.
                unsafe { init(copy) };
            }
        }
    }
    let shared = input.shared;
    let (combine, finish) = (input.combine, input.finish);
    Registered { shared, stride, memory, threads, combine, finish, is_owned: true }
}

impl Registered {
    /// The copy of a thread, if the address is of this variable, or of any copy of it.
    pub(crate) fn copy_for(&self, address: usize, tid: usize) -> Option<usize> {
        let is_copy = address >= self.memory && address < self.memory + self.threads * self.stride;
        (address == self.shared || is_copy).then(|| self.memory + tid * self.stride)
    }

    /// All copies come to the variable, and go.
    pub(crate) fn finish(&self) {
        for copy in (0..self.threads).map(|tid| self.memory + tid * self.stride) {
            // SAFETY: the compiler's function, of two addresses.
            let combine = unsafe { std::mem::transmute::<usize, Combine>(self.combine) };
            // SAFETY: as above.
            unsafe { combine(self.shared, copy) };
            if self.finish != 0 {
                // SAFETY: the compiler's function, of an address.
                let finish = unsafe { std::mem::transmute::<usize, Finish>(self.finish) };
                // SAFETY: as above.
                unsafe { finish(copy) };
            }
        }
        free(self.memory);
    }
}

/// The caller's copy of a variable of its group, or of one around.
pub(crate) fn copy_of(address: usize) -> Option<usize> {
    let member = me();
    let tid = member.tid.get() as usize;
    let mut group = member.task().group();
    while let Some(this) = group {
        if let Some(copy) = this.reductions().iter().find_map(|item| item.copy_for(address, tid)) {
            return Some(copy);
        }
        group = this.outer();
    }
    None
}

impl Group {
    /// The group around.
    pub(crate) fn outer<'g>(&self) -> Option<&'g Group> {
        // SAFETY: a group stays while one within it does.
        unsafe { self.outer.get().as_ref() }
    }
}

// gcc's: a chain of tables that the compiler lays out, each with some variables.
const COUNT: usize = 0;
const STRIDE: usize = 1;
const MEMORY: usize = 2;
const NEXT: usize = 4;
const IS_FIRST: usize = 5;
const END: usize = 6;
const ITEMS: usize = 7;
const ITEM_WORDS: usize = 3;

/// Gives all tables of a chain memory for so many threads, or that of another one's; `old` comes after.
pub(crate) fn register_tables(data: At<usize>, old: usize, mut other: usize, threads: usize) {
    let mut table = data;
    let mut is_first = 1;
    loop {
        if other == 0 {
            let bytes = table.at(STRIDE).get() * threads;
            let memory = zeroed(bytes, table.at(MEMORY).get());
            table.at(MEMORY).set(memory);
            table.at(END).set(memory + bytes);
        } else {
            let source = At::<usize>::new(std::ptr::with_exposed_provenance_mut(other));
            table.at(MEMORY).set(source.at(MEMORY).get());
            table.at(END).set(source.at(END).get());
            other = source.at(NEXT).get();
        }
        table.at(IS_FIRST).set(is_first);
        is_first = 0;
        let next = table.at(NEXT).get();
        if next == 0 {
            table.at(NEXT).set(old);
            return;
        }
        table = At::new(std::ptr::with_exposed_provenance_mut(next));
    }
}

/// Frees the memory of the tables of one registration.
pub(crate) fn unregister_tables(data: At<usize>) {
    let mut table = data;
    loop {
        free(table.at(MEMORY).get());
        let next = table.at(NEXT).get();
        table = At::new(std::ptr::with_exposed_provenance_mut(next));
        if next == 0 || table.at(IS_FIRST).get() != 0 {
            return;
        }
    }
}

/// Where the variable at an address has the copy of a thread, and where it is itself.
pub(crate) fn remap(data: usize, address: usize, tid: usize) -> Option<(usize, usize)> {
    let mut next = data;
    while next != 0 {
        let table = At::<usize>::new(std::ptr::with_exposed_provenance_mut(next));
        let (memory, stride) = (table.at(MEMORY).get(), table.at(STRIDE).get());
        let items = (0..table.at(COUNT).get()).map(|item| table.at(ITEMS + ITEM_WORDS * item));
        let is_copy = address >= memory && address < table.at(END).get();
        let offset = if is_copy { (address - memory) % stride } else { 0 };
        for item in items {
            let (original, at) = (item.get(), item.at(1).get());
            if if is_copy { at == offset } else { original == address } {
                return Some((memory + tid * stride + at, original));
            }
        }
        if is_copy {
            return Some((memory + tid * stride + offset, 0));
        }
        next = table.at(NEXT).get();
    }
    None
}

/// Reductions of a whole region or loop: the first of the team registers for all.
#[derive(Default)]
pub(crate) struct Modifier {
    items: Mutex<Option<Vec<Registered>>>,
    left: AtomicU32,
}

impl Modifier {
    /// The caller begins: the variables are its own, the copies all have in common.
    pub(crate) fn begin(
        &self,
        make: impl FnOnce() -> Vec<Registered>,
        shared: impl Fn(usize) -> usize,
    ) -> Vec<Registered> {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let mut mine = items.get_or_insert_with(make).clone();
        for (n, item) in mine.iter_mut().enumerate() {
            item.is_owned = false;
            item.shared = shared(n);
        }
        mine
    }

    /// The caller ends; the last one puts all copies into its own variables.
    pub(crate) fn end(&self, mine: &[Registered], threads: u32) {
        // pairs with itself: the last one sees what all did
        if self.left.fetch_add(1, Ordering::AcqRel) + 1 < threads {
            return;
        }
        self.left.store(0, Ordering::Relaxed);
        *self.items.lock().unwrap_or_else(PoisonError::into_inner) = None;
        mine.iter().for_each(Registered::finish);
    }
}

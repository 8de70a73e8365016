//! Owns: `Facts`: where glibc keeps what a thread's storage needs, found once and checked.
//! May use: `tls`, `libc`, `raddle-syscall`.
//! Never: a number from a header file of one version.
//!
//! A descriptor is three 32-bit words: the size of a field in bits, how many there are, and its offset. Where glibc
//! exports none, the field is recognised by its value in a thread whose values are known, and it must be the only one.

use super::anchor::{self, Anchors};
use super::room::BlockForm;
use super::{carried, ends, machine, setuid};
use crate::tls::Unsupported;
use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A field of glibc's `struct pthread`, from its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) offset: usize,
    pub(super) count: usize,
}

/// Functions of glibc's that are made for its own use.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) allocate: unsafe extern "C" fn(*mut u8) -> *mut u8,
    pub(super) initialise: unsafe extern "C" fn(*mut u8, bool) -> *mut u8,
    pub(super) deallocate: unsafe extern "C" fn(*mut u8, bool),
    pub(super) ctype_init: unsafe extern "C" fn(),
    pub(super) call_destructors: unsafe extern "C" fn(),
    pub(super) dlerror: unsafe extern "C" fn() -> *mut u8,
    pub(super) h_errno: unsafe extern "C" fn() -> *mut c_int,
}

/// The table behind `pthread_key_create`, and a thread's part of it.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    pub(super) table: *const u8,
    pub(super) bytes: usize,
    pub(super) seq: usize,
    pub(super) destructor: usize,
    pub(super) data_bytes: usize,
    pub(super) data_seq: usize,
    pub(super) data: usize,
    pub(super) blocks: Field,
    pub(super) per_block: usize,
    /// Where the first block lies within the thread.
    pub(super) first_block: usize,
    /// The byte that says that a value was ever set.
    pub(super) used: Option<usize>,
}

/// What the probe found.
pub(super) struct Facts {
    pub(super) call: Functions,
    /// From a thread pointer to its `struct pthread`.
    pub(super) thread: isize,
    pub(super) tid: usize,
    pub(super) list: usize,
    pub(super) cancelhandling: usize,
    pub(super) robust: usize,
    /// The pointer to the vector of the libraries' variables, whose entries are two words: where, and what to free.
    pub(super) vector: usize,
    /// `stackblock`; `stackblock_size` stands behind it.
    pub(super) stack: usize,
    pub(super) keys: Keys,
    /// From a thread pointer to the area that the kernel would be told of.
    pub(super) rseq: Option<isize>,
    /// glibc's own variables, from a thread pointer: malloc's cache is among them.
    pub(super) libc: Range<isize>,
    /// What memory a block is made in; if that is not known, malloc's.
    pub(super) form: Option<BlockForm>,
    pub(super) anchors: Anchors,
}

// SAFETY: addresses of functions and tables that live as long as the program.
unsafe impl Send for Facts {}
// SAFETY: as above.
unsafe impl Sync for Facts {}

static FACTS: OnceLock<Result<Facts, Unsupported>> = OnceLock::new();

/// The facts, or what is missing.
#[inline]
pub(super) fn get() -> Result<&'static Facts, Unsupported> {
    FACTS.get().unwrap_or_else(find).as_ref().map_err(|e| *e)
}

#[cold]
fn find() -> &'static Result<Facts, Unsupported> {
    let _only_one = probing();
    FACTS.get_or_init(|| {
        let facts = probe().map_err(|missing| Unsupported { missing })?;
        setuid::install();
        ends::link();
        // Before the first block is made, which is marked.
        carried::settle();
        Ok(facts)
    })
}

/// Held during the probe and over a fork, so that the child does not wait for a thread that it lacks.
pub(super) fn probing() -> MutexGuard<'static, ()> {
    static PROBING: Mutex<()> = Mutex::new(());
    PROBING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The facts, if the probe has run and succeeded.
pub(super) fn known() -> Option<&'static Facts> {
    FACTS.get().and_then(|facts| facts.as_ref().ok())
}

type Found<T> = Result<T, &'static str>;

fn symbol(name: &'static CStr) -> Found<*mut u8> {
    // SAFETY: looks a name up among the loaded libraries.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return Err(name.to_str().unwrap_or("a symbol of glibc"));
    }
    Ok(address.cast())
}

/// # Safety
/// `T` is the type of the function of this name.
unsafe fn function<T: Copy>(name: &'static CStr) -> Found<T> {
    let address = symbol(name)?;
    // SAFETY: the caller vouches for the type, which is a function pointer.
    Ok(unsafe { core::mem::transmute_copy(&address) })
}

fn field(name: &'static CStr) -> Found<Field> {
    let words: *mut u32 = symbol(name)?.cast();
    // SAFETY: a descriptor is three words.
    let [_, count, offset] = unsafe { words.cast::<[u32; 3]>().read() };
    Ok(Field { offset: offset as usize, count: count as usize })
}

/// A field that is an array of pointers; its descriptor counts it as one.
fn pointers(name: &'static CStr) -> Found<Field> {
    Ok(Field { count: bits(name)? / usize::BITS as usize, ..field(name)? })
}

fn bits(name: &'static CStr) -> Found<usize> {
    // A descriptor begins with this number.
    number(name)
}

fn number(name: &'static CStr) -> Found<usize> {
    let word: *mut u32 = symbol(name)?.cast();
    // SAFETY: the sizes are exported as one word each.
    Ok(unsafe { word.read() } as usize)
}

fn functions() -> Found<Functions> {
    Ok(Functions {
        // SAFETY: glibc:elf/dl-tls.c: void *_dl_allocate_tls (void *mem).
        allocate: unsafe { function(c"_dl_allocate_tls") }?,
        // SAFETY: glibc:elf/dl-tls.c: void *_dl_allocate_tls_init (void *result, bool main_map).
        initialise: unsafe { function(c"_dl_allocate_tls_init") }?,
        // SAFETY: glibc:elf/dl-tls.c: void _dl_deallocate_tls (void *tcb, bool dealloc_tcb).
        deallocate: unsafe { function(c"_dl_deallocate_tls") }?,
        // SAFETY: glibc:ctype/ctype-info.c: void __ctype_init (void).
        ctype_init: unsafe { function(c"__ctype_init") }?,
        // SAFETY: glibc:stdlib/cxa_thread_atexit_impl.c: void __call_tls_dtors (void).
        call_destructors: unsafe { function(c"__call_tls_dtors") }?,
        // SAFETY: POSIX.
        dlerror: unsafe { function(c"dlerror") }?,
        // SAFETY: glibc:inet/herrno-loc.c: int *__h_errno_location (void).
        h_errno: unsafe { function(c"__h_errno_location") }?,
    })
}

fn keys(own: *const u8, size: usize) -> Found<Keys> {
    let blocks = pointers(c"_thread_db_pthread_specific")?;
    // SAFETY: the first of the pointers, within the thread that runs.
    let first = unsafe { own.wrapping_byte_add(blocks.offset).cast::<usize>().read() };
    let first_block = first.wrapping_sub(own.addr());
    let keys = field(c"_thread_db___pthread_keys")?.count;
    let per_block = field(c"_thread_db_pthread_key_data_level2_data")?.count;
    let data_bytes = number(c"_thread_db_sizeof_pthread_key_data")?;
    if first_block.saturating_add(per_block * data_bytes) > size || keys != per_block * blocks.count {
        return Err("a thread does not hold its first keys itself");
    }
    Ok(Keys {
        table: symbol(c"__pthread_keys")?,
        bytes: number(c"_thread_db_sizeof_pthread_key_struct")?,
        seq: field(c"_thread_db_pthread_key_struct_seq")?.offset,
        destructor: field(c"_thread_db_pthread_key_struct_destr")?.offset,
        data_bytes,
        data_seq: field(c"_thread_db_pthread_key_data_seq")?.offset,
        data: field(c"_thread_db_pthread_key_data_data")?.offset,
        blocks,
        per_block,
        first_block,
        used: None,
    })
}

/// Finds the head of the list of robust mutexes behind the thread's number: it and the word before point to it.
fn robust(own: *const u8, tid: usize) -> Found<usize> {
    let points_to = |offset: usize, to: usize| {
        // SAFETY: within the thread that runs, whose size has been checked.
        let word = unsafe { own.wrapping_byte_add(offset).cast::<usize>().read() };
        word == own.addr() + to
    };
    let from = tid.next_multiple_of(8) + 8;
    let mut found = (from..from + 64).step_by(8).filter(|&at| points_to(at, at) && points_to(at - 8, at));
    found.next().ok_or("the list of robust mutexes was not found")
}

/// The object that holds `inside`, and its thread-local variables in the thread that runs.
struct Search {
    inside: usize,
    found: Option<Range<isize>>,
}

unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: and what `libc_variables` gave it.
    let search = unsafe { &mut *data.cast::<Search>() };
    // SAFETY: the headers are mapped as long as the object is.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let holds = |h: &libc::Elf64_Phdr| {
        let from = (info.dlpi_addr + h.p_vaddr) as usize;
        h.p_type == libc::PT_LOAD && (from..from + h.p_memsz as usize).contains(&search.inside)
    };
    if !headers.iter().any(holds) {
        return 0;
    }
    let tls = headers.iter().find(|h| h.p_type == libc::PT_TLS);
    search.found = tls.filter(|_| !info.dlpi_tls_data.is_null()).map(|tls| {
        let from = info.dlpi_tls_data.addr().wrapping_sub(machine::thread_pointer()).cast_signed();
        from..from + tls.p_memsz as isize
    });
    1
}

/// Where glibc's own thread-local variables lie, from a thread pointer.
fn libc_variables() -> Found<Range<isize>> {
    let mut search = Search { inside: symbol(c"__errno_location")?.addr(), found: None };
    // SAFETY: the function is called for each object before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut search).cast()) };
    // SAFETY: no preconditions.
    let errno = unsafe { libc::__errno_location() }.addr();
    let errno = errno.wrapping_sub(machine::thread_pointer()).cast_signed();
    let holds_errno = |range: &Range<isize>| range.contains(&errno);
    search.found.filter(holds_errno).ok_or("glibc's own thread-local variables were not found")
}

unsafe extern "C" fn add_variables(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: and what `form` gave it.
    let all = unsafe { &mut *data.cast::<Range<isize>>() };
    // SAFETY: the headers are mapped as long as the object is.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    if let Some(tls) = headers.iter().find(|h| h.p_type == libc::PT_TLS)
        && !info.dlpi_tls_data.is_null()
    {
        let from = info.dlpi_tls_data.addr().wrapping_sub(machine::thread_pointer()).cast_signed();
        // Those of a library that was loaded later may lie in memory of their own.
        if from.unsigned_abs() < 1 << 20 {
            *all = all.start.min(from)..all.end.max(from + tls.p_memsz as isize);
        }
    }
    0
}

/// The form of a block, if this glibc tells it: `_dl_get_tls_static_info`.
fn form(descriptor: usize) -> Option<BlockForm> {
    // SAFETY: glibc:elf/dl-tls.c: void _dl_get_tls_static_info (size_t *sizep, size_t *alignp).
    let ask: unsafe extern "C" fn(*mut usize, *mut usize) =
        unsafe { function(c"_dl_get_tls_static_info") }.ok()?;
    let (mut bytes, mut align) = (0, 0);
    // SAFETY: two numbers of ours.
    unsafe { ask(&raw mut bytes, &raw mut align) };
    let mut variables = 0..0;
    // SAFETY: the function is called for each object before this returns.
    unsafe { libc::dl_iterate_phdr(Some(add_variables), (&raw mut variables).cast()) };
    BlockForm::new((bytes, align), descriptor, variables)
}

/// Where the area lies that the kernel is told of for restartable sequences; absent before glibc 2.35.
///
/// It is there, and must say that it is not registered, even if this program registers none (`__rseq_size` is 0 then):
/// a thread that is made insists on what its maker's says.
fn rseq() -> Option<isize> {
    let offset: *mut isize = symbol(c"__rseq_offset").ok()?.cast();
    // SAFETY: an exported constant of this type.
    let offset = unsafe { offset.read() };
    (offset != 0).then_some(offset)
}

/// Looks at glibc and at the thread that runs, which is an OS thread of the C library's making.
fn probe() -> Found<Facts> {
    if !machine::prepare() {
        return Err("the thread pointer cannot be written, or ThreadSanitizer's word was not found");
    }
    let call = functions()?;
    let size = number(c"_thread_db_sizeof_pthread")?;
    if !(512..=16384).contains(&size) {
        return Err("the size of a thread's descriptor makes no sense");
    }
    let pointer = machine::thread_pointer();
    let thread = machine::descriptor_from_pointer(size);
    let own: *const u8 = core::ptr::with_exposed_provenance(pointer.wrapping_add_signed(thread));
    // SAFETY: no preconditions.
    if unsafe { libc::pthread_self() } as usize != own.addr() {
        return Err("pthread_self is not where the thread pointer says");
    }
    let tid = field(c"_thread_db_pthread_tid")?.offset;
    // SAFETY: within the thread that runs.
    if unsafe { own.wrapping_byte_add(tid).cast::<c_int>().read() } != raddle_syscall::thread_number() {
        return Err("a thread's number is not where glibc's descriptor says");
    }
    let list = field(c"_thread_db_pthread_list")?.offset;
    let entry_bits = bits(c"_thread_db_dtv_dtv")?;
    if entry_bits != 128 {
        return Err("an entry of the vector of libraries' variables has two words no more");
    }
    let mut keys = keys(own, size)?;
    let head =
        symbol(c"_rtld_global")?.wrapping_byte_add(field(c"_thread_db_rtld_global__dl_stack_user")?.offset);
    let anchors = anchor::make(thread, size, list, head, keys.blocks)?;
    keys.used = anchors.used;
    Ok(Facts {
        call,
        thread,
        tid,
        list,
        cancelhandling: field(c"_thread_db_pthread_cancelhandling")?.offset,
        robust: robust(own, tid)?,
        vector: field(c"_thread_db_pthread_dtvp")?.offset,
        stack: anchors.stack,
        keys,
        rseq: rseq(),
        libc: libc_variables()?,
        form: form(size),
        anchors,
    })
}

/// A null address, for the fields that are cleared.
pub(super) const NULL: *mut u8 = null_mut();

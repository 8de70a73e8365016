//! Owns: allocators and memory of the interface: all of them are the C library's; and memory of the device, the host.
//! May use: `abi`, `engine::member`, `heap`, `report`, `libc`.
//! Never: a pool.

use crate::abi::At;
use crate::engine::member::me;
use crate::heap::allocate;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// So many are there from the beginning.
const PREDEFINED: usize = 8;

/// What an allocator has been asked for.
#[derive(Clone, Copy)]
struct Traits {
    align: usize,
    pool: usize,
    /// What to do when there is no memory: 0 the default, 1 null, 2 abort, 3 another allocator.
    fallback: usize,
    other: usize,
    used: usize,
}

static MADE: Mutex<Vec<Option<Traits>>> = Mutex::new(Vec::new());

fn made() -> std::sync::MutexGuard<'static, Vec<Option<Traits>>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stands before each piece: its begin, its size, its allocator.
#[derive(Clone, Copy)]
#[repr(C)]
struct Header {
    begin: *mut u8,
    bytes: usize,
    allocator: usize,
}

fn header(memory: *mut u8) -> At<Header> {
    At::new(memory.wrapping_sub(size_of::<Header>()).cast())
}

/// With an allocator, zero being the caller's own.
fn with(bytes: usize, align: usize, allocator: usize) -> *mut u8 {
    if bytes == 0 {
        return null_mut();
    }
    let allocator = if allocator == 0 { omp_get_default_allocator() } else { allocator };
    let slot = allocator.wrapping_sub(PREDEFINED + 1);
    let traits = if allocator > PREDEFINED { made().get(slot).copied().flatten() } else { None };
    let align = align.max(traits.map_or(16, |traits| traits.align)).max(16);
    // The pool pays for what stands before, too.
    let room = size_of::<Header>().next_multiple_of(align);
    let fits = |traits: &Traits| traits.pool == 0 || traits.used + bytes + room <= traits.pool;
    if let Some(traits) = traits
        && !fits(&traits)
    {
        return match traits.fallback {
            1 => null_mut(),
            2 => crate::report::fatal("an allocator has no memory left"),
            3 => with(bytes, align, traits.other),
            _ => with(bytes, align, 1),
        };
    }
    let Some(all) = bytes.checked_add(room) else { return null_mut() };
    let begin = allocate(all, align);
    if begin.is_null() {
        return begin;
    }
    count(allocator, |used| used + all);
    let memory = begin.wrapping_add(room);
    header(memory).set(Header { begin, bytes, allocator });
    memory
}

/// Changes how much of an allocator's pool is used.
fn count(allocator: usize, change: impl Fn(usize) -> usize) {
    if let Some(Some(traits)) = made().get_mut(allocator.wrapping_sub(PREDEFINED + 1)) {
        traits.used = change(traits.used);
    }
}

fn zero(memory: *mut u8, bytes: usize) -> *mut u8 {
    if !memory.is_null() {
        // SAFETY: so many bytes, just allocated.
        unsafe { memory.write_bytes(0, bytes) };
    }
    memory
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_alloc(bytes: usize, allocator: usize) -> *mut u8 {
    with(bytes, 16, allocator)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_aligned_alloc(align: usize, bytes: usize, allocator: usize) -> *mut u8 {
    with(bytes, align, allocator)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_calloc(number: usize, bytes: usize, allocator: usize) -> *mut u8 {
    omp_aligned_calloc(16, number, bytes, allocator)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_aligned_calloc(
    align: usize,
    number: usize,
    bytes: usize,
    allocator: usize,
) -> *mut u8 {
    let Some(all) = number.checked_mul(bytes) else { return null_mut() };
    zero(with(all, align, allocator), all)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_realloc(memory: *mut u8, bytes: usize, allocator: usize, _: usize) -> *mut u8 {
    if memory.is_null() {
        return with(bytes, 16, allocator);
    }
    let old = header(memory).get();
    if bytes == 0 {
        omp_free(memory, 0);
        return null_mut();
    }
    // What is given back may be part of what is asked for.
    let all = memory.addr() - old.begin.addr() + old.bytes;
    count(old.allocator, |used| used - all);
    let new = with(bytes, 16, if allocator == 0 { old.allocator } else { allocator });
    count(old.allocator, |used| used + all);
    if !new.is_null() {
        // SAFETY: both have so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(memory, new, bytes.min(old.bytes)) };
        omp_free(memory, 0);
    }
    new
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_free(memory: *mut u8, _: usize) {
    if memory.is_null() {
        return;
    }
    let Header { begin, bytes, allocator } = header(memory).get();
    count(allocator, |used| used - (memory.addr() - begin.addr() + bytes));
    // SAFETY: it was allocated so.
    unsafe { libc::free(begin.cast()) };
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_alloc(align: usize, bytes: usize, allocator: usize) -> *mut u8 {
    let memory = with(bytes, align, allocator);
    if memory.is_null() && bytes > 0 {
        crate::report::fatal("Out of memory allocating");
    }
    memory
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_free(memory: *mut u8, allocator: usize) {
    omp_free(memory, allocator);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_alloc(_: i32, bytes: usize, allocator: usize) -> *mut u8 {
    with(bytes, 16, allocator)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_aligned_alloc(_: i32, align: usize, bytes: usize, allocator: usize) -> *mut u8 {
    with(bytes, align, allocator)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_calloc(_: i32, number: usize, bytes: usize, allocator: usize) -> *mut u8 {
    omp_calloc(number, bytes, allocator)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_realloc(
    _: i32,
    memory: *mut u8,
    bytes: usize,
    to: usize,
    from: usize,
) -> *mut u8 {
    omp_realloc(memory, bytes, to, from)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_free(_: i32, memory: *mut u8, allocator: usize) {
    omp_free(memory, allocator);
}

/// A key and a value.
#[derive(Clone, Copy)]
#[repr(C)]
struct Trait {
    key: i32,
    value: usize,
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_init_allocator(_space: usize, number: i32, list: At<Trait>) -> usize {
    let mut traits = Traits { align: 16, pool: 0, fallback: 0, other: 1, used: 0 };
    // Both compilers number keys from 1: synchronisation hint, alignment, access, pool size, fallback, its data, ...
    for Trait { key, value } in (0..number.max(0) as usize).map(|n| list.at(n).get()) {
        match key {
            2 if !value.is_power_of_two() => return 0,
            2 => traits.align = value,
            4 => traits.pool = value,
            5 => traits.fallback = value.wrapping_sub(11).min(3),
            6 => traits.other = value,
            _ => {}
        }
    }
    let mut all = made();
    all.push(Some(traits));
    all.len() + PREDEFINED
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_destroy_allocator(allocator: usize) {
    if let Some(slot) = made().get_mut(allocator.wrapping_sub(PREDEFINED + 1)) {
        *slot = None;
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_init_allocator(_: i32, space: usize, number: i32, list: At<Trait>) -> usize {
    omp_init_allocator(space, number, list)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_destroy_allocator(_: i32, allocator: usize) {
    omp_destroy_allocator(allocator);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_default_allocator(allocator: usize) {
    let task = me().task();
    let mut icv = task.icv.get();
    icv.allocator = allocator.max(1);
    task.icv.set(icv);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_default_allocator() -> usize {
    me().task().icv.get().allocator
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_set_default_allocator(_: i32, allocator: usize) {
    omp_set_default_allocator(allocator);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_get_default_allocator(_: i32) -> usize {
    omp_get_default_allocator()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_alloc(bytes: usize, _: i32) -> *mut u8 {
    if bytes == 0 { null_mut() } else { allocate(bytes, 16) }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_free(memory: *mut u8, _: i32) {
    // SAFETY: the program's, from the call above.
    unsafe { libc::free(memory.cast()) };
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_is_present(_: *mut u8, _: i32) -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_is_accessible(_: *mut u8, _: usize, _: i32) -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_associate_ptr(_: *mut u8, _: *mut u8, _: usize, _: usize, _: i32) -> i32 {
    libc::EINVAL
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_disassociate_ptr(_: *mut u8, _: i32) -> i32 {
    libc::EINVAL
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_mapped_ptr(memory: *mut u8, _: i32) -> *mut u8 {
    memory
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_memcpy(
    to: *mut u8,
    from: *mut u8,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    _: i32,
    _: i32,
) -> i32 {
    // SAFETY: the program's.
    unsafe { std::ptr::copy(from.wrapping_add(from_offset), to.wrapping_add(to_offset), bytes) };
    0
}

/// One dimension after the other.
#[unsafe(no_mangle)]
extern "C-unwind" fn omp_target_memcpy_rect(
    to: *mut u8,
    from: *mut u8,
    element: usize,
    number: i32,
    volume: At<usize>,
    to_offsets: At<usize>,
    from_offsets: At<usize>,
    to_sizes: At<usize>,
    from_sizes: At<usize>,
    to_device: i32,
    from_device: i32,
) -> i32 {
    if to.is_null() && from.is_null() {
        return i32::MAX;
    }
    if number == 1 {
        let bytes = element * volume.get();
        let offsets = (element * to_offsets.get(), element * from_offsets.get());
        return omp_target_memcpy(to, from, bytes, offsets.0, offsets.1, to_device, from_device);
    }
    let product =
        |sizes: At<usize>| (1..number as usize).map(|n| sizes.at(n).get()).product::<usize>() * element;
    let (to_slice, from_slice) = (product(to_sizes), product(from_sizes));
    for n in 0..volume.get() {
        let to = to.wrapping_add(to_slice * (to_offsets.get() + n));
        let from = from.wrapping_add(from_slice * (from_offsets.get() + n));
        omp_target_memcpy_rect(
            to,
            from,
            element,
            number - 1,
            volume.at(1),
            to_offsets.at(1),
            from_offsets.at(1),
            to_sizes.at(1),
            from_sizes.at(1),
            to_device,
            from_device,
        );
    }
    0
}

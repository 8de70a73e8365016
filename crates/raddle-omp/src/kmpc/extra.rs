//! Owns: libomp's locks with a site, its `kmp_*` calls, messages.
//! May use: `abi`, `engine::member`, `engine::reduction`, `heap`, `icv`, `lock`, `report`, `libc`.
//! Never: what changes how the runtime works: `kmp_*` settings are kept and answered.

use super::SourceSite;
use crate::abi::At;
use crate::engine::member::me;
use crate::icv::settings;
use crate::lock::{self, Nested};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

macro_rules! site_locks {
    ($($name:ident $lock:ty => $call:path;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(_: SourceSite, _: i32, lock: At<$lock>) {
            $call(lock);
        }
    )* };
}

fn clear(lock: At<u32>) {
    lock.set(0);
}

fn nothing(_: At<u32>) {}

site_locks! {
    __kmpc_init_lock u32 => clear;
    __kmpc_destroy_lock u32 => nothing;
    __kmpc_set_lock u32 => lock::omp_set_lock;
    __kmpc_unset_lock u32 => lock::omp_unset_lock;
    __kmpc_init_nest_lock *mut Nested => lock::omp_init_nest_lock;
    __kmpc_destroy_nest_lock *mut Nested => lock::omp_destroy_nest_lock;
    __kmpc_set_nest_lock *mut Nested => lock::omp_set_nest_lock;
    __kmpc_unset_nest_lock *mut Nested => lock::omp_unset_nest_lock;
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_init_lock_with_hint(_: SourceSite, _: i32, lock: At<u32>, _: u32) {
    clear(lock);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_init_nest_lock_with_hint(_: SourceSite, _: i32, lock: At<*mut Nested>, _: u32) {
    lock::omp_init_nest_lock(lock);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_test_lock(_: SourceSite, _: i32, lock: At<u32>) -> i32 {
    lock::omp_test_lock(lock)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_test_nest_lock(_: SourceSite, _: i32, lock: At<*mut Nested>) -> i32 {
    lock::omp_test_nest_lock(lock)
}

/// `ERROR`: how bad it is, 1 a warning, 2 the end.
#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_error(_: SourceSite, severity: i32, text: At<u8>) {
    let bytes: Vec<u8> = if text.is_null() {
        Vec::new()
    } else {
        (0..).map(|n| text.at(n).get()).take_while(|byte| *byte != 0).collect()
    };
    let text = String::from_utf8_lossy(&bytes);
    if severity == 2 {
        crate::report::fatal(&text);
    }
    crate::report::write(&format!("OMP: Warning: {text}\n"));
}

static BLOCKTIME: AtomicI32 = AtomicI32::new(200);
static STACK: AtomicUsize = AtomicUsize::new(0);

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_blocktime(milliseconds: i32) {
    BLOCKTIME.store(milliseconds, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_get_blocktime() -> i32 {
    BLOCKTIME.load(Ordering::Relaxed)
}

fn stack() -> usize {
    match STACK.load(Ordering::Relaxed) {
        0 => settings().stack_bytes,
        set => set,
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_get_stacksize() -> i32 {
    i32::try_from(stack()).unwrap_or(i32::MAX)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_get_stacksize_s() -> usize {
    stack()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_stacksize(bytes: i32) {
    STACK.store(bytes.max(0) as usize, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_stacksize_s(bytes: usize) {
    STACK.store(bytes, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_library(_: i32) {}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_get_library() -> i32 {
    2
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_library_serial() {
    let task = me().task();
    let mut icv = task.icv.get();
    icv.threads = 1;
    task.icv.set(icv);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_library_turnaround() {}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_library_throughput() {}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_defaults(text: At<u8>) {
    // What the environment says is read first, and changed then.
    let _ = settings();
    let bytes: Vec<u8> = (0..).map(|n| text.at(n).get()).take_while(|byte| *byte != 0).collect();
    if let Some(value) = String::from_utf8_lossy(&bytes).strip_prefix("OMP_TARGET_OFFLOAD=") {
        crate::icv::TARGET.store(crate::icv::target(value), Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_warnings_on() {}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_warnings_off() {}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_disp_num_buffers(_: i32) {}

// A mask of processors: so many bits.
type Mask = At<[u64; 16]>;

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_create_affinity_mask(mask: At<usize>) {
    mask.set(crate::engine::reduction::zeroed(128, 64));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_destroy_affinity_mask(mask: At<usize>) {
    crate::engine::reduction::free(mask.get());
    mask.set(0);
}

fn bits(mask: At<usize>) -> Mask {
    At::new(std::ptr::with_exposed_provenance_mut(mask.get()))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_get_affinity_max_proc() -> i32 {
    crate::icv::processors() as i32
}

/// -1 if there is no such processor.
fn change(processor: i32, mask: At<usize>, set: Option<bool>) -> i32 {
    if !(0..kmp_get_affinity_max_proc()).contains(&processor) {
        return -1;
    }
    let (mut all, processor) = (bits(mask).get(), processor as usize);
    let (word, bit) = (&mut all[processor / 64], 1 << (processor % 64));
    match set {
        Some(true) => *word |= bit,
        Some(false) => *word &= !bit,
        None => return (*word & bit != 0).into(),
    }
    bits(mask).set(all);
    0
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_affinity_mask_proc(processor: i32, mask: At<usize>) -> i32 {
    change(processor, mask, Some(true))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_unset_affinity_mask_proc(processor: i32, mask: At<usize>) -> i32 {
    change(processor, mask, Some(false))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_get_affinity_mask_proc(processor: i32, mask: At<usize>) -> i32 {
    change(processor, mask, None)
}

/// Members move between workers: they may be on all processors.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_get_affinity(mask: At<usize>) -> i32 {
    for processor in 0..kmp_get_affinity_max_proc() {
        change(processor, mask, Some(true));
    }
    0
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_set_affinity(_: At<usize>) -> i32 {
    crate::report::unsupported("kmp_set_affinity");
    0
}

fn allocate(bytes: usize, align: usize) -> *mut u8 {
    crate::heap::allocate(bytes, align)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_malloc(bytes: usize) -> *mut u8 {
    allocate(bytes, 16)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_aligned_malloc(bytes: usize, align: usize) -> *mut u8 {
    if align.is_power_of_two() { allocate(bytes, align) } else { std::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_calloc(number: usize, bytes: usize) -> *mut u8 {
    // SAFETY: the C library's.
    unsafe { libc::calloc(number, bytes) }.cast()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_realloc(memory: *mut u8, bytes: usize) -> *mut u8 {
    // SAFETY: the program's.
    unsafe { libc::realloc(memory.cast(), bytes) }.cast()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn kmp_free(memory: *mut u8) {
    // SAFETY: the program's.
    unsafe { libc::free(memory.cast()) };
}

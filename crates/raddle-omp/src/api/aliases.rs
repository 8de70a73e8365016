//! Owns: the names that clang's header gives some calls, beside those of the standard: `ompc_*`, `kmpc_*`.
//! May use: `abi`, `engine::member`, `icv`, `kmpc::extra`.
//! Never: a rule of its own.

use super::places;
use crate::abi::At;
use crate::kmpc::extra;

macro_rules! aliases {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)? = $call:path;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name($($argument: $type),*) $(-> $answer)? {
            $call($($argument),*)
        }
    )* };
}

aliases! {
    ompc_set_num_threads(threads: i32) = super::omp_set_num_threads;
    ompc_set_dynamic(on: i32) = super::omp_set_dynamic;
    ompc_set_nested(on: i32) = super::omp_set_nested;
    ompc_set_max_active_levels(levels: i32) = super::omp_set_max_active_levels;
    ompc_set_schedule(kind: u32, chunk: i32) = super::omp_set_schedule;
    ompc_get_ancestor_thread_num(level: i32) -> i32 = super::omp_get_ancestor_thread_num;
    ompc_get_team_size(level: i32) -> i32 = super::omp_get_team_size;
    ompc_set_affinity_format(text: At<u8>) = places::omp_set_affinity_format;
    ompc_get_affinity_format(buffer: At<u8>, size: usize) -> usize = places::omp_get_affinity_format;
    ompc_display_affinity(format: At<u8>) = places::omp_display_affinity;
    ompc_capture_affinity(buffer: At<u8>, size: usize, format: At<u8>) -> usize = places::omp_capture_affinity;
    kmpc_set_blocktime(milliseconds: i32) = extra::kmp_set_blocktime;
    kmpc_set_stacksize(bytes: i32) = extra::kmp_set_stacksize;
    kmpc_set_stacksize_s(bytes: usize) = extra::kmp_set_stacksize_s;
    kmpc_set_library(kind: i32) = extra::kmp_set_library;
    kmpc_set_defaults(text: At<u8>) = extra::kmp_set_defaults;
    kmpc_set_disp_num_buffers(number: i32) = extra::kmp_set_disp_num_buffers;
    kmpc_set_affinity_mask_proc(processor: i32, mask: At<usize>) -> i32 = extra::kmp_set_affinity_mask_proc;
    kmpc_unset_affinity_mask_proc(processor: i32, mask: At<usize>) -> i32 = extra::kmp_unset_affinity_mask_proc;
    kmpc_get_affinity_mask_proc(processor: i32, mask: At<usize>) -> i32 = extra::kmp_get_affinity_mask_proc;
    kmpc_malloc(bytes: usize) -> *mut u8 = extra::kmp_malloc;
    kmpc_aligned_malloc(bytes: usize, align: usize) -> *mut u8 = extra::kmp_aligned_malloc;
    kmpc_calloc(number: usize, bytes: usize) -> *mut u8 = extra::kmp_calloc;
    kmpc_realloc(memory: *mut u8, bytes: usize) -> *mut u8 = extra::kmp_realloc;
    kmpc_free(memory: *mut u8) = extra::kmp_free;
    omp_get_num_places_() -> i32 = places::omp_get_num_places;
    omp_get_place_num_() -> i32 = places::omp_get_place_num;
    omp_get_proc_bind_() -> i32 = places::omp_get_proc_bind;
    omp_get_partition_num_places_() -> i32 = places::omp_get_partition_num_places;
    omp_get_partition_place_nums_(numbers: At<i32>) = places::omp_get_partition_place_nums;
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_place_num_procs_(place: At<i32>) -> i32 {
    places::omp_get_place_num_procs(place.get())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_place_proc_ids_(place: At<i32>, ids: At<i32>) {
    places::omp_get_place_proc_ids(place.get(), ids);
}

/// 0: disabled; 1: the default; 2: mandatory.
#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_get_target_offload() -> i32 {
    crate::icv::TARGET.load(std::sync::atomic::Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_pop_num_threads(_: *const u8, _: i32) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_get_taskid() -> u64 {
    crate::engine::member::me().task.get().addr() as u64
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_get_parent_taskid() -> u64 {
    crate::engine::member::me().task().parent.get().addr() as u64
}

#[unsafe(no_mangle)]
extern "C-unwind" fn kmp_get_cancellation_status(_: i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_control_tool(_: i32, _: i32, _: *mut u8) -> i32 {
    // There is no tool.
    -2
}

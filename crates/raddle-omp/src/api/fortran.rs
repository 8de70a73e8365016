//! Owns: the names that Fortran's compilers make of `omp_*`: an underscore, arguments by address.
//! May use: `abi`, `lock`.
//! Never: a rule of its own.

use crate::abi::At;
use crate::lock::{self, Nested};

macro_rules! answers {
    ($($name:ident $call:ident $type:ty;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name() -> $type {
            super::$call()
        }
    )* };
}

answers! {
    omp_get_thread_num_ omp_get_thread_num i32;
    omp_get_num_threads_ omp_get_num_threads i32;
    omp_get_max_threads_ omp_get_max_threads i32;
    omp_get_num_procs_ omp_get_num_procs i32;
    omp_in_parallel_ omp_in_parallel i32;
    omp_in_final_ omp_in_final i32;
    omp_get_dynamic_ omp_get_dynamic i32;
    omp_get_nested_ omp_get_nested i32;
    omp_get_max_active_levels_ omp_get_max_active_levels i32;
    omp_get_default_device_ omp_get_default_device i32;
    omp_get_supported_active_levels_ omp_get_supported_active_levels i32;
    omp_get_thread_limit_ omp_get_thread_limit i32;
    omp_get_cancellation_ omp_get_cancellation i32;
    omp_get_max_task_priority_ omp_get_max_task_priority i32;
    omp_get_level_ omp_get_level i32;
    omp_get_active_level_ omp_get_active_level i32;
    omp_get_team_num_ omp_get_team_num i32;
    omp_get_num_teams_ omp_get_num_teams i32;
    omp_get_max_teams_ omp_get_max_teams i32;
    omp_get_teams_thread_limit_ omp_get_teams_thread_limit i32;
    omp_get_num_devices_ omp_get_num_devices i32;
    omp_get_initial_device_ omp_get_initial_device i32;
    omp_get_device_num_ omp_get_device_num i32;
    omp_is_initial_device_ omp_is_initial_device i32;
    omp_get_wtime_ omp_get_wtime f64;
    omp_get_wtick_ omp_get_wtick f64;
}

/// Of four bytes and, with another name, of eight.
macro_rules! takes {
    ($($name:ident $wide:ident $call:ident;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(value: At<i32>) {
            super::$call(value.get());
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $wide(value: At<i64>) {
            super::$call(value.get().clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        }
    )* };
}

takes! {
    omp_set_num_threads_ omp_set_num_threads_8_ omp_set_num_threads;
    omp_set_dynamic_ omp_set_dynamic_8_ omp_set_dynamic;
    omp_set_nested_ omp_set_nested_8_ omp_set_nested;
    omp_set_max_active_levels_ omp_set_max_active_levels_8_ omp_set_max_active_levels;
    omp_set_default_device_ omp_set_default_device_8_ omp_set_default_device;
    omp_set_num_teams_ omp_set_num_teams_8_ omp_set_num_teams;
    omp_set_teams_thread_limit_ omp_set_teams_thread_limit_8_ omp_set_teams_thread_limit;
    omp_display_env_ omp_display_env_8_ omp_display_env;
}

macro_rules! maps {
    ($($name:ident $wide:ident $call:path;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(value: At<i32>) -> i32 {
            $call(value.get())
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $wide(value: At<i64>) -> i32 {
            $call(i32::try_from(value.get()).unwrap_or(-1))
        }
    )* };
}

maps! {
    omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_ super::omp_get_ancestor_thread_num;
    omp_get_team_size_ omp_get_team_size_8_ super::omp_get_team_size;
}

macro_rules! locks {
    ($($name:ident $lock:ty => $call:path;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(lock: At<$lock>) {
            $call(lock);
        }
    )* };
}

fn clear(lock: At<u32>) {
    lock.set(0);
}

locks! {
    omp_init_lock_ u32 => clear;
    omp_destroy_lock_ u32 => clear;
    omp_set_lock_ u32 => lock::omp_set_lock;
    omp_unset_lock_ u32 => lock::omp_unset_lock;
    omp_init_nest_lock_ *mut Nested => lock::omp_init_nest_lock;
    omp_destroy_nest_lock_ *mut Nested => lock::omp_destroy_nest_lock;
    omp_set_nest_lock_ *mut Nested => lock::omp_set_nest_lock;
    omp_unset_nest_lock_ *mut Nested => lock::omp_unset_nest_lock;
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_test_lock_(lock: At<u32>) -> i32 {
    lock::omp_test_lock(lock)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_test_nest_lock_(lock: At<*mut Nested>) -> i32 {
    lock::omp_test_nest_lock(lock)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_schedule_(kind: At<u32>, chunk: At<i32>) {
    super::omp_set_schedule(kind.get(), chunk.get());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_schedule_(kind: At<u32>, chunk: At<i32>) {
    super::omp_get_schedule(kind, chunk);
}

//! Owns: libomp's atomic operations that the processor has none for, by size and by type.
//! May use: `abi`, `lock`, `wait`.
//! Never: operations that compilers emit themselves.

use super::SourceSite;
use crate::abi::At;
use crate::wait;
use std::sync::atomic::AtomicU32;

static LOCK: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_atomic_start() {
    crate::lock::take(&LOCK);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_atomic_end() {
    wait::unlock(&LOCK);
}

type Combine = unsafe extern "C-unwind" fn(*mut u8, *mut u8, *mut u8);

/// `*left = combine(*left, *right)`, by a function of the compiler's.
fn combine(left: *mut u8, right: *mut u8, by: Combine) {
    crate::lock::take(&LOCK);
    // SAFETY: the compiler's, for these.
    unsafe { by(left, left, right) };
    wait::unlock(&LOCK);
}

macro_rules! by_size {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(_: SourceSite, _: i32, left: *mut u8, right: *mut u8, by: Combine) {
            combine(left, right, by);
        }
    )* };
}

by_size! {
    __kmpc_atomic_1 __kmpc_atomic_2 __kmpc_atomic_4 __kmpc_atomic_8 __kmpc_atomic_10 __kmpc_atomic_16
    __kmpc_atomic_20 __kmpc_atomic_32
}

macro_rules! typed {
    ($($type:ty [$($name:ident $operation:expr;)*])*) => { $( $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(_: SourceSite, _: i32, left: At<$type>, right: $type) {
            crate::lock::take(&LOCK);
            let operation: fn($type, $type) -> $type = $operation;
            left.set(operation(left.get(), right));
            wait::unlock(&LOCK);
        }
    )* )* };
}

typed! {
    i32 [
        __kmpc_atomic_fixed4_add |a, b| a.wrapping_add(b);
        __kmpc_atomic_fixed4_sub |a, b| a.wrapping_sub(b);
        __kmpc_atomic_fixed4_mul |a, b| a.wrapping_mul(b);
        __kmpc_atomic_fixed4_div |a, b| a.wrapping_div(b);
        __kmpc_atomic_fixed4_andb |a, b| a & b;
        __kmpc_atomic_fixed4_orb |a, b| a | b;
        __kmpc_atomic_fixed4_xor |a, b| a ^ b;
        __kmpc_atomic_fixed4_max |a, b| a.max(b);
        __kmpc_atomic_fixed4_min |a, b| a.min(b);
        __kmpc_atomic_fixed4_wr |_, b| b;
    ]
    i64 [
        __kmpc_atomic_fixed8_add |a, b| a.wrapping_add(b);
        __kmpc_atomic_fixed8_sub |a, b| a.wrapping_sub(b);
        __kmpc_atomic_fixed8_mul |a, b| a.wrapping_mul(b);
        __kmpc_atomic_fixed8_div |a, b| a.wrapping_div(b);
        __kmpc_atomic_fixed8_andb |a, b| a & b;
        __kmpc_atomic_fixed8_orb |a, b| a | b;
        __kmpc_atomic_fixed8_xor |a, b| a ^ b;
        __kmpc_atomic_fixed8_max |a, b| a.max(b);
        __kmpc_atomic_fixed8_min |a, b| a.min(b);
        __kmpc_atomic_fixed8_wr |_, b| b;
    ]
    f32 [
        __kmpc_atomic_float4_add |a, b| a + b;
        __kmpc_atomic_float4_sub |a, b| a - b;
        __kmpc_atomic_float4_mul |a, b| a * b;
        __kmpc_atomic_float4_div |a, b| a / b;
        __kmpc_atomic_float4_max |a, b| a.max(b);
        __kmpc_atomic_float4_min |a, b| a.min(b);
        __kmpc_atomic_float4_wr |_, b| b;
    ]
    f64 [
        __kmpc_atomic_float8_add |a, b| a + b;
        __kmpc_atomic_float8_sub |a, b| a - b;
        __kmpc_atomic_float8_mul |a, b| a * b;
        __kmpc_atomic_float8_div |a, b| a / b;
        __kmpc_atomic_float8_max |a, b| a.max(b);
        __kmpc_atomic_float8_min |a, b| a.min(b);
        __kmpc_atomic_float8_wr |_, b| b;
    ]
}

macro_rules! reads {
    ($($name:ident $type:ty;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(_: SourceSite, _: i32, at: At<$type>) -> $type {
            crate::lock::take(&LOCK);
            let value = at.get();
            wait::unlock(&LOCK);
            value
        }
    )* };
}

reads! {
    __kmpc_atomic_fixed4_rd i32;
    __kmpc_atomic_fixed8_rd i64;
    __kmpc_atomic_float4_rd f32;
    __kmpc_atomic_float8_rd f64;
}

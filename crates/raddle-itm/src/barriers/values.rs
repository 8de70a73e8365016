//! Owns: the calls for values that Rust passes as C does.
//! May use: nothing.
//! Never: the algorithm.
//!
//! It holds `unsafe` for the names that C calls.

use super::{keep, read, write};
use std::arch::x86_64::__m128;

/// A complex number of C's, which is passed in the registers of its two parts.
#[repr(C)]
#[derive(Clone, Copy)]
struct Complex<T>(T, T);

/// A call that reads.
macro_rules! reads {
    ($type:ty: $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name(address: usize) -> $type {
                read(address)
            }
        )*
    };
}

/// A call that writes.
macro_rules! writes {
    ($type:ty: $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name(address: usize, value: $type) {
                write(address, value);
            }
        )*
    };
}

/// A call that keeps what stands there.
macro_rules! keeps {
    ($($name:ident: $type:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(address: usize) {
                keep(address, size_of::<$type>());
            }
        )*
    };
}

reads! { u8: _ITM_RU1 _ITM_RaRU1 _ITM_RaWU1 _ITM_RfWU1 }
writes! { u8: _ITM_WU1 _ITM_WaRU1 _ITM_WaWU1 }

reads! { u16: _ITM_RU2 _ITM_RaRU2 _ITM_RaWU2 _ITM_RfWU2 }
writes! { u16: _ITM_WU2 _ITM_WaRU2 _ITM_WaWU2 }

reads! { u32: _ITM_RU4 _ITM_RaRU4 _ITM_RaWU4 _ITM_RfWU4 }
writes! { u32: _ITM_WU4 _ITM_WaRU4 _ITM_WaWU4 }

reads! { u64: _ITM_RU8 _ITM_RaRU8 _ITM_RaWU8 _ITM_RfWU8 }
writes! { u64: _ITM_WU8 _ITM_WaRU8 _ITM_WaWU8 }

reads! { f32: _ITM_RF _ITM_RaRF _ITM_RaWF _ITM_RfWF }
writes! { f32: _ITM_WF _ITM_WaRF _ITM_WaWF }

reads! { f64: _ITM_RD _ITM_RaRD _ITM_RaWD _ITM_RfWD }
writes! { f64: _ITM_WD _ITM_WaRD _ITM_WaWD }

reads! { f64: _ITM_RM64 _ITM_RaRM64 _ITM_RaWM64 _ITM_RfWM64 }
writes! { f64: _ITM_WM64 _ITM_WaRM64 _ITM_WaWM64 }

reads! { Complex<f32>: _ITM_RCF _ITM_RaRCF _ITM_RaWCF _ITM_RfWCF }
writes! { Complex<f32>: _ITM_WCF _ITM_WaRCF _ITM_WaWCF }

reads! { Complex<f64>: _ITM_RCD _ITM_RaRCD _ITM_RaWCD _ITM_RfWCD }
writes! { Complex<f64>: _ITM_WCD _ITM_WaRCD _ITM_WaWCD }

/// Those of 16 bytes.
#[expect(improper_ctypes_definitions, reason = "C passes them in the same register, whatever their layout")]
mod vectors {
    use super::super::{read, write};
    use super::__m128;

    reads! { __m128: _ITM_RM128 _ITM_RaRM128 _ITM_RaWM128 _ITM_RfWM128 }
    writes! { __m128: _ITM_WM128 _ITM_WaRM128 _ITM_WaWM128 }
}

keeps! {
    _ITM_LU1: u8;
    _ITM_LU2: u16;
    _ITM_LU4: u32;
    _ITM_LU8: u64;
    _ITM_LF: f32;
    _ITM_LD: f64;
    _ITM_LM64: f64;
    _ITM_LCF: Complex<f32>;
    _ITM_LCD: Complex<f64>;
    _ITM_LM128: __m128;
}

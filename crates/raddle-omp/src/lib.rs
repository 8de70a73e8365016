//! Owns: OpenMP, as compilers call it: one engine, libgomp's calls and libomp's, and those of programs.
//! May use: `raddle-recorder`.
//! Never: a call that a Rust program makes.
//!
//! The crate becomes a shared library (`cargo xtask openmp`). Read `docs/OPENMP.md` for what it does; here read
//! `engine` first, then `gomp` and `kmpc`, which translate.

#![cfg_attr(
    not(loom),
    allow(non_snake_case, clippy::too_many_arguments, reason = "the names and forms are those of compilers")
)]

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod abi;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod api;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod calls;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod engine;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod gomp;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod heap;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod icv;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod kmpc;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod lock;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod micro;
#[cfg(all(test, loom))]
mod model;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod report;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod ticks;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod told;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod wait;

// Who looks for hangs and sends ticks, and who records: to be linked is enough.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
use raddle_recorder as _;

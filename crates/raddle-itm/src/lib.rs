//! Owns: transactions in C and C++, as gcc's code calls them.
//! May use: nothing.
//! Never: a call that a Rust program makes, or a scheduler: it sleeps in the kernel, by a call that others interpose.
//!
//! The crate becomes a shared library (`cargo xtask itm`), which `raddle exec --itm` preloads. Read `docs/ITM.md` for
//! what it does; here read `clock` first, then `tx`.
//!
//! The algorithm is NOrec (Dalessandro, Spear, Scott: *NOrec: Streamlining STM by Abolishing Ownership Records*, 2010):
//! one clock for all, values that are compared, and writes that wait for the commit. Nobody who has committed waits for
//! others to notice that (libitm does, and stands still when threads outnumber cores): what a transaction in vain reads
//! of memory that is gone is caught, in `fault`.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[cfg(not(loom))]
mod abi;
#[cfg(not(loom))]
mod actions;
#[cfg(not(loom))]
mod barriers;
#[cfg(not(loom))]
mod begin;
#[cfg(not(loom))]
mod blocks;
mod clock;
#[cfg(not(loom))]
mod clones;
#[cfg(not(loom))]
mod cxx;
#[cfg(not(loom))]
mod exceptions;
#[cfg(not(loom))]
mod fault;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod jump;
#[cfg(all(test, loom))]
mod model;
mod prim;
#[cfg(not(loom))]
mod queries;
#[cfg(not(loom))]
mod throws;
#[cfg(not(loom))]
mod turns;
#[cfg(not(loom))]
mod tx;

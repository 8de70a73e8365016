//! Owns: libgomp's calls, as gcc makes them: regions, barriers, critical, single, sections.
//! May use: `abi`, `engine`, `icv`, `lock`, `report`, `told`, `wait`.
//! Never: a rule of OpenMP's; that is the engine's.

mod cancel;
mod loops;
mod target;
mod tasks;

use crate::abi::{At, CFunction};
use crate::engine::fork;
use crate::engine::member::me;
use crate::engine::share::{self, Plan};
use crate::engine::team::RegionWork;
use crate::micro::from_where;
use crate::told::ProgramSite;
use crate::wait;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a region's flags say: how its threads are to be bound.
fn note_flags(flags: u32) {
    const BIND: u32 = 7;
    if flags & BIND != 0 {
        me().pushed_bind.set(crate::engine::place::clause(flags & BIND));
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel(function: CFunction, data: *mut u8, threads: u32, flags: u32) {
    note_flags(flags);
    fork::region(RegionWork::Data(function, data), threads, None);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_start(function: CFunction, data: *mut u8, threads: u32) {
    fork::begin(RegionWork::Data(function, data), threads, None);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_end() {
    fork::end();
}

fn sections(count: u32) -> Plan {
    Plan::new((1, 1, count.into()), crate::icv::DYNAMIC, 1)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_sections(
    function: CFunction,
    data: *mut u8,
    threads: u32,
    count: u32,
    flags: u32,
) {
    note_flags(flags);
    fork::region(RegionWork::Data(function, data), threads, Some(sections(count)));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_sections_start(
    function: CFunction,
    data: *mut u8,
    threads: u32,
    count: u32,
) {
    fork::begin(RegionWork::Data(function, data), threads, Some(sections(count)));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections_start(count: u32) -> u32 {
    share::begin(me(), sections(count), &[]);
    GOMP_sections_next()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections2_start(count: u32, reductions: At<usize>, memory: At<usize>) -> u32 {
    loops::begin_with(sections(count), &[], reductions, memory);
    GOMP_sections_next()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections_next() -> u32 {
    share::next(me()).map_or(0, |(from, _)| from as u32 + 1)
}

from_where! {
    GOMP_sections_end => loops::loop_end, "rdi";
    GOMP_sections_end_cancel => cancel::loop_end, "rdi";
    GOMP_barrier => barrier, "rdi";
    GOMP_single_copy_start => copy_start, "rdi";
    GOMP_single_copy_end => copy_end, "rsi";
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections_end_nowait() {
    share::end(me());
}

/// A construct that all members pass, without a loop: reductions over tasks.
#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_scope_start(reductions: At<usize>) {
    loops::begin_with(sections(0), &[], reductions, At::new(null_mut()));
    share::end(me());
}

/// A barrier, called from there.
extern "C-unwind" fn barrier(code: usize) {
    let member = me();
    member.site.set(ProgramSite::of_return(code));
    member.team().barrier(member);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_single_start() -> bool {
    share::is_first(me())
}

extern "C-unwind" fn copy_start(code: usize) -> *mut u8 {
    if share::is_first(me()) {
        return null_mut();
    }
    barrier(code);
    me().team().copied.load(Ordering::Relaxed)
}

extern "C-unwind" fn copy_end(data: *mut u8, code: usize) {
    me().team().copied.store(data, Ordering::Relaxed);
    barrier(code);
}

static CRITICAL: AtomicU32 = AtomicU32::new(0);
static ATOMIC: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_start() {
    crate::lock::take(&CRITICAL);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_end() {
    wait::unlock(&CRITICAL);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_name_start(name: At<u32>) {
    crate::lock::take(crate::lock::word(name));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_name_end(name: At<u32>) {
    wait::unlock(crate::lock::word(name));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_atomic_start() {
    crate::lock::take(&ATOMIC);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_atomic_end() {
    wait::unlock(&ATOMIC);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_ordered_start() {
    share::wait_for_turn(me());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_ordered_end() {}

fn message(text: At<u8>, length: usize) -> String {
    let length =
        if length == usize::MAX { (0..).take_while(|n| text.at(*n).get() != 0).count() } else { length };
    let bytes: Vec<u8> = (0..length).map(|n| text.at(n).get()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_warning(text: At<u8>, length: usize) {
    let said = if text.is_null() { String::new() } else { format!(": {}", message(text, length)) };
    crate::report::write(&format!("\nlibgomp: warning: error directive encountered{said}\n"));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_error(text: At<u8>, length: usize) {
    let said = if text.is_null() { String::new() } else { format!(": {}", message(text, length)) };
    crate::report::write(&format!("\nlibgomp: fatal error: error directive encountered{said}\n"));
    std::process::exit(1)
}

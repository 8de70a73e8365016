//! Owns: libgomp's `target` and `teams` constructs, on the host.
//! May use: `abi`, `engine::fork`, `engine::member`, `engine::reduction`, `icv`.
//! Never: a device.

use crate::abi::{At, CFunction};
use crate::engine::member::me;
use crate::engine::reduction;
use crate::icv::TEAMS;
use std::sync::atomic::Ordering;

const FIRSTPRIVATE: u16 = 12;

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_target(
    _: i32,
    function: CFunction,
    _: *mut u8,
    _: usize,
    host: *mut u8,
    _: *mut usize,
    _: *mut u8,
) {
    on_host(function, host, 0);
}

/// A region of the device's, which is the host: nothing of the outer region is seen in it.
fn on_host(function: CFunction, data: *mut u8, limit: u32) {
    crate::engine::fork::as_root(crate::icv::settings().first, || {
        limit_threads(limit);
        crate::abi::call(function, data);
    });
}

/// How many threads a region may have, by what gcc lists for devices: words of a kind and a value, up to one that is
/// zero. 0 if it says nothing of that.
fn limit_of(arguments: At<usize>) -> u32 {
    const KIND: usize = 0xff << 8;
    const LIMIT: usize = 2 << 8;
    const VALUE_FOLLOWS: usize = 1 << 7;
    if arguments.is_null() {
        return 0;
    }
    let mut at = 0;
    loop {
        let word = arguments.at(at).get();
        if word == 0 {
            return 0;
        }
        let follows = word & VALUE_FOLLOWS != 0;
        if word & KIND == LIMIT {
            let value = if follows { arguments.at(at + 1).get() } else { word >> 16 };
            return u32::try_from(value).unwrap_or(0);
        }
        at += 1 + usize::from(follows);
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_target_ext(
    _: i32,
    function: CFunction,
    number: usize,
    host: At<usize>,
    sizes: At<usize>,
    kinds: At<u16>,
    flags: u32,
    depend: At<usize>,
    arguments: At<usize>,
) {
    const HAS_DEPEND: u32 = 1 << 1;
    let _ = flags & HAS_DEPEND;
    if !depend.is_null() {
        super::tasks::wait_for(depend);
    }
    // What is firstprivate is the region's own.
    let mut copies = Vec::new();
    for n in 0..number {
        if kinds.at(n).get() & 0xff == FIRSTPRIVATE {
            let bytes = sizes.at(n).get();
            let copy = reduction::zeroed(bytes, 64);
            let from = std::ptr::with_exposed_provenance::<u8>(host.at(n).get());
            // SAFETY: as large as the compiler says, and new.
            unsafe {
                std::ptr::copy_nonoverlapping(from, std::ptr::with_exposed_provenance_mut(copy), bytes)
            };
            host.at(n).set(copy);
            copies.push(copy);
        }
    }
    on_host(function, host.pointer().cast(), limit_of(arguments));
    copies.into_iter().for_each(reduction::free);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_target_data() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_target_data_ext() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_target_end_data() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_target_update() {}

/// Data that is where it is wanted: only its dependences are waited for.
macro_rules! data_with_dependences {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(
            _: i32,
            _: usize,
            _: *mut u8,
            _: *mut u8,
            _: *mut u8,
            _: u32,
            depend: At<usize>,
        ) {
            if !depend.is_null() {
                super::tasks::wait_for(depend);
            }
        }
    )*};
}

data_with_dependences! { GOMP_target_update_ext GOMP_target_enter_exit_data }

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_offload_register() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_offload_register_ver() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_offload_unregister() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_offload_unregister_ver() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_teams(_: u32, limit: u32) {
    limit_threads(limit);
}

fn limit_threads(limit: u32) {
    if limit > 0 {
        let task = me().task();
        let mut icv = task.icv.get();
        icv.limit = icv.limit.min(limit);
        task.icv.set(icv);
    }
}

/// By a target region: the teams are one after the other. True while there is one more.
#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_teams4(least: u32, _: u32, limit: u32, first: bool) -> bool {
    let member = me();
    if first {
        limit_threads(limit);
        member.teams.set((0, least.max(1)));
        return true;
    }
    let (number, all) = member.teams.get();
    if number + 1 >= all {
        return false;
    }
    member.teams.set((number + 1, all));
    true
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_teams_reg(function: CFunction, data: *mut u8, teams: u32, limit: u32, _: u32) {
    let member = me();
    let set = u32::try_from(TEAMS.load(Ordering::Relaxed)).unwrap_or(0);
    let teams = match (teams, set) {
        (0, 0) => 3,
        (0, set) => set,
        (teams, _) => teams,
    };
    crate::engine::fork::league(teams, limit, || crate::abi::call(function, data));
    let _ = member;
}

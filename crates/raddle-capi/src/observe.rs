//! Owns: counters, dumps, the program's own marks and spans in a trace.
//! May use: `fault`, `handle`, `runtime`, `raddle`, `raddle-core`.
//! Never: a mark that is freed: a recorder may name it later.

use crate::fault::{Fault, entry};
use crate::handle::{Handle, Object, copy_for_program, expect, get, make, put, text};
use crate::runtime::RuntimeObject;
use raddle::Stats;
use raddle::trace::{self, Level, Mark};
use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;

/// The names of all counters, for C.
fn names() -> &'static [CString] {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    NAMES.get_or_init(|| Stats::default().entries().filter_map(|(name, _)| CString::new(name).ok()).collect())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_counter_name(index: usize) -> *const c_char {
    names().get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_counter(
    runtime: *const Handle<RuntimeObject>,
    name: *const c_char,
    out: *mut u64,
) -> c_int {
    entry(|| {
        let name = text(name)?;
        let total = if runtime.is_null() {
            raddle_core::runtime::with_here(raddle_core::runtime::Shared::total)
                .map_err(|error| Fault::Settings.told(error))?
        } else {
            get(runtime)?.get().shared().total()
        };
        let value = total.entries().find(|(known, _)| *known == name).ok_or(Fault::Invalid)?.1;
        put(out, value)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_dump(out: *mut *mut u8) -> c_int {
    entry(|| {
        expect(out)?;
        put(out, copy_for_program(raddle::dump().to_string().as_bytes())?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_trace_level(level: c_int) -> c_int {
    entry(|| {
        let level = match level {
            0 => Level::Off,
            1 => Level::Sched,
            2 => Level::Sync,
            3 => Level::User,
            _ => return Err(Fault::Invalid),
        };
        trace::set_level(level).map_err(|error| Fault::of_start(&error))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_trace_dump(file: *const c_char) -> c_int {
    entry(|| trace::dump(text(file)?).map_err(|error| Fault::of_os(&error)))
}

/// `raddle_mark_t`.
struct MarkObject(&'static Mark);

impl Object for MarkObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlmrk");
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mark_create(name: *const c_char, out: *mut *mut Handle<MarkObject>) -> c_int {
    entry(|| {
        expect(out)?;
        let name: &'static str = String::leak(text(name)?.to_owned());
        make(out, MarkObject(Box::leak(Box::new(Mark::new(name)))))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_trace_mark(mark: *const Handle<MarkObject>, value: u32) -> c_int {
    entry(|| {
        trace::mark(get(mark)?.0, value);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_trace_counter(mark: *const Handle<MarkObject>, value: u32) -> c_int {
    entry(|| {
        trace::counter(get(mark)?.0, value);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_span_begin(mark: *const Handle<MarkObject>) -> c_int {
    entry(|| {
        std::mem::forget(trace::enter(get(mark)?.0));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_span_end(mark: *const Handle<MarkObject>) -> c_int {
    entry(|| {
        trace::leave(get(mark)?.0);
        Ok(())
    })
}

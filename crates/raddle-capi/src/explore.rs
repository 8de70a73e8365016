//! Owns: `raddle_explore`: a function of the program's under very many schedules.
//! May use: `call`, `fault`, `handle`, `raddle`.
//! Never: a line on standard error: what was found is told the program.

use crate::call::{BodyFn, CBodyCall};
use crate::fault::{Fault, entry};
use crate::handle::{copy_for_program, put_if};
use raddle::cancel::is_cancelled;
use raddle::explore::{Options, try_explore};
use std::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
extern "C" fn raddle_explore(seeds: u32, body: BodyFn, argument: *mut c_void, report: *mut *mut u8) -> c_int {
    entry(|| {
        let body = CBodyCall::new(body, argument)?;
        let mut options = Options::default();
        if seeds > 0 {
            options.iterations = seeds;
        }
        let run = move || {
            let code = body.run();
            // What is left of a run that has failed is told so, and returns what it likes.
            assert!(code == 0 || is_cancelled(), "the body has returned {code}");
        };
        let Err(failure) = try_explore(options, run) else { return Ok(()) };
        if !report.is_null() {
            put_if(report, copy_for_program(failure.to_string().as_bytes())?);
        }
        Err(Fault::Found)
    })
}

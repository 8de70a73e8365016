//! Owns: what the page calls: functions with numbers as arguments; texts go through two buffers.
//! May use: `run`, `said`, `raddle-occam`.
//! Never: the page, files, threads, the clock; all that it imports is the time and where output goes (`outside`).
//!
//! The page writes a text where [`raddle_input`] says and calls a function; what that has to tell lies afterwards at
//! [`raddle_told`], as JSON. A program runs in turns ([`raddle_go`]) between which the page does other things: one
//! that never ends freezes nothing, and needs no shared memory, which a page without a server does not get.
//!
//! One instance runs one program: the page makes another instance for the next. A trap of WebAssembly, as from too
//! deep a recursion, ends an instance, never the page.

mod outside;
mod run;
mod said;

use raddle_occam::Options;
use raddle_occam::diag::Diagnostic;
use raddle_occam::pre::NoFiles;
use raddle_occam::source::{FileId, Sources};
use run::Running;
use std::cell::RefCell;

/// What an instance has.
#[derive(Default)]
struct State {
    input: Vec<u8>,
    told: String,
    running: Option<Running>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// How a call has gone: what the page compares with.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Status {
    /// It is done; of a program: it has come to its end.
    Done = 0,
    /// It can go on at once.
    Paused = 1,
    /// It waits for a key or for a time.
    Waits = 2,
    /// It has failed, and a report is told; of a text: it is refused, and the complaints are told.
    Failed = 3,
    /// There is nothing to do it with.
    Nothing = 4,
}

/// The name under which places in the text are shown.
const NAME: &str = "program.occ";

fn with_text(input: &[u8]) -> (Sources, Option<FileId>) {
    let mut sources = Sources::new();
    let text = String::from_utf8_lossy(input);
    let root = sources.add(NAME, &text);
    (sources, root)
}

/// Calls `act` with the text and the place for what is to be told.
fn act(act: impl FnOnce(&mut State) -> Status) -> u32 {
    STATE.with_borrow_mut(|state| {
        state.told.clear();
        act(state) as u32
    })
}

/// Where to write a text of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_input(bytes: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.clear();
        state.input.resize(bytes, 0);
        state.input.as_mut_ptr()
    })
}

/// Where what was told last lies.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_told() -> *const u8 {
    STATE.with_borrow(|state| state.told.as_ptr())
}

/// How many bytes that are.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_told_bytes() -> usize {
    STATE.with_borrow(|state| state.told.len())
}

/// Checks the text: tells the complaints and the tests that it has.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_check() -> u32 {
    act(|state| {
        let (mut sources, Some(root)) = with_text(&state.input) else { return Status::Nothing };
        let analysis = raddle_occam::analyse(&mut sources, root, &Options::default(), &mut NoFiles);
        state.told = format!(
            "{{\"complaints\":{},\"tests\":{}}}",
            said::complaints(analysis.diagnostics(), &sources),
            said::tests(analysis.program())
        );
        let refused = analysis.diagnostics().iter().any(Diagnostic::is_error);
        if refused { Status::Failed } else { Status::Done }
    })
}

/// Lays the text out; tells the new one, or the complaints.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_format() -> u32 {
    act(|state| {
        let (mut sources, Some(root)) = with_text(&state.input) else { return Status::Nothing };
        match raddle_occam::format::format(&mut sources, root, &mut NoFiles) {
            Ok(text) => {
                state.told = text;
                Status::Done
            }
            Err(complaints) => {
                state.told = said::complaints(&complaints, &sources);
                Status::Failed
            }
        }
    })
}

/// Tells the rule behind a code, `O0701`, which is the text.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_explain() -> u32 {
    act(|state| {
        let wanted = String::from_utf8_lossy(&state.input);
        let Some(text) = said::explanation(&wanted) else { return Status::Nothing };
        state.told = text;
        Status::Done
    })
}

/// Compiles the text and gets it ready to run: the program if `test` is 0, else its test of that number. Under `seed`
/// 0 who can run is first come, first served; every other number is a schedule.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_start(test: u32, seed: u64, memory_bytes: u32) -> u32 {
    act(|state| {
        let (mut sources, Some(root)) = with_text(&state.input) else { return Status::Nothing };
        match Running::of(&mut sources, root, test, seed, memory_bytes) {
            Ok(running) => {
                state.running = Some(running);
                Status::Done
            }
            Err(complaints) => {
                state.told = said::complaints(&complaints, &sources);
                Status::Failed
            }
        }
    })
}

/// Gives the program its turn: until that time (milliseconds, as the page gives them), or until so many dispatches, if
/// that is not 0. A report of what has ended it is told.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_go(until: f64, dispatches: u32) -> u32 {
    act(|state| {
        let State { told, running: Some(running), .. } = state else { return Status::Nothing };
        running.go(until, dispatches, told)
    })
}

/// A byte has been typed; one below 0 says that there will be none any more.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_key(key: i32) {
    STATE.with_borrow_mut(|state| {
        if let Some(running) = &state.running {
            running.key(u8::try_from(key).ok());
        }
    });
}

/// When a program that waits wants to go on, in milliseconds; infinite if only a key can help it.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_wakes_at() -> f64 {
    STATE.with_borrow(|state| state.running.as_ref().map_or(f64::INFINITY, Running::wakes_at))
}

/// Whether the program waits for a key.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_wants_key() -> u32 {
    STATE.with_borrow(|state| state.running.as_ref().is_some_and(Running::wants_key).into())
}

/// Tells who lives, what each does and the channels between them; of so many processes at most.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_network(most: u32) -> u32 {
    act(|state| {
        let Some(running) = &state.running else { return Status::Nothing };
        state.told = running.network(most as usize);
        Status::Done
    })
}

/// Tells what was counted.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_stats() -> u32 {
    act(|state| {
        let Some(running) = &state.running else { return Status::Nothing };
        state.told = running.stats();
        Status::Done
    })
}

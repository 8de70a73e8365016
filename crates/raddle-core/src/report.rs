//! Owns: what the scheduler itself says on standard error, and how it names a process there.
//! May use: `block::control`, `block::name`, `describe::wait`, `message`, `worker`, `raddle-context`,
//! `raddle-protocol`.
//! Never: being called on a path that is not already a failure, an overflow, or the user's wish (`RADDLE_STATS`).

use crate::block::{Block, describe_process};
use crate::describe::Wait;
use raddle_protocol::header::{Header, Kind};
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::sync::Once;

/// `process 'name' (#7, spawned at src/main.rs:3:5)`, for messages.
pub(crate) fn describe(header: *mut Header, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
    // SAFETY: the word is null or the header of what runs on this OS thread, which is alive.
    match unsafe { header.as_ref() }.map(|h| h.kind) {
        // SAFETY: the kind says that it is a block.
        Some(Kind::Process) => describe_process(unsafe { Block::of_header(header) }, out),
        Some(Kind::Worker) => write!(out, "a worker's own stack (a task, or the scheduler)"),
        _ => write!(out, "an OS thread"),
    }
}

/// What the process that runs here is about to wait for.
fn own_wait() -> Option<Wait<'static>> {
    let header: *mut Header = raddle_context::current::get().cast();
    // SAFETY: the word is null or the header of what runs on this OS thread, which is alive.
    let is_process = unsafe { header.as_ref() }.is_some_and(|running| running.kind == Kind::Process);
    // SAFETY: the kind says that it is a block.
    let block = is_process.then(|| unsafe { Block::of_header(header) })?;
    // SAFETY: it is the caller, which does not leave its wait before this report is made.
    unsafe { block.shows() }
}

/// A process that unwinds waits, and has held its worker for a second.
pub(crate) fn blocks_its_worker() {
    let mut text = String::new();
    let _infallible = describe(raddle_context::current::get().cast(), &mut text);
    if let Some(wait) = own_wait() {
        let _infallible = write!(text, " {wait};");
    }
    let why =
        "waits in a drop while it unwinds, which blocks its worker: a hang, if it waits for something there";
    let _unwritable = writeln!(std::io::stderr(), "raddle: {text} {why}");
}

/// A runtime has ended, and so many can never go on. So many of its OS threads stay for them.
pub(crate) fn abandoned(count: u64, kept: usize) {
    let what = "still waited, without a deadline, when their runtime ended, and have been abandoned";
    let with = match kept {
        0 => String::new(),
        1 => "; the OS thread on which they began is kept, with its thread-local variables".to_owned(),
        _ => {
            format!("; the {kept} OS threads on which they began are kept, with their thread-local variables")
        }
    };
    let _unwritable = writeln!(std::io::stderr(), "raddle: {count} processes or tasks {what}{with}");
}

/// Something fails: what led to it is worth a file, if there is a trace.
fn save_trace() {
    crate::worker::Worker::with_current(|worker| worker.shared().trace.note_failure());
}

/// Puts a line with the process's name before whatever panic hook is installed.
///
/// The standard hook knows only OS threads: it would say that `raddle-0` panicked.
pub(crate) fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    if std::thread::panicking() {
        // The first use of all, in a drop during unwinding: to change the hook now would be a second panic.
        return;
    }
    INSTALLED.call_once(|| {
        crate::message::BEFORE_ABORT.attach(&save_trace);
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if crate::worker::choice::takes_panic(info) {
                return;
            }
            let header: *mut Header = raddle_context::current::get().cast();
            // SAFETY: the word is null or the header of what runs on this OS thread, which is alive.
            let in_process = unsafe { header.as_ref() }.is_some_and(|h| h.kind == Kind::Process);
            if in_process {
                let mut text = String::from("raddle: in ");
                let _infallible = describe(header, &mut text).and_then(|()| text.write_char('\n'));
                let _unwritable = std::io::stderr().write_all(text.as_bytes());
                save_trace();
            }
            next(info);
        }));
    });
}

//! Owns: threads, processes and light processes: their making, their joining; parking, yielding, blocking.
//! May use: `call`, `cancel`, `fault`, `handle`, `runtime`, `time`, `raddle`, `raddle-core`.
//! Never: memory for a handle: a thread's is the address of its control block.

use crate::call::{CCall, Start, Word};
use crate::cancel::TokenObject;
use crate::fault::{CResult, Fault, entry, of_unwinding};
use crate::handle::{Handle, Object, end, expect, get, make, put, put_if, text};
use crate::runtime::RuntimeObject;
use crate::time::{deadline, span};
use raddle::cancel::Token;
use raddle::{csp, thread};
use raddle_core::spawn::{try_spawn, try_spawn_light};
use std::any::Any;
use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::time::Instant;

/// The least stack of a thread that does not ask for another.
const THREAD_STACK_BYTES: usize = 2 << 20;
/// `RADDLE_THREAD`, `RADDLE_PROCESS`, `RADDLE_LIGHT`.
const THREAD: c_int = 0;
const PROCESS: c_int = 1;
const LIGHT: c_int = 2;

/// `raddle_spawn_options_t`. Later versions append.
#[repr(C)]
struct SpawnOptions {
    size: usize,
    kind: c_int,
    worker: c_int,
    stack_size: usize,
    name: *const c_char,
    token: *const Handle<TokenObject>,
}

/// What the program has for a thread: never followed here but as a control block.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct ThreadWord(*mut ());

impl ThreadWord {
    fn get(self) -> CResult<*mut ()> {
        if self.0.is_null() { Err(Fault::Invalid) } else { Ok(self.0) }
    }

    /// The right to join it.
    fn take(self) -> CResult<csp::JoinHandle<Word>> {
        let word = self.get()?;
        // SAFETY: the interface asks for a thread that was spawned, and neither joined nor detached.
        Ok(unsafe { csp::JoinHandle::from_raw(word) })
    }

    /// As [`take`](Self::take), and the program keeps it.
    fn look(self) -> CResult<ManuallyDrop<csp::JoinHandle<Word>>> {
        self.take().map(ManuallyDrop::new)
    }
}

fn builder(kind: c_int) -> CResult<csp::Builder> {
    match kind {
        THREAD => Ok(csp::Builder::new().own_tls(true).stack_size(THREAD_STACK_BYTES)),
        PROCESS => Ok(csp::Builder::new()),
        // SAFETY: the interface asks for the condition of `csp::spawn_light`.
        LIGHT => Ok(unsafe { csp::Builder::new().light() }),
        _ => Err(Fault::Invalid),
    }
}

/// Gives the thread to the program, or detaches it.
#[inline(always)]
pub(crate) fn hand_out(out: *mut ThreadWord, spawned: csp::JoinHandle<Word>) {
    if out.is_null() {
        drop(spawned);
    } else {
        put_if(out, ThreadWord(spawned.into_raw()));
    }
}

#[inline(always)]
fn spawn(out: *mut ThreadWord, builder: csp::Builder, call: CCall) -> CResult {
    let spawned = builder.spawn(move || call.run()).map_err(|error| Fault::of_start(&error))?;
    hand_out(out, spawned);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_spawn(out: *mut ThreadWord, function: Start, argument: *mut c_void) -> c_int {
    entry(|| spawn(out, builder(THREAD)?, CCall::new(function, argument)?))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_spawn_process(out: *mut ThreadWord, function: Start, argument: *mut c_void) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        hand_out(out, try_spawn(move || call.run()).map_err(|error| Fault::of_start(&error))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_spawn_light(out: *mut ThreadWord, function: Start, argument: *mut c_void) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        // SAFETY: the interface asks for the condition of `csp::spawn_light`.
        let spawned = unsafe { try_spawn_light(move || call.run()) };
        hand_out(out, spawned.map_err(|error| Fault::of_start(&error))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_spawn_with(
    out: *mut ThreadWord,
    options: *const SpawnOptions,
    function: Start,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        expect(options.cast_mut())?;
        // SAFETY: the interface asks for options that `RADDLE_SPAWN_OPTIONS_INIT` has begun.
        let options = unsafe { &*options };
        if options.size < size_of::<SpawnOptions>() {
            return Err(Fault::Invalid.told("begin the options by RADDLE_SPAWN_OPTIONS_INIT"));
        }
        let mut made = builder(options.kind)?;
        if options.worker >= 0 {
            made = made.worker(options.worker.unsigned_abs() as usize);
        }
        if options.stack_size > 0 {
            made = made.stack_size(options.stack_size);
        }
        if !options.name.is_null() {
            made = made.name(text(options.name)?);
        }
        if options.token.is_null() {
            return spawn(out, made, call);
        }
        let token = get(options.token)?.0.clone();
        let spawned = made.spawn(move || run_in(&token, call)).map_err(|error| Fault::of_start(&error))?;
        hand_out(out, spawned);
        Ok(())
    })
}

/// The function returns what it likes when it was told of a cancellation; if that came first, it does not run.
fn run_in(token: &Token, call: CCall) -> Word {
    token.run(|| call.run()).unwrap_or_else(|cancelled| resume_unwind(Box::new(cancelled)))
}

/// How a thread has ended that has not returned: of its own waits its function was told by codes.
#[cold]
fn of_its_own(payload: Box<dyn Any + Send>) -> Fault {
    let fault = of_unwinding(payload);
    if fault == Fault::Cancelled { Fault::NotRun } else { fault }
}

#[inline(always)]
fn join(thread: ThreadWord, until: Option<Instant>, result: *mut Word) -> CResult {
    if !thread.look()?.wait_until(until) {
        return Err(Fault::TimedOut);
    }
    // It has ended: this neither waits nor is cancelled.
    let word = thread.take()?.join().map_err(of_its_own)?;
    put_if(result, word);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_join(thread: ThreadWord, result: *mut Word) -> c_int {
    entry(|| join(thread, None, result))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_join_for(thread: ThreadWord, timeout_ns: i64, result: *mut Word) -> c_int {
    entry(|| match span(timeout_ns) {
        Some(none) if none.is_zero() && !thread.look()?.is_finished() => Err(Fault::TimedOut),
        _ => join(thread, deadline(timeout_ns), result),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_detach(thread: ThreadWord) -> c_int {
    entry(|| thread.take().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_is_finished(thread: ThreadWord, out: *mut c_int) -> c_int {
    entry(|| put(out, thread.look()?.is_finished().into()))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_runtime_spawn(
    runtime: *const Handle<RuntimeObject>,
    out: *mut ThreadWord,
    function: Start,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        hand_out(out, get(runtime)?.get().spawn(move || call.run()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_id() -> u64 {
    csp::current().map_or(0, |process| process.id().number())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_yield() -> c_int {
    entry(|| {
        csp::yield_now();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_blocking(function: Start, argument: *mut c_void, result: *mut Word) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        put_if(result, raddle::blocking(move || call.run()));
        Ok(())
    })
}

/// At the end of an OS thread the standard library's park ends the program; this panics before, and that is told.
fn find_who_parks() {
    if csp::current().is_none() {
        drop(thread::current());
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_park() -> c_int {
    entry(|| {
        find_who_parks();
        thread::park();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_park_for(timeout_ns: i64) -> c_int {
    entry(|| {
        find_who_parks();
        match span(timeout_ns) {
            Some(timeout) => thread::park_timeout(timeout),
            None => thread::park(),
        }
        Ok(())
    })
}

/// `raddle_ref_t`: whom to unpark; may outlive it.
enum RefObject {
    Ours(csp::Process),
    Os(thread::Thread),
}

impl Object for RefObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlref");
}

#[unsafe(no_mangle)]
extern "C" fn raddle_ref_here(out: *mut *mut Handle<RefObject>) -> c_int {
    entry(|| make(out, csp::current().map_or_else(|| RefObject::Os(thread::current()), RefObject::Ours)))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_ref_of(thread: ThreadWord, out: *mut *mut Handle<RefObject>) -> c_int {
    entry(|| make(out, RefObject::Ours(thread.look()?.process())))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_unpark(who: *const Handle<RefObject>) -> c_int {
    entry(|| {
        match get(who)? {
            RefObject::Ours(process) => process.unpark(),
            RefObject::Os(thread) => thread.unpark(),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_ref_destroy(who: *mut Handle<RefObject>) -> c_int {
    entry(|| end(who).map(drop))
}

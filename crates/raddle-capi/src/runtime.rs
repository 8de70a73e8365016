//! Owns: settings, runtimes, the default runtime's start, the hook for deadlocks.
//! May use: `call`, `fault`, `handle`, `raddle`, `raddle-core`.
//! Never: an exit: a setting that is wrong is an error here.

use crate::call::{CCall, Start, Word};
use crate::fault::{CResult, Fault, entry, of_unwinding};
use crate::handle::{Handle, Object, end, expect, get, make, put, put_if, text};
use raddle::{BuildError, Builder, Runtime};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// `raddle_runtime_t`.
pub(crate) struct RuntimeObject(Runtime);

impl RuntimeObject {
    pub(crate) fn get(&self) -> &Runtime {
        &self.0
    }
}

impl Object for RuntimeObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlrun");
}

/// `raddle_options_t`.
struct OptionsObject(Mutex<Builder>);

impl Object for OptionsObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlopt");
}

impl OptionsObject {
    fn builder(&self) -> Builder {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(Builder) -> CResult<Builder>) -> CResult {
        let mut builder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *builder = change(builder.clone())?;
        Ok(())
    }
}

#[cold]
fn refusal(error: BuildError) -> Fault {
    match &error {
        BuildError::AlreadyStarted => Fault::Started,
        BuildError::Thread { cause, .. } => return Fault::of_os(cause),
        BuildError::Threads(_) | BuildError::NotLinked(_) => Fault::Unsupported,
        _ => Fault::Settings,
    }
    .told(&error)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_options_create(out: *mut *mut Handle<OptionsObject>) -> c_int {
    entry(|| make(out, OptionsObject(Mutex::new(Runtime::builder()))))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_options_destroy(options: *mut Handle<OptionsObject>) -> c_int {
    entry(|| end(options).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_options_set(
    options: *const Handle<OptionsObject>,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    entry(|| {
        let (name, value) = (text(name)?, text(value)?);
        get(options)?.change(|builder| builder.setting(name, value).map_err(refusal))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_options_light_processes(options: *const Handle<OptionsObject>) -> c_int {
    // SAFETY: the interface asks for the condition of `Builder::light_processes`.
    entry(|| get(options)?.change(|builder| Ok(unsafe { builder.light_processes() })))
}

/// `raddle_deadlock_fn`.
type Hook = Option<unsafe extern "C-unwind" fn(*const c_char, *mut c_void)>;

#[unsafe(no_mangle)]
extern "C" fn raddle_options_on_deadlock(
    options: *const Handle<OptionsObject>,
    hook: Hook,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let hook = hook.ok_or(Fault::Invalid)?;
        let argument = Word(argument);
        let tell = move |dump: &raddle::hang::Dump| {
            let argument = &argument;
            let report = CString::new(dump.to_string().replace('\0', " ")).unwrap_or_default();
            // SAFETY: the interface asks for a function that may be called so, on a thread of the runtime.
            unsafe { hook(report.as_ptr(), argument.0) }
        };
        get(options)?.change(|builder| Ok(builder.on_deadlock(tell)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_init(options: *const Handle<OptionsObject>) -> c_int {
    entry(|| {
        let builder = if options.is_null() { Runtime::builder() } else { get(options)?.builder() };
        builder.build_global().map_err(refusal)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_runtime_create(
    options: *const Handle<OptionsObject>,
    out: *mut *mut Handle<RuntimeObject>,
) -> c_int {
    entry(|| {
        expect(out)?;
        let builder = if options.is_null() { Runtime::builder() } else { get(options)?.builder() };
        make(out, RuntimeObject(builder.build().map_err(refusal)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_runtime_shutdown(runtime: *mut Handle<RuntimeObject>, abandoned: *mut u64) -> c_int {
    entry(|| {
        let shared: *const _ = get(runtime)?.get().shared();
        if raddle_core::runtime::place::is_on_worker_of(shared) {
            // It would wait for itself; and whoever has the handle goes on to use it.
            return Err(Fault::Deadlock);
        }
        put_if(abandoned, end(runtime)?.0.shutdown());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_runtime_run(
    runtime: *const Handle<RuntimeObject>,
    function: Start,
    argument: *mut c_void,
    result: *mut Word,
) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        put_if(result, get(runtime)?.0.run(move || call.run()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_runtime_workers(runtime: *const Handle<RuntimeObject>, out: *mut usize) -> c_int {
    entry(|| {
        if !runtime.is_null() {
            return put(out, get(runtime)?.0.workers());
        }
        put(out, raddle_core::runtime::with_here(|here| here.workers().len()).map_err(refusal)?)
    })
}

/// The stack of a main thread.
const MAIN_STACK_BYTES: usize = 8 << 20;

#[unsafe(no_mangle)]
extern "C" fn raddle_run(function: Start, argument: *mut c_void, result: *mut Word) -> c_int {
    entry(|| {
        let call = CCall::new(function, argument)?;
        let main = raddle::csp::Builder::new().name("main").stack_size(MAIN_STACK_BYTES);
        let main = main.spawn(move || call.run()).map_err(|error| Fault::of_start(&error))?;
        // The argument may be the caller's: it waits, whatever is cancelled.
        let joined = raddle::cancel::shield(|| main.join());
        put_if(result, joined.map_err(of_unwinding)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_worker() -> c_int {
    raddle::current_thread_index().and_then(|index| c_int::try_from(index).ok()).unwrap_or(-1)
}

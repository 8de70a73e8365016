//! Owns: how a call ends: the codes, their texts, the last error of a thread; no panic goes further than this.
//! May use: `libc`, `raddle`.
//! Never: an exit; a line on standard error.

use raddle::cancel::was_cancelled;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

macro_rules! faults {
    ($($name:ident = $code:literal, $word:literal, $text:literal;)*) => {
        /// Why a call did not do what it was asked for: a code of `raddle.h`.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) struct Fault(c_int);

        #[allow(non_upper_case_globals, reason = "they stand where variants of an enumeration would")]
        impl Fault {
            $(pub(crate) const $name: Fault = Fault($code);)*
        }

        /// Code, name, text.
        const FAULTS: &[(c_int, &CStr, &CStr)] = &[$(($code, $word, $text)),*];
    };
}

faults! {
    Invalid = 1, c"RADDLE_EINVAL", c"an argument is null or out of range";
    Handle = 2, c"RADDLE_EHANDLE", c"not a handle of this kind, or one that has been destroyed";
    Busy = 3, c"RADDLE_EBUSY", c"it is held or waited for, and was not destroyed";
    TimedOut = 4, c"RADDLE_ETIMEDOUT", c"not possible before the time was over";
    Cancelled = 5, c"RADDLE_ECANCELED", c"the region that the caller is in has been cancelled";
    Closed = 6, c"RADDLE_ECLOSED", c"the other ends of the channel are gone, or the semaphore is closed";
    Permission = 7, c"RADDLE_EPERM", c"it is not the caller that holds it";
    Deadlock = 8, c"RADDLE_EDEADLK", c"the caller would wait for itself";
    Memory = 9, c"RADDLE_ENOMEM", c"there is no memory for it";
    Settings = 10, c"RADDLE_ESETTING", c"a setting is wrong, or contradicts another";
    Started = 11, c"RADDLE_ESTARTED", c"the default runtime runs already";
    Unsupported = 12, c"RADDLE_ENOTSUP", c"this machine, or this kind of object, cannot do that";
    Os = 13, c"RADDLE_EOS", c"the operating system refused; errno says why";
    Panic = 14, c"RADDLE_EPANIC", c"a panic in the library";
    NotRun = 15, c"RADDLE_ENOTRUN", c"it was cancelled before it began, or a task before its end";
    Found = 16, c"RADDLE_EFOUND", c"a schedule was found under which it fails";
    Again = 17, c"RADDLE_EAGAIN", c"not yet: it is to be run or polled again";
    Mpi = 18, c"RADDLE_EMPI", c"MPI refused, or ranks do not expect the same of each other";
    Late = 19, c"RADDLE_ELATE", c"something of another rank did not come by the deadline";
}

pub(crate) const OK: c_int = 0;

pub(crate) type CResult<T = ()> = Result<T, Fault>;

thread_local! {
    /// What is to be said of the last error, if more than its code.
    static LAST: RefCell<CString> = RefCell::default();
    /// Whether there is anything in `LAST`, and whether it is of the error that is on its way.
    static KEPT: Cell<LastOf> = const { Cell::new(LastOf::Nothing) };
}

/// Of which error the text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastOf {
    Nothing,
    /// It has been returned.
    OfFormer,
    /// Its call has not come to its end.
    OfThis,
}

/// Keeps what there is to say. Nobody misses it in a thread that is about to end.
fn keep(text: String) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    if LAST.try_with(|last| last.replace(text)).is_ok() {
        KEPT.set(LastOf::OfThis);
    }
}

/// A call ends by an error: what an earlier one had to say is not said of this one.
#[cold]
#[inline(never)]
fn returned(fault: Fault) -> c_int {
    match KEPT.get() {
        LastOf::Nothing => {}
        LastOf::OfThis => KEPT.set(LastOf::OfFormer),
        LastOf::OfFormer => {
            let _ended = LAST.try_with(RefCell::take);
            KEPT.set(LastOf::Nothing);
        }
    }
    fault.0
}

impl Fault {
    /// A code of the program's; none if that is success.
    pub(crate) fn of_code(code: c_int) -> Option<Fault> {
        (code != OK).then_some(Fault(code))
    }

    pub(crate) fn code(self) -> c_int {
        self.0
    }

    /// Whether the program has said this.
    pub(crate) fn is(self, code: c_int) -> bool {
        self.0 == code
    }

    /// With a text for `raddle_last_error`.
    #[cold]
    pub(crate) fn told(self, why: impl std::fmt::Display) -> Fault {
        keep(why.to_string());
        self
    }

    /// What the operating system has answered; `errno` says it, too.
    #[cold]
    pub(crate) fn of_os(error: &io::Error) -> Fault {
        let fault = Fault::Os.told(error);
        // Last: to keep the text asks the allocator, which may have an error of its own.
        if let Some(number) = error.raw_os_error() {
            // SAFETY: the address of the caller's own `errno`.
            let errno = unsafe { libc::__errno_location() };
            // SAFETY: as above.
            unsafe { errno.write(number) };
        }
        fault
    }

    /// What the runtime has answered.
    #[cold]
    pub(crate) fn of_start(error: &io::Error) -> Fault {
        let fault = match error.kind() {
            io::ErrorKind::Unsupported => Fault::Unsupported,
            io::ErrorKind::OutOfMemory => Fault::Memory,
            io::ErrorKind::InvalidInput if error.get_ref().is_some_and(|e| e.is::<raddle::BuildError>()) => {
                Fault::Settings
            }
            io::ErrorKind::InvalidInput => Fault::Invalid,
            _ => return Fault::of_os(error),
        };
        fault.told(error)
    }
}

/// Runs a function of the interface: nothing unwinds out of it.
#[inline(always)]
pub(crate) fn entry(body: impl FnOnce() -> CResult) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OK,
        Ok(Err(fault)) => returned(fault),
        Err(payload) => returned(of_unwinding(payload)),
    }
}

/// As [`entry`], for a body that hands on the code of a function of the program's.
pub(crate) fn entry_of_code(body: impl FnOnce() -> CResult<c_int>) -> c_int {
    let mut code = OK;
    let own = entry(|| {
        code = body()?;
        Ok(())
    });
    if own == OK { code } else { own }
}

/// What was on its way: a cancellation, or a panic.
#[cold]
pub(crate) fn of_unwinding(payload: Box<dyn Any + Send>) -> Fault {
    if was_cancelled(&*payload) {
        return Fault::Cancelled;
    }
    let said = payload.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("of no known type");
    keep(said.to_owned());
    // A payload whose drop panics, too, is lost.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    Fault::Panic
}

fn find(code: c_int) -> Option<&'static (c_int, &'static CStr, &'static CStr)> {
    FAULTS.iter().find(|(number, ..)| *number == code)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_strerror(code: c_int) -> *const c_char {
    let text =
        if code == OK { c"success" } else { find(code).map_or(c"no code of raddle's", |fault| fault.2) };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn raddle_errname(code: c_int) -> *const c_char {
    let name = if code == OK { c"RADDLE_OK" } else { find(code).map_or(c"?", |fault| fault.1) };
    name.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn raddle_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

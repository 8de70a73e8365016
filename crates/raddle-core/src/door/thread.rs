//! Owns: threads of C, for adaptors: their making, their joining, their identity, their end from within.
//! May use: `block::control`, `process::foreign`, `process::handle`, `runtime`, `wait::park`, `worker`,
//! `raddle-context`.
//! Never: a table from identities to threads, or what else an adaptor keeps of a thread.
//!
//! ```
//! use raddle_core::door::thread::{self, ForeignBuilder};
//! use std::ffi::c_void;
//!
//! unsafe extern "C-unwind" fn twice(number: *mut c_void) -> *mut c_void {
//!     std::ptr::without_provenance_mut(number.addr() * 2)
//! }
//! # if raddle_context::tls::supported().is_err() { return Ok(()) }
//! // SAFETY: `twice` may be called anywhere, with any number.
//! let made = unsafe { ForeignBuilder::new().spawn(twice, std::ptr::without_provenance_mut(21)) }?;
//! assert_ne!(made.pthread(), thread::pthread_self());
//! assert_eq!(made.join()?.addr(), 42);
//! # Ok::<(), std::io::Error>(())
//! ```

pub use raddle_context::foreign::Start;
pub use raddle_context::tls::{ThreadEnds, pthread_self, set_ends};

use crate::block::Block;
use crate::process::foreign::{self, Call, ForeignSettings, ResultWord};
use crate::process::handle::Joiner;
use crate::runtime;
use crate::wait::park;
use crate::worker::Here;
use raddle_context::{ControlWords, SizeClass, tls};
use std::ffi::c_void;
use std::fmt;
use std::io;
use std::panic::Location;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// The program has an allocator of its own, whose locks are its threads' in the scheduler: who holds one may wait, and
/// an OS thread of the runtime's then waits for it in turn, in the kernel.
///
/// To be called before the runtime begins. Storage for threads is made ahead then, where the caller may wait, and there
/// are extra workers from the start: to make one takes that allocator, too.
///
/// ```
/// raddle_core::door::thread::allocator_may_wait();
/// # if raddle_context::tls::supported().is_err() { return Ok(()) }
/// raddle_core::Runtime::builder().workers(1).build()?.run(|| ());
/// # Ok::<(), raddle_core::BuildError>(())
/// ```
pub fn allocator_may_wait() {
    runtime::extra::let_malloc_wait();
}

/// The workers of the runtimes that begin after this are bound to these processors, one each, in this order and from
/// the first again, as by `RADDLE_PIN`; unless that, or the program, says that they are not to be. With fewer workers
/// than processors the n-th of `w` is bound to the one at `n * processors / w`. The first call holds.
///
/// ```
/// raddle_core::door::thread::pin_workers(vec![0]);
/// raddle_core::Runtime::builder().workers(1).build()?.run(|| ());
/// # Ok::<(), raddle_core::BuildError>(())
/// ```
pub fn pin_workers(processors: Vec<usize>) {
    runtime::pin_workers(processors);
}

/// How many workers the caller's runtime has; on an OS thread of the program's, the default one, which is started.
///
/// ```
/// assert!(raddle_core::door::thread::workers() > 0);
/// ```
pub fn workers() -> usize {
    runtime::with_here(|shared| shared.workers().len()).unwrap_or(1)
}

/// Settings of a thread of C.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until `spawn`"]
pub struct ForeignBuilder {
    name: Option<String>,
    stack_bytes: Option<usize>,
    memory: Option<(*mut u8, usize)>,
    worker: Option<usize>,
}

impl ForeignBuilder {
    /// No name, a stack of the runtime's usual size, any worker.
    pub fn new() -> ForeignBuilder {
        ForeignBuilder::default()
    }

    /// What reports call it.
    pub fn name(mut self, name: impl Into<String>) -> ForeignBuilder {
        self.name = Some(name.into());
        self
    }

    /// At least so many bytes of stack.
    pub fn stack_size(mut self, bytes: usize) -> ForeignBuilder {
        self.stack_bytes = Some(bytes);
        self
    }

    /// The stack lies in these bytes, from the lowest on, and it is the program's affair to guard them.
    ///
    /// An overflow is not reported, reports do not show what the thread stands in, and AddressSanitizer does not know
    /// of such a stack.
    pub fn stack_memory(mut self, lowest: *mut u8, bytes: usize) -> ForeignBuilder {
        self.memory = Some((lowest, bytes));
        self
    }

    /// It runs on this worker, and stays there.
    pub fn worker(mut self, worker: usize) -> ForeignBuilder {
        self.worker = Some(worker);
        self
    }

    /// Makes the thread. It computes by the caller's rounding mode at first, and begins with no signal mask or such of
    /// its own: those are its worker's.
    ///
    /// # Errors
    /// `OutOfMemory` if there is none for its storage; `InvalidInput` if no stack is so large, or so small (16 KiB
    /// of the program's memory), or there is no such worker; `Unsupported` where there is no storage for threads; and
    /// what starting the default runtime answers.
    ///
    /// # Safety
    /// `start` may be called with `argument` on any OS thread, once. What unwinds out of it, other than by force,
    /// aborts. Nobody else uses the memory given for its stack before it has been joined, or, if it is detached, has
    /// ended.
    #[track_caller]
    pub unsafe fn spawn(self, start: Start, argument: *mut c_void) -> io::Result<Thread> {
        const LEAST: usize = 16 << 10;
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        tls::supported().map_err(|why| io::Error::new(io::ErrorKind::Unsupported, why))?;
        if let Some((_, bytes)) = self.memory
            && bytes < LEAST
        {
            return Err(invalid(format!("{bytes} bytes are no stack: at least {LEAST}")));
        }
        if let Some(wanted) = self.worker {
            let workers = runtime::with_here(|runtime| runtime.workers().len())?;
            if wanted >= workers {
                return Err(invalid(format!(
                    "no worker {wanted}: the runtime has {workers}, numbered from 0"
                )));
            }
        }
        let class = self.stack_bytes.map(SizeClass::for_bytes).transpose();
        let class = class.map_err(|refused| invalid(refused.to_string()))?;
        let memory = self.memory.unwrap_or((null_mut(), 0));
        let call = Call { start, argument, memory, controls: ControlWords::here() };
        let site = Location::caller();
        let set = ForeignSettings { name: self.name.map(Into::into), class, worker: self.worker, site };
        if runtime::extra::malloc_may_wait() {
            // SAFETY: asked at once, and not kept.
            let is_short = unsafe { Here::current() }.is_none_or(|worker| worker.has_no_early_storage());
            if is_short {
                tls::TlsBlock::make_ahead();
            }
        }
        // SAFETY: it is given away at once.
        let made = match unsafe { Here::current() } {
            // SAFETY: passed on to the caller.
            Some(worker) => unsafe { foreign::spawn_here(worker, set, call) },
            // SAFETY: as above.
            None => runtime::with_here(|runtime| unsafe { foreign::spawn_outside(runtime, set, call) })?,
        };
        let no_memory =
            || io::Error::new(io::ErrorKind::OutOfMemory, "no memory for the storage of a thread");
        made.map(Thread).ok_or_else(no_memory)
    }
}

/// The right to join a thread of C. Dropped, it detaches the thread.
pub struct Thread(Joiner<ResultWord>);

impl Thread {
    /// What `pthread_self` gives in it: known from now on, and no other thread's until this one is joined, or is
    /// detached and has ended.
    pub fn pthread(&self) -> usize {
        self.0.pthread()
    }

    /// Waits for its end; what it has returned, or [left](leave) with. Its destructors have run.
    ///
    /// # Errors
    /// It never began, since the system refused it a stack.
    #[track_caller]
    pub fn join(self) -> io::Result<*mut c_void> {
        outcome(self.0.join())
    }

    /// As [`join`](Self::join), until `deadline`, if there is one.
    ///
    /// # Errors
    /// The right to join it, when the deadline has passed.
    #[track_caller]
    pub fn join_until(self, deadline: Option<Instant>) -> Result<io::Result<*mut c_void>, Thread> {
        self.0.join_until(deadline).map(outcome).map_err(Thread)
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.has_ended()
    }

    /// Nobody will join it: what it keeps is given back at its end, or now, if it has ended.
    pub fn detach(self) {
        drop(self);
    }

    /// This right as a word that C can keep.
    pub fn into_raw(self) -> *mut c_void {
        std::ptr::from_ref(self.0.into_block()).cast_mut().cast()
    }

    /// The right again.
    ///
    /// # Safety
    /// The word came from [`into_raw`](Self::into_raw), and is made a right once.
    pub unsafe fn from_raw(word: *mut c_void) -> Thread {
        // SAFETY: the caller's word is the address of a block, and blocks are never freed.
        let block = unsafe { &*word.cast::<Block>() };
        // SAFETY: and stands for its one handle.
        Thread(unsafe { Joiner::new(block) })
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Thread").field(&format_args!("{:#x}", self.pthread())).finish()
    }
}

fn outcome(result: std::thread::Result<ResultWord>) -> io::Result<*mut c_void> {
    match result {
        Ok(ResultWord(word)) => Ok(word),
        Err(_) => Err(io::Error::new(io::ErrorKind::OutOfMemory, "the system refused the thread a stack")),
    }
}

/// Whether the caller is a thread of C whose function runs: whether [`leave`] would end it.
pub fn is_here() -> bool {
    foreign::is_here()
}

/// Ends the calling thread of C, as if its function had returned `result`: its destructors run.
///
/// This unwinds nothing. `pthread_exit` unwinds first: by `_Unwind_ForcedUnwind`, whose stop function calls this when
/// it is told that the stack has ended. The exception that it passes on lies outside of the frames that go, in a
/// thread-local variable.
///
/// # Safety
/// [`is_here`]. Nobody misses the frames between the thread's function and this, which are not unwound: nothing in them
/// is waited for, borrowed, or to be dropped.
pub unsafe fn leave(result: *mut c_void) -> ! {
    // SAFETY: passed on to the caller.
    unsafe { foreign::leave(result) }
}

/// The caller waits for at least so long: `nanosleep`. On an OS thread it is the kernel's.
#[track_caller]
pub fn sleep(duration: Duration) {
    park::sleep(duration);
}

/// Lets others run: `sched_yield`. On an OS thread it is the kernel's.
pub fn yield_now() {
    park::yield_now();
}

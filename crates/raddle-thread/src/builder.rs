//! Owns: `spawn` and `Builder`: how a thread is made.
//! May use: `handle`, `raddle-core`.
//! Never: a stack; a thread gets one when it starts.

use super::handle::JoinHandle;
use raddle_core::message::end_if_of_settings;
use raddle_core::process::handle::Joiner;
use raddle_core::process::make::usual_stack_bytes;
use raddle_core::process::scope::ScopeData;
use raddle_core::spawn as processes;
use std::ffi::CString;
use std::io;

/// No thread has less: a panic that is printed with a backtrace takes a third of it.
const STACK_BYTES_MIN: usize = 64 << 10;

/// Settings of a thread that is to be spawned: name, stack size, worker.
///
/// ```
/// use raddle::thread;
/// let sum = thread::Builder::new().name("adder".into()).stack_size(256 * 1024).spawn(|| 1 + 2)?;
/// assert_eq!(sum.thread().name(), Some("adder"));
/// assert_eq!(sum.join().unwrap(), 3);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
    worker: Option<usize>,
}

impl Builder {
    /// No name, the usual stack size, any worker.
    #[expect(clippy::new_without_default, reason = "as in std, which has no `Default` here")]
    pub fn new() -> Builder {
        Builder { name: None, stack_size: None, worker: None }
    }

    /// The name that `thread::current`, reports, dumps, traces and panics show. Without null bytes:
    /// [`spawn`](Self::spawn) panics at one.
    ///
    /// The kernel does not know it: in `/proc`, in `ps -T` and by `pthread_getname_np` an OS thread has the name of its
    /// worker (`raddle-0`), whatever runs there. The kernel would have to be told at each switch, which takes ten times
    /// as long as the switch. For the same reason `pthread_setname_np` in a thread names the worker's OS thread.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// The least number of bytes of stack, rounded up to the next size class. Default: `RUST_MIN_STACK`, else 2 MiB.
    ///
    /// Stacks cost address space until they are touched.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Places the thread on the worker of this number, counted from 0. It starts there and stays. Beyond `std`.
    ///
    /// ```
    /// use raddle::thread;
    /// let first = thread::Builder::new().pin(0).spawn(|| "on the first worker")?;
    /// assert_eq!(first.join().unwrap(), "on the first worker");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pin(mut self, worker: usize) -> Builder {
        self.worker = Some(worker);
        self
    }

    /// Spawns the thread.
    ///
    /// # Errors
    /// `InvalidInput` if no size class is large enough for the stack, or there is no worker of this number;
    /// `Unsupported` where threads cannot have storage of their own (another C library than glibc); what starting the
    /// default runtime answers, if this is its first use.
    ///
    /// # Panics
    /// If the name holds a null byte.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: closure and result are `'static`.
        unsafe { self.spawn_unchecked(f) }
    }

    /// Spawns a thread that may borrow what the compiler does not see outlive it.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    ///
    /// # Safety
    /// What `f` and its result borrow outlives the thread. Who joins it knows.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        // SAFETY: passed on to the caller; there is no scope.
        unsafe { self.make(std::ptr::null(), f) }.map(JoinHandle::new)
    }

    /// The one place where threads are made.
    ///
    /// # Safety
    /// What `f` and its result borrow outlives the thread; `scope` is null or outlives it too.
    #[track_caller]
    pub(super) unsafe fn make<F, T>(self, scope: *const ScopeData, f: F) -> io::Result<Joiner<T>>
    where
        F: FnOnce() -> T,
    {
        let bytes = self.stack_size.unwrap_or_else(usual_stack_bytes).max(STACK_BYTES_MIN);
        let mut process = processes::Builder::new().own_tls(true).stack_size(bytes);
        if let Some(name) = self.name {
            drop(CString::new(&*name).expect("thread name may not contain interior null bytes"));
            process = process.name(name);
        }
        if let Some(worker) = self.worker {
            process = process.worker(worker);
        }
        // SAFETY: passed on to the caller.
        unsafe { process.spawn_unchecked(scope, f) }
    }
}

/// Spawns a thread with its own thread-local storage, on the caller's runtime (from an OS thread: the default one,
/// which starts on first use).
///
/// # Panics
/// If it cannot be made; [`Builder::spawn`] returns that as an error.
///
/// ```
/// use raddle::thread;
/// let answer = thread::spawn(|| 6 * 7);
/// assert_eq!(answer.join().unwrap(), 42);
/// ```
///
/// What is not [`Send`], or borrows what the thread may outlive, is refused:
///
/// ```compile_fail
/// let shared = std::rc::Rc::new(7);
/// raddle::thread::spawn(move || println!("{shared}"));
/// ```
///
/// ```compile_fail
/// let local = 7;
/// raddle::thread::spawn(|| println!("{local}"));
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).inspect_err(|error| end_if_of_settings(error)).expect("failed to spawn thread")
}

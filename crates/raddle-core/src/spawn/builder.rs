//! Owns: `spawn` and `Builder`: how a program has a process made.
//! May use: `block::control`, `block::current`, `message`, `process`, `runtime`, `worker::choice`, `worker::here`,
//! `raddle-context`, `raddle-protocol`.
//! Never: a stack; a process gets one when it starts.

use crate::block::{Block, current_header};
use crate::message;
use crate::process::handle::{JoinHandle, Joiner};
use crate::process::make::{Settings, Storage, fill, mark, roomy, spawn_outside};
use crate::process::scope::ScopeData;
use crate::runtime;
use crate::worker::Here;
use crate::worker::choice::point_at;
use raddle_context::{SizeClass, tls};
use raddle_protocol::header::Kind;
use std::io;
use std::panic::Location;
use std::sync::Arc;

/// Settings of a process that is to be spawned: name, stack size, worker.
///
/// ```
/// use raddle::csp;
/// let sum = csp::Builder::new().name("adder").stack_size(256 * 1024).spawn(|| 1 + 2)?;
/// assert_eq!(sum.join().unwrap(), 3);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default, Clone)]
#[must_use = "a builder does nothing until `spawn`"]
pub struct Builder {
    name: Option<String>,
    stack_bytes: Option<usize>,
    worker: Option<usize>,
    storage: Storage,
}

impl Builder {
    /// No name, the runtime's stack size, any worker.
    pub fn new() -> Self {
        Builder::default()
    }

    /// The name that reports and panics show.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The least number of bytes of stack; rounded up to the next size class, of which the runtime takes less than a
    /// page for itself.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }

    /// Places the process on the worker of this number, counted from 0. It starts there and stays.
    pub fn worker(mut self, worker: usize) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Makes it a *thread*: with thread-local storage of its own, so that it may change workers after it has started.
    #[doc(hidden)]
    pub fn own_tls(mut self, own: bool) -> Self {
        self.storage = if own { Storage::Own } else { Storage::Usual };
        self
    }

    /// Makes it a *light* process: in the thread-local storage of the worker that starts it, which it shares with
    /// whatever else runs there in that storage, and with which it stays. See [`spawn_light`].
    ///
    /// # Safety
    /// As [`spawn_light`].
    pub unsafe fn light(mut self) -> Self {
        self.storage = Storage::Worker;
        self
    }

    /// Spawns the process.
    ///
    /// # Errors
    /// `InvalidInput` if the runtime has no worker of this number, or no size class is large enough; `Unsupported` if
    /// it is to be a thread with storage of its own, and the machine has none; and what
    /// starting the default runtime answers, if this is its first use.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: closure and result are `'static`.
        let joiner = unsafe { self.spawn_unchecked(std::ptr::null(), f) }?;
        Ok(JoinHandle(joiner))
    }

    /// # Safety
    /// What `f` and its result borrow outlives the process; `scope` is null or outlives it too.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, scope: *const ScopeData, f: F) -> io::Result<Joiner<T>>
    where
        F: FnOnce() -> T,
    {
        let settings = self.checked()?;
        // SAFETY: passed on to the caller.
        unsafe { spawn_with(settings, scope, f) }
    }

    fn checked(self) -> io::Result<Settings> {
        let invalid = |e: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidInput, e.to_string());
        let class = self.stack_bytes.map(SizeClass::for_bytes).transpose().map_err(|e| invalid(&e))?;
        if let Some(wanted) = self.worker {
            let workers = runtime::with_here(|runtime| runtime.workers().len())?;
            if wanted >= workers {
                return Err(invalid(&format_args!(
                    "no worker {wanted}: the runtime has {workers}, numbered from 0; see RADDLE_WORKERS"
                )));
            }
        }
        if self.storage == Storage::Own {
            tls::supported().map_err(|why| io::Error::new(io::ErrorKind::Unsupported, why))?;
        }
        Ok(Settings {
            name: self.name.map(Arc::from),
            class,
            worker: self.worker,
            storage: self.storage,
            later: false,
        })
    }
}

/// Makes the block and hands it to a worker, or to the injection queue.
///
/// Compiled into each caller, most of whose settings are constants; what is seldom done is not.
///
/// # Safety
/// As [`Builder::spawn_unchecked`].
#[inline(always)]
#[track_caller]
pub unsafe fn spawn_with<F, T>(set: Settings, scope: *const ScopeData, f: F) -> io::Result<Joiner<T>>
where
    F: FnOnce() -> T,
{
    // SAFETY: passed on to the caller.
    unsafe { spawn_at(set, scope, Location::caller(), f) }
}

/// As [`spawn_with`], called at `site` in the program.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn spawn_at<F, T>(
    set: Settings,
    scope: *const ScopeData,
    site: &'static Location<'static>,
    f: F,
) -> io::Result<Joiner<T>>
where
    F: FnOnce() -> T,
{
    // SAFETY: it is used until the process is handed over, and nothing leaves its stack until then.
    let here = unsafe { Here::current() };
    // SAFETY: passed on to the caller.
    let Some(here) = here else { return unsafe { spawn_elsewhere(set, scope, site, f) } };
    let block = here.take_block();
    let class = set.class.unwrap_or(here.stack_class());
    fill(block, set.name, class, scope, site, here.next_id(), f);
    mark(block, set.storage, here.ways.process_flags, here.ways.job_flags);
    if set.later {
        here.submit_later(block, set.worker);
    } else {
        here.submit(block, set.worker);
    }
    point_at("spawn", site);
    // SAFETY: just made for a result of type `T`; this is its one handle.
    Ok(unsafe { Joiner::new(block) })
}

/// As [`spawn_with`], on an OS thread that is no worker, or in a `blocking`.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
unsafe fn spawn_elsewhere<F, T>(
    set: Settings,
    scope: *const ScopeData,
    site: &'static Location<'static>,
    f: F,
) -> io::Result<Joiner<T>>
where
    F: FnOnce() -> T,
{
    // SAFETY: passed on to the caller.
    Ok(runtime::with_here(|runtime| unsafe { spawn_outside(runtime, set, scope, site, f) })?)
}

/// Spawns on the caller's runtime what nobody waits for, with the stack of a job. The program asks for it at `site`.
pub fn spawn_alone(site: &'static Location<'static>, f: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let class = runtime::with_here(|runtime| roomy(runtime.stack_class))?;
    let set = Settings { class: Some(class), storage: Storage::Job, ..Settings::PLAIN };
    // SAFETY: the closure is `'static`.
    unsafe { spawn_at(set, std::ptr::null(), site, f) }.map(drop)
}

/// What runs here goes on for what the program has spawned at `site`: so reports say.
pub fn goes_on_for(site: &'static Location<'static>) {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    if unsafe { header.as_ref() }.is_some_and(|running| running.kind == Kind::Process) {
        // SAFETY: only processes are said to be so.
        unsafe { Block::of_header(header) }.site.set(site);
    }
}

/// Spawns a process on the caller's runtime (from an OS thread: the default one, which starts on first use).
///
/// It runs when its worker's current batch is dry or has had its time, or earlier on a worker that is idle, or when its
/// parent joins it. In which order processes begin is not promised, and none is taken off its worker: one that spins
/// until another has done something must give way in the loop (`csp::yield_now`), or wait by a channel, a lock or
/// `csp::park`.
///
/// # Panics
/// If the default runtime cannot be started; [`Builder::spawn`] returns that as an error.
///
/// ```
/// let answer = raddle::csp::spawn(|| 6 * 7);
/// assert_eq!(answer.join().unwrap(), 42);
/// ```
#[inline]
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: closure and result are `'static`.
    let joiner = unsafe { spawn_with(Settings::PLAIN, std::ptr::null(), f) };
    JoinHandle(message::started(joiner))
}

/// Spawns a *light* process: as [`spawn`], but it has no thread-local storage of its own.
///
/// It runs in that of the worker which starts it, and stays there. A switch between two of them costs a third of one
/// between processes, and what cannot move cannot come together: measure before taking it.
///
/// # Safety
/// Whatever the process waits for, others run meanwhile in the same thread-local storage. So while it waits (for a
/// channel, a lock, a join, a `yield_now`), nothing of it may depend on a thread-local variable: its own code and what
/// it calls, dependencies included, must not wait
///
/// * in the initialiser of a lazy `thread_local!`, nor in the closure of a [`LocalKey::with`](std::thread::LocalKey);
/// * with a scoped thread-local set, nor with a guard alive that will put one back;
/// * with a reference, or a raw pointer, into thread-local storage that is used after the wait.
///
/// ```
/// // SAFETY: it uses no thread-local variable.
/// let answer = unsafe { raddle::csp::spawn_light(|| 6 * 7) };
/// assert_eq!(answer.join().unwrap(), 42);
/// ```
///
/// # Panics
/// As [`spawn`].
#[inline]
#[track_caller]
pub unsafe fn spawn_light<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let light = Settings { storage: Storage::Worker, ..Settings::PLAIN };
    // SAFETY: closure and result are `'static`.
    let joiner = unsafe { spawn_with(light, std::ptr::null(), f) };
    JoinHandle(message::started(joiner))
}

/// As [`spawn`], for C: what the default runtime's start answers is an error.
#[doc(hidden)]
#[inline]
#[track_caller]
pub fn try_spawn<F, T>(f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: closure and result are `'static`.
    unsafe { spawn_with(Settings::PLAIN, std::ptr::null(), f) }.map(JoinHandle)
}

/// As [`try_spawn`], a light process.
///
/// # Safety
/// As [`spawn_light`].
#[doc(hidden)]
#[inline]
#[track_caller]
pub unsafe fn try_spawn_light<F, T>(f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let light = Settings { storage: Storage::Worker, ..Settings::PLAIN };
    // SAFETY: closure and result are `'static`.
    unsafe { spawn_with(light, std::ptr::null(), f) }.map(JoinHandle)
}

/// Spawns a process on the worker of this number, where it stays: explicit placement.
///
/// # Panics
/// If there is no such worker; [`Builder::spawn`] returns that as an error.
///
/// ```
/// raddle::csp::spawn_on(0, || println!("on the first worker")).join().unwrap();
/// ```
#[track_caller]
pub fn spawn_on<F, T>(worker: usize, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let spawned = Builder::new().worker(worker).spawn(f);
    spawned.unwrap_or_else(|error| {
        message::end_if_of_settings(&error);
        panic!("spawn_on({worker}): {error}")
    })
}

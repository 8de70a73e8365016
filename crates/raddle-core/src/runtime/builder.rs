//! Owns: `Builder`: from settings to running workers.
//! May use: `block::current`, `config`, `message`, `observe`, `os_thread`, `policy`, `process::make`,
//! `report`, `worker`, `libc`, `raddle-context`, `raddle-protocol`, `raddle-syscall`, `raddle-trace`.
//! Never: a half-started runtime left behind: if an OS thread is refused, those that run are ended again.

use crate::config::{Config, ConfigError};
use crate::message;
use crate::observe::{DeadlockHandler, Dump, HangPlan, OnDeadlock};
use crate::observe::{EXPLORER, Explorer, NotLinked, Seed, Seeded};
use crate::os_thread::{self, Registration};
use crate::policy::{Balance, Futures, Queues, Victim};
use crate::process::make::{make_job, make_retiree, usual_flags};
use crate::report;
use crate::runtime::{Runtime, Shared, extra};
use crate::worker::hooks::{Hooks, Launch};
use crate::worker::recording::Trace;
use crate::worker::shared::Looks;
use crate::worker::watching::WATCHER;
use crate::worker::{Worker, current_header, ends};
use raddle_context::overflow::{self, AltStack};
use raddle_context::tls::{self, TlsPool, UsedBlocks};
use raddle_context::{SizeClass, StackDepot, StackError, StackOptions, StackPool};
use raddle_protocol::header::{ANEW, HOLDS, OWN_TLS};
use raddle_protocol::prim::fence_is_asymmetric;
use raddle_trace::Level;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Settings for a runtime. What is not set here comes from `RADDLE_*`, and else has its default.
///
/// ```
/// use raddle::{Balance, Runtime};
/// let runtime = Runtime::builder().workers(2).balance(Balance::Share).build()?;
/// assert_eq!(runtime.policy().balance, Balance::Share);
/// # Ok::<(), raddle::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    config: Config,
    stack_bytes: Option<usize>,
    name: Option<String>,
    scatters: bool,
    explorer: Option<Arc<dyn Explorer>>,
    on_deadlock: Option<DeadlockHandler>,
    hooks: Hooks,
    /// The first worker's OS thread is the caller's.
    caller_works: bool,
    /// The program has declared that its processes may share their worker's storage.
    light: bool,
    /// A job holds its OS thread, whose storage it uses.
    jobs_hold: bool,
    /// Extra workers may be begun: their OS threads are ours to make, and nobody counts them.
    may_grow: bool,
}

/// Why a runtime could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting is wrong, or two contradict each other.
    Config(ConfigError),
    /// The operating system refused an OS thread.
    Thread {
        /// The worker that it was for.
        worker: usize,
        /// What the system said.
        cause: io::Error,
    },
    /// The stack size is larger than the largest size class.
    Stack(StackError),
    /// Processes have thread-local storage of their own, which this machine cannot give them.
    Threads(tls::Unsupported),
    /// [`Builder::build_global`] came too late: the default runtime runs already.
    AlreadyStarted,
    /// A setting asks for a part of Raddle that the program is built without.
    NotLinked(NotLinked),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Config(e) => e.fmt(f),
            BuildError::Thread { worker, cause } => {
                write!(
                    f,
                    "no OS thread for worker {worker}: {cause}; ask for fewer with RADDLE_WORKERS, or raise ulimit -u"
                )
            }
            BuildError::Stack(e) => e.fmt(f),
            BuildError::Threads(e) => e.fmt(f),
            BuildError::AlreadyStarted => f.write_str(
                "the default runtime runs already; build it before its first use, first thing in `main`",
            ),
            BuildError::NotLinked(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Config(e) => Some(e),
            BuildError::Thread { cause, .. } => Some(cause),
            BuildError::Stack(e) => Some(e),
            BuildError::Threads(e) => Some(e),
            BuildError::AlreadyStarted => None,
            BuildError::NotLinked(e) => Some(e),
        }
    }
}

impl message::StartError for BuildError {
    fn is_of_settings(&self) -> bool {
        matches!(self, BuildError::Config(_) | BuildError::NotLinked(_))
    }
}

impl message::StartError for io::Error {
    fn is_of_settings(&self) -> bool {
        let inner = self.get_ref().and_then(|inner| inner.downcast_ref::<BuildError>());
        inner.is_some_and(BuildError::is_of_settings)
    }
}

impl From<BuildError> for io::Error {
    fn from(error: BuildError) -> io::Error {
        let kind = match &error {
            BuildError::Thread { cause, .. } => cause.kind(),
            BuildError::Threads(_) | BuildError::NotLinked(_) => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, error)
    }
}

impl Builder {
    /// Sets what a `RADDLE_*` variable sets, given the variable's name: for command lines.
    ///
    /// ```
    /// use raddle::Runtime;
    ///
    /// let builder = Runtime::builder().setting("RADDLE_WORKERS", "2")?;
    /// assert_eq!(builder.worker_count()?, 2);
    /// // The whole name is asked for: else a slip of the pen would be a setting that is not heeded.
    /// assert!(builder.setting("WORKERS", "3").is_err());
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such setting, or it cannot have that value.
    pub fn setting(mut self, variable: &str, value: &str) -> Result<Self, BuildError> {
        self.config.set_by_name(variable, value).map_err(BuildError::Config)?;
        Ok(self)
    }

    /// How many workers [`build`](Self::build) would start.
    ///
    /// # Errors
    /// If a setting, here or in `RADDLE_*`, is wrong or contradicts another.
    pub fn worker_count(&self) -> Result<usize, BuildError> {
        self.settled().map(|config| config.worker_count())
    }

    /// Whether what [`build`](Self::build) would start writes a trace.
    ///
    /// # Errors
    /// As [`worker_count`](Self::worker_count).
    pub fn is_traced(&self) -> Result<bool, BuildError> {
        self.settled().map(|config| config.trace.is_some())
    }

    /// What was set here, and for the rest the environment's.
    fn settled(&self) -> Result<Config, BuildError> {
        let mut config = self.config.clone().or(Config::from_env().map_err(BuildError::Config)?);
        if let Some(bytes) = self.stack_bytes {
            config.stack_class = Some(SizeClass::for_bytes(bytes).map_err(BuildError::Stack)?);
        }
        config.in_bounds().map_err(BuildError::Config)?;
        config.policy().map_err(BuildError::Config)?;
        config.lightness(self.light).map_err(BuildError::Config)?;
        Ok(config)
    }

    /// The number of workers; default: the cores that affinity and cgroup really give.
    pub fn workers(mut self, workers: usize) -> Self {
        self.config.workers = Some(workers);
        self
    }

    /// How many task queues there are for what any worker may run.
    pub fn queues(mut self, queues: Queues) -> Self {
        self.config.queues = Some(queues);
        self
    }

    /// Who moves work between workers.
    pub fn balance(mut self, balance: Balance) -> Self {
        self.config.balance = Some(balance);
        self
    }

    /// Whom an idle worker looks at first.
    pub fn victim(mut self, victim: Victim) -> Self {
        self.config.victim = Some(victim);
        self
    }

    /// Whether something that has started may come to run on another worker.
    pub fn migration(mut self, on: bool) -> Self {
        self.config.migration = Some(on);
        self
    }

    /// Processes are *light*: without thread-local storage of their own, in that of the worker that starts them, with
    /// which they stay. `RADDLE_PROCESSES=full` gives them storage of their own nevertheless.
    ///
    /// A switch between two of them costs a third of one between processes, and they work where the C library is not
    /// glibc. But what cannot move cannot come together, nor go to a worker that is idle: measure before taking it.
    ///
    /// # Safety
    /// For every process of the runtime, the condition of [`spawn_light`](crate::spawn::spawn_light) holds: whatever it
    /// waits for, it does not depend on a thread-local variable meanwhile, nor does any code that it calls, that of
    /// dependencies included.
    ///
    /// ```
    /// use raddle::{Runtime, csp};
    /// // SAFETY: no process uses a thread-local variable.
    /// let runtime = unsafe { Runtime::builder().workers(1).light_processes() }.build()?;
    /// assert_eq!(runtime.run(|| csp::spawn(|| 7).join().unwrap()), 7);
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub unsafe fn light_processes(mut self) -> Self {
        self.light = true;
        self
    }

    /// Which forks lie open to thieves.
    pub fn futures(mut self, futures: Futures) -> Self {
        self.config.futures = Some(futures);
        self
    }

    /// The period of the balance `fair`, and the longest timed sleep of an idle worker while others are busy.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.config.tick = Some(tick);
        self
    }

    /// How long an idle worker keeps looking before it sleeps; default: not at all.
    pub fn spin(mut self, spin: Duration) -> Self {
        self.config.spin = Some(spin);
        self
    }

    /// Whether each worker is bound to one of the allowed processors; default: no.
    pub fn pin_workers(mut self, pin: bool) -> Self {
        self.config.pin = Some(pin);
        self
    }

    /// The stack of a process that does not ask for another, in bytes; default: 64 KiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }

    /// Whether the deepest use of a stack is measured, for [`Runtime::deepest_stack`]; default: no.
    ///
    /// Each stack is filled with a pattern before it is used, so this is for finding a size, not for production.
    pub fn measure_stacks(mut self, on: bool) -> Self {
        self.config.measure_stacks = Some(on);
        self
    }

    /// Whether the runtime prints its counters on standard error when it ends; default: no.
    pub fn print_stats(mut self, on: bool) -> Self {
        self.config.stats = Some(on);
        self
    }

    /// One worker, which takes every choice from this seed, so that a program runs the same way again. Time is virtual.
    ///
    /// It wins over [`workers`](Self::workers). See `raddle::explore` for what a seed decides and what not.
    ///
    /// ```
    /// use raddle::{Runtime, csp};
    /// let way = |seed| {
    ///     let runtime = Runtime::builder().seed(seed).build().unwrap();
    ///     runtime.run(|| (0..9).map(|_| csp::spawn(csp::yield_now)).for_each(|child| child.join().unwrap()));
    ///     runtime.schedule_hash()
    /// };
    /// assert_eq!(way(1), way(1));
    /// assert_ne!(way(1), way(2));
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = Some(Seed::Number(seed));
        self
    }

    /// One worker, for which `explorer` decides.
    #[doc(hidden)]
    pub fn explored(mut self, explorer: Arc<dyn Explorer>) -> Self {
        self.config.seed = Some(Seed::Number(0));
        self.explorer = Some(explorer);
        self
    }

    /// Records what the scheduler does, and writes it into this file when the runtime ends: see [`crate::trace`].
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Self {
        self.config.trace = Some(file.into());
        self
    }

    /// How much is recorded; default: `sched` if there is to be a file, else nothing.
    pub fn trace_level(mut self, level: Level) -> Self {
        self.config.trace_level = Some(level);
        self
    }

    /// What a deadlock leads to; default: a report on standard error, and exit code 3. See `docs/HANGS.md`.
    pub fn deadlock(mut self, on: OnDeadlock) -> Self {
        self.config.deadlock = Some(on);
        self
    }

    /// Calls `f` with the report of a deadlock, on an OS thread of the runtime, instead of printing the report and
    /// exiting. The program goes on waiting unless `f` does something about it.
    pub fn on_deadlock(mut self, f: impl Fn(&Dump) + Send + Sync + 'static) -> Self {
        self.on_deadlock = Some(DeadlockHandler(Arc::new(f)));
        self
    }

    /// How long a slice may last while others wait behind it before it is reported, once for each place in the
    /// program; default: 100 ms, at least 10 ms. `None`: never.
    pub fn slow_slice(mut self, longest: Option<Duration>) -> Self {
        self.config.slow_slice = Some(longest);
        self
    }

    /// After how long it is said, once for each place in the program, that some processes have only woken each other,
    /// or yielded, and that nothing has come of it; default: 10 s, at least 1 s. `None`: never.
    ///
    /// ```
    /// let rt = raddle::Runtime::builder().workers(1).livelock(None).build()?;
    /// assert_eq!(rt.run(|| 7), 7);
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub fn livelock(mut self, after: Option<Duration>) -> Self {
        self.config.livelock = Some(after);
        self
    }

    /// Whether `SIGQUIT` prints a dump on standard error; default: yes, unless the program handles it itself.
    pub fn dump_on_quit(mut self, on: bool) -> Self {
        self.config.sigquit = Some(on);
        self
    }

    /// For engines: the language of their programs, such as `occam`. What a trace advises is said in its words.
    #[doc(hidden)]
    pub fn door(mut self, language: &'static str) -> Self {
        self.hooks.door = Some(language);
        self
    }

    /// For tests: each thread that yields goes to the next worker, if it may move.
    #[doc(hidden)]
    pub fn scatter_threads(mut self, on: bool) -> Self {
        self.scatters = on;
        self
    }

    /// The prefix of the OS threads' names; default: `raddle`.
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// If a setting, here or in `RADDLE_*`, is wrong or contradicts another; if the system refuses an OS thread.
    pub fn build(mut self) -> Result<Runtime, BuildError> {
        let name = self.name.take().unwrap_or_else(|| "raddle".to_owned());
        self.may_grow = true;
        self.build_with(&mut |index, body| os_thread::begin(format!("{name}-{index}"), body).map(Some))
    }

    /// As [`build`](Self::build), and the first worker's body is left there.
    pub(super) fn build_beside(
        mut self,
        first: &mut Option<Box<dyn FnOnce() + Send>>,
    ) -> Result<Runtime, BuildError> {
        (self.caller_works, self.may_grow) = (true, true);
        let name = self.name.take().unwrap_or_else(|| "raddle".to_owned());
        self.build_with(&mut |index, body| {
            if index == 0 {
                *first = Some(body);
                return Ok(None);
            }
            os_thread::begin(format!("{name}-{index}"), body).map(Some)
        })
    }

    /// Jobs are to see what the program has prepared on the OS threads: they use the storage of these, and hold them
    /// through their waits.
    #[doc(hidden)]
    pub fn jobs_hold_threads(mut self) -> Self {
        self.jobs_hold = true;
        self
    }

    /// What the runtime is to do besides.
    pub fn hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// As [`build`](Self::build), on OS threads that `launch` gets.
    pub fn build_with(self, launch: &mut Launch<'_>) -> Result<Runtime, BuildError> {
        let config = self.settled()?;
        let hangs = config.hang_plan(self.on_deadlock.clone(), WATCHER.get().is_some());
        let hangs = hangs.map_err(BuildError::NotLinked)?;
        start(&config, self, hangs, launch)
    }

    /// Starts the workers as the default runtime, which lives until the program ends.
    ///
    /// # Errors
    /// As [`build`](Self::build), and if the default runtime has been started already.
    ///
    /// ```
    /// raddle::Runtime::builder().workers(2).build_global()?;
    /// assert_eq!(raddle::csp::spawn(|| 7).join().unwrap(), 7);
    /// assert!(raddle::Runtime::builder().build_global().is_err());
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub fn build_global(self) -> Result<(), BuildError> {
        crate::runtime::default::install(|| self.build())
    }
}

fn start(
    config: &Config,
    builder: Builder,
    hangs: HangPlan,
    launch: &mut Launch<'_>,
) -> Result<Runtime, BuildError> {
    let Builder { scatters, explorer, hooks, caller_works, may_grow, light: shares, jobs_hold, .. } = builder;
    let only_one = building();
    prepare_process();
    let policy = config.policy().map_err(BuildError::Config)?;
    let count = config.worker_count();
    let class = config.stack_class.unwrap_or(SizeClass::DEFAULT);
    let measure_stacks = config.measure_stacks.unwrap_or(false);
    let light = config.lightness(shares).map_err(BuildError::Config)?;
    if !light {
        tls::supported().map_err(BuildError::Threads)?;
    }
    // Each run of an exploration is the same: what one process leaves in its storage is not for another one to find.
    let process_flags = if explorer.is_some() && !light { OWN_TLS | ANEW } else { usual_flags(light) };
    let job_flags = if jobs_hold { HOLDS } else { process_flags };
    let mut seeded = seeded(config, explorer.as_deref())?;
    let follows_seed = seeded.is_some();
    let prints_stats = config.stats.unwrap_or(false);
    let trace = Trace::new(config.trace_plan()).map_err(BuildError::NotLinked)?;
    // An extra worker's OS thread is none that the program has prepared, and has no number that jobs could be told.
    let is_plain = !scatters && !follows_seed && !jobs_hold && hooks.are_none();
    let is_plain = is_plain && !config.trace_plan().asks_for_anything();
    let look = Looks {
        room: config.room(count),
        prints_stats,
        measure_stacks,
        scatters,
        process_flags,
        job_flags,
        follows_seed,
        trace,
        hooks,
        make_job,
        make_retiree,
    };
    let shared = Arc::new(Shared::new(policy, count, class, look));
    let depot = StackDepot::with(StackOptions { fill: measure_stacks, ..StackOptions::default() });
    let asymmetric = config.membarrier.unwrap_or(true) && fence_is_asymmetric();
    let used = Arc::new(UsedBlocks::default());
    let worker = |index| {
        let stacks = StackPool::new(depot.clone());
        let storages = TlsPool::sharing(used.clone());
        Worker::new(index, &shared, count, asymmetric, stacks, storages).follow(seeded.take())
    };
    shared.install((0..count).map(worker).collect());
    if may_grow && is_plain && policy.takes_from_standing() {
        shared.allow_extras(depot.clone(), used.clone(), asymmetric);
    }
    let processors = processors_for(config.pin, count);
    let processor_of = |index: usize| index.checked_rem(processors.len()).map(|place| processors[place]);
    shared.trace.begin(&shared, |index| processor_of(index).into_iter().for_each(bind_to));
    drop(only_one);
    let runtime = Runtime { shared, threads: Vec::with_capacity(count), has_ended: false };
    let runtime = start_workers(runtime, processor_of, launch, caller_works && processors.is_empty())?;
    extra::make_ahead(&runtime.shared);
    if let Some(watcher) = WATCHER.get().filter(|_| !runtime.shared.is_explored()) {
        let _only_one = building();
        watcher.runtime_begins(&runtime.shared, hangs);
    }
    Ok(runtime)
}

/// Has each worker run on an OS thread, or leaves none running. `caller_works`: the first one's is the caller's.
fn start_workers(
    mut runtime: Runtime,
    processor_of: impl Fn(usize) -> Option<usize>,
    launch: &mut Launch<'_>,
    caller_works: bool,
) -> Result<Runtime, BuildError> {
    for index in 0..runtime.shared.workers().len() {
        let shared = runtime.shared.clone();
        let processor = processor_of(index);
        // Who makes threads to work beside looks where they may run, and sends them away itself.
        let begins_apart = processor.is_none() && !caller_works;
        let body = move || {
            if begins_apart {
                begin_apart(&shared, index);
            }
            run_worker(&shared, index, processor);
        };
        // The program's own code is called here, if it makes the threads or their names.
        match catch_unwind(AssertUnwindSafe(|| launch(index, Box::new(body)))) {
            Ok(Ok(thread)) => {
                if caller_works {
                    thread.iter().for_each(crate::runtime::caller::send_elsewhere);
                }
                runtime.threads.extend(thread.map(|thread| (index, thread)));
            }
            Ok(Err(cause)) => {
                // The runtime is dropped, which waits for the workers that run already.
                runtime.shared.stop_now();
                return Err(BuildError::Thread { worker: index, cause });
            }
            Err(panic) => {
                runtime.shared.stop_now();
                drop(runtime);
                resume_unwind(panic)
            }
        }
    }
    Ok(runtime)
}

/// What decides for the one worker, if there is a seed.
fn seeded(config: &Config, explorer: Option<&dyn Explorer>) -> Result<Option<Seeded>, BuildError> {
    let Some(seed) = &config.seed else { return Ok(None) };
    let explorer = explorer.or(EXPLORER.get()).ok_or(BuildError::NotLinked(NotLinked::EXPLORER))?;
    crate::worker::choice::turn_on();
    Ok(Some(explorer.follow(seed)))
}

/// Held while a runtime is made, as far as what is asked of the system once is concerned; and over a fork, so that the
/// child does not find half an answer.
pub(crate) fn building() -> MutexGuard<'static, ()> {
    static BUILDING: Mutex<()> = Mutex::new(());
    BUILDING.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn run_worker(shared: &Arc<Shared>, index: usize, processor: Option<usize>) {
    if let Some(processor) = processor {
        bind_to(processor);
    }
    sleep_precisely();
    // What is of the OS thread, and not of the worker, is there already if something of ours has lent it.
    let is_lent = !current_header().is_null();
    // Without an alternate stack an overflow is a plain crash; that is no reason not to run.
    let _alternate = (!is_lent).then(AltStack::for_this_thread);
    let _host = (!is_lent).then(tls::Host::here);
    let _registration = Registration::of_worker(std::ptr::from_ref(shared.worker(index)).cast());
    crate::runtime::place::stand_for(shared, index, || shared.hooks.at_start(index));
    // SAFETY: this OS thread was made, or lent, for this worker, and this is called once for each.
    let Ok(stays) = catch_unwind(AssertUnwindSafe(|| unsafe { shared.worker(index).run() })) else {
        // A panic in a waker, say. Its runnables would be lost, so this is the end.
        message::fatal("a worker panicked outside of any process or task");
    };
    crate::runtime::place::stand_for(shared, index, || shared.hooks.at_exit(index));
    if shared.leave_last_alone(stays) {
        crate::runtime::settle(shared);
    }
    shared.worker(index).say_end(stays);
    if stays {
        ends::stay();
    }
}

/// What is done once in the life of the program.
fn prepare_process() {
    static PREPARED: OnceLock<()> = OnceLock::new();
    PREPARED.get_or_init(|| {
        // First, so that a fork of another thread's waits for the rest.
        crate::runtime::at_fork::install();
        overflow::set_describer(|current, out| {
            let _unwritable = report::describe(current.cast(), out);
        });
        overflow::install_process_handler();
        report::install_panic_hook();
    });
}

/// Where workers are bound, in order, if nobody says otherwise.
static PINNED_TO: OnceLock<Vec<usize>> = OnceLock::new();

pub fn pin_workers(processors: Vec<usize>) {
    if !processors.is_empty() {
        let _first = PINNED_TO.set(processors);
    }
}

/// Where so many workers are bound, in order; nothing if they are not.
fn processors_for(pin: Option<bool>, count: usize) -> Vec<usize> {
    match (pin, PINNED_TO.get()) {
        (Some(false), _) | (None, None) => Vec::new(),
        (_, Some(order)) => {
            (0..count).map(|index| order[place_in_order(index, count, order.len())]).collect()
        }
        (Some(true), None) => allowed_processors(),
    }
}

/// Which of so many processors the worker of this number has: of more than there are workers, evenly spread ones.
fn place_in_order(index: usize, workers: usize, processors: usize) -> usize {
    if workers < processors { index * processors / workers } else { index % processors }
}

/// The processors on which this program may run.
fn allowed_processors() -> Vec<usize> {
    let Some(set) = crate::runtime::caller::processors() else { return Vec::new() };
    // SAFETY: the index is within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// The calling OS thread, which is a worker's from now on, begins on a processor of its own, if there are as many;
/// later it may run anywhere, as before.
///
/// PERF: the kernel may begin two workers on one processor, since neither has anything to do yet. Who is woken there
/// then waits for the other's time slice, until the load is balanced after some milliseconds: of 60 programs on two
/// workers that call `fib(27)` at once, the first five calls took twice as long in 6, 5, 2, 3, 1; now in 2, 0, 0, 0, 0.
fn begin_apart(shared: &Shared, index: usize) {
    let (count, is_lent) = (shared.workers().len(), !current_header().is_null());
    let Some(set) = crate::runtime::caller::processors().filter(|_| count > 1 && !is_lent) else { return };
    let allowed = allowed_processors();
    if count <= allowed.len() {
        bind_to(allowed[index]);
        crate::runtime::caller::unbind(&set);
    }
}

/// The calling OS thread's time-outs end when they should: the kernel adds 50 us else, twice the watcher's first doze.
fn sleep_precisely() {
    let slack_ns = 1;
    // A refusal leaves the doze longer, no more.
    // SAFETY: touches no memory of ours.
    let _refused = unsafe { raddle_syscall::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
}

/// Binds the calling OS thread. A refusal (the set has changed meanwhile) leaves it unbound.
fn bind_to(processor: usize) {
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the index came from such a set.
    unsafe { libc::CPU_SET(processor, &mut set) };
    let _refused = raddle_syscall::set_affinity(&set);
}

//! Owns: the watcher: the OS thread that looks for hangs while something runs, and makes the dumps that are asked for.
//! May use: `roll`, the runtimes' public half.
//! Never: a step of it on a worker's way. It ticks while somebody is busy, and sleeps else.
//!
//! What a deadlock is, `still` says.
//!
//! When all workers sleep, the watcher lies down, too, and whoever gets up calls it (`protocol::watch`): a worker, and
//! an OS thread that goes to sleep in a call of ours, who may be the last that could have woken anybody. What nobody
//! tells is that an OS thread ends which has never used anything of ours. So as long as the program could hang
//! unnoticed, the watcher lies for twice as long each time, up to a minute.

use super::age;
use super::answer;
use super::partial::Partial;
use super::roll::How;
use super::seat::{self, Seated, Sitter};
use super::slow::Slow;
use super::still::{self, Stamp};
use super::{Dump, Kind, quit};
use crate::message;
use crate::orphan;
use crate::runtime::Shared;
use raddle_protocol::protocol::watch::WatchWord;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often is looked while something runs.
const TICK: Duration = Duration::from_millis(100);
/// How seldom is looked while the workers sleep and OS threads of the program do something.
const DOZE_MAX: Duration = Duration::from_secs(64);

/// What a deadlock leads to, beside a handler of the program's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDeadlock {
    /// Nobody looks for one.
    Off,
    /// It is reported on standard error, and the program goes on waiting.
    Report,
    /// It is reported, and the program exits with code 3.
    #[default]
    Exit,
}

/// The program's own way to take a report.
#[derive(Clone)]
pub(crate) struct DeadlockHandler(pub(crate) Arc<dyn Fn(&Dump) + Send + Sync>);

impl fmt::Debug for DeadlockHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeadlockHandler")
    }
}

/// What the settings say of hangs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) deadlock: OnDeadlock,
    pub(crate) handler: Option<DeadlockHandler>,
    pub(crate) on_quit: bool,
    /// Slices that take longer, while others wait behind them, are told.
    pub(crate) slow_slice: Option<Duration>,
}

/// A runtime on the list: it lives as long as it stands there.
pub(crate) struct Watched {
    shared: *const Shared,
    plan: Plan,
}

// SAFETY: the runtime's shared part is for every OS thread.
unsafe impl Send for Watched {}

impl Watched {
    pub(super) fn shared(&self) -> &Shared {
        // SAFETY: a runtime is taken off the list before it goes.
        unsafe { &*self.shared }
    }
}

static RUNTIMES: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// Holds the list of runtimes. Whoever looks at what runs holds it meanwhile.
pub(crate) type Runtimes = MutexGuard<'static, Vec<Watched>>;

/// Locks the list.
pub(crate) fn runtimes() -> Runtimes {
    RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

static WATCHER: WatchWord = WatchWord::new();
/// Dumps that were asked for, and those that were made.
static ASKED: AtomicU64 = AtomicU64::new(0);
static MADE: AtomicU64 = AtomicU64::new(0);

/// A runtime begins.
pub(crate) fn enrol(shared: &Arc<Shared>, plan: Plan) {
    let wants_watcher = plan.on_quit || plan.deadlock != OnDeadlock::Off || plan.slow_slice.is_some();
    if plan.on_quit {
        quit::catch();
    }
    runtimes().push(Watched { shared: Arc::as_ptr(shared), plan });
    if wants_watcher {
        start();
        note_change();
    }
}

/// A runtime is about to end: when this returns, nobody looks at it any more.
pub(crate) fn strike(shared: &Shared) {
    runtimes().retain(|watched| !std::ptr::eq(watched.shared, shared));
}

/// Starts the watcher, once for a program, and once for each forked child of it. Without it there are no reports.
fn start() {
    static STARTED_FOR: AtomicU64 = AtomicU64::new(u64::MAX);
    let generation = orphan::generation();
    if STARTED_FOR.swap(generation, Ordering::Relaxed) == generation {
        return;
    }
    WATCHER.begin();
    age::tick();
    answer::begin();
    let helper = thread::Builder::new().name("raddle-watch".to_owned());
    drop(helper.spawn(|| {
        block_signals();
        let _seat = Seated::here(Sitter::Helper);
        watch();
    }));
}

/// The program's signals are for its own threads.
pub(super) fn block_signals() {
    // SAFETY: a set of bits, for which all zeroes is a value.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes the set.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: reads the set. The C library leaves out what it needs itself.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
}

/// A worker has got up, or an OS thread lies down.
#[inline]
pub(crate) fn note_change() {
    WATCHER.note_change();
}

/// Asks for a dump, on standard error if no process asks. By a signal's handler, too.
pub(super) fn ask_for_dump(process: u32, value: u32) {
    if process != 0 && value != 0 {
        answer::note_asker(process, value);
    }
    // Release pairs with the acquire in `take_request`.
    ASKED.fetch_add(1, Ordering::Release);
    WATCHER.call();
}

fn take_request() -> bool {
    // Acquire pairs with the release in `ask_for_dump`.
    let asked = ASKED.load(Ordering::Acquire);
    MADE.swap(asked, Ordering::Relaxed) != asked
}

fn watch() {
    let mut before: Option<Stamp> = None;
    let mut told: Option<Stamp> = None;
    let (mut slow, mut partial, mut doze) = (Slow::default(), Partial::new(), TICK);
    loop {
        age::tick();
        if take_request() {
            let dump = Dump::of(&runtimes(), How::Stopping, Kind::Dump);
            answer::give(dump);
        }
        let lain_down = seat::lain_down();
        let now = still::look();
        if now.is_some() && now == before && told != now {
            told.clone_from(&now);
            deadlock();
        }
        let settled = now == before;
        before = now;
        let goes_on = before.is_none() && now_and_then(&mut slow, &mut partial, settled);
        slow.say();
        partial.say();
        // What is known to stand still goes on by a worker only. Else somebody may end, or have lain down just now.
        let until = (before.is_none() && looks_for_deadlocks()).then_some(doze);
        let nothing_new = || all_sleep() && seat::lain_down() == lain_down;
        let lay_down = rest(settled && !goes_on, until, nothing_new);
        doze = if lay_down { (doze * 2).min(DOZE_MAX) } else { TICK };
    }
}

/// What is looked for beside a deadlock. True if it shall be looked for again soon, whoever sleeps.
fn now_and_then(slow: &mut Slow, partial: &mut Partial, settled: bool) -> bool {
    let list = runtimes();
    if list.is_empty() {
        slow.forget_all();
    }
    for watched in list.iter() {
        if let Some(most) = watched.plan.slow_slice {
            slow.look(&list, watched, most);
        }
    }
    let wants_cycles = list.iter().any(|watched| watched.plan.deadlock != OnDeadlock::Off);
    wants_cycles && partial.look(&list, settled && list.iter().all(|one| one.shared().is_quiet().is_some()))
}

/// Until the next tick; or if all sleep, until somebody gets up, for `doze` at most. True if that was over.
fn rest(settled: bool, doze: Option<Duration>, nothing_new: impl Fn() -> bool) -> bool {
    if !(settled && nothing_new()) {
        WATCHER.tick(TICK);
        return false;
    }
    let nothing_asked = || ASKED.load(Ordering::Relaxed) == MADE.load(Ordering::Relaxed);
    age::while_asleep(|| WATCHER.lie_down(doze, || nothing_new() && nothing_asked()))
}

fn looks_for_deadlocks() -> bool {
    let wants =
        |watched: &Watched| watched.plan.deadlock != OnDeadlock::Off || watched.plan.handler.is_some();
    runtimes().iter().any(wants)
}

fn all_sleep() -> bool {
    runtimes().iter().all(|watched| watched.shared().idle.all_asleep().is_some())
}

/// Nothing will ever run again.
fn deadlock() {
    let list = runtimes();
    let worst = list.iter().map(|watched| watched.plan.deadlock).max_by_key(|on| *on as u8);
    let handler = list.iter().find_map(|watched| watched.plan.handler.clone());
    let on = worst.unwrap_or(OnDeadlock::Off);
    if on == OnDeadlock::Off && handler.is_none() {
        return;
    }
    let dump =
        Dump::of(&list, How::Still, Kind::Deadlock { exits: on == OnDeadlock::Exit && handler.is_none() });
    drop(list);
    if let Some(DeadlockHandler(handler)) = handler {
        return handler(&dump);
    }
    message::say(&dump.screen());
    if on == OnDeadlock::Exit {
        std::process::exit(crate::hang::DEADLOCK_EXIT_CODE);
    }
}

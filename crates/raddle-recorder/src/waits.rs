//! Owns: what the helper reads of each worker once a tick: what it publishes, and what Linux counts for its OS thread.
//! May use: `raddle-core`, `raddle-syscall`, `raddle-trace`.
//! Never: a sample of a program that is idle; a question to a worker that has not slept since the last tick.
//!
//! An OS thread that has neither been on a core nor waited for one has slept. If its worker is not idle, and it sleeps
//! now, the watcher is asked in which call (`raddle-hang`, if the program has linked it). For that the worker is
//! interrupted, and the call may fail with `EINTR`: so in one slice it is asked for once, and then after a pause that
//! grows from [`PAUSE_MIN`] to [`PAUSE_MAX`].
//!
//! This is by the helper alone, and the workers pay nothing: to read both clocks of an OS thread at the ends of its
//! long slices would take two system calls each, and would not tell the call.

use raddle_core::runtime::Shared;
use raddle_core::worker::Worker;
use raddle_core::worker::watching::{BlockingCall, WATCHER};
use raddle_trace::clock::Source;
use raddle_trace::file::{Sample, Whereabouts};
use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

/// After a question to a worker, it is not asked again for so long at first, and at last.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// See `PAUSE_MIN`.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Who has slept for less since the last tick may have had another reason.
const SLEPT_MIN: Duration = Duration::from_micros(500);
/// So often the clocks of one moment are read at most: the helper may be interrupted between two of them.
const READINGS: usize = 3;
/// It was, if they took so many times as long as the shortest reading so far.
const INTERRUPTED: u64 = 4;

/// What Linux counts for each worker's OS thread.
#[derive(Default)]
pub(crate) struct Waits {
    workers: Vec<OsThread>,
}

/// What is known of a worker's OS thread.
struct OsThread {
    schedstat: Option<File>,
    /// What a reading of its clocks took at least, in ticks.
    least: u64,
    /// At the last tick: when that was, and for how long it had been on a core or waited for one by then.
    last: Option<(Instant, u64)>,
    /// The last answer: how far the worker had come then, and the number of the call.
    answer: Option<([u64; 3], Option<u32>)>,
    next: Instant,
    pause: Duration,
}

/// The samples of one tick.
#[derive(Default)]
pub(crate) struct Tick {
    pub(crate) samples: Vec<Sample>,
    /// Their places are those in the list of calls, from 1.
    pub(crate) whereabouts: Vec<Whereabouts>,
}

impl Waits {
    /// The samples of all workers; none while all sleep. Calls in which workers sleep join `calls`, if they are new
    /// there.
    pub(crate) fn sample(&mut self, shared: &Shared, calls: &mut Vec<BlockingCall>) -> Tick {
        let workers = shared.workers();
        let mut tick = Tick::default();
        if shared.sleepers() == workers.len() {
            return tick;
        }
        self.workers.resize_with(workers.len(), OsThread::new);
        for (worker, of) in workers.iter().zip(&mut self.workers) {
            let read = of.read(worker.tracer().os_thread());
            let (ready, backlog_ns) = worker.backlog();
            let (ticks, kernel_wait_ns) = (read.ticks, read.kernel_wait_ns);
            let index = worker.index as u32;
            tick.samples.push(Sample {
                ticks,
                worker: index,
                ready: ready as u32,
                backlog_ns,
                kernel_wait_ns,
            });
            let Some(on_core_ns) = read.on_core_ns else { continue };
            let place = of.sleeps(shared, worker, on_core_ns + kernel_wait_ns, calls);
            let (sleeps, place) = (place.is_some(), place.unwrap_or(0));
            tick.whereabouts.push(Whereabouts {
                ticks,
                worker: index,
                sleeps,
                place,
                on_core_ns,
                kernel_wait_ns,
            });
        }
        tick
    }
}

/// The clocks of an OS thread at one moment.
struct Reading {
    ticks: u64,
    on_core_ns: Option<u64>,
    kernel_wait_ns: u64,
}

impl OsThread {
    fn new() -> OsThread {
        OsThread {
            schedstat: None,
            least: u64::MAX,
            last: None,
            answer: None,
            next: Instant::now(),
            pause: PAUSE_MIN,
        }
    }

    /// Its clocks: if the helper is interrupted meanwhile, the shortest of several readings.
    fn read(&mut self, os_thread: i32) -> Reading {
        let source = Source::of_this_machine();
        let mut best: Option<(u64, Reading)> = None;
        for _ in 0..READINGS {
            let before = source.ticks();
            let kernel_wait_ns = kernel_wait_ns(&mut self.schedstat, os_thread);
            let on_core = if os_thread == 0 { None } else { raddle_syscall::processor_time(os_thread) };
            let on_core_ns = on_core.and_then(|time| u64::try_from(time.as_nanos()).ok());
            let took = source.ticks().wrapping_sub(before);
            let ticks = before.wrapping_add(took / 2);
            if best.as_ref().is_none_or(|(least, _)| took < *least) {
                best = Some((took, Reading { ticks, on_core_ns, kernel_wait_ns }));
            }
            // Of an OS thread that is not there yet nothing was read, in no time.
            if on_core_ns.is_none() || took <= self.least.saturating_mul(INTERRUPTED) {
                self.least = on_core_ns.map_or(self.least, |_| self.least.min(took));
                break;
            }
            self.least = self.least.min(took);
        }
        best.map_or(Reading { ticks: source.ticks(), on_core_ns: None, kernel_wait_ns: 0 }, |(_, reading)| {
            reading
        })
    }

    /// If it sleeps in a call of the program: the number of the call, 0 if that is not known. `awake_ns` is for how
    /// long it has been on a core, or waited for one.
    fn sleeps(
        &mut self,
        shared: &Shared,
        worker: &Worker,
        awake_ns: u64,
        calls: &mut Vec<BlockingCall>,
    ) -> Option<u32> {
        let now = Instant::now();
        let (before, awake_before) = self.last.replace((now, awake_ns))?;
        let awake = Duration::from_nanos(awake_ns.saturating_sub(awake_before));
        let slept = (now - before).saturating_sub(awake);
        if slept < SLEPT_MIN || shared.worker_sleeps(worker.index) || !is_asleep(worker.tracer().os_thread())
        {
            return None;
        }
        let progress = worker.progress();
        let known = self.answer.filter(|answer| answer.0 == progress);
        if now < self.next {
            return known.map_or(Some(0), |(_, number)| number);
        }
        let Some(watcher) = WATCHER.get() else { return Some(0) };
        (self.next, self.pause) = (now + self.pause, (self.pause * 3 / 2).min(PAUSE_MAX));
        let number = watcher.sleeps_in(worker).map(|call| {
            let place = calls.iter().position(|known| *known == call);
            place.unwrap_or_else(|| {
                calls.push(call);
                calls.len() - 1
            }) as u32
                + 1
        });
        self.answer = Some((progress, number));
        number
    }
}

/// Whether an OS thread sleeps in the kernel now.
fn is_asleep(os_thread: i32) -> bool {
    let stat = read_to_string(format!("/proc/self/task/{os_thread}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('S' | 'D'))
}

/// For how long the kernel has made an OS thread wait for a core; 0 where it does not say.
fn kernel_wait_ns(file: &mut Option<File>, os_thread: i32) -> u64 {
    if file.is_none() && os_thread != 0 {
        *file = File::open(format!("/proc/self/task/{os_thread}/schedstat")).ok();
    }
    let mut text = [0; 96];
    let read = file.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
    let text = String::from_utf8_lossy(&text[..read]).into_owned();
    text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

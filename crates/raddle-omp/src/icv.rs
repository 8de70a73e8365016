//! Owns: the internal control variables: those of the process, those of a task, and the environment they come from.
//! May use: `report`.
//! Never: a team.

mod display;
pub(crate) mod place_text;
pub(crate) mod places;

pub(crate) use display::display;

use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// `omp_sched_t` with its modifier.
pub(crate) const STATIC: u32 = 1;
pub(crate) const DYNAMIC: u32 = 2;
pub(crate) const GUIDED: u32 = 3;
pub(crate) const AUTO: u32 = 4;
pub(crate) const MONOTONIC: u32 = 1 << 31;

/// What each task has of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Icv {
    pub(crate) threads: u32,
    pub(crate) is_dynamic: bool,
    pub(crate) levels_max: u32,
    pub(crate) schedule: u32,
    pub(crate) chunk: i32,
    pub(crate) bind: u32,
    pub(crate) limit: u32,
    pub(crate) device: i32,
    pub(crate) allocator: usize,
}

/// What the environment said, once.
pub(crate) struct OmpSettings {
    pub(crate) first: Icv,
    /// How many threads at each level, and how they are bound there.
    pub(crate) threads: Vec<u32>,
    pub(crate) binds: Vec<u32>,
    pub(crate) stack_bytes: usize,
    pub(crate) is_cancellation: bool,
    pub(crate) priority_max: i32,
    pub(crate) is_active_wait: Option<bool>,
    pub(crate) display_affinity: bool,
    /// Whether there may be too many tasks.
    pub(crate) is_throttled: bool,
}

/// Of the device, not of a task.
pub(crate) static TEAMS: AtomicI32 = AtomicI32::new(0);
pub(crate) static TEAMS_LIMIT: AtomicI32 = AtomicI32::new(0);
/// What becomes of target regions, as libomp numbers it: 0 disabled, 1 the default, 2 mandatory.
pub(crate) static TARGET: AtomicI32 = AtomicI32::new(DEFAULT);
const DEFAULT: i32 = 1;

pub(crate) fn target(text: &str) -> i32 {
    match text.trim().to_ascii_lowercase().as_str() {
        "disabled" => 0,
        "mandatory" => 2,
        _ => DEFAULT,
    }
}

static PROCESSORS: AtomicUsize = AtomicUsize::new(0);

/// The processors that the process may use.
pub(crate) fn processors() -> usize {
    match PROCESSORS.load(Ordering::Relaxed) {
        0 => {
            let found = std::thread::available_parallelism().map_or(1, usize::from);
            PROCESSORS.store(found, Ordering::Relaxed);
            found
        }
        known => known,
    }
}

fn text(name: &str) -> Option<String> {
    let text = std::env::var(name).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn complain(name: &str, text: &str) {
    crate::report::once(&format!("{name}: invalid value \"{text}\" ignored"));
}

fn number<N: FromStr>(name: &str) -> Option<N> {
    let text = text(name)?;
    let read = text.parse().ok();
    if read.is_none() {
        complain(name, &text);
    }
    read
}

fn truth(name: &str) -> Option<bool> {
    let text = text(name)?.to_ascii_lowercase();
    match text.as_str() {
        "true" | "1" | "on" | "yes" | "t" | ".true." => Some(true),
        "false" | "0" | "off" | "no" | "f" | ".false." => Some(false),
        _ => {
            complain(name, &text);
            None
        }
    }
}

fn list<T>(name: &str, read: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let Some(text) = text(name) else { return Vec::new() };
    let all: Option<Vec<T>> = text.split(',').map(|part| read(part.trim())).collect();
    all.unwrap_or_else(|| {
        complain(name, &text);
        Vec::new()
    })
}

fn bind(word: &str) -> Option<u32> {
    Some(match word.to_ascii_lowercase().as_str() {
        "false" => 0,
        "true" => 1,
        "master" | "primary" => 2,
        "close" => 3,
        "spread" => 4,
        _ => return None,
    })
}

/// `kind[,chunk]`, with a modifier before it.
fn schedule(text: &str) -> Option<(u32, i32)> {
    let lower = text.to_ascii_lowercase();
    let (modifier, rest) = match lower.split_once(':') {
        Some((modifier, rest)) => (Some(modifier.trim()), rest),
        None => (None, lower.as_str()),
    };
    let (kind, chunk) = match rest.split_once(',') {
        Some((kind, chunk)) => {
            (kind.trim(), Some(chunk.trim().parse::<i32>().ok().filter(|chunk| *chunk > 0)?))
        }
        None => (rest.trim(), None),
    };
    let kind = match kind {
        "static" => STATIC,
        "dynamic" => DYNAMIC,
        "guided" => GUIDED,
        "auto" => AUTO,
        _ => return None,
    };
    let flag = match modifier {
        Some("monotonic") => MONOTONIC,
        None if kind == STATIC => MONOTONIC,
        _ => 0,
    };
    Some((kind | flag, chunk.unwrap_or(if kind == STATIC || kind == AUTO { 0 } else { 1 })))
}

/// A number of kilobytes, or with a unit.
fn size(name: &str) -> Option<usize> {
    let text = text(name)?;
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match lower[digits.len()..].trim() {
        "b" => 0,
        "" | "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        _ => {
            complain(name, &text);
            return None;
        }
    };
    digits.trim().parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift))
}

/// One that is there from the beginning, by its name or its number.
fn allocator(text: &str) -> usize {
    const NAMES: [&str; 8] =
        ["default", "large_cap", "const", "high_bw", "low_lat", "cgroup", "pteam", "thread"];
    let lower = text.to_ascii_lowercase();
    let name = lower.strip_prefix("omp_").and_then(|name| name.strip_suffix("_mem_alloc"));
    let named = name.and_then(|name| NAMES.iter().position(|known| *known == name)).map(|at| at + 1);
    named.or_else(|| lower.parse().ok().filter(|number| (1..=NAMES.len()).contains(number))).unwrap_or_else(
        || {
            complain("OMP_ALLOCATOR", text);
            1
        },
    )
}

/// What the environment says.
pub(crate) fn settings() -> &'static OmpSettings {
    static READ: OnceLock<OmpSettings> = OnceLock::new();
    READ.get_or_init(read)
}

fn read() -> OmpSettings {
    let processors = u32::try_from(processors()).unwrap_or(1);
    let threads = list("OMP_NUM_THREADS", |part| part.parse::<u32>().ok().filter(|count| *count > 0));
    let binds = list("OMP_PROC_BIND", bind);
    let limit = number::<u32>("OMP_THREAD_LIMIT").filter(|limit| *limit > 0).unwrap_or(i32::MAX as u32);
    let nested = truth("OMP_NESTED");
    let lists = threads.len() > 1 || binds.len() > 1;
    let levels = match (number::<u32>("OMP_MAX_ACTIVE_LEVELS"), nested) {
        (Some(levels), _) => levels,
        (None, Some(true)) => i32::MAX as u32,
        (None, Some(false)) => 1,
        (None, None) if lists => i32::MAX as u32,
        (None, None) => 1,
    };
    let said = text("OMP_SCHEDULE");
    let (schedule, chunk) = said.as_deref().map_or((DYNAMIC, 1), |text| {
        schedule(text).unwrap_or_else(|| {
            complain("OMP_SCHEDULE", text);
            (DYNAMIC, 1)
        })
    });
    let bind = binds.first().copied().unwrap_or_else(places::implied_bind);
    let first = Icv {
        threads: threads.first().copied().unwrap_or(processors).min(limit),
        is_dynamic: truth("OMP_DYNAMIC").unwrap_or(false),
        levels_max: levels.min(i32::MAX as u32),
        schedule,
        chunk,
        bind,
        limit,
        device: number("OMP_DEFAULT_DEVICE").unwrap_or(0),
        allocator: text("OMP_ALLOCATOR").map_or(1, |text| allocator(&text)),
    };
    TEAMS.store(number("OMP_NUM_TEAMS").unwrap_or(0), Ordering::Relaxed);
    TEAMS_LIMIT.store(number("OMP_TEAMS_THREAD_LIMIT").unwrap_or(0), Ordering::Relaxed);
    TARGET.store(text("OMP_TARGET_OFFLOAD").map_or(DEFAULT, |text| target(&text)), Ordering::Relaxed);
    let stack = size("OMP_STACKSIZE").or_else(|| size("KMP_STACKSIZE")).or_else(|| size("GOMP_STACKSIZE"));
    OmpSettings {
        first,
        threads,
        binds,
        stack_bytes: stack.unwrap_or(4 << 20).max(64 << 10),
        is_cancellation: truth("OMP_CANCELLATION").unwrap_or(false),
        priority_max: number("OMP_MAX_TASK_PRIORITY").unwrap_or(0),
        is_active_wait: text("OMP_WAIT_POLICY").map(|text| text.eq_ignore_ascii_case("active")),
        display_affinity: truth("OMP_DISPLAY_AFFINITY").unwrap_or(false),
        is_throttled: truth("KMP_ENABLE_TASK_THROTTLING").unwrap_or(true),
    }
}

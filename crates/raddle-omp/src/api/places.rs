//! Owns: places: what `OMP_PLACES` names, and what the calls tell of it; the affinity format.
//! May use: `abi`, `engine::member`, `icv`.
//! Never: binding a thread; members move between workers, which `RADDLE_PIN` binds.

use crate::abi::At;
use crate::engine::member::me;
use crate::icv::{processors, settings};
use std::sync::{Mutex, OnceLock, PoisonError};

/// `{a,b:n:s}`, perhaps with `:n:s`, of one place or more.
fn one_place(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let mut numbers = part.split(':').map(|word| word.trim().parse::<i64>());
        let first = numbers.next()?.ok()?;
        let count = numbers.next().map_or(Ok(1), |count| count).ok()?;
        let stride = numbers.next().map_or(Ok(1), |stride| stride).ok()?;
        let range = (0..count).map(|n| usize::try_from(first + n * stride).ok());
        all.extend(range.collect::<Option<Vec<_>>>()?);
    }
    Some(all)
}

fn explicit(mut text: &str) -> Option<Vec<Vec<usize>>> {
    let mut all = Vec::new();
    loop {
        let (inner, rest) = text.trim_start().strip_prefix('{')?.split_once('}')?;
        let place = one_place(inner)?;
        let (repeat, next) = match rest.split_once(",{") {
            Some((repeat, _)) => (repeat, Some(&rest[repeat.len() + 1..])),
            None => (rest, None),
        };
        let mut numbers = repeat.split(':').skip(1).map(|word| word.trim().parse::<i64>());
        let count = numbers.next().map_or(Ok(1), |count| count).ok()?;
        let stride = numbers.next().map_or(Ok(place.len() as i64), |stride| stride).ok()?;
        for n in 0..count {
            let moved = place.iter().map(|at| usize::try_from(*at as i64 + n * stride).ok());
            all.push(moved.collect::<Option<Vec<_>>>()?);
        }
        match next {
            Some(next) => text = next,
            None => return Some(all),
        }
    }
}

/// All places, of processors that are there.
fn places() -> &'static [Vec<usize>] {
    static READ: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    READ.get_or_init(|| {
        let Ok(text) = std::env::var("OMP_PLACES") else { return Vec::new() };
        let text = text.trim().to_ascii_lowercase();
        let (name, count) = match text.split_once('(') {
            Some((name, count)) => (name, count.trim_end_matches(')').parse().ok()),
            None => (text.as_str(), None),
        };
        let all: Vec<Vec<usize>> = match name {
            "threads" | "cores" | "ll_caches" | "numa_domains" => {
                (0..processors()).map(|n| vec![n]).collect()
            }
            "sockets" => vec![(0..processors()).collect()],
            _ => explicit(&text).unwrap_or_default(),
        };
        let there = all.into_iter().map(|place| place.into_iter().filter(|at| *at < processors()).collect());
        let there = there.filter(|place: &Vec<usize>| !place.is_empty());
        there.take(count.unwrap_or(usize::MAX)).collect()
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_num_places() -> i32 {
    places().len() as i32
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_place_num_procs(place: i32) -> i32 {
    usize::try_from(place).ok().and_then(|place| places().get(place)).map_or(0, |place| place.len() as i32)
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_place_proc_ids(place: i32, ids: At<i32>) {
    let Some(place) = usize::try_from(place).ok().and_then(|place| places().get(place)) else { return };
    place.iter().enumerate().for_each(|(n, at)| ids.at(n).set(*at as i32));
}

/// Where the caller is bound: nowhere.
#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_place_num() -> i32 {
    if settings().first.bind == 0 || places().is_empty() {
        return -1;
    }
    me().tid.get().cast_signed() % omp_get_num_places()
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_partition_num_places() -> i32 {
    omp_get_num_places()
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_partition_place_nums(numbers: At<i32>) {
    (0..places().len()).for_each(|n| numbers.at(n).set(n as i32));
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_proc_bind() -> i32 {
    me().task().icv.get().bind.cast_signed()
}

static FORMAT: Mutex<Option<String>> = Mutex::new(None);

fn format() -> String {
    let set = FORMAT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let from = || std::env::var("OMP_AFFINITY_FORMAT").ok();
    set.or_else(from).unwrap_or_else(|| "level %L thread %i affinity %A".to_owned())
}

fn string(text: At<u8>) -> String {
    let bytes: Vec<u8> = (0..).map(|n| text.at(n).get()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Copies as much as there is room for, with a zero behind; answers how much there is.
fn copy_out(text: &str, buffer: At<u8>, size: usize) -> usize {
    let fits = text.len().min(size.saturating_sub(1));
    if size > 0 && !buffer.is_null() {
        text.bytes().take(fits).enumerate().for_each(|(n, byte)| buffer.at(n).set(byte));
        buffer.at(fits).set(0);
    }
    text.len()
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_set_affinity_format(text: At<u8>) {
    *FORMAT.lock().unwrap_or_else(PoisonError::into_inner) = Some(string(text));
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_get_affinity_format(buffer: At<u8>, size: usize) -> usize {
    copy_out(&format(), buffer, size)
}

/// The value of a field, by its short or its long name; none if there is no such one.
fn field(name: &str) -> Option<String> {
    let member = me();
    let team = member.team();
    let number = |number: u32| Some(number.to_string());
    match name {
        "t" | "team_num" => number(member.teams_around().0),
        "T" | "num_teams" => number(member.teams_around().1),
        "L" | "nesting_level" => number(team.level),
        "n" | "thread_num" => number(member.tid.get()),
        "N" | "num_threads" => number(team.threads()),
        "a" | "ancestor_tnum" => {
            Some(team.outer().map_or(-1, |_| team.outer_tid.get().cast_signed()).to_string())
        }
        "H" | "host" => {
            Some(std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().into())
        }
        "P" | "process_id" => number(std::process::id()),
        "i" | "native_thread_id" => number(member.gtid),
        "A" | "thread_affinity" => Some(match processors() {
            1 => "0".to_owned(),
            all => format!("0-{}", all - 1),
        }),
        _ => None,
    }
}

/// `%[0][.][width]type`, or `%[...]{name}`.
fn expand(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(more) = rest.strip_prefix('%') {
            text.push('%');
            rest = more;
            continue;
        }
        let zero = rest.starts_with("0.") || rest.starts_with('0');
        rest = rest.strip_prefix('0').unwrap_or(rest);
        let right = rest.starts_with('.');
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let width: usize = rest[..digits].parse().unwrap_or(0);
        rest = &rest[digits..];
        let name = match rest.strip_prefix('{').and_then(|more| more.split_once('}')) {
            Some((name, more)) => {
                rest = more;
                name
            }
            None => {
                let end = rest.chars().next().map_or(0, char::len_utf8);
                let name = &rest[..end];
                rest = &rest[end..];
                name
            }
        };
        let value = field(name).unwrap_or_else(|| "undefined".to_owned());
        match (zero && right, right) {
            (true, _) => {
                // The sign stands before the zeroes.
                let digits = value.trim_start_matches('-');
                let sign = &value[..value.len() - digits.len()];
                text.push_str(&format!("{sign}{digits:0>rest$}", rest = width.saturating_sub(sign.len())));
            }
            (_, true) => text.push_str(&format!("{value:>width$}")),
            _ => text.push_str(&format!("{value:<width$}")),
        }
    }
    text + rest
}

fn expanded(given: At<u8>) -> String {
    let given = if given.is_null() { String::new() } else { string(given) };
    expand(if given.is_empty() { format() } else { given }.as_str())
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_display_affinity(given: At<u8>) {
    use std::io::Write as _;
    // Nobody could be told.
    let _ = writeln!(std::io::stdout(), "{}", expanded(given));
}

#[unsafe(no_mangle)]
pub(super) extern "C-unwind" fn omp_capture_affinity(buffer: At<u8>, size: usize, given: At<u8>) -> usize {
    copy_out(&expanded(given), buffer, size)
}

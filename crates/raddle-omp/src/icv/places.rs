//! Owns: the list of places: what `OMP_PLACES`, `GOMP_CPU_AFFINITY` and `KMP_AFFINITY` name.
//! May use: `libc`.
//! Never: who is bound where.
//!
//! Processors are numbered as the kernel does. Only those that the process may use count; what is named besides is left
//! out.

use super::complain;
use super::place_text::{ProcessorList, explicit, listed};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The processors that the process may use. The first call is the library's begin, when nothing is bound yet.
pub(crate) fn allowed() -> &'static [usize] {
    static READ: OnceLock<Vec<usize>> = OnceLock::new();
    READ.get_or_init(|| {
        // SAFETY: zeroes are a set of none.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: a place for the set.
        if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0 {
            return (0..super::processors()).collect();
        }
        // SAFETY: the number is within the set.
        (0..libc::CPU_SETSIZE as usize).filter(|at| unsafe { libc::CPU_ISSET(*at, &set) }).collect()
    })
}

/// All places. Without a variable each processor is one.
pub(crate) fn places() -> &'static [ProcessorList] {
    known().0.as_deref().unwrap_or(&known().1)
}

/// As a variable names them, and each processor alone.
fn known() -> &'static (Option<Vec<ProcessorList>>, Vec<ProcessorList>) {
    static READ: OnceLock<(Option<Vec<ProcessorList>>, Vec<ProcessorList>)> = OnceLock::new();
    READ.get_or_init(|| (read(), each_alone()))
}

/// The places as `OMP_PLACES` writes them, if a variable names them; else nothing.
pub(crate) fn written() -> String {
    let place = |place: &ProcessorList| {
        let numbers: Vec<String> = place.iter().map(usize::to_string).collect();
        format!("{{{}}}", numbers.join(","))
    };
    known().0.iter().flatten().map(place).collect::<Vec<_>>().join(",")
}

/// How threads are bound by these variables, where `OMP_PROC_BIND` says nothing.
pub(crate) fn implied_bind() -> u32 {
    const TRUE: u32 = 1;
    const SPREAD: u32 = 4;
    if known().0.is_some() {
        return TRUE;
    }
    let Some(text) = super::text("KMP_AFFINITY") else { return 0 };
    let is = |names: &[&str]| {
        text.split(',').any(|word| names.iter().any(|name| word.trim().eq_ignore_ascii_case(name)))
    };
    match () {
        () if is(&["disabled", "none"]) => 0,
        () if is(&["scatter", "balanced"]) => SPREAD,
        () if is(&["compact"]) => TRUE,
        () => 0,
    }
}

/// What the first variable names that is set; none if it is not understood.
fn read() -> Option<Vec<ProcessorList>> {
    let one = |name: &str, read: fn(&str) -> Option<Vec<ProcessorList>>| {
        let text = super::text(name)?;
        let all = read(&text);
        if all.is_none() {
            complain(name, &text);
        }
        all
    };
    let explicit = || {
        let text = super::text("KMP_AFFINITY")?;
        kept(listed(text.split_once("proclist=[")?.1.split_once(']')?.0)?)
    };
    one("OMP_PLACES", named)
        .or_else(|| one("GOMP_CPU_AFFINITY", |text| kept(listed(text)?)))
        .or_else(explicit)
}

fn each_alone() -> Vec<ProcessorList> {
    allowed().iter().map(|&at| vec![at]).collect()
}

/// Those that are there; none if nothing is.
fn kept(all: Vec<ProcessorList>) -> Option<Vec<ProcessorList>> {
    let there = all.into_iter().map(|place| place.into_iter().filter(|at| allowed().contains(at)).collect());
    let all: Vec<ProcessorList> = there.filter(|place: &ProcessorList| !place.is_empty()).collect();
    (!all.is_empty()).then_some(all)
}

/// The value of `OMP_PLACES`; none if it is not one, or names nothing that is there.
fn named(text: &str) -> Option<Vec<ProcessorList>> {
    let text = text.to_ascii_lowercase();
    let (name, count) = match text.split_once('(') {
        Some((name, count)) => (
            name.trim(),
            Some(count.strip_suffix(')')?.trim().parse::<usize>().ok().filter(|count| *count > 0)?),
        ),
        None => (text.as_str(), None),
    };
    let all = match name {
        "threads" => each_alone(),
        "cores" => alike(|at| first_line(&cpu(at).join("topology/thread_siblings_list"))),
        "ll_caches" => alike(|at| last_cache(&cpu(at))),
        "numa_domains" => alike(|at| node_of(at).map(|node| node.to_string())),
        "sockets" => alike(|at| first_line(&cpu(at).join("topology/physical_package_id"))),
        _ if name.starts_with('{') || name.starts_with('!') => explicit(&text)?,
        _ => return None,
    };
    let mut all = kept(all)?;
    all.truncate(count.unwrap_or(usize::MAX));
    Some(all)
}

/// Processors that have the same of something are one place; one of which it is not known is one by itself.
fn alike(of: impl Fn(usize) -> Option<String>) -> Vec<ProcessorList> {
    let mut all: Vec<(String, ProcessorList)> = Vec::new();
    for &at in allowed() {
        let what = of(at).unwrap_or_else(|| format!("processor {at}"));
        match all.iter_mut().find(|(other, _)| *other == what) {
            Some((_, place)) => place.push(at),
            None => all.push((what, vec![at])),
        }
    }
    all.into_iter().map(|(_, place)| place).collect()
}

fn cpu(at: usize) -> std::path::PathBuf {
    Path::new("/sys/devices/system/cpu").join(format!("cpu{at}"))
}

fn first_line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

/// With whom a processor shares its largest cache.
fn last_cache(cpu: &Path) -> Option<String> {
    let at_level = |index: usize| {
        let cache = cpu.join(format!("cache/index{index}"));
        Some((
            first_line(&cache.join("level"))?.parse::<u32>().ok()?,
            first_line(&cache.join("shared_cpu_list"))?,
        ))
    };
    (0..10).map_while(at_level).max_by_key(|(level, _)| *level).map(|(_, shared)| shared)
}

fn node_of(at: usize) -> Option<usize> {
    let names = fs::read_dir(cpu(at)).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.strip_prefix("node")?.parse().ok()).next()
}

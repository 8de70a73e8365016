//! Owns: the report of `raddle info`.
//! May use: `raddle`.
//! Never: starting a runtime.
//!
//! Every fact is one that decides something in the runtime, and the line says what. A fact that cannot be read is
//! said to be unknown rather than left out.

use std::fmt::Write as _;
use std::fs::read_to_string;

use raddle::SETTINGS;

/// The whole report.
pub(crate) fn report() -> String {
    let mut text = String::new();
    let _ =
        writeln!(text, "raddle {} on {} {}\n", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, kernel());
    for (name, value, decides) in facts() {
        let _ = writeln!(text, "{name:<16} {value:<14} {decides}");
    }
    text.push_str("\nSettings (`raddle run --help` says what they mean):\n");
    for setting in SETTINGS {
        let value = std::env::var_os(setting.variable);
        let value = value.map_or("default".to_owned(), |value| format!("{}", value.display()));
        let _ = writeln!(text, "{:<22} {value}", setting.variable);
    }
    text
}

type Fact = (&'static str, String, &'static str);

fn facts() -> Vec<Fact> {
    let cores = std::thread::available_parallelism().map_or_else(|_| unknown(), |cores| cores.to_string());
    let affinity = status_line("Cpus_allowed_list").unwrap_or_else(unknown);
    let maps = read_to_string("/proc/sys/vm/max_map_count")
        .map_or_else(|_| unknown(), |text| text.trim().to_owned());
    vec![
        ("usable cores", cores, "what affinity and cgroup leave; the default number of workers"),
        ("affinity", affinity, "the cores that this process may run on"),
        ("cgroup quota", quota(), "cores' worth of time that the cgroup grants"),
        ("guard pages", yes_or_no(has_guard_install()), "MADV_GUARD_INSTALL: a guard costs no memory map"),
        ("max_map_count", maps, "where guards cost maps, the limit of stacks is about half of it"),
        ("FSGSBASE", yes_or_no(has_fsgsbase()), "switching thread-local storage needs no system call"),
    ]
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn yes_or_no(fact: Option<bool>) -> String {
    fact.map_or_else(unknown, |yes| if yes { "yes" } else { "no" }.to_owned())
}

fn kernel() -> String {
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", if release.is_empty() { "of unknown release" } else { release.trim() })
}

fn status_line(key: &str) -> Option<String> {
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Quota of this process's cgroup, version 2: the tightest of it and those above it.
fn quota() -> String {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::")) else { return unknown() };
    let folders = std::path::Path::new(group.trim_start_matches('/')).ancestors();
    let files = folders.map(|folder| std::path::Path::new("/sys/fs/cgroup").join(folder).join("cpu.max"));
    let quotas = files.filter_map(|file| quota_of(&read_to_string(file).ok()?));
    quotas.reduce(f64::min).map_or("none".to_owned(), |cores| format!("{cores:.2}"))
}

/// Cores' worth of a `cpu.max`, such as `150000 100000`; `None` where it grants all.
fn quota_of(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

/// Linux has `MADV_GUARD_INSTALL` from 6.13 on.
fn has_guard_install() -> Option<bool> {
    let release = read_to_string("/proc/sys/kernel/osrelease").ok()?;
    release_at_least(&release, (6, 13))
}

fn release_at_least(release: &str, least: (u32, u32)) -> Option<bool> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?) >= least)
}

/// Whether the kernel lets programs use `wrfsbase`; it says so in the auxiliary vector.
fn has_fsgsbase() -> Option<bool> {
    const AT_HWCAP2: u64 = 26;
    const HWCAP2_FSGSBASE: u64 = 1 << 1;
    if !cfg!(target_arch = "x86_64") {
        return Some(false);
    }
    let vector = std::fs::read("/proc/self/auxv").ok()?;
    let words = vector.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
    let words: Vec<_> = words.collect();
    let pair = words.as_chunks::<2>().0.iter().find(|[key, _]| *key == AT_HWCAP2)?;
    Some(pair[1] & HWCAP2_FSGSBASE != 0)
}

#[test]
fn a_quota_is_read_in_cores() {
    assert_eq!(quota_of("150000 100000\n"), Some(1.5));
    assert_eq!(quota_of("max 100000\n"), None);
    assert_eq!(quota_of(""), None);
}

#[test]
fn releases_are_compared_by_number() {
    assert_eq!(release_at_least("6.13.0-rc1", (6, 13)), Some(true));
    assert_eq!(release_at_least("6.9.12", (6, 13)), Some(false));
    assert_eq!(release_at_least("10.0", (6, 13)), Some(true));
    assert_eq!(release_at_least("strange", (6, 13)), None);
}

//! Owns: what Linux says about this machine, this process and its threads.
//! May use: nothing.
//! Never: a guess; what cannot be read is an error or "unknown".

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The machine in one line: processor, cores, memory, kernel, and whether it is a virtual one.
pub fn describe() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpuinfo, "model name").unwrap_or("unknown processor");
    let virtual_machine =
        if cpuinfo.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor")) {
            ", virtual"
        } else {
            ""
        };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let gib = kilobytes(&meminfo, "MemTotal").unwrap_or_default() >> 20;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cores} cores{virtual_machine}, {gib} GiB, Linux {}", kernel.trim())
}

/// Memory of this process: resident bytes, and bytes of page tables, which `resident` does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Resident bytes, counted page by page by the kernel (exact, and slow with many pages).
    pub resident: u64,
    /// Bytes of page tables.
    pub page_tables: u64,
}

impl Memory {
    /// Reads it from `/proc/self`.
    ///
    /// # Errors
    /// When the file or the field is missing.
    pub fn now() -> Result<Self, String> {
        let read = |path: &str, name: &str| {
            let text = fs::read_to_string(path).map_err(|e| format!("cannot read {path}: {e}"))?;
            kilobytes(&text, name).map(|kb| kb * 1024).ok_or_else(|| format!("{path} has no {name}"))
        };
        let resident = read("/proc/self/smaps_rollup", "Rss")?;
        Ok(Memory { resident, page_tables: read("/proc/self/status", "VmPTE")? })
    }
}

/// The kernel counts the time of a whole machine in steps of this length, of which it shows whole ones only.
const TICK: Duration = Duration::from_millis(10);

/// What the processors of the whole machine have done so far.
///
/// Two of these tell what *strangers* took of the processors between them: everybody but the caller and the processes
/// that it ran. `/proc/stat` knows everybody, in steps of 10 ms; a run of 100 ms cannot be told by it from one during
/// which somebody took a tenth of a core. So what each thread that can be seen has used, which the kernel counts in
/// nanoseconds, is asked for beside it, and the larger figure holds.
#[derive(Clone, Debug)]
pub struct MachineTime {
    taken: Instant,
    whole: WholeMachine,
    /// Nanoseconds that each thread of other processes has used, by its number.
    threads: HashMap<u32, u64>,
}

/// What `/proc/stat` says of all processors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WholeMachine {
    cores: u32,
    /// Ticks in which a core had nothing to do, or waited for a disk.
    idle: u64,
    /// Ticks in which a core had something to do, and the host gave it to somebody else.
    steal: u64,
}

impl MachineTime {
    /// Reads it from `/proc`.
    ///
    /// # Errors
    /// When `/proc/stat` cannot be read or says something else than expected.
    pub fn now() -> Result<Self, String> {
        let text = fs::read_to_string("/proc/stat").map_err(|e| format!("cannot read /proc/stat: {e}"))?;
        let whole = WholeMachine::parse(&text).ok_or("/proc/stat has no line of all processors")?;
        Ok(MachineTime { taken: Instant::now(), whole, threads: threads_of_others() })
    }

    /// How many cores strangers kept busy since `before`, on average (0.03: three per cent of one), where the caller's
    /// process and its children used `own` of processor time. What the host took from the machine counts as theirs.
    pub fn strangers_since(&self, before: &MachineTime, own: Duration) -> f64 {
        let wall = self.taken.duration_since(before.taken);
        let seen: u64 = self.threads.iter().map(|(id, ns)| ns.saturating_sub(before.used(*id))).sum();
        let taken = self.whole.taken_since(before.whole, wall, own).max(Duration::from_nanos(seen));
        taken.as_secs_f64() / wall.as_secs_f64().max(1e-9)
    }

    fn used(&self, thread: u32) -> u64 {
        self.threads.get(&thread).copied().unwrap_or_default()
    }
}

impl WholeMachine {
    fn parse(stat: &str) -> Option<WholeMachine> {
        let words = stat.lines().find(|line| line.starts_with("cpu "))?.split_whitespace().skip(1);
        let all = words.map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
        let cores = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        // user nice system idle iowait irq softirq steal
        Some(WholeMachine { cores: cores as u32, idle: all.get(3)? + all.get(4)?, steal: *all.get(7)? })
    }

    /// What was surely taken: by as much as the kernel rounds, it is at least so much.
    ///
    /// What was not idle is exact but for the rounding. The ticks of *user* and *system* are not: the kernel gives each
    /// tick to whoever runs when it comes.
    fn taken_since(self, before: WholeMachine, wall: Duration, own: Duration) -> Duration {
        let ticks = |now: u64, then: u64| TICK.saturating_mul(now.saturating_sub(then) as u32);
        let all = (wall * self.cores).saturating_sub(ticks(self.idle, before.idle));
        let surely = |taken: Duration| taken.saturating_sub(TICK);
        surely(all.saturating_sub(own)).max(surely(ticks(self.steal, before.steal)))
    }
}

/// What each thread of other processes has used; nothing of those that the caller may not see.
fn threads_of_others() -> HashMap<u32, u64> {
    let numbers = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).collect::<Vec<_>>()
    };
    let mut threads = HashMap::new();
    for process in numbers(Path::new("/proc")).into_iter().filter(|id| *id != std::process::id()) {
        let tasks = format!("/proc/{process}/task");
        for thread in numbers(Path::new(&tasks)) {
            if let Ok(ns) = thread_ns(&Path::new(&tasks).join(thread.to_string())) {
                threads.insert(thread, ns);
            }
        }
    }
    threads
}

/// Processor time that all threads of this process have used so far, in nanoseconds. Threads that have exited
/// are not counted.
///
/// # Errors
/// When the kernel keeps no such account (`CONFIG_SCHEDSTATS`).
pub fn processor_ns() -> Result<u64, String> {
    let threads = fs::read_dir("/proc/self/task").map_err(|e| format!("cannot list threads: {e}"))?;
    let mut total = 0;
    for thread in threads.flatten() {
        total += thread_ns(&thread.path())?;
    }
    Ok(total)
}

/// What one thread has used; nothing, if it has ended since it was listed.
fn thread_ns(thread: &Path) -> Result<u64, String> {
    let path = thread.join("schedstat");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(_) if !thread.exists() => return Ok(0),
        Err(e) => return Err(format!("cannot read {}: {e}", path.display())),
    };
    let first = text.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok());
    first.ok_or_else(|| format!("{} holds no number", path.display()))
}

/// The kernel's number of the calling thread.
///
/// # Errors
/// When `/proc` is not mounted.
pub fn thread_id() -> Result<u32, String> {
    let link =
        fs::read_link("/proc/thread-self").map_err(|e| format!("cannot read /proc/thread-self: {e}"))?;
    let name = link.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.parse().map_err(|_| format!("/proc/thread-self is {}", link.display()))
}

/// Whether the thread of this process with that number is asleep in the kernel (state `S`).
pub fn thread_sleeps(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
    // The name stands in parentheses and may contain anything; the state is what follows the last one.
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim())
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "VmPTE:\t  120 kB\nVmPTEx: 7 kB\nRss:                1024 kB\nmodel name\t: A: B\n";
        assert_eq!(
            (kilobytes(text, "VmPTE"), kilobytes(text, "Rss"), kilobytes(text, "Vm")),
            (Some(120), Some(1024), None)
        );
        assert_eq!(field(text, "model name"), Some("A: B"));
    }

    #[test]
    fn touched_memory_is_resident() {
        let before = Memory::now().unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = Memory::now().unwrap();
        assert!(after.resident >= before.resident + (60 << 20), "{before:?} {after:?}");
        drop(block);
    }

    #[test]
    fn a_computing_thread_uses_processor_time_and_does_not_sleep() {
        // Of this thread alone: others of the test program come and go, and take their time with them.
        let this = format!("/proc/self/task/{}", thread_id().unwrap());
        let before = thread_ns(Path::new(&this)).unwrap();
        std::hint::black_box(crate::work::burn(1, 20_000_000));
        assert!(thread_ns(Path::new(&this)).unwrap() > before);
        assert!(processor_ns().unwrap() > 0);
        assert!(!thread_sleeps(thread_id().unwrap()));
    }

    const STAT: &str = "cpu  100 0 50 1000 20 3 2 7 0 0\ncpu0 50 0 25 500 10 1 1 4 0 0\n\
                        cpu1 50 0 25 500 10 2 1 3 0 0\nintr 5\n";

    #[test]
    fn the_line_of_all_processors_is_that_of_the_machine() {
        let whole = WholeMachine::parse(STAT).unwrap();
        assert_eq!(whole, WholeMachine { cores: 2, idle: 1020, steal: 7 });
        assert_eq!(WholeMachine::parse("intr 5\n"), None);
        assert_eq!(WholeMachine::parse("cpu  1 2 3\n"), None);
    }

    /// One second on two cores, of which so many hundredths were idle and so many stolen.
    fn taken(idle: u64, steal: u64, own_ms: u64) -> Duration {
        let before = WholeMachine { cores: 2, idle: 500, steal: 5 };
        let after = WholeMachine { cores: 2, idle: 500 + idle, steal: 5 + steal };
        after.taken_since(before, Duration::from_secs(1), Duration::from_millis(own_ms))
    }

    #[test]
    fn strangers_took_what_was_neither_idle_nor_ours() {
        assert_eq!(taken(100, 0, 1000), Duration::ZERO);
        assert_eq!(taken(60, 0, 1000), Duration::from_millis(390));
        // As much as the kernel rounds may be nothing.
        assert_eq!(taken(99, 0, 1000), Duration::ZERO);
    }

    #[test]
    fn what_the_host_took_counts_though_the_kernel_gave_it_to_us() {
        assert_eq!(taken(100, 20, 1000), Duration::from_millis(190));
        assert_eq!(taken(80, 20, 1000), Duration::from_millis(190));
    }

    #[test]
    fn a_stranger_who_is_seen_is_counted_to_the_nanosecond() {
        let whole = WholeMachine { cores: 1, idle: 0, steal: 0 };
        let at = |ms: u64, threads: &[(u32, u64)]| MachineTime {
            taken: Instant::now() + Duration::from_millis(ms),
            whole: WholeMachine { idle: ms / 10, ..whole },
            threads: threads.iter().copied().collect(),
        };
        // One had used something before, one is new, one has ended.
        let before = at(0, &[(1, 5_000_000), (3, 7_000_000)]);
        let share = at(100, &[(1, 8_000_000), (2, 1_000_000)]).strangers_since(&before, Duration::ZERO);
        assert!((0.039..0.041).contains(&share), "{share}");
    }

    #[test]
    fn another_process_that_computes_is_a_stranger() {
        let mut other = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = MachineTime::now().unwrap();
        let used = || thread_ns(Path::new(&format!("/proc/{0}/task/{0}", other.id()))).unwrap();
        let begun = used();
        while used() < begun + 20_000_000 {
            std::thread::yield_now();
        }
        let (after, wall) = (MachineTime::now().unwrap(), before.taken.elapsed());
        other.kill().unwrap();
        other.wait().unwrap();
        // All cores may be said to be ours: it is seen by itself.
        let share = after.strangers_since(&before, wall * 1000);
        assert!(share * wall.as_secs_f64() >= 0.019, "{share} of {wall:?}");
        let me = std::process::id();
        assert!(!after.threads.contains_key(&me), "this process is no stranger to itself");
    }

    #[test]
    fn a_thread_that_has_ended_has_used_nothing() {
        assert_eq!(thread_ns(Path::new("/proc/self/task/0")), Ok(0));
    }

    #[test]
    fn a_blocked_thread_sleeps() {
        let (number, numbers) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            number.send(thread_id().unwrap()).unwrap();
            released.recv().unwrap_err();
        });
        let id = numbers.recv().unwrap();
        while !thread_sleeps(id) {
            std::thread::yield_now();
        }
        drop(release);
        thread.join().unwrap();
    }
}

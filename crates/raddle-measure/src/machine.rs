//! Owns: what Linux says about this machine, this process and its threads.
//! May use: nothing.
//! Never: a guess; what cannot be read is an error or "unknown".

use std::fs;
use std::path::Path;

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

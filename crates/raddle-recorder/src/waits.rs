//! Owns: what the helper reads of each worker once a tick: what it publishes, and what Linux counts for its OS thread.
//! May use: `raddle-core`, `raddle-trace`.
//! Never: a sample of a program that is idle.

use raddle_core::runtime::Shared;
use raddle_core::worker::Worker;
use raddle_trace::clock::Source;
use raddle_trace::file::Sample;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// What Linux counts for each worker's OS thread.
#[derive(Default)]
pub(crate) struct Waits {
    files: Vec<Option<File>>,
}

impl Waits {
    /// A sample of each worker; none while all sleep.
    pub(crate) fn sample(&mut self, shared: &Shared) -> Vec<Sample> {
        let workers = shared.workers();
        if shared.sleepers() == workers.len() {
            return Vec::new();
        }
        let ticks = Source::of_this_machine().ticks();
        self.files.resize_with(workers.len(), || None);
        let of_one = |(worker, file): (&Worker, &mut Option<File>)| {
            let (ready, backlog_ns) = worker.backlog();
            let kernel_wait_ns = kernel_wait_ns(file, worker.tracer().os_thread());
            Sample { ticks, worker: worker.index as u32, ready: ready as u32, backlog_ns, kernel_wait_ns }
        };
        workers.iter().zip(&mut self.files).map(of_one).collect()
    }
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

//! Owns: a busy neighbour: a thread that computes on the first core while a program runs.
//! May use: the affinity of a thread.
//! Never: more than one core.
//!
//! A cell with the parameter `busy=1` has one beside each of its processes. It is the runner's own thread, and so no
//! stranger.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use raddle_measure::work::burn;

/// About a tenth of a millisecond.
const STEPS: u64 = 100_000;

/// Computes until it is dropped.
pub struct Neighbour {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// Starts it on the first core that the runner may use.
    ///
    /// # Errors
    /// When it cannot be bound to that core.
    pub fn move_in() -> Result<Neighbour, String> {
        let failed = |why| format!("no busy neighbour: {why}");
        let own = sched_getaffinity(Pid::from_raw(0)).map_err(failed)?;
        let first = (0..CpuSet::count()).find(|core| own.is_set(*core) == Ok(true)).unwrap_or(0);
        let over = Arc::new(AtomicBool::new(false));
        let (told, theirs) = (std::sync::mpsc::channel(), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            let bound = on_core(first);
            let computes = bound.is_ok();
            let _ = told.0.send(bound);
            while computes && !theirs.load(Ordering::Relaxed) {
                std::hint::black_box(burn(1, STEPS));
            }
        });
        let neighbour = Neighbour { over, thread: Some(thread) };
        told.1.recv().map_err(|_| "no busy neighbour: its thread ended")?.map_err(failed)?;
        Ok(neighbour)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn on_core(core: usize) -> nix::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bound_alone_and_ends() {
        let before = sched_getaffinity(Pid::from_raw(0)).unwrap();
        drop(Neighbour::move_in().unwrap());
        assert_eq!(sched_getaffinity(Pid::from_raw(0)).unwrap(), before);
    }
}

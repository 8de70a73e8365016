//! Dumps under stress: with `DUMPS=1` the whole catalogue is looked at every millisecond while it runs.

use raddle::hang::dump;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// Looks until it is dropped.
pub(crate) struct Dumper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(u64, u64)>>,
}

impl Dumper {
    /// Begins, if it is asked for.
    pub(crate) fn if_asked() -> Option<Dumper> {
        std::env::var_os("DUMPS")?;
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        let thread = spawn(move || {
            let (mut dumps, mut whole) = (0, 0);
            while !stops.load(Ordering::Relaxed) {
                let dump = dump();
                dumps += 1;
                whole += u64::from(dump.is_whole());
                assert!(dump.list().lines().count() >= dump.processes());
                assert!(dump.json().ends_with("]}\n"));
                // The pace that is asked for, and nobody waits for it.
                sleep(Duration::from_millis(1));
            }
            (dumps, whole)
        });
        Some(Dumper { stop, thread: Some(thread) })
    }
}

impl Drop for Dumper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let (dumps, whole) = thread.join().expect("no dump fails");
            eprintln!("{dumps} dumps, {whole} of them whole");
        }
    }
}

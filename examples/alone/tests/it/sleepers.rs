//! Owns: threads that are seen to sleep before they are woken.
//! May use: `/proc`.
//! Never: a time.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

/// Runs `waits` in a thread, which has to wait in it; `wake` is called when it sleeps. What `waits` returned.
pub(crate) fn woken<R: Send>(waits: impl FnOnce() -> R + Send, wake: impl FnOnce()) -> R {
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let waiting = scope.spawn(move || {
            tell.send(myself()).expect("it is awaited");
            waits()
        });
        let thread = told.recv().expect("it says who it is");
        while !sleeps(&thread) {
            assert!(!waiting.is_finished(), "it did not wait");
            std::hint::spin_loop();
        }
        wake();
        waiting.join().expect("it only waits")
    })
}

/// Where the kernel tells of the caller.
fn myself() -> PathBuf {
    Path::new("/proc").join(std::fs::read_link("/proc/thread-self").expect("Linux tells"))
}

/// Whether the thread sleeps.
fn sleeps(thread: &Path) -> bool {
    let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
    // `tid (name) state ...`, and the name is anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Runs `f` in so many threads at once, by their numbers.
pub(crate) fn together(threads: usize, f: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let f = &f;
        (0..threads).for_each(|number| drop(scope.spawn(move || f(number))));
    });
}

//! A program of its own, since it looks at the memory of the whole program.

use raddle::{Runtime, csp};

/// Threads made and joined, one after the other and many at once: the memory stays what it was.
#[cfg(not(any(raddle_tsan, raddle_asan, raddle_twin)))] // they keep memory of what is gone
#[test]
fn threads_come_and_go_without_a_trace() {
    let rt = Runtime::builder().workers(2).build().expect("a runtime");
    let resident_pages = || -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
        statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number")
    };
    let round = || {
        let thread =
            |n: usize| csp::Builder::new().own_tls(true).spawn(move || drop(vec![n; 10])).expect("a thread");
        for lot in 0..10 {
            let all: Vec<_> = (0..100).map(|n| thread(lot + n)).collect();
            all.into_iter().for_each(|t| t.join().expect("it ends"));
        }
    };
    rt.run(|| {
        (0..10).for_each(|_| round());
        let before = resident_pages();
        (0..100).for_each(|_| round());
        let after = resident_pages();
        // Each of the two workers may come to keep 256 stacks and storages, of a few pages each, once threads have gone
        // over to it; one page kept of each of these threads would be ten thousand.
        assert!(after < before + 4000, "{before} pages have become {after}");
    });
}

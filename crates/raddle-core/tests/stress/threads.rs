//! Threads among light processes, and calls that block.

use super::{Progress, everywhere};
use raddle_core::{csp, thread};
use std::time::Duration;

#[test]
fn threads_are_made_while_others_sleep() {
    everywhere("threads", |rt, progress| {
        let naps = |round: usize, progress: &Progress| {
            for _ in 0..5 {
                csp::sleep(Duration::from_micros(20));
                csp::yield_now();
                progress.note();
            }
            round
        };
        rt.run(|| {
            let sleeps = |n| {
                let progress = progress.clone();
                csp::spawn(move || naps(n, &progress))
            };
            let thread = |n| {
                let progress = progress.clone();
                thread::Builder::new().stack_size(1).spawn(move || naps(n, &progress)).ok()
            };
            let light: Vec<_> = (0..20).map(sleeps).collect();
            let threads: Vec<_> = (0..20).filter_map(thread).collect();
            light.into_iter().enumerate().for_each(|(n, p)| assert_eq!(p.join().unwrap(), n));
            threads.into_iter().enumerate().for_each(|(n, t)| assert_eq!(t.join().unwrap(), n));
        });
    });
}

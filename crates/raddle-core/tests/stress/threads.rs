//! Threads among light processes, and calls that block.

use super::{Progress, everywhere};
use raddle::{blocking, csp, task, thread};
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

#[test]
fn blocking_calls_come_and_go() {
    everywhere("blocking", |rt, progress| {
        let calls = |n: usize, progress: &Progress| {
            for round in 0..10 {
                assert_eq!(blocking(|| n + round), n + round);
                csp::yield_now();
                progress.note();
            }
        };
        rt.run(|| {
            let light = |n| {
                let progress = progress.clone();
                csp::spawn(move || calls(n, &progress))
            };
            let thread = |n| {
                let progress = progress.clone();
                thread::Builder::new().stack_size(1).spawn(move || calls(n, &progress)).ok()
            };
            let light: Vec<_> = (0..20).map(light).collect();
            let threads: Vec<_> = (0..20).filter_map(thread).collect();
            let away = task::spawn_blocking(|| ());
            light.into_iter().for_each(|p| p.join().unwrap());
            threads.into_iter().for_each(|t| t.join().unwrap());
            task::block_on(away).unwrap();
        });
        // Nobody waits for these but the runtime's end.
        drop(rt.spawn(|| blocking(|| ())));
        rt.run(|| drop(task::spawn_blocking(|| ())));
    });
}

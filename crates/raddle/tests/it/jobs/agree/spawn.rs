//! `spawn` and `spawn_fifo`.

use super::*;
use std::sync::mpsc;

/// Who waits here blocks: so it does not stand on the only worker.
fn beside_a_worker(test: fn()) {
    test();
    on_workers(2, test);
    on_workers(8, test);
}

#[test]
fn a_spawned_job_runs_sometime() {
    beside_a_worker(|| {
        let (tell, told) = mpsc::channel();
        for n in 0..20 {
            let tell = tell.clone();
            match n % 2 {
                0 => jobs::spawn(move || tell.send(n).unwrap()),
                _ => jobs::spawn_fifo(move || tell.send(n).unwrap()),
            }
        }
        drop(tell);
        let mut all: Vec<i32> = told.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>());
    });
}

#[test]
fn a_spawned_job_may_spawn_join_and_scope() {
    beside_a_worker(|| {
        let (tell, told) = mpsc::channel();
        jobs::spawn(move || {
            let (a, b) = jobs::join(|| 1, || jobs::scope(|_| 2));
            jobs::spawn_fifo(move || jobs::spawn(move || tell.send(a + b).unwrap()));
        });
        assert_eq!(told.recv(), Ok(3));
    });
}

#[test]
fn who_spawns_does_not_wait() {
    on_workers(1, || {
        let ran = Arc::new(AtomicUsize::new(0));
        let inside = ran.clone();
        jobs::spawn(move || tick(&inside));
        assert_eq!(ran.load(Ordering::Relaxed), 0);
    });
}

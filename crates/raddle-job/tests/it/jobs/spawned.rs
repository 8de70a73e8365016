//! `spawn`: jobs that nobody waits for, several of which one process runs.

use super::*;
use raddle::sync::mpsc as ours;

/// Where jobs have storage of their own, so that one that waits leaves its worker.
fn anywhere(test: impl Fn() + Sync) {
    for workers in [1, 2, 8] {
        watched(workers, || raddle::Runtime::builder().workers(workers).build().unwrap().run(&test));
    }
}

fn watched(workers: usize, test: impl FnOnce()) {
    let name = format!("spawned jobs, {workers} workers");
    let _dog = Watchdog::new(name, Progress::default(), || String::from("it hangs"));
    test();
}

/// How many processes and tasks the runtime has made.
fn spawns(rt: &raddle::Runtime) -> u64 {
    rt.stats().iter().map(|worker| worker.spawns).sum()
}

#[test]
fn jobs_that_do_not_wait_share_processes() {
    const JOBS: u64 = 10_000;
    let rt = Arc::new(raddle::Runtime::builder().workers(1).build().unwrap());
    let before = spawns(&rt);
    let inner = Arc::clone(&rt);
    rt.run(move || {
        let (tell, told) = ours::channel();
        for n in 0..JOBS {
            let tell = tell.clone();
            raddle::spawn(move || tell.send(n).unwrap());
        }
        drop(tell);
        assert_eq!(told.iter().sum::<u64>(), JOBS * (JOBS - 1) / 2);
        let made = spawns(&inner) - before;
        // However slow this is: a process for each would be more.
        assert!(made < JOBS, "{made} processes for {JOBS} jobs");
    });
}

#[test]
fn a_job_that_waits_keeps_nobody() {
    anywhere(|| {
        let (tell, told) = ours::channel();
        let (give, given) = ours::channel();
        // On one worker the youngest begins first, and waits for the one that is left.
        raddle::spawn(move || give.send(7).unwrap());
        for _ in 0..100 {
            let tell = tell.clone();
            raddle::spawn(move || tell.send(1).unwrap());
        }
        raddle::spawn(move || tell.send(given.recv().unwrap()).unwrap());
        assert_eq!(told.iter().sum::<usize>(), 107);
    });
}

#[test]
fn all_jobs_may_wait_for_each_other() {
    const JOBS: usize = 100;
    anywhere(|| {
        let barrier = Arc::new(raddle::sync::Barrier::new(JOBS));
        let (tell, told) = ours::channel();
        for n in 0..JOBS {
            let (barrier, tell) = (Arc::clone(&barrier), tell.clone());
            let job = move || {
                barrier.wait();
                tell.send(n).unwrap();
            };
            if n % 2 == 0 { raddle::spawn(job) } else { raddle::spawn_fifo(job) }
        }
        drop(tell);
        assert_eq!(told.iter().sum::<usize>(), JOBS * (JOBS - 1) / 2);
    });
}

/// On workers of their own, though none of them ever lets others run.
#[test]
fn jobs_that_block_their_workers_run_beside_each_other() {
    for _ in 0..100 {
        let rt = runtime(4);
        watched(4, || {
            rt.run(|| {
                let barrier = Arc::new(Barrier::new(4));
                let (tell, told) = ours::channel();
                for _ in 0..4 {
                    let (barrier, tell) = (Arc::clone(&barrier), tell.clone());
                    raddle::spawn(move || {
                        meet(&barrier);
                        tell.send(()).unwrap();
                    });
                }
                drop(tell);
                assert_eq!(told.iter().count(), 4);
            })
        });
    }
}

#[test]
fn jobs_that_spawn_jobs_for_ever_let_others_run() {
    fn again(stop: &Arc<AtomicBool>) {
        let stop = Arc::clone(stop);
        raddle::spawn(move || {
            if !stop.load(Ordering::Relaxed) {
                again(&stop);
            }
        });
    }
    anywhere(|| {
        let stop = Arc::new(AtomicBool::new(false));
        again(&stop);
        let woken = csp::spawn({
            let stop = Arc::clone(&stop);
            move || {
                csp::yield_now();
                stop.store(true, Ordering::Relaxed);
            }
        });
        woken.join().unwrap();
    });
}

/// The job has ended, and more jobs are there for its process: its fork must not stay with that.
#[test]
fn what_a_job_has_forked_is_offered_when_it_ends() {
    anywhere(|| {
        let (hand, handed) = ours::channel();
        let (release, released) = ours::channel::<()>();
        raddle::spawn(move || assert!(released.recv().is_err()));
        raddle::spawn(move || hand.send(fork(|| 7)).unwrap());
        assert_eq!(handed.recv().unwrap().join(), 7);
        drop(release);
    });
}

#[test]
fn a_panic_of_one_job_does_not_end_the_others() {
    let heard = Arc::new(AtomicUsize::new(0));
    let pool = raddle::ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler({
            let heard = Arc::clone(&heard);
            move |_| tick(&heard)
        })
        .build()
        .unwrap();
    let (tell, told) = mpsc::channel();
    pool.install(|| {
        for n in 0..10 {
            let tell = tell.clone();
            raddle::spawn(move || {
                assert!(n % 2 == 0, "an odd one");
                tell.send(n).unwrap();
            });
        }
    });
    drop(tell);
    assert_eq!(told.iter().sum::<usize>(), 20);
    drop(pool);
    assert_eq!(heard.load(Ordering::Relaxed), 5);
}

//! `fork`.

use super::*;

#[test]
fn large_closures_are_moved_and_dropped_once() {
    everywhere(|| {
        let counted = Arc::new(());
        scope(|s| {
            for _ in 0..10 {
                let (counted, big) = (counted.clone(), [7_u8; 1000]);
                s.spawn(move |_| assert_eq!((Arc::strong_count(&counted) > 1, big[999]), (true, 7)));
            }
        });
        let forks: Vec<Fork<(Arc<()>, [u8; 300])>> =
            (0..10).map(|_| counted.clone()).map(|c| fork(move || (c, [1; 300]))).collect();
        let values: Vec<_> = forks.into_iter().map(Fork::join).collect();
        assert_eq!(Arc::strong_count(&counted), 11);
        drop(values);
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

#[test]
fn forks_have_their_values_whoever_computes_them_and_in_whatever_order() {
    everywhere(|| {
        let make = || (0..1000_u64).map(|n| fork(move || n * n)).collect::<Vec<_>>();
        let square = |(n, f): (u64, Fork<u64>)| assert_eq!(f.join(), n * n);
        (0..).zip(make()).for_each(square);
        (0..).zip(make()).collect::<Vec<_>>().into_iter().rev().for_each(square);
        let (odd, even): (Vec<_>, Vec<_>) = (0..).zip(make()).partition(|(n, _)| n % 2 == 1);
        odd.into_iter().chain(even).for_each(square);
    });
}

#[test]
fn a_fork_may_be_asked_for_elsewhere_and_waits_for_what_its_maker_does_later() {
    everywhere(|| {
        let (give, given) = mpsc::channel();
        let waits = fork(move || {
            loop {
                match given.try_recv() {
                    Ok(value) => return value,
                    Err(_) => csp::yield_now(),
                }
            }
        });
        let asker = csp::spawn(move || waits.join());
        give.send(42).unwrap();
        assert_eq!(asker.join().unwrap(), 42);
    });
}

#[test]
fn a_fork_that_nobody_asks_for_runs_and_its_value_is_dropped() {
    everywhere(|| {
        let counted = Arc::new(());
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let (counted, ran) = (counted.clone(), ran.clone());
            drop(fork(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                counted
            }));
        }
        while ran.load(Ordering::Relaxed) < 100 || Arc::strong_count(&counted) > 1 {
            csp::yield_now();
        }
    });
}

#[test]
fn forks_outlive_the_process_that_made_them() {
    everywhere(|| {
        let made = csp::spawn(|| (0..100_u64).map(|n| fork(move || n)).collect::<Vec<_>>());
        let forks = made.join().unwrap();
        assert_eq!(forks.into_iter().map(Fork::join).sum::<u64>(), 4950);
        let from_join = join(|| fork(|| 1), || fork(|| 2));
        assert_eq!(from_join.0.join() + from_join.1.join(), 3);
    });
}

#[test]
fn forks_and_jobs_may_be_mixed_in_one_flow() {
    everywhere(|| {
        let mut kept = Vec::new();
        let ran = AtomicUsize::new(0);
        let sum = scope(|s| {
            for n in 0..50_usize {
                kept.push(fork(move || n));
                s.spawn(|s| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    s.spawn(|_| tick(&ran));
                });
            }
            let (a, b) = join(|| kept.swap_remove(20).join(), || fork(|| 1).join());
            a + b
        });
        assert_eq!((sum, ran.into_inner()), (21, 100));
        assert_eq!(kept.into_iter().map(Fork::join).sum::<usize>(), 1225 - 20);
    });
}

#[test]
fn the_panic_of_a_fork_goes_to_who_asks() {
    everywhere(|| {
        let bad = || {
            fork(|| {
                throw("fork");
                1
            })
        };
        assert_eq!(panic_of(|| bad().join()), "fork");
        let elsewhere = bad();
        let asker = csp::spawn(move || elsewhere.join());
        // Waiting for the asker lets go of the fork.
        let panic = asker.join().unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"fork"));
        drop(bad());
    });
}

#[test]
fn tasks_use_scopes_at_once_and_make_forks_for_others() {
    let (sum, late) = runtime(2).block_on(async {
        let task = task::spawn(async {
            let sum = AtomicUsize::new(0);
            scope(|s| (0..10).for_each(|_| s.spawn(|_| tick(&sum))));
            (sum.into_inner(), fork(|| 7))
        });
        task.await.unwrap()
    });
    assert_eq!((sum, late.join()), (10, 7));
}

/// Makes a fork when it is dropped.
struct Late(mpsc::Sender<()>);

impl Drop for Late {
    fn drop(&mut self) {
        let sender = self.0.clone();
        drop(fork(move || sender.send(())));
    }
}

#[test]
fn what_a_destructor_or_a_dropped_result_forks_runs() {
    thread_local! {
        static LOCAL: RefCell<Option<Late>> = const { RefCell::new(None) };
    }
    let (sender, receiver) = mpsc::channel();
    runtime(1).run(move || {
        let own = sender.clone();
        // Where there are no threads there is nothing to show.
        if let Ok(thread) = thread::Builder::new().spawn(move || LOCAL.set(Some(Late(own)))) {
            thread.join().unwrap();
        } else {
            sender.send(()).unwrap();
        }
        drop(csp::spawn(move || Late(sender)));
    });
    assert_eq!(receiver.iter().count(), 2);
}

/// The worker that rings an alarm is idle, and about to sleep.
#[test]
fn a_fork_that_a_waker_makes_runs() {
    struct Unparks(csp::Process);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            let process = self.0.clone();
            drop(fork(move || process.unpark()));
        }
    }
    runtime(1).run(|| {
        let waker = Waker::from(Arc::new(Unparks(csp::current().unwrap())));
        let mut sleep = pin!(task::sleep(Duration::from_millis(1)));
        if sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            csp::park();
        }
    });
}

/// Small ones lie in their flow's bag in two sizes, larger ones in a box.
#[test]
fn forks_of_all_sizes_are_moved_and_dropped_once() {
    #[repr(align(32))]
    #[derive(Clone, Copy)]
    struct Aligned(u8);
    everywhere(|| {
        let counted = Arc::new(());
        let (bytes, words, aligned) = ([1_u8; 5], [2_u64; 2], Aligned(3));
        for round in 0..300 {
            let kept = |n: u64| (counted.clone(), n);
            let nothing = fork(|| 1);
            let (one, three, four, far) = (kept(1), kept(3), kept(4), kept(5));
            let (one, boxed) = (fork(move || one.1), fork(move || four.1 + words[0] + u64::from(bytes[0])));
            let (three, far) = (fork(move || three.1 + words[1]), fork(move || far.1 + u64::from(aligned.0)));
            if round % 3 == 0 {
                drop(boxed);
                assert_eq!((far.join(), one.join(), three.join(), nothing.join()), (8, 1, 5, 1));
            } else if round % 3 == 1 {
                csp::yield_now();
                assert_eq!((nothing.join(), three.join(), boxed.join(), one.join()), (1, 5, 7, 1));
                drop(far);
            } else {
                assert_eq!((nothing.join(), one.join(), three.join()), (1, 1, 5));
                assert_eq!((boxed.join(), far.join()), (7, 8));
            }
        }
        while Arc::strong_count(&counted) > 1 {
            csp::yield_now();
        }
    });
}

/// More than a chunk holds, of which some are kept, some promoted, some given away.
#[test]
fn places_are_used_again_while_others_are_kept() {
    everywhere(|| {
        let mut kept: Vec<(u64, Fork<u64>)> = Vec::new();
        let mut elsewhere = Vec::new();
        for n in 0..3000_u64 {
            let made = fork(move || n * 3);
            match n % 7 {
                0 => kept.push((n, made)),
                1 => elsewhere.push(made),
                2 => drop(made),
                _ => assert_eq!(made.join(), n * 3),
            }
            if n % 500 == 250 {
                // Waits, and so lets go of all.
                let given: Vec<_> = std::mem::take(&mut elsewhere);
                let sum = csp::spawn(move || given.into_iter().map(Fork::join).sum::<u64>());
                assert_eq!(sum.join().unwrap() % 3, 0);
            }
        }
        drop(elsewhere);
        kept.into_iter().rev().for_each(|(n, made)| assert_eq!(made.join(), n * 3));
    });
}

/// Who asks, or drops the handle, does so while the maker has the fork still, promotes it, or has promoted it.
#[test]
fn a_handle_is_used_elsewhere_while_its_maker_promotes() {
    let times = if cfg!(raddle_twin) || std::env::var_os("STRESS").is_some() { 20 } else { 500 };
    runtime(3).run(|| {
        for n in 0..times {
            let (give, given) = mpsc::channel::<Fork<u64>>();
            let asker = csp::spawn(move || {
                let mut sum = 0;
                loop {
                    match given.try_recv() {
                        Ok(made) if n % 2 == 0 => sum += made.join(),
                        Ok(made) => drop(made),
                        Err(mpsc::TryRecvError::Empty) => csp::yield_now(),
                        Err(mpsc::TryRecvError::Disconnected) => return sum,
                    }
                }
            });
            for value in 0..20 {
                give.send(fork(move || value)).unwrap();
                if value % 8 == n % 8 {
                    csp::yield_now();
                }
            }
            drop(give);
            assert_eq!(asker.join().unwrap(), if n % 2 == 0 { 190 } else { 0 });
        }
    });
}

#[test]
fn a_fork_that_panics_leaves_its_bag_in_order() {
    everywhere(|| {
        for n in 0..600 {
            let bad = fork(move || {
                if n % 3 == 0 {
                    throw("fork");
                }
                n
            });
            if n % 3 == 0 {
                assert_eq!(panic_of(|| bad.join()), "fork");
            } else {
                assert_eq!(bad.join(), n);
            }
        }
    });
}

/// Its maker is away then, and has no worker. That one is kept from taking the fork by another process.
#[test]
fn a_fork_may_be_asked_for_by_its_maker_in_a_blocking_call() {
    runtime(1).run(|| {
        let (away, asked) = (AtomicBool::new(false), AtomicBool::new(false));
        csp::scope(|s| {
            s.spawn(|| {
                while !away.load(Ordering::Relaxed) {
                    csp::yield_now();
                }
                // Not until it is asked for: if the fork was taken meanwhile, its taker comes next.
                (0..2_000_000)
                    .take_while(|_| !asked.load(Ordering::Relaxed))
                    .for_each(|_| std::hint::spin_loop());
            });
            csp::yield_now();
            let made = fork(|| 7);
            away.store(true, Ordering::Relaxed);
            let value = blocking(|| {
                let value = made.join();
                asked.store(true, Ordering::Relaxed);
                value
            });
            assert_eq!(value, 7);
        });
    });
}

/// Control blocks are used again, in other runtimes, too: a process there is not the one that has made the fork.
#[test]
fn a_fork_outlives_its_runtime() {
    for _ in 0..20 {
        let made = runtime(1).run(|| fork(|| 7));
        assert_eq!(runtime(1).run(move || made.join()), 7);
    }
}

#[test]
#[expect(deprecated, reason = "this is about them")]
fn the_former_names_still_work() {
    let made: raddle::Future<u8> = runtime(1).run(|| raddle::future(|| 7));
    assert_eq!(made.get(), 7);
}

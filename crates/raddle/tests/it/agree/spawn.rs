use super::*;
use std::panic::panic_any;

#[test]
fn the_value_of_the_function_comes_back() {
    everywhere(|| {
        assert_eq!(thread::spawn(|| 6 * 7).join().unwrap(), 42);
        thread::spawn(|| ()).join().unwrap();
        let text = String::from("moved there");
        assert_eq!(thread::spawn(move || text + " and back").join().unwrap(), "moved there and back");
    });
}

#[test]
fn large_closures_and_large_values_fit() {
    everywhere(|| {
        let large = [3_u64; 2000];
        let back = thread::spawn(move || large.map(|n| n + 1)).join().unwrap();
        assert_eq!(back, [4; 2000]);
    });
}

#[test]
fn a_thread_runs_beside_its_maker() {
    everywhere(|| {
        let (there, back) = (Gate::default(), Gate::default());
        let other = thread::spawn({
            let (there, back) = (there.clone(), back.clone());
            move || {
                there.wait();
                back.open();
            }
        });
        there.open();
        back.wait();
        other.join().unwrap();
    });
}

#[test]
fn join_gives_the_payload_of_the_panic() {
    everywhere(|| {
        let text = thread::spawn(|| panic!("a literal")).join().unwrap_err();
        assert_eq!(*text.downcast::<&str>().unwrap(), "a literal");
        let text = thread::spawn(|| panic!("formatted {}", std::hint::black_box(7))).join().unwrap_err();
        assert_eq!(*text.downcast::<String>().unwrap(), "formatted 7");
        let any = thread::spawn(|| panic_any(vec![1_u8, 2])).join().unwrap_err();
        assert_eq!(*any.downcast::<Vec<u8>>().unwrap(), [1, 2]);
        let resumed = thread::spawn(|| resume_unwind(Box::new(5_i64))).join().unwrap_err();
        assert_eq!(*resumed.downcast::<i64>().unwrap(), 5);
    });
}

#[test]
fn what_the_closure_holds_is_dropped_before_join_returns() {
    everywhere(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let held = Dropped(drops.clone());
        thread::spawn(move || drop(held)).join().unwrap();
        let held = Dropped(drops.clone());
        thread::spawn(move || {
            let _held = held;
            panic!("unwinds over what it holds");
        })
        .join()
        .unwrap_err();
        let never_used = Dropped(drops.clone());
        thread::spawn(move || {
            let _captured = &never_used;
        })
        .join()
        .unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn a_dropped_handle_detaches_the_thread() {
    everywhere(|| {
        let (go, done) = (Gate::default(), Gate::default());
        let thread = thread::spawn({
            let (go, done) = (go.clone(), done.clone());
            move || {
                go.wait();
                done.open();
            }
        });
        drop(thread);
        go.open();
        done.wait();
    });
}

#[test]
fn the_value_of_a_detached_thread_is_dropped_once() {
    everywhere(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (value, go) = (Dropped(drops.clone()), Gate::default());
        let gate = go.clone();
        drop(thread::spawn(move || {
            gate.wait();
            value
        }));
        go.open();
        while Arc::strong_count(&drops) > 1 {
            thread::yield_now();
        }
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_thread_outlives_the_one_that_made_it() {
    everywhere(|| {
        let (go, done) = (Gate::default(), Gate::default());
        thread::spawn({
            let (go, done) = (go.clone(), done.clone());
            || {
                thread::spawn(move || {
                    go.wait();
                    done.open();
                });
            }
        })
        .join()
        .unwrap();
        assert!(!done.is_open());
        go.open();
        done.wait();
    });
}

#[test]
fn what_a_thread_wrote_is_seen_after_the_join() {
    everywhere(|| {
        let number = Arc::new(AtomicUsize::new(0));
        for round in 1..=50 {
            let there = number.clone();
            thread::spawn(move || there.store(round, Ordering::Relaxed)).join().unwrap();
            assert_eq!(number.load(Ordering::Relaxed), round);
        }
    });
}

#[test]
fn is_finished_becomes_true_and_then_join_does_not_wait() {
    everywhere(|| {
        let go = Gate::default();
        let gate = go.clone();
        let thread = thread::spawn(move || {
            gate.wait();
            7
        });
        assert!(!thread.is_finished());
        go.open();
        while !thread.is_finished() {
            thread::yield_now();
        }
        assert_eq!(thread.join().unwrap(), 7);
        let panics = thread::spawn(|| panic!("finished, too"));
        while !panics.is_finished() {
            thread::yield_now();
        }
        panics.join().unwrap_err();
    });
}

#[test]
fn threads_are_joined_in_any_order_and_by_anybody() {
    everywhere(|| {
        let mut threads: Vec<_> = (0..20).map(|n| thread::spawn(move || n)).collect();
        threads.reverse();
        let sum: i32 =
            thread::spawn(move || threads.into_iter().map(|t| t.join().unwrap()).sum()).join().unwrap();
        assert_eq!(sum, 190);
    });
}

#[test]
fn two_hundred_threads_live_at_once() {
    everywhere(|| {
        let (all, inside) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = (0..200)
            .map(|_| {
                let (all, inside) = (all.clone(), inside.clone());
                thread::spawn(move || {
                    inside.fetch_add(1, Ordering::Relaxed);
                    while !all.is_open() {
                        thread::park();
                    }
                })
            })
            .collect();
        while inside.load(Ordering::Relaxed) < threads.len() {
            thread::yield_now();
        }
        all.open();
        for thread in threads {
            thread.thread().unpark();
            thread.join().unwrap();
        }
    });
}

#[test]
fn handles_show_themselves() {
    let thread = thread::spawn(|| ());
    assert_eq!(format!("{thread:?}"), "JoinHandle { .. }");
    thread.join().unwrap();
}

use super::*;
use std::cell::{Cell, RefCell};

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(1) };
    static WORDS: RefCell<Vec<String>> = RefCell::new(vec!["first".to_string()]);
}

/// In a fresh thread, since the place of the test may have been used by others.
fn in_fresh<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(f).join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[test]
fn each_thread_begins_with_the_initial_value() {
    everywhere(|| {
        for round in 0..100 {
            in_fresh(move || {
                assert_eq!(NUMBER.get(), 1);
                NUMBER.set(round + 2);
                assert_eq!(WORDS.with_borrow(Vec::len), 1);
                WORDS.with_borrow_mut(|words| words.push(format!("of round {round}")));
            });
        }
    });
}

#[test]
fn a_value_stays_its_threads_while_others_run() {
    everywhere(|| {
        let threads: Vec<_> = (0..20)
            .map(|n| {
                thread::spawn(move || {
                    NUMBER.set(100 + n);
                    for round in 0..50 {
                        WORDS.with_borrow_mut(|words| words.push(format!("{n}.{round}")));
                        match round % 3 {
                            0 => thread::yield_now(),
                            1 => thread::sleep(std::time::Duration::from_micros(20)),
                            _ => thread::spawn(|| NUMBER.set(0)).join().unwrap(),
                        }
                        assert_eq!(NUMBER.get(), 100 + n);
                        assert!(WORDS.with_borrow(|words| *words.last().unwrap() == format!("{n}.{round}")));
                    }
                    assert_eq!(WORDS.take().len(), 51);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_borrow_is_held_while_others_run() {
    everywhere(|| {
        let threads: Vec<_> = (0..10)
            .map(|_| {
                thread::spawn(|| {
                    WORDS.with_borrow_mut(|words| {
                        thread::yield_now();
                        words.clear();
                        thread::park_timeout(std::time::Duration::from_micros(50));
                    });
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_value_is_made_at_its_first_use_and_once() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LAZY: usize = MADE.fetch_add(1, Ordering::Relaxed);
    }
    let before = MADE.load(Ordering::Relaxed);
    in_fresh(|| ());
    assert_eq!(MADE.load(Ordering::Relaxed), before);
    let same = in_fresh(|| {
        let first = LAZY.with(|n| *n);
        thread::yield_now();
        first == LAZY.with(|n| *n)
    });
    assert!(same);
    assert_eq!(MADE.load(Ordering::Relaxed), before + 1);
}

#[test]
fn values_are_dropped_at_the_threads_end_and_before_the_join_returns() {
    thread_local! {
        static KEPT: RefCell<Option<Dropped>> = const { RefCell::new(None) };
    }
    everywhere(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        for round in 1..=50 {
            let kept = Dropped(drops.clone());
            let seen = drops.clone();
            in_fresh(move || {
                KEPT.set(Some(kept));
                thread::yield_now();
                assert_eq!(seen.load(Ordering::Relaxed), round - 1);
            });
            assert_eq!(drops.load(Ordering::Relaxed), round);
        }
    });
}

#[test]
fn values_are_dropped_after_a_panic_too() {
    thread_local! {
        static KEPT: RefCell<Option<Dropped>> = const { RefCell::new(None) };
    }
    everywhere(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let kept = Dropped(drops.clone());
        thread::spawn(|| {
            KEPT.set(Some(kept));
            panic!("ends so");
        })
        .join()
        .unwrap_err();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// Uses a key, and says so, when it is dropped.
struct Late(Arc<AtomicUsize>);

thread_local! {
    static SECOND: RefCell<Option<Dropped>> = const { RefCell::new(None) };
    static FIRST: RefCell<Option<Late>> = const { RefCell::new(None) };
}

impl Drop for Late {
    fn drop(&mut self) {
        assert!(FIRST.try_with(|_| ()).is_err(), "it is being dropped");
        let _perhaps_gone = SECOND.try_with(|second| *second.borrow_mut() = Some(Dropped(self.0.clone())));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_destructor_may_use_other_keys() {
    everywhere(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let late = Late(drops.clone());
        in_fresh(move || FIRST.set(Some(late)));
        // `SECOND` was made by the destructor, and was dropped in its turn.
        assert_eq!(drops.load(Ordering::Relaxed), 2);
        assert_eq!(Arc::strong_count(&drops), 1);
    });
}

#[test]
fn a_destructor_may_wait() {
    struct Waits(Arc<AtomicUsize>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let inner = thread::spawn(|| 7);
            thread::yield_now();
            thread::sleep(std::time::Duration::from_micros(100));
            self.0.fetch_add(inner.join().unwrap(), Ordering::Relaxed);
        }
    }
    thread_local! {
        static KEPT: RefCell<Option<Waits>> = const { RefCell::new(None) };
    }
    everywhere(|| {
        let sum = Arc::new(AtomicUsize::new(0));
        let waits = Waits(sum.clone());
        in_fresh(move || KEPT.set(Some(waits)));
        assert_eq!(sum.load(Ordering::Relaxed), 7);
    });
}

#[test]
fn hash_maps_have_seeds() {
    everywhere(|| {
        let sum: i32 = (0..4)
            .map(|n| {
                in_fresh(move || std::collections::HashMap::from([(n, n), (n + 10, 1)]).values().sum::<i32>())
            })
            .sum();
        assert_eq!(sum, 10);
    });
}

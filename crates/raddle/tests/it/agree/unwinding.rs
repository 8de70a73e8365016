use super::*;

/// Notes whether it is dropped while its thread unwinds, and does something then.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn panicking_is_true_while_unwinding_and_only_then() {
    everywhere(|| {
        assert!(!thread::panicking());
        let seen = AtomicUsize::new(0);
        drop(OnDrop(|| assert!(!thread::panicking())));
        panic_text(|| {
            let _note = OnDrop(|| seen.store(1 + usize::from(thread::panicking()), Ordering::Relaxed));
            panic!("unwinds");
        });
        assert_eq!(seen.load(Ordering::Relaxed), 2);
        assert!(!thread::panicking());
    });
}

#[test]
fn a_thread_made_while_unwinding_does_not_unwind() {
    everywhere(|| {
        panic_text(|| {
            let _maker = OnDrop(|| {
                let calm = thread::spawn(thread::panicking);
                assert!(thread::panicking());
                assert!(!calm.join().unwrap());
                assert!(thread::panicking());
            });
            panic!("unwinds");
        });
    });
}

#[test]
fn threads_that_unwind_at_once_do_not_disturb_each_other() {
    everywhere(|| {
        let inside = Arc::new(AtomicUsize::new(0));
        let unwinding: Vec<_> = (0..8)
            .map(|n| {
                let inside = inside.clone();
                thread::spawn(move || {
                    let _meet = OnDrop(|| {
                        assert!(thread::panicking());
                        inside.fetch_add(1, Ordering::Relaxed);
                        let calm = thread::scope(|s| s.spawn(|| !thread::panicking()).join().unwrap());
                        assert!(calm && thread::panicking());
                    });
                    panic!("number {n}");
                })
            })
            .collect();
        for (n, thread) in unwinding.into_iter().enumerate() {
            let payload = thread.join().unwrap_err();
            assert_eq!(*payload.downcast::<String>().unwrap(), format!("number {n}"));
        }
        assert_eq!(inside.load(Ordering::Relaxed), 8);
        assert!(!thread::panicking());
    });
}

#[test]
fn a_panic_may_be_caught_many_times_over() {
    everywhere(|| {
        let thread = thread::spawn(|| {
            for round in 0..20 {
                let text = panic_text(|| panic!("round {round}"));
                assert_eq!(text, format!("round {round}"));
                thread::yield_now();
                assert!(!thread::panicking());
            }
        });
        thread.join().unwrap();
    });
}

#[test]
fn a_mutex_is_poisoned_by_the_thread_that_panics_in_it() {
    everywhere(|| {
        let lock = Arc::new(std::sync::Mutex::new(1));
        let there = lock.clone();
        thread::spawn(move || {
            let _guard = there.lock().unwrap();
            panic!("holds the lock");
        })
        .join()
        .unwrap_err();
        assert!(lock.is_poisoned());
    });
}

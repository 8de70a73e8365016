use super::sync::{Arc, Mutex, TryLockError};
use super::{go, run, yield_now};

#[test]
fn many_count_without_loss() {
    run(|| {
        let count = Arc::new(Mutex::new(0));
        let counters: Vec<_> = (0..8)
            .map(|_| {
                let count = count.clone();
                go(move || (0..1000).for_each(|_| *count.lock().unwrap() += 1))
            })
            .collect();
        counters.into_iter().for_each(|c| c.join().unwrap());
        assert_eq!(*count.lock().unwrap(), 8000);
    });
}

#[test]
fn held_over_a_yield_it_still_excludes() {
    run(|| {
        let inside = Arc::new(Mutex::new(false));
        let visitors: Vec<_> = (0..6)
            .map(|_| {
                let inside = inside.clone();
                go(move || {
                    for _ in 0..50 {
                        let mut guard = inside.lock().unwrap();
                        assert!(!std::mem::replace(&mut *guard, true));
                        yield_now();
                        *guard = false;
                    }
                })
            })
            .collect();
        visitors.into_iter().for_each(|v| v.join().unwrap());
    });
}

#[test]
fn try_lock_refuses_what_is_held() {
    run(|| {
        let mutex = Mutex::new(1);
        let guard = mutex.try_lock().unwrap();
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        drop(guard);
        *mutex.try_lock().unwrap() += 1;
        assert_eq!(mutex.into_inner().unwrap(), 2);
    });
}

#[test]
fn a_panic_of_the_holder_poisons() {
    run(|| {
        let mutex = Arc::new(Mutex::new(1));
        let dies = mutex.clone();
        let died = go(move || {
            let mut guard = dies.lock().unwrap();
            *guard = 2;
            panic!("on purpose, holding a mutex");
        });
        assert!(died.join().is_err());
        assert!(mutex.is_poisoned());
        let error = mutex.lock().unwrap_err();
        assert_eq!(**error.get_ref(), 2);
        assert_eq!(format!("{error}"), "poisoned lock: another task failed inside");
        assert_eq!(format!("{error:?}"), "PoisonError { .. }");
        drop(error);
        assert_eq!(format!("{mutex:?}"), "Mutex { data: 2, poisoned: true, .. }");
        assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
        mutex.clear_poison();
        assert!(!mutex.is_poisoned());
        *mutex.lock().unwrap() += 1;
        assert_eq!(*mutex.lock().unwrap(), 3);
    });
}

#[test]
fn what_is_poisoned_gives_its_data_out_with_an_error() {
    run(|| {
        let mutex = Arc::new(Mutex::new(String::from("kept")));
        let dies = mutex.clone();
        let died = go(move || {
            let _guard = dies.lock();
            panic!("on purpose, holding a mutex");
        });
        assert!(died.join().is_err());
        let mut mutex = Arc::into_inner(mutex).unwrap();
        assert_eq!(mutex.get_mut().unwrap_err().get_mut().as_str(), "kept");
        assert_eq!(mutex.into_inner().unwrap_err().into_inner(), "kept");
    });
}

/// Locks while it is dropped.
struct LocksInDrop(Arc<Mutex<i32>>);
impl Drop for LocksInDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_guard_that_was_made_while_unwinding_poisons_nothing() {
    run(|| {
        let mutex = Arc::new(Mutex::new(0));
        let locks = LocksInDrop(mutex.clone());
        let died = go(move || {
            let _locks = locks;
            panic!("on purpose, with a drop that locks");
        });
        assert!(died.join().is_err());
        assert_eq!(*mutex.lock().unwrap(), 1);
    });
}

#[test]
fn a_guard_that_is_leaked_keeps_the_lock() {
    run(|| {
        let mutex = Mutex::new(());
        std::mem::forget(mutex.lock().unwrap());
        assert!(mutex.try_lock().is_err());
        assert_eq!(format!("{mutex:?}"), "Mutex { data: \"<locked>\", poisoned: false, .. }");
    });
}

#[test]
fn unsized_data_and_data_that_are_dropped() {
    run(|| {
        let mutex: &Mutex<[i32]> = &Mutex::new([1, 2, 3]);
        mutex.lock().unwrap()[0] = 4;
        assert_eq!(&*mutex.lock().unwrap(), &[4, 2, 3]);
        let counted = Arc::new(());
        drop(Mutex::new(counted.clone()));
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

#[test]
fn words_of_the_formats() {
    assert_eq!(format!("{:?}", Mutex::new("a")), "Mutex { data: \"a\", poisoned: false, .. }");
    assert_eq!(format!("{:?} {}", Mutex::new(1).lock().unwrap(), Mutex::new(2).lock().unwrap()), "1 2");
    let locked = Mutex::new(());
    let guard = locked.lock();
    assert_eq!(format!("{:?}", locked.try_lock().map(drop)), "Err(\"WouldBlock\")");
    drop(guard);
    let would_block: TryLockError<()> = TryLockError::WouldBlock;
    assert_eq!(would_block.to_string(), "try_lock failed because the operation would block");
}

#[test]
fn constants_defaults_and_conversions() {
    static STATIC: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    STATIC.lock().unwrap().push(1);
    assert_eq!(STATIC.lock().unwrap().len(), 1);
    assert_eq!(*Mutex::<u8>::default().lock().unwrap(), 0);
    assert_eq!(*Mutex::from(7).lock().unwrap(), 7);
    assert_eq!(Mutex::new(8).get_mut().unwrap(), &mut 8);
}

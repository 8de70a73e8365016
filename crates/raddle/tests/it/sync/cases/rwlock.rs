use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::{Arc, Barrier, RwLock, RwLockWriteGuard, TryLockError};
use super::{go, run, yield_now};

#[test]
fn readers_are_together_and_a_writer_is_alone() {
    run(|| {
        let (lock, inside) = (Arc::new(RwLock::new(0)), Arc::new(AtomicUsize::new(0)));
        let visitors: Vec<_> = (0..8)
            .map(|n| {
                let (lock, inside) = (lock.clone(), inside.clone());
                go(move || {
                    for round in 0..50 {
                        if (n + round) % 4 == 0 {
                            let mut guard = lock.write().unwrap();
                            assert_eq!(inside.fetch_add(1000, Ordering::SeqCst), 0);
                            *guard += 1;
                            yield_now();
                            inside.fetch_sub(1000, Ordering::SeqCst);
                        } else {
                            let _guard = lock.read().unwrap();
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < 1000);
                            yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        visitors.into_iter().for_each(|v| v.join().unwrap());
        assert_eq!(*lock.read().unwrap(), 100);
    });
}

#[test]
fn two_readers_can_wait_for_each_other_inside() {
    run(|| {
        let (lock, both) = (Arc::new(RwLock::new(())), Arc::new(Barrier::new(2)));
        let (other_lock, other_both) = (lock.clone(), both.clone());
        let other = go(move || {
            let _guard = other_lock.read().unwrap();
            other_both.wait();
        });
        let guard = lock.read().unwrap();
        both.wait();
        drop(guard);
        other.join().unwrap();
    });
}

#[test]
fn tries_refuse_what_would_wait() {
    run(|| {
        let lock = RwLock::new(1);
        let first = lock.try_read().unwrap();
        let second = lock.try_read().unwrap();
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        assert_eq!(*first + *second, 2);
        drop((first, second));
        let writer = lock.try_write().unwrap();
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        assert_eq!(format!("{lock:?}"), "RwLock { data: <locked>, poisoned: false, .. }");
        drop(writer);
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn a_writer_poisons_and_a_reader_does_not() {
    run(|| {
        let lock = Arc::new(RwLock::new(1));
        let dies = lock.clone();
        let reader = go(move || {
            let _guard = dies.read().unwrap();
            panic!("on purpose, reading");
        });
        assert!(reader.join().is_err());
        assert!(!lock.is_poisoned());
        let dies = lock.clone();
        let writer = go(move || {
            *dies.write().unwrap() = 2;
            let _guard = dies.write().unwrap();
            panic!("on purpose, writing");
        });
        assert!(writer.join().is_err());
        assert!(lock.is_poisoned());
        assert_eq!(**lock.read().unwrap_err().get_ref(), 2);
        assert_eq!(**lock.write().unwrap_err().get_ref(), 2);
        assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
        assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
        assert_eq!(format!("{lock:?}"), "RwLock { data: 2, poisoned: true, .. }");
        lock.clear_poison();
        assert_eq!(*lock.read().unwrap(), 2);
    });
}

#[test]
fn a_writer_that_becomes_a_reader_lets_readers_in_and_no_writer() {
    run(|| {
        let lock = Arc::new(RwLock::new(0));
        let mut guard = lock.write().unwrap();
        let other = lock.clone();
        let writer = go(move || *other.write().unwrap() += 10);
        *guard = 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 1);
        assert!(lock.try_write().is_err());
        drop(guard);
        writer.join().unwrap();
        assert_eq!(*lock.read().unwrap(), 11);
    });
}

#[test]
fn readers_that_wait_behind_a_writer_come_in_after_a_downgrade() {
    run(|| {
        let lock = Arc::new(RwLock::new(5));
        let guard = lock.write().unwrap();
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let lock = lock.clone();
                go(move || *lock.read().unwrap())
            })
            .collect();
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(readers.into_iter().map(|r| r.join().unwrap()).sum::<i32>(), 15);
        drop(guard);
    });
}

#[test]
fn formats_constants_defaults_and_conversions() {
    static STATIC: RwLock<u8> = RwLock::new(3);
    assert_eq!(format!("{STATIC:?}"), "RwLock { data: 3, poisoned: false, .. }");
    assert_eq!(format!("{:?} {}", STATIC.read().unwrap(), STATIC.read().unwrap()), "3 3");
    assert_eq!(format!("{:?}", STATIC.write().unwrap()), "3");
    assert_eq!(format!("{}", STATIC.write().unwrap()), "3");
    assert_eq!(*RwLock::<u8>::default().read().unwrap(), 0);
    let mut lock = RwLock::from(7);
    *lock.get_mut().unwrap() += 1;
    assert_eq!(lock.into_inner().unwrap(), 8);
    let unsized_lock: &RwLock<[u8]> = &RwLock::new([1, 2]);
    assert_eq!(unsized_lock.read().unwrap().len(), 2);
}

use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::{Arc, Once, OnceLock};
use super::{go, run, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn of_many_one_does_it_and_all_see_it() {
    run(|| {
        let (once, done) = (Arc::new(Once::new()), Arc::new(AtomicUsize::new(0)));
        let all: Vec<_> = (0..6)
            .map(|_| {
                let (once, done) = (once.clone(), done.clone());
                go(move || {
                    once.call_once(|| {
                        yield_now();
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                    assert_eq!(done.load(Ordering::Relaxed), 1);
                    assert!(once.is_completed());
                })
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn a_panic_poisons_and_force_tries_again() {
    run(|| {
        let once = Once::new();
        let panics = AssertUnwindSafe(|| once.call_once(|| panic!("on purpose, doing it once")));
        assert!(catch_unwind(panics).is_err());
        assert!(!once.is_completed());
        let message = catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).unwrap_err();
        assert_eq!(message.downcast_ref::<&str>(), Some(&"Once instance has previously been poisoned"));
        assert!(catch_unwind(AssertUnwindSafe(|| once.wait())).is_err());
        once.call_once_force(|state| {
            assert!(state.is_poisoned());
            assert_eq!(format!("{state:?}"), "OnceState { poisoned: true }");
        });
        assert!(once.is_completed());
        once.call_once(|| unreachable!());
        once.call_once_force(|_| unreachable!());
        once.wait();
        once.wait_force();
        Once::new().call_once_force(|state| assert!(!state.is_poisoned()));
    });
}

#[test]
fn who_waits_sees_it_done() {
    run(|| {
        let (once, done) = (Arc::new(Once::new()), Arc::new(AtomicUsize::new(0)));
        let (other, seen) = (once.clone(), done.clone());
        let waits = go(move || {
            other.wait();
            seen.load(Ordering::Relaxed)
        });
        once.call_once(|| done.store(1, Ordering::Relaxed));
        assert_eq!(waits.join().unwrap(), 1);
    });
}

#[test]
fn a_cell_is_written_once() {
    run(|| {
        let task = Arc::new(OnceLock::new());
        assert_eq!(task.get(), None);
        let all: Vec<_> = (0..6)
            .map(|n| {
                let task = task.clone();
                go(move || *task.get_or_init(|| n))
            })
            .collect();
        let seen: Vec<usize> = all.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(seen.iter().all(|n| Some(n) == task.get()));
        assert_eq!(task.set(9), Err(9));
        assert_eq!(task.wait(), task.get().unwrap());
    });
}

#[test]
fn a_cell_whose_making_panics_stays_empty() {
    run(|| {
        let task: OnceLock<i32> = OnceLock::new();
        let panics = AssertUnwindSafe(|| task.get_or_init(|| panic!("on purpose, making a value")));
        assert!(catch_unwind(panics).is_err());
        assert_eq!(task.get(), None);
        assert_eq!(task.set(1), Ok(()));
        assert_eq!(task.get(), Some(&1));
    });
}

#[test]
fn a_cell_that_one_has_alone() {
    let mut task = OnceLock::new();
    assert_eq!(task.get_mut(), None);
    assert_eq!(task.set(String::from("a")), Ok(()));
    task.get_mut().unwrap().push('b');
    assert_eq!(task.take().as_deref(), Some("ab"));
    assert_eq!(task.get(), None);
    assert_eq!(task.get_or_init(|| String::from("c")), "c");
    assert_eq!(task.into_inner().as_deref(), Some("c"));
    assert_eq!(OnceLock::<u8>::new().into_inner(), None);
}

#[test]
fn what_a_cell_holds_is_dropped_once() {
    let counted = Arc::new(());
    let task = OnceLock::from(counted.clone());
    let copy = task.clone();
    assert_eq!(Arc::strong_count(&counted), 3);
    drop((task, copy));
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn a_value_may_borrow_what_goes_with_it() {
    let (name, task);
    name = String::from("borrowed");
    task = OnceLock::new();
    assert_eq!(task.get_or_init(|| name.as_str()), &"borrowed");
}

#[test]
fn formats_constants_and_comparisons() {
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u8> = OnceLock::new();
    assert_eq!(format!("{ONCE:?} {CELL:?}"), "Once { .. } OnceLock(<uninit>)");
    CELL.get_or_init(|| 1);
    assert_eq!(format!("{CELL:?}"), "OnceLock(1)");
    assert_eq!(OnceLock::from(1), CELL.clone());
    assert_ne!(OnceLock::default(), CELL.clone());
}

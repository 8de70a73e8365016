use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::{Arc, LazyLock};
use super::{go, run, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn it_is_made_once_when_first_used() {
    run(|| {
        let made = Arc::new(AtomicUsize::new(0));
        let counts = made.clone();
        let lazy = Arc::new(LazyLock::new(move || {
            yield_now();
            counts.fetch_add(1, Ordering::Relaxed) + 10
        }));
        assert_eq!(LazyLock::get(&lazy), None);
        let all: Vec<_> = (0..5)
            .map(|_| {
                let lazy = lazy.clone();
                go(move || **lazy)
            })
            .collect();
        all.into_iter().for_each(|one| assert_eq!(one.join().unwrap(), 10));
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert_eq!(LazyLock::get(&lazy), Some(&10));
    });
}

#[test]
fn a_panic_poisons_it_for_good() {
    run(|| {
        let lazy: LazyLock<u8, _> = LazyLock::new(|| panic!("on purpose, making a lazy value"));
        assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
        let again = catch_unwind(AssertUnwindSafe(|| *LazyLock::force(&lazy))).unwrap_err();
        let text = again.downcast_ref::<&str>().copied();
        assert_eq!(text, Some("LazyLock instance has previously been poisoned"));
        assert_eq!(LazyLock::get(&lazy), None);
        let mut lazy = lazy;
        assert!(catch_unwind(AssertUnwindSafe(|| *LazyLock::force_mut(&mut lazy))).is_err());
        assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
    });
}

#[test]
fn one_who_has_it_alone() {
    let mut lazy: LazyLock<String> = LazyLock::new(|| String::from("a"));
    assert_eq!(LazyLock::get_mut(&mut lazy), None);
    lazy.push('b');
    LazyLock::force_mut(&mut lazy).push('c');
    assert_eq!(LazyLock::get_mut(&mut lazy).unwrap(), "abc");
    assert_eq!(*lazy, "abc");
    let mut panics: LazyLock<u8, _> = LazyLock::new(|| panic!("on purpose, making a lazy value"));
    assert!(catch_unwind(AssertUnwindSafe(|| *LazyLock::force_mut(&mut panics))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| *LazyLock::force(&panics))).is_err());
}

#[test]
fn what_it_holds_is_dropped_once() {
    let counted = Arc::new(());
    let (unused, used) = (counted.clone(), counted.clone());
    let lazy = LazyLock::new(move || unused);
    assert_eq!(Arc::strong_count(&counted), 3);
    drop(lazy);
    let lazy = LazyLock::new(move || used);
    LazyLock::force(&lazy);
    assert_eq!(Arc::strong_count(&counted), 2);
    drop(lazy);
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn formats_constants_and_defaults() {
    static LAZY: LazyLock<Vec<u8>> = LazyLock::new(|| vec![1]);
    assert_eq!(format!("{LAZY:?}"), "LazyLock(<uninit>)");
    assert_eq!(LAZY.len(), 1);
    assert_eq!(format!("{LAZY:?}"), "LazyLock([1])");
    assert_eq!(*LazyLock::<u8>::default(), 0);
}

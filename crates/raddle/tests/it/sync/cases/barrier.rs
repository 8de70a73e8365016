use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::{Arc, Barrier};
use super::{go, run};

#[test]
fn phases_never_overlap_and_each_has_one_leader() {
    run(|| {
        const THREADS: usize = 5;
        let (barrier, arrived) = (Arc::new(Barrier::new(THREADS)), Arc::new(AtomicUsize::new(0)));
        let all: Vec<_> = (0..THREADS)
            .map(|_| {
                let (barrier, arrived) = (barrier.clone(), arrived.clone());
                go(move || {
                    let mut led = 0;
                    for phase in 0..100 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        led += usize::from(barrier.wait().is_leader());
                        assert!(arrived.load(Ordering::SeqCst) >= (phase + 1) * THREADS);
                        led += usize::from(barrier.wait().is_leader());
                    }
                    led
                })
            })
            .collect();
        assert_eq!(all.into_iter().map(|one| one.join().unwrap()).sum::<usize>(), 200);
    });
}

#[test]
fn of_one_or_none_nobody_waits() {
    run(|| {
        assert!(Barrier::new(1).wait().is_leader());
        assert!(Barrier::new(0).wait().is_leader());
    });
}

#[test]
fn formats_and_constants() {
    static STATIC: Barrier = Barrier::new(1);
    assert_eq!(format!("{STATIC:?} {:?}", STATIC.wait()), "Barrier { .. } BarrierWaitResult { is_leader: true }");
}

//! What a program should not do, and what it is told.

use raddle::sync::{
    AcquireError, Barrier, ClhLock, Condvar, McsLock, Mutex, Once, RwLock, Semaphore, SpinLock, TicketLock,
    TryAcquireError, mpsc,
};
use raddle::{csp, task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_cell_may_do_what_needs_no_wait() {
    let ran = task::spawn(async {
        let mutex = Mutex::new(1);
        *mutex.lock().unwrap() += *RwLock::new(1).read().unwrap();
        Condvar::new().notify_all();
        Once::new().call_once(|| ());
        drop(Semaphore::new(1).acquire());
        let (sender, receiver) = mpsc::channel();
        sender.send(McsLock::new(1).with(|n| *n)).unwrap();
        *mutex.lock().unwrap() + receiver.recv().unwrap() + i32::from(Barrier::new(1).wait().is_leader())
    });
    assert_eq!(task::block_on(ran).unwrap(), 4);
}

#[test]
fn a_mutex_tells_where_it_was_taken_and_by_whom() {
    let mutex = Arc::new(Mutex::new(()));
    assert!(mutex.held().is_none());
    let line = line!() + 1;
    let guard = mutex.lock().unwrap();
    let held = mutex.held().unwrap();
    assert_eq!((held.site().file(), held.site().line(), held.by_caller()), (file!(), line, true));
    let other = mutex.clone();
    let seen = csp::spawn(move || other.held().unwrap().to_string()).join().unwrap();
    assert!(seen.starts_with("held by an OS thread since ") && seen.contains(&format!(":{line}:")), "{seen}");
    drop(guard);
}

/// Whoever holds a lock does not get it again; a wait with a deadline says so, and `held` says who it is.
#[test]
fn a_second_lock_is_refused() {
    let (mutex, lock, mcs) = (Mutex::new(()), RwLock::new(()), McsLock::new(()));
    let held = (mutex.lock().unwrap(), lock.write().unwrap(), mcs.lock());
    assert!(mutex.try_lock().is_err() && mutex.held().unwrap().by_caller());
    assert!(lock.try_read().is_err() && lock.try_write().is_err() && lock.held().unwrap().by_caller());
    assert!(mcs.try_lock().is_none());
    drop(held);
    let semaphore = Semaphore::new(1);
    let _permit = semaphore.acquire().unwrap();
    let again = semaphore.acquire_timeout(Duration::from_millis(1)).map(|permit| permit.count());
    assert_eq!(again, Err(TryAcquireError::NoPermits));
    let end = csp::Shared::new(());
    let _claimed = end.claim();
    assert!(end.claim_timeout(Duration::from_millis(1)).is_none());
    assert!(Barrier::new(2).wait_timeout(Duration::from_millis(1)).is_none());
}

/// A guard is dropped where it was made: none is `Send`, or the functions of the two traits would be ambiguous here.
#[test]
fn no_guard_leaves_its_thread() {
    trait IsOrNot<A> {
        fn ask() {}
    }
    struct Sent;
    impl<T: ?Sized> IsOrNot<()> for T {}
    impl<T: ?Sized + Send> IsOrNot<Sent> for T {}
    <raddle::sync::MutexGuard<'static, u8> as IsOrNot<_>>::ask();
    <raddle::sync::RwLockReadGuard<'static, u8> as IsOrNot<_>>::ask();
    <raddle::sync::RwLockWriteGuard<'static, u8> as IsOrNot<_>>::ask();
    <raddle::sync::McsGuard<'static, u8> as IsOrNot<_>>::ask();
    <raddle::sync::ClhGuard<'static, u8> as IsOrNot<_>>::ask();
    <raddle::sync::TicketGuard<'static, u8> as IsOrNot<_>>::ask();
    <raddle::sync::SpinGuard<'static, u8> as IsOrNot<_>>::ask();
}

/// A panic while one is held frees it: these are not poisoned.
#[test]
fn a_panic_frees_what_is_not_poisoned() {
    let (mcs, clh, ticket) = (McsLock::new(0), ClhLock::new(0), TicketLock::new(0));
    let (spin, semaphore) = (SpinLock::new(0), Semaphore::new(1));
    let panics = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    panics(&|| mcs.with(|_| panic!("on purpose, holding an MCS lock")));
    panics(&|| clh.with(|_| panic!("on purpose, holding a CLH lock")));
    panics(&|| ticket.with(|_| panic!("on purpose, holding a ticket lock")));
    panics(&|| spin.with(|_| panic!("on purpose, holding a spin lock")));
    panics(&|| {
        let _permit = semaphore.acquire();
        panic!("on purpose, holding a permit");
    });
    let guarded = panics_with_guard(&mcs);
    assert!(guarded, "the guard of an MCS lock");
    let sum = mcs.with(|n| *n) + clh.with(|n| *n) + ticket.with(|n| *n) + spin.with(|n| *n);
    assert_eq!((sum, semaphore.available_permits()), (0, 1));
}

fn panics_with_guard(mcs: &McsLock<i32>) -> bool {
    let panics = || {
        let _guard = mcs.lock();
        panic!("on purpose, holding a guard");
    };
    catch_unwind(AssertUnwindSafe(panics)).is_err() && mcs.try_lock().is_some()
}

#[test]
fn a_closed_semaphore_refuses_those_who_wait_too() {
    let semaphore = Arc::new(Semaphore::new(0));
    let waits: Vec<_> = (0..3)
        .map(|_| {
            let semaphore = semaphore.clone();
            csp::spawn(move || semaphore.acquire_many(2).map(|permit| permit.count()))
        })
        .collect();
    semaphore.close();
    for waited in waits {
        let error: AcquireError = waited.join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the semaphore is closed");
    }
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    assert!(semaphore.is_closed());
}

#[test]
fn permits_are_given_in_the_order_of_the_wait() {
    let semaphore = Arc::new(Semaphore::new(1));
    let order = Arc::new(Mutex::new(Vec::new()));
    let rt = raddle::Runtime::builder().workers(1).build().unwrap();
    let (many, seen) = (semaphore.clone(), order.clone());
    rt.run(move || {
        let wants = |count: usize| {
            let (semaphore, order) = (many.clone(), seen.clone());
            csp::spawn(move || {
                let permit = semaphore.acquire_many(count).unwrap();
                order.lock().unwrap().push(permit.count());
            })
        };
        let all = [wants(3), wants(1), wants(2)];
        csp::yield_now();
        assert_eq!(many.try_acquire().unwrap_err(), TryAcquireError::NoPermits, "somebody waits for it");
        let late = many.acquire_timeout(Duration::from_millis(1)).map(|permit| permit.count());
        assert_eq!(late, Err(TryAcquireError::NoPermits));
        many.add_permits(2);
        all.into_iter().for_each(|one| one.join().unwrap());
    });
    assert_eq!(*order.lock().unwrap(), [3, 1, 2]);
    assert_eq!(semaphore.available_permits(), 3);
}

#[test]
fn a_waiter_that_gives_up_lets_the_next_one_in() {
    let semaphore = Arc::new(Semaphore::new(1));
    let rt = raddle::Runtime::builder().workers(1).build().unwrap();
    rt.run(move || {
        let (greedy, modest) = (semaphore.clone(), semaphore.clone());
        let greedy = csp::spawn(move || greedy.acquire_many_timeout(5, Duration::from_millis(1)).is_err());
        csp::yield_now();
        let modest = csp::spawn(move || modest.acquire().is_ok());
        assert!(greedy.join().unwrap() && modest.join().unwrap());
    });
}

#[test]
fn more_permits_than_can_be_counted_are_refused_and_change_nothing() {
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS - 1);
    semaphore.add_permits(1);
    for count in [1, 7, Semaphore::MAX_PERMITS, usize::MAX] {
        assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(count))).is_err());
        assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
    }
    drop(semaphore.acquire().unwrap());
}

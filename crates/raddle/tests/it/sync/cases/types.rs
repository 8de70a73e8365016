//! Names, bounds and automatic traits: what compiles with one must compile with the other.
use super::sync::atomic::AtomicU8;
use super::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock, OnceState,
    PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak, mpsc,
};
use std::cell::Cell;
use std::error::Error;
use std::panic::{RefUnwindSafe, UnwindSafe};

fn sent<T: Send>() {}
fn shared<T: Sync>() {}
fn unwinds<T: UnwindSafe + RefUnwindSafe>() {}

/// True if the first method applies, which it does only for `T: $bound`.
macro_rules! is {
    ($bound:path, $($type:ty),*) => { [$({
        trait No { const IS: bool = false; }
        impl<T: ?Sized> No for Is<T> {}
        struct Is<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "used where the bound holds")]
        impl<T: ?Sized + $bound> Is<T> { const IS: bool = true; }
        Is::<$type>::IS
    }),*] };
}

/// `Send` and not `Sync`; `Sync` and not `Send`; neither.
type OnlySend = Cell<u8>;
#[allow(unused_qualifications, reason = "one world calls it sync, too")]
type OnlySync = std::sync::MutexGuard<'static, u8>;
type Neither = *mut u8;

#[test]
fn automatic_traits() {
    sent::<(Mutex<OnlySend>, RwLock<OnlySend>, OnceLock<OnlySend>, LazyLock<OnlySend>)>();
    shared::<(Mutex<OnlySend>, RwLock<u8>, OnceLock<u8>, LazyLock<u8>, Condvar, Barrier, Once)>();
    shared::<(MutexGuard<'_, u8>, RwLockReadGuard<'_, u8>, RwLockWriteGuard<'_, u8>)>();
    sent::<(mpsc::Sender<OnlySend>, mpsc::SyncSender<OnlySend>, mpsc::Receiver<OnlySend>)>();
    shared::<(mpsc::Sender<OnlySend>, mpsc::SyncSender<OnlySend>)>();
    unwinds::<(Mutex<OnlySend>, RwLock<OnlySend>, Condvar, Barrier, Once, OnceLock<u8>, LazyLock<u8>)>();
    unwinds::<(mpsc::Sender<OnlySend>, mpsc::SyncSender<OnlySend>, mpsc::Receiver<OnlySend>)>();
    sent::<(BarrierWaitResult, WaitTimeoutResult, PoisonError<u8>, TryLockError<u8>, Arc<AtomicU8>, Weak<u8>)>();
    let not_sync = is!(
        Sync, Mutex<OnlySync>, RwLock<OnlySend>, RwLock<OnlySync>, OnceLock<OnlySend>, OnceLock<OnlySync>,
        LazyLock<OnlySend>, MutexGuard<'static, OnlySend>, RwLockReadGuard<'static, OnlySend>,
        RwLockWriteGuard<'static, OnlySend>, mpsc::Receiver<u8>, mpsc::Sender<Neither>, OnceState
    );
    assert_eq!(not_sync, [false; 12]);
    let not_send = is!(
        Send, Mutex<OnlySync>, RwLock<OnlySync>, OnceLock<OnlySync>, LazyLock<OnlySync>, MutexGuard<'static, u8>,
        RwLockReadGuard<'static, u8>, RwLockWriteGuard<'static, u8>, mpsc::Sender<Neither>, mpsc::Receiver<Neither>
    );
    assert_eq!(not_send, [false; 9]);
    assert_eq!(is!(RefUnwindSafe, OnceLock<OnlySend>, LazyLock<OnlySend>), [false; 2]);
    assert_eq!(is!(UnwindSafe, OnceLock<&'static OnlySend>, LazyLock<&'static OnlySend>), [false; 2]);
}

/// A guard that only reads is as good as one of a shorter-lived value.
#[test]
fn a_reading_guard_is_covariant() {
    fn shorter<'a, 'b>(guard: RwLockReadGuard<'a, &'static str>, _: &'b str) -> RwLockReadGuard<'a, &'b str> {
        guard
    }
    let lock = RwLock::new("long");
    let own = String::from("short");
    assert_eq!(*shorter(lock.read().unwrap(), &own), "long");
    assert!(lock.try_write().is_ok());
}

#[test]
fn results_and_errors() {
    fn boxed(error: impl Error + 'static) -> Box<dyn Error> {
        Box::new(error)
    }
    let poison: LockResult<u8> = Err(PoisonError::new(1));
    let tried: TryLockResult<u8> = poison.map_err(TryLockError::from);
    assert_eq!(format!("{tried:?}"), "Err(\"Poisoned(..)\")");
    assert_eq!(boxed(PoisonError::new(1)).to_string(), "poisoned lock: another task failed inside");
    assert_eq!(boxed(mpsc::RecvError).to_string(), "receiving on a closed channel");
}

#[test]
#[allow(unused_qualifications, reason = "one world calls it sync, too")]
fn a_question_mark_in_a_function_that_knows_std() -> Result<(), Box<dyn Error>> {
    static COUNT: Mutex<u8> = Mutex::new(1);
    let count: Result<_, std::sync::PoisonError<_>> = COUNT.lock();
    assert_eq!(*count?, 1);
    Ok(())
}

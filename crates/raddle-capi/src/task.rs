//! Owns: `raddle_future_t`, what will be there later; `raddle_task_t`, what has no stack; `raddle_waker_t`.
//! May use: `call`, `chan`, `fault`, `handle`, `meet`, `net`, `stm`, `time`, `raddle`, `raddle-core`.
//! Never: a wait in a poll; a future of the program's that is polled by two at a time.

use crate::call::Word;
use crate::chan::{Owned, Rx, Tx, time_word};
use crate::fault::{CResult, Fault, entry, of_unwinding};
use crate::handle::{Handle, InFrame, Object, end, expect, get, make, put, put_if};
use crate::meet::SemObject;
use crate::net::Waitable;
use crate::stm::CTransaction;
use crate::time::span;
use raddle::task::{self, JoinError, JoinHandle};
use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};

/// `raddle_waker_t`.
struct WakerObject {
    waker: Waker,
    /// It lies in the frame of a poll, and goes with it.
    is_lent: bool,
}

impl Object for WakerObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlwak");
}

#[unsafe(no_mangle)]
extern "C" fn raddle_waker_clone(
    waker: *const Handle<WakerObject>,
    out: *mut *mut Handle<WakerObject>,
) -> c_int {
    entry(|| make(out, WakerObject { waker: get(waker)?.waker.clone(), is_lent: false }))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_waker_wake(waker: *const Handle<WakerObject>) -> c_int {
    entry(|| {
        get(waker)?.waker.wake_by_ref();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_waker_destroy(waker: *mut Handle<WakerObject>) -> c_int {
    entry(|| if get(waker)?.is_lent { Err(Fault::Permission) } else { end(waker).map(drop) })
}

/// What a future comes to: a word, or one that is still to be dropped if nobody wants it.
enum FutureWord {
    Word(usize),
    Owned(Owned),
}

impl FutureWord {
    /// Gives it to the program. Without a place for it nobody wants it.
    fn give(self, word: *mut usize) {
        if word.is_null() {
            return;
        }
        match self {
            FutureWord::Word(is) => put_if(word, is),
            FutureWord::Owned(owned) => put_if(word, owned.take()),
        }
    }
}

type BoxedFuture = Pin<Box<dyn Future<Output = CResult<FutureWord>> + Send>>;

/// `raddle_future_t`: none when it has come to its end.
struct FutureObject(Mutex<Option<BoxedFuture>>);

impl Object for FutureObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlfut");
}

impl FutureObject {
    fn poll(&self, context: &mut Context<'_>) -> Poll<CResult<FutureWord>> {
        let mut place = match self.0.try_lock() {
            Ok(place) => place,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Poll::Ready(Err(Fault::Busy)),
        };
        let Some(future) = &mut *place else {
            return Poll::Ready(Err(Fault::Invalid.told("it was ready before")));
        };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            *place = None;
        }
        polled
    }
}

fn make_future(
    out: *mut *mut Handle<FutureObject>,
    future: impl Future<Output = CResult<FutureWord>> + Send + 'static,
) -> CResult {
    make(out, FutureObject(Mutex::new(Some(Box::pin(future)))))
}

/// Of a wait whose end says all.
fn no_word<T>(_: T) -> FutureWord {
    FutureWord::Word(0)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_recv(rx: *const Handle<Rx>, out: *mut *mut Handle<FutureObject>) -> c_int {
    entry(|| match get(rx)? {
        Rx::Words(receiver) => {
            let receives = receiver.clone().into_recv_async();
            make_future(out, async { receives.await.map(FutureWord::Word).map_err(|_| Fault::Closed) })
        }
        Rx::Owned(receiver) => {
            let receives = receiver.clone().into_recv_async();
            make_future(out, async { receives.await.map(FutureWord::Owned).map_err(|_| Fault::Closed) })
        }
        Rx::Clock(receiver) => {
            let receives = receiver.clone().into_recv_async();
            let word = |time| FutureWord::Word(time_word(time));
            make_future(out, async move { receives.await.map(word).map_err(|_| Fault::Closed) })
        }
        Rx::Bytes(_) | Rx::Ready(_) => Err(Fault::Unsupported),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_send(
    tx: *const Handle<Tx>,
    word: usize,
    out: *mut *mut Handle<FutureObject>,
) -> c_int {
    entry(|| {
        expect(out)?;
        match get(tx)? {
            Tx::Words(sender) => {
                let sends = sender.clone().into_send_async(word);
                make_future(out, async { sends.await.map(no_word).map_err(|_| Fault::Closed) })
            }
            Tx::Owned(owned) => {
                let sends = owned.sender().clone().into_send_async(owned.own(word));
                make_future(out, async { sends.await.map(no_word).map_err(|_| Fault::Closed) })
            }
            Tx::Bytes(_) => Err(Fault::Unsupported),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_sleep(timeout_ns: i64, out: *mut *mut Handle<FutureObject>) -> c_int {
    entry(|| {
        let sleeps = task::sleep(span(timeout_ns).ok_or(Fault::Invalid)?);
        make_future(out, async {
            sleeps.await;
            Ok(FutureWord::Word(0))
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_acquire(
    semaphore: *const Handle<SemObject>,
    count: usize,
    out: *mut *mut Handle<FutureObject>,
) -> c_int {
    entry(|| {
        let acquires = get(semaphore)?.acquires(count)?;
        let kept = |permits| {
            std::mem::forget(permits);
            FutureWord::Word(0)
        };
        make_future(out, async move { acquires.await.map(kept).map_err(|_| Fault::Closed) })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_fd(
    fd: *const Handle<Waitable>,
    events: c_int,
    out: *mut *mut Handle<FutureObject>,
) -> c_int {
    entry(|| {
        let ready = get(fd)?.ready(events)?;
        make_future(out, async { ready.await.map(no_word).map_err(|error| Fault::of_os(&error)) })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_atomically(
    body: crate::stm::StmBody,
    argument: *mut c_void,
    out: *mut *mut Handle<FutureObject>,
) -> c_int {
    entry(|| {
        let body = CTransaction::new(body, argument)?;
        let commits = raddle::stm::atomically_async(move |tx| body.nested(tx));
        make_future(out, async { Fault::of_code(commits.await).map_or(Ok(no_word(())), Err) })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_destroy(future: *mut Handle<FutureObject>) -> c_int {
    entry(|| {
        if matches!(get(future)?.0.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(Fault::Busy);
        }
        end(future).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_poll(
    future: *const Handle<FutureObject>,
    waker: *const Handle<WakerObject>,
    word: *mut usize,
) -> c_int {
    entry(|| {
        let (future, waker) = (get(future)?, get(waker)?);
        match future.poll(&mut Context::from_waker(&waker.waker)) {
            Poll::Ready(done) => {
                done?.give(word);
                Ok(())
            }
            Poll::Pending => Err(Fault::Again),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_wait(
    future: *const Handle<FutureObject>,
    timeout_ns: i64,
    word: *mut usize,
) -> c_int {
    entry(|| {
        let future = get(future)?;
        wait(timeout_ns, poll_fn(|context| future.poll(context)))?.give(word);
        Ok(())
    })
}

/// Waits for a future, as a process or an OS thread.
fn wait<T>(timeout_ns: i64, future: impl Future<Output = CResult<T>>) -> CResult<T> {
    match span(timeout_ns) {
        Some(timeout) => task::block_on(task::timeout(timeout, future)).map_err(|_| Fault::TimedOut)?,
        None => task::block_on(future),
    }
}

/// `raddle_poll_fn`.
type PollFn = unsafe extern "C-unwind" fn(*mut c_void, *const Handle<WakerObject>, *mut Word) -> c_int;
/// `raddle_end_fn`.
type EndFn = Option<unsafe extern "C-unwind" fn(*mut c_void)>;

/// A task of the program's: a function that is called again and again.
struct CTask {
    poll: PollFn,
    argument: Word,
    end: EndFn,
}

impl Future for CTask {
    type Output = (c_int, Word);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<(c_int, Word)> {
        let lent = InFrame::new(WakerObject { waker: context.waker().clone(), is_lent: true });
        let mut result = Word(std::ptr::null_mut());
        // SAFETY: the interface asks for a function that may be called so, by one at a time, anywhere.
        let code = unsafe { (self.poll)(self.argument.0, lent.handle(), &raw mut result) };
        if Fault::Again.is(code) { Poll::Pending } else { Poll::Ready((code, result)) }
    }
}

impl Drop for CTask {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            // SAFETY: the interface asks for a function that may be called so, once, after the last poll.
            unsafe { end(self.argument.0) }
        }
    }
}

/// `raddle_task_t`.
struct TaskObject {
    handle: Mutex<JoinHandle<(c_int, Word)>>,
    /// Somebody waits for its end, or has had it.
    is_joined: AtomicBool,
}

impl Object for TaskObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddltsk");
}

impl TaskObject {
    fn lock(&self) -> MutexGuard<'_, JoinHandle<(c_int, Word)>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to its end, of which there is one.
    fn claim(&self) -> CResult<JoinClaim<'_>> {
        // Acquire: pairs with the end of a claim; who has it now may free what that one has used.
        if self.is_joined.swap(true, Ordering::Acquire) { Err(Fault::Busy) } else { Ok(JoinClaim(self)) }
    }
}

/// Given back when it is dropped: the end has not been had.
struct JoinClaim<'t>(&'t TaskObject);

impl Drop for JoinClaim<'_> {
    fn drop(&mut self) {
        self.0.is_joined.store(false, Ordering::Release); // pairs with the swap in `claim`
    }
}

/// The handle of a task that is no longer the program's.
fn take(task: *mut Handle<TaskObject>) -> CResult<JoinHandle<(c_int, Word)>> {
    std::mem::forget(get(task)?.claim()?);
    Ok(end(task)?.handle.into_inner().unwrap_or_else(PoisonError::into_inner))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_task_spawn(
    out: *mut *mut Handle<TaskObject>,
    poll: Option<PollFn>,
    at_end: EndFn,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let poll = poll.ok_or(Fault::Invalid)?;
        if !out.is_null() {
            expect(out)?;
        }
        // A default runtime that cannot start is told before the task is there.
        raddle_core::runtime::with_here(|_| ()).map_err(|error| Fault::Settings.told(error))?;
        let spawned = task::spawn(CTask { poll, argument: Word(argument), end: at_end });
        if out.is_null() {
            Ok(())
        } else {
            make(out, TaskObject { handle: Mutex::new(spawned), is_joined: AtomicBool::new(false) })
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_task_join(
    task: *mut Handle<TaskObject>,
    timeout_ns: i64,
    code: *mut c_int,
    result: *mut Word,
) -> c_int {
    entry(|| {
        let object = get(task)?;
        let claim = object.claim()?;
        let joined =
            wait(timeout_ns, poll_fn(|context| Pin::new(&mut *object.lock()).poll(context).map(Ok)))?;
        std::mem::forget(claim);
        end(task)?;
        let (its_code, word) = outcome(joined)?;
        put_if(code, its_code);
        put_if(result, word);
        Ok(())
    })
}

/// What has become of a task: its code and its word.
fn outcome(joined: Result<(c_int, Word), JoinError>) -> CResult<(c_int, Word)> {
    joined.map_err(|error| match error.try_into_panic() {
        Ok(payload) => of_unwinding(payload),
        Err(error) => Fault::NotRun.told(error),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_future_task(
    task: *mut Handle<TaskObject>,
    out: *mut *mut Handle<FutureObject>,
) -> c_int {
    entry(|| {
        expect(out)?;
        let handle = take(task)?;
        make_future(out, async {
            let (code, word) = outcome(handle.await)?;
            Fault::of_code(code).map_or(Ok(FutureWord::Word(word.0.expose_provenance())), Err)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_task_abort(task: *const Handle<TaskObject>) -> c_int {
    entry(|| {
        get(task)?.lock().abort();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_task_detach(task: *mut Handle<TaskObject>) -> c_int {
    entry(|| take(task).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_task_is_finished(task: *const Handle<TaskObject>, out: *mut c_int) -> c_int {
    entry(|| put(out, get(task)?.lock().is_finished().into()))
}

//! Futures at channels: they meet everybody else, have their turn, and lose nothing when they are dropped.

use crate::runtime;
use raddle::channel::{
    self, Receiver, RecvError, RecvFuture, SendError, SendFuture, Sender, TryRecvError, TrySendError,
    bounded, select, unbounded,
};
use raddle::{csp, task};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::{Duration, Instant};

/// A waker that counts its wakes.
#[derive(Default)]
struct CountsWakes(AtomicUsize);

impl Wake for CountsWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl CountsWakes {
    fn so_far(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn poll<F: Future + Unpin>(future: &mut F, wakes: &Arc<CountsWakes>) -> Poll<F::Output> {
    let waker = Waker::from(wakes.clone());
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// A receive that waits.
fn waits<'a, T: std::fmt::Debug>(r: &'a Receiver<T>, wakes: &Arc<CountsWakes>) -> RecvFuture<'a, T> {
    let mut future = r.recv_async();
    assert!(poll(&mut future, wakes).is_pending());
    future
}

/// A send that waits.
fn waits_to_send<'a, T>(s: &'a Sender<T>, message: T, wakes: &Arc<CountsWakes>) -> SendFuture<'a, T> {
    let mut future = s.send_async(message);
    assert!(poll(&mut future, wakes).is_pending());
    future
}

#[test]
fn tasks_processes_and_os_threads_meet_in_one_channel() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        for (s, r) in [bounded(0), bounded(1), bounded(3), unbounded()] {
            let (from_thread, from_process) = (s.clone(), s.clone());
            let thread = std::thread::spawn(move || (0..100).for_each(|n| from_thread.send(n).unwrap()));
            let process = rt.spawn(move || (100..200).for_each(|n| from_process.send(n).unwrap()));
            let (to_process, to_task) = (r.clone(), r);
            let (there, here) = rt.run(move || {
                let sender = task::spawn(async move {
                    for n in 200..300 {
                        s.send_async(n).await.unwrap();
                    }
                });
                let there = csp::spawn(move || to_process.iter().collect::<Vec<i32>>());
                let here = task::spawn(async move {
                    let mut received = Vec::new();
                    while let Ok(n) = to_task.recv_async().await {
                        received.push(n);
                    }
                    received
                });
                task::block_on(sender).unwrap();
                (there.join().unwrap(), task::block_on(here).unwrap())
            });
            let mut all = [there, here].concat();
            all.sort();
            assert!(all.into_iter().eq(0..300));
            thread.join().unwrap();
            process.join().unwrap();
        }
    }
}

#[test]
fn who_has_waited_longest_is_first_whatever_it_is() {
    let rt = runtime(1);
    rt.run(|| {
        let (s, r) = unbounded();
        let order = Arc::new(raddle::sync::Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        let mut processes = Vec::new();
        for n in 0..6 {
            let (r, order) = (r.clone(), order.clone());
            if n % 2 == 0 {
                tasks.push(task::spawn(async move {
                    let message: i32 = r.recv_async().await.unwrap();
                    order.lock().unwrap().push((n, message));
                }));
            } else {
                processes.push(csp::spawn(move || {
                    let message = r.recv().unwrap();
                    order.lock().unwrap().push((n, message));
                }));
            }
            (0..4).for_each(|_| csp::yield_now());
        }
        (0..6).for_each(|n| s.send(n).unwrap());
        tasks.into_iter().for_each(|task| task::block_on(task).unwrap());
        processes.into_iter().for_each(|process| process.join().unwrap());
        let mut seen = order.lock().unwrap().clone();
        seen.sort();
        assert!(seen.into_iter().eq((0..6).map(|n| (n, n))));
    });
}

#[test]
fn a_receive_that_is_dropped_before_a_message_takes_none() {
    let wakes = Arc::default();
    for (s, r) in [bounded(0), bounded(1), unbounded()] {
        drop(waits(&r, &wakes));
        assert_eq!(wakes.so_far(), 0);
        match s.try_send(1) {
            Ok(()) => assert_eq!(r.try_recv(), Ok(1)),
            Err(TrySendError::Full(1)) => assert_eq!(r.capacity(), Some(0)),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_message_for_one_that_is_dropped_goes_to_the_next_who_waits() {
    for capacity in [0, 1] {
        let (s, r) = bounded(capacity);
        let (first, second) = (Arc::default(), Arc::default());
        let dropped = waits(&r, &first);
        let mut next = waits(&r, &second);
        s.try_send(7).unwrap();
        assert_eq!((first.so_far(), second.so_far()), (1, 0));
        drop(dropped);
        assert_eq!((first.so_far(), second.so_far()), (1, 1));
        assert_eq!(poll(&mut next, &second), Poll::Ready(Ok(7)));
    }
}

#[test]
fn a_message_for_one_that_is_dropped_comes_before_all_others() {
    for (s, r) in [bounded(2), unbounded()] {
        let wakes = Arc::default();
        let dropped = waits(&r, &wakes);
        (0..3).for_each(|n| s.try_send(n).unwrap());
        assert_eq!(r.len(), 2);
        drop(dropped);
        assert_eq!(r.len(), 3, "one more than its capacity, perhaps");
        if r.capacity().is_some() {
            assert_eq!(s.try_send(3), Err(TrySendError::Full(3)));
        }
        drop(s);
        assert!(r.iter().eq(0..3));
    }
}

/// A channel that holds more than its capacity takes nothing from those who wait before there is a place.
#[test]
fn senders_wait_until_what_was_given_back_has_been_received() {
    for capacity in [0, 1] {
        let (s, r) = bounded(capacity);
        let wakes = Arc::default();
        let dropped = waits(&r, &wakes);
        (0..=capacity).for_each(|n| s.try_send(n).unwrap());
        drop(dropped);
        let mut last = waits_to_send(&s, capacity + 1, &wakes);
        assert_eq!(r.try_recv(), Ok(0));
        assert_eq!(poll(&mut last, &wakes), Poll::Pending);
        assert_eq!(r.len(), capacity);
        assert_eq!(r.try_recv(), Ok(1));
        assert_eq!(poll(&mut last, &wakes), Poll::Ready(Ok(())));
        assert_eq!(r.try_recv().ok(), (capacity == 1).then_some(2));
    }
}

#[test]
fn a_send_that_is_dropped_has_sent_or_not() {
    let wakes = Arc::default();
    let (s, r) = bounded(1);
    s.try_send(0).unwrap();
    drop(waits_to_send(&s, 1, &wakes));
    assert_eq!(waits_to_send(&s, 2, &wakes).withdraw(), Some(2));
    let moved = waits_to_send(&s, 3, &wakes);
    assert_eq!(r.try_recv(), Ok(0));
    assert_eq!(wakes.so_far(), 1, "the third has had its place");
    assert_eq!(moved.withdraw(), None);
    assert_eq!(r.try_recv(), Ok(3));
    assert_eq!(s.send_async(4).withdraw(), Some(4), "never polled");
    assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn the_last_waker_is_called() {
    let (old, new) = (Arc::default(), Arc::default());
    let (s, r) = bounded(0);
    let mut receive = waits(&r, &old);
    assert!(poll(&mut receive, &new).is_pending());
    assert_eq!(Arc::strong_count(&old), 1, "the former waker is not kept");
    s.try_send(1).unwrap();
    assert_eq!((old.so_far(), new.so_far()), (0, 1));
    assert_eq!(poll(&mut receive, &new), Poll::Ready(Ok(1)));
    let mut send = waits_to_send(&s, 2, &old);
    assert!(poll(&mut send, &new).is_pending());
    assert_eq!(r.try_recv(), Ok(2));
    assert_eq!((old.so_far(), new.so_far()), (0, 2));
    assert_eq!(poll(&mut send, &new), Poll::Ready(Ok(())));
}

#[test]
fn wakers_are_not_kept_by_what_is_over() {
    let wakes: Arc<CountsWakes> = Arc::default();
    let (s, r) = unbounded();
    let mut numbers = r.stream();
    for n in 0..3 {
        let mut next = Box::pin(numbers.next());
        assert!(poll(&mut next, &wakes).is_pending());
        s.send(n).unwrap();
        assert_eq!(poll(&mut next, &wakes), Poll::Ready(Some(n)));
        drop(next);
        assert_eq!(Arc::strong_count(&wakes), 1);
    }
    assert_eq!(wakes.so_far(), 3);
}

#[test]
fn futures_are_told_that_the_other_side_is_gone() {
    let wakes = Arc::default();
    let (s, r) = bounded::<String>(0);
    let mut receive = waits(&r, &wakes);
    drop(s);
    assert_eq!(wakes.so_far(), 1);
    assert_eq!(poll(&mut receive, &wakes), Poll::Ready(Err(RecvError)));
    let (s, r) = bounded(0);
    let mut send = waits_to_send(&s, "mine".to_owned(), &wakes);
    drop(r);
    assert_eq!(poll(&mut send, &wakes), Poll::Ready(Err(SendError("mine".to_owned()))));
    let (s, r) = bounded(0);
    let told = waits_to_send(&s, "mine".to_owned(), &wakes);
    drop(r);
    assert_eq!(told.withdraw().as_deref(), Some("mine"));
}

/// Messages are dropped once, by whoever has them.
#[test]
fn each_message_is_dropped_once() {
    let message = Arc::new(());
    let wakes = Arc::default();
    let (s, r) = bounded(1);
    drop(waits_to_send(&full(&s, &message), message.clone(), &wakes));
    assert_eq!(Arc::strong_count(&message), 2, "the one in the channel");
    let (s0, r0) = bounded(0);
    let receive = waits(&r0, &wakes);
    s0.try_send(message.clone()).unwrap();
    drop(receive);
    assert_eq!(Arc::strong_count(&message), 3, "given back");
    drop((r0, r));
    assert_eq!(Arc::strong_count(&message), 1);
}

fn full(s: &Sender<Arc<()>>, message: &Arc<()>) -> Sender<Arc<()>> {
    s.try_send(message.clone()).unwrap();
    s.clone()
}

#[test]
fn a_selection_meets_a_future() {
    runtime(1).run(|| {
        let (s, r) = bounded(0);
        let (in_there, out_here) = bounded(0);
        let receives = task::spawn(async move {
            let first = r.recv_async().await.unwrap();
            in_there.send_async(first + 1).await.unwrap();
            r
        });
        select! {
            send(s, 10) -> sent => sent.unwrap(),
        }
        select! {
            recv(out_here) -> answer => assert_eq!(answer, Ok(11)),
            recv(channel::after(Duration::from_secs(60))) -> _ => unreachable!(),
        }
        task::block_on(receives).unwrap();
    });
}

/// The future waits at the rendezvous; the selection agrees with it and works its message out; meanwhile the future
/// polls, or is dropped.
#[test]
fn a_promise_to_a_future_is_kept_or_given_on() {
    let wakes: Arc<CountsWakes> = Arc::default();
    let (s, r) = bounded(0);
    let mut receive = waits(&r, &wakes);
    select! {
        send(s, { assert!(poll(&mut receive, &wakes).is_pending()); 1 }) -> sent => sent.unwrap(),
    }
    assert_eq!(wakes.so_far(), 2, "at the agreement, and when the message was there");
    assert_eq!(poll(&mut receive, &wakes), Poll::Ready(Ok(1)));

    // Dropped before it knows of the agreement, and after; with another who waits, and without.
    for (polls, waits_too) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut dropped = Some(waits(&r, &wakes));
        let mut other = waits_too.then(|| waits(&r, &wakes));
        let mut message = || {
            if polls {
                assert!(dropped.as_mut().is_some_and(|receive| poll(receive, &wakes).is_pending()));
            }
            dropped = None;
            2
        };
        select! {
            send(s, message()) -> sent => sent.unwrap(),
        }
        match &mut other {
            Some(other) => assert_eq!(poll(other, &wakes), Poll::Ready(Ok(2))),
            None => assert_eq!(r.try_recv(), Ok(2)),
        }
        drop(other);
    }
    assert_eq!(Arc::strong_count(&wakes), 1, "what is over keeps no waker: {receive:?}");
}

#[test]
fn a_promise_to_a_future_may_be_broken() {
    let wakes: Arc<CountsWakes> = Arc::default();
    let (s, r) = bounded::<u8>(0);
    let no_message = || -> u8 { panic!("on purpose, with a promise given") };
    for drops in [true, false] {
        let mut receive = waits(&r, &wakes);
        let broken = std::panic::catch_unwind(AssertUnwindSafe(|| {
            select! {
                send(s, no_message()) -> sent => sent.unwrap(),
            }
        }));
        assert!(broken.is_err());
        if drops {
            drop(receive);
        } else {
            assert!(poll(&mut receive, &wakes).is_pending(), "it waits on");
            s.try_send(3).unwrap();
            assert_eq!(poll(&mut receive, &wakes), Poll::Ready(Ok(3)));
        }
    }
}

#[test]
fn futures_wait_for_clocks() {
    let start = Instant::now();
    let pause = Duration::from_millis(2);
    task::block_on(async {
        let due = channel::after(pause).recv_async().await.unwrap();
        assert!(due >= start + pause && Instant::now() >= due);
        let at = start + 2 * pause;
        assert_eq!(channel::at(at).recv_async().await, Ok(at));
        let ticks = channel::tick(pause).into_stream();
        let mut ticks = ticks;
        let (first, second) = (ticks.next().await.unwrap(), ticks.next().await.unwrap());
        assert!(second >= first + pause);
        let never = channel::never::<()>();
        assert!(task::timeout(pause, never.recv_async()).await.is_err());
    });
}

/// By many on two workers, with receives that are given up at any moment: each message comes once.
#[test]
fn nothing_is_lost_or_doubled_by_those_who_give_up() {
    const MESSAGES: usize = 2000;
    for capacity in [0, 1, 4] {
        let rt = runtime(2);
        let (s, r) = bounded(capacity);
        let (sum, count) = rt.run(move || {
            let senders: Vec<_> = (0..2)
                .map(|part| {
                    let s = s.clone();
                    task::spawn(async move {
                        for n in (part..MESSAGES).step_by(2) {
                            s.send_async(n).await.unwrap();
                        }
                    })
                })
                .collect();
            drop(s);
            let receivers: Vec<_> = (0..3).map(|_| task::spawn(receive_impatiently(r.clone()))).collect();
            senders.into_iter().for_each(|sender| task::block_on(sender).unwrap());
            let parts = receivers.into_iter().map(|receiver| task::block_on(receiver).unwrap());
            parts.fold((0, 0), |(sum, count), part| (sum + part.0, count + part.1))
        });
        assert_eq!((sum, count), ((0..MESSAGES).sum(), MESSAGES));
    }
}

/// Polls each receive once, and drops it as often as not.
async fn receive_impatiently(r: Receiver<usize>) -> (usize, usize) {
    let (mut sum, mut count, mut turn) = (0, 0, 0_u32);
    loop {
        turn = turn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut receive = r.recv_async();
        let once = std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut receive).poll(context))).await;
        let received = match once {
            Poll::Ready(received) => received,
            Poll::Pending if turn >> 31 == 0 => {
                task::yield_now().await;
                continue;
            }
            Poll::Pending => receive.await,
        };
        let Ok(n) = received else { return (sum, count) };
        (sum, count) = (sum + n, count + 1);
    }
}

/// What a future gives back, when it is dropped, takes no place away that somebody has been promised.
#[test]
fn a_promised_place_is_there_though_a_message_was_given_back() {
    let wakes = Arc::new(CountsWakes::default());
    let (s, r) = bounded(1);
    let future = waits(&r, &wakes);
    s.try_send(1).unwrap();
    let mut select = channel::Select::new();
    let sends = select.send(&s);
    let agreed = select.select();
    assert_eq!(agreed.index(), sends);
    drop(future);
    agreed.send(&s, 2).unwrap();
    assert_eq!([r.try_recv(), r.try_recv(), r.try_recv()], [Ok(1), Ok(2), Err(TryRecvError::Empty)]);
    s.try_send(3).unwrap();
    assert_eq!(s.try_send(4), Err(TrySendError::Full(4)));
}

/// A waker whose clone panics.
fn panicking_waker() -> Waker {
    fn no_clone(_: *const ()) -> RawWaker {
        panic!("no clone")
    }
    const TABLE: RawWakerVTable = RawWakerVTable::new(no_clone, |_| (), |_| (), |_| ());
    // SAFETY: nothing is behind the pointer, and the table asks for nothing.
    unsafe { Waker::new(std::ptr::null(), &TABLE) }
}

fn panics<F: Future + Unpin>(future: &mut F) {
    let waker = panicking_waker();
    let poll = || drop(Pin::new(future).poll(&mut Context::from_waker(&waker)));
    std::panic::catch_unwind(AssertUnwindSafe(poll)).unwrap_err();
}

/// A waker's code panics in a poll: the future stands in the queue still, and leaves it when it is dropped.
#[test]
fn a_future_whose_waker_panics_leaves_the_queue_all_the_same() {
    let wakes = Arc::new(CountsWakes::default());
    let (s, r) = bounded(1);
    let mut receives = waits(&r, &wakes);
    panics(&mut receives);
    drop(receives);
    s.try_send(1).unwrap();
    let mut sends = s.send_async(2);
    assert!(poll(&mut sends, &wakes).is_pending());
    panics(&mut sends);
    drop(sends);
    assert_eq!([r.try_recv(), r.try_recv()], [Ok(1), Err(TryRecvError::Empty)]);
}

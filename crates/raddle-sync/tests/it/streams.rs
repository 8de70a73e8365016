//! What has the traits of `futures-core` does by them what it does without them.

use crate::runtime;
use futures_core::{FusedFuture, FusedStream, Stream};
use raddle::channel::{bounded, unbounded};
use raddle::task;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// All of a stream, by the trait alone.
async fn all<S: Stream + Unpin>(mut stream: S) -> Vec<S::Item> {
    let mut items = Vec::new();
    while let Some(item) = poll_fn(|context| Pin::new(&mut stream).poll_next(context)).await {
        items.push(item);
    }
    items
}

#[test]
fn a_channel_is_a_stream_until_its_senders_are_gone() {
    for workers in [1, 2] {
        let received = runtime(workers).block_on(async {
            let (sender, receiver) = bounded(1);
            let sends = task::spawn(async move {
                for n in 0..100 {
                    sender.send_async(n).await.unwrap();
                }
            });
            let received = all(receiver.into_stream()).await;
            sends.await.unwrap();
            received
        });
        assert_eq!(received, (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_over_says_so() {
    let context = &mut Context::from_waker(Waker::noop());
    let (sender, receiver) = unbounded();
    let mut send = sender.send_async(7);
    assert!(!send.is_terminated());
    assert!(Pin::new(&mut send).poll(context).is_ready());
    assert!(send.is_terminated());

    let mut receive = receiver.recv_async();
    assert!(!receive.is_terminated());
    assert_eq!(Pin::new(&mut receive).poll(context), Poll::Ready(Ok(7)));
    assert!(receive.is_terminated());
    drop((send, receive));

    let mut stream = receiver.stream();
    assert_eq!(Pin::new(&mut stream).poll_next(context), Poll::Pending);
    assert!(!stream.is_terminated());
    drop(sender);
    assert_eq!(Pin::new(&mut stream).poll_next(context), Poll::Ready(None));
    assert!(stream.is_terminated());
}

#[test]
fn an_interval_is_a_stream_without_an_end() {
    let start = Instant::now();
    let period = Duration::from_millis(1);
    let ticks = task::block_on(async {
        let mut ticks = task::interval_at(start, period);
        assert_eq!(ticks.size_hint(), (usize::MAX, None));
        let mut first = Vec::new();
        for _ in 0..4 {
            first.extend(poll_fn(|context| Pin::new(&mut ticks).poll_next(context)).await);
        }
        first
    });
    assert_eq!(ticks, [0, 1, 2, 3].map(|n| start + n * period));
}

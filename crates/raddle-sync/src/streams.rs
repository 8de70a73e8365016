//! Owns: the traits of `futures-core` for what tasks wait for.
//! May use: `channel::awaits::send`, `channel::awaits::stream`, `task::interval`, `futures-core`.
//! Never: a way to wait of its own; each calls what the type has.

use crate::channel::{RecvFuture, RecvStream, SendFuture};
use crate::task::Interval;
use futures_core::future::FusedFuture;
use futures_core::stream::{FusedStream, Stream};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

impl<T> Stream for RecvStream<'_, T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_message(context)
    }
}

impl<T> FusedStream for RecvStream<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over()
    }
}

/// It never ends.
impl Stream for Interval {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(context).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

impl<T> FusedFuture for RecvFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> FusedFuture for SendFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over()
    }
}

//! Owns: `timeout`: a future that has only so much time.
//! May use: `raddle-core`.
//! Never: a timer left behind.

use raddle_core::task::{Sleep, sleep, sleep_until};
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The time was over before the future was ready; from [`timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time was over before the future was ready")
    }
}

impl std::error::Error for Elapsed {}

/// Awaits `future` for at most `duration` from now. When the time is over the future is dropped.
///
/// # Errors
/// [`Elapsed`] if it was not ready by then. One that is ready at its last poll is in time.
///
/// ```
/// use raddle::channel::unbounded;
/// use raddle::task::{block_on, timeout};
/// use std::time::Duration;
///
/// let (_s, r) = unbounded::<()>();
/// let received = block_on(timeout(Duration::from_millis(1), r.recv_async()));
/// assert!(received.is_err(), "nobody sends");
/// ```
pub fn timeout<F: IntoFuture>(
    duration: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    within(sleep(duration), future.into_future())
}

/// As [`timeout`], until `deadline`.
///
/// # Errors
/// As [`timeout`].
pub fn timeout_at<F: IntoFuture>(
    deadline: Instant,
    future: F,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    within(sleep_until(deadline), future.into_future())
}

async fn within<F: Future>(mut sleep: Sleep, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    poll_fn(move |context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(&mut sleep).poll(context).map(|()| Err(Elapsed(())))
    })
    .await
}

// Owns: channels with the names, the behaviour and the macros of `crossbeam-channel`.
// May use: `host::choice`, `raddle-core`.
// Never: a worker. A channel works in a program that never starts a runtime, or has none.

// | file | what |
// |---|---|
// | `core` | the state of a channel, and its steps |
// | `chan` | the operations, with waiting and waking |
// | `list`, `place` | those who wait, and the messages in their frames |
// | `stash` | messages between the two steps of a selection |
// | `clock` | `after`, `at`, `tick` |
// | `single` | the ends of `sync::mpsc`: a receiver that is alone |
// | `awaits` | `send_async`, `recv_async`, streams |
// | `select` | the choice between operations |
//
// **Alternatives.** A ring of slots with stamps, as `crossbeam-channel` has (for each capacity another structure, and
// a full fence an operation to look for sleepers): faster while many OS threads press on one channel, slower on one
// worker, where a lock that is never contended costs one locked instruction and a message goes straight from frame to
// frame. The one-word rendezvous of `csp::Chan`: for one sender and one receiver.
//
// **Two workers at one channel.** What costs is not the lock but the lines that go from core to core at each step. What
// was weighed, for unbounded channels; 8 senders to 1 receiver took 130 to 145 ns a message on two workers, and 26 on
// one, through `sync::mpsc` 230 to 265, and 37 (machine: at `LONGEST_PAUSE` in `raddle_protocol::protocol::short`):
// - *Who is late pauses, as long as the lock has learnt* (`short`): 30 to 34 ns, for every channel and both its sides,
//   in 40 lines and without another protocol; an operation that is late takes up to 14 us longer, each time. Taken.
// - *Two sides* with a lock each, as in the two-lock queue of Michael and Scott, the receivers' taking all of the
//   senders' in one step: helps senders against receivers, not senders against senders, which are most of the meetings.
//   One locked instruction more for each receive that finds one message, and for each wait; and `len`, selections and
//   futures that give back lock both. Taken only where there is one receiver, who needs no lock for a side of its own
//   (`single`, for `sync::mpsc`): with the pauses 19 to 24 ns, without them 59 in a trial
//   build; on one worker 17 to 24.
// - *A queue without locks* (slots with stamps, a list of blocks): an addition by each sender to one word, so the lines
//   go as before, and a full fence at each step, to look for those who wait. Not built.
// - *A queue for each worker*: no lines go, but there is no order any more between what two senders send one after the
//   other, where one knows of the other. Not built.

//! Channels with any number of senders and receivers: send, receive, or [`select!`](crate::channel::select!) among
//! several.
//!
//! ```
//! use raddle::{channel, csp};
//!
//! let (jobs, queue) = channel::bounded(4);
//! let worker = csp::spawn(move || queue.iter().sum::<u32>());
//! (1..=3).for_each(|job| jobs.send(job).unwrap());
//! drop(jobs); // the worker's loop ends
//! assert_eq!(worker.join().unwrap(), 6);
//! ```
//!
//! A channel has any number of senders and of receivers; each message goes to one receiver. The ends are used by
//! processes, light or not, threads and plain OS threads alike, and mixed: who waits leaves its worker to others, an OS
//! thread sleeps. Tasks wait by `send_async` and `recv_async`, in the same queues (with the
//! feature `scheduler`, which `raddle` asks for); what would wait otherwise panics in a task. A loop of operations that
//! never wait [starves nobody](crate#loops-that-never-wait).
//!
//! A program that uses `crossbeam-channel` moves over by `use raddle::channel as crossbeam_channel;`.

#[cfg(feature = "scheduler")]
mod awaits;
mod chan;
mod clock;
mod core;
mod error;
mod iter;
mod list;
mod place;
mod receiver;
mod select;
mod sender;
mod single;
mod stash;

pub use crate::{select, select_biased};
#[cfg(feature = "scheduler")]
pub use awaits::{RecvFuture, RecvStream, SendFuture};
pub use error::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError, SendTimeoutError,
    TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use iter::{IntoIter, Iter, TryIter};
pub use receiver::Receiver;
pub use select::{Select, SelectedOperation};
pub use sender::Sender;
pub(crate) use single::{SingleReceiver, SingleSender, single};

use crate::host::choice::now;
use chan::Chan;
use clock::{Alarm, Tick};
use receiver::ReceiverFlavor;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For the code that the macros expand to.
#[doc(hidden)]
pub mod __private {
    pub use super::select::{Case, Picked, Sending, Until, pick, recv_case, send_case};

    /// What may stand in `select!`. The ends of `csp` could, but for this: so the compiler tells the way out.
    #[diagnostic::on_unimplemented(
        message = "an end of a `csp` channel cannot stand in `select!`",
        label = "`{Self}` is waited for by `alt!`",
        note = "write `raddle::csp::alt!` in its place, or make the channel by `raddle::channel::bounded(0)`"
    )]
    pub trait StandsInSelect {}

    impl<T> StandsInSelect for super::Receiver<T> {}
    impl<T> StandsInSelect for super::Sender<T> {}
}

fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let chan = Arc::new(Chan::new(capacity));
    (Sender { chan: chan.clone() }, Receiver { kind: ReceiverFlavor::Chan(chan) })
}

/// A channel that holds any number of messages: a send never waits.
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    channel(usize::MAX)
}

/// A channel that holds at most `cap` messages. With 0 it is a rendezvous: a send waits for the receive.
///
/// ```
/// use raddle::{channel, csp};
/// let (s, r) = channel::bounded(0);
/// let sender = csp::spawn(move || s.send("meet").unwrap());
/// assert_eq!(r.recv(), Ok("meet"));
/// sender.join().unwrap();
/// ```
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    channel(cap)
}

/// A channel that has one message, the time, after `duration`. It is never disconnected.
///
/// ```
/// use raddle::channel::{after, never, select};
/// use std::time::Duration;
/// select! {
///     recv(never::<()>()) -> _ => unreachable!(),
///     recv(after(Duration::from_millis(1))) -> _ => println!("too late"),
/// }
/// ```
pub fn after(duration: Duration) -> Receiver<Instant> {
    now().checked_add(duration).map_or_else(never, at)
}

/// A channel that has one message, `when`, from then on. It is never disconnected.
pub fn at(when: Instant) -> Receiver<Instant> {
    Receiver { kind: ReceiverFlavor::Alarm(Arc::new(Alarm::new(when)), |time| time) }
}

/// A channel that has a message, the time, once each `duration`, the first after one; it holds at most one. It is never
/// disconnected.
pub fn tick(duration: Duration) -> Receiver<Instant> {
    let tick = |tick| Receiver { kind: ReceiverFlavor::Tick(Arc::new(tick), |time| time) };
    Tick::new(duration).map_or_else(never, tick)
}

/// A channel that never has a message, and is never disconnected.
pub fn never<T>() -> Receiver<T> {
    Receiver { kind: ReceiverFlavor::Never }
}

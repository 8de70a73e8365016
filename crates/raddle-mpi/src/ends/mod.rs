//! Owns: the ends of channels between ranks that users hold: `RemoteSender`, `RemoteReceiver`, and how both are bound.
//! May use: `channel`, `error`, `net`.
//! Never: a sender that goes on before its message was taken, but into a buffer that was asked for.
//!
//! | file | what |
//! |---|---|
//! | `message` | what channels carry |
//! | `end`, `sender`, `receiver`, `refusal` | what users hold, and what it answers |
//! | `ready` | an end in a choice |
//! | `post_box` | ends to and from all ranks, with one who waits at them |
//!
//! What ends say to each other is `channel`'s; `engine::channels` waits and looks.

mod end;
mod message;
mod post_box;
mod ready;
mod receiver;
mod refusal;
mod sender;

pub use message::RemoteMessage;
pub use post_box::PostBox;
pub use ready::WhenSent;
pub use receiver::RemoteReceiver;
pub use refusal::{RemoteRecvError, RemoteSendError};
pub use sender::RemoteSender;

use crate::channel::EndRole;
use crate::error::NetError;
use crate::net::Net;
use end::ChannelEnd;

impl Net {
    /// The sending end of a channel to a process of rank `to`, which makes the other end by
    /// [`receiver`](Self::receiver) with the same name: a rendezvous, as [`csp::channel`](raddle_sync::csp::channel).
    ///
    /// It does not wait. Whether the other end is there, for messages of the same type, is found when it is first used,
    /// or by [`bind_channels`](Self::bind_channels). A rank may have channels with itself.
    ///
    /// # Errors
    /// [`NetError::Misuse`] for a rank that there is not, a name of more than 255 bytes, and an end that there is;
    /// [`NetError::Over`].
    ///
    /// ```no_run
    /// use raddle_mpi::{Net, NetConfig};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let net = Net::start(NetConfig::default())?;
    /// let (rank, size) = (net.rank(), net.size());
    /// let mut to = net.sender::<u64>("ring", (rank + 1) % size)?;
    /// let mut from = net.receiver::<u64>("ring", (rank + size - 1) % size)?;
    /// // Calls of MPI run on the stack of who makes them.
    /// let passes = raddle::csp::Builder::new().stack_size(1 << 20).spawn(move || {
    ///     if rank == 0 {
    ///         to.send(0)?; // goes on when rank 1 has received it
    ///     } else {
    ///         to.send(from.recv()? + 1)?;
    ///         return Ok::<_, Box<dyn std::error::Error + Send + Sync>>(None);
    ///     }
    ///     Ok(Some(from.recv()?))
    /// })?;
    /// if let Some(hops) = passes.join().expect("no panic").expect("all ranks pass it on") {
    ///     assert_eq!(hops, size as u64 - 1);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn sender<T: RemoteMessage>(&self, name: &str, to: usize) -> Result<RemoteSender<T>, NetError> {
        self.buffered_sender(name, to, 0)
    }

    /// The receiving end of a channel from a process of rank `from`: see [`sender`](Self::sender).
    ///
    /// # Errors
    /// As there.
    pub fn receiver<T: RemoteMessage>(&self, name: &str, from: usize) -> Result<RemoteReceiver<T>, NetError> {
        self.buffered_receiver(name, from, 0)
    }

    /// As [`sender`](Self::sender), with a buffer of so many messages: a send waits only while they are all full. Both
    /// ends name the same number.
    ///
    /// Messages of more than 8 KiB stay with the sender until they are received, and move when its rank looks: see
    /// [`Mode`](crate::Mode).
    ///
    /// # Errors
    /// As there.
    pub fn buffered_sender<T: RemoteMessage>(
        &self,
        name: &str,
        to: usize,
        capacity: u32,
    ) -> Result<RemoteSender<T>, NetError> {
        ChannelEnd::new::<T>(self, name, (to, EndRole::Sends), capacity).map(RemoteSender::new)
    }

    /// The other end of such a one.
    ///
    /// # Errors
    /// As there.
    pub fn buffered_receiver<T: RemoteMessage>(
        &self,
        name: &str,
        from: usize,
        capacity: u32,
    ) -> Result<RemoteReceiver<T>, NetError> {
        ChannelEnd::new::<T>(self, name, (from, EndRole::Receives), capacity).map(RemoteReceiver::new)
    }

    /// Waits until the other ends of all ends that this rank has made are there, and compares what goes through them.
    /// At the beginning of a program that says at once what is missing.
    ///
    /// # Errors
    /// [`NetError::Disagree`] if both ends do not agree; [`NetError::Late`] with the ends that are missing, and those
    /// which that rank has bound instead.
    pub fn bind_channels(&self) -> Result<(), NetError> {
        end::bind_all(self)
    }
}

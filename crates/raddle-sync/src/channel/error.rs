//! Owns: what the operations of a channel may answer instead of doing it.
//! May use: nothing.
//! Never: losing a message: an error of a send has it inside.
//!
//! Names, texts and traits are those of `crossbeam-channel`, so that a program moves over unchanged. Messages are not
//! shown by `Debug`, which therefore asks nothing of them.

use std::error::Error;
use std::fmt;

/// The channel is disconnected; here is the message back. From [`Sender::send`](super::Sender::send).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Why [`Sender::try_send`](super::Sender::try_send) has not sent the message, which is inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no place in the channel; at a rendezvous, nobody waits to receive.
    Full(T),
    /// All receivers are gone.
    Disconnected(T),
}

/// Why a send with a deadline has not sent the message, which is inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The deadline passed before there was a place, or a receiver.
    Timeout(T),
    /// All receivers are gone.
    Disconnected(T),
}

/// The channel is empty and all senders are gone. From [`Receiver::recv`](super::Receiver::recv).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) has not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is no message; at a rendezvous, nobody waits to send.
    Empty,
    /// There is no message, and all senders are gone.
    Disconnected,
}

/// Why a receive with a deadline has not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The deadline passed before there was a message.
    Timeout,
    /// There is no message, and all senders are gone.
    Disconnected,
}

/// Every operation would wait. From [`Select::try_select`](super::Select::try_select).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrySelectError;

/// The deadline passed before an operation was possible. From
/// [`Select::select_timeout`](super::Select::select_timeout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectTimeoutError;

/// Every operation would wait. From [`Select::try_ready`](super::Select::try_ready).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryReadyError;

/// The deadline passed before an operation was possible. From
/// [`Select::ready_timeout`](super::Select::ready_timeout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyTimeoutError;

impl<T> SendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        let (TrySendError::Full(message) | TrySendError::Disconnected(message)) = self;
        message
    }

    /// Whether the channel was full.
    pub fn is_full(&self) -> bool {
        matches!(self, TrySendError::Full(_))
    }

    /// Whether all receivers are gone.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, TrySendError::Disconnected(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        let (SendTimeoutError::Timeout(message) | SendTimeoutError::Disconnected(message)) = self;
        message
    }

    /// Whether the deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, SendTimeoutError::Timeout(_))
    }

    /// Whether all receivers are gone.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, SendTimeoutError::Disconnected(_))
    }
}

impl TryRecvError {
    /// Whether there was no message, and senders are left.
    pub fn is_empty(&self) -> bool {
        *self == TryRecvError::Empty
    }

    /// Whether all senders are gone.
    pub fn is_disconnected(&self) -> bool {
        *self == TryRecvError::Disconnected
    }
}

impl RecvTimeoutError {
    /// Whether the deadline passed.
    pub fn is_timeout(&self) -> bool {
        *self == RecvTimeoutError::Timeout
    }

    /// Whether all senders are gone.
    pub fn is_disconnected(&self) -> bool {
        *self == RecvTimeoutError::Disconnected
    }
}

/// `Debug` of errors with a message inside.
macro_rules! debug {
    ($($error:ident: $self:ident => $text:expr;)*) => {$(
        impl<T> fmt::Debug for $error<T> {
            fn fmt(&$self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad($text)
            }
        }
    )*};
}

debug! {
    SendError: self => "SendError(..)";
    TrySendError: self => if self.is_full() { "Full(..)" } else { "Disconnected(..)" };
    SendTimeoutError: self => "SendTimeoutError(..)";
}

const NO_RECEIVER: &str = "sending on a disconnected channel";
const NO_SENDER: &str = "receiving on an empty and disconnected channel";
const WOULD_WAIT: &str = "all operations in select would block";
const TOO_LATE: &str = "timed out waiting on select";

/// `Display` and `Error`.
macro_rules! errors {
    ($($error:ident $(<$param:ident>)?: $self:ident => $text:expr;)*) => {$(
        impl $(<$param>)? fmt::Display for $error $(<$param>)? {
            fn fmt(&$self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad($text)
            }
        }

        impl $(<$param: Send>)? Error for $error $(<$param>)? {}
    )*};
}

errors! {
    SendError<T>: self => NO_RECEIVER;
    TrySendError<T>: self => if self.is_full() { "sending on a full channel" } else { NO_RECEIVER };
    SendTimeoutError<T>: self => if self.is_timeout() { "timed out waiting on send operation" } else { NO_RECEIVER };
    RecvError: self => NO_SENDER;
    TryRecvError: self => if self.is_empty() { "receiving on an empty channel" } else { NO_SENDER };
    RecvTimeoutError: self => {
        if self.is_timeout() { "timed out waiting on receive operation" } else { "channel is empty and disconnected" }
    };
    TrySelectError: self => WOULD_WAIT;
    SelectTimeoutError: self => TOO_LATE;
    TryReadyError: self => WOULD_WAIT;
    ReadyTimeoutError: self => TOO_LATE;
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(SendError(message): SendError<T>) -> Self {
        TrySendError::Disconnected(message)
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(SendError(message): SendError<T>) -> Self {
        SendTimeoutError::Disconnected(message)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(_: RecvError) -> Self {
        TryRecvError::Disconnected
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(_: RecvError) -> Self {
        RecvTimeoutError::Disconnected
    }
}

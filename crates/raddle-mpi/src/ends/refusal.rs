//! Owns: what the ends of a channel between ranks may answer instead of doing it.
//! May use: `error`.
//! Never: losing a message: an error of a send has it inside.

use crate::error::NetError;
use std::error::Error;
use std::fmt;
use std::sync::mpsc::{RecvError, SendError};

/// Why a message was not sent, which is inside.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteSendError<T> {
    /// The receiver is gone: it was dropped, or its rank has ended its net.
    Disconnected(T),
    /// Something else, as that the message was not taken in time: then it may still be received.
    Failed(T, NetError),
}

/// Why nothing was received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteRecvError {
    /// Nothing is there, or nothing has come by then. Only from the calls that do not wait for ever.
    Empty,
    /// The sender is gone, and nothing of it is left.
    Disconnected,
    /// Something else.
    Failed(NetError),
}

impl<T> RemoteSendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        let (RemoteSendError::Disconnected(message) | RemoteSendError::Failed(message, _)) = self;
        message
    }

    /// Whether the receiver was gone.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, RemoteSendError::Disconnected(_))
    }
}

impl RemoteRecvError {
    /// Whether the sender was gone.
    pub fn is_disconnected(&self) -> bool {
        *self == RemoteRecvError::Disconnected
    }
}

impl<T> fmt::Debug for RemoteSendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteSendError::Disconnected(_) => f.write_str("Disconnected(..)"),
            RemoteSendError::Failed(_, error) => write!(f, "Failed(.., {error:?})"),
        }
    }
}

impl<T> fmt::Display for RemoteSendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteSendError::Disconnected(_) => f.write_str("sending on a channel whose receiver is gone"),
            RemoteSendError::Failed(_, error) => error.fmt(f),
        }
    }
}

impl fmt::Display for RemoteRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteRecvError::Empty => f.write_str("receiving on an empty channel"),
            RemoteRecvError::Disconnected => f.write_str("receiving on a channel whose sender is gone"),
            RemoteRecvError::Failed(error) => error.fmt(f),
        }
    }
}

impl<T> Error for RemoteSendError<T> {}
impl Error for RemoteRecvError {}

/// As the ends of `csp` answer, for programs whose channels may be of either kind.
impl<T> From<RemoteSendError<T>> for SendError<T> {
    fn from(error: RemoteSendError<T>) -> Self {
        SendError(error.into_inner())
    }
}

/// As the ends of `csp` answer, for programs whose channels may be of either kind.
impl From<RemoteRecvError> for RecvError {
    fn from(_: RemoteRecvError) -> Self {
        RecvError
    }
}

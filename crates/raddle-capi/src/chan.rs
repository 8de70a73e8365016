//! Owns: the ends of channels: of words, of messages of bytes, of ticks of a clock.
//! May use: `fault`, `handle`, `time`, `libc`, `raddle`.
//! Never: a message of bytes copied twice: what is sent is copied, and that memory goes to the receiver.

use crate::fault::{Fault, Outcome, entry};
use crate::handle::{Handle, Object, bytes, copy_for_program, end, expect, get, make, put, put_if};
use crate::time::{deadline, number, span};
use raddle::channel::{
    self, Receiver, RecvTimeoutError, SendTimeoutError, Sender, TryRecvError, TrySendError,
};
use std::ffi::c_int;
use std::time::Instant;

/// Bytes in memory that `free` takes.
pub(crate) struct Message {
    data: *mut u8,
    size: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for Message {}

impl Message {
    pub(crate) fn copy(data: *const u8, size: usize) -> Outcome<Message> {
        Ok(Message { data: copy_for_program(bytes(data, size)?)?, size })
    }

    /// The memory becomes the program's.
    pub(crate) fn give(self, data: *mut *mut u8, size: *mut usize) {
        put_if(size, self.size);
        put_if(data, self.data);
        std::mem::forget(self);
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: it came from `malloc`, and nobody else has it.
        unsafe { libc::free(self.data.cast()) }
    }
}

/// `raddle_tx_t`.
pub(crate) enum Tx {
    Words(Sender<usize>),
    Bytes(Sender<Message>),
}

/// `raddle_rx_t`.
pub(crate) enum Rx {
    Words(Receiver<usize>),
    Bytes(Receiver<Message>),
    Clock(Receiver<Instant>),
}

impl Object for Tx {
    const TAG: u64 = u64::from_le_bytes(*b"raddl_tx");
}

impl Object for Rx {
    const TAG: u64 = u64::from_le_bytes(*b"raddl_rx");
}

/// What a clock sends, as a word.
pub(crate) fn time_word(instant: Instant) -> usize {
    number(instant) as usize
}

fn pair<T>(capacity: i64) -> (Sender<T>, Receiver<T>) {
    usize::try_from(capacity).map_or_else(|_| channel::unbounded(), channel::bounded)
}

fn make_pair(tx: *mut *mut Handle<Tx>, rx: *mut *mut Handle<Rx>, ends: (Tx, Rx)) -> Outcome {
    expect(tx)?;
    expect(rx)?;
    make(tx, ends.0)?;
    make(rx, ends.1)
}

fn send<T>(sender: &Sender<T>, message: T, timeout_ns: i64) -> Outcome {
    if timeout_ns == 0 {
        return sender.try_send(message).map_err(|refused| match refused {
            TrySendError::Full(_) => Fault::TimedOut,
            TrySendError::Disconnected(_) => Fault::Closed,
        });
    }
    match deadline(timeout_ns) {
        None => sender.send(message).map_err(|_| Fault::Closed),
        Some(deadline) => sender.send_deadline(message, deadline).map_err(|refused| match refused {
            SendTimeoutError::Timeout(_) => Fault::TimedOut,
            SendTimeoutError::Disconnected(_) => Fault::Closed,
        }),
    }
}

fn receive<T>(receiver: &Receiver<T>, timeout_ns: i64) -> Outcome<T> {
    if timeout_ns == 0 {
        return receiver.try_recv().map_err(|refused| match refused {
            TryRecvError::Empty => Fault::TimedOut,
            TryRecvError::Disconnected => Fault::Closed,
        });
    }
    match deadline(timeout_ns) {
        None => receiver.recv().map_err(|_| Fault::Closed),
        Some(deadline) => receiver.recv_deadline(deadline).map_err(|refused| match refused {
            RecvTimeoutError::Timeout => Fault::TimedOut,
            RecvTimeoutError::Disconnected => Fault::Closed,
        }),
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_channel(capacity: i64, tx: *mut *mut Handle<Tx>, rx: *mut *mut Handle<Rx>) -> c_int {
    entry(|| {
        let (sender, receiver) = pair(capacity);
        make_pair(tx, rx, (Tx::Words(sender), Rx::Words(receiver)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_channel_bytes(
    capacity: i64,
    tx: *mut *mut Handle<Tx>,
    rx: *mut *mut Handle<Rx>,
) -> c_int {
    entry(|| {
        let (sender, receiver) = pair(capacity);
        make_pair(tx, rx, (Tx::Bytes(sender), Rx::Bytes(receiver)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_after(timeout_ns: i64, rx: *mut *mut Handle<Rx>) -> c_int {
    entry(|| make(rx, Rx::Clock(span(timeout_ns).map_or_else(channel::never, channel::after))))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_tick(period_ns: i64, rx: *mut *mut Handle<Rx>) -> c_int {
    entry(|| match span(period_ns) {
        Some(period) if !period.is_zero() => make(rx, Rx::Clock(channel::tick(period))),
        _ => Err(Fault::Invalid),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_tx_clone(tx: *const Handle<Tx>, out: *mut *mut Handle<Tx>) -> c_int {
    entry(|| {
        let clone = match get(tx)? {
            Tx::Words(sender) => Tx::Words(sender.clone()),
            Tx::Bytes(sender) => Tx::Bytes(sender.clone()),
        };
        make(out, clone)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rx_clone(rx: *const Handle<Rx>, out: *mut *mut Handle<Rx>) -> c_int {
    entry(|| {
        let clone = match get(rx)? {
            Rx::Words(receiver) => Rx::Words(receiver.clone()),
            Rx::Bytes(receiver) => Rx::Bytes(receiver.clone()),
            Rx::Clock(receiver) => Rx::Clock(receiver.clone()),
        };
        make(out, clone)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_tx_close(tx: *mut Handle<Tx>) -> c_int {
    entry(|| end(tx).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rx_close(rx: *mut Handle<Rx>) -> c_int {
    entry(|| end(rx).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_tx_len(tx: *const Handle<Tx>, out: *mut usize) -> c_int {
    entry(|| match get(tx)? {
        Tx::Words(sender) => put(out, sender.len()),
        Tx::Bytes(sender) => put(out, sender.len()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rx_len(rx: *const Handle<Rx>, out: *mut usize) -> c_int {
    entry(|| match get(rx)? {
        Rx::Words(receiver) => put(out, receiver.len()),
        Rx::Bytes(receiver) => put(out, receiver.len()),
        Rx::Clock(receiver) => put(out, receiver.len()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_send(tx: *const Handle<Tx>, word: usize) -> c_int {
    entry(|| match get(tx)? {
        Tx::Words(sender) => sender.send(word).map_err(|_| Fault::Closed),
        Tx::Bytes(_) => Err(Fault::Unsupported),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_send_for(tx: *const Handle<Tx>, word: usize, timeout_ns: i64) -> c_int {
    entry(|| match get(tx)? {
        Tx::Words(sender) => send(sender, word, timeout_ns),
        Tx::Bytes(_) => Err(Fault::Unsupported),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_recv(rx: *const Handle<Rx>, word: *mut usize) -> c_int {
    entry(|| match get(rx)? {
        Rx::Words(receiver) => {
            put_if(word, receiver.recv().map_err(|_| Fault::Closed)?);
            Ok(())
        }
        _ => receive_word(rx, word, -1),
    })
}

fn receive_word(rx: *const Handle<Rx>, word: *mut usize, timeout_ns: i64) -> Outcome {
    match get(rx)? {
        Rx::Words(receiver) => put_if(word, receive(receiver, timeout_ns)?),
        Rx::Clock(receiver) => put_if(word, time_word(receive(receiver, timeout_ns)?)),
        Rx::Bytes(_) => return Err(Fault::Unsupported),
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_recv_for(rx: *const Handle<Rx>, word: *mut usize, timeout_ns: i64) -> c_int {
    entry(|| receive_word(rx, word, timeout_ns))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_send_bytes(
    tx: *const Handle<Tx>,
    data: *const u8,
    size: usize,
    timeout_ns: i64,
) -> c_int {
    entry(|| match get(tx)? {
        Tx::Bytes(sender) => send(sender, Message::copy(data, size)?, timeout_ns),
        Tx::Words(_) => Err(Fault::Unsupported),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_recv_bytes(
    rx: *const Handle<Rx>,
    data: *mut *mut u8,
    size: *mut usize,
    timeout_ns: i64,
) -> c_int {
    entry(|| {
        expect(data)?;
        match get(rx)? {
            Rx::Bytes(receiver) => {
                receive(receiver, timeout_ns)?.give(data, size);
                Ok(())
            }
            _ => Err(Fault::Unsupported),
        }
    })
}

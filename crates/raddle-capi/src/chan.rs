//! Owns: the ends of channels: of words, of messages of bytes, of ticks of a clock.
//! May use: `back`, `fault`, `handle`, `time`, `libc`, `raddle`, `raddle-mpi`.
//! Never: a message of bytes copied twice: what is sent is copied, and that memory goes to the receiver.

use crate::back::{Back, entry_back, waits};
use crate::fault::{CResult, Fault, entry};
use crate::handle::{Handle, Object, Using, bytes, copy_for_program, end, expect, get, make, put, put_if};
use crate::time::{deadline, number, span};
use raddle::channel::{
    self, Receiver, RecvTimeoutError, SendTimeoutError, Sender, TryRecvError, TrySendError,
};
use raddle::io::WhenReady;
use raddle_mpi::WhenSent;
use std::ffi::c_int;
use std::sync::Mutex;
use std::time::Instant;

/// Bytes in memory that `free` takes.
pub(crate) struct ByteMessage {
    data: *mut u8,
    size: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for ByteMessage {}

impl ByteMessage {
    pub(crate) fn copy(data: *const u8, size: usize) -> CResult<ByteMessage> {
        Ok(ByteMessage { data: copy_for_program(bytes(data, size)?)?, size })
    }

    /// The memory becomes the program's.
    pub(crate) fn give(self, data: *mut *mut u8, size: *mut usize) {
        put_if(size, self.size);
        put_if(data, self.data);
        std::mem::forget(self);
    }
}

impl Drop for ByteMessage {
    fn drop(&mut self) {
        // SAFETY: it came from `malloc`, and nobody else has it.
        unsafe { libc::free(self.data.cast()) }
    }
}

/// `raddle_drop_fn`.
type DropWord = Option<unsafe extern "C-unwind" fn(usize)>;

/// A word that owns something: if nobody receives it, the program's function gets it.
pub(crate) struct Owned {
    word: usize,
    drop: DropWord,
}

impl Owned {
    pub(crate) fn take(self) -> usize {
        let word = self.word;
        std::mem::forget(self);
        word
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // What unwinds here is a send that was cancelled: its word is still the sender's.
        if let Some(drop) = self.drop
            && !std::thread::panicking()
        {
            // SAFETY: the interface asks for a function that may be called so, anywhere.
            unsafe { drop(self.word) }
        }
    }
}

/// A message that was not sent: what it owns of the program's is the program's still.
pub(crate) trait Unsent {
    fn give_back(self);
}

impl Unsent for usize {
    fn give_back(self) {}
}

impl Unsent for ByteMessage {
    fn give_back(self) {}
}

impl Unsent for Owned {
    fn give_back(self) {
        self.take();
    }
}

/// What an end of owned words sends them with.
pub(crate) struct OwnedSender {
    sender: Sender<Owned>,
    drop: DropWord,
}

impl OwnedSender {
    pub(crate) fn own(&self, word: usize) -> Owned {
        Owned { word, drop: self.drop }
    }

    pub(crate) fn sender(&self) -> &Sender<Owned> {
        &self.sender
    }
}

/// `raddle_tx_t`.
pub(crate) enum Tx {
    Words(Sender<usize>),
    Owned(OwnedSender),
    Bytes(Sender<ByteMessage>),
}

/// `raddle_rx_t`.
pub(crate) enum Rx {
    Words(Receiver<usize>),
    Owned(Receiver<Owned>),
    Bytes(Receiver<ByteMessage>),
    Clock(Receiver<Instant>),
    Ready(ReadyEnd),
}

/// An end at which one word comes when a descriptor, or a channel of another rank, is ready.
pub(crate) struct ReadyEnd {
    receiver: Receiver<()>,
    /// Behind a lock that nobody takes: it is not for several threads.
    _when: Mutex<WhenEither>,
    /// After the wait.
    _using: Option<Using<'static>>,
}

/// What is kept as long as somebody may wait for it.
#[expect(dead_code, reason = "both are there to be dropped")]
enum WhenEither {
    Ready(WhenReady<'static>),
    Sent(WhenSent),
}

impl ReadyEnd {
    pub(crate) fn new(when: WhenReady<'static>, using: Using<'static>) -> ReadyEnd {
        let receiver = when.receiver_of_raddle_channel().clone();
        ReadyEnd { receiver, _when: Mutex::new(WhenEither::Ready(when)), _using: Some(using) }
    }

    pub(crate) fn when_sent(when: WhenSent) -> ReadyEnd {
        let receiver = when.receiver_of_raddle_channel().clone();
        ReadyEnd { receiver, _when: Mutex::new(WhenEither::Sent(when)), _using: None }
    }

    pub(crate) fn receiver(&self) -> &Receiver<()> {
        &self.receiver
    }
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

fn make_pair(tx: *mut *mut Handle<Tx>, rx: *mut *mut Handle<Rx>, ends: (Tx, Rx)) -> CResult {
    expect(tx)?;
    expect(rx)?;
    make(tx, ends.0)?;
    make(rx, ends.1)
}

pub(crate) fn refused<T: Unsent>(message: T, fault: Fault) -> Fault {
    message.give_back();
    fault
}

fn send<T: Unsent>(sender: &Sender<T>, message: T, timeout_ns: i64) -> CResult {
    if timeout_ns == 0 {
        return sender.try_send(message).map_err(|error| match error {
            TrySendError::Full(message) => refused(message, Fault::TimedOut),
            TrySendError::Disconnected(message) => refused(message, Fault::Closed),
        });
    }
    match deadline(timeout_ns) {
        None => sender.send(message).map_err(|error| refused(error.0, Fault::Closed)),
        Some(deadline) => sender.send_deadline(message, deadline).map_err(|error| match error {
            SendTimeoutError::Timeout(message) => refused(message, Fault::TimedOut),
            SendTimeoutError::Disconnected(message) => refused(message, Fault::Closed),
        }),
    }
}

fn receive<T>(receiver: &Receiver<T>, timeout_ns: i64) -> CResult<T> {
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
extern "C" fn raddle_channel_owned(
    capacity: i64,
    drop: DropWord,
    tx: *mut *mut Handle<Tx>,
    rx: *mut *mut Handle<Rx>,
) -> c_int {
    entry(|| {
        if drop.is_none() {
            return Err(Fault::Invalid);
        }
        let (sender, receiver) = pair(capacity);
        make_pair(tx, rx, (Tx::Owned(OwnedSender { sender, drop }), Rx::Owned(receiver)))
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
            Tx::Owned(owned) => Tx::Owned(OwnedSender { sender: owned.sender.clone(), drop: owned.drop }),
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
            Rx::Owned(receiver) => Rx::Owned(receiver.clone()),
            Rx::Bytes(receiver) => Rx::Bytes(receiver.clone()),
            Rx::Clock(receiver) => Rx::Clock(receiver.clone()),
            Rx::Ready(_) => return Err(Fault::Unsupported),
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
        Tx::Owned(owned) => put(out, owned.sender.len()),
        Tx::Bytes(sender) => put(out, sender.len()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rx_len(rx: *const Handle<Rx>, out: *mut usize) -> c_int {
    entry(|| match get(rx)? {
        Rx::Words(receiver) => put(out, receiver.len()),
        Rx::Owned(receiver) => put(out, receiver.len()),
        Rx::Bytes(receiver) => put(out, receiver.len()),
        Rx::Clock(receiver) => put(out, receiver.len()),
        Rx::Ready(end) => put(out, end.receiver.len()),
    })
}

waits!(raddle_send, send_back, *const Handle<Tx>, usize);

extern "C" fn send_back(tx: *const Handle<Tx>, word: usize, site: usize) -> Back {
    entry_back(site, || match get(tx)? {
        Tx::Words(sender) => sender.send(word).map_err(|_| Fault::Closed),
        _ => send_word(tx, word, -1),
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_send_for(tx: *const Handle<Tx>, word: usize, timeout_ns: i64) -> c_int {
    entry(|| match get(tx)? {
        Tx::Words(sender) => send(sender, word, timeout_ns),
        _ => send_word(tx, word, timeout_ns),
    })
}

/// The seldom kinds of ends. A cancelled send of an owned word gives it back, too.
#[inline(never)]
fn send_word(tx: *const Handle<Tx>, word: usize, timeout_ns: i64) -> CResult {
    let Tx::Owned(owned) = get(tx)? else { return Err(Fault::Unsupported) };
    send(&owned.sender, owned.own(word), timeout_ns)
}

waits!(raddle_recv, receive_back, *const Handle<Rx>, *mut usize);

extern "C" fn receive_back(rx: *const Handle<Rx>, word: *mut usize, site: usize) -> Back {
    entry_back(site, || match get(rx)? {
        Rx::Words(receiver) => {
            put_if(word, receiver.recv().map_err(|_| Fault::Closed)?);
            Ok(())
        }
        _ => receive_word(rx, word, -1),
    })
}

#[inline(never)]
fn receive_word(rx: *const Handle<Rx>, word: *mut usize, timeout_ns: i64) -> CResult {
    match get(rx)? {
        Rx::Words(receiver) => put_if(word, receive(receiver, timeout_ns)?),
        Rx::Owned(receiver) => {
            expect(word)?;
            put_if(word, receive(receiver, timeout_ns)?.take());
        }
        Rx::Clock(receiver) => put_if(word, time_word(receive(receiver, timeout_ns)?)),
        Rx::Ready(end) => {
            receive(&end.receiver, timeout_ns)?;
            put_if(word, 0);
        }
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
        Tx::Bytes(sender) => send(sender, ByteMessage::copy(data, size)?, timeout_ns),
        _ => Err(Fault::Unsupported),
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

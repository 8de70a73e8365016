//! Owns: `raddle_remote_tx_t`, `raddle_remote_rx_t`: channels between threads of different ranks.
//! May use: `chan`, `fault`, `handle`, `mpi`, `time`, `raddle-mpi`.
//! Never: a lock that is held while somebody waits.
//!
//! An end is one thread's at a time, as Rust has it by `&mut`: a call takes it out of its object and puts it back, and
//! who comes meanwhile is told that it is busy.

use crate::chan::{ReadyEnd, Rx};
use crate::fault::{CResult, Fault, entry};
use crate::handle::{Handle, Object, bytes, copy_for_program, end, expect, get, make, put, put_if, text};
use crate::mpi::NetObject;
use crate::time::span;
use raddle_mpi::{RemoteReceiver, RemoteRecvError, RemoteSendError, RemoteSender};
use std::ffi::{c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What users have one at a time.
struct OneAtATime<T>(Mutex<Option<T>>);

/// One user's, as long as its call.
struct TakenOut<'e, T> {
    slot: &'e OneAtATime<T>,
    inner: Option<T>,
}

impl<T> OneAtATime<T> {
    fn new(inner: T) -> OneAtATime<T> {
        OneAtATime(Mutex::new(Some(inner)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls with it. A cancellation that unwinds the call puts it back, too.
    fn with<R>(&self, call: impl FnOnce(&mut T) -> CResult<R>) -> CResult<R> {
        let inner = self.lock().take();
        let mut taken = TakenOut { slot: self, inner };
        call(taken.inner.as_mut().ok_or(Fault::Busy)?)
    }

    fn is_free(&self) -> bool {
        self.lock().is_some()
    }
}

impl<T> Drop for TakenOut<'_, T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            *self.slot.lock() = Some(inner);
        }
    }
}

/// `raddle_remote_tx_t`.
pub(crate) struct RemoteTx(OneAtATime<RemoteSender<Vec<u8>>>);

/// `raddle_remote_rx_t`.
pub(crate) struct RemoteRx(OneAtATime<RemoteReceiver<Vec<u8>>>);

impl Object for RemoteTx {
    const TAG: u64 = u64::from_le_bytes(*b"raddlrtx");
}

impl Object for RemoteRx {
    const TAG: u64 = u64::from_le_bytes(*b"raddlrrx");
}

fn refused(error: &RemoteRecvError) -> Fault {
    match error {
        RemoteRecvError::Empty => Fault::TimedOut,
        RemoteRecvError::Disconnected => Fault::Closed,
        RemoteRecvError::Failed(error) => Fault::of_net(error),
        _ => Fault::Mpi,
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_remote_tx_open(
    net: *const Handle<NetObject>,
    name: *const c_char,
    peer: usize,
    capacity: u32,
    out: *mut *mut Handle<RemoteTx>,
) -> c_int {
    entry(|| {
        expect(out)?;
        let sender = get(net)?.net().buffered_sender(text(name)?, peer, capacity);
        make(out, RemoteTx(OneAtATime::new(sender.map_err(|error| Fault::of_net(&error))?)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_remote_rx_open(
    net: *const Handle<NetObject>,
    name: *const c_char,
    peer: usize,
    capacity: u32,
    out: *mut *mut Handle<RemoteRx>,
) -> c_int {
    entry(|| {
        expect(out)?;
        let receiver = get(net)?.net().buffered_receiver(text(name)?, peer, capacity);
        make(out, RemoteRx(OneAtATime::new(receiver.map_err(|error| Fault::of_net(&error))?)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_remote_tx_close(tx: *mut Handle<RemoteTx>) -> c_int {
    entry(|| {
        if !get(tx)?.0.is_free() {
            return Err(Fault::Busy);
        }
        end(tx).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_remote_rx_close(rx: *mut Handle<RemoteRx>) -> c_int {
    entry(|| {
        if !get(rx)?.0.is_free() {
            return Err(Fault::Busy);
        }
        end(rx).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_bind(net: *const Handle<NetObject>) -> c_int {
    entry(|| {
        let net = get(net)?;
        let _using = net.enter();
        net.net().bind_channels().map_err(|error| Fault::of_net(&error))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_remote_send(tx: *const Handle<RemoteTx>, data: *const u8, size: usize) -> c_int {
    entry(|| {
        let tx = get(tx)?;
        if c_int::try_from(size).is_err() {
            return Err(Fault::Invalid.told(format!("a message of {size} bytes: MPI takes less than 2^31")));
        }
        let message = bytes(data, size)?.to_vec();
        tx.0.with(|sender| {
            sender.send(message).map_err(|error| match error {
                RemoteSendError::Failed(_, error) => Fault::of_net(&error),
                _ => Fault::Closed,
            })
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_remote_recv(
    rx: *const Handle<RemoteRx>,
    data: *mut *mut u8,
    size: *mut usize,
    timeout_ns: i64,
) -> c_int {
    entry(|| {
        expect(data)?;
        let message = get(rx)?.0.with(|receiver| {
            let came = match span(timeout_ns) {
                None => receiver.recv(),
                Some(span) if span.is_zero() => receiver.try_recv(),
                Some(span) => receiver.recv_timeout(span),
            };
            came.map_err(|error| refused(&error))
        })?;
        put(data, copy_for_program(&message)?)?;
        put_if(size, message.len());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_remote_when(rx: *const Handle<RemoteRx>, out: *mut *mut Handle<Rx>) -> c_int {
    entry(|| {
        expect(out)?;
        let when = get(rx)?.0.with(|receiver| receiver.when_sent().map_err(|error| Fault::of_net(&error)))?;
        make(out, Rx::Ready(ReadyEnd::when_sent(when)))
    })
}

//! Owns: `raddle_select`: the choice between operations on channels.
//! May use: `chan`, `fault`, `handle`, `time`, `raddle`.
//! Never: an operation that was agreed on and is not completed.

use crate::chan::{ByteMessage, Rx, Tx, refused, time_word};
use crate::fault::{CResult, Fault, entry};
use crate::handle::{Handle, expect, get, put_if};
use crate::time::{deadline, span};
use raddle::channel::{Select, SelectedOperation};
use std::ffi::c_int;

/// `raddle_case_t`.
#[repr(C)]
pub(crate) struct Choice {
    tx: *const Handle<Tx>,
    rx: *const Handle<Rx>,
    word: usize,
    data: *mut u8,
    size: usize,
}

enum Ending<'e> {
    Send(&'e Tx),
    Receive(&'e Rx),
}

impl Choice {
    /// None if the case is switched off.
    fn end<'e>(&self) -> CResult<Option<Ending<'e>>> {
        match (self.tx.is_null(), self.rx.is_null()) {
            (true, true) => Ok(None),
            (false, true) => Ok(Some(Ending::Send(get(self.tx)?))),
            (true, false) => Ok(Some(Ending::Receive(get(self.rx)?))),
            (false, false) => Err(Fault::Invalid),
        }
    }

    /// The message is copied before anything is agreed on, since there may be no memory for it.
    fn message(&self) -> CResult<Option<ByteMessage>> {
        let is_of_bytes = matches!(self.end()?, Some(Ending::Send(Tx::Bytes(_))));
        is_of_bytes.then(|| ByteMessage::copy(self.data, self.size)).transpose()
    }

    fn complete(
        &mut self,
        operation: SelectedOperation<'_>,
        message: Option<ByteMessage>,
        end: &Ending<'_>,
    ) -> CResult {
        match end {
            Ending::Send(Tx::Words(sender)) => operation.send(sender, self.word).map_err(|_| Fault::Closed),
            Ending::Send(Tx::Owned(owned)) => {
                let sent = operation.send(owned.sender(), owned.own(self.word));
                sent.map_err(|error| refused(error.0, Fault::Closed))
            }
            Ending::Send(Tx::Bytes(sender)) => {
                let message = message.expect("it was copied for each case that sends bytes");
                operation.send(sender, message).map_err(|_| Fault::Closed)
            }
            Ending::Receive(Rx::Words(receiver)) => {
                self.word = operation.recv(receiver).map_err(|_| Fault::Closed)?;
                Ok(())
            }
            Ending::Receive(Rx::Owned(receiver)) => {
                self.word = operation.recv(receiver).map_err(|_| Fault::Closed)?.take();
                Ok(())
            }
            Ending::Receive(Rx::Clock(receiver)) => {
                self.word = time_word(operation.recv(receiver).map_err(|_| Fault::Closed)?);
                Ok(())
            }
            Ending::Receive(Rx::Ready(end)) => {
                operation.recv(end.receiver()).map_err(|_| Fault::Closed)?;
                self.word = 0;
                Ok(())
            }
            Ending::Receive(Rx::Bytes(receiver)) => {
                let message = operation.recv(receiver).map_err(|_| Fault::Closed)?;
                message.give(&raw mut self.data, &raw mut self.size);
                Ok(())
            }
        }
    }
}

fn add<'s>(select: &mut Select<'s>, end: &Ending<'s>) {
    match end {
        Ending::Send(Tx::Words(sender)) => select.send(sender),
        Ending::Send(Tx::Owned(owned)) => select.send(owned.sender()),
        Ending::Send(Tx::Bytes(sender)) => select.send(sender),
        Ending::Receive(Rx::Words(receiver)) => select.recv(receiver),
        Ending::Receive(Rx::Owned(receiver)) => select.recv(receiver),
        Ending::Receive(Rx::Bytes(receiver)) => select.recv(receiver),
        Ending::Receive(Rx::Clock(receiver)) => select.recv(receiver),
        Ending::Receive(Rx::Ready(end)) => select.recv(end.receiver()),
    };
}

fn choose(cases: &mut [Choice], chosen: *mut usize, timeout_ns: i64, biased: bool) -> CResult {
    let mut select = if biased { Select::new_biased() } else { Select::new() };
    let mut ends = Vec::with_capacity(cases.len());
    for (at, case) in cases.iter().enumerate() {
        if let Some(end) = case.end()? {
            add(&mut select, &end);
            ends.push((at, end, case.message()?));
        }
    }
    if ends.is_empty() && span(timeout_ns).is_none() {
        return Err(Fault::Invalid);
    }
    let operation = match (span(timeout_ns), deadline(timeout_ns)) {
        (Some(none), _) if none.is_zero() => select.try_select().map_err(|_| Fault::TimedOut)?,
        (_, Some(deadline)) => select.select_deadline(deadline).map_err(|_| Fault::TimedOut)?,
        _ => select.select(),
    };
    let (at, end, message) = ends.swap_remove(operation.index());
    put_if(chosen, at);
    cases[at].complete(operation, message, &end)
}

/// The cases of the program, during a call.
fn cases<'c>(cases: *mut Choice, count: usize) -> CResult<&'c mut [Choice]> {
    if count == 0 {
        return Ok(&mut []);
    }
    expect(cases)?;
    if count > isize::MAX as usize / size_of::<Choice>() {
        return Err(Fault::Invalid);
    }
    // SAFETY: the interface asks for so many cases there, which nobody else uses during the call.
    Ok(unsafe { std::slice::from_raw_parts_mut(cases, count) })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_select(
    choices: *mut Choice,
    count: usize,
    timeout_ns: i64,
    chosen: *mut usize,
) -> c_int {
    entry(|| choose(cases(choices, count)?, chosen, timeout_ns, false))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_select_first(
    choices: *mut Choice,
    count: usize,
    timeout_ns: i64,
    chosen: *mut usize,
) -> c_int {
    entry(|| choose(cases(choices, count)?, chosen, timeout_ns, true))
}

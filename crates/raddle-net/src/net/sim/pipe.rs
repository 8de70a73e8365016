//! Owns: `Pipe`, one direction of a simulated connection.
//! May use: `raddle-core`, `raddle-sync`.
//! Never: who has its ends.

use super::{delay, piece};
use raddle_core::choice::now;
use raddle_sync::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::Instant;

/// So many bytes are on their way at most.
const CAPACITY: usize = 64 << 10;

/// How a call waits.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    pub(super) until: Option<Instant>,
    pub(super) waits: bool,
}

#[derive(Default)]
pub(super) struct Pipe {
    state: Mutex<PipeState>,
    changed: Condvar,
}

#[derive(Default)]
struct PipeState {
    /// In the order in which they were written: from when on they can be read.
    pieces: VecDeque<(Instant, VecDeque<u8>)>,
    bytes: usize,
    /// Nothing more is written.
    is_closed: bool,
    /// The reader has said that it reads no more, or is gone.
    is_deaf: bool,
    is_gone: bool,
    is_reset: bool,
}

impl PipeState {
    /// Whether the first piece has come.
    fn has_come(&self) -> Option<bool> {
        self.pieces.front().map(|(from, _)| *from <= now())
    }

    /// What has come, as far as there is room.
    fn take(&mut self, bytes: &mut [u8], peeks: bool) -> usize {
        let come: usize =
            self.pieces.iter().take_while(|(from, _)| *from <= now()).map(|(_, piece)| piece.len()).sum();
        let count = piece(come.min(bytes.len()));
        let all = self.pieces.iter().flat_map(|(_, piece)| piece);
        bytes.iter_mut().zip(all).take(count).for_each(|(to, from)| *to = *from);
        if !peeks {
            self.remove(count);
        }
        count
    }

    fn remove(&mut self, mut count: usize) {
        self.bytes -= count;
        while let Some((_, first)) = self.pieces.front_mut() {
            let some = count.min(first.len());
            first.drain(..some);
            count -= some;
            if !first.is_empty() {
                return;
            }
            self.pieces.pop_front();
        }
    }

    /// Behind what is on its way.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let count = piece(bytes.len().min(CAPACITY - self.bytes));
        let from = now() + delay();
        let from = self.pieces.back().map_or(from, |(last, _)| from.max(*last));
        self.pieces.push_back((from, bytes[..count].iter().copied().collect()));
        self.bytes += count;
        count
    }
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, PipeState> {
        // Nothing panics under the lock but the wait of who is cancelled.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, until then at most.
    #[track_caller]
    fn wait<'p>(
        &self,
        state: MutexGuard<'p, PipeState>,
        until: Option<Instant>,
    ) -> MutexGuard<'p, PipeState> {
        match until {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let left = until.saturating_duration_since(now());
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    #[track_caller]
    pub(super) fn read(&self, bytes: &mut [u8], patience: Patience, peeks: bool) -> io::Result<usize> {
        let mut state = self.lock();
        loop {
            if state.is_reset {
                return Err(ErrorKind::ConnectionReset.into());
            }
            if bytes.is_empty() {
                return Ok(0);
            }
            match state.has_come() {
                Some(true) => {
                    let count = state.take(bytes, peeks);
                    self.changed.notify_all();
                    return Ok(count);
                }
                None if state.is_closed => return Ok(0),
                _ if state.is_deaf => return Ok(0),
                _ => {}
            }
            if !patience.waits || patience.until.is_some_and(|until| until <= now()) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let comes = state.pieces.front().map(|(from, _)| *from);
            state = self.wait(state, comes.into_iter().chain(patience.until).min());
        }
    }

    #[track_caller]
    pub(super) fn write(&self, bytes: &[u8], patience: Patience) -> io::Result<usize> {
        let mut state = self.lock();
        loop {
            if state.is_reset {
                return Err(ErrorKind::ConnectionReset.into());
            }
            if state.is_closed || state.is_gone {
                return Err(ErrorKind::BrokenPipe.into());
            }
            if bytes.is_empty() {
                return Ok(0);
            }
            if state.bytes < CAPACITY {
                let count = state.push(bytes);
                self.changed.notify_all();
                return Ok(count);
            }
            if !patience.waits || patience.until.is_some_and(|until| until <= now()) {
                return Err(ErrorKind::WouldBlock.into());
            }
            state = self.wait(state, patience.until);
        }
    }

    fn change(&self, change: impl FnOnce(&mut PipeState)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// The end comes behind what was written.
    pub(super) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    /// Who has read what has come finds the end.
    pub(super) fn deafen(&self) {
        self.change(|state| state.is_deaf = true);
    }

    /// Nobody reads any more. True if something is left there.
    pub(super) fn leave(&self) -> bool {
        let mut is_left = false;
        self.change(|state| {
            state.is_gone = true;
            is_left = state.bytes > 0;
        });
        is_left
    }

    pub(super) fn reset(&self) {
        self.change(|state| {
            state.is_reset = true;
            state.pieces.clear();
            state.bytes = 0;
        });
    }
}

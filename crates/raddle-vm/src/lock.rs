//! Owns: the locks of shared channel ends, and who queues for them.
//! May use: `atom`, `interp`, `machine`, `process`, `loom`, `raddle-bytecode`.
//! Never: trusts a lock's word: it lies in the program's memory.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | free |
//! | 1 | held |
//! | 2 | held, and somebody queues |
//!
//! The way without contention is one exchange. The queues, first come first served, lie outside the program's memory
//! under one spinning lock; a lock is handed over without becoming free.

use crate::atom;
use crate::interp::Step;
use crate::machine::{FLOOR, Machine, Scheduler};
use crate::prim::{AtomicU32, Ordering};
use crate::process::{LOCK, Process};
use alloc::collections::{BTreeMap, VecDeque};
use raddle_bytecode::Trap;

/// Who queues, by the lock's address.
pub(crate) type Queues = BTreeMap<u32, VecDeque<u32>>;

/// Those of the screen and of the error channel that are shared, at 32 and 44.
const PORT_LOCKS: [u32; 4] = [36, 40, 48, 52];

const FREE: u32 = 0;
const HELD: u32 = 1;
const WANTED: u32 = 2;

impl<L: Default> Machine<L> {
    fn lock_word(&self, address: u32) -> Result<&AtomicU32, Trap> {
        if address < FLOOR && !PORT_LOCKS.contains(&address) {
            return Err(Trap::Undefined);
        }
        self.memory.word(address).ok_or(Trap::Address)
    }

    /// `claim`. The caller has saved itself.
    #[inline]
    pub(crate) fn claim<const SHARED: bool>(&self, me: &Process<L>, address: u32) -> Result<Step, Trap> {
        let word = self.lock_word(address)?;
        match atom::exchange::<SHARED>(word, FREE, HELD) {
            Ok(()) => Ok(Step::Done),
            Err(_) => Ok(self.queue_for::<SHARED>(me, word, address)),
        }
    }

    #[cold]
    fn queue_for<const SHARED: bool>(&self, me: &Process<L>, word: &AtomicU32, address: u32) -> Step {
        let mut queues = self.locks.lock();
        loop {
            if atom::exchange::<SHARED>(word, FREE, HELD).is_ok() {
                return Step::Done;
            }
            let wanted = atom::exchange::<SHARED>(word, HELD, WANTED);
            if !matches!(wanted, Err(FREE)) {
                break;
            }
        }
        me.wait.store(address | LOCK, Ordering::Relaxed);
        queues.entry(address).or_default().push_back(me.id());
        Step::Waits
    }

    /// `release`.
    #[inline]
    pub(crate) fn release<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        address: u32,
    ) -> Result<(), Trap> {
        let word = self.lock_word(address)?;
        if S::CHECKED {
            self.released(me, address);
        }
        match atom::exchange::<SHARED>(word, HELD, FREE) {
            Ok(()) => Ok(()),
            Err(_) => self.hand_over::<S, SHARED>(scheduler, word, address),
        }
    }

    #[cold]
    fn hand_over<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        word: &AtomicU32,
        address: u32,
    ) -> Result<(), Trap> {
        let mut queues = self.locks.lock();
        let Some(queue) = queues.get_mut(&address) else {
            word.store(FREE, Ordering::Relaxed);
            return Ok(());
        };
        let first = queue.pop_front();
        if queue.is_empty() {
            queues.remove(&address);
            // Release pairs with the acquire of the next exchange of this word.
            word.store(if first.is_some() { HELD } else { FREE }, Ordering::Release);
        }
        drop(queues);
        if let Some(first) = first {
            let process = self.processes.get(first).ok_or(Trap::Channel)?;
            atom::exchange::<SHARED>(&process.wait, address | LOCK, 0).map_err(|_| Trap::Channel)?;
            if S::CHECKED {
                self.claimed(first, address);
            }
            scheduler.ready(process);
        }
        Ok(())
    }
}

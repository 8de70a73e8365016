//! Owns: the locks of shared channel ends.
//! May use: `atom`, `machine`, `memory`, `process`, `scheduler`, `loom`, `raddle-bytecode`.
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
use crate::machine::Machine;
use crate::memory::FLOOR;
use crate::prim::{AtomicU32, Ordering};
use crate::process::{LOCK, Process, Step};
use crate::scheduler::Scheduler;
use raddle_bytecode::Trap;

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
        queues.push(address, me.id());
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
            self.races.released(me.id(), address);
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
        let Some((first, only)) = queues.pop(address) else {
            word.store(FREE, Ordering::Relaxed);
            return Ok(());
        };
        if only {
            // Release pairs with the acquire of the next exchange of this word.
            word.store(HELD, Ordering::Release);
        }
        drop(queues);
        let process = self.processes.get(first).ok_or(Trap::Channel)?;
        atom::exchange::<SHARED>(&process.wait, address | LOCK, 0).map_err(|_| Trap::Channel)?;
        if S::CHECKED {
            self.races.claimed(first, address);
        }
        scheduler.ready(process);
        Ok(())
    }
}

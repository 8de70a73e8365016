//! Owns: the beginning and the end of processes.
//! May use: `atom`, `machine`, `memory`, `process`, `scheduler`, `stop`, `table`, `raddle-bytecode`.
//! Never: trusts the counting word of a PAR: it lies in the program's memory. Who is woken by whom does not.
//!
//! The word counts those forked and not ended, and one for the parent until it joins. Whoever brings it to zero goes
//! on as, or makes ready, the parent; a parent that waits says so in its record, and is claimed from there by an
//! exchange.
//!
//! **The last child, beside a parent that cannot run.** A PAR of two that talk to each other ends so, most often: the
//! child takes the parent's message, or gives it one, makes it ready, and ends. Then nobody else counts in the word:
//! the child and the parent make two. And the parent cannot come to its join before the worker asks who is next. So a
//! plain store does. What children that ended before have written is seen by the parent: the load that finds two
//! acquires from them, and the parent is run by this worker, or given away by it. (PERF: `granularity` at 1, on one
//! worker: 1.22 of the single-threaded scheduler's time before, 1.12 so.)

//! **Blocks of forks** count in the same way: those forked and not ended, and one for who opened the block until it
//! comes to the end of that. But a forked process may fork into its block while another one ends, so there nobody
//! counts without an exchange; who opened the block is found by its number beside the count, and claimed like a parent.

use crate::atom;
use crate::machine::Machine;
use crate::memory::LINE;
use crate::prim::Ordering;
use crate::process::{IDLE, JOIN, LEVEL_BITS, Process, Step};
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use crate::table::WorkerLocal;
use raddle_bytecode::Trap;

/// Of so many processes at most each has lines of its own: a few dozen bytes more for each, which a million of them
/// are not to pay. Where there are more than this, few of them have a neighbour on another worker.
const APART_MAX: u32 = 4096;

/// After so many of the processes that one instruction starts it is asked whether the machine is to stop.
const FORKS_A_PIECE: u32 = 1024;

/// Where the number of the process that opened a block of forks lies, behind the count.
const OPENER: u32 = 4;

/// What `forkn` starts.
#[derive(Clone, Copy)]
pub(crate) struct Many {
    pub(crate) entry: u32,
    pub(crate) slots: u32,
    /// The address of its six slots, and of the frame that they are in.
    pub(crate) state: u32,
    pub(crate) link: u32,
}

impl<L: Default> Machine<L> {
    /// `fork`: a process that begins at `entry`, and counts in the word at `join`.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn fork<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        local: &mut WorkerLocal,
        me: &Process<L>,
        (entry, fp, join): (u32, u32, u32),
        many: bool,
    ) -> Result<(), Trap> {
        self.begin_process(scheduler, local, me, (entry, fp), (me.id(), join), many)
    }

    /// A process that begins at `entry` in the frame at `fp`, and at its end counts down the word at `join`, for which
    /// `parent` waits.
    #[cfg_attr(feature = "large", inline(always))]
    fn begin_process<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        local: &mut WorkerLocal,
        me: &Process<L>,
        (entry, fp): (u32, u32),
        (parent, join): (u32, u32),
        many: bool,
    ) -> Result<(), Trap> {
        let child = self.processes.take(local).ok_or(Trap::Depth)?;
        child.save(entry as usize, fp);
        let level = if cfg!(feature = "large") { me.start.get() & LEVEL_BITS } else { 0 };
        child.start.set(entry | level);
        child.parent.set(parent);
        child.join.set(join);
        child.alt.store(IDLE, Ordering::Relaxed);
        local.stats.processes += 1;
        if S::CHECKED {
            self.races.forked(me.id(), child.id());
        }
        scheduler.begin(child, many);
        Ok(())
    }

    /// `forking`.
    pub(crate) fn open_forks(&self, me: &Process<L>, block: u32) -> Option<()> {
        self.memory.store_w(block, 1)?;
        self.memory.store_w(block + OPENER, me.id())
    }

    /// `spawn`. Who forks is counted in the block, or one that it has begun and waits for: so the count is not zero.
    pub(crate) fn spawn<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        local: &mut WorkerLocal,
        me: &Process<L>,
        function: usize,
        (frame, block): (u32, u32),
    ) -> Result<(), Trap> {
        let function = &self.program.module().functions[function];
        let opener = block.checked_add(OPENER).and_then(|at| self.memory.load_w(at)).ok_or(Trap::Address)?;
        let fits = frame & 3 == 0 && self.memory.has(frame, 4 * function.slots);
        if !fits || opener == 0 {
            return Err(Trap::Address);
        }
        atom::add::<SHARED>(self.memory.word(block).ok_or(Trap::Address)?, 1);
        self.begin_process(scheduler, local, me, (function.first, frame), (opener, block), false)
    }

    /// `forkn`. It always costs something.
    pub(crate) fn fork_many<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        local: &mut WorkerLocal,
        me: &Process<L>,
        many: Many,
    ) -> Result<(), Stop> {
        let word = |slot: u32| self.memory.load_w(many.state + 4 * slot).ok_or(Trap::Address);
        let (base, count, step) = (word(1)?, word(2)?, word(3)?);
        if (count as i32) < 0 {
            return Err(Stop::Trap(Trap::Count));
        }
        let (block, first, size) = self.frames_for(scheduler, count, 4 * many.slots)?;
        let memory = &self.memory;
        memory.store_w(many.state, count + 1).ok_or(Trap::Address)?;
        memory.store_w(many.state + 16, block).ok_or(Trap::Address)?;
        let (mut fp, mut index) = (first, base);
        for number in 1..=count {
            memory.store_w(fp + 4, many.link).ok_or(Trap::Address)?;
            memory.store_w(fp + 8, index).ok_or(Trap::Address)?;
            self.fork(scheduler, local, me, (many.entry, fp, many.state), true)?;
            fp += size;
            index = index.wrapping_add(step);
            if S::COUNTED {
                scheduler.worked(1);
            }
            if number % FORKS_A_PIECE == 0 && scheduler.look() {
                return Err(Stop::Over);
            }
        }
        me.length.set(count);
        Err(Stop::Spent)
    }

    /// Frames of so many bytes in a block: where that begins, where the first of them, and how far they are apart.
    fn frames_for<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        count: u32,
        bytes: u32,
    ) -> Result<(u32, u32, u32), Stop> {
        if count == 0 {
            return Ok((0, 0, 0));
        }
        if !self.apart || count > APART_MAX {
            let block = self.alloc(scheduler, u64::from(bytes) * u64::from(count))?;
            return Ok((block, block, bytes));
        }
        let size = bytes.checked_next_multiple_of(LINE).ok_or(Trap::Memory)?;
        let block = self.alloc(scheduler, u64::from(size) * u64::from(count) + u64::from(LINE))?;
        Ok((block, block + self.memory.to_next_line(block), size))
    }

    /// `join`. The caller has saved itself.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn join<const SHARED: bool>(&self, me: &Process<L>, join: u32) -> Result<Step, Trap> {
        let word = self.memory.word(join).ok_or(Trap::Address)?;
        if atom::load::<SHARED>(word) == 1 {
            // All have ended, and nobody else counts here any more (PERF: two exchanges less in most rounds of
            // `granularity`).
            word.store(0, Ordering::Relaxed);
            return Ok(Step::Done);
        }
        me.wait.store(join | JOIN, Ordering::Relaxed);
        if atom::add::<SHARED>(word, u32::MAX) != 0 {
            return Ok(Step::Waits);
        }
        Ok(if self.withdraw::<SHARED>(me, join | JOIN) { Step::Done } else { Step::Waits })
    }

    /// `joinn`, which is executed once more when all have ended.
    pub(crate) fn join_many<const SHARED: bool>(&self, me: &Process<L>, state: u32) -> Result<Step, Trap> {
        // The acquire pairs with the additions of those that ended.
        let counted = atom::load::<SHARED>(self.memory.word(state).ok_or(Trap::Address)?);
        if counted != 0 && matches!(self.join::<SHARED>(me, state)?, Step::Waits) {
            return Ok(Step::Waits);
        }
        let block = self.memory.load_w(state + 16).ok_or(Trap::Address)?;
        self.memory.store_w(state + 16, 0).ok_or(Trap::Address)?;
        if block != 0 {
            self.free::<SHARED>(block)?;
        }
        Ok(Step::Done)
    }

    /// `end`. The process is gone. `kept` cannot run before the caller asks for the next.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn end<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        local: &mut WorkerLocal,
        me: &Process<L>,
        kept: u32,
    ) -> Result<(), Trap> {
        let (parent, join) = (me.parent.get(), me.join.get());
        if parent == 0 {
            scheduler.finished();
            return Ok(());
        }
        if S::CHECKED {
            self.races.ending(me.id(), join);
        }
        self.processes.give(local, me);
        let word = self.memory.word(join).ok_or(Trap::Address)?;
        if SHARED && kept == parent && atom::load::<SHARED>(word) == 2 {
            word.store(1, Ordering::Relaxed);
            return Ok(());
        }
        if atom::add::<SHARED>(word, u32::MAX) == 0 {
            let parent = self.processes.get(parent).ok_or(Trap::Channel)?;
            atom::exchange::<SHARED>(&parent.wait, join | JOIN, 0).map_err(|_| Trap::Channel)?;
            if S::CHECKED {
                self.races.joined(parent.id(), join);
            }
            scheduler.ready(parent);
        }
        Ok(())
    }
}

//! Owns: the scheduler for one thread, which needs no operating system.
//! May use: `machine`, `process`, `scheduler`, `table`, `raddle-bytecode`.
//! Never: a lock, an atomic exchange, a thread.
//!
//! It can give a program back that has work for more than one: when, for [`SLACK_US`], somebody was always left in
//! the queue. A host with several workers begins so: a program that never has slack, such as a ring, runs without a
//! single atomic exchange (PERF: 77 ns a loop of commstime for 100).
//!
//! That many are in the queue does not say that they have work: in a ring of 500 that are started in the token's
//! direction, each comes to its turn just after the token has, and wakes the one before, which waits its turn behind
//! all the others to find that there is nothing for it. So the queue is turned round once: who waits for another one's
//! message is then dispatched before it is there, and leaves the queue. (PERF: the ring, given back, takes 1.2 of the
//! time, since it runs with atomic exchanges from then on.)
//!
//! A foreign call is one instruction, and may take long: one of which that is known uses up the fuel, and if somebody
//! waits behind it in the queue, that is slack by itself.
//!
//! First in, first out; or, with a seed, whoever the seed says, so that one number names one schedule.

mod alarms;
#[cfg(feature = "large")]
mod levels;
mod ring;
mod world;

#[cfg(feature = "native")]
pub use ring::{RING, RingLayout};
pub use world::{Event, Until, World};

use alarms::Alarms;
use ring::Ring;

use crate::machine::{Fault, Machine};
use crate::process::{Process, Step};
use crate::scheduler::{Port, Scheduler};
use crate::table::{Stats, WorkerLocal};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use raddle_bytecode::{FOREIGN, Trap, Verified};

/// How a program has ended otherwise than by its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A run-time error.
    Fault(Fault),
    /// Every process waits for another.
    Deadlock,
    /// The world wanted it.
    Quit,
}

/// How long there must be slack before a program is given back.
pub const SLACK_US: u64 = 50;

/// What is left of a program that has work for several.
pub struct Rest<'m, L> {
    /// Who can run, in order.
    pub ready: VecDeque<&'m Process<L>>,
    /// Who is to be signalled after which time of the program's clock.
    pub alarms: Vec<(u32, u32)>,
    /// Whether the program has ever waited for a key.
    pub wants_keys: bool,
    /// Whether a key has been offered and not taken.
    pub key_offered: bool,
}

/// A machine with its world, run by one thread.
pub struct Solo<'m, L, W, const CHECKED: bool = false>(OneThread<'m, L, W, CHECKED>);

/// The scheduler. Nobody but its own machine calls it, since nobody outside can name it: so each process that it is
/// given is one of that machine's, and stays as long as that.
struct OneThread<'m, L, W, const CHECKED: bool> {
    machine: &'m Machine<L>,
    ready: Ring<'m, L>,
    alarms: RefCell<Alarms>,
    world: RefCell<W>,
    /// As many dispatches lie between two looks, unless they are long.
    poll_every: u32,
    /// Of `poll_every` so many were no dispatches.
    skipped: Cell<u32>,
    keys: Cell<Keys>,
    over: Cell<Option<Failure>>,
    random: Cell<u64>,
    /// One alone has used up the fuel since the last look.
    out_of_fuel: Cell<bool>,
    looked_at: Cell<u64>,
    /// When there was last too little work for several; `u64::MAX` if nobody wants to know.
    scarce_at: Cell<u64>,
    /// Dispatches until all have run that were in the queue when it was turned round; `None` if it was not, since there
    /// was last too little.
    to_run: Cell<Option<usize>>,
    turns: Cell<u32>,
    /// So many foreign calls may pass before one is measured.
    calls_unmeasured: Cell<u32>,
    /// The last one took as long as slack has to last.
    took_long: Cell<bool>,
    /// The loop is to be left with the program as it is: there is slack, or the world has said so.
    leaves: Cell<bool>,
    /// Who can run, by priority, once somebody has chosen one.
    #[cfg(feature = "large")]
    levels: levels::Levels<'m, L>,
}

/// How far [`Solo::go_on`] has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnEnd {
    /// The program has come to its end.
    Ended,
    /// It has stopped where it is, and goes on when it is asked to.
    Paused,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Unwanted,
    Wanted,
    Offered,
    Ended,
}

const DISPATCHES_TO_POLL: u32 = 256;
/// In a program whose functions are longer than this there are fewer dispatches between two looks: a process may come
/// from one end of a function to the other without being counted.
const FUNCTION_MAX: u32 = 4096;
/// When the fuel is used up for the fourth time it is time to look.
const FUELS_TO_POLL: u32 = 4;
/// So many foreign calls pass unmeasured after one that was short.
const CALLS_UNMEASURED: u32 = 15;
/// So many alarms ring at once; others wait for the next look.
const RINGS_MAX: usize = 1024;
/// A longer queue is not turned round: until all in it have run, much of what there is to do may be done.
const TURNED_MAX: usize = 4096;
/// A queue that gets long again so often is not a ring's, but that of PARs, one after the other, of processes that end
/// before all have had their turn.
const TURNS_MAX: u32 = 3;

/// Runs a program to its end.
///
/// `seed` 0 is first in, first out; every other number is a schedule of its own.
///
/// # Errors
/// A run-time error, or a deadlock; the machine is given back either way, for a report.
pub fn run<L: Default, W: World>(
    machine: &Machine<L>,
    world: W,
    local: &mut WorkerLocal,
    seed: u64,
) -> Result<Stats, Failure> {
    let solo = OneThread::<_, _, false>::new(machine, world, seed);
    solo.go(local)?;
    Ok(local.stats())
}

/// The same, and in a debug build looks for races on what it watches.
///
/// # Errors
/// A run-time error, which a race is, too; or a deadlock.
pub fn run_checked<L: Default, W: World>(
    machine: &Machine<L>,
    world: W,
    local: &mut WorkerLocal,
    seed: u64,
) -> Result<Stats, Failure> {
    let solo = OneThread::<_, _, true>::new(machine, world, seed);
    solo.go(local)?;
    Ok(local.stats())
}

/// Runs a program to its end, or until it has work for more than one.
///
/// # Errors
/// A run-time error, or a deadlock.
pub fn run_serial_phase<'m, L: Default, W: World>(
    machine: &'m Machine<L>,
    world: W,
    local: &mut WorkerLocal,
) -> Result<Option<Rest<'m, L>>, Failure> {
    let solo = OneThread::<_, _, false>::new(machine, world, 0);
    solo.scarce_at.set(0);
    solo.go(local)?;
    if !solo.leaves.get() || machine.is_finished() {
        return Ok(None);
    }
    let alarms = solo.alarms.take().iter().map(|(at, id)| (id, at as u32)).collect();
    let wants_keys = solo.keys.get() != Keys::Unwanted;
    let key_offered = solo.keys.get() == Keys::Offered;
    #[cfg_attr(not(feature = "large"), expect(unused_mut, reason = "without levels there is nothing to add"))]
    let mut ready: VecDeque<_> = solo.ready.take().into();
    #[cfg(feature = "large")]
    ready.extend(solo.levels.take());
    Ok(Some(Rest { ready, alarms, wants_keys, key_offered }))
}

/// Makes a machine of a program and runs it to its end.
///
/// # Errors
/// A run-time error, or a deadlock.
pub fn run_program<W: World>(program: Verified, memory_bytes: u32, world: W) -> Result<Stats, Failure> {
    let mut local = WorkerLocal::default();
    let fault = |trap: Trap| Failure::Fault(Fault { trap, process: 0, at: 0 });
    let machine: Machine<()> = Machine::new(program, memory_bytes, &mut local).map_err(fault)?;
    run(&machine, world, &mut local, 0)
}

impl<'m, L: Default, W: World, const CHECKED: bool> Solo<'m, L, W, CHECKED> {
    /// A program that has not begun. `seed` as for [`run`]; a machine without the feature `large` knows only 0.
    pub fn new(machine: &'m Machine<L>, world: W, seed: u64) -> Self {
        Solo(OneThread::new(machine, world, seed))
    }

    /// Runs until the program is over or the world says [`Event::Pause`]; it is asked after `dispatches` of processes
    /// at the latest. For a host that cannot give its thread away for long, and for one that shows each step.
    ///
    /// # Errors
    /// A run-time error, or a deadlock; then it does not go on any more.
    pub fn go_on(&self, local: &mut WorkerLocal, dispatches: u32) -> Result<TurnEnd, Failure> {
        let Solo(solo) = self;
        solo.leaves.set(false);
        solo.ready.until_poll.set(dispatches.clamp(1, solo.poll_every).saturating_add(1));
        solo.skipped.set(0);
        solo.go(local)?;
        Ok(if solo.machine.is_finished() { TurnEnd::Ended } else { TurnEnd::Paused })
    }
}

impl<'m, L: Default, W: World, const CHECKED: bool> OneThread<'m, L, W, CHECKED> {
    fn new(machine: &'m Machine<L>, world: W, seed: u64) -> Self {
        let long = (machine.longest_function() / FUNCTION_MAX).max(1);
        let poll_every = (DISPATCHES_TO_POLL / long).max(1);
        let ready = Ring::new(poll_every, machine.reserved());
        ready.push(machine.main());
        OneThread {
            machine,
            ready,
            alarms: RefCell::default(),
            world: RefCell::new(world),
            poll_every,
            keys: Cell::new(Keys::Unwanted),
            over: Cell::new(None),
            random: Cell::new(seed),
            out_of_fuel: Cell::new(false),
            looked_at: Cell::new(0),
            scarce_at: Cell::new(u64::MAX),
            to_run: Cell::new(None),
            turns: Cell::new(0),
            calls_unmeasured: Cell::new(0),
            took_long: Cell::new(false),
            skipped: Cell::new(0),
            leaves: Cell::new(false),
            #[cfg(feature = "large")]
            levels: levels::Levels::default(),
        }
    }

    /// Runs until the program is over, or the loop is left with it as it is.
    fn go(&self, local: &mut WorkerLocal) -> Result<(), Failure> {
        if let Some(first) = self.next() {
            self.machine.run(self, local, first).map_err(Failure::Fault)?;
        }
        self.over.get().map_or(Ok(()), Err)
    }

    fn look_for_slack(&self, now: u64, dispatched: u32) {
        // Where slices are short, several of them must wait at any time: else what is gained is lost in exchanges.
        // The mean slice took a microsecond, or one used up all that it was given.
        let long = self.out_of_fuel.replace(false)
            || now.saturating_sub(self.looked_at.replace(now)) >= u64::from(dispatched);
        let enough = self.ready.left.replace(u32::MAX) >= if long { 1 } else { 3 };
        if !enough || self.scarce_at.get() == 0 {
            self.scarce_at.set(now.max(1));
            self.to_run.set(None);
            return;
        }
        let to_run = match self.to_run.get() {
            Some(count) => count.saturating_sub(dispatched as usize),
            None => self.turn_round(),
        };
        self.to_run.set(Some(to_run));
        if (long || to_run == 0) && now.saturating_sub(self.scarce_at.get()) >= SLACK_US {
            self.leaves.set(true);
        }
    }

    /// When a call begins of which it is to be known whether it takes long: a foreign one, which is one instruction
    /// however long it takes.
    fn begun_if_measured(&self, number: i32) -> Option<u64> {
        // By a seed everything follows from that, and nothing from a clock.
        if !cfg!(feature = "large") || number < FOREIGN || self.random.get() != 0 {
            return None;
        }
        let left = self.calls_unmeasured.get();
        self.calls_unmeasured.set(left.saturating_sub(1));
        (left == 0).then(|| self.world.borrow_mut().now())
    }

    /// Gives the number of those who are to run until all have had their turn.
    fn turn_round(&self) -> usize {
        let ready = &self.ready;
        if ready.len() > TURNED_MAX || self.turns.get() >= TURNS_MAX {
            return 0;
        }
        self.turns.set(self.turns.get() + 1);
        ready.reverse();
        ready.len()
    }

    /// The time of the program's clock in the world's.
    fn absolute(&self, time: u32) -> u64 {
        let now = self.world.borrow_mut().now();
        let distance = time.wrapping_sub(now as u32) as i32;
        now.saturating_add_signed(i64::from(distance))
    }

    fn ring_due(&self, now: u64) {
        for _ in 0..RINGS_MAX {
            let first = self.alarms.borrow().first().filter(|&(at, _)| at < now);
            let Some((at, id)) = first else { return };
            self.alarms.borrow_mut().remove((at, id));
            self.machine.ring(self, id);
        }
        self.look_soon(self.poll_every);
    }

    /// The next look comes by so many dispatches sooner.
    fn look_soon(&self, dispatches: u32) {
        let left = self.ready.until_poll.get().saturating_sub(dispatches).max(1);
        self.skipped.set(self.skipped.get() + self.ready.until_poll.replace(left) - left);
    }

    fn take_event(&self, event: Event) {
        match event {
            Event::Key(key) => {
                self.keys.set(Keys::Offered);
                if self.machine.offer_key(self, key) == Ok(Step::Done) {
                    self.keys.set(Keys::Wanted);
                }
            }
            Event::NoMoreKeys => self.keys.set(Keys::Ended),
            Event::Nothing => {}
            Event::Quit => self.over.set(Some(Failure::Quit)),
            Event::Pause => self.leaves.set(true),
        }
    }

    #[cold]
    fn look_around(&self) {
        self.ready.until_poll.set(self.poll_every);
        let dispatched = self.poll_every - self.skipped.replace(0);
        let event = self.world.borrow_mut().wait(Until::Now, self.keys.get() == Keys::Wanted);
        self.take_event(event);
        let now = self.world.borrow_mut().now();
        self.ring_due(now);
        if cfg!(feature = "large") && self.scarce_at.get() != u64::MAX {
            self.look_for_slack(now, dispatched);
        }
    }

    /// Nobody can run: waits for the world until somebody can. False if that will never be.
    #[cold]
    fn idle(&self) -> bool {
        let wanted = self.keys.get() == Keys::Wanted;
        let first = self.alarms.borrow().first().map(|(at, _)| at);
        let until = match first {
            Some(at) => Until::At(at + 1),
            None if wanted => Until::Ever,
            None => return false,
        };
        let event = self.world.borrow_mut().wait(until, wanted);
        self.take_event(event);
        let now = self.world.borrow_mut().now();
        self.ring_due(now);
        true
    }

    /// By the seed.
    #[cold]
    fn shuffle(&self) {
        // xorshift64*, Vigna 2016.
        let mut state = self.random.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.random.set(state);
        let draw = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        if self.ready.len() > 0 {
            self.ready.swap_first(draw as usize % self.ready.len());
        }
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn queue(&self, process: &Process<L>) {
        // SAFETY: it is one of the machine's, which stay where they are as long as that: see the type.
        self.ready.push(unsafe { &*core::ptr::from_ref(process) });
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn pop(&self) -> Option<&'m Process<L>> {
        if cfg!(feature = "large") && self.random.get() != 0 {
            self.shuffle();
        }
        #[cfg(feature = "large")]
        if self.machine.uses_levels() {
            let next = self.levels.next(&self.ready, self.random.get());
            self.ready.left.set(self.ready.left.get().min(self.levels.len() as u32));
            return next;
        }
        let next = self.ready.pop();
        self.ready.left.set(self.ready.left.get().min(self.ready.len() as u32));
        next
    }
}

impl<L: Default, W: World, const CHECKED: bool> Scheduler for OneThread<'_, L, W, CHECKED> {
    const SHARED: bool = false;
    const CHECKED: bool = CHECKED;
    const COUNTED: bool = W::COUNTED;
    type Link = L;

    #[cfg_attr(feature = "large", inline(always))]
    fn ready(&self, process: &Process<L>) {
        if W::RECORDS {
            self.world.borrow_mut().wakes(process.id());
        }
        self.queue(process);
    }

    /// The process's turn comes before those of others in the queue: they have theirs when it waits, or has used up its
    /// fuel. Not if somebody looks at each turn, or it is time to look around.
    #[cfg_attr(feature = "large", inline(always))]
    fn hand_over(&self, process: &Process<L>) -> bool {
        let left = self.ready.until_poll.get();
        let plain = !W::RECORDS && !CHECKED && !W::COUNTED;
        if !plain || left <= 1 || self.random.get() != 0 || self.machine.uses_levels() {
            self.ready(process);
            return false;
        }
        self.ready.until_poll.set(left - 1);
        self.ready.left.set(self.ready.left.get().min(self.ready.len() as u32));
        true
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn begin(&self, process: &Process<L>, _: bool) {
        if W::RECORDS {
            self.world.borrow_mut().begins(process.id());
        }
        self.queue(process);
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn stops(&self, at: u32, ready: bool) {
        if W::RECORDS {
            self.world.borrow_mut().stops(at, ready);
        }
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn next(&self) -> Option<&Process<L>> {
        loop {
            self.ready.until_poll.set(self.ready.until_poll.get() - 1);
            if self.ready.until_poll.get() == 0 {
                self.look_around();
            }
            if self.over.get().is_some() || self.leaves.get() {
                return None;
            }
            match self.pop() {
                Some(process) if self.machine.is_keyboard(process) => self.keys.set(Keys::Wanted),
                Some(process) => {
                    if W::RECORDS {
                        self.world.borrow_mut().runs(process.id());
                    }
                    return Some(process);
                }
                None if self.machine.is_finished() => return None,
                None => {
                    if !self.idle() {
                        self.over.set(Some(Failure::Deadlock));
                    }
                }
            }
        }
    }

    #[cfg(feature = "native")]
    fn quick(&self) -> usize {
        let by_itself = self.random.get() == 0 && !W::RECORDS && !CHECKED && !W::COUNTED;
        if by_itself && !self.machine.uses_levels() { core::ptr::from_ref(&self.ready) as usize } else { 0 }
    }

    fn out_of_fuel(&self, alone: bool) {
        self.out_of_fuel.set(alone || self.out_of_fuel.get());
        // Long slices: the next look is not to be hundreds of them away.
        self.look_soon((self.poll_every / FUELS_TO_POLL).max(1));
    }

    fn look(&self) -> bool {
        if !cfg!(feature = "large") {
            // No instruction takes long where there is little memory.
            return false;
        }
        let event = self.world.borrow_mut().wait(Until::Now, self.keys.get() == Keys::Wanted);
        self.take_event(event);
        self.over.get().is_some()
    }

    fn worked(&self, steps: u64) {
        self.world.borrow_mut().worked(steps);
    }

    fn alarm(&self, process: &Process<L>, time: u32) {
        let at = self.absolute(time);
        self.alarms.borrow_mut().insert((at, process.id()));
    }

    fn cancel(&self, process: &Process<L>, time: u32) {
        let at = self.absolute(time);
        self.alarms.borrow_mut().remove((at, process.id()));
    }

    fn now(&self) -> u32 {
        self.world.borrow_mut().now() as u32
    }

    fn output(&self, port: Port, bytes: &[u8]) {
        self.world.borrow_mut().output(port, bytes);
    }

    fn want_key(&self) {
        if self.keys.get() == Keys::Unwanted {
            self.keys.set(Keys::Wanted);
        }
    }

    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        let begun = self.begun_if_measured(number);
        let results = self.world.borrow_mut().call(number, words);
        let took = begun.map_or(0, |begun| self.world.borrow_mut().now().saturating_sub(begun));
        let is_long = took >= SLACK_US;
        if begun.is_some() {
            self.calls_unmeasured.set(if is_long { 0 } else { CALLS_UNMEASURED });
        }
        self.took_long.set(is_long);
        // They have waited for all that time.
        if is_long && self.scarce_at.get() != u64::MAX && self.ready.len() > 0 {
            self.leaves.set(true);
        }
        results
    }

    fn took_long(&self) -> bool {
        self.took_long.get()
    }

    fn finished(&self) {
        self.machine.set_finished();
        self.ready.clear();
        #[cfg(feature = "large")]
        drop(self.levels.take());
    }
}

//! Owns: `Machine`, one program with its memory and its processes.
//! May use: `heap`, `lock`, `memory`, `process`, `races`, `spin`, `raddle-bytecode`.
//! Never: chooses who runs next; a `Scheduler` does.

use crate::heap::Heap;
use crate::lock::Queues;
use crate::memory::Memory;
use crate::process::{Process, Table, WorkerLocal};
use crate::races::Races;
use crate::spin::Spin;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use raddle_bytecode::verify::SLOTS_MAX;
use raddle_bytecode::{Effect, Insn, Module, Trap, Verified};

/// Addresses below are the host's channels, and no memory of the program's.
pub(crate) const FLOOR: u32 = 64;

/// A channel that the host serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Port {
    /// Where the program reads bytes.
    Keyboard = 16,
    /// Where it writes them.
    Screen = 20,
    /// Where it complains.
    Error = 24,
}

/// What decides who runs, and what the machine needs of the world around.
pub trait Scheduler {
    /// Several OS threads may run the machine at once.
    const SHARED: bool;
    /// Races are looked for, in a debug build (`races`).
    const CHECKED: bool = false;
    /// What it keeps in each process.
    type Link: Default;

    /// A process may run. From here on it may be running elsewhere.
    fn ready(&self, process: &Process<Self::Link>);
    /// As [`ready`](Scheduler::ready). True if nobody can run it before the caller next asks who is
    /// [`next`](Scheduler::next).
    #[inline(always)]
    fn ready_here(&self, process: &Process<Self::Link>) -> bool {
        self.ready(process);
        false
    }
    /// A process that has just been made, as one of a few or, if `many`, of a replicated PAR.
    fn begin(&self, process: &Process<Self::Link>, many: bool) {
        let _ = many;
        self.ready(process);
    }
    /// Who runs next, if the caller shall go on with somebody.
    fn next(&self) -> Option<&Process<Self::Link>>;
    /// A process has used up its fuel.
    fn out_of_fuel(&self) {}
    /// Who runs stops at that instruction, and has been given up; it can still run if `ready`. Called before
    /// [`next`](Scheduler::next).
    #[inline(always)]
    fn stops(&self, at: u32, ready: bool) {
        let _ = (at, ready);
    }
    /// Has the machine signal the process after `time`, once.
    fn alarm(&self, process: &Process<Self::Link>, time: u32);
    /// Takes that back.
    fn cancel(&self, process: &Process<Self::Link>, time: u32);
    /// The time in microseconds.
    fn now(&self) -> u32;
    /// The program writes.
    fn output(&self, port: Port, bytes: &[u8]);
    /// The program waits for the keyboard: bytes are to be offered from now on.
    fn want_key(&self);
    /// A call to the host, on four words. `None` if there is no such call.
    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]>;
    /// The program has come to its end.
    fn finished(&self);
}

/// A run-time error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What went wrong.
    pub trap: Trap,
    /// In which process.
    pub process: u32,
    /// At which instruction.
    pub at: u32,
}

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Processes that began.
    pub processes: u64,
    /// Messages passed.
    pub messages: u64,
    /// How often a process was given the processor.
    pub dispatches: u64,
}

impl core::ops::AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.processes += other.processes;
        self.messages += other.messages;
        self.dispatches += other.dispatches;
    }
}

/// A call site, as the interpreter wants it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSite {
    pub(crate) entry: u32,
    pub(crate) base_bytes: u32,
    /// The highest place of the callee's and of the caller's frame that leaves it within memory.
    pub(crate) callee_fp_max: u32,
    pub(crate) caller_fp_max: u32,
    pub(crate) back: u32,
    pub(crate) dynamic: bool,
}

/// A program, its memory, its processes.
pub struct Machine<L> {
    pub(crate) program: Verified,
    pub(crate) sites: Vec<CallSite>,
    pub(crate) memory: Memory,
    pub(crate) heap: Spin<Heap>,
    pub(crate) processes: Table<L>,
    pub(crate) locks: Spin<Queues>,
    pub(crate) races: Races,
    pub(crate) data: u32,
    pub(crate) apart: bool,
    keyboard: u32,
    main: u32,
    finished: AtomicBool,
}

impl<L: Default> Machine<L> {
    /// Loads a program. Its processes will have `memory_bytes` of memory at most.
    ///
    /// # Errors
    /// [`Trap::Memory`] if that is not enough to begin.
    pub fn new(program: Verified, memory_bytes: u32, local: &mut WorkerLocal) -> Result<Machine<L>, Trap> {
        let module = program.module();
        let memory = Memory::new(memory_bytes.max(FLOOR));
        if !memory.has(FLOOR, module.data.len() as u32) {
            return Err(Trap::Memory);
        }
        for (at, &byte) in module.data.iter().enumerate() {
            memory.store_b(FLOOR + at as u32, u32::from(byte)).ok_or(Trap::Memory)?;
        }
        let heap = Heap::new(FLOOR + module.data.len() as u32);
        let sites = sites_of(module, memory.bytes()).ok_or(Trap::Memory)?;
        let (heap, locks) = (Spin::new(heap), Spin::new(Queues::default()));
        // A program that forks without end is to stop at its limit, too: what a process takes lies outside of its
        // memory.
        let processes = Table::new((memory.bytes() / 32).clamp(1024, 1 << 28));
        let races = Races::new(if module.is_debug_build() { memory.bytes() } else { 0 });
        let mut machine = Machine {
            program,
            sites,
            memory,
            heap,
            processes,
            locks,
            races,
            data: FLOOR,
            apart: false,
            keyboard: 0,
            main: 0,
            finished: AtomicBool::new(false),
        };
        machine.begin(local)?;
        Ok(machine)
    }

    fn begin(&mut self, local: &mut WorkerLocal) -> Result<(), Trap> {
        let entry = &self.program.module().functions[self.program.module().entry as usize];
        let (first, slots) = (entry.first, entry.slots);
        let fp = self.alloc(u64::from(slots) * 4)?;
        let ports = [Port::Keyboard, Port::Screen, Port::Error];
        for (slot, port) in (2..slots.min(5)).zip(ports) {
            self.memory.store_w(fp + 4 * slot, port as u32).ok_or(Trap::Memory)?;
        }
        let main = self.processes.take(local).ok_or(Trap::Depth)?;
        main.save(first as usize, fp);
        main.start.set(first);
        let keyboard = self.processes.take(local).ok_or(Trap::Depth)?;
        (self.main, self.keyboard) = (main.id(), keyboard.id());
        Ok(())
    }

    /// The process that is the program: to be made ready first.
    ///
    /// # Panics
    /// Never: it was made with the machine.
    pub fn main(&self) -> &Process<L> {
        self.processes.get(self.main).expect("made with the machine")
    }

    /// The process that outputs what is typed; when it is dispatched, the next byte may be offered.
    ///
    /// # Panics
    /// Never: it was made with the machine.
    pub fn keyboard(&self) -> &Process<L> {
        self.processes.get(self.keyboard).expect("made with the machine")
    }

    /// Whether that is the [`keyboard`](Machine::keyboard)'s.
    #[inline(always)]
    pub fn is_keyboard(&self, process: &Process<L>) -> bool {
        process.id() == self.keyboard
    }

    /// Whether the key that was offered last waits for somebody to take it.
    pub fn key_waits(&self) -> bool {
        self.keyboard().wait.load(Ordering::Relaxed) != 0
    }

    /// The process of that number.
    #[inline(always)]
    pub fn process(&self, id: u32) -> Option<&Process<L>> {
        self.processes.get(id)
    }

    /// Whether the program has come to its end.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed)
    }

    /// The scheduler has been told of the end.
    pub fn set_finished(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }

    /// The processes of a replicated PAR, if they are not very many, get frames that share no line of the cache: for
    /// a machine that several OS threads may run later on. To be called before the program begins.
    pub fn keep_apart(&mut self) {
        self.apart = true;
    }

    /// Several OS threads are going to run the machine: to be called before the first of them does.
    pub fn share(&self) {
        self.memory.share();
    }

    /// Every process that lives.
    pub fn living(&self) -> impl Iterator<Item = &Process<L>> {
        self.processes.living()
    }

    /// The program.
    pub fn program(&self) -> &Verified {
        &self.program
    }

    /// The most bytes that the program's frames and heap ever took at once.
    pub fn memory_max(&self) -> u64 {
        self.heap.lock().used_max()
    }

    pub(crate) fn alloc(&self, bytes: u64) -> Result<u32, Trap> {
        self.heap.lock().alloc(&self.memory, bytes).ok_or(Trap::Memory)
    }

    pub(crate) fn free(&self, address: u32) -> Result<(), Trap> {
        self.heap.lock().free(&self.memory, address).ok_or(Trap::Address)
    }

    #[inline(always)]
    pub(crate) fn code(&self) -> &[Insn] {
        &self.program.module().code
    }
}

/// `None` if a frame alone is larger than the memory.
fn sites_of(module: &Module, bytes: u32) -> Option<Vec<CallSite>> {
    let limit = |slots: u32| bytes.checked_sub(4 * slots.min(SLOTS_MAX));
    let site = |site: &raddle_bytecode::Site| {
        let callee = &module.functions[site.callee as usize];
        let caller = &module.functions[module.function_at(site.at)? as usize];
        Some(CallSite {
            entry: callee.first,
            base_bytes: 4 * site.base.min(SLOTS_MAX),
            callee_fp_max: limit(callee.slots)?,
            caller_fp_max: limit(caller.slots)?,
            back: site.at + 1,
            dynamic: module.code[site.at as usize].op.effect() == Effect::CallAt,
        })
    };
    module.sites.iter().map(site).collect()
}

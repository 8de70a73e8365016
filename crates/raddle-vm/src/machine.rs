//! Owns: `Machine`, one program with its memory and its processes.
//! May use: `heap`, `memory`, `native`, `process`, `queues`, `races`, `scheduler`, `spin`, `table`, `raddle-bytecode`.
//! Never: chooses who runs next; a `Scheduler` does.

use crate::heap::Heap;
use crate::memory::{FLOOR, Memory};
use crate::process::Process;
use crate::queues::LockQueues;
use crate::races::Races;
use crate::scheduler::Port;
use crate::spin::Spin;
use crate::table::{ProcessTable, WorkerLocal};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use raddle_bytecode::verify::SLOTS_MAX;
use raddle_bytecode::{Course, Insn, Module, Trap, Verified};

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
    /// What a call costs of the fuel, and a return.
    pub(crate) call_cost: i32,
    pub(crate) return_cost: i32,
}

/// A call and a return cost one step, and one more for each so many instructions that may follow before the next jump
/// back, call or return. Who is called usually skips most of a long function.
const SKIPPED: u32 = 32;

/// So many can be in the queue before it grows.
const READY_AT_FIRST: u32 = 64;

/// If the system has less memory than this, a program is not begun.
const LEAST_BYTES: u32 = 1 << 16;

/// A program, its memory, its processes.
pub struct Machine<L> {
    pub(crate) program: Verified,
    pub(crate) sites: Vec<CallSite>,
    pub(crate) memory: Memory,
    pub(crate) heap: Heap,
    pub(crate) processes: ProcessTable<L>,
    pub(crate) locks: Spin<LockQueues>,
    /// Held while the members of a barrier change, or are counted anew.
    pub(crate) enrolments: Spin<()>,
    pub(crate) races: Races,
    #[cfg(feature = "native")]
    pub(crate) native: Option<crate::native::NativeCode>,
    pub(crate) data: u32,
    pub(crate) apart: bool,
    reserved: u32,
    longest: u32,
    keyboard: u32,
    main: u32,
    finished: AtomicBool,
    /// Whether a process has chosen a priority.
    pub(crate) levels: AtomicBool,
}

impl<L: Default> Machine<L> {
    /// Loads a program. Its processes will have `memory_bytes` of memory at most; less if the system has not so much,
    /// as [`memory_bytes`](Machine::memory_bytes) says.
    ///
    /// # Errors
    /// [`Trap::Memory`] if that is not enough to begin; [`Trap::Host`] if it computes with reals, and the machine was
    /// built without them.
    #[cfg_attr(not(feature = "large"), inline(never))]
    pub fn new(program: Verified, memory_bytes: u32, local: &mut WorkerLocal) -> Result<Machine<L>, Trap> {
        let module = program.module();
        if !cfg!(feature = "reals") && module.uses_reals() {
            return Err(Trap::Host);
        }
        let memory = Memory::at_most(memory_bytes.max(FLOOR), LEAST_BYTES).ok_or(Trap::Memory)?;
        if !memory.has(FLOOR, module.data.len() as u32) {
            return Err(Trap::Memory);
        }
        for (at, &byte) in module.data.iter().enumerate() {
            memory.store_b(FLOOR + at as u32, u32::from(byte)).ok_or(Trap::Memory)?;
        }
        let heap = Heap::new(FLOOR + module.data.len() as u32);
        let sites = sites_of(module, memory.bytes()).ok_or(Trap::Memory)?;
        let longest = module.functions.iter().map(|function| function.count).max().unwrap_or(0);
        let locks = Spin::new(LockQueues::default());
        // A program that forks without end is to stop at its limit, too: what a process takes lies outside of its
        // memory.
        let processes = ProcessTable::new((memory.bytes() / 32).clamp(1024, 1 << 28));
        let races = Races::new(if module.is_debug_build() { memory.bytes() } else { 0 });
        let mut machine = Machine {
            program,
            sites,
            memory,
            heap,
            processes,
            locks,
            enrolments: Spin::new(()),
            races,
            #[cfg(feature = "native")]
            native: None,
            data: FLOOR,
            apart: false,
            reserved: READY_AT_FIRST,
            longest,
            keyboard: 0,
            main: 0,
            finished: AtomicBool::new(false),
            levels: AtomicBool::new(false),
        };
        if let Err(trap) = machine.begin(local) {
            if !cfg!(feature = "large") {
                // A board stands still then: what would give all of it back need not be there.
                core::mem::forget(machine);
            }
            return Err(trap);
        }
        Ok(machine)
    }

    fn begin(&mut self, local: &mut WorkerLocal) -> Result<(), Trap> {
        let entry = &self.program.module().functions[self.program.module().entry as usize];
        let (first, slots) = (entry.first, entry.slots);
        // It has never been used, and is zero.
        let fp = self.heap.alloc::<true>(&self.memory, u64::from(slots) * 4).ok_or(Trap::Memory)?.at;
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
    #[cfg_attr(feature = "large", inline(always))]
    pub fn is_keyboard(&self, process: &Process<L>) -> bool {
        process.id() == self.keyboard
    }

    /// Whether the key that was offered last waits for somebody to take it.
    pub fn key_waits(&self) -> bool {
        self.keyboard().wait.load(Ordering::Relaxed) != 0
    }

    /// The process of that number.
    #[cfg_attr(feature = "large", inline(always))]
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

    /// Room for so many processes at once, which takes no block of the heap later on; more are made when they are
    /// needed. To be called before the program begins.
    ///
    /// # Errors
    /// [`Trap::Memory`] if there is not so much.
    pub fn reserve(&mut self, processes: u32) -> Result<(), Trap> {
        self.reserved = processes;
        // Beside them, the one that is the keyboard.
        self.processes.reserve(processes.saturating_add(1)).ok_or(Trap::Memory)
    }

    /// For how many processes the queue has room at first.
    pub(crate) fn reserved(&self) -> u32 {
        self.reserved
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

    /// How much memory its processes can have.
    pub fn memory_bytes(&self) -> u32 {
        self.memory.bytes()
    }

    /// How many instructions its longest function has: so many, at most, are run without a jump back, a call or a
    /// return.
    pub fn longest_function(&self) -> u32 {
        self.longest
    }

    /// The most bytes that the program's frames and heap ever took at once.
    pub fn memory_max(&self) -> u64 {
        self.heap.used_max()
    }

    /// The bytes of frames and heap that are in use now, but for the frame of the program itself, which stays. A
    /// program that has come to its end has given all back.
    pub fn memory_in_use(&self) -> u64 {
        let module = self.program.module();
        let own = crate::heap::block_bytes(u64::from(module.functions[module.entry as usize].slots) * 4);
        self.heap.used().saturating_sub(own)
    }

    pub(crate) fn free<const SHARED: bool>(&self, address: u32) -> Result<(), Trap> {
        self.heap.free::<SHARED>(&self.memory, address).ok_or(Trap::Address)
    }

    #[cfg_attr(feature = "large", inline(always))]
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
        let behind = (caller.first + caller.count).saturating_sub(site.at + 1);
        Some(CallSite {
            entry: callee.first,
            base_bytes: 4 * site.base.min(SLOTS_MAX),
            callee_fp_max: limit(callee.slots)?,
            caller_fp_max: limit(caller.slots)?,
            back: site.at + 1,
            dynamic: module.code[site.at as usize].op.course() == Course::CallAt,
            call_cost: 1 + (callee.count / SKIPPED) as i32,
            return_cost: 1 + (behind / SKIPPED) as i32,
        })
    };
    module.sites.iter().map(site).collect()
}

//! Owns: the loop around compiled code, and its helpers.
//! May use: `machine`, `native`, `process`, `scheduler`, `stop`, `table`, `loom`.
//! Never: makes code; whoever gives it to the machine vouches for it.
//!
//! Compiled code works on the same frames as the loop, and keeps nothing else while anybody else may run: at each
//! *resume point* all of a process lies in its record and its frame. So any instruction may be run by either. The
//! compiled code of a function is entered at one of its resume points by a jump, never by a call: it has no stack of
//! its own, and leaves by a jump to the code where somebody goes on.
//!
//! What it does not do itself it has a *helper* do, which is an instruction of the loop's by itself. A helper gives 0
//! if the code goes on behind the instruction, or else where to jump: to a resume point of whoever runs next, or, where
//! none was compiled, to the way out of compiled code. Then the loop runs until it comes to a resume point again.
//!
//! Code may be made while the program runs. Where the loop is when the fuel is used up is a *sample* of where time
//! goes; what is compiled then is entered where the loop next meets it.

use super::cpu::Cpu;
use crate::machine::{Fault, Machine};
use crate::native::{
    CodeChecks, HELPERS, HelperFunction, NativeCode, NativeContext, NativeSite, ProcessLayout,
};
use crate::prim::AtomicU32;
use crate::process::{INPUT, OUTPUT, Process};
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use crate::table::WorkerLocal;
use alloc::vec::Vec;

impl<L: Default> Machine<L> {
    /// Where address 0 of its memory lies, as long as it lives.
    pub fn memory_base(&self) -> usize {
        self.memory.base() as usize
    }

    /// How its processes' records are laid out.
    pub fn process_layout(&self) -> ProcessLayout {
        Process::<L>::LAYOUT
    }

    /// The address of the constant data.
    pub fn data_address(&self) -> u32 {
        self.data
    }

    /// Its call sites, by number.
    pub fn native_sites(&self) -> Vec<NativeSite> {
        let site = |site: &crate::machine::CallSite| NativeSite {
            entry: site.entry,
            base_bytes: site.base_bytes,
            caller_fp_max: site.caller_fp_max,
            back: site.back,
            dynamic: site.dynamic,
            call_cost: site.call_cost,
            return_cost: site.return_cost,
        };
        self.sites.iter().map(site).collect()
    }

    /// The checks in its compiled code, if there is a compiler.
    pub fn native_checks(&self) -> Option<CodeChecks> {
        self.native.as_ref().map(|code| code.keeper.checks())
    }

    /// From now on its processes run this code where there is some.
    ///
    /// # Safety
    /// It was compiled from this machine's program, for its memory, and does what the instructions do: it touches its
    /// frame and what lies within memory, and no more.
    pub unsafe fn set_native(&mut self, code: NativeCode) {
        self.native = Some(code);
    }
}

/// Where compiled code comes to where there is none is a sample, too, each time after so many. Fuel alone may be used
/// up by the same process for ever, where a network's round costs a part of it; this is prime.
const EXITS_A_SAMPLE: u32 = 251;

/// The loop's state beside the context, through which compiled code comes here again.
#[repr(C)]
struct NativeCpu<'m, L, S, const SHARED: bool> {
    context: NativeContext,
    cpu: Cpu<'m, L, S, SHARED>,
    code: &'m NativeCode,
    /// How often compiled code has come to where there is none.
    exits: u32,
    /// How all of it has ended.
    end: Option<Result<(), Fault>>,
}

pub(super) fn run<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    machine: &Machine<L>,
    code: &NativeCode,
    scheduler: &S,
    local: &mut WorkerLocal,
    first: &Process<L>,
) -> Result<(), Fault> {
    // Compiled code has a pointer to it, which is valid while nothing else but what was made from it is used.
    let place = core::ptr::from_mut(local);
    // SAFETY: it is the caller's, and is used through these two alone from here on; never by both at once.
    let cpu = Cpu::<L, S, SHARED>::new(machine, scheduler, unsafe { &mut *place }, first);
    let context = NativeContext {
        base: machine.memory_base(),
        frame: 0,
        fuel: 0,
        at: 0,
        process: 0,
        ring: scheduler.quick(),
        chunks: machine.processes.chunks(),
        keyboard: core::ptr::from_ref(machine.keyboard()) as usize,
        local: place as usize,
        messages: 0,
        dispatches: 0,
        fuel_before: 0,
        goes_on: 0,
        helpers: helpers::<L, S, SHARED>(),
    };
    let mut native = NativeCpu { context, cpu, code, exits: 0, end: None };
    loop {
        let at = native.cpu.at;
        let place = native.look_up();
        if place == code.leave {
            native.interpret();
        } else {
            let (frame, fuel) = (native.context.frame, native.context.fuel);
            let context = (&raw mut native).cast();
            // SAFETY: the code was made for this machine, and the process stands at that instruction.
            unsafe { (code.enter)(context, place, frame, fuel, at as u32) };
            native.come_back();
        }
        if let Some(end) = native.end {
            native.cpu.local.stats.messages += native.context.messages;
            native.cpu.local.stats.dispatches += native.context.dispatches;
            return end;
        }
    }
}

impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> NativeCpu<'_, L, S, SHARED> {
    /// Where the process that runs goes on, with what is to be known there in the context.
    #[cfg_attr(feature = "large", inline(always))]
    fn look_up(&mut self) -> usize {
        self.context.frame = self.cpu.frame() as usize;
        self.context.at = self.cpu.at as u32;
        self.hand_over();
        self.code_at(self.cpu.at).unwrap_or(self.code.leave)
    }

    /// The code that begins at that instruction.
    #[cfg_attr(feature = "large", inline(always))]
    fn code_at(&self, at: usize) -> Option<usize> {
        self.code.codes.get(at).filter(|&code| code != self.code.leave_there)
    }

    /// What compiled code may change is in the context.
    #[cfg_attr(feature = "large", inline(always))]
    fn hand_over(&mut self) {
        self.context.fuel = self.cpu.fuel;
        self.context.process = core::ptr::from_ref(self.cpu.me) as usize;
        self.context.fuel_before = self.cpu.local.fuel_before;
    }

    /// Takes over who runs, and what is left of the fuel.
    #[cfg_attr(feature = "large", inline(always))]
    fn take_over(&mut self) {
        self.cpu.fuel = self.context.fuel;
        self.cpu.local.fuel_before = self.context.fuel_before;
        // SAFETY: it was put there here, or by compiled code that took it out of the ring; it lives with the machine.
        self.cpu.me = unsafe { &*(self.context.process as *const Process<L>) };
    }

    /// Compiled code has taken the way out.
    fn come_back(&mut self) {
        if self.end.is_none() && core::mem::take(&mut self.context.goes_on) != 0 {
            self.take_over();
            let fp = self.context.frame.wrapping_sub(self.context.base) as u32;
            // SAFETY: the code would have gone on so.
            unsafe { self.cpu.enter(self.context.at, fp) };
            self.exits = self.exits.wrapping_add(1);
            if self.exits.is_multiple_of(EXITS_A_SAMPLE) {
                self.sample();
            }
        }
    }

    /// Where the process is when its fuel is used up.
    #[cold]
    fn sample(&self) {
        if self.code_at(self.cpu.at).is_none() {
            self.code.keeper.sample(self.cpu.at as u32);
        }
    }

    #[cold]
    fn stopped(&mut self, stop: Stop) {
        let cost = match stop {
            Stop::Dry => 0,
            Stop::Spent => self.cpu.me.length.get(),
            Stop::Over => {
                self.end = Some(Ok(()));
                return;
            }
            Stop::Trap(trap) => {
                self.end = Some(Err(self.cpu.fault(trap)));
                return;
            }
        };
        if self.cpu.refuel(cost).is_err() {
            self.end = Some(Ok(()));
        }
    }

    /// Runs one instruction, and more of them until there is code. As long as there is none anywhere nobody looks for
    /// it: then the loop is the one of a machine without code. (PERF: to look takes a third of the loop's time.)
    fn interpret(&mut self) {
        let done =
            if self.code.codes.is_empty() { self.dispatch::<false>() } else { self.dispatch::<true>() };
        if let Err(stop) = done {
            if matches!(stop, Stop::Dry) {
                self.sample();
            }
            self.stopped(stop);
        }
        if self.cpu.machine.uses_levels() {
            self.context.ring = self.cpu.scheduler.quick();
        }
    }

    #[inline(never)]
    fn dispatch<const MIXED: bool>(&mut self) -> Result<(), Stop> {
        // In a place of its own, where registers may have it.
        // SAFETY: there is nothing to drop in it, and the original is not used before it is written again.
        let mut cpu = unsafe { core::ptr::read(&raw const self.cpu) };
        let done = cpu.dispatch::<MIXED>();
        self.cpu = cpu;
        done
    }

    /// Where to go on after an instruction of the loop.
    #[cfg_attr(feature = "large", inline(always))]
    fn go_on(&mut self, done: Result<(), Stop>, behind: usize, frame: *const AtomicU32) -> usize {
        if let Err(stop) = done {
            self.stopped(stop);
            if self.end.is_some() {
                return self.code.leave;
            }
        }
        if self.cpu.at == behind && self.cpu.frame() == frame {
            self.hand_over();
            return 0;
        }
        self.look_up()
    }

    /// # Safety
    /// `context` is the beginning of one of these, `at` an instruction, and `frame` a frame of its function.
    #[cfg_attr(feature = "large", inline(always))]
    unsafe fn at<'a>(context: *mut NativeContext, frame: usize, at: u32) -> &'a mut Self {
        // SAFETY: the caller vouches for it; the code that calls touches the context meanwhile no more.
        let this = unsafe { &mut *context.cast::<Self>() };
        this.take_over();
        // SAFETY: the caller vouches for it.
        unsafe { this.cpu.stand_at(at, frame as *const AtomicU32) };
        this
    }
}

/// Helpers that are one instruction of the loop.
macro_rules! instructions {
    ($($name:ident: |$cpu:ident| $step:expr;)*) => {$(
        unsafe extern "C" fn $name<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
            context: *mut NativeContext,
            frame: usize,
            at: u32,
        ) -> usize {
            // SAFETY: compiled code calls it so.
            let this = unsafe { NativeCpu::<L, S, SHARED>::at(context, frame, at) };
            let $cpu = &mut this.cpu;
            let done = $step;
            this.go_on(done, at as usize + 1, frame as *const AtomicU32)
        }
    )*};
}

instructions! {
    output: |cpu| cpu.talk(OUTPUT, cpu.slot_message());
    input: |cpu| cpu.talk(INPUT, cpu.slot_message());
    output_memory: |cpu| cpu.message().map_err(Stop::from).and_then(|message| cpu.talk(OUTPUT, message));
    input_memory: |cpu| cpu.message().map_err(Stop::from).and_then(|message| cpu.talk(INPUT, message));
    fork: |cpu| cpu.fork().map_err(Stop::from);
    join: |cpu| cpu.join();
}

unsafe extern "C" fn step<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    context: *mut NativeContext,
    frame: usize,
    at: u32,
) -> usize {
    // SAFETY: compiled code calls it so.
    let this = unsafe { NativeCpu::<L, S, SHARED>::at(context, frame, at) };
    this.cpu.at = at as usize;
    this.interpret();
    if this.end.is_some() {
        return this.code.leave;
    }
    this.go_on(Ok(()), at as usize + 1, frame as *const AtomicU32)
}

/// The process is gone: whoever goes on, perhaps behind the instruction and in this frame, has to be looked up.
unsafe extern "C" fn end<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    context: *mut NativeContext,
    frame: usize,
    at: u32,
) -> usize {
    // SAFETY: compiled code calls it so.
    let this = unsafe { NativeCpu::<L, S, SHARED>::at(context, frame, at) };
    if let Err(stop) = this.cpu.end() {
        this.stopped(stop);
    }
    if this.end.is_some() { this.code.leave } else { this.look_up() }
}

unsafe extern "C" fn slow<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    context: *mut NativeContext,
    frame: usize,
    at: u32,
) -> usize {
    // SAFETY: compiled code calls it so.
    let this = unsafe { NativeCpu::<L, S, SHARED>::at(context, frame, at) };
    this.cpu.at = at as usize;
    this.interpret();
    if this.end.is_some() { this.code.leave } else { this.look_up() }
}

unsafe extern "C" fn dry<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    context: *mut NativeContext,
    frame: usize,
    at: u32,
) -> usize {
    // SAFETY: compiled code calls it so.
    let this = unsafe { NativeCpu::<L, S, SHARED>::at(context, frame, at) };
    this.cpu.at = at as usize;
    this.sample();
    this.stopped(Stop::Dry);
    if this.end.is_some() { this.code.leave } else { this.look_up() }
}

/// The process has saved itself, and waits.
unsafe extern "C" fn next<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    context: *mut NativeContext,
    frame: usize,
    at: u32,
) -> usize {
    // SAFETY: compiled code calls it so.
    let this = unsafe { NativeCpu::<L, S, SHARED>::at(context, frame, at) };
    if this.cpu.next().is_err() {
        this.end = Some(Ok(()));
        return this.code.leave;
    }
    this.look_up()
}

fn helpers<L: Default, S: Scheduler<Link = L>, const SHARED: bool>() -> [HelperFunction; HELPERS] {
    [
        step::<L, S, SHARED>,
        slow::<L, S, SHARED>,
        dry::<L, S, SHARED>,
        output::<L, S, SHARED>,
        input::<L, S, SHARED>,
        output_memory::<L, S, SHARED>,
        input_memory::<L, S, SHARED>,
        fork::<L, S, SHARED>,
        join::<L, S, SHARED>,
        end::<L, S, SHARED>,
        next::<L, S, SHARED>,
    ]
}

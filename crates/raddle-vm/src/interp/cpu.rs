//! Owns: `Cpu`, the state of the process that runs, and the operands of its instruction.
//! May use: `machine`, `process`, `published`, `scheduler`, `table`, `loom`, `raddle-bytecode`.
//! Never: a slot that is no operand of the instruction, or no head of its frame.
//!
//! The state is the next instruction `at`, the frame `fp` (and where that lies, `frame`), and the fuel left. What a
//! method calls is compiled into the loop, so that none of it is ever in memory.
//!
//! *Proof.* The verifier has seen that every way through a function stays in its code, and that every operand of an
//! instruction is a slot of the function's frame. So an operand may be read and written unseen, provided that `insn`
//! is the instruction before `at`, and `frame` is a frame of its function, which has at least two slots before which
//! calls leave their words. Who changes the one changes the others: `enter` and `resume`.

use super::flow::FUEL;
use crate::machine::{Fault, Machine};
use crate::prim::{AtomicU32, Ordering};
use crate::process::Process;
use crate::scheduler::Scheduler;
use crate::table::WorkerLocal;
use raddle_bytecode::{Insn, Op, Trap};

/// A frame: slots that the verifier has proved to be there.
#[derive(Clone, Copy)]
struct FrameSlots(*const AtomicU32);

impl FrameSlots {
    /// # Safety
    /// The slot lies in the frame.
    #[cfg_attr(feature = "large", inline(always))]
    unsafe fn slot<'m>(self, slot: u16) -> &'m AtomicU32 {
        // SAFETY: the caller vouches for it.
        let word = unsafe { self.0.add(usize::from(slot)) };
        // SAFETY: it lies in the machine's memory, which outlives the loop.
        unsafe { &*word }
    }
}

/// What runs. See the module.
pub(super) struct Cpu<'m, L, S, const SHARED: bool> {
    pub(super) machine: &'m Machine<L>,
    pub(super) scheduler: &'m S,
    pub(super) local: &'m mut WorkerLocal,
    pub(super) me: &'m Process<L>,
    pub(super) at: usize,
    pub(super) fp: u32,
    /// How much may be run before the scheduler is told; what is left when a process waits is the next one's.
    pub(super) fuel: i32,
    /// Who was made ready last, since this process was dispatched, and cannot run before it stops; 0 if nobody.
    pub(super) kept: u32,
    pub(super) insn: Insn,
    frame: FrameSlots,
    code: *const Insn,
    /// By instruction: where compiled code begins; and what stands there if none does.
    #[cfg(feature = "native")]
    codes: (*const crate::native::CodeWord, usize),
}

impl<'m, L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'m, L, S, SHARED> {
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn new(
        machine: &'m Machine<L>,
        scheduler: &'m S,
        local: &'m mut WorkerLocal,
        first: &'m Process<L>,
    ) -> Self {
        local.stats.dispatches += 1;
        local.fuel_before = FUEL;
        let (at, fp) = (first.ip.get() as usize, first.fp.get());
        // SAFETY: where a process begins, its frame is within the memory, at a multiple of four; so are all after it.
        let frame = FrameSlots(unsafe { machine.memory.raw_frame(fp) });
        let (code, insn) = (machine.code().as_ptr(), Insn::new(Op::Nop, 0, 0, 0));
        Cpu {
            machine,
            scheduler,
            local,
            me: first,
            at,
            fp,
            fuel: FUEL,
            kept: 0,
            insn,
            frame,
            code,
            #[cfg(feature = "native")]
            codes: machine.native.as_ref().map_or((core::ptr::null(), 0), |native| {
                (native.codes.place() as *const _, native.leave_there)
            }),
        }
    }

    /// Goes on with `next` where it was saved.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn resume(&mut self, next: &'m Process<L>) {
        self.me = next;
        self.at = next.ip.get() as usize;
        self.fp = next.fp.get();
        // SAFETY: it was saved as it is in here.
        self.frame = FrameSlots(unsafe { self.machine.memory.raw_frame(self.fp) });
        self.local.fuel_before = self.fuel;
        self.kept = 0;
        self.local.stats.dispatches += 1;
    }

    /// Goes on in another function, or another call of it.
    ///
    /// # Safety
    /// A frame of the function in which `at` lies begins at `fp`: within memory, at a multiple of four.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) unsafe fn enter(&mut self, at: u32, fp: u32) {
        self.at = at as usize;
        self.fp = fp;
        // SAFETY: the caller vouches for it.
        self.frame = FrameSlots(unsafe { self.machine.memory.raw_frame(fp) });
    }

    /// As if the instruction had just been fetched, with the frame that lies there.
    ///
    /// # Safety
    /// There is such an instruction, and a frame of its function.
    #[cfg(feature = "native")]
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) unsafe fn stand_at(&mut self, at: u32, frame: *const AtomicU32) {
        let offset = (frame as usize).wrapping_sub(self.machine.memory.base() as usize);
        (self.fp, self.frame) = (offset as u32, FrameSlots(frame));
        self.at = at as usize + 1;
        // SAFETY: the caller vouches for it.
        let place = unsafe { self.code.add(at as usize) };
        // SAFETY: as above, and the code lives as long as the machine.
        self.insn = unsafe { *place };
    }

    /// Whether compiled code begins at the next instruction, in a machine that has some.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn has_code(&self) -> bool {
        #[cfg(feature = "native")]
        {
            // SAFETY: there is a place for each instruction; see `fetch`.
            let place = unsafe { self.codes.0.add(self.at) };
            // SAFETY: as above. Who goes there looks again, and so nothing is ordered by this.
            unsafe { &*place }.glance() != self.codes.1
        }
        #[cfg(not(feature = "native"))]
        false
    }

    /// Where the frame lies.
    #[cfg(feature = "native")]
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn frame(&self) -> *const AtomicU32 {
        self.frame.0
    }

    /// The next instruction becomes the one that runs.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn fetch(&mut self) -> Op {
        // SAFETY: the verifier has seen that every way through a function stays in its code.
        let place = unsafe { self.code.add(self.at) };
        // SAFETY: as above, and the code lives as long as the machine.
        self.insn = unsafe { *place };
        self.at += 1;
        if S::COUNTED {
            self.scheduler.worked(1);
        }
        self.insn.op
    }

    /// What went wrong, and where; the process is saved for a report.
    pub(super) fn fault(&self, trap: Trap) -> Fault {
        self.me.save(self.at - 1, self.fp);
        Fault { trap, process: self.me.id(), at: self.at as u32 - 1 }
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn get(&self, slot: u16) -> u32 {
        // SAFETY: the callers, all here, name an operand or the head of the frame.
        unsafe { self.frame.slot(slot) }.load(Ordering::Relaxed)
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn set(&self, slot: u16, value: u32) {
        // SAFETY: as in `get`.
        unsafe { self.frame.slot(slot) }.store(value, Ordering::Relaxed);
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn get_long(&self, slot: u16) -> u64 {
        u64::from(self.get(slot)) | u64::from(self.get(slot + 1)) << 32
    }

    /// Where a slot lies in memory.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn slot_at(&self, slot: u16) -> u32 {
        self.fp + 4 * u32::from(slot)
    }

    /// The call to return from, as its site's number and 1; 0 in what a process begins with.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn caller(&self) -> u32 {
        self.get(0)
    }

    /// The frame to return to, if this one does not lie in it.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn callers_frame(&self) -> u32 {
        self.get(1)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn set_caller(&self, token: u32) {
        self.set(0, token);
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn set_callers_frame(&self, fp: u32) {
        self.set(1, fp);
    }
}

/// Bits of a real. A machine without reals runs no program that has them, and its compiler sees here that what it would
/// do with them is not needed.
#[inline(always)]
fn with_reals<T>(bits: T) -> T {
    if !cfg!(feature = "reals") {
        unreachable!("a program with reals is refused before it runs");
    }
    bits
}

/// Methods that read an operand.
macro_rules! operands {
    ($($name:ident: $type:ty = |$cpu:ident| $value:expr;)*) => {
        impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'_, L, S, SHARED> {$(
            #[cfg_attr(feature = "large", inline(always))]
            pub(super) fn $name(&self) -> $type {
                let $cpu = self;
                $value
            }
        )*}
    };
}

operands! {
    a: u32 = |cpu| cpu.get(cpu.insn.a);
    b: u32 = |cpu| cpu.get(cpu.insn.b);
    c: u32 = |cpu| cpu.get(cpu.insn.c);
    a_next: u32 = |cpu| cpu.get(cpu.insn.a + 1);
    b_next: u32 = |cpu| cpu.get(cpu.insn.b + 1);
    ai: i32 = |cpu| cpu.a() as i32;
    bi: i32 = |cpu| cpu.b() as i32;
    ci: i32 = |cpu| cpu.c() as i32;
    al: u64 = |cpu| cpu.get_long(cpu.insn.a);
    bl: i64 = |cpu| cpu.get_long(cpu.insn.b) as i64;
    cl: i64 = |cpu| cpu.get_long(cpu.insn.c) as i64;
    bf: f32 = |cpu| f32::from_bits(with_reals(cpu.b()));
    cf: f32 = |cpu| f32::from_bits(with_reals(cpu.c()));
    bd: f64 = |cpu| f64::from_bits(with_reals(cpu.get_long(cpu.insn.b)));
    cd: f64 = |cpu| f64::from_bits(with_reals(cpu.get_long(cpu.insn.c)));
    imm: i32 = |cpu| cpu.insn.imm();
    half: i32 = |cpu| i32::from(cpu.insn.c as i16);
    half_b: i32 = |cpu| i32::from(cpu.insn.b as i16);
}

/// Methods that write a result.
macro_rules! results {
    ($($name:ident($value:ident: $type:ty) = $words:ident $bits:expr;)*) => {
        impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'_, L, S, SHARED> {$(
            #[cfg_attr(feature = "large", inline(always))]
            pub(super) fn $name(&self, $value: $type) {
                results!(self, $words, $bits);
            }
        )*}
    };
    ($cpu:ident, one, $bits:expr) => {
        $cpu.set($cpu.insn.a, $bits)
    };
    ($cpu:ident, two, $bits:expr) => {{
        let bits: u64 = $bits;
        $cpu.set($cpu.insn.a, bits as u32);
        $cpu.set($cpu.insn.a + 1, (bits >> 32) as u32);
    }};
    ($cpu:ident, count, $bits:expr) => {
        $cpu.set($cpu.insn.b, $bits)
    };
}

results! {
    word(value: u32) = one value;
    int(value: i32) = one value as u32;
    truth(value: bool) = one u32::from(value);
    real(value: f32) = one with_reals(value.to_bits());
    bits(value: u64) = two value;
    long(value: i64) = two value as u64;
    double(value: f64) = two with_reals(value.to_bits());
    count(value: u32) = count value;
}

//! Owns: the loop that runs instructions.
//! May use: everything of the machine.
//! Never: a slot without the verifier's proof; memory without a comparison.
//!
//! A process's state while it runs is three local variables: the next instruction `at`, its frame `fp` (and where
//! that lies, `frame`), and the fuel left. It is saved only when somebody else may run it, or something went wrong.
//! When it waits, or its fuel is used up, the loop asks the scheduler who is next and goes on with that one.

use crate::arith;
use crate::atom;
use crate::comm::{Message, after};
use crate::machine::{Fault, Machine, Scheduler};
use crate::par::Many;
use crate::prim::{AtomicU32, Ordering};
use crate::process::{IN_SLOT, INPUT, Lane, OUTPUT, Process};
use crate::races::Deed;
use raddle_bytecode::{Op, Trap};

/// Jumps backwards that a process may make before others get their turn.
const FUEL: u32 = 2000;

/// How something that may wait has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It is done.
    Done,
    /// The process waits; it belongs to whoever ends its wait.
    Waits,
}

/// A frame: slots that the verifier has proved to be there.
#[derive(Clone, Copy)]
struct Frame(*const AtomicU32);

impl Frame {
    /// # Safety
    /// The slot lies in the frame.
    #[inline(always)]
    unsafe fn get(self, slot: u16) -> u32 {
        // SAFETY: the caller vouches for it.
        let word = unsafe { self.0.add(usize::from(slot)) };
        // SAFETY: it lies in the machine's memory, which outlives the loop.
        unsafe { &*word }.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The slot lies in the frame.
    #[inline(always)]
    unsafe fn set(self, slot: u16, value: u32) {
        // SAFETY: the caller vouches for it.
        let word = unsafe { self.0.add(usize::from(slot)) };
        // SAFETY: it lies in the machine's memory, which outlives the loop.
        unsafe { &*word }.store(value, Ordering::Relaxed);
    }
}

impl<L: Default> Machine<L> {
    /// Runs `first`, and whomever the scheduler names after it, until it names nobody.
    ///
    /// # Errors
    /// A run-time error of the program. The machine must not be run again.
    pub fn run<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        lane: &mut Lane,
        first: &Process<L>,
    ) -> Result<(), Fault> {
        if S::SHARED {
            dispatch::<L, S, true>(self, scheduler, lane, first)
        } else {
            dispatch::<L, S, false>(self, scheduler, lane, first)
        }
    }
}

fn dispatch<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    machine: &Machine<L>,
    scheduler: &S,
    lane: &mut Lane,
    first: &Process<L>,
) -> Result<(), Fault> {
    let memory = &machine.memory;
    let code = machine.code().as_ptr();
    let mut me = first;
    let mut at = me.ip.get() as usize;
    let mut fp = me.fp.get();
    // SAFETY: where a process begins, its frame is within the memory, at a multiple of four; so are all after it.
    let mut frame = Frame(unsafe { memory.raw_frame(fp) });
    let mut fuel = FUEL;
    lane.stats.dispatches += 1;
    loop {
        // SAFETY: the verifier has seen that every way through a function stays in its code.
        let place = unsafe { code.add(at) };
        // SAFETY: as above, and the code lives as long as the machine.
        let insn = unsafe { *place };
        at += 1;
        macro_rules! get {
            ($slot:expr) => {
                // SAFETY: the verifier has seen that the slot is in the function's frame.
                unsafe { frame.get($slot) }
            };
        }
        macro_rules! set {
            ($slot:expr, $value:expr) => {{
                let value = $value;
                // SAFETY: as for `get`.
                unsafe { frame.set($slot, value) }
            }};
        }
        macro_rules! getl {
            ($slot:expr) => {
                u64::from(get!($slot)) | u64::from(get!($slot + 1)) << 32
            };
        }
        macro_rules! setl {
            ($slot:expr, $value:expr) => {{
                let value: u64 = $value;
                set!($slot, value as u32);
                set!($slot + 1, (value >> 32) as u32);
            }};
        }
        macro_rules! trap {
            ($trap:expr) => {{
                me.save(at - 1, fp);
                return Err(Fault { trap: $trap, process: me.id(), at: at as u32 - 1 });
            }};
        }
        macro_rules! some {
            ($option:expr, $trap:ident) => {
                match $option {
                    Some(value) => value,
                    None => trap!(Trap::$trap),
                }
            };
        }
        macro_rules! okay {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(trap) => trap!(trap),
                }
            };
        }
        macro_rules! b {
            () => {
                get!(insn.b) as i32
            };
        }
        macro_rules! c {
            () => {
                get!(insn.c) as i32
            };
        }
        macro_rules! imm {
            () => {
                i32::from(insn.c as i16)
            };
        }
        macro_rules! bl {
            () => {
                getl!(insn.b) as i64
            };
        }
        macro_rules! cl {
            () => {
                getl!(insn.c) as i64
            };
        }
        macro_rules! bf {
            () => {
                f32::from_bits(get!(insn.b))
            };
        }
        macro_rules! cf {
            () => {
                f32::from_bits(get!(insn.c))
            };
        }
        macro_rules! bd {
            () => {
                f64::from_bits(getl!(insn.b))
            };
        }
        macro_rules! cd {
            () => {
                f64::from_bits(getl!(insn.c))
            };
        }
        macro_rules! w {
            ($value:expr) => {
                set!(insn.a, $value as u32)
            };
        }
        macro_rules! l {
            ($value:expr) => {
                setl!(insn.a, $value as u64)
            };
        }
        macro_rules! f {
            ($value:expr) => {
                set!(insn.a, ($value).to_bits())
            };
        }
        macro_rules! d {
            ($value:expr) => {
                setl!(insn.a, ($value).to_bits())
            };
        }
        macro_rules! next {
            () => {{
                match scheduler.next() {
                    Some(next) => me = next,
                    None => return Ok(()),
                }
                at = me.ip.get() as usize;
                fp = me.fp.get();
                // SAFETY: it was saved as it is in here.
                frame = Frame(unsafe { memory.raw_frame(fp) });
                fuel = FUEL;
                lane.stats.dispatches += 1;
            }};
        }
        // Takes a step that may wait: the process goes on at `$again` when its wait is over.
        macro_rules! step {
            ($again:expr, $step:expr) => {{
                me.save($again, fp);
                if let Step::Waits = okay!($step) {
                    scheduler.stops(at as u32 - 1, false);
                    next!();
                }
            }};
            // In a debug build something is noted when it is done at once.
            ($again:expr, $step:expr, $note:expr) => {{
                me.save($again, fp);
                if let Step::Waits = okay!($step) {
                    scheduler.stops(at as u32 - 1, false);
                    next!();
                } else if S::CHECKED {
                    $note;
                }
            }};
        }
        macro_rules! jump {
            () => {{
                let distance = insn.distance();
                at = at.wrapping_add_signed(distance as isize);
                if distance < 0 {
                    spend!();
                }
            }};
        }
        macro_rules! spend {
            () => {{
                fuel -= 1;
                if fuel == 0 {
                    me.save(at, fp);
                    scheduler.tired();
                    scheduler.ready(me);
                    scheduler.stops(at as u32, true);
                    next!();
                }
            }};
        }
        macro_rules! element {
            ($size:expr) => {{
                let index = get!(insn.c);
                if index >= get!(insn.b + 1) {
                    trap!(Trap::Subscript);
                }
                some!(index.checked_mul($size).and_then(|offset| offset.checked_add(get!(insn.b))), Address)
            }};
        }
        macro_rules! field {
            () => {
                some!(get!(insn.b).checked_add(u32::from(insn.c)), Address)
            };
        }
        // In a debug build: somebody reads or changes memory that may be watched.
        macro_rules! touch {
            ($place:expr, $bytes:expr, $deed:ident) => {
                if S::CHECKED {
                    okay!(machine.touch(me, at as u32 - 1, ($place, $bytes), Deed::$deed));
                }
            };
        }
        macro_rules! load {
            ($how:ident, $place:expr, $bytes:expr) => {{
                let place = $place;
                touch!(place, $bytes, Read);
                some!(memory.$how(place), Address)
            }};
        }
        macro_rules! store {
            ($how:ident, $place:expr, $bytes:expr, $value:expr) => {{
                let place = $place;
                touch!(place, $bytes, Change);
                some!(memory.$how(place, $value), Address)
            }};
        }
        macro_rules! copy {
            ($bytes:expr) => {{
                touch!(get!(insn.b), $bytes, Read);
                touch!(get!(insn.a), $bytes, Change);
                some!(memory.copy(get!(insn.a), get!(insn.b), $bytes), Address)
            }};
        }
        let slot_at = |slot: u16| fp + 4 * u32::from(slot);
        match insn.op {
            Op::Nop => {}
            Op::Mov => w!(get!(insn.b)),
            Op::MovL => l!(getl!(insn.b)),
            Op::Ldi => w!(insn.imm()),
            Op::LdiL => l!(i64::from(insn.imm())),
            Op::Pool => l!(machine.program.module().pool[insn.imm() as usize]),
            Op::Addr => w!(fp.wrapping_add(insn.imm() as u32)),
            Op::Data => w!(machine.data.wrapping_add(insn.imm() as u32)),
            Op::Zero => some!(memory.fill(slot_at(insn.a), insn.imm() as u32, 0), Address),
            Op::Add => w!(some!(b!().checked_add(c!()), Overflow)),
            Op::Sub => w!(some!(b!().checked_sub(c!()), Overflow)),
            Op::Mul => w!(some!(b!().checked_mul(c!()), Overflow)),
            Op::Div | Op::Rem => {
                let (left, right) = (b!(), c!());
                if right == 0 {
                    trap!(Trap::Division);
                }
                let result =
                    if insn.op == Op::Div { left.checked_div(right) } else { Some(left.wrapping_rem(right)) };
                w!(some!(result, Overflow));
            }
            Op::Neg => w!(some!(b!().checked_neg(), Overflow)),
            Op::AddI => w!(some!(b!().checked_add(imm!()), Overflow)),
            Op::MulI => w!(some!(b!().checked_mul(imm!()), Overflow)),
            Op::Plus => w!(b!().wrapping_add(c!())),
            Op::Minus => w!(b!().wrapping_sub(c!())),
            Op::Times => w!(b!().wrapping_mul(c!())),
            Op::PlusI => w!(b!().wrapping_add(imm!())),
            Op::And => w!(b!() & c!()),
            Op::Or => w!(b!() | c!()),
            Op::Xor => w!(b!() ^ c!()),
            Op::AndI => w!(b!() & imm!()),
            Op::Not => w!(!b!()),
            Op::Shl => w!(some!(arith::shl(get!(insn.b), get!(insn.c)), Shift)),
            Op::Shr => w!(some!(arith::shr(get!(insn.b), get!(insn.c)), Shift)),
            Op::Eq => w!(b!() == c!()),
            Op::Ne => w!(b!() != c!()),
            Op::Lt => w!(b!() < c!()),
            Op::Le => w!(b!() <= c!()),
            Op::EqI => w!(b!() == imm!()),
            Op::LtI => w!(b!() < imm!()),
            Op::After => w!(after(get!(insn.b), get!(insn.c))),
            Op::NotBool => w!(get!(insn.b) ^ 1),
            Op::WrapH => w!(i32::from(b!() as i16)),
            Op::WrapB => w!(b!() as u8),
            Op::ChkH => w!(i32::from(some!(i16::try_from(b!()).ok(), Range))),
            Op::ChkB => w!(some!(u8::try_from(b!()).ok(), Range)),
            Op::ChkBool => w!(some!(Some(get!(insn.b)).filter(|&value| value < 2), Range)),
            Op::ChkShift => {
                if get!(insn.a) > insn.imm() as u32 {
                    trap!(Trap::Shift);
                }
            }
            Op::AddL => l!(some!(bl!().checked_add(cl!()), Overflow)),
            Op::SubL => l!(some!(bl!().checked_sub(cl!()), Overflow)),
            Op::MulL => l!(some!(bl!().checked_mul(cl!()), Overflow)),
            Op::DivL | Op::RemL => {
                let (left, right) = (bl!(), cl!());
                if right == 0 {
                    trap!(Trap::Division);
                }
                let result = if insn.op == Op::DivL {
                    left.checked_div(right)
                } else {
                    Some(left.wrapping_rem(right))
                };
                l!(some!(result, Overflow));
            }
            Op::NegL => l!(some!(bl!().checked_neg(), Overflow)),
            Op::PlusL => l!(bl!().wrapping_add(cl!())),
            Op::MinusL => l!(bl!().wrapping_sub(cl!())),
            Op::TimesL => l!(bl!().wrapping_mul(cl!())),
            Op::AndL => l!(bl!() & cl!()),
            Op::OrL => l!(bl!() | cl!()),
            Op::XorL => l!(bl!() ^ cl!()),
            Op::NotL => l!(!bl!()),
            Op::ShlL => l!(some!(arith::shl_l(getl!(insn.b), get!(insn.c)), Shift)),
            Op::ShrL => l!(some!(arith::shr_l(getl!(insn.b), get!(insn.c)), Shift)),
            Op::EqL => w!(bl!() == cl!()),
            Op::NeL => w!(bl!() != cl!()),
            Op::LtL => w!(bl!() < cl!()),
            Op::LeL => w!(bl!() <= cl!()),
            Op::AfterL => w!(bl!().wrapping_sub(cl!()) > 0),
            Op::AddF => f!(bf!() + cf!()),
            Op::SubF => f!(bf!() - cf!()),
            Op::MulF => f!(bf!() * cf!()),
            Op::DivF => f!(bf!() / cf!()),
            Op::RemF => f!(arith::rem_f(bf!(), cf!())),
            Op::NegF => f!(-bf!()),
            Op::EqF => w!(bf!() == cf!()),
            Op::NeF => w!(bf!() != cf!()),
            Op::LtF => w!(bf!() < cf!()),
            Op::LeF => w!(bf!() <= cf!()),
            Op::AddD => d!(bd!() + cd!()),
            Op::SubD => d!(bd!() - cd!()),
            Op::MulD => d!(bd!() * cd!()),
            Op::DivD => d!(bd!() / cd!()),
            Op::RemD => d!(arith::rem(bd!(), cd!())),
            Op::NegD => d!(-bd!()),
            Op::EqD => w!(bd!() == cd!()),
            Op::NeD => w!(bd!() != cd!()),
            Op::LtD => w!(bd!() < cd!()),
            Op::LeD => w!(bd!() <= cd!()),
            Op::FnF => f!(arith::real_f(insn.c, bf!())),
            Op::FnD => d!(arith::real_d(insn.c, bd!())),
            Op::WtoL => l!(i64::from(b!())),
            Op::LtoW => w!(some!(i32::try_from(bl!()).ok(), Range)),
            Op::WtoF => f!(arith::l_to_f(i64::from(b!()), insn.c)),
            Op::WtoD => d!(f64::from(b!())),
            Op::LtoF => f!(arith::l_to_f(bl!(), insn.c)),
            Op::LtoD => d!(arith::l_to_d(bl!(), insn.c)),
            Op::FtoW => w!(some!(arith::to_w(f64::from(bf!()), insn.c), Range)),
            Op::FtoL => l!(some!(arith::to_l(f64::from(bf!()), insn.c), Range)),
            Op::DtoW => w!(some!(arith::to_w(bd!(), insn.c), Range)),
            Op::DtoL => l!(some!(arith::to_l(bd!(), insn.c), Range)),
            Op::FtoD => d!(f64::from(bf!())),
            Op::DtoF => {
                let (wide, near) = (bd!(), arith::narrow(bd!(), insn.c));
                if wide.is_finite() && !near.is_finite() {
                    trap!(Trap::Range);
                }
                f!(near);
            }
            Op::Long => okay!(machine.long_step(slot_at(insn.a), insn.imm())),
            Op::LdrB => w!(load!(load_b, field!(), 1)),
            Op::LdrH => w!(load!(load_h, field!(), 2)),
            Op::LdrW => w!(load!(load_w, field!(), 4)),
            Op::LdrL => l!(load!(load_l, field!(), 8)),
            Op::StrB => store!(store_b, field!(), 1, get!(insn.a)),
            Op::StrH => store!(store_h, field!(), 2, get!(insn.a)),
            Op::StrW => store!(store_w, field!(), 4, get!(insn.a)),
            Op::StrL => store!(store_l, field!(), 8, getl!(insn.a)),
            Op::AldB => w!(load!(load_b, element!(1), 1)),
            Op::AldH => w!(load!(load_h, element!(2), 2)),
            Op::AldW => w!(load!(load_w, element!(4), 4)),
            Op::AldL => l!(load!(load_l, element!(8), 8)),
            Op::AstB => store!(store_b, element!(1), 1, get!(insn.a)),
            Op::AstH => store!(store_h, element!(2), 2, get!(insn.a)),
            Op::AstW => store!(store_w, element!(4), 4, get!(insn.a)),
            Op::AstL => store!(store_l, element!(8), 8, getl!(insn.a)),
            Op::Elem => {
                let size = get!(insn.a);
                w!(element!(size));
            }
            Op::Flat => {
                let (inner, size) = (get!(insn.b), get!(insn.c));
                if inner >= size {
                    trap!(Trap::Subscript);
                }
                let flat = get!(insn.a).checked_mul(size).and_then(|outer| outer.checked_add(inner));
                w!(some!(flat.filter(|&flat| flat <= i32::MAX as u32), Subscript));
            }
            Op::Chk => {
                if get!(insn.a) >= get!(insn.b) {
                    trap!(Trap::Subscript);
                }
            }
            Op::ChkI => {
                if get!(insn.a) >= insn.imm() as u32 {
                    trap!(Trap::Subscript);
                }
            }
            Op::ChkSlice => {
                let (from, count, all) = (get!(insn.a), get!(insn.b), get!(insn.c));
                if count > all || from > all - count {
                    trap!(Trap::Slice);
                }
            }
            Op::ChkSize => {
                if get!(insn.a) != get!(insn.b) {
                    trap!(Trap::Size);
                }
            }
            Op::ChkCount => {
                if (get!(insn.a) as i32) < 0 {
                    trap!(Trap::Count);
                }
            }
            Op::Copy => copy!(get!(insn.c)),
            Op::CopyI => copy!(u32::from(insn.c)),
            Op::Fill => {
                touch!(get!(insn.a), get!(insn.b), Change);
                some!(memory.fill(get!(insn.a), get!(insn.b), get!(insn.c)), Address)
            }
            Op::Cmp => {
                touch!(get!(insn.b), get!(insn.a), Read);
                touch!(get!(insn.c), get!(insn.a), Read);
                w!(some!(memory.equal(get!(insn.b), get!(insn.c), get!(insn.a)), Address));
            }
            Op::Alloc => w!(okay!(machine.alloc(u64::from(get!(insn.b))))),
            Op::AllocI => w!(okay!(machine.alloc(u64::from(insn.imm() as u32)))),
            Op::Free => {
                let block = get!(insn.a);
                w!(0);
                if block != 0 {
                    okay!(machine.free(block));
                }
            }
            Op::Inc => w!(atom::add::<SHARED>(some!(memory.word(get!(insn.b)), Address), 1)),
            Op::Dec => w!(atom::add::<SHARED>(some!(memory.word(get!(insn.b)), Address), u32::MAX)),
            Op::Jump => jump!(),
            Op::Jz => {
                if get!(insn.a) == 0 {
                    jump!();
                }
            }
            Op::Jnz => {
                if get!(insn.a) != 0 {
                    jump!();
                }
            }
            Op::Jeq => {
                if get!(insn.a) == get!(insn.b) {
                    jump!();
                }
            }
            Op::Jne => {
                if get!(insn.a) != get!(insn.b) {
                    jump!();
                }
            }
            Op::Jlt => {
                if (get!(insn.a) as i32) < b!() {
                    jump!();
                }
            }
            Op::Jle => {
                if get!(insn.a) as i32 <= b!() {
                    jump!();
                }
            }
            Op::JeqI => {
                if get!(insn.a) as i32 == i32::from(insn.b as i16) {
                    jump!();
                }
            }
            Op::JneI => {
                if get!(insn.a) as i32 != i32::from(insn.b as i16) {
                    jump!();
                }
            }
            Op::JltI => {
                if (get!(insn.a) as i32) < i32::from(insn.b as i16) {
                    jump!();
                }
            }
            Op::JgeI => {
                if get!(insn.a) as i32 >= i32::from(insn.b as i16) {
                    jump!();
                }
            }
            Op::Repeat | Op::RepeatStep => {
                let step = if insn.op == Op::Repeat { 1 } else { get!(insn.b + 1) };
                set!(insn.a, get!(insn.a).wrapping_add(step));
                let left = get!(insn.b).wrapping_sub(1);
                set!(insn.b, left);
                if left as i32 > 0 {
                    jump!();
                }
            }
            Op::Switch => at += get!(insn.a).min(insn.imm() as u32) as usize,
            Op::Call => {
                let site = &machine.sites[insn.imm() as usize];
                fp += site.base_bytes;
                at = site.entry as usize;
                // SAFETY: the callee's frame lies within this one.
                frame = Frame(unsafe { memory.raw_frame(fp) });
                set!(0, insn.imm() as u32 + 1);
                spend!();
            }
            Op::Frame => {
                let slots = machine.program.module().functions[insn.imm() as usize].slots;
                w!(okay!(machine.alloc(u64::from(slots) * 4)));
            }
            Op::CallD => {
                let site = &machine.sites[insn.imm() as usize];
                let to = get!(insn.a);
                if to & 3 != 0 || to > site.callee_fp_max {
                    trap!(Trap::Address);
                }
                let from = core::mem::replace(&mut fp, to);
                at = site.entry as usize;
                // SAFETY: just compared.
                frame = Frame(unsafe { memory.raw_frame(fp) });
                set!(0, insn.imm() as u32 + 1);
                set!(1, from);
                spend!();
            }
            Op::Ret => {
                let token = get!(0);
                if token == 0 {
                    okay!(machine.end::<S, SHARED>(scheduler, lane, me));
                    scheduler.stops(at as u32 - 1, false);
                    next!();
                    continue;
                }
                let site = some!(machine.sites.get(token as usize - 1), Address);
                let to = if site.dynamic { get!(1) } else { fp.wrapping_sub(site.base_bytes) };
                if to & 3 != 0 || to > site.caller_fp_max {
                    trap!(Trap::Address);
                }
                let from = core::mem::replace(&mut fp, to);
                at = site.back as usize;
                // SAFETY: just compared: the caller's frame, of which the verifier knows the size, lies within
                // memory.
                frame = Frame(unsafe { memory.raw_frame(fp) });
                if site.dynamic {
                    okay!(machine.free(from));
                }
                // A token that somebody forged may lead back.
                spend!();
            }
            Op::Par => w!(insn.imm() + 1),
            Op::Fork => {
                let entry = at.wrapping_add_signed(insn.distance() as isize) as u32;
                okay!(machine.fork(scheduler, lane, me, (entry, fp, slot_at(insn.a)), false));
            }
            Op::Join => {
                let join = slot_at(insn.a);
                step!(at, machine.join::<SHARED>(me, join), machine.joined(me.id(), join));
            }
            Op::ForkN => {
                let function = &machine.program.module().functions[insn.imm() as usize];
                let (entry, slots, state) = (function.first, function.slots, slot_at(insn.a));
                okay!(machine.fork_many(scheduler, lane, me, Many { entry, slots, state, link: fp }));
            }
            Op::JoinN => {
                let state = slot_at(insn.a);
                step!(at - 1, machine.join_many::<SHARED>(me, state), machine.joined(me.id(), state));
            }
            Op::End => {
                okay!(machine.end::<S, SHARED>(scheduler, lane, me));
                scheduler.stops(at as u32 - 1, false);
                next!();
            }
            Op::Out => {
                let message = Message { at: slot_at(insn.b), length: u32::from(insn.c) | IN_SLOT };
                let channel = get!(insn.a);
                lane.stats.messages += 1;
                step!(at, machine.communicate::<S, SHARED>(scheduler, me, channel, OUTPUT, message));
            }
            Op::In => {
                let message = Message { at: slot_at(insn.b), length: u32::from(insn.c) | IN_SLOT };
                let channel = get!(insn.a);
                step!(at, machine.communicate::<S, SHARED>(scheduler, me, channel, INPUT, message));
            }
            Op::OutM | Op::InM => {
                let message = Message { at: get!(insn.b), length: get!(insn.c) };
                if !memory.has(message.at, message.length) || message.length & IN_SLOT != 0 {
                    trap!(Trap::Address);
                }
                let direction = if insn.op == Op::OutM { OUTPUT } else { INPUT };
                let channel = get!(insn.a);
                lane.stats.messages += u64::from(insn.op == Op::OutM);
                step!(at, machine.communicate::<S, SHARED>(scheduler, me, channel, direction, message));
            }
            Op::Alt | Op::EnS => {
                okay!(machine.alt_step::<S, SHARED>(scheduler, me, insn, (0, slot_at(insn.a), 0)));
            }
            Op::EnC | Op::EnT | Op::DisC | Op::DisT | Op::DisS => {
                let operand = if insn.op == Op::DisS { 0 } else { get!(insn.a) };
                let about = (operand, slot_at(insn.b), u32::from(insn.c));
                okay!(machine.alt_step::<S, SHARED>(scheduler, me, insn, about));
            }
            Op::DisCR | Op::DisTR | Op::DisSR => {
                let operand = if insn.op == Op::DisSR { 0 } else { get!(insn.a) };
                let about = (operand, slot_at(insn.b), get!(insn.c));
                okay!(machine.alt_step::<S, SHARED>(scheduler, me, insn, about));
            }
            Op::AltW => step!(at, machine.alt_wait::<S, SHARED>(scheduler, me, slot_at(insn.a))),
            Op::AltE => {
                if !some!(machine.alt_close(scheduler, me, slot_at(insn.a)), Address) {
                    jump!();
                }
            }
            Op::Time => w!(scheduler.now()),
            Op::Wait => {
                let time = get!(insn.a);
                me.save(at - 1, fp);
                if let Step::Waits = machine.wait_until::<S, SHARED>(scheduler, me, time) {
                    scheduler.stops(at as u32 - 1, false);
                    next!();
                }
            }
            Op::Claim => {
                let lock = get!(insn.a);
                step!(at, machine.claim::<SHARED>(me, lock), machine.claimed(me.id(), lock));
            }
            Op::Unclaim => {
                okay!(machine.release::<S, SHARED>(scheduler, me, get!(insn.a)));
            }
            Op::Resched => {
                me.save(at, fp);
                scheduler.ready(me);
                scheduler.stops(at as u32, true);
                next!();
            }
            Op::Host => okay!(machine.host_step(scheduler, slot_at(insn.a), insn.imm())),
            Op::Stop => trap!(Trap::Stop),
            Op::Watch if S::CHECKED => {
                if !okay!(machine.watch(insn.imm() as u32, get!(insn.a), get!(insn.a + 1))) {
                    w!(0);
                }
            }
            Op::Unwatch if S::CHECKED => machine.unwatch(get!(insn.a)),
            Op::Watch | Op::Unwatch => {}
            Op::Trap => trap!(Trap::from_number(insn.imm()).unwrap_or(Trap::Stop)),
        }
    }
}

//! Owns: the loop that runs instructions.
//! May use: `arith`, `atom`, `block`, `comm`, `machine`, `process`, `scheduler`, `stop`, `table`,
//! `raddle-bytecode`.
//! Never: a slot without the verifier's proof; memory without a comparison.
//!
//! The state of the process that runs is a [`Cpu`]. It is saved only when somebody else may run it, or something went
//! wrong. When it waits, or its fuel is used up, the loop asks the scheduler who is next and goes on with that one.
//!
//! | module | what |
//! |---|---|
//! | here | what each instruction does, an arm for each |
//! | `cpu` | the state, and the operands of the instruction that runs |
//! | `flow` | jumps, calls, and whose turn it is |
//! | `data` | bytes in memory, and comparisons before they are touched |
//! | `meet` | processes that begin, end, wait and talk |
//! | `compiled` | compiled code in place of the loop, which then runs what was not compiled (feature `native`) |
//!
//! All of it is compiled into one function, in which the state lies in registers: `?` in an arm is the loop's exit.

#[cfg(feature = "native")]
mod compiled;
mod cpu;
mod data;
mod flow;
mod meet;

use crate::arith;
use crate::atom;
use crate::block::BYTES_A_STEP;
use crate::comm::after;
use crate::machine::{Fault, Machine};
use crate::process::{INPUT, OUTPUT, Process};
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use crate::table::WorkerLocal;
use cpu::Cpu;
use flow::FUEL;
use raddle_bytecode::{BEGIN_PLACED, FOREIGN, Op, Trap};

impl<L: Default> Machine<L> {
    /// Runs `first`, and whomever the scheduler names after it, until it names nobody.
    ///
    /// # Errors
    /// A run-time error of the program. The machine must not be run again.
    pub fn run<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        local: &mut WorkerLocal,
        first: &Process<L>,
    ) -> Result<(), Fault> {
        #[cfg(feature = "native")]
        if let Some(code) = self.native.as_ref().filter(|_| !S::CHECKED && !S::COUNTED) {
            return if S::SHARED {
                compiled::run::<L, S, true>(self, code, scheduler, local, first)
            } else {
                compiled::run::<L, S, false>(self, code, scheduler, local, first)
            };
        }
        if S::SHARED {
            interpret::<L, S, true>(self, scheduler, local, first)
        } else {
            interpret::<L, S, false>(self, scheduler, local, first)
        }
    }
}

fn interpret<L: Default, S: Scheduler<Link = L>, const SHARED: bool>(
    machine: &Machine<L>,
    scheduler: &S,
    local: &mut WorkerLocal,
    first: &Process<L>,
) -> Result<(), Fault> {
    let mut cpu = Cpu::<L, S, SHARED>::new(machine, scheduler, local, first);
    loop {
        let cost = match cpu.dispatch::<false>() {
            Ok(()) | Err(Stop::Dry) => 0,
            Err(Stop::Spent) => cpu.me.length.get(),
            Err(Stop::Over) => return Ok(()),
            Err(Stop::Trap(trap)) => return Err(cpu.fault(trap)),
        };
        if cpu.refuel(cost).is_err() {
            return Ok(());
        }
    }
}

impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'_, L, S, SHARED> {
    /// Runs instructions until the loop must be left; or, if `MIXED`, one, and more until there is code.
    #[cfg_attr(feature = "large", inline(always))]
    fn dispatch<const MIXED: bool>(&mut self) -> Result<(), Stop> {
        use Trap::{Address, Count, Overflow, Range, Shift, Size, Slice, Subscript};
        loop {
            match self.fetch() {
                Op::Nop => {}
                Op::Mov => self.word(self.b()),
                Op::MovL => self.long(self.bl()),
                Op::Ldi => self.int(self.imm()),
                Op::LdiL => self.long(i64::from(self.imm())),
                Op::Pool => self.bits(self.machine.program.module().pool[self.imm() as usize]),
                Op::Addr => self.word(self.fp.wrapping_add(self.imm() as u32)),
                Op::Data => self.word(self.machine.data.wrapping_add(self.imm() as u32)),
                Op::Zero => {
                    let at = self.slot_at(self.insn.a);
                    let bytes = self.imm() as u32;
                    self.machine.fill_block(self.scheduler, at, bytes, 0)?;
                    self.spend(block_cost(bytes))?;
                }
                Op::Add => self.int(self.bi().checked_add(self.ci()).ok_or(Overflow)?),
                Op::Sub => self.int(self.bi().checked_sub(self.ci()).ok_or(Overflow)?),
                Op::Mul => self.int(self.bi().checked_mul(self.ci()).ok_or(Overflow)?),
                Op::Div => self.int(divisible(self.bi(), self.ci(), i32::checked_div)?),
                Op::Rem => self.int(divisible(self.bi(), self.ci(), |b, c| Some(b.wrapping_rem(c)))?),
                Op::Neg => self.int(self.bi().checked_neg().ok_or(Overflow)?),
                Op::AddI => self.int(self.bi().checked_add(self.half()).ok_or(Overflow)?),
                Op::MulI => self.int(self.bi().checked_mul(self.half()).ok_or(Overflow)?),
                Op::Plus => self.int(self.bi().wrapping_add(self.ci())),
                Op::Minus => self.int(self.bi().wrapping_sub(self.ci())),
                Op::Times => self.int(self.bi().wrapping_mul(self.ci())),
                Op::PlusI => self.int(self.bi().wrapping_add(self.half())),
                Op::And => self.word(self.b() & self.c()),
                Op::Or => self.word(self.b() | self.c()),
                Op::Xor => self.word(self.b() ^ self.c()),
                Op::AndI => self.int(self.bi() & self.half()),
                Op::Not => self.word(!self.b()),
                Op::Shl => self.word(arith::shl(self.b(), self.c()).ok_or(Shift)?),
                Op::Shr => self.word(arith::shr(self.b(), self.c()).ok_or(Shift)?),
                Op::Eq => self.truth(self.bi() == self.ci()),
                Op::Ne => self.truth(self.bi() != self.ci()),
                Op::Lt => self.truth(self.bi() < self.ci()),
                Op::Le => self.truth(self.bi() <= self.ci()),
                Op::EqI => self.truth(self.bi() == self.half()),
                Op::LtI => self.truth(self.bi() < self.half()),
                Op::After => self.truth(after(self.b(), self.c())),
                Op::NotBool => self.word(self.b() ^ 1),
                Op::WrapH => self.int(i32::from(self.bi() as i16)),
                Op::WrapB => self.word(u32::from(self.b() as u8)),
                Op::ChkH => self.int(i32::from(i16::try_from(self.bi()).map_err(|_| Range)?)),
                Op::ChkB => self.word(u32::from(u8::try_from(self.bi()).map_err(|_| Range)?)),
                Op::ChkBool => self.word(Some(self.b()).filter(|&value| value < 2).ok_or(Range)?),
                Op::ChkShift => hold(self.a() <= self.imm() as u32, Shift)?,
                Op::AddL => self.long(self.bl().checked_add(self.cl()).ok_or(Overflow)?),
                Op::SubL => self.long(self.bl().checked_sub(self.cl()).ok_or(Overflow)?),
                Op::MulL => self.long(self.bl().checked_mul(self.cl()).ok_or(Overflow)?),
                Op::DivL => self.long(divisible(self.bl(), self.cl(), i64::checked_div)?),
                Op::RemL => self.long(divisible(self.bl(), self.cl(), |b, c| Some(b.wrapping_rem(c)))?),
                Op::NegL => self.long(self.bl().checked_neg().ok_or(Overflow)?),
                Op::PlusL => self.long(self.bl().wrapping_add(self.cl())),
                Op::MinusL => self.long(self.bl().wrapping_sub(self.cl())),
                Op::TimesL => self.long(self.bl().wrapping_mul(self.cl())),
                Op::AndL => self.long(self.bl() & self.cl()),
                Op::OrL => self.long(self.bl() | self.cl()),
                Op::XorL => self.long(self.bl() ^ self.cl()),
                Op::NotL => self.long(!self.bl()),
                Op::ShlL => self.bits(arith::shl_l(self.bl() as u64, self.c()).ok_or(Shift)?),
                Op::ShrL => self.bits(arith::shr_l(self.bl() as u64, self.c()).ok_or(Shift)?),
                Op::EqL => self.truth(self.bl() == self.cl()),
                Op::NeL => self.truth(self.bl() != self.cl()),
                Op::LtL => self.truth(self.bl() < self.cl()),
                Op::LeL => self.truth(self.bl() <= self.cl()),
                Op::AfterL => self.truth(self.bl().wrapping_sub(self.cl()) > 0),
                Op::AddF => self.real(self.bf() + self.cf()),
                Op::SubF => self.real(self.bf() - self.cf()),
                Op::MulF => self.real(self.bf() * self.cf()),
                Op::DivF => self.real(self.bf() / self.cf()),
                Op::RemF => {
                    self.real(arith::rem_f(self.bf(), self.cf()));
                    self.spend(REMAINDER_COST)?;
                }
                Op::NegF => self.real(-self.bf()),
                Op::EqF => self.truth(self.bf() == self.cf()),
                Op::NeF => self.truth(self.bf() != self.cf()),
                Op::LtF => self.truth(self.bf() < self.cf()),
                Op::LeF => self.truth(self.bf() <= self.cf()),
                Op::AddD => self.double(self.bd() + self.cd()),
                Op::SubD => self.double(self.bd() - self.cd()),
                Op::MulD => self.double(self.bd() * self.cd()),
                Op::DivD => self.double(self.bd() / self.cd()),
                Op::RemD => {
                    self.double(arith::rem(self.bd(), self.cd()));
                    self.spend(REMAINDER_COST)?;
                }
                Op::NegD => self.double(-self.bd()),
                Op::EqD => self.truth(self.bd() == self.cd()),
                Op::NeD => self.truth(self.bd() != self.cd()),
                Op::LtD => self.truth(self.bd() < self.cd()),
                Op::LeD => self.truth(self.bd() <= self.cd()),
                Op::FnF => {
                    self.real(arith::real_f(self.insn.c, self.bf()));
                    self.spend(ROUTINE_COST)?;
                }
                Op::FnD => {
                    self.double(arith::real_d(self.insn.c, self.bd()));
                    self.spend(ROUTINE_COST)?;
                }
                Op::WtoL => self.long(i64::from(self.bi())),
                Op::LtoW => self.int(i32::try_from(self.bl()).map_err(|_| Range)?),
                Op::WtoF => self.real(arith::l_to_f(i64::from(self.bi()), self.insn.c)),
                Op::WtoD => self.double(f64::from(self.bi())),
                Op::LtoF => self.real(arith::l_to_f(self.bl(), self.insn.c)),
                Op::LtoD => self.double(arith::l_to_d(self.bl(), self.insn.c)),
                Op::FtoW => self.word(arith::to_w(f64::from(self.bf()), self.insn.c).ok_or(Range)?),
                Op::FtoL => self.bits(arith::to_l(f64::from(self.bf()), self.insn.c).ok_or(Range)?),
                Op::DtoW => self.word(arith::to_w(self.bd(), self.insn.c).ok_or(Range)?),
                Op::DtoL => self.bits(arith::to_l(self.bd(), self.insn.c).ok_or(Range)?),
                Op::FtoD => self.double(f64::from(self.bf())),
                Op::DtoF => {
                    let (wide, near) = (self.bd(), arith::narrow(self.bd(), self.insn.c));
                    hold(!wide.is_finite() || near.is_finite(), Range)?;
                    self.real(near);
                }
                Op::Long => {
                    self.machine.long_step(self.slot_at(self.insn.a), self.imm())?;
                    self.spend(ROUTINE_COST)?;
                }
                Op::LdrB => self.load_byte(self.field()?)?,
                Op::LdrH => self.load_half(self.field()?)?,
                Op::LdrW => self.load_word(self.field()?)?,
                Op::LdrL => self.load_long(self.field()?)?,
                Op::StrB => self.store_byte(self.field()?)?,
                Op::StrH => self.store_half(self.field()?)?,
                Op::StrW => self.store_word(self.field()?)?,
                Op::StrL => self.store_long(self.field()?)?,
                Op::AldB => self.load_byte(self.element(1)?)?,
                Op::AldH => self.load_half(self.element(2)?)?,
                Op::AldW => self.load_word(self.element(4)?)?,
                Op::AldL => self.load_long(self.element(8)?)?,
                Op::AstB => self.store_byte(self.element(1)?)?,
                Op::AstH => self.store_half(self.element(2)?)?,
                Op::AstW => self.store_word(self.element(4)?)?,
                Op::AstL => self.store_long(self.element(8)?)?,
                Op::Elem => self.word(self.element(self.a())?),
                Op::Flat => self.word(self.flat_subscript()?),
                Op::Chk => hold(self.a() < self.b(), Subscript)?,
                Op::ChkI => hold(self.a() < self.imm() as u32, Subscript)?,
                Op::ChkSlice => {
                    let (from, count, all) = (self.a(), self.b(), self.c());
                    hold(count <= all && from <= all - count, Slice)?;
                }
                Op::ChkSize => hold(self.a() == self.b(), Size)?,
                Op::ChkF => hold(f32::from_bits(self.a()).is_finite(), Overflow)?,
                Op::ChkD => hold(f64::from_bits(self.al()).is_finite(), Overflow)?,
                Op::ChkCount => hold(self.ai() >= 0, Count)?,
                Op::Copy => self.copy(self.c())?,
                Op::CopyI => self.copy(u32::from(self.insn.c))?,
                Op::Fill => self.fill()?,
                Op::Cmp => self.compare()?,
                Op::Alloc => self.alloc(self.b())?,
                Op::AllocI => self.alloc(self.imm() as u32)?,
                Op::Free => self.free()?,
                Op::Inc => self.word(atom::add::<SHARED>(self.counter()?, 1)),
                Op::Dec => self.word(atom::add::<SHARED>(self.counter()?, u32::MAX)),
                Op::Jump => self.jump()?,
                Op::Jz => self.jump_if(self.a() == 0)?,
                Op::Jnz => self.jump_if(self.a() != 0)?,
                Op::Jeq => self.jump_if(self.a() == self.b())?,
                Op::Jne => self.jump_if(self.a() != self.b())?,
                Op::Jlt => self.jump_if(self.ai() < self.bi())?,
                Op::Jle => self.jump_if(self.ai() <= self.bi())?,
                Op::JeqI => self.jump_if(self.ai() == self.half_b())?,
                Op::JneI => self.jump_if(self.ai() != self.half_b())?,
                Op::JltI => self.jump_if(self.ai() < self.half_b())?,
                Op::JgeI => self.jump_if(self.ai() >= self.half_b())?,
                Op::Repeat => self.repeat(1)?,
                Op::RepeatStep => self.repeat(self.b_next())?,
                Op::Switch => self.at += self.a().min(self.imm() as u32) as usize,
                Op::Call => self.call()?,
                Op::Frame => {
                    let slots = self.machine.program.module().functions[self.imm() as usize].slots;
                    self.alloc(4 * slots)?;
                }
                Op::CallD => self.call_elsewhere()?,
                Op::Ret => self.ret()?,
                Op::Par => self.int(self.imm() + 1),
                Op::Fork => self.fork()?,
                Op::Join | Op::JoinF => self.join()?,
                Op::ForkN => self.fork_many()?,
                Op::JoinN => self.join_many()?,
                Op::Forking => self.open_forks()?,
                Op::Spawn => self.spawn()?,
                Op::EndF => self.end_forked()?,
                Op::End => self.end()?,
                Op::Out => self.talk(OUTPUT, self.slot_message())?,
                Op::In => self.talk(INPUT, self.slot_message())?,
                Op::OutM => self.talk(OUTPUT, self.message()?)?,
                Op::InM => self.talk(INPUT, self.message()?)?,
                Op::InX => self.talk(INPUT, Self::extended(self.slot_message()))?,
                Op::InXM => self.talk(INPUT, Self::extended(self.message()?))?,
                Op::XEnd => self.machine.end_extended::<S, SHARED>(self.scheduler, self.me, self.a())?,
                Op::Alt | Op::EnS => self.alt((0, self.slot_at(self.insn.a), 0))?,
                Op::EnC | Op::EnT | Op::DisC | Op::DisT => self.guard(self.a(), u32::from(self.insn.c))?,
                Op::DisS => self.guard(0, u32::from(self.insn.c))?,
                Op::DisCR | Op::DisTR => self.guard(self.a(), self.c())?,
                Op::DisSR => self.guard(0, self.c())?,
                Op::AltW => self.alt_wait()?,
                Op::AltE => {
                    let state = self.slot_at(self.insn.a);
                    let chosen = self.machine.alt_close(self.scheduler, self.me, state).ok_or(Address)?;
                    self.jump_if(!chosen)?;
                }
                Op::Time => self.word(self.scheduler.now()),
                Op::Wait => self.wait()?,
                Op::Claim => self.claim()?,
                Op::Unclaim => self.machine.release::<S, SHARED>(self.scheduler, self.me, self.a())?,
                Op::Sync => self.sync()?,
                Op::Enroll => self.machine.enroll::<SHARED>(self.a(), self.b())?,
                Op::Resign => self.machine.resign::<S, SHARED>(self.scheduler, self.me, self.a())?,
                Op::Resched => self.give_way()?,
                Op::Host => {
                    // Who waits here may go elsewhere meanwhile.
                    self.kept = 0;
                    if self.imm() <= BEGIN_PLACED {
                        self.place()?;
                        continue;
                    }
                    self.machine.host_step(self.scheduler, self.me, self.slot_at(self.insn.a), self.imm())?;
                    let is_long = self.imm() >= FOREIGN && self.scheduler.took_long();
                    self.spend(if is_long { FUEL } else { ROUTINE_COST })?;
                }
                Op::Stop => return Err(Stop::Trap(Trap::Stop)),
                Op::Watch => self.watch()?,
                Op::Unwatch => self.unwatch(),
                Op::Trap => return Err(Stop::Trap(Trap::from_number(self.imm()).unwrap_or(Trap::Stop))),
            }
            if MIXED && self.has_code() {
                return Ok(());
            }
        }
    }
}

/// A routine, of the machine or of the host, takes as long as so many instructions.
const ROUTINE_COST: i32 = 64;
/// The remainder of reals whose exponents lie far apart takes as long as so many.
const REMAINDER_COST: i32 = 512;

/// What an instruction on so many bytes costs beside itself.
#[cfg_attr(feature = "large", inline(always))]
fn block_cost(bytes: u32) -> i32 {
    (bytes / BYTES_A_STEP) as i32
}

#[cfg_attr(feature = "large", inline(always))]
fn hold(condition: bool, or: Trap) -> Result<(), Trap> {
    if condition { Ok(()) } else { Err(or) }
}

/// A quotient, or a rest, of numbers of which the second is not 0.
#[cfg_attr(feature = "large", inline(always))]
fn divisible<T: Copy + PartialEq + Default>(
    left: T,
    right: T,
    by: impl FnOnce(T, T) -> Option<T>,
) -> Result<T, Trap> {
    hold(right != T::default(), Trap::Division)?;
    by(left, right).ok_or(Trap::Overflow)
}

//! Owns: what each instruction reads and writes of its frame, and who does it.
//! May use: `raddle-bytecode`, `raddle-vm`.
//! Never: code.

use raddle_bytecode::{Insn, Op};
use raddle_vm::native::Helper;

/// What stands in a slot, or in two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueClass {
    /// 32 bits.
    Word,
    /// REAL32.
    Real,
    /// 64 bits, in two slots.
    Long,
    /// REAL64, in two slots.
    Double,
}

impl ValueClass {
    pub(crate) fn is_wide(self) -> bool {
        matches!(self, ValueClass::Long | ValueClass::Double)
    }

    pub(crate) fn is_real(self) -> bool {
        matches!(self, ValueClass::Real | ValueClass::Double)
    }
}

/// A slot, or the first of two, with what stands there.
pub(crate) type Operand = (u16, ValueClass);

/// What compiled code reads and then writes of the frame for an instruction. What a helper reads and writes is not
/// among it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Operands {
    reads: [Option<Operand>; 4],
    writes: [Option<Operand>; 2],
}

impl Operands {
    fn new(reads: &[Operand], writes: &[Operand]) -> Operands {
        let mut operands = Operands::default();
        operands.reads.iter_mut().zip(reads).for_each(|(to, &from)| *to = Some(from));
        operands.writes.iter_mut().zip(writes).for_each(|(to, &from)| *to = Some(from));
        operands
    }

    pub(crate) fn reads(&self) -> impl Iterator<Item = Operand> {
        self.reads.into_iter().flatten()
    }

    pub(crate) fn writes(&self) -> impl Iterator<Item = Operand> {
        self.writes.into_iter().flatten()
    }
}

/// Slots that are changed behind the back of compiled code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kills {
    /// None.
    Nothing,
    /// So many from that one on.
    Slots(u16, u32),
    /// Any.
    All,
}

/// Who does an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doer {
    /// Compiled code, and it goes on with the next.
    Inline,
    /// A helper; the process never waits there.
    Aside,
    /// A helper; the process may wait there, and goes on behind it.
    Meet(Helper),
    /// The same, but after its wait the instruction is run once more.
    Again,
    /// A helper, and nothing follows.
    Last(Helper),
    /// Compiled code that goes elsewhere, or may.
    Jump,
    /// A call in the caller's frame.
    Call,
    /// A return.
    Return,
}

/// The most bytes that compiled code copies by itself.
pub(crate) const COPY_BYTES_MAX: u16 = 32;

/// Whether compiled code clears so many bytes of the frame by itself.
fn clears_inline(insn: Insn) -> bool {
    let bytes = insn.imm();
    (0..=4 * i32::from(COPY_BYTES_MAX)).contains(&bytes) && bytes % 4 == 0
}

/// Whether compiled code copies so many bytes by itself.
pub(crate) fn copies_inline(bytes: u16) -> bool {
    bytes > 0 && bytes <= COPY_BYTES_MAX && bytes.is_multiple_of(4)
}

/// Whether it is a communication of a word that compiled code does itself, where nothing is out of the ordinary.
pub(crate) fn is_short(insn: Insn) -> bool {
    matches!(insn.op, Op::Out | Op::In) && insn.c == 4
}

/// Whether compiled code goes on with what stands behind it, if nothing is out of the ordinary.
pub(crate) fn goes_on(insn: Insn) -> bool {
    is_short(insn) || matches!(insn.op, Op::Fork | Op::Join)
}

/// Functions of reals that are one instruction of every processor.
pub(crate) fn is_square_root_or_absolute(function: u16) -> bool {
    function < 2
}

pub(crate) fn how(insn: Insn) -> Doer {
    use Op::*;
    match insn.op {
        Out => Doer::Meet(Helper::Output),
        In => Doer::Meet(Helper::Input),
        OutM => Doer::Meet(Helper::OutputMemory),
        InM => Doer::Meet(Helper::InputMemory),
        Fork => Doer::Meet(Helper::Fork),
        Join | JoinF => Doer::Meet(Helper::Join),
        End => Doer::Last(Helper::End),
        CallD | Stop | Trap => Doer::Last(Helper::Slow),
        JoinN | Wait => Doer::Again,
        ForkN | AltW | AltE | Claim | Unclaim | Resched => Doer::Meet(Helper::Step),
        Forking => Doer::Aside,
        Enroll => Doer::Aside,
        EnC | EnT | EnS | Alt | DisC | DisT | DisS | DisCR | DisTR | DisSR => Doer::Aside,
        Call => Doer::Call,
        Ret => Doer::Return,
        Jump | Jz | Jnz | Jeq | Jne | Jlt | Jle | JeqI | JneI | JltI | JgeI | Repeat | RepeatStep
        | Switch => Doer::Jump,
        Zero if clears_inline(insn) => Doer::Inline,
        Zero => Doer::Aside,
        FnF if is_square_root_or_absolute(insn.c) => Doer::Inline,
        FnD if is_square_root_or_absolute(insn.c) => Doer::Inline,
        RemF | FnF => Doer::Aside,
        RemD | FnD => Doer::Aside,
        LtoF | LtoD | WtoF | DtoF if insn.c != 0 => Doer::Aside,
        Long => Doer::Aside,
        CopyI if copies_inline(insn.c) => Doer::Inline,
        Copy | CopyI | Fill => Doer::Aside,
        Cmp | Time => Doer::Aside,
        // The heap has its lists in the memory that is free, which a program may have told it wrongly.
        Alloc | AllocI | Frame | Free => Doer::Aside,
        Inc | Dec => Doer::Aside,
        Host => Doer::Aside,
        Watch => Doer::Aside,
        Unwatch => Doer::Aside,
        op if INLINE.contains(&op) => Doer::Inline,
        // What is not known here. Where a process goes on after it, other than behind it, is known to the interpreter.
        op if op.effect().falls_through() => Doer::Meet(Helper::Step),
        _ => Doer::Last(Helper::Slow),
    }
}

/// What compiled code does by itself, if [`how`] has nothing else to say of it.
const INLINE: &[Op] = {
    use Op::*;
    &[
        Nop, Mov, MovL, Ldi, LdiL, Pool, Addr, Data, Par, CopyI, Add, Sub, Mul, Div, Rem, Neg, AddI, MulI,
        Plus, Minus, Times, PlusI, And, Or, Xor, AndI, Not, Shl, Shr, NotBool, WrapH, WrapB, Eq, Ne, Lt, Le,
        EqI, LtI, After, ChkH, ChkB, ChkBool, ChkShift, AddL, SubL, MulL, DivL, RemL, NegL, PlusL, MinusL,
        TimesL, AndL, OrL, XorL, NotL, ShlL, ShrL, EqL, NeL, LtL, LeL, AfterL, AddF, SubF, MulF, DivF, NegF,
        EqF, NeF, LtF, LeF, AddD, SubD, MulD, DivD, NegD, EqD, NeD, LtD, LeD, WtoL, LtoW, WtoF, WtoD, LtoF,
        LtoD, FtoW, FtoL, DtoW, DtoL, FtoD, DtoF, LdrB, LdrH, LdrW, LdrL, StrB, StrH, StrW, StrL, AldB, AldH,
        AldW, AldL, AstB, AstH, AstW, AstL, Elem, Flat, Chk, ChkI, ChkSlice, ChkSize, ChkCount, ChkF, ChkD,
    ]
};

/// Whether it spends fuel beside what a jump, a call or a helper does: so others may run at it, and what it costs does
/// not follow from how often was jumped.
pub(crate) fn spends_fuel(insn: Insn) -> bool {
    how(insn) == Doer::Inline && matches!(insn.op, Op::CopyI | Op::Zero | Op::FnF | Op::FnD)
}

/// What is changed beside what [`operands`] says.
pub(crate) fn kills(insn: Insn) -> Kills {
    match how(insn) {
        Doer::Inline if insn.op == Op::CopyI => Kills::All,
        Doer::Inline if insn.op == Op::Zero => Kills::Slots(insn.a, insn.imm() as u32 / 4),
        Doer::Inline | Doer::Jump => Kills::Nothing,
        _ => Kills::All,
    }
}

/// Of what compiled code does itself.
pub(crate) fn operands(insn: Insn) -> Operands {
    match how(insn) {
        Doer::Inline => inline_operands(insn),
        Doer::Jump => jump_operands(insn),
        Doer::Meet(Helper::Output) if is_short(insn) => {
            Operands::new(&[(insn.a, ValueClass::Word), (insn.b, ValueClass::Word)], &[])
        }
        Doer::Meet(Helper::Input) if is_short(insn) => Operands::new(&[(insn.a, ValueClass::Word)], &[]),
        _ => Operands::default(),
    }
}

fn jump_operands(insn: Insn) -> Operands {
    use ValueClass::Word;
    let Insn { a, b, .. } = insn;
    match insn.op {
        Op::Jump => Operands::default(),
        Op::Jz | Op::Jnz | Op::JeqI | Op::JneI | Op::JltI | Op::JgeI | Op::Switch => {
            Operands::new(&[(a, Word)], &[])
        }
        Op::Repeat => Operands::new(&[(a, Word), (b, Word)], &[(a, Word), (b, Word)]),
        Op::RepeatStep => {
            Operands::new(&[(a, Word), (b.wrapping_add(1), Word), (b, Word)], &[(a, Word), (b, Word)])
        }
        _ => Operands::new(&[(a, Word), (b, Word)], &[]),
    }
}

fn inline_operands(insn: Insn) -> Operands {
    use Op::*;
    use ValueClass::{Double, Real, Word};
    const LONG: ValueClass = ValueClass::Long;
    let Insn { a, b, c, .. } = insn;
    let next = b.wrapping_add(1);
    let new = Operands::new;
    match insn.op {
        Nop | Zero => new(&[], &[]),
        Ldi | Addr | Data | Par => new(&[], &[(a, Word)]),
        LdiL | Pool => new(&[], &[(a, LONG)]),
        MovL => new(&[(b, LONG)], &[(a, LONG)]),
        ChkShift | ChkI | ChkCount => new(&[(a, Word)], &[]),
        Chk | ChkSize => new(&[(a, Word), (b, Word)], &[]),
        ChkSlice => new(&[(a, Word), (b, Word), (c, Word)], &[]),
        ChkF => new(&[(a, Real)], &[]),
        ChkD => new(&[(a, Double)], &[]),
        AddL | SubL | MulL | DivL | RemL | PlusL | MinusL | TimesL | AndL | OrL | XorL => {
            new(&[(b, LONG), (c, LONG)], &[(a, LONG)])
        }
        NegL | NotL => new(&[(b, LONG)], &[(a, LONG)]),
        ShlL | ShrL => new(&[(b, LONG), (c, Word)], &[(a, LONG)]),
        EqL | NeL | LtL | LeL | AfterL => new(&[(b, LONG), (c, LONG)], &[(a, Word)]),
        AddF | SubF | MulF | DivF => new(&[(b, Real), (c, Real)], &[(a, Real)]),
        NegF | FnF => new(&[(b, Real)], &[(a, Real)]),
        EqF | NeF | LtF | LeF => new(&[(b, Real), (c, Real)], &[(a, Word)]),
        AddD | SubD | MulD | DivD => new(&[(b, Double), (c, Double)], &[(a, Double)]),
        NegD | FnD => new(&[(b, Double)], &[(a, Double)]),
        EqD | NeD | LtD | LeD => new(&[(b, Double), (c, Double)], &[(a, Word)]),
        WtoL => new(&[(b, Word)], &[(a, LONG)]),
        LtoW => new(&[(b, LONG)], &[(a, Word)]),
        WtoF => new(&[(b, Word)], &[(a, Real)]),
        WtoD => new(&[(b, Word)], &[(a, Double)]),
        LtoF => new(&[(b, LONG)], &[(a, Real)]),
        LtoD => new(&[(b, LONG)], &[(a, Double)]),
        FtoW => new(&[(b, Real)], &[(a, Word)]),
        FtoL => new(&[(b, Real)], &[(a, LONG)]),
        DtoW => new(&[(b, Double)], &[(a, Word)]),
        DtoL => new(&[(b, Double)], &[(a, LONG)]),
        FtoD => new(&[(b, Real)], &[(a, Double)]),
        DtoF => new(&[(b, Double)], &[(a, Real)]),
        LdrB | LdrH | LdrW => new(&[(b, Word)], &[(a, Word)]),
        LdrL => new(&[(b, Word)], &[(a, LONG)]),
        StrB | StrH | StrW => new(&[(b, Word), (a, Word)], &[]),
        StrL => new(&[(b, Word), (a, LONG)], &[]),
        AldB | AldH | AldW => new(&[(c, Word), (next, Word), (b, Word)], &[(a, Word)]),
        AldL => new(&[(c, Word), (next, Word), (b, Word)], &[(a, LONG)]),
        AstB | AstH | AstW => new(&[(c, Word), (next, Word), (b, Word), (a, Word)], &[]),
        AstL => new(&[(c, Word), (next, Word), (b, Word), (a, LONG)], &[]),
        Elem => new(&[(c, Word), (next, Word), (a, Word), (b, Word)], &[(a, Word)]),
        Flat => new(&[(b, Word), (c, Word), (a, Word)], &[(a, Word)]),
        CopyI => new(&[(a, Word), (b, Word)], &[]),
        Mov | Neg | AddI | MulI | PlusI | AndI | Not | EqI | LtI | NotBool | WrapH | WrapB | ChkH | ChkB
        | ChkBool => new(&[(b, Word)], &[(a, Word)]),
        _ => new(&[(b, Word), (c, Word)], &[(a, Word)]),
    }
}

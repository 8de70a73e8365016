//! Owns: the interpreter of a function's unwind information, which gives the `Row` for an instruction.
//! May use: `arch`.
//! Never: a byte beyond their end; a DWARF expression, which only the loader's stubs use: the walk ends there.
//!
//! The unwind information is a program that builds rows, one for each change of the frame (DWARF 5, 6.4.2). It is
//! interpreted from the function's begin to the instruction in question.

use crate::arch::REGISTERS;

/// The most rows that a program may save (`DW_CFA_remember_state`).
const SAVED_ROWS_MAX: usize = 3;

/// Where a register of the caller is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// In the same register.
    Same,
    /// Unknown. So is the return address of the outermost frame.
    Unknown,
    /// On the stack, at this offset from the frame's end.
    At(i32),
    /// Its value is the address at this offset from the frame's end.
    Is(i32),
    /// In another register.
    In(u8),
}

/// Where a frame ends, and where it keeps the caller's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The frame's end: a register and an offset.
    pub(super) frame: Option<(usize, isize)>,
    pub(super) rules: [Rule; REGISTERS],
    pub(super) return_register: usize,
}

/// The units and the return register of an unwind program.
pub(super) struct UnwindProgram {
    pub(super) code_unit: usize,
    pub(super) data_unit: isize,
    pub(super) return_register: usize,
}

/// Bytes, from `at` to `end`.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub(super) all: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.all.get(..self.end)?.get(self.at).inspect(|_| self.at += 1).copied()
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        let at = self.at.checked_add(count).filter(|at| *at <= self.end)?;
        self.at = at;
        Some(())
    }

    /// A little-endian number of `count` bytes.
    pub(super) fn unsigned(&mut self, count: usize) -> Option<usize> {
        let mut value = 0;
        for place in 0..count {
            value |= usize::from(self.byte()?) << (8 * place);
        }
        Some(value)
    }

    pub(super) fn signed(&mut self, count: usize) -> Option<isize> {
        let above = usize::BITS - 8 * count as u32;
        Some((self.unsigned(count)? << above).cast_signed() >> above)
    }

    /// A number of variable length (LEB128).
    pub(super) fn uleb(&mut self) -> Option<usize> {
        Some(self.leb()?.0)
    }

    pub(super) fn sleb(&mut self) -> Option<isize> {
        let (value, bits, last) = self.leb()?;
        let above = usize::BITS.saturating_sub(bits);
        let is_negative = last & 0x40 != 0;
        Some(if is_negative { (value << above).cast_signed() >> above } else { value.cast_signed() })
    }

    fn leb(&mut self) -> Option<(usize, u32, u8)> {
        let (mut value, mut bits) = (0_usize, 0);
        loop {
            let byte = self.byte()?;
            if bits >= usize::BITS {
                return None;
            }
            value |= usize::from(byte & 0x7f) << bits;
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte));
            }
        }
    }

    /// A zero-terminated string.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let rest = self.all.get(self.at..self.end)?;
        let len = rest.iter().position(|byte| *byte == 0)?;
        self.skip(len + 1)?;
        Some(&rest[..len])
    }
}

/// A running unwind program.
struct Interpreter<'p> {
    program: &'p UnwindProgram,
    row: Row,
    /// The row after the shared part.
    first: Row,
    kept: [Row; SAVED_ROWS_MAX],
    kept_count: usize,
    /// The current and the final offset from the function's begin.
    at: usize,
    wanted: usize,
}

impl UnwindProgram {
    /// The row for the instruction at `wanted` bytes from the function's begin.
    pub(super) fn row(&self, shared: Bytes<'_>, own: Bytes<'_>, wanted: usize) -> Option<Row> {
        let return_register = Some(self.return_register).filter(|register| *register < REGISTERS)?;
        let row = Row { frame: None, rules: [Rule::Same; REGISTERS], return_register };
        let kept = [row; SAVED_ROWS_MAX];
        let mut run = Interpreter { program: self, row, first: row, kept, kept_count: 0, at: 0, wanted };
        run.steps(shared)?;
        run.first = run.row;
        run.steps(own)?;
        Some(run.row)
    }
}

impl Interpreter<'_> {
    /// Runs until the wanted instruction, or the program's end.
    fn steps(&mut self, mut bytes: Bytes<'_>) -> Option<()> {
        while bytes.at < bytes.end && self.at <= self.wanted {
            let step = bytes.byte()?;
            let low = usize::from(step & 0x3f);
            match step >> 6 {
                0 => self.step(step, &mut bytes)?,
                1 => self.advance(low),
                2 => {
                    let offset = self.data(bytes.uleb()?.cast_signed());
                    self.set(low, Rule::At(offset));
                }
                _ => self.restore(low),
            }
        }
        Some(())
    }

    fn step(&mut self, step: u8, bytes: &mut Bytes<'_>) -> Option<()> {
        match step {
            0x00 | 0x2d => {}
            0x02 => self.advance(bytes.unsigned(1)?),
            0x03 => self.advance(bytes.unsigned(2)?),
            0x04 => self.advance(bytes.unsigned(4)?),
            0x06 => self.restore(bytes.uleb()?),
            0x0a => {
                *self.kept.get_mut(self.kept_count)? = self.row;
                self.kept_count += 1;
            }
            0x0b => {
                self.kept_count = self.kept_count.checked_sub(1)?;
                self.row = self.kept[self.kept_count];
            }
            0x0c => self.row.frame = Some((bytes.uleb()?, bytes.uleb()?.cast_signed())),
            0x0d => self.row.frame = Some((bytes.uleb()?, self.row.frame?.1)),
            0x0e => self.row.frame = Some((self.row.frame?.0, bytes.uleb()?.cast_signed())),
            0x0f => {
                self.row.frame = None;
                let len = bytes.uleb()?;
                bytes.skip(len)?;
            }
            0x12 => self.row.frame = Some((bytes.uleb()?, self.data(bytes.sleb()?) as isize)),
            0x13 => self.row.frame = Some((self.row.frame?.0, self.data(bytes.sleb()?) as isize)),
            0x2e => drop(bytes.uleb()?),
            _ => {
                let register = bytes.uleb()?;
                let rule = self.rule(step, bytes)?;
                self.set(register, rule);
            }
        }
        Some(())
    }

    /// The steps that set the rule of one register.
    fn rule(&self, step: u8, bytes: &mut Bytes<'_>) -> Option<Rule> {
        Some(match step {
            0x05 => Rule::At(self.data(bytes.uleb()?.cast_signed())),
            0x07 => Rule::Unknown,
            0x08 => Rule::Same,
            0x09 => Rule::In(bytes.uleb()? as u8),
            0x10 | 0x16 => {
                let len = bytes.uleb()?;
                bytes.skip(len)?;
                Rule::Unknown
            }
            0x11 => Rule::At(self.data(bytes.sleb()?)),
            0x14 => Rule::Is(self.data(bytes.uleb()?.cast_signed())),
            0x15 => Rule::Is(self.data(bytes.sleb()?)),
            0x2f => Rule::At(self.data(bytes.uleb()?.cast_signed().wrapping_neg())),
            _ => return None,
        })
    }

    fn advance(&mut self, by: usize) {
        self.at = self.at.saturating_add(by.saturating_mul(self.program.code_unit));
    }

    fn data(&self, count: isize) -> i32 {
        count.wrapping_mul(self.program.data_unit) as i32
    }

    /// Sets a rule; registers other than the general ones are ignored.
    fn set(&mut self, register: usize, rule: Rule) {
        if let Some(place) = self.row.rules.get_mut(register) {
            *place = rule;
        }
    }

    fn restore(&mut self, register: usize) {
        if let Some(rule) = self.first.rules.get(register) {
            self.set(register, *rule);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: UnwindProgram = UnwindProgram { code_unit: 1, data_unit: -8, return_register: 16 };
    /// The frame ends 8 above rsp; the return address is right below.
    const SHARED: [u8; 5] = [0x0c, 7, 8, 0x90, 1];

    fn row(program: &[u8], wanted: usize) -> Option<Row> {
        let bytes = |all| Bytes { all, at: 0, end: all.len() };
        X86.row(bytes(&SHARED), bytes(program), wanted)
    }

    #[test]
    fn a_push_moves_the_frame_from_the_next_instruction_on() {
        // Push rbp (1 byte), rbp = rsp (3 bytes), the frame ends 16 above rbp.
        let program = [0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6];
        assert_eq!(row(&program, 0).unwrap().frame, Some((7, 8)));
        let pushed = row(&program, 1).unwrap();
        assert_eq!(
            (pushed.frame, pushed.rules[6], pushed.rules[16]),
            (Some((7, 16)), Rule::At(-16), Rule::At(-8))
        );
        assert_eq!(row(&program, 4).unwrap().frame, Some((6, 16)));
    }

    #[test]
    fn what_is_kept_comes_back() {
        // Keep; the frame is 48; from 1 on as before, from 2 on rbp is where the shared part says.
        let program = [0x86, 2, 0x0a, 0x0e, 48, 0x41, 0x0b, 0x41, 0xc6];
        assert_eq!(row(&program, 0).unwrap().frame, Some((7, 48)));
        let back = row(&program, 1).unwrap();
        assert_eq!((back.frame, back.rules[6]), (Some((7, 8)), Rule::At(-16)));
        assert_eq!(row(&program, 2).unwrap().rules[6], Rule::Same);
    }

    #[test]
    fn nonsense_is_no_row() {
        assert_eq!(row(&[0x0b], 0), None, "nothing was kept");
        assert_eq!(row(&[0x0a; 5], 0), None, "too much is kept");
        assert_eq!(row(&[0x0e], 0), None, "the number is missing");
        assert_eq!(row(&[0x3f, 1], 0), None, "no such step");
        assert_eq!(row(&[0x0f, 200], 0), None, "an expression behind the end");
    }

    #[test]
    fn numbers_are_as_in_the_book() {
        let number = |all: &[u8]| Bytes { all, at: 0, end: all.len() }.sleb();
        // DWARF 5, figures C.1 and C.2.
        assert_eq!(Bytes { all: &[0xb9, 0x64], at: 0, end: 2 }.uleb(), Some(12857));
        assert_eq!([number(&[2]), number(&[0x7e]), number(&[0xff, 0])], [Some(2), Some(-2), Some(127)]);
        assert_eq!([number(&[0x81, 0x7f]), number(&[0x80])], [Some(-127), None]);
        assert_eq!(Bytes { all: &[0xfe, 0xff], at: 0, end: 2 }.signed(2), Some(-2));
    }
}

//! Owns: what a tree means.
//! May use: `tree`.
//! Never: more than occam says: an arithmetic that leaves its type ends everything.

use super::{Expr, GenProcess, GeneratorState, SIZE, UNSIGNED};

impl Expr {
    fn value(&self, state: &GeneratorState) -> Option<i32> {
        Some(match self {
            Self::Constant(value) => *value,
            Self::Variable(number) => state.variables[*number],
            Self::Index(number) => state.indices[*number],
            Self::Element(array, at) => state.arrays[*array][place(at.value(state)?)],
            Self::Binary(sign, left, right) => binary(sign, left.value(state)?, right.value(state)?)?,
            Self::Triple(value) => value.value(state)?.wrapping_mul(3).wrapping_sub(1),
            Self::Distance(left, right) => {
                let (left, right) = (left.value(state)?, right.value(state)?);
                left.max(right).wrapping_sub(left.min(right))
            }
            Self::Byte(value) => value.value(state)? & 255,
            Self::Unsigned(kind, sign, left, right) => {
                let most = UNSIGNED[*kind].1;
                let (left, right) = (left.value(state)? & most, right.value(state)? & most | 1);
                binary(sign, left, right)?
            }
            Self::Wide(left, right) => {
                let product = i64::from(left.value(state)?) * i64::from(right.value(state)?);
                i32::try_from(product / 65536).ok()?
            }
        })
    }
}

fn place(at: i32) -> usize {
    (at & (SIZE as i32 - 1)) as usize
}

fn binary(sign: &str, left: i32, right: i32) -> Option<i32> {
    let bits = left as u32;
    match sign {
        "+" => left.checked_add(right),
        "*" => left.checked_mul(right),
        "-" => left.checked_sub(right),
        "/" => left.checked_div(right),
        "\\" if right == 0 => None,
        "\\" => Some(left.wrapping_rem(right)),
        "PLUS" => Some(left.wrapping_add(right)),
        "MINUS" => Some(left.wrapping_sub(right)),
        "TIMES" => Some(left.wrapping_mul(right)),
        "/\\" => Some(left & right),
        "\\/" => Some(left | right),
        "><" => Some(left ^ right),
        "<<" => Some(bits.checked_shl(right as u32).unwrap_or(0) as i32),
        _ => Some(bits.checked_shr(right as u32).unwrap_or(0) as i32),
    }
}

fn compare(sign: &str, left: i32, right: i32) -> bool {
    match sign {
        "=" => left == right,
        "<>" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    }
}

impl GeneratorState {
    pub(super) fn all(&mut self, list: &[GenProcess]) -> Option<()> {
        list.iter().try_for_each(|process| self.one(process))
    }

    fn one(&mut self, process: &GenProcess) -> Option<()> {
        match process {
            GenProcess::Assign(to, value) => self.variables[*to] = value.value(self)?,
            GenProcess::Swap(one, two, first, second) => {
                (self.variables[*one], self.variables[*two]) = (first.value(self)?, second.value(self)?);
            }
            GenProcess::Store(array, at, value) => {
                let (at, value) = (place(at.value(self)?), value.value(self)?);
                self.arrays[*array][at] = value;
            }
            GenProcess::If(left, sign, right, then, otherwise) => {
                let holds = compare(sign, left.value(self)?, right.value(self)?);
                self.all(if holds { then } else { otherwise })?;
            }
            GenProcess::Case(selector, bodies) => {
                let option = match selector.value(self)? & 7 {
                    0 | 1 => 0,
                    2 => 1,
                    _ => 2,
                };
                self.all(&bodies[option])?;
            }
            GenProcess::Repeat(index, count, list) => {
                for round in 1..=count.value(self)? & 3 {
                    self.indices[*index] = round;
                    self.all(list)?;
                }
            }
            GenProcess::While(count, list) => (0..*count).try_for_each(|_| self.all(list))?,
            GenProcess::Mix(by, variable) => {
                let by = by.value(self)?;
                self.variables[*variable] = (self.variables[*variable] ^ by).wrapping_add(1);
            }
            GenProcess::Par(_, sender, receiver) => {
                self.all(sender)?;
                self.all(receiver)?;
            }
            GenProcess::Send(channel, value) => {
                let value = value.value(self)?;
                self.channels[*channel].push_back(value);
            }
            GenProcess::Receive(channel, to, _) => {
                self.variables[*to] = self.channels[*channel].pop_front().expect("as many were sent");
            }
            GenProcess::Extended(channel, to, during) => {
                self.variables[*to] = self.channels[*channel].pop_front().expect("as many were sent");
                self.all(during)?;
            }
            GenProcess::Each(array, index, value) => {
                for at in 0..SIZE {
                    self.indices[*index] = at as i32;
                    self.arrays[*array][at] ^= value.value(self)?;
                }
            }
            _ => self.dynamic(process)?,
        }
        Some(())
    }

    fn dynamic(&mut self, process: &GenProcess) -> Option<()> {
        match process {
            GenProcess::Meet(_, parts) => {
                parts.iter().flatten().try_for_each(|part| self.all(part))?;
            }
            GenProcess::Carry(to, value) | GenProcess::Wrap(to, _, value) => {
                self.variables[*to] = value.value(self)?;
            }
            GenProcess::Fork(by, variable, beside) => {
                let by = by.value(self)?;
                self.variables[*variable] = (self.variables[*variable] ^ by).wrapping_add(1);
                self.all(beside)?;
            }
            GenProcess::Activate(to, values) => {
                let mut total = 1_i32;
                for value in values {
                    total = (total ^ value.value(self)?).wrapping_add(1);
                    self.variables[*to] = total;
                }
            }
            _ => {}
        }
        Some(())
    }
}

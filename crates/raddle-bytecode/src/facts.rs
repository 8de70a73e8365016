//! Owns: the little that is asked of each instruction where memory is scarce: two bytes of it.
//! May use: `effect`, `insn`.
//! Never: a fact that does not follow from the table of instructions.
//!
//! To match on an [`Effect`] takes a kilobyte of code, and a board has 32: verifier and brief reports ask here.

use crate::effect::{Effect, Message, Wait};
use crate::insn::{Form, Op};

/// What [`Effect`] comes to for who only wants to know how a process goes on, and what of its frame is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Course {
    /// With the next instruction, or where it jumps to.
    On,
    /// With another one: not with the next.
    Elsewhere,
    /// In a function, at a call site.
    Call,
    /// The same, with a frame at an address.
    CallAt,
    /// On; as many bytes of the frame as the constant says are touched, from slot `a` on.
    Clear,
    /// It can wait for that.
    Waits(Wait),
    /// It can wait for that; as many bytes of the frame as `c` says are touched, from slot `b` on.
    WaitsInFrame(Wait),
    /// It can wait for that, and is executed once more then.
    WaitsAgain(Wait),
}

/// Every course, by its number in [`OpFacts`].
const COURSES: [Course; 16] = {
    use Course::*;
    use Wait::*;
    [
        On,
        Elsewhere,
        Call,
        CallAt,
        Clear,
        Waits(Output),
        Waits(Input),
        Waits(Alt),
        Waits(Join),
        Waits(Lock),
        Waits(Barrier),
        Waits(Time),
        WaitsInFrame(Output),
        WaitsInFrame(Input),
        WaitsAgain(Join),
        WaitsAgain(Time),
    ]
};

impl Course {
    const fn of(effect: Effect) -> Course {
        match (effect, effect.waits()) {
            (Effect::Send(Message::Frame) | Effect::Receive(Message::Frame), Some(wait)) => {
                Course::WaitsInFrame(wait)
            }
            (Effect::JoinMany | Effect::Sleep, Some(wait)) => Course::WaitsAgain(wait),
            (_, Some(wait)) => Course::Waits(wait),
            (Effect::Clear, _) => Course::Clear,
            (Effect::Call, _) => Course::Call,
            (Effect::CallAt, _) => Course::CallAt,
            _ if effect.falls_through() => Course::On,
            _ => Course::Elsewhere,
        }
    }

    /// Comparisons of such values are not yet known when the table is made.
    const fn key(self) -> u8 {
        match self {
            Course::On => 0,
            Course::Elsewhere => 1,
            Course::Call => 2,
            Course::CallAt => 3,
            Course::Clear => 4,
            Course::Waits(wait) => 16 + wait as u8,
            Course::WaitsInFrame(wait) => 32 + wait as u8,
            Course::WaitsAgain(wait) => 48 + wait as u8,
        }
    }

    /// What it can wait for.
    pub const fn waits(self) -> Option<Wait> {
        match self {
            Course::Waits(wait) | Course::WaitsInFrame(wait) | Course::WaitsAgain(wait) => Some(wait),
            _ => None,
        }
    }

    /// Whether it calls a function, at a call site.
    pub(crate) const fn calls(self) -> bool {
        matches!(self, Course::Call | Course::CallAt)
    }
}

/// Of one instruction: how many slots from those of its fields on it touches (four bits, three and two), whether it
/// jumps, whether it names a call site, its [`Course`] (four bits).
#[derive(Clone, Copy)]
pub(crate) struct OpFacts(u16);

const JUMPS: u16 = 1 << 9;
const SITE: u16 = 1 << 10;
const COURSE: u16 = 11;

impl OpFacts {
    const fn of(op: Op) -> OpFacts {
        let [a, b, c] = op.slots();
        assert!(a < 16 && b < 8 && c < 4, "it touches more slots than there are bits for");
        let mut course = 0;
        while COURSES[course].key() != Course::of(op.effect()).key() {
            course += 1;
        }
        let site = matches!(op.form(), Form::site | Form::asite);
        let bits = a | b << 4 | c << 7 | (course as u16) << COURSE;
        OpFacts(bits | if op.form().jumps() { JUMPS } else { 0 } | if site { SITE } else { 0 })
    }

    pub(crate) const fn slots(self) -> [u16; 3] {
        [self.0 & 15, self.0 >> 4 & 7, self.0 >> 7 & 3]
    }

    pub(crate) const fn jumps(self) -> bool {
        self.0 & JUMPS != 0
    }

    pub(crate) const fn has_site(self) -> bool {
        self.0 & SITE != 0
    }

    pub(crate) const fn course(self) -> Course {
        COURSES[(self.0 >> COURSE & 15) as usize]
    }
}

/// Of every instruction, by number.
static FACTS: [OpFacts; Op::ALL[Op::ALL.len() - 1] as usize + 1] = {
    let mut all = [OpFacts(0); Op::ALL[Op::ALL.len() - 1] as usize + 1];
    let mut at = 0;
    while at < Op::ALL.len() {
        all[Op::ALL[at] as usize] = OpFacts::of(Op::ALL[at]);
        at += 1;
    }
    all
};

impl Op {
    pub(crate) fn facts(self) -> OpFacts {
        FACTS[self as usize]
    }

    /// How it goes on; a small part of its [`effect`](Op::effect).
    pub fn course(self) -> Course {
        self.facts().course()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_table() {
        for &op in Op::ALL {
            let (facts, effect) = (op.facts(), op.effect());
            assert_eq!(facts.slots(), op.slots(), "{op:?}");
            assert_eq!(facts.jumps(), op.form().jumps(), "{op:?}");
            assert_eq!(facts.has_site(), matches!(op.form(), Form::site | Form::asite), "{op:?}");
            assert_eq!(facts.course(), Course::of(effect), "{op:?}");
            assert_eq!(facts.course().waits(), effect.waits(), "{op:?}");
            assert_eq!(facts.course().calls(), effect.calls(), "{op:?}");
            assert_eq!(facts.course() == Course::Elsewhere, !effect.falls_through(), "{op:?}");
        }
    }
}

//! Owns: calls of foreign routines: a function of the bytecode that has the host call one.
//! May use: `program`.
//! Never: knows how the host finds one.

use super::Lowerer;
use super::pass::Pass;
use super::shape::Shape;
use crate::program::{NameId, RoutineId};
use std::fmt::Write as _;

/// Who waits for a routine on another thread asks after so many microseconds at first, then after twice as long.
const ASKS_AFTER: i32 = 20;
/// And at last each time after so many.
const ASKS_AFTER_MAX: i32 = 2000;

impl Lowerer<'_> {
    /// The body of a foreign routine: its parameters are where they are passed, and the host takes them from there.
    pub(super) fn foreign(&mut self, id: RoutineId) {
        let routine = &self.program.routines[id.0 as usize];
        let name = self.program.spelling(routine.name);
        let parameters: Vec<String> = routine.formals.iter().map(|&formal| self.as_passed(formal)).collect();
        let number = self.module.foreign(name, &parameters.join(" "));
        let window = self.slots(4);
        // Behind the machine's two slots.
        self.f.code.addr(window, 8);
        if !name.starts_with("B.") && !name.starts_with("BX.") {
            return self.f.code.host(window, number);
        }
        self.f.code.host(window, number + 1);
        let (ticket, after, time) = (self.slot(), self.slot(), self.slot());
        let (again, ended, late) = (self.f.code.label(), self.f.code.label(), self.f.code.label());
        self.f.code.mov(ticket, window);
        self.f.code.ldi(after, ASKS_AFTER);
        self.f.code.bind(again);
        self.f.code.mov(window, ticket);
        self.f.code.host(window, number + 2);
        self.f.code.jnz(window, ended);
        self.f.code.time(time);
        self.f.code.plus(time, time, after);
        self.f.code.wait(time);
        self.f.code.jge_i(after, ASKS_AFTER_MAX, late);
        self.f.code.plus(after, after, after);
        self.f.code.bind(late);
        self.f.code.jump(again);
        self.f.code.bind(ended);
    }

    /// How a parameter lies in the frame, as the format of bytecode has it.
    fn as_passed(&self, formal: NameId) -> String {
        let ty = self.program.name(formal).ty;
        match self.pass_formal(formal) {
            Pass::Value(_) if matches!(self.shape(ty), Shape::Chan(_)) => "c".to_owned(),
            Pass::Value(class) if class.slots() == 2 => "l".to_owned(),
            Pass::Value(_) => "w".to_owned(),
            Pass::View(_) => {
                let element = self.program.types.bytes(self.innermost(ty)).unwrap_or(1);
                let mut text = format!("v{element}");
                for size in self.type_dims(ty) {
                    let _ = match size {
                        Some(size) => write!(text, ".{size}"),
                        None => write!(text, ".?"),
                    };
                }
                text
            }
            Pass::Address | Pass::Nothing => format!("a{}", self.program.types.bytes(ty).unwrap_or(1)),
        }
    }
}

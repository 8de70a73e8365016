//! Owns: the routines that the language brings along.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: says what they compute; the VM does, by the same names.
//!
//! A signature is a letter for each type: B BOOL, Y BYTE, I INT, i INT32, L INT64, R REAL32, D REAL64,
//! S []BYTE, P [][]BYTE, * anything; `&` before a parameter that is changed.
//! Source: occam 2.1 reference manual, appendices K to N.

use super::Checker;
use crate::ast::{Ident, Mode};
use crate::program::{Body, NameId, NameKind, Routine, RoutineId};
use crate::source::Span;
use crate::symbol::Symbol;
use crate::types::{TypeId, Types};

#[rustfmt::skip]
const PREDEFINED: &[(&str, &str, &str)] = &[
    ("LONGADD", "III", "I"), ("LONGSUM", "III", "II"), ("LONGSUB", "III", "I"), ("LONGDIFF", "III", "II"),
    ("LONGPROD", "III", "II"), ("LONGDIV", "III", "II"), ("SHIFTRIGHT", "III", "II"), ("SHIFTLEFT", "III", "II"),
    ("NORMALISE", "II", "III"), ("ASHIFTRIGHT", "II", "I"), ("ASHIFTLEFT", "II", "I"), ("ROTATERIGHT", "II", "I"),
    ("ROTATELEFT", "II", "I"), ("FRACMUL", "II", "I"), ("UNPACKSN", "I", "III"), ("ROUNDSN", "III", "I"),
    ("BITCOUNT", "II", "I"), ("CRCWORD", "III", "I"), ("CRCBYTE", "III", "I"), ("BITREVWORD", "I", "I"),
    ("BITREVNBITS", "II", "I"),
    ("ABS", "R", "R"), ("ISNAN", "R", "B"), ("NOTFINITE", "R", "B"), ("ORDERED", "RR", "B"), ("MINUSX", "R", "R"),
    ("MULBY2", "R", "R"), ("DIVBY2", "R", "R"), ("LOGB", "R", "R"), ("FLOATING.UNPACK", "R", "IR"),
    ("SCALEB", "RI", "R"), ("COPYSIGN", "RR", "R"), ("NEXTAFTER", "RR", "R"), ("FPINT", "R", "R"), ("SQRT", "R", "R"),
    ("DABS", "D", "D"), ("DISNAN", "D", "B"), ("DNOTFINITE", "D", "B"), ("DORDERED", "DD", "B"), ("DMINUSX", "D", "D"),
    ("DMULBY2", "D", "D"), ("DDIVBY2", "D", "D"), ("DLOGB", "D", "D"), ("DFLOATING.UNPACK", "D", "ID"),
    ("DSCALEB", "DI", "D"), ("DCOPYSIGN", "DD", "D"), ("DNEXTAFTER", "DD", "D"), ("DFPINT", "D", "D"),
    ("DSQRT", "D", "D"),
    ("IEEECOMPARE", "RR", "I"), ("DIEEECOMPARE", "DD", "I"), ("ARGUMENT.REDUCE", "RRR", "BiR"),
    ("DARGUMENT.REDUCE", "DDD", "BiD"), ("REAL32OP", "RIR", "R"), ("REAL64OP", "DID", "D"), ("REAL32REM", "RR", "R"),
    ("REAL64REM", "DD", "D"), ("REAL32EQ", "RR", "B"), ("REAL64EQ", "DD", "B"), ("REAL32GT", "RR", "B"),
    ("REAL64GT", "DD", "B"), ("IEEE32OP", "RIIR", "BR"), ("IEEE64OP", "DIID", "BD"), ("IEEE32REM", "RR", "BR"),
    ("IEEE64REM", "DD", "BD"),
    ("POWER", "RR", "R"), ("ALOG", "R", "R"), ("ALOG10", "R", "R"), ("EXP", "R", "R"), ("TAN", "R", "R"),
    ("SIN", "R", "R"), ("ASIN", "R", "R"), ("COS", "R", "R"), ("ACOS", "R", "R"), ("SINH", "R", "R"),
    ("COSH", "R", "R"), ("TANH", "R", "R"), ("ATAN", "R", "R"), ("ATAN2", "RR", "R"), ("RAN", "i", "Ri"),
    ("DPOWER", "DD", "D"), ("DALOG", "D", "D"), ("DALOG10", "D", "D"), ("DEXP", "D", "D"), ("DTAN", "D", "D"),
    ("DSIN", "D", "D"), ("DASIN", "D", "D"), ("DCOS", "D", "D"), ("DACOS", "D", "D"), ("DSINH", "D", "D"),
    ("DCOSH", "D", "D"), ("DTANH", "D", "D"), ("DATAN", "D", "D"), ("DATAN2", "DD", "D"), ("DRAN", "L", "DL"),
    ("REAL32DIGITS", "R", "LI"), ("REAL64DIGITS", "D", "LI"), ("DIGITSREAL32", "LI", "R"),
    ("DIGITSREAL64", "LI", "D"),
    ("ASSERT", "B", ""), ("CAUSEERROR", "", ""), ("RESCHEDULE", "", ""), ("SETPRI", "I", ""), ("GETPRI", "", "I"),
    ("INTTOSTRING", "&I&SI", ""), ("HEXTOSTRING", "&I&SI", ""), ("BOOLTOSTRING", "&I&SB", ""),
    ("INT16TOSTRING", "&I&Si", ""), ("INT32TOSTRING", "&I&Si", ""), ("INT64TOSTRING", "&I&SL", ""),
    ("REAL32TOSTRING", "&I&SRII", ""), ("REAL64TOSTRING", "&I&SDII", ""), ("STRINGTOINT", "&B&IS", ""),
    ("STRINGTOHEX", "&B&IS", ""), ("STRINGTOBOOL", "&B&BS", ""), ("STRINGTOREAL32", "&B&RS", ""),
    ("STRINGTOREAL64", "&B&DS", ""), ("MOVE2D", "PII&PIIII", ""), ("DRAW2D", "PII&PIIII", ""),
    ("RESIZE.MOBILE.ARRAY.1D", "&*I", ""), ("HOST.CALL", "I&I&I&I&I", ""), ("CLIP2D", "PII&PIIII", ""),
];

impl Checker<'_> {
    /// Declares the predefined routine of that name, outermost, if there is one.
    pub(super) fn predefined(&mut self, symbol: Symbol) -> Option<NameId> {
        let text = self.program.symbols.text(symbol);
        let &(text, formals, results) = PREDEFINED.iter().find(|(name, ..)| *name == text)?;
        let here = Ident { symbol, span: Span::default() };
        let routine = RoutineId(self.program.routines.len() as u32);
        let name = self.new_name(here, NameKind::Routine(routine), Types::ERROR);
        let mut mode = Mode::Val;
        let mut list = Vec::new();
        for letter in formals.bytes() {
            if letter == b'&' {
                mode = Mode::Reference;
                continue;
            }
            let ty = self.letter(letter);
            list.push(self.new_name(here, NameKind::Formal(mode), ty));
            mode = Mode::Val;
        }
        let results = results.bytes().map(|letter| self.letter(letter)).collect();
        self.program.routines.push(Routine {
            name,
            formals: list,
            results,
            body: Body::Predefined,
            implements: None,
            suspends: false,
            recursive: false,
            assigns_level: u32::MAX,
            // What the host does is known to nobody here.
            communicates: text == "HOST.CALL",
        });
        let at = symbol.0 as usize;
        if at >= self.bindings.len() {
            self.bindings.resize(at + 1, NameId::NONE);
        }
        self.bindings[at] = name;
        Some(name)
    }

    fn letter(&mut self, letter: u8) -> TypeId {
        match letter {
            b'B' => Types::BOOL,
            b'Y' => Types::BYTE,
            b'i' => Types::INT32,
            b'L' => Types::INT64,
            b'R' => Types::REAL32,
            b'D' => Types::REAL64,
            b'*' => Types::ERROR,
            b'S' => self.program.types.array(None, Types::BYTE),
            b'P' => {
                let row = self.program.types.array(None, Types::BYTE);
                self.program.types.array(None, row)
            }
            _ => Types::INT,
        }
    }
}

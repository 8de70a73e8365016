//! Owns: what the front end found out about a program, and the proof that nothing was wrong with it.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: a program that was refused, as one that was checked.

use crate::diag::Diagnostic;
use crate::program::{Program, RoutineId};
use crate::symbol::FastMap;

/// All that the front end found out about a program. Only [`analyse`](crate::analyse) makes one.
pub struct Analysis {
    program: Program,
    diagnostics: Vec<Diagnostic>,
    uses: ChannelUses,
}

/// What a program does with a channel that it gets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChannelUse {
    /// Whether it reads from it.
    pub read: bool,
    /// Whether it writes to it.
    pub written: bool,
}

/// What a program, and each of its tests, does with its parameters.
pub(crate) type ChannelUses = FastMap<RoutineId, Vec<ChannelUse>>;

/// A program that every stage accepted, the search for races included; the only thing that
/// [`lower`](crate::lower::lower) takes. Only [`Analysis::checked`] makes one:
///
/// ```compile_fail,E0451
/// use raddle_occam::{Checked, Options, analyse, pre::NoFiles, source::Sources};
///
/// let mut sources = Sources::new();
/// let root = sources.add("race.occ", "PROC main ()\n  SKIP\n:\n").unwrap();
/// let program = analyse(&mut sources, root, &Options::default(), &mut NoFiles).into_program();
/// let checked = Checked { program, warnings: Vec::new() };
/// ```
pub struct Checked {
    program: Program,
    warnings: Vec<Diagnostic>,
    uses: ChannelUses,
}

impl Checked {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What the program, or one of its tests, does with each of its parameters.
    pub(crate) fn uses_of(&self, routine: RoutineId) -> &[ChannelUse] {
        self.uses.get(&routine).map_or(&[], Vec::as_slice)
    }

    /// What the author will want to know all the same.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}

impl Analysis {
    pub(crate) fn new(program: Program, diagnostics: Vec<Diagnostic>, uses: ChannelUses) -> Analysis {
        Analysis { program, diagnostics, uses }
    }

    /// The program as far as it was understood.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program itself; with an error among the diagnostics some of it may be missing or without a type.
    pub fn into_program(self) -> Program {
        self.program
    }

    /// Complaints, in the order of their places.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The program as a proof that nothing was wrong with it.
    ///
    /// # Errors
    /// The complaints, if there is an error among them.
    pub fn checked(self) -> Result<Checked, Vec<Diagnostic>> {
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return Err(self.diagnostics);
        }
        Ok(Checked { program: self.program, warnings: self.diagnostics, uses: self.uses })
    }
}

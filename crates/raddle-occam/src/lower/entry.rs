//! Owns: which of the host's channels each parameter of the program is.
//! May use: `checked`, `program`, `types`, `raddle-occam-syntax`.
//! Never: goes by the position of a parameter where its direction, its use or its name says more.
//!
//! A direction that is not written follows from the use. Then the names that say which channel it is have their choice,
//! and the others take what is left, in order.

use super::Lowerer;
use crate::ast::{Direction, SharedEnds};
use crate::checked::ChannelUse;
use crate::diag::{Code, Diagnostic};
use crate::program::{NameId, RoutineId};
use crate::types::{Type, Types};

/// A channel of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HostChannel {
    Keyboard,
    Screen,
    Error,
}

const ALL: [HostChannel; 3] = [HostChannel::Keyboard, HostChannel::Screen, HostChannel::Error];

/// The names that say which one it is.
const KNOWN: [(HostChannel, &[&str]); 3] = [
    (HostChannel::Keyboard, &["keyboard", "kyb", "keys", "key", "stdin", "input", "in"]),
    (HostChannel::Screen, &["screen", "scr", "display", "stdout", "output", "out"]),
    (HostChannel::Error, &["error", "err", "stderr"]),
];

/// A parameter of the program.
struct Parameter<'a> {
    name: &'a str,
    /// As written, or by its use; none if it is not used.
    direction: Option<Direction>,
    shared: bool,
}

impl HostChannel {
    fn fits(self, parameter: &Parameter<'_>) -> bool {
        let input = self == Self::Keyboard;
        let direction = parameter.direction.is_none_or(|it| (it == Direction::Input) == input);
        direction && !(input && parameter.shared)
    }

    /// Its address in the machine's memory; those that are SHARED have locks behind them.
    fn address(self, shared: bool) -> i32 {
        match (self, shared) {
            (Self::Keyboard, _) => 16,
            (Self::Screen, false) => 20,
            (Self::Error, false) => 24,
            (Self::Screen, true) => 32,
            (Self::Error, true) => 44,
        }
    }
}

/// A channel for each; or the first for which there is none, and why.
fn bind(list: &[Parameter<'_>]) -> Result<Vec<HostChannel>, (usize, String)> {
    let mut bound: Vec<Option<HostChannel>> = vec![None; list.len()];
    let known = |name: &str| KNOWN.iter().find(|(_, names)| names.contains(&name)).map(|it| it.0);
    for (at, parameter) in list.iter().enumerate() {
        let wish = known(parameter.name).filter(|it| it.fits(parameter));
        bound[at] = wish.filter(|it| !bound.contains(&Some(*it)));
    }
    for (at, parameter) in list.iter().enumerate() {
        if bound[at].is_none() {
            let free = ALL.into_iter().find(|it| it.fits(parameter) && !bound.contains(&Some(*it)));
            bound[at] = Some(free.ok_or_else(|| (at, none_left(parameter)))?);
        }
    }
    Ok(bound.into_iter().flatten().collect())
}

fn none_left(parameter: &Parameter<'_>) -> String {
    let name = parameter.name;
    match (parameter.direction, parameter.shared) {
        (Some(Direction::Input), true) => format!("`{name}` is read, and the keyboard is not SHARED"),
        (Some(Direction::Input), false) => format!("`{name}` is read, and there is one keyboard only"),
        (Some(Direction::Output), _) => {
            format!("`{name}` is written to, beside a screen and an error channel")
        }
        (None, _) => format!("there is no channel of the host for `{name}`"),
    }
}

impl Lowerer<'_> {
    /// The addresses of the host's channels for the parameters of the program; what cannot be bound is complained of.
    pub(super) fn host_channels(&mut self, entry: RoutineId, uses: &[ChannelUse]) -> Option<Vec<i32>> {
        let program = self.program;
        let formals = &program.routines[entry.0 as usize].formals;
        let mut list = Vec::new();
        for (at, &formal) in formals.iter().enumerate() {
            let name = program.spelling(formal);
            let Type::Chan { direction, shared, protocol: Types::BYTE } =
                program.types.get(program.name(formal).ty)
            else {
                let message = format!("`{name}` is no channel of the host");
                return self.not_bound(formal, message);
            };
            let used = uses.get(at).copied().unwrap_or_default();
            let direction = match (direction, used.read, used.written) {
                (None, true, true) => {
                    let message = format!("`{name}` is read and written, and its other end is the host's");
                    return self.not_bound(formal, message);
                }
                (None, true, false) => Some(Direction::Input),
                (None, false, true) => Some(Direction::Output),
                (direction, ..) => direction,
            };
            list.push(Parameter { name, direction, shared: shared != SharedEnds::No });
        }
        match bind(&list) {
            Ok(bound) => {
                Some(bound.iter().zip(&list).map(|(channel, it)| channel.address(it.shared)).collect())
            }
            Err((at, message)) => self.not_bound(formals[at], message),
        }
    }

    fn not_bound(&mut self, formal: NameId, message: String) -> Option<Vec<i32>> {
        let complaint = Diagnostic::new(Code::Entry, self.program.name(formal).span, message);
        let help = "the PROC that is run takes some of `CHAN BYTE keyboard?, screen!, error!`; screen and error may \
                    be SHARED";
        self.diagnostics.push(complaint.help(help));
        None
    }
}

//! Owns: mobiles that one round of a loop moves away, and the next one uses.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: walks a body twice.
//!
//! A body is walked as its first round. For each loop around, the walk notes where a variable from outside is first
//! used with the value that it had when the round began, whether every round comes by there, and whether something in
//! the body gives it a value. If it has moved away at the end of the body on all paths, the next round uses what is not
//! there: certainly if every round comes by the use, or if no path gives it a value, since then each path moves it.

use super::Walker;
use super::poly::Poly;
use super::state::Defined;
use crate::ast::{ExprId, Replicator};
use crate::diag::{Code, Diagnostic, Severity};
use crate::program::NameId;
use crate::source::Span;
use crate::symbol::FastMap;
use crate::types::Type;

/// What one loop's body does to mobiles from outside of it.
pub(crate) struct Lap {
    /// What was declared last before the loop.
    newest: NameId,
    /// How many entries the walker's `rounds` has within the loop.
    rounds: usize,
    /// How many conditions are around the body.
    conditions: u32,
    /// The first use of what a round finds, and whether each round comes by it.
    first: FastMap<NameId, (Span, bool)>,
    moved: FastMap<NameId, Span>,
    /// What the body gives a value on some path, or asks about.
    given: FastMap<NameId, ()>,
    /// Whether some path never comes to the end of the body, and yet does not stop the program.
    endless: bool,
}

/// How often a body runs.
pub(crate) enum Rounds {
    /// At least twice, with that index in the second round where it is known.
    Twice(Option<(NameId, i64)>),
    Unknown,
    /// Once at most.
    One,
}

impl Walker<'_> {
    pub(super) fn rounds_of(
        &self,
        replicator: &Replicator,
        base: &Poly,
        count: &Poly,
        step: &Poly,
    ) -> Rounds {
        match count.as_constant() {
            Some(..2) => Rounds::One,
            None => Rounds::Unknown,
            Some(_) => {
                let index = self.program.replicator_names[replicator.number as usize];
                let value = base.as_constant().zip(step.as_constant());
                let second = value.and_then(|(base, step)| base.checked_add(step));
                Rounds::Twice(second.filter(|_| index != NameId::NONE).map(|second| (index, second)))
            }
        }
    }

    pub(super) fn begin_lap(&mut self) {
        self.laps.push(Lap {
            newest: self.newest,
            rounds: self.rounds.len(),
            conditions: self.conditions,
            first: FastMap::default(),
            moved: FastMap::default(),
            given: FastMap::default(),
            endless: false,
        });
    }

    /// A use of what the variable has, at a point where it has something.
    pub(super) fn lap_uses(&mut self, root: NameId, span: Span) {
        if self.states.get(root).level != self.frame.level {
            return;
        }
        let conditions = self.conditions;
        for lap in self.laps.iter_mut().filter(|lap| root <= lap.newest) {
            if !lap.given.contains_key(&root) {
                let always = conditions == lap.conditions;
                lap.first.entry(root).or_insert((span, always)).1 |= always;
            }
        }
    }

    /// Whether the round that the walk is in found a value there, and has moved it away on all paths. Asked of what has
    /// moved away, by the number of the entry in `rounds`.
    pub(super) fn moved_in_round(&self, at: usize, root: NameId) -> bool {
        let lap = self.laps.iter().find(|lap| lap.rounds > at);
        lap.is_some_and(|lap| lap.first.contains_key(&root))
    }

    pub(super) fn lap_moves(&mut self, root: NameId, span: Span) {
        self.laps.iter_mut().filter(|lap| root <= lap.newest).for_each(|lap| {
            lap.moved.insert(root, span);
        });
    }

    pub(super) fn lap_gives(&mut self, root: NameId) {
        self.laps.iter_mut().filter(|lap| root <= lap.newest).for_each(|lap| {
            lap.given.insert(root, ());
        });
    }

    /// Who asks whether a variable is DEFINED counts on its being away.
    pub(super) fn asks(&mut self, value: ExprId) {
        if !self.laps.is_empty() {
            for place in self.places(value) {
                self.lap_gives(place.root);
                self.laps.iter_mut().for_each(|lap| {
                    lap.first.remove(&place.root);
                });
            }
        }
    }

    pub(super) fn lap_never_ends(&mut self) {
        self.laps.iter_mut().for_each(|lap| lap.endless = true);
    }

    /// The end of a round: what the next one would find.
    pub(super) fn end_lap(&mut self, rounds: &Rounds) {
        let Some(lap) = self.laps.pop() else { return };
        if self.dead || self.options.incomplete || matches!(rounds, Rounds::One) {
            return;
        }
        let mut moved: Vec<(NameId, Span)> = lap.moved.iter().map(|(&name, &span)| (name, span)).collect();
        moved.sort_unstable_by_key(|it| it.0);
        for (name, span) in moved {
            let Some(&(first, always)) = lap.first.get(&name) else { continue };
            if self.defined(name) != Defined::Moved {
                continue;
            }
            let certain = always || !(lap.given.contains_key(&name) || lap.endless);
            match rounds {
                Rounds::Twice(second) if certain => self.gone_in_next_round(name, first, span, *second),
                _ => self.perhaps_gone(name, first, span),
            }
        }
    }

    fn gone_in_next_round(&mut self, name: NameId, first: Span, moved: Span, second: Option<(NameId, i64)>) {
        let text = self.program.spelling(name).to_owned();
        let with = second.map_or(String::new(), |(index, value)| {
            format!(", with `{} = {value}`", self.program.spelling(index))
        });
        let end = matches!(self.program.types.get(self.program.name(name).ty), Type::End { .. });
        let copied = if end { String::new() } else { format!(", or keep a copy with `CLONE {text}`") };
        let message = format!("`{text}` has moved away in the round before");
        let mut complaint = Diagnostic::new(Code::Moved, first, message).label("used in every round");
        if moved != first {
            complaint = complaint.also(moved, "and moved away here");
        }
        if self.options.undefined_warns {
            complaint.severity = Severity::Warning;
        }
        self.complain(
            complaint
                .note(format!("it has no value in the second round{with}"))
                .help(format!("give it a value again in each round{copied}")),
        );
    }

    fn perhaps_gone(&mut self, name: NameId, first: Span, moved: Span) {
        if self.told.insert(name, ()).is_some() {
            return;
        }
        let text = self.program.spelling(name);
        let message = format!("`{text}` has no value if the loop makes a second round");
        let mut complaint = Diagnostic::new(Code::MaybeUndefined, first, message);
        if moved != first {
            complaint = complaint.also(moved, "it moves away here");
        }
        self.complain(complaint.help("give it a value again in each round"));
    }
}

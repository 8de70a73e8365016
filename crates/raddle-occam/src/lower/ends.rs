//! Owns: what the module says of who uses which end of what channel, for the report of a deadlock.
//! May use: `program`, `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: emits an instruction.

use super::function::Home;
use super::shape::BUNDLE_CHANNELS;
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind};
use crate::program::NameId;
use crate::symbol::Symbol;
use crate::types::Type;
use raddle_bytecode::Bundle;

/// An end of a channel.
#[derive(Clone, Copy, PartialEq, Debug)]
struct End {
    slot: Slot,
    output: bool,
    is_array: bool,
    /// How many channels an element of the array is, as the module has it.
    inner: u16,
    name: NameId,
    /// The channel's name in a bundle.
    within: Option<(Symbol, Bundle)>,
}

/// An end, and how long it is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsedEnd {
    end: End,
    /// The code behind its last use so far; 0 while that is not made.
    to: u32,
}

impl Lowerer<'_> {
    /// Notes that the branch or function being made uses this end.
    pub(super) fn note_end(&mut self, channel: ExprId, output: bool) {
        let mut at = channel;
        let mut within = None;
        while let ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } | ExprKind::End(base, _) =
            self.ast.expr(at).kind
        {
            if let ExprKind::Index { index, .. } = self.ast.expr(at).kind
                && let Type::End { bundle, .. } = self.program.types.get(self.program.type_of(base))
            {
                within = self.in_bundle(bundle, index);
            }
            at = base;
        }
        let Some(name) = self.plain_name(at) else { return };
        let types = &self.program.types;
        let ty = self.program.name(name).ty;
        let is_channel = types.is_channel_like(ty) || types.is_barrier(ty);
        let is_end = matches!(self.program.types.get(self.program.name(name).ty), Type::End { .. });
        let end = End { slot: 0, output, is_array: false, inner: 0, name, within: None };
        let end = match (self.home(name), within) {
            (Some(&Home::Slot(slot)), None) if is_channel => End { slot, ..end },
            (Some(Home::View(view)), None) if is_channel => {
                End { slot: view.at, is_array: true, inner: self.inner_channels(name), ..end }
            }
            (Some(&Home::Slot(slot)), Some(_)) if is_end => End { slot, within, ..end },
            (Some(&Home::At(slot)), Some((field, bundle))) if is_end => {
                let within = Some((field, Bundle { by_reference: true, ..bundle }));
                End { slot, within, ..end }
            }
            _ => return,
        };
        // The one used last stands last.
        self.f.ends.retain(|used| used.end != end);
        self.f.ends.push(UsedEnd { end, to: 0 });
    }

    /// A process has been made that began at `from`: it needs till its end what it uses, a loop at each of its rounds.
    pub(super) fn end_of_uses(&mut self, from: u32) {
        let to = self.f.code.here();
        for used in self.f.ends.iter_mut().rev().take_while(|used| used.to == 0 || used.to > from) {
            used.to = to;
        }
    }

    fn inner_channels(&self, name: NameId) -> u16 {
        let size = match *self.type_dims(self.program.name(name).ty) {
            [_] => 1,
            [_, Some(size)] => size,
            _ => 0,
        };
        u16::try_from(size).ok().filter(|&size| size < 1 << 12).unwrap_or(0)
    }

    fn in_bundle(&self, bundle: u32, index: ExprId) -> Option<(Symbol, Bundle)> {
        let ExprKind::Name(field) = self.ast.expr(index).kind else { return None };
        let fields = &self.program.types.bundles[bundle as usize].fields;
        let number = fields.iter().position(|it| it.name == field)? as u32;
        let word = u16::try_from(BUNDLE_CHANNELS / 4 + number).ok().filter(|&word| word < 1 << 12)?;
        Some((field, Bundle { by_reference: false, word }))
    }

    /// Tells the module which ends the code from there to here uses; those of the code around come back.
    pub(super) fn tell_ends(&mut self, from: u32, around: Vec<UsedEnd>) {
        let end = self.f.code.here();
        for UsedEnd { end: used, to } in std::mem::replace(&mut self.f.ends, around) {
            let mut text = self.program.spelling(used.name).to_owned();
            if let Some((field, _)) = used.within {
                text = format!("{text}[{}]", self.program.symbols.text(field));
            }
            let name = self.module.string(&text);
            let End { slot, output, is_array, inner, within, .. } = used;
            let bundle = within.map(|(_, bundle)| bundle);
            let to = if to == 0 { end } else { to };
            self.f.code.uses_end(raddle_bytecode::End {
                from,
                to,
                slot,
                output,
                is_array,
                inner,
                bundle,
                name,
            });
        }
    }
}

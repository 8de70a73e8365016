//! Owns: what the module says of who uses which end of what channel, for the report of a deadlock.
//! May use: where names live.
//! Never: emits an instruction.

use super::function::Home;
use super::shape::BUNDLE_CHANNELS;
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind};
use crate::program::NameId;
use crate::symbol::Symbol;
use crate::types::Type;
use raddle_bytecode::{Bundle, End};

/// An end of a channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct UsedEnd {
    slot: Slot,
    output: bool,
    is_array: bool,
    name: NameId,
    /// The channel's name in a bundle.
    within: Option<(Symbol, Bundle)>,
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
        let is_channel = self.program.types.is_channel_like(self.program.name(name).ty);
        let is_end = matches!(self.program.types.get(self.program.name(name).ty), Type::End { .. });
        let end = UsedEnd { slot: 0, output, is_array: false, name, within: None };
        let used = match (self.home(name), within) {
            (Some(&Home::Slot(slot)), None) if is_channel => UsedEnd { slot, ..end },
            (Some(Home::View(view)), None) if is_channel => UsedEnd { slot: view.at, is_array: true, ..end },
            (Some(&Home::Slot(slot)), Some(_)) if is_end => UsedEnd { slot, within, ..end },
            (Some(&Home::At(slot)), Some((field, bundle))) if is_end => {
                let within = Some((field, Bundle { by_reference: true, ..bundle }));
                UsedEnd { slot, within, ..end }
            }
            _ => return,
        };
        if !self.f.ends.contains(&used) {
            self.f.ends.push(used);
        }
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
        let to = self.f.code.here();
        for used in std::mem::replace(&mut self.f.ends, around) {
            let mut text = self.program.spelling(used.name).to_owned();
            if let Some((field, _)) = used.within {
                text = format!("{text}[{}]", self.program.symbols.text(field));
            }
            let name = self.module.string(&text);
            let UsedEnd { slot, output, is_array, within, .. } = used;
            let bundle = within.map(|(_, bundle)| bundle);
            self.f.code.uses_end(End { from, to, slot, output, is_array, bundle, name });
        }
    }
}

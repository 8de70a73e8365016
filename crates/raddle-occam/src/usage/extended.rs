//! Owns: rule U6 of the extended rendezvous: what may not be done before who outputs goes on.
//! May use: `types`, `raddle-occam-syntax`.
//! Never: judges a channel that cannot be the same.
//!
//! Who outputs stands in its output until the input's process ends. So in that process nobody comes to either end of
//! the channel, in PROCs that it calls neither.

use super::Walker;
use super::access::{AccessPath, Use};
use crate::ast::{ExprId, InputKind, ProcessId};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::types::Type;

impl Walker<'_> {
    pub(crate) fn extended(
        &mut self,
        channel: ExprId,
        kind: &InputKind,
        during: ProcessId,
        after: Option<ProcessId>,
    ) {
        let span = self.ast.expr(channel).span;
        self.use_channel(channel, Use::In);
        let held: Vec<(AccessPath, Span)> = match self.program.types.get(self.program.type_of(channel)) {
            Type::Chan { .. } => self.places(channel).into_iter().map(|place| (place, span)).collect(),
            _ => Vec::new(),
        };
        match kind {
            InputKind::Case(variants) => return self.variants(variants, held),
            InputKind::Items(items) | InputKind::Tagged(_, items) => self.receive(items),
            InputKind::After(time) => self.read(*time),
        }
        self.during(&held, during);
        after.into_iter().for_each(|after| self.process(after));
    }

    /// A process during which those channels are held.
    pub(super) fn during(&mut self, held: &[(AccessPath, Span)], process: ProcessId) {
        let before = self.held_channels.len();
        self.held_channels.extend(held.iter().cloned());
        self.process(process);
        self.held_channels.truncate(before);
    }

    /// Complains of a use of a channel that is held.
    pub(crate) fn not_held(&mut self, place: &AccessPath, what: Use, span: Span) {
        if !matches!(what, Use::In | Use::Out) {
            return;
        }
        let found = (0..self.held_channels.len()).find(|&at| {
            let held = self.held_channels[at].0.clone();
            self.places_meet(&held, place)
        });
        let Some(at) = found else { return };
        let text = self.program.spelling(place.root);
        let message =
            format!("`{text}` is {} while its sender waits for the end of this process", what.verb());
        let complaint =
            Diagnostic::new(Code::Extended, span, message).also(self.held_channels[at].1, "input here");
        self.complain(complaint.help("use it in the process behind this one, or input with `?`"));
    }
}

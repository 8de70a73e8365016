//! Owns: rule U6: which uses of SHARED ends lie within a CLAIM, and within which.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: takes the CLAIM of one end for that of another.
//!
//! Claims are numbered in the order in which the walk comes by, a callee's anew at each call. So two branches of a PAR
//! keep apart by CLAIM if the claims of both have numbers from within the PAR: a claim around the PAR is held by all
//! of its branches together, and tells nothing apart.

use super::Walker;
use super::access::{AccessPath, Use};
use super::call::Actual;
use super::routine::Summary;
use crate::ast::{Direction, ExprId, ProcessId};
use crate::diag::{Code, Diagnostic};
use crate::program::NameId;
use crate::source::Span;
use crate::types::{Type, TypeId};

/// The claim under which an end is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Held {
    pub(crate) number: u32,
    /// Whether it is that of a bundle's end, not of a channel's.
    pub(crate) bundle: bool,
}

/// A CLAIM around the place where the walk stands.
pub(crate) struct Claim {
    place: AccessPath,
    /// The channel's end; a bundle's end is claimed with all its channels.
    end: Option<Direction>,
    number: u32,
    span: Span,
}

impl Claim {
    /// Whether the claim is that of this very end.
    fn covers(&self, place: &AccessPath, what: Use) -> bool {
        let (end, path) = (&self.end, &self.place.path);
        let inside = match end {
            None => place.path.starts_with(path),
            Some(end) => *end == end_of(what) && place.path == *path,
        };
        self.place.root == place.root && inside && !place.opaque && !self.place.opaque
    }

    fn held(&self) -> Held {
        Held { number: self.number, bundle: self.end.is_none() }
    }
}

fn end_of(what: Use) -> Direction {
    if what == Use::In { Direction::Input } else { Direction::Output }
}

impl Walker<'_> {
    pub(crate) fn claim(&mut self, end: ExprId, body: ProcessId) {
        let claims = self.claims.len();
        let direction = match self.program.types.get(self.program.type_of(end)) {
            Type::Chan { direction: Some(direction), .. } => Some(Some(direction)),
            Type::Chan { shared: crate::ast::SharedEnds::Only(direction), .. } => Some(Some(direction)),
            // As the lowering takes it.
            Type::Chan { .. } => Some(Some(Direction::Output)),
            Type::End { .. } => Some(None),
            _ => None,
        };
        let mut places = self.places(end);
        // Of several ends that it may be, no one can say which is claimed.
        if let (Some(direction), Some(place), None) = (direction, places.pop(), places.pop()) {
            let span = self.ast.expr(end).span;
            let what = if direction == Some(Direction::Input) { Use::In } else { Use::Out };
            self.not_twice(&place, what, span);
            let number = self.next_claim();
            self.claims.push(Claim { place, end: direction, number, span });
        }
        self.process(body);
        self.claims.truncate(claims);
    }

    pub(crate) fn next_claim(&mut self) -> u32 {
        self.claims_made += 1;
        self.claims_made
    }

    /// Who claims what it has claimed waits for itself.
    pub(crate) fn not_twice(&mut self, place: &AccessPath, what: Use, span: Span) {
        let Some(claim) = self.claims.iter().find(|claim| claim.covers(place, what)) else { return };
        let text = self.program.spelling(place.root);
        let message = format!("`{text}` is claimed already, and a second CLAIM would wait for ever");
        let complaint = Diagnostic::new(Code::Claim, span, message).also(claim.span, "claimed here");
        self.complain(complaint);
    }

    /// The claim under which an end is used here; a SHARED one that is under none is complained of.
    pub(crate) fn held_here(&mut self, place: &AccessPath, what: Use, span: Span) -> Option<Held> {
        if !matches!(what, Use::In | Use::Out) {
            return None;
        }
        if let Some(claim) = self.claims.iter().rev().find(|claim| claim.covers(place, what)) {
            return Some(claim.held());
        }
        let ty = self.program.name(place.root).ty;
        if self.is_shared(ty, what) && !self.exempt(place.root) {
            self.report_unclaimed(place.root, span);
        }
        None
    }

    fn report_unclaimed(&mut self, root: NameId, span: Span) {
        let text = self.program.spelling(root).to_owned();
        let message = format!("`{text}` is SHARED and may only be used inside CLAIM `{text}`");
        let mut complaint = Diagnostic::new(Code::Claim, span, message);
        if let Some(other) = self.claims.iter().rev().find(|claim| claim.place.root == root) {
            complaint = complaint.also(other.span, "this claims another end, or perhaps another element");
        }
        self.complain(complaint);
    }

    /// Whether the end that is so used of something of this type is SHARED.
    pub(crate) fn is_shared(&self, ty: TypeId, what: Use) -> bool {
        let types = &self.program.types;
        match types.get(types.innermost(ty)) {
            Type::Chan { shared, .. } => shared.has(end_of(what)),
            Type::End { shared, .. } => shared,
            _ => false,
        }
    }

    /// Whether a parameter's claim is the callee's to make, for a use that the callee's summary does not have.
    pub(crate) fn held_by_callee(&mut self, formal: NameId, what: Use) -> Option<Held> {
        let ty = self.program.name(formal).ty;
        if !matches!(what, Use::In | Use::Out) || !self.is_shared(ty, what) {
            return None;
        }
        let types = &self.program.types;
        let bundle = matches!(types.get(types.innermost(ty)), Type::End { .. });
        Some(Held { number: self.next_claim(), bundle })
    }

    /// A SHARED end that is lent as one that is not must not be moved by the callee.
    pub(crate) fn lent_end_stays(&mut self, actual: &Actual, summary: &Summary, span: Span) {
        let types = &self.program.types;
        let shared = |ty| match types.get(types.innermost(ty)) {
            Type::End { shared, .. } => Some(shared),
            _ => None,
        };
        let lent = shared(self.program.name(actual.formal).ty) == Some(false)
            && shared(self.program.type_of(actual.argument)) == Some(true);
        let moves =
            |access: &super::access::Access| access.root == actual.formal && access.what == Use::Write;
        if lent && summary.accesses.iter().any(moves) {
            let message = "the routine moves or changes this end, which is SHARED here and not there";
            self.complain(Diagnostic::new(Code::Claim, span, message));
        }
    }
}

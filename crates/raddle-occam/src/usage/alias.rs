//! Owns: abbreviations: what they name, and what may not be used meanwhile (A1, A2, A4).
//! May use: `program`, `raddle-occam-syntax`.
//! Never: looks at PAR.

use super::Walker;
use super::access::{Access, AccessPath, PathId, Use};
use super::overlap::Instances;
use crate::ast::Direction;
use crate::diag::{Code, Diagnostic};
use crate::program::NameId;
use crate::source::Span;

/// What a reference abbreviation names.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    /// The places; `via` holds the abbreviation itself.
    pub(crate) places: Vec<AccessPath>,
    /// Whether it is a table of channels, of which a subscript chooses one.
    pub(crate) table: bool,
}

impl Alias {
    /// The variable that the abbreviation names as a whole.
    pub(crate) fn whole(&self) -> Option<NameId> {
        match self.places.as_slice() {
            [place] if place.path.is_empty() && !place.opaque && !self.table => Some(place.root),
            _ => None,
        }
    }
}

/// What an abbreviation forbids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ban {
    /// Any use but through the abbreviation (A1); of a channel only the end that is abbreviated, if one is.
    Use(Option<Direction>),
    /// Any change (A2).
    Change,
}

/// A ban in force.
#[derive(Clone, Debug)]
pub(crate) struct Freeze {
    pub(crate) place: AccessPath,
    pub(crate) ban: Ban,
    /// The abbreviation.
    pub(crate) by: NameId,
    pub(crate) span: Span,
    pub(crate) facts: PathId,
}

impl Walker<'_> {
    /// Checks a use against the abbreviations in scope.
    pub(crate) fn check_freezes(&mut self, access: &Access) {
        if self.freezes.is_empty() || self.options.source.no_alias_check {
            return;
        }
        let found = (0..self.freezes.len()).rev().find(|&at| {
            let freeze = &self.freezes[at];
            freeze.place.root == access.root
                && !access.via.contains(&freeze.by)
                && bans(freeze.ban, access.what)
        });
        let Some(at) = found else { return };
        let freeze = self.freezes[at].clone();
        let permits = |name: NameId| self.program.name(name).permits_aliases;
        if permits(access.root) || permits(freeze.by) {
            return;
        }
        let frozen = freeze.place.access(Use::Write, freeze.span, freeze.facts);
        if self.meet(access, &frozen, &Instances::Same).is_none() {
            return;
        }
        let (text, by) =
            (self.program.spelling(access.root).to_owned(), self.program.spelling(freeze.by).to_owned());
        let complaint = match freeze.ban {
            Ban::Use(_) => Diagnostic::new(
                Code::AliasReference,
                access.span,
                format!("`{text}` is {} while it is abbreviated as `{by}`", access.what.verb()),
            )
            .help(format!("use it as `{by}` here, or end the scope of `{by}` first")),
            Ban::Change => Diagnostic::new(
                Code::AliasFrozen,
                access.span,
                format!("`{text}` is {} while `{by}` depends on it", access.what.verb()),
            )
            .help(format!("change it after the scope of `{by}`, or give `{by}` a copy with INITIAL")),
        };
        self.complain(complaint.also(freeze.span, format!("`{by}` is made of it here")));
        // One message for each abbreviation is enough.
        self.freezes[at].ban = Ban::Use(None);
        self.freezes[at].place = AccessPath::whole(freeze.by);
    }

    pub(crate) fn freeze(&mut self, place: &AccessPath, ban: Ban, by: NameId, span: Span) {
        let facts = self.path;
        self.freezes.push(Freeze { place: place.clone(), ban, by, span, facts });
    }
}

fn bans(ban: Ban, what: Use) -> bool {
    match (ban, what) {
        (Ban::Change, _) => what == Use::Write,
        (Ban::Use(Some(Direction::Input)), Use::Out) | (Ban::Use(Some(Direction::Output)), Use::In) => false,
        (Ban::Use(_), _) => true,
    }
}

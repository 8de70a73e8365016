//! Owns: rule U6 of barriers: who may use one in parallel, and in which state.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: counts members; the machine does.
//!
//! Whoever can name a barrier is a member of it: the declaration makes one, who gets it as a parameter acts for its
//! caller, and of the branches of a PAR one may act for the process that began it. For more than one the PAR says
//! ENROLL. So a use of a barrier counts as a change of a variable, but between the branches of a PAR that enrolls them
//! it does not.

use super::Walker;
use super::access::{Access, Step, Use};
use crate::ast::{ExprId, ProcessId};
use crate::diag::{Code, Diagnostic};
use crate::program::NameId;
use crate::source::Span;

/// A barrier that a PAR enrolls its branches in.
pub(crate) struct Enrolled {
    root: NameId,
    path: Vec<Step>,
}

impl Walker<'_> {
    /// A use of a barrier; the variables that it may be.
    fn use_barrier(&mut self, barrier: ExprId) -> Vec<NameId> {
        let span = self.ast.expr(barrier).span;
        let places = self.places(barrier);
        for place in &places {
            self.check_defined(place, span);
            // Not the variable: who gives it another barrier changes that.
            let members = place.clone().step(Step::Size, &mut self.table);
            self.touch(&members, Use::Write, span);
        }
        places.iter().map(|place| place.root).collect()
    }

    pub(crate) fn sync(&mut self, barrier: ExprId) {
        self.use_barrier(barrier);
    }

    pub(crate) fn resign(&mut self, barrier: ExprId, body: ProcessId) {
        let span = self.ast.expr(barrier).span;
        let roots = self.use_barrier(barrier);
        let before = self.resigned.len();
        self.resigned.extend(roots.into_iter().map(|root| (root, span)));
        self.process(body);
        self.resigned.truncate(before);
    }

    pub(crate) fn enroll(&mut self, barriers: &[ExprId], par: ProcessId) {
        let mut all = Vec::new();
        self.enrolls_once(barriers);
        for &barrier in barriers {
            let found = self.use_barrier(barrier);
            self.enrolls_nothing_given(&found, self.ast.expr(barrier).span);
            let places = self.places(barrier).into_iter();
            all.extend(places.map(|place| Enrolled { root: place.root, path: place.path }));
        }
        self.enrolling = all;
        self.process(par);
    }

    /// Who is a member twice, and comes once, is waited for without end.
    fn enrolls_once(&mut self, barriers: &[ExprId]) {
        let places: Vec<_> = barriers.iter().map(|&barrier| self.places(barrier)).collect();
        for (at, two) in places.iter().enumerate() {
            let before = places[..at].iter().enumerate();
            let same = before.flat_map(|(first, ones)| ones.iter().map(move |one| (first, one)));
            for (first, one) in same {
                let Some(two) = two.iter().find(|two| self.places_meet(one, two)) else { continue };
                let text = self.program.spelling(two.root).to_owned();
                let message = format!(
                    "`{text}` is enrolled twice here, or may be: each branch would have to come twice"
                );
                let complaint = Diagnostic::new(Code::Barrier, self.ast.expr(barriers[at]).span, message);
                let also = self.ast.expr(barriers[first]).span;
                self.complain(complaint.also(also, "here, too").help("name each barrier once"));
                break;
            }
        }
    }

    /// Of what a PAR enrolls its branches in, the barriers that are no elements of arrays: only their phases are known.
    pub(crate) fn whole(enrolled: &[Enrolled]) -> Vec<NameId> {
        enrolled.iter().filter(|it| it.path.is_empty()).map(|it| it.root).collect()
    }

    /// Whether it is a use of one of these barriers. An element is the same one if its subscript is the same value.
    pub(crate) fn is_of(access: &Access, enrolled: &[Enrolled]) -> bool {
        let Some((Step::Size, path)) = access.path.split_last() else { return false };
        enrolled.iter().any(|it| it.root == access.root && it.path == path)
    }

    /// Whether it is a use of a barrier as its members make it, of that of another variable not.
    pub(crate) fn is_members(access: &Access) -> bool {
        matches!(access.path.last(), Some(Step::Size))
    }

    /// Who has resigned uses the barrier no more, until the RESIGN ends.
    pub(crate) fn not_resigned(&mut self, root: NameId, span: Span) {
        let Some(&(_, resigned)) = self.resigned.iter().find(|(name, _)| *name == root) else { return };
        let text = self.program.spelling(root);
        let message = format!("`{text}` is used in a RESIGN of it, where the process is no member");
        self.complain(Diagnostic::new(Code::Barrier, span, message).also(resigned, "resigned here"));
    }
}

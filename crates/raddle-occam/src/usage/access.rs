//! Owns: places in variables, and the record of who touches them.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: compares; `overlap` does.

use super::claim::Held;
use super::phase::Phases;
use super::poly::{Fact, Poly};
use super::table::SymTable;
use crate::program::NameId;
use crate::source::Span;
use crate::symbol::Symbol;
use std::rc::Rc;

/// Slices of slices that are remembered.
const WITHIN_MAX: usize = 3;

/// How many elements a step chooses from, and what is known of the slices that it was chosen through.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Extent {
    /// The size of the array, if it is known.
    pub(crate) size: Option<u32>,
    /// First element and count of the slices that the step was taken in, the innermost first.
    pub(crate) within: Vec<(Poly, Poly)>,
}

/// One step from a variable into a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// `[index]`.
    Index(Poly, Extent),
    /// `FROM first FOR count`.
    Range(Poly, Poly, Extent),
    /// A field.
    Field(Symbol),
    /// How many elements a MOBILE array has; who gives it another array changes that.
    Size,
}

/// A variable or a part of it, and how it was reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AccessPath {
    pub(crate) root: NameId,
    pub(crate) path: Vec<Step>,
    /// Whether the path stops short of the place, because its layout was reinterpreted.
    pub(crate) opaque: bool,
    /// The abbreviations through which it was reached.
    pub(crate) via: Vec<NameId>,
}

/// What is done to a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Use {
    Read,
    Write,
    /// The reading end of a channel.
    In,
    /// The writing end of a channel.
    Out,
}

impl Use {
    /// Whether two processes may not do both in parallel.
    pub(crate) fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (Self::Read, Self::Read) => false,
            (Self::In, Self::In) | (Self::Out, Self::Out) => true,
            (one, two) => one == Self::Write || two == Self::Write,
        }
    }

    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "changed",
            Self::In => "input from",
            Self::Out => "output to",
        }
    }
}

/// The number of a condition in [`Paths`]; 0 is "always".
pub(crate) type PathId = u32;

/// The conditions under which code is reached: a tree, each node one more fact than its parent.
#[derive(Default)]
pub(crate) struct Paths {
    nodes: Vec<(PathId, Fact)>,
}

impl Paths {
    pub(crate) fn with(&mut self, parent: PathId, fact: Fact) -> PathId {
        self.nodes.push((parent, fact));
        self.nodes.len() as PathId
    }

    /// The facts from `path` up to but without `top`, the newest first.
    pub(crate) fn facts(&self, mut path: PathId, top: PathId) -> Vec<&Fact> {
        let mut list = Vec::new();
        while path != top && path != 0 {
            let (parent, fact) = &self.nodes[path as usize - 1];
            list.push(fact);
            path = *parent;
        }
        list
    }

    /// Whether everything known at `above` is known at `path`.
    pub(crate) fn below(&self, mut path: PathId, above: PathId) -> bool {
        while path != above && path != 0 {
            path = self.nodes[path as usize - 1].0;
        }
        path == above
    }
}

/// One use of one place.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) root: NameId,
    pub(crate) path: Rc<[Step]>,
    pub(crate) what: Use,
    pub(crate) span: Span,
    pub(crate) facts: PathId,
    /// The abbreviations through which the place was reached.
    pub(crate) via: Rc<[NameId]>,
    /// The claim under which it is used.
    pub(crate) held: Option<Held>,
    /// The number of the FORK whose process does it; 0 if the walked one does itself.
    pub(crate) fork: u32,
    /// The phases of barriers at which it may be made.
    pub(crate) phases: Phases,
}

impl Extent {
    pub(crate) fn of(size: Option<u32>) -> Self {
        Self { size, within: Vec::new() }
    }

    fn map(&self, with: &mut impl FnMut(&Poly) -> Poly) -> Self {
        let within = self.within.iter().map(|(from, count)| (with(from), with(count))).collect();
        Self { size: self.size, within }
    }

    /// What a running program has checked before it takes the elements `from` up to `end`.
    fn bounds(&self, from: &Poly, end: Option<&Poly>, facts: &mut Vec<Fact>) {
        let size = self.size.map(|size| (Poly::default(), Poly::constant(i64::from(size))));
        for (first, count) in self.within.iter().chain(&size) {
            facts.extend(Fact::at_most(first, from));
            let last = first.plus(count, 1);
            facts.extend(last.zip(end).and_then(|(last, end)| Fact::at_most(end, &last)));
        }
        facts.push(Fact::NotNegative(from.clone()));
    }
}

impl Step {
    pub(crate) fn map(&self, with: &mut impl FnMut(&Poly) -> Poly) -> Self {
        match self {
            Self::Index(at, extent) => Self::Index(with(at), extent.map(with)),
            Self::Range(from, count, extent) => Self::Range(with(from), with(count), extent.map(with)),
            Self::Field(name) => Self::Field(*name),
            Self::Size => Self::Size,
        }
    }

    pub(crate) fn polys(&self, each: &mut impl FnMut(&Poly)) {
        match self {
            Self::Index(at, _) => each(at),
            Self::Range(from, count, _) => {
                each(from);
                each(count);
            }
            Self::Field(_) | Self::Size => {}
        }
    }

    /// A step into what this step leaves: an index into a slice becomes an index into the array.
    pub(crate) fn then(&self, next: &Self, table: &mut SymTable) -> Option<Self> {
        let Self::Range(from, count, extent) = self else { return None };
        let mut moved = |by: &Poly| from.plus(by, 1).unwrap_or_else(|| Poly::symbol(table.fresh()));
        let (next, inner) = match next {
            Self::Index(at, inner) => (Self::Index(moved(at), Extent::default()), inner),
            Self::Range(first, length, inner) => {
                (Self::Range(moved(first), length.clone(), Extent::default()), inner)
            }
            Self::Field(_) | Self::Size => return None,
        };
        let mut within: Vec<(Poly, Poly)> =
            inner.within.iter().map(|(first, length)| (moved(first), length.clone())).collect();
        within.push((from.clone(), count.clone()));
        within.extend(extent.within.iter().cloned());
        within.truncate(WITHIN_MAX);
        let whole = Extent { size: extent.size, within };
        Some(match next {
            Self::Index(at, _) => Self::Index(at, whole),
            Self::Range(first, length, _) => Self::Range(first, length, whole),
            Self::Field(_) | Self::Size => return None,
        })
    }

    /// What a running program has checked before it takes the step.
    pub(crate) fn bounds(&self, facts: &mut Vec<Fact>) {
        match self {
            Self::Index(at, extent) => extent.bounds(at, at.add(1).as_ref(), facts),
            Self::Range(from, count, extent) => {
                facts.extend(count.add(-1).map(Fact::NotNegative));
                extent.bounds(from, from.plus(count, 1).as_ref(), facts);
            }
            Self::Field(_) | Self::Size => {}
        }
    }
}

impl AccessPath {
    /// A use of the place.
    pub(crate) fn access(&self, what: Use, span: Span, facts: PathId) -> Access {
        let (path, via) = (self.path.as_slice().into(), self.via.as_slice().into());
        Access { root: self.root, path, what, span, facts, via, held: None, fork: 0, phases: None }
    }

    pub(crate) fn whole(root: NameId) -> Self {
        Self { root, path: Vec::new(), opaque: false, via: Vec::new() }
    }

    /// The place one step further in.
    pub(crate) fn step(mut self, step: Step, table: &mut SymTable) -> Self {
        if self.opaque {
            return self;
        }
        if let Some(last) = self.path.last()
            && let Some(joined) = last.then(&step, table)
        {
            self.path.pop();
            self.path.push(joined);
            return self;
        }
        self.path.push(step);
        self
    }
}

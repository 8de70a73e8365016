//! Owns: whether two places can be the same memory.
//! May use: `raddle-occam-syntax`.
//! Never: answers "apart" without proof.

use super::Walker;
use super::access::{Access, PathId, Step};
use super::poly::{Fact, Poly, Sym};
use super::quick;
use super::solve;
use super::table::SymTable;
use super::witness::{self, Search};
use crate::symbol::FastMap;

/// How two accesses are compared.
#[derive(Clone, Debug)]
pub(crate) enum Instances {
    /// Both happen in the same surroundings.
    Same,
    /// In two instances of a replicated PAR, the first with the smaller `number`; symbols born since `mark` differ.
    Different { mark: u32, number: Sym },
}

/// How two accesses meet, and how the second one's symbols were renamed.
pub(crate) struct Meeting {
    pub(crate) renamed: FastMap<Sym, Sym>,
    /// Values of the symbols with which they meet, if they were looked for and found.
    pub(crate) witness: Option<FastMap<Sym, i64>>,
    pub(crate) searched: bool,
}

const SYMBOLS_MAX: usize = 80;

impl Walker<'_> {
    /// The facts under which the accesses touch the same memory, or `None` if they provably never do.
    pub(crate) fn meet(&mut self, one: &Access, two: &Access, instances: &Instances) -> Option<Meeting> {
        if quick::apart(&self.table, &one.path, &two.path, instances) {
            return None;
        }
        if matches!(instances, Instances::Same) && one.path.is_empty() && one.facts == 0 && two.facts == 0 {
            return Some(Meeting { renamed: FastMap::default(), witness: None, searched: false });
        }
        let mut renamed = FastMap::default();
        let second: Vec<Step> = match *instances {
            Instances::Same => two.path.to_vec(),
            Instances::Different { mark, .. } => two
                .path
                .iter()
                .map(|step| step.map(&mut |poly| rename(&mut self.table, poly, mark, &mut renamed)))
                .collect(),
        };
        let mut facts = overlap(&one.path, &second, &mut self.table)?;
        for step in one.path.iter().chain(&second) {
            step.bounds(&mut facts);
        }
        self.path_facts(one.facts, &mut facts);
        match *instances {
            Instances::Same => self.path_facts(two.facts, &mut facts),
            Instances::Different { mark, number } => {
                let mut list = Vec::new();
                self.path_facts(two.facts, &mut list);
                for fact in list {
                    facts.extend(
                        fact.map(&mut |poly| Some(rename(&mut self.table, poly, mark, &mut renamed))),
                    );
                }
                let other = rename(&mut self.table, &Poly::symbol(number), mark, &mut renamed);
                facts.extend(Fact::less(&Poly::symbol(number), &other));
            }
        }
        self.definitions(&mut facts);
        if self.solved < super::SOLVED_MAX {
            self.solved += 1;
            if solve::impossible(&mut self.table, &facts) {
                return None;
            }
        }
        if self.tried_apart(one, two, instances) {
            return None;
        }
        let (mut witness, mut searched) = (None, false);
        if self.searches < super::SEARCHES_MAX {
            self.searches += 1;
            searched = true;
            match witness::find(&self.table, &facts) {
                Search::Impossible => return None,
                Search::Found(values) => witness = Some(values),
                Search::Unknown => {}
            }
        }
        Some(Meeting { renamed, witness, searched })
    }

    fn path_facts(&self, path: PathId, into: &mut Vec<Fact>) {
        into.extend(self.paths.facts(path, 0).into_iter().cloned());
    }

    /// Adds what holds of every symbol in the facts, and of the symbols in that.
    fn definitions(&self, facts: &mut Vec<Fact>) {
        let mut seen: Vec<Sym> = Vec::new();
        let mut at = 0;
        while at < facts.len() {
            let mut found = Vec::new();
            facts[at].polys(&mut |poly| found.extend(poly.terms.iter().map(|term| term.0)));
            while let Some(symbol) = found.pop() {
                if seen.contains(&symbol) || seen.len() >= SYMBOLS_MAX {
                    continue;
                }
                seen.push(symbol);
                let info = self.table.info(symbol);
                found.extend(info.product.iter().flatten());
                if let Some(how) = &info.computed {
                    how.polys(&mut |poly| found.extend(poly.terms.iter().map(|term| term.0)));
                }
                facts.extend(info.facts.iter().cloned());
            }
            at += 1;
        }
    }
}

/// The same value in another instance.
fn rename(table: &mut SymTable, poly: &Poly, mark: u32, renamed: &mut FastMap<Sym, Sym>) -> Poly {
    if poly.terms.iter().all(|&(symbol, _)| !table.varies(symbol, mark)) {
        return poly.clone();
    }
    let result = table.substitute(poly, &mut |table, symbol| {
        Some(Poly::symbol(rename_symbol(table, symbol, mark, renamed)))
    });
    // A product too long for the table is an unknown value, which is sound.
    result.unwrap_or_else(|| Poly::symbol(table.fresh()))
}

fn rename_symbol(table: &mut SymTable, symbol: Sym, mark: u32, renamed: &mut FastMap<Sym, Sym>) -> Sym {
    if !table.varies(symbol, mark) {
        return symbol;
    }
    if let Some(&other) = renamed.get(&symbol) {
        return other;
    }
    let other = table.fresh();
    renamed.insert(symbol, other);
    table.list[other.0 as usize].vague = table.info(symbol).vague;
    let facts = table.info(symbol).facts.clone();
    for fact in facts {
        let fact = fact.map(&mut |poly| Some(rename(table, poly, mark, renamed)));
        table.define(other, fact);
    }
    if let Some(how) = table.info(symbol).computed.clone() {
        let how = how.map(&mut |poly| rename(table, poly, mark, renamed));
        table.list[other.0 as usize].computed = Some(how.into());
    }
    if let Some((name, value)) = table.shown(symbol) {
        let value = rename(table, &value, mark, renamed);
        table.show(other, name, value);
    }
    other
}

/// The facts under which two paths lead to overlapping memory; `None` if none can.
fn overlap(one: &[Step], two: &[Step], table: &mut SymTable) -> Option<Vec<Fact>> {
    let mut facts = Vec::new();
    for (left, right) in one.iter().zip(two) {
        match (left, right) {
            (Step::Field(left), Step::Field(right)) if left != right => return None,
            // Elements come and go with the whole array only.
            (Step::Size, Step::Index(..) | Step::Range(..))
            | (Step::Index(..) | Step::Range(..), Step::Size) => {
                return None;
            }
            (Step::Index(left, _), Step::Index(right, _)) => {
                let difference = left.minus(right).unwrap_or_else(|| Poly::symbol(table.fresh()));
                match difference.as_constant() {
                    Some(0) => {}
                    Some(_) => return None,
                    None => facts.push(Fact::Zero(difference)),
                }
            }
            (Step::Index(at, _), Step::Range(from, count, _))
            | (Step::Range(from, count, _), Step::Index(at, _)) => {
                facts.extend(Fact::at_most(from, at));
                facts.extend(from.plus(count, 1).and_then(|end| Fact::less(at, &end)));
            }
            (Step::Range(from, count, _), Step::Range(other, length, _)) => {
                facts.extend(from.plus(count, 1).and_then(|end| Fact::less(other, &end)));
                facts.extend(other.plus(length, 1).and_then(|end| Fact::less(from, &end)));
                // The two parts meet somewhere; what lies within them is not compared further.
                break;
            }
            _ => {}
        }
        if matches!((left, right), (Step::Index(..), Step::Range(..)) | (Step::Range(..), Step::Index(..))) {
            // One element against a slice of elements: the steps behind are of different depth.
            break;
        }
    }
    let impossible = |fact: &Fact| match fact {
        Fact::NotNegative(poly) => poly.as_constant().is_some_and(|value| value < 0),
        _ => false,
    };
    (!facts.iter().any(impossible)).then_some(facts)
}

//! Owns: the messages about races, with witnesses.
//! May use: `raddle-occam-syntax`.
//! Never: decides.

use super::Walker;
use super::access::{Access, Step, Use};
use super::computed::Computed;
use super::overlap::{Instances, Meeting};
use super::poly::{Poly, Sym};
use super::witness;
use crate::diag::{Code, Diagnostic};
use crate::symbol::FastMap;

impl Walker<'_> {
    pub(crate) fn report_race(&mut self, one: &Access, two: &Access, meeting: &Meeting, how: &Instances) {
        let types = &self.program.types;
        let ty = types.innermost(self.program.name(one.root).ty);
        if types.is_barrier(ty) && Walker::is_members(one) {
            return self.report_barrier(one, two, how);
        }
        let text = self.program.spelling(one.root).to_owned();
        let channel = matches!(one.what, Use::In | Use::Out);
        let element = !one.path.is_empty() && !two.path.is_empty();
        let searched = meeting.searched;
        let witness = meeting.witness.as_ref().filter(|_| self.nameable(one) && self.nameable(two));
        let code = match (element, witness.is_some() || !searched) {
            (true, true) => Code::RaceElement,
            (_, false) => Code::RaceUnproved,
            (false, true) if channel => Code::RaceChannel,
            (false, true) => Code::RaceVariable,
        };
        let (place, other) = (self.show_place(one), self.show_place(two));
        let parallel = match how {
            Instances::Same => "another branch",
            Instances::Different { .. } => "another instance",
        };
        let message = match code {
            Code::RaceUnproved => format!("cannot prove that `{place}` and `{other}` differ in parallel"),
            _ if place == other => {
                format!(
                    "`{text}` is {} here and {} in {parallel} of the PAR",
                    one.what.verb(),
                    two.what.verb()
                )
            }
            _ => format!(
                "`{place}` is {} here and `{other}` is {} in {parallel} of the PAR",
                one.what.verb(),
                two.what.verb()
            ),
        };
        let mut complaint = Diagnostic::new(code, one.span, message).label(one.what.verb());
        if two.span != one.span {
            complaint = complaint.also(two.span, two.what.verb());
        }
        if let Some(note) = witness.and_then(|values| self.witness_note(one, meeting, values, how)) {
            complaint = complaint.note(note);
        }
        complaint = complaint.help(match code {
            _ if one.held.is_some() || two.held.is_some() => {
                "the branches hold a CLAIM around the PAR together; CLAIM the end in each of them instead"
            }
            Code::RaceChannel => "give each branch a channel of its own, or make the end SHARED and CLAIM it",
            Code::RaceVariable => "give each branch a variable of its own, or send the value over a channel",
            _ => "give each branch elements of its own; if they are, and this cannot be seen, say #PRAGMA SHARED",
        });
        self.complain(complaint);
    }

    fn report_barrier(&mut self, one: &Access, two: &Access, how: &Instances) {
        let text = self.program.spelling(one.root);
        let parallel = match how {
            Instances::Same => "another branch",
            Instances::Different { .. } => "another instance",
        };
        let message = format!("`{text}` is used here and in {parallel} of a PAR that does not ENROLL them");
        let mut complaint = Diagnostic::new(Code::Barrier, one.span, message);
        if two.span != one.span {
            complaint = complaint.also(two.span, "and here");
        }
        let array = self.program.types.as_array(self.program.name(one.root).ty).is_some();
        let which = if array { "[...]" } else { "" };
        self.complain(complaint.help(format!("make each of them a member: PAR ENROLL {text}{which}")));
    }

    /// Whether values of names decide which element it is; an element of another array does not, nor what a loop did.
    fn nameable(&self, access: &Access) -> bool {
        let mut all = true;
        for step in access.path.iter() {
            step.polys(&mut |poly| {
                all &= poly.terms.iter().all(|&(symbol, _)| {
                    let info = self.table.info(symbol);
                    let made = info.product.is_some() || info.computed.is_some();
                    let known = made || self.table.shown(symbol).is_some() || !info.facts.is_empty();
                    known && !info.vague
                });
            });
        }
        all
    }

    /// `b[(j * 8) + i]`, by the text where it stands, or the variable's name.
    fn show_place(&self, access: &Access) -> String {
        let mut text = self.program.spelling(access.root).to_owned();
        for step in access.path.iter() {
            match step {
                Step::Index(at, _) => text.push_str(&format!("[{}]", self.show_poly(at))),
                Step::Range(from, count, _) => {
                    text = format!("[{text} FROM {} FOR {}]", self.show_poly(from), self.show_poly(count));
                }
                Step::Field(name) => text.push_str(&format!("[{}]", self.program.symbols.text(*name))),
                Step::Size => text = format!("SIZE {text}"),
            }
        }
        text
    }

    fn show_poly(&self, poly: &Poly) -> String {
        let mut parts: Vec<String> = Vec::new();
        for &(symbol, factor) in &poly.terms {
            let name = self.show_symbol(symbol);
            parts.push(if factor == 1 { name } else { format!("({factor} * {name})") });
        }
        if poly.constant != 0 || parts.is_empty() {
            parts.push(poly.constant.to_string());
        }
        parts.join(" + ")
    }

    fn show_symbol(&self, symbol: Sym) -> String {
        let info = self.table.info(symbol);
        match (&info.product, self.table.shown(symbol)) {
            (Some(factors), _) => {
                let names: Vec<String> = factors.iter().map(|&factor| self.show_symbol(factor)).collect();
                format!("({})", names.join(" * "))
            }
            (None, Some((name, _))) => self.program.spelling(name).to_owned(),
            (None, None) => {
                info.computed.as_ref().map_or_else(|| "...".to_owned(), |how| self.show_computed(how))
            }
        }
    }

    fn show_computed(&self, how: &Computed) -> String {
        match how {
            Computed::Operator(operator, left, right, _) => {
                let sign = operator.spelling();
                format!("({} {sign} {})", self.show_poly(left), self.show_poly(right))
            }
            Computed::Element(name, subscripts) => {
                let subscripts: String =
                    subscripts.iter().map(|at| format!("[{}]", self.show_poly(at))).collect();
                format!("{}{subscripts}", self.program.spelling(*name))
            }
        }
    }

    /// `i = 8, j = 0` and `i = 0, j = 1` both touch `b[8]`.
    fn witness_note(
        &self,
        one: &Access,
        meeting: &Meeting,
        values: &FastMap<Sym, i64>,
        how: &Instances,
    ) -> Option<String> {
        let common = |symbol: Sym| match how {
            Instances::Same => true,
            Instances::Different { mark, .. } => !self.table.varies(symbol, *mark),
        };
        let renamed: Vec<Sym> = meeting.renamed.values().copied().collect();
        let mut shared: Vec<String> = Vec::new();
        let (mut first, mut second): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut symbols: Vec<Sym> = values.keys().copied().collect();
        symbols.sort_unstable();
        for symbol in symbols {
            let Some((name, value)) = self.table.shown(symbol) else { continue };
            let Some(value) = witness::value(&self.table, values, &value) else { continue };
            let text = format!("{} = {value}", self.program.spelling(name));
            let list = if renamed.contains(&symbol) {
                &mut second
            } else if common(symbol) {
                &mut shared
            } else {
                &mut first
            };
            if !list.contains(&text) {
                list.push(text);
            }
        }
        let place = self.place_value(one, values)?;
        [&mut shared, &mut first, &mut second].into_iter().for_each(|list| list.sort());
        let when = if shared.is_empty() { String::new() } else { format!("when {}, ", shared.join(", ")) };
        Some(match how {
            Instances::Same => format!("{when}both touch `{place}`"),
            Instances::Different { .. } => {
                format!("{when}`{}` and `{}` both touch `{place}`", first.join(", "), second.join(", "))
            }
        })
    }

    fn place_value(&self, access: &Access, values: &FastMap<Sym, i64>) -> Option<String> {
        let mut text = self.program.spelling(access.root).to_owned();
        let value = |poly: &Poly| witness::value(&self.table, values, poly);
        for step in access.path.iter() {
            match step {
                Step::Index(at, _) => text.push_str(&format!("[{}]", value(at)?)),
                Step::Range(from, count, _) => {
                    text = format!("[{text} FROM {} FOR {}]", value(from)?, value(count)?);
                }
                Step::Field(name) => text.push_str(&format!("[{}]", self.program.symbols.text(*name))),
                Step::Size => text = format!("SIZE {text}"),
            }
        }
        Some(text)
    }
}

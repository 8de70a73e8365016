//! Owns: what is known of each symbol: its age, its factors, the facts that define it.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: solves.
//!
//! The age decides what differs between two instances of a replicated PAR: a symbol born inside the PAR's body
//! stands for another value in each instance, an older one for the same.

use super::computed::{Computed, Constants};
use super::poly::{Fact, Poly, Sym};
use crate::ast::{Basic, Dyadic};
use crate::program::NameId;
use crate::symbol::FastMap;
use std::rc::Rc;

/// A symbol.
pub(crate) struct Info {
    /// The symbol that was new when this one's value came into being.
    pub(crate) birth: u32,
    /// Its factors, sorted, if it is a product.
    pub(crate) product: Option<Box<[Sym]>>,
    /// What holds of it wherever it occurs.
    pub(crate) facts: Vec<Fact>,
    /// Its smallest and largest value, where the text says so.
    pub(crate) range: Option<Box<(i64, i64)>>,
    /// Whether it stands for what earlier rounds of a loop have made of a variable, which is not followed.
    pub(crate) vague: bool,
    /// How it comes from others, where that is no sum.
    pub(crate) computed: Option<Rc<Computed>>,
    /// The name to show for it (or none), and that name's value unless it is the symbol itself.
    name: NameId,
    shown: Option<Box<Poly>>,
}

#[derive(Default)]
pub(crate) struct SymTable {
    pub(crate) list: Vec<Info>,
    products: FastMap<Box<[Sym]>, Sym>,
    quotients: FastMap<(Poly, Poly), Sym>,
    computed: FastMap<Computed, Sym>,
    pub(crate) constants: FastMap<NameId, Option<Rc<Constants>>>,
}

/// Factors of a product; more are an unknown value.
const FACTORS_MAX: usize = 4;

impl SymTable {
    /// The number that the next symbol gets.
    pub(crate) fn next(&self) -> u32 {
        self.list.len() as u32
    }

    pub(crate) fn fresh(&mut self) -> Sym {
        self.fresh_born(self.next())
    }

    /// A new symbol for a value that is as old as `birth`.
    pub(crate) fn fresh_born(&mut self, birth: u32) -> Sym {
        let symbol = Sym(self.next());
        self.list.push(Info {
            birth,
            product: None,
            facts: Vec::new(),
            range: None,
            vague: false,
            computed: None,
            name: NameId::NONE,
            shown: None,
        });
        symbol
    }

    pub(crate) fn info(&self, symbol: Sym) -> &Info {
        &self.list[symbol.0 as usize]
    }

    /// The name to show for a symbol, and that name's value.
    pub(crate) fn shown(&self, symbol: Sym) -> Option<(NameId, Poly)> {
        let info = self.info(symbol);
        let value = || info.shown.as_ref().map_or_else(|| Poly::symbol(symbol), |value| (**value).clone());
        (info.name != NameId::NONE).then(|| (info.name, value()))
    }

    pub(crate) fn define(&mut self, symbol: Sym, fact: Option<Fact>) {
        self.list[symbol.0 as usize].facts.extend(fact);
    }

    pub(crate) fn show(&mut self, symbol: Sym, name: NameId, value: Poly) {
        let info = &mut self.list[symbol.0 as usize];
        info.name = name;
        info.shown = (value != Poly::symbol(symbol)).then(|| Box::new(value));
    }

    /// Whether the symbol differs between instances of what began when `mark` was next.
    pub(crate) fn varies(&self, symbol: Sym, mark: u32) -> bool {
        let info = self.info(symbol);
        match &info.product {
            Some(factors) => factors.iter().any(|&factor| self.varies(factor, mark)),
            None => info.birth >= mark,
        }
    }

    fn factors(&self, symbol: Sym) -> Vec<Sym> {
        match &self.info(symbol).product {
            Some(factors) => factors.to_vec(),
            None => vec![symbol],
        }
    }

    /// The symbol for a product of two symbols.
    fn product(&mut self, left: Sym, right: Sym) -> Option<Sym> {
        let mut factors = self.factors(left);
        factors.extend(self.factors(right));
        self.product_of(factors)
    }

    pub(crate) fn product_of(&mut self, mut factors: Vec<Sym>) -> Option<Sym> {
        if let &[only] = factors.as_slice() {
            return Some(only);
        }
        if factors.is_empty() || factors.len() > FACTORS_MAX {
            return None;
        }
        factors.sort_unstable();
        let factors = factors.into_boxed_slice();
        if let Some(&symbol) = self.products.get(&factors) {
            return Some(symbol);
        }
        let symbol = self.fresh();
        self.list[symbol.0 as usize].product = Some(factors.clone());
        self.products.insert(factors, symbol);
        Some(symbol)
    }

    pub(crate) fn times(&mut self, left: &Poly, right: &Poly) -> Option<Poly> {
        let mut sum = right.scale(left.constant)?;
        for &(one, factor) in &left.terms {
            sum = sum.plus(&Poly::symbol(one), factor.checked_mul(right.constant)?)?;
            for &(two, count) in &right.terms {
                let product = Poly::symbol(self.product(one, two)?);
                sum = sum.plus(&product, factor.checked_mul(count)?)?;
            }
        }
        Some(sum)
    }

    /// The quotient `value / by`, rounded towards 0; the same for the same operands.
    pub(crate) fn quotient(&mut self, value: &Poly, by: &Poly) -> Option<Poly> {
        if let Some(constant) = by.as_constant() {
            match (value.as_constant(), constant) {
                (_, 0) => return None,
                (_, 1) => return Some(value.clone()),
                (Some(value), _) => return value.checked_div(constant).map(Poly::constant),
                _ => {}
            }
        }
        let key = (value.clone(), by.clone());
        if let Some(&symbol) = self.quotients.get(&key) {
            return Some(Poly::symbol(symbol));
        }
        let symbol =
            self.compute(Computed::Operator(Dyadic::Divide, value.clone(), by.clone(), Basic::Int64));
        let quotient = Poly::symbol(symbol);
        let product = self.times(&quotient, by);
        let rest = product.and_then(|product| value.minus(&product));
        let fact = rest.and_then(|rest| remainder_fact(value, by, &rest));
        self.define(symbol, fact);
        self.quotients.insert(key, symbol);
        Some(quotient)
    }

    /// The symbol for what is computed so; the same for the same operands.
    pub(crate) fn compute(&mut self, how: Computed) -> Sym {
        if let Some(&symbol) = self.computed.get(&how) {
            return symbol;
        }
        let mut birth = 0;
        how.polys(&mut |poly| {
            birth = poly.terms.iter().map(|&(symbol, _)| self.birth(symbol)).max().unwrap_or(0).max(birth);
        });
        let symbol = self.fresh_born(birth);
        self.list[symbol.0 as usize].computed = Some(Rc::new(how.clone()));
        self.computed.insert(how, symbol);
        symbol
    }

    /// The value of a symbol where those that it comes from have values.
    pub(crate) fn symbol_value(&self, symbol: Sym, of: &impl Fn(Sym) -> Option<i64>) -> Option<i64> {
        let info = self.info(symbol);
        match (&info.product, &info.computed) {
            (Some(factors), _) => factors
                .iter()
                .try_fold(1_i64, |product, &factor| product.checked_mul(self.symbol_value(factor, of)?)),
            (None, Some(how)) => self.computed_value(how, of),
            (None, None) => of(symbol),
        }
    }

    /// The value that is computed so; `None` too if that would stop the program.
    pub(crate) fn computed_value(&self, how: &Computed, of: &impl Fn(Sym) -> Option<i64>) -> Option<i64> {
        let value = |poly: &Poly| poly.value(|symbol| self.symbol_value(symbol, of));
        match how {
            Computed::Operator(operator, left, right, basic) => {
                operator.fold(value(left)?, value(right)?, *basic)
            }
            Computed::Element(name, subscripts) => {
                let table = self.constants.get(name)?.as_ref()?;
                let mut at = 0;
                for (subscript, &size) in subscripts.iter().zip(&table.sizes) {
                    let subscript = usize::try_from(value(subscript)?).ok().filter(|&it| it < size)?;
                    at = at * size + subscript;
                }
                table.values.get(at).copied()
            }
        }
    }

    fn birth(&self, symbol: Sym) -> u32 {
        let info = self.info(symbol);
        match &info.product {
            Some(factors) => factors.iter().map(|&factor| self.birth(factor)).max().unwrap_or(0),
            None => info.birth,
        }
    }

    /// Replaces symbols, products included.
    pub(crate) fn substitute(
        &mut self,
        poly: &Poly,
        with: &mut impl FnMut(&mut Self, Sym) -> Option<Poly>,
    ) -> Option<Poly> {
        let mut sum = Poly::constant(poly.constant);
        for &(symbol, factor) in &poly.terms {
            if self.info(symbol).product.is_none() {
                let value = with(self, symbol)?;
                sum = sum.plus(&value, factor)?;
                continue;
            }
            let mut value = Poly::constant(1);
            for part in self.factors(symbol) {
                let part = with(self, part)?;
                value = self.times(&value, &part)?;
            }
            sum = sum.plus(&value, factor)?;
        }
        Some(sum)
    }
}

/// What holds of `rest = value \ by`: smaller than the divisor, and of the sign of the dividend.
fn remainder_fact(value: &Poly, by: &Poly, rest: &Poly) -> Option<Fact> {
    let zero = Poly::default();
    let mut cases = Vec::new();
    for positive_divisor in [true, false] {
        let size = if positive_divisor { by.clone() } else { by.scale(-1)? };
        let divisor = Fact::less(&zero, &size)?;
        let negated = rest.scale(-1)?;
        let mut positive =
            vec![Fact::NotNegative(value.clone()), Fact::NotNegative(rest.clone()), Fact::less(rest, &size)?];
        let mut negative =
            vec![Fact::less(value, &zero)?, Fact::NotNegative(negated.clone()), Fact::less(&negated, &size)?];
        if by.as_constant().is_none() {
            positive.push(divisor.clone());
            negative.push(divisor);
        }
        cases.extend([positive, negative]);
    }
    if let Some(constant) = by.as_constant() {
        cases = if constant > 0 { cases.drain(..2).collect() } else { cases.drain(2..).collect() };
    }
    Some(Fact::OneOf(cases))
}

impl SymTable {
    /// A new symbol for what a name holds from now on.
    pub(crate) fn fresh_shown(&mut self, name: NameId) -> Sym {
        let symbol = self.fresh();
        self.show(symbol, name, Poly::symbol(symbol));
        symbol
    }
}

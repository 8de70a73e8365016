//! Owns: the conditions of #IF.
//! May use: `lex::token`, `operator`, `source`, `symbol`.
//! Never: complains; `None` says that the condition cannot be read.

use crate::ast::Basic;
use crate::lex::{Kind, Token};
use crate::operator::{Dyadic, Order};
use crate::source::Sources;
use crate::symbol::{FastMap, Symbol};

const DEPTH_MAX: u32 = 50;

/// Reads one condition.
pub(crate) struct Condition<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
    defines: &'a FastMap<Symbol, Vec<Token>>,
    sources: &'a Sources,
}

impl<'a> Condition<'a> {
    pub(crate) fn new(
        tokens: &'a [Token],
        defines: &'a FastMap<Symbol, Vec<Token>>,
        sources: &'a Sources,
    ) -> Self {
        Self { tokens, at: 0, depth: 0, defines, sources }
    }

    pub(crate) fn run(&mut self) -> Option<bool> {
        let value = self.chain()?;
        (self.at == self.tokens.len()).then_some(value)
    }

    fn peek(&self) -> Option<Kind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.peek() == Some(kind);
        self.at += usize::from(found);
        found
    }

    fn chain(&mut self) -> Option<bool> {
        let mut value = self.operand()?;
        loop {
            if self.eat(Kind::And) {
                value &= self.operand()?;
            } else if self.eat(Kind::Or) {
                value |= self.operand()?;
            } else {
                return Some(value);
            }
        }
    }

    fn operand(&mut self) -> Option<bool> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        if self.eat(Kind::Not) {
            return self.operand().map(|value| !value);
        }
        if self.eat(Kind::True) {
            return Some(true);
        }
        if self.eat(Kind::False) {
            return Some(false);
        }
        if self.eat(Kind::Defined) {
            let open = self.eat(Kind::Open);
            let name = self.tokens.get(self.at).filter(|token| token.kind == Kind::Name)?;
            self.at += 1;
            return (!open || self.eat(Kind::Close)).then(|| self.defines.contains_key(&name.symbol));
        }
        if self.eat(Kind::Open) {
            let value = self.chain()?;
            return self.eat(Kind::Close).then_some(value);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Option<bool> {
        let left = self.value()?;
        let sign = self.peek()?;
        self.at += 1;
        let right = self.value()?;
        let numbers = left.parse::<i64>().ok().zip(right.parse::<i64>().ok());
        let operator = Dyadic::of(sign)?;
        match operator.row().lowering.relation?.order {
            Order::Equal => Some(left == right),
            Order::NotEqual => Some(left != right),
            Order::Less | Order::AtMost => {
                let (left, right) = numbers?;
                operator.fold(left, right, Basic::Int64).map(|holds| holds != 0)
            }
        }
    }

    /// A literal's text, or a defined name's value; a name that is not defined has the empty value.
    fn value(&mut self) -> Option<String> {
        let mut token = *self.tokens.get(self.at)?;
        self.at += 1;
        if token.kind == Kind::Name {
            match self.defines.get(&token.symbol).and_then(|value| value.first()) {
                Some(&value) => token = value,
                None => return Some(String::new()),
            }
        }
        matches!(token.kind, Kind::Integer | Kind::Text | Kind::Name | Kind::True | Kind::False)
            .then(|| self.sources.slice(token.span).trim_matches('"').to_owned())
    }
}

//! Owns: the conditions of #IF.
//! May use: `lex::token`, `operator`, `source`, `symbol`.
//! Never: complains; `None` says that the condition cannot be read.

use crate::ast::Basic;
use crate::lex::{Token, TokenKind};
use crate::operator::{Dyadic, RelationKind};
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

    fn peek(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == Some(kind);
        self.at += usize::from(found);
        found
    }

    fn chain(&mut self) -> Option<bool> {
        let mut value = self.operand()?;
        loop {
            if self.eat(TokenKind::And) {
                value &= self.operand()?;
            } else if self.eat(TokenKind::Or) {
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
        if self.eat(TokenKind::Not) {
            return self.operand().map(|value| !value);
        }
        if self.eat(TokenKind::True) {
            return Some(true);
        }
        if self.eat(TokenKind::False) {
            return Some(false);
        }
        if self.eat(TokenKind::Defined) {
            let open = self.eat(TokenKind::Open);
            let name = self.tokens.get(self.at).filter(|token| token.kind == TokenKind::Name)?;
            self.at += 1;
            return (!open || self.eat(TokenKind::Close)).then(|| self.defines.contains_key(&name.symbol));
        }
        if self.eat(TokenKind::Open) {
            let value = self.chain()?;
            return self.eat(TokenKind::Close).then_some(value);
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
            RelationKind::Equal => Some(left == right),
            RelationKind::NotEqual => Some(left != right),
            RelationKind::Less | RelationKind::AtMost => {
                let (left, right) = numbers?;
                operator.fold(left, right, Basic::Int64).map(|holds| holds != 0)
            }
        }
    }

    /// A literal's text, or a defined name's value; a name that is not defined has the empty value.
    fn value(&mut self) -> Option<String> {
        let mut token = *self.tokens.get(self.at)?;
        self.at += 1;
        if token.kind == TokenKind::Name {
            match self.defines.get(&token.symbol).and_then(|value| value.first()) {
                Some(&value) => token = value,
                None => return Some(String::new()),
            }
        }
        matches!(
            token.kind,
            TokenKind::Integer | TokenKind::Text | TokenKind::Name | TokenKind::True | TokenKind::False
        )
        .then(|| self.sources.slice(token.span).trim_matches('"').to_owned())
    }
}

//! Owns: the grammar of expressions.
//! May use: `ast`, `diag`, `lex::token`, `operator::table`, `symbol`.
//! Never: gives operators a precedence; occam has none.

use super::{Parsed, Parser};
use crate::ast::{Dyadic, ExprId, ExprKind, Monadic, Rounding};
use crate::diag::{Code, Diagnostic};
use crate::lex::TokenKind;

impl Parser<'_> {
    /// expressions = expression { "," expression }
    pub(super) fn exprs(&mut self) -> Parsed<Vec<ExprId>> {
        let mut list = vec![self.expr()?];
        while self.eat(TokenKind::Comma) {
            list.push(self.expr()?);
        }
        Ok(list)
    }

    /// expression = operand { operator operand }, where a chain repeats one associative operator
    pub(super) fn expr(&mut self) -> Parsed<ExprId> {
        self.deeper(Self::expr_inner)
    }

    fn expr_inner(&mut self) -> Parsed<ExprId> {
        let first = self.operand()?;
        if let Some(operator) = self.user_operator() {
            self.bump();
            let second = self.operand()?;
            let span = self.ast.expr(first).span.to(self.last_span());
            return Ok(self.new_expr(ExprKind::UserDyadic(operator, first, second), span));
        }
        let Some(operator) = Dyadic::of(self.kind()) else { return Ok(first) };
        let mut operands = vec![first];
        let mut mixed = false;
        while let Some(next) = Dyadic::of(self.kind()) {
            let span = self.bump().span;
            operands.push(self.operand()?);
            if !mixed && operands.len() > 2 && (next != operator || !operator.row().associative) {
                mixed = true;
                let message = "operators have no precedence here: brackets must say what belongs together";
                let complaint = Diagnostic::new(Code::NeedsBrackets, span, message);
                let complaint = complaint.help("write `(a + b) * c`, or `a + (b * c)`");
                self.diagnostics.push(self.with_brackets(complaint, &operands));
            }
        }
        if mixed {
            let span = self.ast.expr(first).span.to(self.last_span());
            return Ok(self.new_expr(ExprKind::Error, span));
        }
        Ok(self.chain(operator, &operands))
    }

    /// Adds where brackets may stand: around all before the second operator, or around what is beside it.
    fn with_brackets(&self, complaint: Diagnostic, operands: &[ExprId]) -> Diagnostic {
        let span = |at: usize| self.ast.expr(operands[at]).span;
        let count = operands.len();
        let parts = [span(0).to(span(count - 2)), span(count - 2).to(span(count - 1))];
        parts.into_iter().fold(complaint, |complaint, part| {
            let text = format!("({})", self.sources.slice(part));
            complaint.fix(format!("write `{text}`"), part, text)
        })
    }

    /// A sign here that the program defines as an operator; `??` is one only where the program says so.
    fn user_operator(&self) -> Option<crate::symbol::Symbol> {
        match self.kind() {
            TokenKind::Operator => Some(self.token().symbol),
            TokenKind::QuestionTwo => self.symbols.find("\"??\""),
            _ => None,
        }
    }

    /// A chain of one associative operator as a balanced tree, so that its length costs no depth.
    fn chain(&mut self, operator: Dyadic, operands: &[ExprId]) -> ExprId {
        if let &[single] = operands {
            return single;
        }
        let (left, right) = operands.split_at(operands.len() / 2);
        let (left, right) = (self.chain(operator, left), self.chain(operator, right));
        let span = self.ast.expr(left).span.to(self.ast.expr(right).span);
        self.new_expr(ExprKind::Dyadic(operator, left, right), span)
    }

    /// operand = monadic operand | conversion | element | literal | "(" expression ")" | table | ...
    pub(super) fn operand(&mut self) -> Parsed<ExprId> {
        self.deeper(Self::operand_inner)
    }

    fn operand_inner(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        if let Some(operator) = Monadic::of(self.kind()) {
            self.bump();
            let of_type = operator == Monadic::Size
                && self.kind() == TokenKind::OpenSquare
                && self.brackets_then_type(0);
            let kind = match of_type {
                true => ExprKind::SizeOfType(self.ty()?),
                false => ExprKind::Monadic(operator, self.operand()?),
            };
            return Ok(self.new_expr(kind, start.to(self.last_span())));
        }
        let kind = match self.kind() {
            TokenKind::Clone => {
                self.bump();
                ExprKind::Clone(self.operand()?)
            }
            TokenKind::Defined => {
                self.bump();
                ExprKind::Defined(self.operand()?)
            }
            TokenKind::MostPos | TokenKind::MostNeg => {
                let high = self.bump().kind == TokenKind::MostPos;
                let bracket = self.eat(TokenKind::Open);
                let of = self.ty()?;
                if bracket {
                    self.expect(TokenKind::Close)?;
                }
                ExprKind::Most { high, of }
            }
            kind if kind == TokenKind::Operator
                || kind == TokenKind::QuestionTwo
                || self.signs_only(kind) =>
            {
                let span = self.bump().span;
                let symbol = self.symbols.intern(&format!("\"{}\"", self.sources.slice(span)));
                ExprKind::UserMonadic(symbol, self.operand()?)
            }
            TokenKind::BytesIn => return self.bytes_in(),
            TokenKind::OffsetOf => {
                self.bump();
                self.expect(TokenKind::Open)?;
                let of = self.ty()?;
                self.expect(TokenKind::Comma)?;
                let field = self.ident("a field's name")?;
                self.expect(TokenKind::Close)?;
                ExprKind::OffsetOf(of, field)
            }
            TokenKind::Mobile => {
                self.bump();
                ExprKind::NewMobile(self.ty()?)
            }
            kind if kind.is_basic_type() => return self.conversion(),
            TokenKind::Name if self.at_conversion() => return self.conversion(),
            _ => return self.element(),
        };
        Ok(self.new_expr(kind, start.to(self.last_span())))
    }

    /// An operator's sign where an operand must begin: a monadic operator that the program defines.
    fn signs_only(&self, kind: TokenKind) -> bool {
        Dyadic::of(kind).is_some() && !matches!(self.peek(1), TokenKind::Newline | TokenKind::End)
    }

    fn bytes_in(&mut self) -> Parsed<ExprId> {
        let start = self.bump().span;
        self.expect(TokenKind::Open)?;
        let is_type = self.kind().is_basic_type()
            || self.kind() == TokenKind::Mobile
            || self.kind() == TokenKind::Name && self.is_type_name(self.token().symbol)
            || self.kind() == TokenKind::OpenSquare && self.brackets_then_type(0);
        let kind = if is_type { ExprKind::BytesInType(self.ty()?) } else { ExprKind::BytesIn(self.expr()?) };
        self.expect(TokenKind::Close)?;
        Ok(self.new_expr(kind, start.to(self.last_span())))
    }

    /// Whether `[ ... ]` here is followed by the rest of a type.
    fn brackets_then_type(&self, ahead: usize) -> bool {
        let mut depth = 0;
        for at in self.at + ahead..self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::OpenSquare => depth += 1,
                TokenKind::CloseSquare => depth -= 1,
                TokenKind::Newline | TokenKind::End => return false,
                _ => {}
            }
            if depth == 0 {
                let next = self.tokens[at + 1];
                let name = next.kind == TokenKind::Name && self.is_type_name(next.symbol);
                return name || next.kind.is_basic_type() || next.kind == TokenKind::OpenSquare;
            }
        }
        false
    }

    /// A type's name followed by something to convert.
    fn at_conversion(&self) -> bool {
        let follows = matches!(
            self.peek(1),
            TokenKind::Round
                | TokenKind::Trunc
                | TokenKind::Name
                | TokenKind::Integer
                | TokenKind::Hex
                | TokenKind::Real
                | TokenKind::Byte
                | TokenKind::True
                | TokenKind::False
                | TokenKind::Open
                | TokenKind::Text
                | TokenKind::OpenSquare
                | TokenKind::Size
                | TokenKind::MostPos
                | TokenKind::MostNeg
        ) || self.peek(1).is_basic_type();
        let certain = !matches!(self.peek(1), TokenKind::Open | TokenKind::OpenSquare);
        follows && (certain || self.is_type_name(self.token().symbol))
    }

    /// conversion = type [ ROUND | TRUNC ] operand
    fn conversion(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        let to = self.ty()?;
        let rounding = if self.eat(TokenKind::Round) {
            Rounding::Round
        } else if self.eat(TokenKind::Trunc) {
            Rounding::Trunc
        } else {
            Rounding::Exact
        };
        let value = self.operand()?;
        Ok(self.new_expr(ExprKind::Convert { to, rounding, value }, start.to(self.last_span())))
    }

    /// `element = primary { "[" expression "]" } [ end ]`
    pub(super) fn element(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        let mut base = self.primary()?;
        let depth = self.depth;
        while self.kind() == TokenKind::OpenSquare {
            self.bump();
            let index = self.expr()?;
            self.expect(TokenKind::CloseSquare)?;
            base = self.new_expr(ExprKind::Index { base, index }, start.to(self.last_span()));
            self.depth += 1;
            if self.depth > super::DEPTH_MAX {
                self.depth = depth;
                return self.fail(Code::TooDeep, start, "too many subscripts".to_owned());
            }
        }
        self.depth = depth;
        let ends = matches!(
            self.peek(1),
            TokenKind::Comma
                | TokenKind::Close
                | TokenKind::CloseSquare
                | TokenKind::Colon
                | TokenKind::From
                | TokenKind::For
        );
        if ends && let Some(direction) = self.direction() {
            base = self.new_expr(ExprKind::End(base, direction), start.to(self.last_span()));
        }
        Ok(base)
    }

    fn primary(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        match self.kind() {
            TokenKind::Name => {
                let name = self.ident("a name")?;
                if self.kind() != TokenKind::Open {
                    return Ok(self.new_expr(ExprKind::Name(name.symbol), start));
                }
                let arguments = self.arguments()?;
                Ok(self.new_expr(ExprKind::Call { name, arguments }, start.to(self.last_span())))
            }
            TokenKind::Integer
            | TokenKind::Hex
            | TokenKind::Real
            | TokenKind::Byte
            | TokenKind::Text
            | TokenKind::True
            | TokenKind::False => self.literal(),
            TokenKind::Open => {
                self.bump();
                if self.kind() == TokenKind::Valof || self.colon_before_bracket() {
                    return self.value_process(start);
                }
                let inner = self.expr()?;
                self.expect(TokenKind::Close)?;
                Ok(inner)
            }
            TokenKind::OpenSquare => self.table(),
            _ => self.unexpected("an expression"),
        }
    }

    /// Whether a specification, which ends with `:`, stands within the bracket just opened.
    fn colon_before_bracket(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match token.kind {
                TokenKind::Open | TokenKind::OpenSquare => depth += 1,
                TokenKind::Close | TokenKind::CloseSquare if depth == 0 => return false,
                TokenKind::Close | TokenKind::CloseSquare => depth -= 1,
                TokenKind::Colon if depth == 0 => return true,
                TokenKind::Newline | TokenKind::End | TokenKind::Valof => return false,
                _ => {}
            }
        }
        false
    }

    /// arguments = "(" [ expression { "," expression } ] ")"
    pub(super) fn arguments(&mut self) -> Parsed<Vec<ExprId>> {
        self.expect(TokenKind::Open)?;
        if self.eat(TokenKind::Close) {
            return Ok(Vec::new());
        }
        let list = self.exprs()?;
        self.expect(TokenKind::Close)?;
        Ok(list)
    }
}

//! Owns: the grammar of expressions.
//! May use: `ast`, `diag`, `lex::token`, `operator::table`, `symbol`.
//! Never: gives operators a precedence; occam has none.

use super::{Parsed, Parser};
use crate::ast::{Dyadic, ExprId, ExprKind, Monadic, Rounding};
use crate::diag::{Code, Diagnostic};
use crate::lex::Kind;

impl Parser<'_> {
    /// expressions = expression { "," expression }
    pub(super) fn exprs(&mut self) -> Parsed<Vec<ExprId>> {
        let mut list = vec![self.expr()?];
        while self.eat(Kind::Comma) {
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
                self.diagnostics.push(complaint.help("write `(a + b) * c`, or `a + (b * c)`"));
            }
        }
        if mixed {
            let span = self.ast.expr(first).span.to(self.last_span());
            return Ok(self.new_expr(ExprKind::Error, span));
        }
        Ok(self.chain(operator, &operands))
    }

    /// A sign here that the program defines as an operator; `??` is one only where the program says so.
    fn user_operator(&self) -> Option<crate::symbol::Symbol> {
        match self.kind() {
            Kind::Operator => Some(self.token().symbol),
            Kind::QuestionTwo => self.symbols.find("\"??\""),
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
            let of_type =
                operator == Monadic::Size && self.kind() == Kind::OpenSquare && self.brackets_then_type(0);
            let kind = match of_type {
                true => ExprKind::SizeOfType(self.ty()?),
                false => ExprKind::Monadic(operator, self.operand()?),
            };
            return Ok(self.new_expr(kind, start.to(self.last_span())));
        }
        let kind = match self.kind() {
            Kind::Clone => {
                self.bump();
                ExprKind::Clone(self.operand()?)
            }
            Kind::Defined => {
                self.bump();
                ExprKind::Defined(self.operand()?)
            }
            Kind::MostPos | Kind::MostNeg => {
                let high = self.bump().kind == Kind::MostPos;
                let bracket = self.eat(Kind::Open);
                let of = self.ty()?;
                if bracket {
                    self.expect(Kind::Close)?;
                }
                ExprKind::Most { high, of }
            }
            kind if kind == Kind::Operator || kind == Kind::QuestionTwo || self.signs_only(kind) => {
                let span = self.bump().span;
                let symbol = self.symbols.intern(&format!("\"{}\"", self.sources.slice(span)));
                ExprKind::UserMonadic(symbol, self.operand()?)
            }
            Kind::BytesIn => return self.bytes_in(),
            Kind::OffsetOf => {
                self.bump();
                self.expect(Kind::Open)?;
                let of = self.ty()?;
                self.expect(Kind::Comma)?;
                let field = self.ident("a field's name")?;
                self.expect(Kind::Close)?;
                ExprKind::OffsetOf(of, field)
            }
            Kind::Mobile => {
                self.bump();
                ExprKind::NewMobile(self.ty()?)
            }
            kind if kind.is_basic_type() => return self.conversion(),
            Kind::Name if self.at_conversion() => return self.conversion(),
            _ => return self.element(),
        };
        Ok(self.new_expr(kind, start.to(self.last_span())))
    }

    /// An operator's sign where an operand must begin: a monadic operator that the program defines.
    fn signs_only(&self, kind: Kind) -> bool {
        Dyadic::of(kind).is_some() && !matches!(self.peek(1), Kind::Newline | Kind::End)
    }

    fn bytes_in(&mut self) -> Parsed<ExprId> {
        let start = self.bump().span;
        self.expect(Kind::Open)?;
        let is_type = self.kind().is_basic_type()
            || self.kind() == Kind::Mobile
            || self.kind() == Kind::Name && self.is_type_name(self.token().symbol)
            || self.kind() == Kind::OpenSquare && self.brackets_then_type(0);
        let kind = if is_type { ExprKind::BytesInType(self.ty()?) } else { ExprKind::BytesIn(self.expr()?) };
        self.expect(Kind::Close)?;
        Ok(self.new_expr(kind, start.to(self.last_span())))
    }

    /// Whether `[ ... ]` here is followed by the rest of a type.
    fn brackets_then_type(&self, ahead: usize) -> bool {
        let mut depth = 0;
        for at in self.at + ahead..self.tokens.len() {
            match self.tokens[at].kind {
                Kind::OpenSquare => depth += 1,
                Kind::CloseSquare => depth -= 1,
                Kind::Newline | Kind::End => return false,
                _ => {}
            }
            if depth == 0 {
                let next = self.tokens[at + 1];
                let name = next.kind == Kind::Name && self.is_type_name(next.symbol);
                return name || next.kind.is_basic_type() || next.kind == Kind::OpenSquare;
            }
        }
        false
    }

    /// A type's name followed by something to convert.
    fn at_conversion(&self) -> bool {
        let follows = matches!(
            self.peek(1),
            Kind::Round
                | Kind::Trunc
                | Kind::Name
                | Kind::Integer
                | Kind::Hex
                | Kind::Real
                | Kind::Byte
                | Kind::True
                | Kind::False
                | Kind::Open
                | Kind::Text
                | Kind::OpenSquare
                | Kind::Size
                | Kind::MostPos
                | Kind::MostNeg
        ) || self.peek(1).is_basic_type();
        let certain = !matches!(self.peek(1), Kind::Open | Kind::OpenSquare);
        follows && (certain || self.is_type_name(self.token().symbol))
    }

    /// conversion = type [ ROUND | TRUNC ] operand
    fn conversion(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        let to = self.ty()?;
        let rounding = if self.eat(Kind::Round) {
            Rounding::Round
        } else if self.eat(Kind::Trunc) {
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
        while self.kind() == Kind::OpenSquare {
            self.bump();
            let index = self.expr()?;
            self.expect(Kind::CloseSquare)?;
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
            Kind::Comma | Kind::Close | Kind::CloseSquare | Kind::Colon | Kind::From | Kind::For
        );
        if ends && let Some(direction) = self.direction() {
            base = self.new_expr(ExprKind::End(base, direction), start.to(self.last_span()));
        }
        Ok(base)
    }

    fn primary(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        match self.kind() {
            Kind::Name => {
                let name = self.ident("a name")?;
                if self.kind() != Kind::Open {
                    return Ok(self.new_expr(ExprKind::Name(name.symbol), start));
                }
                let arguments = self.arguments()?;
                Ok(self.new_expr(ExprKind::Call { name, arguments }, start.to(self.last_span())))
            }
            Kind::Integer | Kind::Hex | Kind::Real | Kind::Byte | Kind::Text | Kind::True | Kind::False => {
                self.literal()
            }
            Kind::Open => {
                self.bump();
                if self.kind() == Kind::Valof || self.colon_before_bracket() {
                    return self.value_process(start);
                }
                let inner = self.expr()?;
                self.expect(Kind::Close)?;
                Ok(inner)
            }
            Kind::OpenSquare => self.table(),
            _ => self.unexpected("an expression"),
        }
    }

    /// Whether a specification, which ends with `:`, stands within the bracket just opened.
    fn colon_before_bracket(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match token.kind {
                Kind::Open | Kind::OpenSquare => depth += 1,
                Kind::Close | Kind::CloseSquare if depth == 0 => return false,
                Kind::Close | Kind::CloseSquare => depth -= 1,
                Kind::Colon if depth == 0 => return true,
                Kind::Newline | Kind::End | Kind::Valof => return false,
                _ => {}
            }
        }
        false
    }

    /// arguments = "(" [ expression { "," expression } ] ")"
    pub(super) fn arguments(&mut self) -> Parsed<Vec<ExprId>> {
        self.expect(Kind::Open)?;
        if self.eat(Kind::Close) {
            return Ok(Vec::new());
        }
        let list = self.exprs()?;
        self.expect(Kind::Close)?;
        Ok(list)
    }
}

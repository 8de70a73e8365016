//! Owns: literals with their typed suffixes.
//! May use: `parse`, the scanner's value functions.
//! Never: decides an untyped literal's type; its surroundings do, in `check`.

use super::{Parsed, Parser};
use crate::ast::{ExprId, ExprKind, TypeNodeId};
use crate::diag::Code;
use crate::lex::{self, Kind};

impl Parser<'_> {
    /// literal = ( number | byte | string ) [ "(" type ")" ] | TRUE | FALSE
    pub(super) fn literal(&mut self) -> Parsed<ExprId> {
        let token = self.bump();
        let text = self.sources.slice(token.span);
        let kind = match token.kind {
            Kind::True => ExprKind::Bool(true),
            Kind::False => ExprKind::Bool(false),
            Kind::Integer | Kind::Hex => {
                let value = lex::parse_integer(text);
                if value.is_none() && text != "#" {
                    let message = "no type of occam holds a number of this size".to_owned();
                    self.complain(Code::BadNumber, token.span, message);
                }
                let suffix = self.suffix()?;
                ExprKind::Integer { value: value.unwrap_or(0), hex: token.kind == Kind::Hex, suffix }
            }
            Kind::Real => {
                let value = lex::parse_real(text).unwrap_or(0.0);
                ExprKind::Real { value, suffix: self.suffix()? }
            }
            Kind::Byte => {
                let inside = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let value = inside.and_then(lex::parse_byte).unwrap_or(0);
                ExprKind::Byte { value, suffix: self.suffix()? }
            }
            _ => {
                let inside = text.strip_prefix('"').unwrap_or(text);
                let inside = inside.strip_suffix('"').unwrap_or(inside);
                let bytes = lex::byte_text(inside).bytes.into_boxed_slice();
                ExprKind::Text { bytes, suffix: self.suffix()? }
            }
        };
        let span = token.span.to(self.last_span());
        Ok(self.new_expr(kind, span))
    }

    /// suffix = "(" type ")"
    pub(super) fn suffix(&mut self) -> Parsed<Option<TypeNodeId>> {
        if self.kind() != Kind::Open {
            return Ok(None);
        }
        self.bump();
        let suffix = self.ty()?;
        self.expect(Kind::Close)?;
        Ok(Some(suffix))
    }
}

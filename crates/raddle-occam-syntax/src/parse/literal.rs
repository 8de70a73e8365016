//! Owns: literals with their typed suffixes.
//! May use: `ast`, `diag::codes`, `lex`.
//! Never: complains of a literal that the scanner has complained of.

use super::{Parsed, Parser};
use crate::ast::{ExprId, ExprKind, TypeNodeId};
use crate::diag::Code;
use crate::lex::{self, TokenKind};

impl Parser<'_> {
    /// literal = ( number | byte | string ) [ "(" type ")" ] | TRUE | FALSE
    pub(super) fn literal(&mut self) -> Parsed<ExprId> {
        let token = self.bump();
        let text = self.sources.slice(token.span);
        let kind = match token.kind {
            TokenKind::True => ExprKind::Bool(true),
            TokenKind::False => ExprKind::Bool(false),
            TokenKind::Integer | TokenKind::Hex => {
                let value = lex::parse_integer(text);
                if value.is_none() && text != "#" {
                    let message = "no type of occam holds a number of this size".to_owned();
                    self.complain(Code::BadNumber, token.span, message);
                }
                let suffix = self.suffix()?;
                value.map_or(ExprKind::Error, |value| ExprKind::Integer {
                    value,
                    hex: token.kind == TokenKind::Hex,
                    suffix,
                })
            }
            TokenKind::Real => {
                let suffix = self.suffix()?;
                lex::parse_real(text).map_or(ExprKind::Error, |value| ExprKind::Real { value, suffix })
            }
            TokenKind::Byte => {
                let inside = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let suffix = self.suffix()?;
                let value = inside.and_then(lex::parse_byte);
                value.map_or(ExprKind::Error, |value| ExprKind::Byte { value, suffix })
            }
            _ => {
                let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let suffix = self.suffix()?;
                let bytes = inside.map(|inside| lex::byte_text(inside).bytes.into_boxed_slice());
                bytes.map_or(ExprKind::Error, |bytes| ExprKind::Text { bytes, suffix })
            }
        };
        let span = token.span.to(self.last_span());
        Ok(self.new_expr(kind, span))
    }

    /// suffix = "(" type ")"
    pub(super) fn suffix(&mut self) -> Parsed<Option<TypeNodeId>> {
        if self.kind() != TokenKind::Open {
            return Ok(None);
        }
        self.bump();
        let suffix = self.ty()?;
        self.expect(TokenKind::Close)?;
        Ok(Some(suffix))
    }
}

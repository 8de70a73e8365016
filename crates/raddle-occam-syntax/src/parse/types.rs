//! Owns: the grammar of types and protocols' items.
//! May use: `ast`, `diag`, `lex::token`, `operator::basic`.
//! Never: decides whether a type may stand where it does.

use super::{Failed, Parsed, Parser};
use crate::ast::{Basic, Direction, SharedEnds, TypeKind, TypeNodeId};
use crate::diag::{Code, Diagnostic};
use crate::lex::TokenKind;

impl Parser<'_> {
    /// `type = basic | name | name end | "[" [ expression ] "]" type | CHAN [ OF ] item | [ SHARED ] ... | MOBILE type`
    pub(super) fn ty(&mut self) -> Parsed<TypeNodeId> {
        self.deeper(Self::type_inner)
    }

    fn type_inner(&mut self) -> Parsed<TypeNodeId> {
        let start = self.span();
        let kind = match self.kind() {
            kind if kind.is_basic_type() => {
                self.bump();
                TypeKind::Basic(basic(kind))
            }
            TokenKind::Name => self.named_type(false)?,
            TokenKind::OpenSquare => {
                self.bump();
                let size = if self.kind() == TokenKind::CloseSquare { None } else { Some(self.expr()?) };
                self.expect(TokenKind::CloseSquare)?;
                TypeKind::Array { size, element: self.ty()? }
            }
            TokenKind::Chan => self.channel_type(SharedEnds::No)?,
            TokenKind::Shared => {
                self.bump();
                let shared = self.direction().map_or(SharedEnds::Both, SharedEnds::Only);
                if self.kind() == TokenKind::Chan { self.channel_type(shared)? } else { self.shared_end()? }
            }
            TokenKind::Mobile => {
                self.bump();
                TypeKind::Mobile(self.ty()?)
            }
            TokenKind::Port => {
                self.bump();
                self.eat(TokenKind::Of);
                self.ty()?;
                let message =
                    "a PORT is a device at an address of the machine, which no program of Raddle gets at";
                self.complain(Code::NotSupported, start, message.to_owned());
                TypeKind::Error
            }
            TokenKind::Timer => {
                self.bump();
                TypeKind::Timer
            }
            TokenKind::Barrier => {
                self.bump();
                TypeKind::Barrier
            }
            _ => return self.unexpected("a type"),
        };
        Ok(self.new_type(kind, start.to(self.last_span())))
    }

    fn named_type(&mut self, shared: bool) -> Parsed<TypeKind> {
        let name = self.ident("the name of a type")?;
        Ok(match self.direction() {
            Some(direction) => TypeKind::End { name, direction, shared },
            None => TypeKind::Named(name),
        })
    }

    /// Behind SHARED, if no CHAN follows.
    fn shared_end(&mut self) -> Parsed<TypeKind> {
        let kind = self.named_type(true)?;
        if let TypeKind::Named(name) = kind {
            let text = self.sources.slice(name.span);
            let message = format!("SHARED is said of a CHAN, or of one end such as `{text}!`");
            let complaint = Diagnostic::new(Code::Unexpected, name.span, message);
            self.diagnostics.push(complaint.help("a channel whose ends are SHARED is written `SHARED CHAN`"));
            return Err(Failed);
        }
        Ok(kind)
    }

    fn channel_type(&mut self, shared: SharedEnds) -> Parsed<TypeKind> {
        self.expect(TokenKind::Chan)?;
        self.eat(TokenKind::Of);
        Ok(TypeKind::Chan { protocol: self.protocol_item()?, shared })
    }

    /// item = ANY | type [ "::" type ]
    pub(super) fn protocol_item(&mut self) -> Parsed<TypeNodeId> {
        let start = self.span();
        if self.eat(TokenKind::Any) {
            return Ok(self.new_type(TypeKind::Any, start));
        }
        let count = self.ty()?;
        if !self.eat(TokenKind::Colons) {
            return Ok(count);
        }
        let array = self.ty()?;
        Ok(self.new_type(TypeKind::Counted { count, array }, start.to(self.last_span())))
    }

    /// An end behind a name: `?` or `!`, if one stands here.
    pub(super) fn direction(&mut self) -> Option<Direction> {
        if self.eat(TokenKind::Question) {
            Some(Direction::Input)
        } else if self.eat(TokenKind::Bang) {
            Some(Direction::Output)
        } else {
            None
        }
    }
}

fn basic(kind: TokenKind) -> Basic {
    match kind {
        TokenKind::Bool => Basic::Bool,
        TokenKind::ByteType => Basic::Byte,
        TokenKind::Int16 => Basic::Int16,
        TokenKind::Int32 => Basic::Int32,
        TokenKind::Int64 => Basic::Int64,
        TokenKind::Uint => Basic::Uint,
        TokenKind::Uint8 => Basic::Uint8,
        TokenKind::Uint16 => Basic::Uint16,
        TokenKind::Uint32 => Basic::Uint32,
        TokenKind::Uint64 => Basic::Uint64,
        TokenKind::Real32 => Basic::Real32,
        TokenKind::Real64 => Basic::Real64,
        _ => Basic::Int,
    }
}

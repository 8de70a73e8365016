//! Owns: written types to types.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: accepts a size that is not constant, unless the caller may have one.

use super::Checker;
use crate::ast::{Direction, Ident, TypeKind, TypeNodeId};
use crate::diag::Code;
use crate::program::NameKind;
use crate::types::{Type, TypeId, Types};

impl Checker<'_> {
    /// The type that is written; sizes must be constant.
    pub(super) fn ty(&mut self, node: TypeNodeId) -> TypeId {
        self.resolve(node, false)
    }

    /// The type that is written; sizes may be known at run time only.
    pub(super) fn ty_at_run_time(&mut self, node: TypeNodeId) -> TypeId {
        self.resolve(node, true)
    }

    fn resolve(&mut self, node: TypeNodeId, run_time: bool) -> TypeId {
        let ast = self.ast;
        let ty = match &ast.ty(node).kind {
            &TypeKind::Basic(basic) => Type::Basic(basic),
            &TypeKind::Named(name) => return self.named_type(name),
            &TypeKind::Array { size, element } => {
                let size = match size {
                    Some(size) if run_time => {
                        self.expr_of(size, Types::INT);
                        self.constant(size).and_then(|size| u32::try_from(size).ok())
                    }
                    Some(size) => Some(self.size(size)),
                    None => None,
                };
                let element = self.data(element, run_time);
                if element == Types::ERROR {
                    return element;
                }
                Type::Array { size, element }
            }
            &TypeKind::Chan { protocol, shared } => {
                Type::Chan { protocol: self.resolve(protocol, false), direction: None, shared }
            }
            &TypeKind::Counted { count, array } => {
                let (count, array) = (self.resolve(count, false), self.resolve(array, false));
                let span = ast.ty(node).span;
                if count != Types::ERROR && !self.program.types.is_integer(count) {
                    self.complain(
                        Code::Protocol,
                        span,
                        "the count before `::` must be a whole number or BYTE",
                    );
                }
                Type::Counted { count, array }
            }
            TypeKind::Any => Type::Any,
            &TypeKind::Port(of) => Type::Port(self.resolve(of, false)),
            TypeKind::Timer => Type::Timer,
            TypeKind::Barrier => Type::Barrier,
            &TypeKind::Mobile(of) => {
                let of = self.resolve(of, true);
                if matches!(self.program.types.get(of), Type::Mobile(_)) {
                    // A MOBILE RECORD is one already.
                    return of;
                }
                if self.program.types.as_array(of).is_some() && self.program.types.holds_barriers(of) {
                    let message =
                        "an array of BARRIERs stays where it is; MOBILE BARRIERs may be in a MOBILE array";
                    self.complain(Code::NotSupported, ast.ty(node).span, message);
                    return Types::ERROR;
                }
                Type::Mobile(of)
            }
            &TypeKind::End { name, direction, shared } => return self.end_type(name, direction, shared),
            TypeKind::Error => Type::Error,
        };
        self.program.types.intern(ty)
    }

    /// A type of values or channels, not what channels carry only.
    pub(super) fn data(&mut self, node: TypeNodeId, run_time: bool) -> TypeId {
        let ty = self.resolve(node, run_time);
        if matches!(self.program.types.get(ty), Type::Process(_)) {
            let message = format!("a process is MOBILE: write `MOBILE {}`", self.show(ty));
            let span = self.ast.ty(node).span;
            self.complain(Code::WrongKind, span, message);
            return Types::ERROR;
        }
        if !matches!(self.program.types.get(ty), Type::Protocol(_) | Type::Any | Type::Counted { .. }) {
            return ty;
        }
        let span = self.ast.ty(node).span;
        self.complain(
            Code::WrongKind,
            span,
            "a protocol is not the type of a variable; declare a CHAN of it",
        );
        Types::ERROR
    }

    /// A constant array size.
    fn size(&mut self, expr: crate::ast::ExprId) -> u32 {
        self.expr_of(expr, Types::INT);
        if self.type_of(expr) == Types::ERROR {
            return 0;
        }
        let span = self.span(expr);
        match self.needed_constant(expr) {
            Some(size) => match u32::try_from(size) {
                Ok(size) if size <= i32::MAX as u32 => size,
                _ => {
                    self.complain(Code::ConstantFault, span, format!("an array cannot have {size} elements"));
                    0
                }
            },
            None => 0,
        }
    }

    fn named_type(&mut self, name: Ident) -> TypeId {
        if self.text(name.symbol) == "MOBILE.CHAN" && self.find(name.symbol).is_none() {
            let fields = [" end", " number"].map(|text| self.program.symbols.intern(text));
            return self.program.types.any_end(name.symbol, fields);
        }
        let id = self.lookup(name);
        let declared = self.program.name(id);
        let (kind, ty) = (declared.kind, declared.ty);
        match (kind, self.program.types.get(ty)) {
            (NameKind::Error, _) => Types::ERROR,
            (NameKind::Type, Type::End { .. }) => {
                let text = self.text(name.symbol);
                let message = format!("`{text}` has two ends: write `{text}!` or `{text}?`");
                self.complain(Code::WrongKind, name.span, message);
                Types::ERROR
            }
            (NameKind::Type, _) => ty,
            _ => {
                let text = self.text(name.symbol);
                self.complain(Code::WrongKind, name.span, format!("`{text}` is no type"));
                Types::ERROR
            }
        }
    }

    fn end_type(&mut self, name: Ident, direction: Direction, shared: bool) -> TypeId {
        let id = self.lookup(name);
        let declared = self.program.name(id);
        if declared.kind == NameKind::Error {
            return Types::ERROR;
        }
        if let (NameKind::Type, Type::End { bundle, .. }) =
            (declared.kind, self.program.types.get(declared.ty))
        {
            return self.program.types.intern(Type::End { bundle, direction, shared });
        }
        let text = self.text(name.symbol);
        self.complain(Code::WrongKind, name.span, format!("`{text}` is no CHAN TYPE and has no ends"));
        Types::ERROR
    }

    /// A channel type, or an array of it, narrowed to one end; the complaint is of what has no ends.
    pub(super) fn directed(&mut self, ty: TypeId, direction: Direction, at: Ident) -> TypeId {
        match self.program.types.get(ty) {
            Type::Error => Types::ERROR,
            Type::Array { size, element } => {
                let element = self.directed(element, direction, at);
                self.program.types.intern(Type::Array { size, element })
            }
            Type::Chan { protocol, direction: None, shared } => {
                self.program.types.intern(Type::Chan { protocol, direction: Some(direction), shared })
            }
            Type::Chan { direction: Some(has), .. } if has == direction => ty,
            Type::End { direction: has, .. } if has == direction => ty,
            Type::Chan { .. } | Type::End { .. } => {
                let message =
                    format!("this is the other end of the channel, and has no `{}`", direction.sign());
                self.complain(Code::Direction, at.span, message);
                Types::ERROR
            }
            _ => {
                let message = format!(
                    "only channels have an end `{}`; this is of type {}",
                    direction.sign(),
                    self.show(ty)
                );
                self.complain(Code::Direction, at.span, message);
                Types::ERROR
            }
        }
    }
}

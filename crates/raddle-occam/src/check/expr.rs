//! Owns: the types of expressions.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: leaves an expression without a type; `Error` is one.

use super::{Checker, RoutineFrame};
use crate::ast::{Basic, Direction, Expr, ExprId, ExprKind, Ident, Rounding, TypeNodeId, Valof};
use crate::diag::{Code, Diagnostic};
use crate::program::{Meaning, NameId, NameKind};
use crate::source::Span;
use crate::symbol::Symbol;
use crate::types::{Type, TypeId, Types};

impl Checker<'_> {
    /// The type of an expression; literals take the type that is wanted, if they can.
    pub(super) fn expr(&mut self, id: ExprId, want: Option<TypeId>) -> TypeId {
        let ast = self.ast;
        let ty = self.expr_inner(id, ast.expr(id), want);
        self.program.expr_types[id.0 as usize] = ty;
        ty
    }

    fn expr_inner(&mut self, id: ExprId, expr: &Expr, want: Option<TypeId>) -> TypeId {
        match &expr.kind {
            &ExprKind::Name(symbol) => self.name(id, Ident { symbol, span: expr.span }),
            ExprKind::Integer { .. } | ExprKind::Real { .. } | ExprKind::Byte { .. } => {
                self.number(id, expr, want)
            }
            ExprKind::Text { bytes, suffix } => self.string(bytes.len(), *suffix, want),
            ExprKind::Bool(_) => match want.map(|want| self.program.types.immobile(want)) {
                Some(want) if self.program.types.basic(want) == Some(Basic::Bool) => want,
                _ => Types::BOOL,
            },
            &ExprKind::Monadic(operator, value) => self.monadic(id, operator, value, want),
            &ExprKind::Dyadic(operator, left, right) => self.dyadic(id, operator, left, right, want),
            &ExprKind::UserMonadic(symbol, value) => self.only_user(id, symbol, &[value]),
            &ExprKind::UserDyadic(symbol, left, right) => self.only_user(id, symbol, &[left, right]),
            &ExprKind::Convert { to, rounding, value } => self.conversion(to, rounding, value),
            &ExprKind::Most { of, .. } => self.most(of, expr),
            &ExprKind::BytesInType(node) | &ExprKind::SizeOfType(node) => {
                let ty = self.ty_at_run_time(node);
                if let Some(bytes) = self.program.types.bytes(ty) {
                    self.values.insert(u32::MAX - id.0, i64::try_from(bytes).unwrap_or(0));
                }
                Types::INT
            }
            &ExprKind::BytesIn(value) => {
                self.expr_or_type(value);
                Types::INT
            }
            &ExprKind::OffsetOf(node, field) => {
                let ty = self.ty(node);
                self.field(ty, field);
                Types::INT
            }
            &ExprKind::Index { base, index } => self.index(id, base, index),
            &ExprKind::Slice { base, from, count } => self.slice(base, from, count),
            ExprKind::Table { elements, suffix } => {
                let ty = self.table(elements, *suffix, want);
                self.no_table_of_mobiles(ty, expr.span)
            }
            ExprKind::Constructor { replicator, element } => {
                let want =
                    want.and_then(|want| self.program.types.as_array(want)).map(|(_, element)| element);
                let element = self.scope(|checker| {
                    checker.replicator(replicator);
                    checker.expr(*element, want)
                });
                let size = self.constant(replicator.count).and_then(|count| u32::try_from(count).ok());
                let ty = self.program.types.array(size, element);
                self.no_table_of_mobiles(ty, expr.span)
            }
            ExprKind::Call { name, arguments } => self.function_call(id, *name, arguments, want),
            ExprKind::Valof(valof) => {
                let wants: Vec<TypeId> = want.into_iter().collect();
                let results = self.valof(valof, &wants);
                self.single(&results, expr.span)
            }
            &ExprKind::End(of, direction) => self.end(id, of, direction),
            &ExprKind::Clone(value) => self.clone_of(value, want),
            &ExprKind::Defined(value) => {
                self.expr(value, None);
                Types::BOOL
            }
            &ExprKind::NewMobile(node) => self.new_mobile(id, node),
            ExprKind::Error => Types::ERROR,
        }
    }

    fn clone_of(&mut self, value: ExprId, want: Option<TypeId>) -> TypeId {
        let ty = self.expr(value, want);
        if self.program.types.holds_process(ty) {
            self.complain(Code::TypeMismatch, self.span(value), "a process moves, and cannot be copied");
        }
        if self.program.types.holds_sole_end(ty) {
            let message = format!("there is one {} only; ends that are SHARED can be copied", self.show(ty));
            self.complain(Code::TypeMismatch, self.span(value), message);
        }
        ty
    }

    fn most(&mut self, of: TypeNodeId, expr: &Expr) -> TypeId {
        let ty = self.ty(of);
        if ty != Types::ERROR && !self.program.types.is_integer(ty) {
            self.complain(Code::OperatorTypes, expr.span, "MOSTPOS and MOSTNEG are of whole-number types");
            return Types::ERROR;
        }
        ty
    }

    fn name(&mut self, id: ExprId, name: Ident) -> TypeId {
        let found = self.lookup(name);
        self.program.expr_names[id.0 as usize] = found;
        let declared = self.program.name(found);
        let what = match declared.kind {
            NameKind::Routine(_) => "a PROC or FUNCTION; it is called with brackets",
            NameKind::Type => "a type",
            _ => return declared.ty,
        };
        let (text, span) = (self.text(name.symbol), self.program.name(found).span);
        let complaint = Diagnostic::new(Code::WrongKind, name.span, format!("`{text}` is {what}"));
        self.diagnostics.push(complaint.also(span, "declared here"));
        Types::ERROR
    }

    fn number(&mut self, id: ExprId, expr: &Expr, want: Option<TypeId>) -> TypeId {
        let negated = self.negated.take() == Some(id);
        let (suffix, fallback) = match &expr.kind {
            ExprKind::Real { suffix, .. } => (suffix, Types::REAL32),
            ExprKind::Byte { suffix, .. } => (suffix, Types::BYTE),
            ExprKind::Integer { suffix, .. } => (suffix, Types::INT),
            _ => return Types::ERROR,
        };
        let real = matches!(expr.kind, ExprKind::Real { .. });
        let wanted = suffix.map(|suffix| self.ty(suffix)).or(want).map(|ty| self.program.types.immobile(ty));
        let fits = |types: &Types, ty| match &expr.kind {
            ExprKind::Real { .. } => types.is_real(ty),
            _ => types.is_integer(ty),
        };
        let ty = match wanted {
            Some(ty) if ty == Types::ERROR || fits(&self.program.types, ty) => ty,
            Some(ty) if suffix.is_some() => {
                let kind = if real { "real" } else { "whole" };
                let message = format!("a {kind} number cannot be of type {}", self.show(ty));
                self.complain(Code::Conversion, expr.span, message);
                return Types::ERROR;
            }
            _ => fallback,
        };
        if let (ExprKind::Integer { value, hex, .. }, Some(basic)) =
            (&expr.kind, self.program.types.basic(ty))
        {
            self.literal_range(*value, *hex, negated, basic, ty, expr);
        }
        ty
    }

    fn literal_range(&mut self, value: u64, hex: bool, negated: bool, basic: Basic, ty: TypeId, expr: &Expr) {
        let (low, high) = crate::operator::range(basic);
        let (value, top) = (i128::from(value), if hex { high - low } else { high });
        if value > top && !(negated && value == high + 1 && low < 0) {
            let message = format!("{value} is too large for {}", self.show(ty));
            self.complain(Code::LiteralRange, expr.span, message);
        }
    }

    /// A string is an array of bytes; where a longer one is wanted it is filled up.
    fn string(&mut self, bytes: usize, suffix: Option<TypeNodeId>, want: Option<TypeId>) -> TypeId {
        let wanted = suffix.map(|suffix| self.ty_at_run_time(suffix)).or(want);
        let length = u32::try_from(bytes).ok();
        if let Some(ty) = wanted.map(|ty| self.program.types.immobile(ty))
            && let Some((size, element)) = self.program.types.as_array(ty)
            && self.program.types.basic(element) == Some(Basic::Byte)
        {
            match size {
                Some(size) if length <= Some(size) => return ty,
                None => return self.program.types.array(length, element),
                _ => {}
            }
        }
        self.program.types.array(length, Types::BYTE)
    }

    fn conversion(&mut self, to: TypeNodeId, rounding: Rounding, value: ExprId) -> TypeId {
        let to_type = self.ty_at_run_time(to);
        let literal = self.untyped(value) && rounding == Rounding::Exact;
        let from = self.expr(value, literal.then_some(to_type));
        if to_type == Types::ERROR || from == Types::ERROR {
            return to_type;
        }
        let types = &self.program.types;
        let (real_to, real_from) = (types.is_real(to_type), types.is_real(from));
        let fits = match (types.basic(to_type), types.basic(from)) {
            (Some(to), Some(from)) => {
                let either_bool = to == Basic::Bool || from == Basic::Bool;
                let needs = real_to != real_from || real_to && to == Basic::Real32 && from == Basic::Real64;
                !(either_bool && (real_to || real_from)) && (!needs || rounding != Rounding::Exact)
            }
            _ => {
                let (to, from) = (types.plain(to_type), types.plain(from));
                self.agree(to, from)
            }
        };
        if !fits {
            let message = format!("no conversion from {} to {}", self.show(from), self.show(to_type));
            let mut complaint = Diagnostic::new(Code::Conversion, self.span(value), message);
            if (real_to || real_from) && rounding == Rounding::Exact {
                let end = self.ast.ty(to).span.hi;
                let end = Span::new(end, end);
                complaint = complaint
                    .help("say ROUND or TRUNC behind the type")
                    .fix("write TRUNC", end, " TRUNC")
                    .fix("write ROUND", end, " ROUND");
            }
            self.diagnostics.push(complaint);
        }
        to_type
    }

    fn index(&mut self, id: ExprId, base: ExprId, index: ExprId) -> TypeId {
        let ast = self.ast;
        let of = self.expr(base, None);
        let types = &self.program.types;
        match types.get(types.plain(of)) {
            Type::Error => {
                if !matches!(ast.expr(index).kind, ExprKind::Name(_)) {
                    self.expr(index, Some(Types::INT));
                }
                Types::ERROR
            }
            Type::Array { size, element } => {
                self.expr_of(index, Types::INT);
                self.in_bounds(index, size);
                element
            }
            Type::Record(_) | Type::End { .. } => {
                let expr = ast.expr(index);
                if let ExprKind::Name(symbol) = expr.kind {
                    return self.field(of, Ident { symbol, span: expr.span });
                }
                self.complain(Code::UnknownField, expr.span, "a record is subscripted by a field's name");
                Types::ERROR
            }
            _ => {
                let message = format!("this is of type {} and has no elements", self.show(of));
                self.complain(Code::NotAnArray, self.span(id), message);
                self.expr(index, Some(Types::INT));
                Types::ERROR
            }
        }
    }

    fn in_bounds(&mut self, index: ExprId, size: Option<u32>) {
        let Some(size) = size else { return };
        if let Some(at) = self.constant(index)
            && (at < 0 || at >= i64::from(size))
        {
            let message = format!("subscript {at} of an array of {size}");
            self.complain(Code::ConstantFault, self.span(index), message);
        }
    }

    /// The type of a record's or bundle's field.
    fn field(&mut self, of: TypeId, field: Ident) -> TypeId {
        let types = &self.program.types;
        let plain = types.plain(of);
        let (fields, server, owner) = match types.get(plain) {
            Type::Record(at) => (&types.records[at as usize].fields, true, Type::Record(at)),
            Type::End { bundle, direction, .. } => {
                let owner = Type::End { bundle, direction: Direction::Input, shared: false };
                (&types.bundles[bundle as usize].fields, direction == Direction::Input, owner)
            }
            _ => return Types::ERROR,
        };
        let Some(found) = fields.iter().find(|candidate| candidate.name == field.symbol) else {
            let message = format!("{} has no field `{}`", self.show(of), self.text(field.symbol));
            self.complain(Code::UnknownField, field.span, message);
            return Types::ERROR;
        };
        let found = found.ty;
        let owner = self.program.types.intern(owner);
        self.mention(field.span, Meaning::Member(owner, field.symbol), false);
        match (self.program.types.get(found), server) {
            (Type::Chan { protocol, direction: Some(direction), shared }, false) => {
                let direction = Some(direction.other());
                self.program.types.intern(Type::Chan { protocol, direction, shared })
            }
            _ => found,
        }
    }

    fn slice(&mut self, base: ExprId, from: Option<ExprId>, count: Option<ExprId>) -> TypeId {
        let of = self.expr(base, None);
        for part in [from, count].into_iter().flatten() {
            self.expr_of(part, Types::INT);
        }
        if of == Types::ERROR {
            return Types::ERROR;
        }
        let Some((size, element)) = self.program.types.as_array(of) else {
            let message = format!("this is of type {} and has no elements", self.show(of));
            self.complain(Code::NotAnArray, self.span(base), message);
            return Types::ERROR;
        };
        let first = from.map_or(Some(0), |from| self.constant(from));
        let length = match count {
            Some(count) => self.constant(count),
            None => first.zip(size).map(|(first, size)| i64::from(size) - first),
        };
        if let (Some(first), Some(length), Some(size)) = (first, length, size)
            && (first < 0 || length < 0 || first.saturating_add(length) > i64::from(size))
        {
            let message = format!("elements from {first} for {length} of an array of {size}");
            self.complain(Code::ConstantFault, self.span(base), message);
        }
        self.program.types.array(length.and_then(|length| u32::try_from(length).ok()), element)
    }

    fn table(&mut self, elements: &[ExprId], suffix: Option<TypeNodeId>, want: Option<TypeId>) -> TypeId {
        let wanted = suffix.map(|suffix| self.ty_at_run_time(suffix)).or(want);
        let wanted = wanted.map(|ty| self.program.types.immobile(ty));
        if let Some(ty) = wanted
            && let Type::Record(at) = self.program.types.get(self.program.types.plain(ty))
        {
            return self.record_table(elements, ty, at);
        }
        let array = wanted.and_then(|ty| self.program.types.as_array(ty));
        // Channels without a direction take it from the first of the table.
        let undirected = |types: &Types, ty| matches!(types.get(ty), Type::Chan { direction: None, .. });
        let mut element =
            array.map(|(_, element)| element).filter(|&ty| !undirected(&self.program.types, ty));
        if element.is_none() {
            let typed = elements.iter().copied().find(|&element| !self.untyped(element));
            element = typed.map(|typed| self.expr(typed, None));
        }
        let mut result = None;
        for &item in elements {
            let got = self.expr(item, element);
            self.must_agree(item, element.unwrap_or(got), got);
            result = result.or(Some(got));
            element = element.or(result);
        }
        let element = self.closed_element(element, result);
        let length = u32::try_from(elements.len()).ok();
        match (wanted, array) {
            (Some(ty), Some((size, of))) if size == length && of == element => ty,
            _ => self.program.types.array(length, element),
        }
    }

    /// A table is a value that nobody owns, and what is in it would have no owner.
    fn no_table_of_mobiles(&mut self, ty: TypeId, span: Span) -> TypeId {
        let types = &self.program.types;
        if !types.holds_addresses(ty) || types.is_any_end(ty) {
            return ty;
        }
        let complaint = Diagnostic::new(Code::TypeMismatch, span, "a table holds no MOBILEs or ends");
        self.diagnostics
            .push(complaint.help("declare a variable, and assign its elements or fields one by one"));
        Types::ERROR
    }

    /// An element type with open sizes takes them from the first element.
    fn closed_element(&self, wanted: Option<TypeId>, first: Option<TypeId>) -> TypeId {
        let open =
            wanted.is_some_and(|ty| matches!(self.program.types.get(ty), Type::Array { size: None, .. }));
        (if open { first } else { wanted.or(first) }).unwrap_or(Types::ERROR)
    }

    fn record_table(&mut self, elements: &[ExprId], ty: TypeId, record: u32) -> TypeId {
        if self.program.types.is_any_end(ty) {
            let span = elements.first().map_or(Span::default(), |&first| self.span(first));
            self.complain(Code::TypeMismatch, span, "a table is no end of a CHAN TYPE");
            return Types::ERROR;
        }
        let wants: Vec<TypeId> =
            self.program.types.records[record as usize].fields.iter().map(|field| field.ty).collect();
        if wants.len() != elements.len() {
            let message = format!("{} has {} fields, not {}", self.show(ty), wants.len(), elements.len());
            if let Some(&first) = elements.first() {
                self.complain(Code::ArgumentCount, self.span(first), message);
            }
        }
        for (&element, &want) in elements.iter().zip(&wants) {
            self.expr_of(element, want);
        }
        ty
    }

    fn end(&mut self, id: ExprId, of: ExprId, direction: Direction) -> TypeId {
        let ty = self.expr(of, None);
        let here = Ident { symbol: Symbol(0), span: self.span(id) };
        self.program.expr_names[id.0 as usize] = self.root(of).unwrap_or(NameId::NONE);
        self.directed(ty, direction, here)
    }

    fn new_mobile(&mut self, id: ExprId, node: TypeNodeId) -> TypeId {
        let ast = self.ast;
        if let Some(process) = self.new_process(id, node) {
            return process;
        }
        if let crate::ast::TypeKind::Named(name) = ast.ty(node).kind
            && let Some(id) = self.find(name.symbol)
            && matches!(self.program.types.get(self.program.name(id).ty), Type::End { .. })
        {
            self.mention(name.span, Meaning::Name(id), false);
            return self.program.name(id).ty;
        }
        let of = self.ty_at_run_time(node);
        if matches!(self.program.types.get(of), Type::Mobile(_)) {
            return of;
        }
        self.program.types.intern(Type::Mobile(of))
    }

    /// Checks a value process; the types of its results.
    pub(super) fn valof(&mut self, valof: &Valof, wants: &[TypeId]) -> Vec<TypeId> {
        self.frames.push(RoutineFrame {
            function: true,
            assigns_level: u32::MAX,
            communicates: false,
            first_name: self.program.names.len(),
            suspends: None,
        });
        let types = self.scope(|checker| {
            checker.specs(&valof.specs);
            checker.process_in_scope(valof.body);
            let types = checker.values(&valof.results, wants);
            for (&result, &ty) in valof.results.iter().zip(&types) {
                checker.no_copy_of_mobiles(result, ty, ty);
                checker.moves_from(result);
            }
            types
        });
        self.frames.pop();
        types
    }
}

//! Owns: specifications.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: leaves a failed declaration's name unknown; that would cost a message at every use.

use super::Checker;
use super::routine::Heading;
use crate::ast::{Direction, Pragma};
use crate::ast::{Field, Ident, Mode, Renaming, SpecId, SpecKind, TypeNodeId};
use crate::diag::Code;
use crate::program::{Body, Meaning, NameId, NameKind};
use crate::source::Span;
use crate::types::{FieldType, Fields, NamedType, Type, TypeId, Types};

impl Checker<'_> {
    /// Checks a specification and brings its names into scope.
    pub(super) fn spec(&mut self, id: SpecId) {
        let ast = self.ast;
        let spec = ast.spec(id);
        let first = match &spec.kind {
            SpecKind::Declare { ty, names } => self.declare_variables(*ty, names),
            SpecKind::Abbreviate { .. } => self.abbreviate(&spec.kind, spec.span),
            SpecKind::ProcType { name, formals } => self.proc_type(id, *name, formals),
            SpecKind::Proc { name, formals, body, recursive, implements } => {
                let heading = Heading {
                    spec: id,
                    name: *name,
                    formals,
                    results: Vec::new(),
                    recursive: *recursive,
                    function: false,
                    implements: implements.and_then(|name| self.implemented(name)),
                };
                let id = self.routine(&heading, Body::Process(*body));
                self.must_implement(&heading, id);
                id
            }
            SpecKind::Function { name, results, formals, body, recursive } => {
                let results = results.iter().map(|&ty| self.ty_at_run_time(ty)).collect();
                let heading = Heading {
                    spec: id,
                    name: *name,
                    formals,
                    results,
                    recursive: *recursive,
                    function: true,
                    implements: None,
                };
                self.routine(&heading, Body::Results(body.clone()))
            }
            SpecKind::Foreign { name, formals } => {
                let heading = Heading {
                    spec: id,
                    name: *name,
                    formals,
                    results: Vec::new(),
                    recursive: false,
                    function: false,
                    implements: None,
                };
                self.foreign(&heading)
            }
            &SpecKind::DataType { name, ty } => {
                let of = self.data(ty, false);
                let at = self.program.types.named.len() as u32;
                self.program.types.named.push(NamedType { name: name.symbol, of });
                let ty = self.program.types.intern(Type::Named(at));
                self.declare(name, NameKind::Type, ty)
            }
            SpecKind::Record { name, fields, packed, mobile } => self.record(*name, fields, *packed, *mobile),
            &SpecKind::Forward(name) => self.forward(name),
            SpecKind::Bundle { name, fields, recursive } => self.bundle(*name, fields, *recursive),
            SpecKind::Protocol { .. } => self.protocol(&spec.kind),
            &SpecKind::Place(name) => {
                self.lookup(name);
                return;
            }
            SpecKind::Pragma { what, names } => return self.pragma(*what, names),
            SpecKind::Error(None) => return,
            &SpecKind::Error(Some(name)) => self.declare(name, NameKind::Error, Types::ERROR),
        };
        self.program.spec_names[id.0 as usize] = first;
    }

    fn declare_variables(&mut self, ty: TypeNodeId, names: &[(Ident, Option<Direction>)]) -> NameId {
        let ty = self.data(ty, false);
        let first = NameId(self.program.names.len() as u32);
        if names.is_empty() {
            return NameId::NONE;
        }
        let open = matches!(self.program.types.get(ty), Type::Array { size: None, .. });
        let span = names[0].0.span;
        if open {
            self.complain(Code::NotConstant, span, "a declared array needs its size");
        }
        for &(name, direction) in names {
            let ty = match direction {
                Some(direction) => self.directed(ty, direction, name),
                None => ty,
            };
            self.declare(name, NameKind::Variable, ty);
        }
        first
    }

    fn abbreviate(&mut self, kind: &SpecKind, span: Span) -> NameId {
        let &SpecKind::Abbreviate { mode, ty, name, direction, renaming, value } = kind else {
            return NameId::NONE;
        };
        let written = ty.map(|ty| self.data(ty, true));
        let want = if renaming == Renaming::Is { written } else { None };
        let got = self.expr(value, want);
        if let Some(want) = want
            && direction.is_none()
        {
            self.must_agree(value, want, got);
            match mode {
                Mode::Val | Mode::Initial => self.must_stay_shared(value, want, got),
                Mode::Reference | Mode::Result => self.must_be_shared(value, want, got),
            }
        }
        let mut ty = match written {
            Some(written) if renaming != Renaming::Is => self.retyped(written, got, renaming, span),
            Some(written) => self.closed(written, got),
            None => got,
        };
        if let Some(direction) = direction {
            ty = self.directed_abbreviation(ty, got, direction, name, written.is_some());
        }
        if mode == Mode::Val || mode == Mode::Initial {
            let barrier = mode == Mode::Val && self.program.types.is_barrier(got);
            self.no_process_value(mode, got, self.span(value));
            if mode == Mode::Initial {
                self.no_copy_of_mobiles(value, ty, got);
                self.moves_from(value);
            }
            if barrier || self.program.types.is_channel_like(got) {
                self.complain(Code::TypeMismatch, self.span(value), "a channel or timer is no value");
            }
        } else {
            self.must_be_place(value, mode);
        }
        let ty = if mode == Mode::Val { self.program.types.immobile(ty) } else { ty };
        let id = self.declare(name, NameKind::Abbreviation { mode, renaming, value }, ty);
        if mode == Mode::Val
            && renaming == Renaming::Is
            && self.program.types.basic(ty).is_some()
            && let Some(constant) = self.constant(value)
        {
            self.values.insert(id.0, constant);
        }
        id
    }

    /// The written type with its open sizes taken from the value.
    fn closed(&mut self, written: TypeId, got: TypeId) -> TypeId {
        match (self.program.types.get(written), self.program.types.get(got)) {
            (Type::Mobile(_), _) => written,
            (Type::Array { size, element }, Type::Array { size: got_size, element: got }) => {
                let element = self.closed(element, got);
                self.program.types.array(size.or(got_size), element)
            }
            _ => written,
        }
    }

    fn directed_abbreviation(
        &mut self,
        ty: TypeId,
        got: TypeId,
        direction: Direction,
        name: Ident,
        typed: bool,
    ) -> TypeId {
        if !typed {
            let message = format!("write the type before a name with `{}`", direction.sign());
            self.complain(Code::Direction, name.span, message);
            return Types::ERROR;
        }
        let ty = self.directed(ty, direction, name);
        if !self.agree(ty, got) {
            let message = format!("this is of type {} where {} is wanted", self.show(got), self.show(ty));
            self.complain(Code::Direction, name.span, message);
        }
        ty
    }

    /// The type after RETYPES or RESHAPES, whose bytes must fit.
    fn retyped(&mut self, written: TypeId, got: TypeId, renaming: Renaming, span: Span) -> TypeId {
        let types = &mut self.program.types;
        if got == Types::ERROR || written == Types::ERROR || types.is_channel_like(got) {
            return written;
        }
        let whole = types.immobile(got);
        if let Some(of) = [whole, written].into_iter().find(|&ty| types.holds_addresses(ty)) {
            let message = format!("{} has MOBILEs or ends in it, and no bytes of its own", self.show(of));
            self.complain(Code::TypeMismatch, span, message);
            return Types::ERROR;
        }
        let Some(from) = types.bytes(got) else { return written };
        if let Some(to) = types.bytes(written) {
            if from != to {
                let word = if renaming == Renaming::Retypes { "RETYPES" } else { "RESHAPES" };
                self.complain(
                    Code::ArraySize,
                    span,
                    format!("{word} makes {to} bytes of {from}; they must be equal"),
                );
            }
            return written;
        }
        // One open dimension takes what is left.
        if let Type::Array { size: None, element } = types.get(written)
            && let Some(one) = types.bytes(element)
        {
            if one == 0 || from % one != 0 {
                let message = format!("{from} bytes do not divide into elements of {one}");
                self.complain(Code::ArraySize, span, message);
                return written;
            }
            return types.array(u32::try_from(from / one).ok(), element);
        }
        written
    }

    fn record(&mut self, name: Ident, fields: &[Field], packed: bool, mobile: bool) -> NameId {
        let names: Vec<Ident> = fields.iter().map(|field| field.name).collect();
        let mut list = Vec::new();
        for field in fields {
            let mut ty = self.data(field.ty, false);
            let types = &self.program.types;
            if types.is_barrier(ty) || types.holds_barriers(ty) {
                let message = "a BARRIER is no part of a value, so it is none of a record's";
                self.complain(Code::NotSupported, field.name.span, message);
                ty = Types::ERROR;
            }
            list.push(FieldType { name: field.name.symbol, ty });
        }
        let fields = list;
        let at = self.program.types.records.len() as u32;
        self.program.types.records.push(Fields { name: name.symbol, fields, packed });
        let mut ty = self.program.types.intern(Type::Record(at));
        self.members(ty, names.into_iter());
        if mobile {
            ty = self.program.types.intern(Type::Mobile(ty));
        }
        self.declare(name, NameKind::Type, ty)
    }

    /// A CHAN TYPE that is defined later, and until then has no channels.
    fn forward(&mut self, name: Ident) -> NameId {
        let (bundle, id) = self.new_bundle_type(name);
        self.forwards.push((id, bundle));
        self.bind(id);
        id
    }

    /// Complains of CHAN TYPEs that are defined nowhere.
    pub(super) fn end_of_forwards(&mut self) {
        for (id, _) in std::mem::take(&mut self.forwards) {
            let (text, span) = (self.text(self.program.name(id).symbol), self.program.name(id).span);
            self.complain(
                Code::Undeclared,
                span,
                format!("the CHAN TYPE `{text}` is declared, but not defined"),
            );
        }
    }

    fn new_bundle_type(&mut self, name: Ident) -> (u32, NameId) {
        let bundle = self.program.types.bundles.len() as u32;
        self.program.types.bundles.push(Fields { name: name.symbol, fields: Vec::new(), packed: false });
        let ty = self.program.types.intern(Type::End { bundle, direction: Direction::Input, shared: false });
        (bundle, self.new_name(name, NameKind::Type, ty))
    }

    fn bundle(&mut self, name: Ident, fields: &[Field], recursive: bool) -> NameId {
        let bound = self.bindings.get(name.symbol.0 as usize).copied();
        let forward = self.forwards.iter().position(|&(id, _)| Some(id) == bound);
        let (bundle, id) = match forward {
            Some(at) => {
                let (id, bundle) = self.forwards.swap_remove(at);
                self.mention(name.span, Meaning::Name(id), true);
                (bundle, id)
            }
            None => self.new_bundle_type(name),
        };
        if recursive {
            self.bind(id);
        }
        let mut list = Vec::new();
        for field in fields {
            let ty = self.ty(field.ty);
            let ty = match field.direction {
                Some(direction) => self.directed(ty, direction, field.name),
                None => {
                    self.complain(Code::Direction, field.name.span, "a channel of a bundle says `?` or `!`");
                    Types::ERROR
                }
            };
            list.push(FieldType { name: field.name.symbol, ty });
        }
        self.program.types.bundles[bundle as usize].fields = list;
        self.members(self.program.name(id).ty, fields.iter().map(|field| field.name));
        self.bind(id);
        id
    }

    fn pragma(&mut self, what: Pragma, names: &[Ident]) {
        for &name in names {
            let id = self.lookup(name);
            let name = &mut self.program.names[id.0 as usize];
            match what {
                Pragma::Shared => name.shared = true,
                Pragma::PermitAliases => name.permits_aliases = true,
                _ => {}
            }
        }
    }
}

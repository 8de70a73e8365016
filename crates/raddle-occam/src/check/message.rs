//! Owns: inputs and outputs against their protocols.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: judges which process may use the channel.

use super::Checker;
use crate::ast::{Direction, ExprId, ExprKind, Ident, InputItem, InputKind, OutputItem, Variant};
use crate::diag::{Code, Diagnostic};
use crate::program::{Meaning, NameId};
use crate::source::Span;
use crate::types::{Type, TypeId, Types};

impl Checker<'_> {
    pub(super) fn input(&mut self, channel: ExprId, kind: &InputKind, span: Span) {
        let ty = self.expr(channel, None);
        match (self.program.types.get(ty), kind) {
            (Type::Timer, InputKind::After(time)) => {
                self.expr_of(*time, Types::INT);
            }
            (Type::Timer, InputKind::Items(items)) if items.len() == 1 => self.target(items[0], Types::INT),
            (Type::Port(of), InputKind::Items(items)) if items.len() == 1 => self.target(items[0], of),
            (Type::Chan { protocol, direction, .. }, _) if !matches!(kind, InputKind::After(_)) => {
                self.communicates(span);
                self.wrong_end(channel, direction, Direction::Input);
                self.input_message(protocol, kind, span);
            }
            (other, _) => {
                if !matches!(other, Type::Error) {
                    let message = format!("this input does not fit something of type {}", self.show(ty));
                    self.complain(Code::WrongKind, self.span(channel), message);
                }
                self.input_unknown(kind);
            }
        }
    }

    fn wrong_end(&mut self, channel: ExprId, has: Option<Direction>, wants: Direction) {
        if has.is_some_and(|has| has != wants) {
            let verb = if wants == Direction::Input { "read from" } else { "written to" };
            let message = format!("this end of the channel cannot be {verb}");
            let mut complaint = Diagnostic::new(Code::Direction, self.span(channel), message);
            if let Some(root) = self.root(channel) {
                complaint = complaint.also(self.program.name(root).span, "its direction is given here");
            }
            self.diagnostics.push(complaint);
        }
    }

    /// Checks an expression of which no type is expected.
    fn any_type(&mut self, expr: Option<ExprId>) {
        if let Some(expr) = expr {
            self.expr(expr, None);
        }
    }

    /// Checks what can be checked without a protocol.
    fn input_unknown(&mut self, kind: &InputKind) {
        let items = |checker: &mut Self, items: &[InputItem]| {
            for item in items {
                checker.any_type(item.count);
                checker.expr(item.target, None);
            }
        };
        match kind {
            InputKind::Items(list) | InputKind::Tagged(_, list) => items(self, list),
            InputKind::After(time) => self.any_type(Some(*time)),
            InputKind::Case(variants) => {
                for variant in variants {
                    self.scope(|checker| {
                        checker.specs(&variant.specs);
                        items(checker, &variant.items);
                        checker.process_in_scope(variant.body);
                        variant.after.iter().for_each(|&after| checker.process_in_scope(after));
                    });
                }
            }
        }
    }

    fn input_message(&mut self, protocol: TypeId, kind: &InputKind, span: Span) {
        match kind {
            InputKind::Items(items) => match self.sequence(protocol, span) {
                Some(types) => self.targets(items, &types, span),
                None => self.input_unknown(kind),
            },
            InputKind::Tagged(tag, items) => match self.form(protocol, *tag) {
                Some(types) => self.targets(items, &types, tag.span),
                None => self.input_unknown(kind),
            },
            InputKind::Case(variants) => self.variants(protocol, variants),
            InputKind::After(_) => {}
        }
    }

    fn variants(&mut self, protocol: TypeId, variants: &[Variant]) {
        let mut seen: Vec<Ident> = Vec::new();
        for variant in variants {
            if let Some(first) = seen.iter().find(|seen| seen.symbol == variant.tag.symbol) {
                let complaint =
                    Diagnostic::new(Code::CaseOption, variant.tag.span, "this tag has its variant already");
                self.diagnostics.push(complaint.also(first.span, "here"));
            }
            seen.push(variant.tag);
            self.scope(|checker| {
                checker.specs(&variant.specs);
                match checker.form(protocol, variant.tag) {
                    Some(types) => checker.targets(&variant.items, &types, variant.tag.span),
                    None => checker.input_unknown(&InputKind::Items(variant.items.clone())),
                }
                checker.process_in_scope(variant.body);
                variant.after.iter().for_each(|&after| checker.process_in_scope(after));
            });
        }
    }

    /// The items of a protocol without tags.
    fn sequence(&mut self, protocol: TypeId, span: Span) -> Option<Vec<TypeId>> {
        match self.program.types.get(protocol) {
            Type::Protocol(at) => {
                let protocol = &self.program.types.protocols[at as usize];
                if protocol.variant {
                    let text = self.text(protocol.name);
                    let message = format!("a message of `{text}` begins with a tag; input it with `? CASE`");
                    self.complain(Code::Protocol, span, message);
                    return None;
                }
                protocol.forms.first().map(|(_, items)| items.clone())
            }
            Type::Error => None,
            _ => Some(vec![protocol]),
        }
    }

    /// The items behind a tag.
    fn form(&mut self, protocol: TypeId, tag: Ident) -> Option<Vec<TypeId>> {
        let found = match self.program.types.get(protocol) {
            Type::Error => return None,
            Type::Protocol(at) => {
                let known = &self.program.types.protocols[at as usize];
                let at = known.forms.iter().position(|(name, _)| *name == Some(tag.symbol));
                at.map(|at| (known.forms[at].1.clone(), known.origins[at]))
            }
            _ => None,
        };
        let Some((items, origin)) = found else {
            let message = format!("`{}` is no tag of {}", self.text(tag.symbol), self.show(protocol));
            self.complain(Code::Protocol, tag.span, message);
            return None;
        };
        let declares = self.program.types.intern(Type::Protocol(origin));
        self.mention(tag.span, Meaning::Member(declares, tag.symbol), false);
        Some(items)
    }

    fn count_of_items(&mut self, wanted: usize, got: usize, span: Span) {
        if wanted != got {
            self.complain(
                Code::Protocol,
                span,
                format!("the protocol has {wanted} items here, this message {got}"),
            );
        }
    }

    fn targets(&mut self, items: &[InputItem], types: &[TypeId], span: Span) {
        self.count_of_items(types.len(), items.len(), span);
        for (at, &item) in items.iter().enumerate() {
            match types.get(at) {
                Some(&ty) => self.target(item, ty),
                None => self.input_unknown(&InputKind::Items(vec![item])),
            }
        }
    }

    fn target(&mut self, item: InputItem, ty: TypeId) {
        let want = match (self.program.types.get(ty), item.count) {
            (Type::Counted { count, array }, Some(target)) => {
                self.expr_of(target, count);
                self.must_be_variable(target);
                array
            }
            (Type::Counted { .. }, None) => {
                self.complain(
                    Code::Protocol,
                    self.span(item.target),
                    "a count and `::` belong before this array",
                );
                Types::ERROR
            }
            (Type::Any, _) | (Type::Error, _) => {
                self.any_type(item.count);
                Types::ERROR
            }
            (_, Some(count)) => {
                self.complain(Code::Protocol, self.span(count), "the protocol has no count here");
                Types::ERROR
            }
            (_, None) => ty,
        };
        let to = self.expr(item.target, Some(want));
        self.no_mobile_as_any(item.target, ty, to);
        self.no_copy_of_mobiles(item.target, to, want);
        if !self.is_end_and_any(to, want) {
            self.must_agree(item.target, want, to);
            self.must_stay_shared(item.target, to, want);
        }
        self.must_be_variable(item.target);
    }

    pub(super) fn output(&mut self, channel: ExprId, items: &[OutputItem], span: Span) {
        let ty = self.expr(channel, None);
        match self.program.types.get(ty) {
            Type::Port(of) if items.len() == 1 => self.output_item(items[0], of),
            Type::Chan { protocol, direction, .. } => {
                self.communicates(span);
                self.wrong_end(channel, direction, Direction::Output);
                self.output_message(protocol, items, span);
            }
            other => {
                if !matches!(other, Type::Error) {
                    let message = format!("nothing can be sent to something of type {}", self.show(ty));
                    self.complain(Code::WrongKind, self.span(channel), message);
                }
                self.output_unknown(items);
            }
        }
    }

    /// Over a CHAN ANY go bytes: who gets them knows of no MOBILE.
    fn no_mobile_as_any(&mut self, item: ExprId, carried: TypeId, ty: TypeId) {
        if carried == Types::ANY && self.program.types.holds_addresses(ty) {
            let message = format!("a CHAN ANY carries bytes; this is of type {}", self.show(ty));
            let complaint = Diagnostic::new(Code::Protocol, self.span(item), message);
            self.diagnostics.push(complaint.help("say what the channel carries"));
        }
    }

    fn output_unknown(&mut self, items: &[OutputItem]) {
        for item in items {
            self.any_type(item.count);
            self.expr(item.value, None);
        }
    }

    fn output_message(&mut self, protocol: TypeId, items: &[OutputItem], span: Span) {
        let ast = self.ast;
        let variant = match self.program.types.get(protocol) {
            Type::Protocol(at) => self.program.types.protocols[at as usize].variant,
            Type::Error => return self.output_unknown(items),
            _ => false,
        };
        let (types, items) = if variant {
            let first = items[0].value;
            let &ExprKind::Name(symbol) = &ast.expr(first).kind else {
                self.complain(
                    Code::Protocol,
                    self.span(first),
                    "a message of this protocol begins with a tag",
                );
                return self.output_unknown(items);
            };
            self.program.expr_names[first.0 as usize] = NameId::NONE;
            match self.form(protocol, Ident { symbol, span: self.span(first) }) {
                Some(types) => (types, &items[1..]),
                None => return self.output_unknown(&items[1..]),
            }
        } else {
            match self.sequence(protocol, span) {
                Some(types) => (types, items),
                None => return,
            }
        };
        self.count_of_items(types.len(), items.len(), span);
        for (at, &item) in items.iter().enumerate() {
            match types.get(at) {
                Some(&ty) => self.output_item(item, ty),
                None => self.output_unknown(&[item]),
            }
        }
    }

    fn output_item(&mut self, item: OutputItem, ty: TypeId) {
        let want = match (self.program.types.get(ty), item.count) {
            (Type::Counted { count, array }, Some(sent)) => {
                self.expr_of(sent, count);
                array
            }
            (Type::Counted { .. }, None) => {
                self.complain(
                    Code::Protocol,
                    self.span(item.value),
                    "a count and `::` belong before this array",
                );
                return self.any_type(Some(item.value));
            }
            (Type::Any | Type::Error, _) => {
                self.output_unknown(&[item]);
                return self.no_mobile_as_any(item.value, ty, self.type_of(item.value));
            }
            (_, Some(count)) => {
                self.complain(Code::Protocol, self.span(count), "the protocol has no count here");
                ty
            }
            (_, None) => ty,
        };
        let from = self.expr(item.value, Some(want));
        self.no_copy_of_mobiles(item.value, want, from);
        self.moves_from(item.value);
        if !self.is_end_and_any(from, want) {
            self.must_agree(item.value, want, from);
            self.must_stay_shared(item.value, want, from);
        }
        self.not_claimed(item.value);
    }
}

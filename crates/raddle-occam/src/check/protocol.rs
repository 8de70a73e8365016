//! Owns: PROTOCOLs: their forms, those that they take over from others, and the numbers of tags.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: numbers a tag before all protocols that may share it are known.
//!
//! A tag has one number in all protocols that have it, since the two ends of a channel may see it by different ones. So
//! protocols that extend each other, directly or by others, are numbered together: first the tags whose number the
//! program says, then each of the others with the smallest that none of the family has. A protocol for itself is
//! numbered from 0 on.

use super::Checker;
use crate::ast::{ExprId, Form, Ident, SpecKind};
use crate::diag::{Code, Diagnostic};
use crate::program::{NameId, NameKind};
use crate::source::Span;
use crate::symbol::{FastMap, Symbol};
use crate::types::{ProtocolType, Type, Types};

/// A tag, by the protocol that declares it.
type Tag = (u32, Symbol);

impl Checker<'_> {
    pub(super) fn protocol(&mut self, spec: &SpecKind) -> NameId {
        let SpecKind::Protocol { name, variant, extends, first, forms } = spec else { return NameId::NONE };
        let at = self.program.types.protocols.len() as u32;
        let mut made = ProtocolType {
            name: name.symbol,
            variant: *variant,
            forms: Vec::new(),
            origins: Vec::new(),
            numbers: Vec::new(),
            extends: Vec::new(),
        };
        extends.iter().for_each(|&base| self.take_over(base, &mut made));
        let taken = made.forms.len();
        for form in forms {
            let items = form.items.iter().map(|&item| self.ty(item)).collect();
            let tag = form.tag.map(|tag| tag.symbol);
            if let (Some(name), Some(before)) =
                (form.tag, made.forms[..taken].iter().position(|it| it.0 == tag))
            {
                let origin = self.protocol_name(made.origins[before]);
                let message = format!("the tag `{}` is taken over from `{origin}`", self.text(name.symbol));
                self.complain(Code::Repeated, name.span, message);
                continue;
            }
            made.forms.push((tag, items));
            made.origins.push(at);
        }
        self.program.types.protocols.push(made);
        self.fixed_numbers(at, *first, forms);
        let ty = self.program.types.intern(Type::Protocol(at));
        self.members(ty, forms.iter().filter_map(|form| form.tag));
        self.declare(*name, NameKind::Type, ty)
    }

    fn protocol_name(&self, at: u32) -> String {
        self.text(self.program.types.protocols[at as usize].name)
    }

    /// EXTENDS: all tags of another protocol.
    fn take_over(&mut self, base: Ident, made: &mut ProtocolType) {
        let id = self.lookup(base);
        let declared = self.program.name(id);
        let (kind, ty) = (declared.kind, declared.ty);
        let at = match (kind, self.program.types.get(ty)) {
            (NameKind::Error, _) => return,
            (NameKind::Type, Type::Protocol(at)) if self.program.types.protocols[at as usize].variant => at,
            _ => {
                let message =
                    format!("`{}` is no PROTOCOL with CASE, and has no tags", self.text(base.symbol));
                return self.complain(Code::Protocol, base.span, message);
            }
        };
        let other = self.program.types.protocols[at as usize].clone();
        for (form, &origin) in other.forms.iter().zip(&other.origins) {
            let before = made.forms.iter().position(|it| it.0 == form.0);
            match before.map(|before| made.origins[before]) {
                // It comes from the same protocol by two ways.
                Some(same) if same == origin => {}
                Some(before) => {
                    let tag = form.0.map_or_else(String::new, |tag| self.text(tag));
                    let (one, two) = (self.protocol_name(before), self.protocol_name(origin));
                    let message = format!("both `{one}` and `{two}` have a tag `{tag}`");
                    self.complain(Code::Protocol, base.span, message);
                }
                None => {
                    made.forms.push(form.clone());
                    made.origins.push(origin);
                }
            }
        }
        for base in other.extends.into_iter().chain([at]) {
            if !made.extends.contains(&base) {
                made.extends.push(base);
            }
        }
    }

    /// The numbers that a protocol says for its own tags.
    fn fixed_numbers(&mut self, at: u32, first: Option<ExprId>, forms: &[Form]) {
        let mut next = first.and_then(|first| self.tag_number(first));
        for form in forms {
            let Some(tag) = form.tag else { continue };
            let said = form.value.and_then(|value| self.tag_number(value));
            let Some((number, span)) = said.or(next.filter(|_| form.value.is_none())) else { continue };
            next = next.map(|(next, span)| if said.is_none() { (next + 1, span) } else { (next, span) });
            match u8::try_from(number) {
                Ok(number) => drop(self.tags.insert((at, tag.symbol), (number, tag.span))),
                Err(_) => self.complain(Code::Protocol, span, "a tag's number is 0 to 255"),
            }
        }
        self.numbers_differ(at, forms);
    }

    /// The value of a constant, and where it stands.
    fn tag_number(&mut self, value: ExprId) -> Option<(i64, Span)> {
        self.expr_of(value, Types::INT);
        let span = self.span(value);
        let number = self.needed_constant(value)?;
        Some((number, span))
    }

    /// Complains of two tags of one protocol with the same number.
    fn numbers_differ(&mut self, at: u32, forms: &[Form]) {
        let made = self.program.types.protocols[at as usize].clone();
        let mut seen: FastMap<u8, (Symbol, Span)> = FastMap::default();
        for (form, &origin) in made.forms.iter().zip(&made.origins) {
            let Some(tag) = form.0 else { continue };
            let Some(&(number, declared)) = self.tags.get(&(origin, tag)) else { continue };
            let Some((other, before)) = seen.insert(number, (tag, declared)) else { continue };
            let own = forms.iter().filter_map(|form| form.tag).find(|it| it.symbol == tag);
            let (one, two) = (self.text(other), self.text(tag));
            let message = format!("the tags `{one}` and `{two}` have both the number {number}");
            let complaint = Diagnostic::new(Code::Protocol, own.map_or(declared, |own| own.span), message);
            self.diagnostics.push(complaint.also(before, "the other tag"));
        }
    }

    /// Gives each tag its number, once all protocols are known.
    pub(super) fn number_tags(&mut self) {
        for family in self.families() {
            let mut used = [false; 256];
            let mut tags: Vec<Tag> = Vec::new();
            for &at in &family {
                let made = &self.program.types.protocols[at as usize];
                let own = made.forms.iter().zip(&made.origins).filter(|(_, origin)| **origin == at);
                tags.extend(own.filter_map(|(form, _)| Some((at, form.0?))));
            }
            for tag in &tags {
                if let Some(&(number, _)) = self.tags.get(tag) {
                    used[usize::from(number)] = true;
                }
            }
            let mut free = (0..=255_u8).filter(|&number| !used[usize::from(number)]);
            for &tag in &tags {
                if self.tags.contains_key(&tag) {
                    continue;
                }
                let Some(number) = free.next() else {
                    let name = self.protocol_name(tag.0);
                    let span = self.program.names.iter().find(|name| self.is_protocol(name.ty, tag.0));
                    let span = span.map_or(Span::default(), |name| name.span);
                    let message =
                        format!("`{name}`, with the protocols that extend it, has more than 256 tags");
                    self.complain(Code::Protocol, span, message);
                    break;
                };
                self.tags.insert(tag, (number, Span::default()));
            }
            for at in family {
                let made = &self.program.types.protocols[at as usize];
                let number = |(form, &origin): (&(Option<Symbol>, _), &u32)| {
                    form.0.and_then(|tag| self.tags.get(&(origin, tag))).map_or(0, |it| it.0)
                };
                let numbers = made.forms.iter().zip(&made.origins).map(number).collect();
                self.program.types.protocols[at as usize].numbers = numbers;
            }
        }
    }

    fn is_protocol(&self, ty: crate::types::TypeId, at: u32) -> bool {
        self.program.types.get(ty) == Type::Protocol(at)
    }

    /// The protocols that share tags, or may, by way of others.
    fn families(&self) -> Vec<Vec<u32>> {
        let protocols = &self.program.types.protocols;
        let mut family: Vec<u32> = (0..protocols.len() as u32).collect();
        for (at, protocol) in protocols.iter().enumerate() {
            for &base in &protocol.extends {
                let (from, to) = (family[base as usize], family[at]);
                family.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
            }
        }
        let mut list: FastMap<u32, Vec<u32>> = FastMap::default();
        for (at, &number) in family.iter().enumerate() {
            list.entry(number).or_default().push(at as u32);
        }
        list.into_values().collect()
    }
}

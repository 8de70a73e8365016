//! Owns: how values of each type lie in slots and in memory.
//! May use: `types`, `raddle-occam-syntax`.
//! Never: emits code.

use super::Lowerer;
use super::function::Dim;
use crate::ast::{Basic, SharedEnds};
use crate::symbol::Symbol;
use crate::types::{Type, TypeId, Types};

/// How one value is computed with. Without sign: of BOOL, BYTE and `UHalf` the slot's other bits are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Bool,
    Byte,
    Half,
    UHalf,
    Word,
    UWord,
    Long,
    ULong,
    Real,
    Double,
}

impl Class {
    pub(super) fn slots(self) -> u32 {
        if matches!(self, Self::Long | Self::ULong | Self::Double) { 2 } else { 1 }
    }

    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::Bool | Self::Byte => 1,
            Self::Half | Self::UHalf => 2,
            Self::Word | Self::UWord | Self::Real => 4,
            Self::Long | Self::ULong | Self::Double => 8,
        }
    }
}

/// What kind of thing a type is, mobiles not looked into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Scalar(Class),
    Array,
    Record(u32),
    Mobile(TypeId),
    Chan(SharedEnds),
    End(u32),
    Timer,
    Barrier,
    Other,
}

impl Shape {
    /// Whether it is held in slots: a value, or an address in the role of one.
    pub(super) fn class(self) -> Option<Class> {
        match self {
            Self::Scalar(class) => Some(class),
            Self::Mobile(_) | Self::Chan(_) | Self::End(_) | Self::Barrier => Some(Class::Word),
            _ => None,
        }
    }
}

/// The size of a channel's block: the channel, then the locks of its two ends if they are shared.
pub(super) fn channel_bytes(shared: SharedEnds) -> u32 {
    if shared == SharedEnds::No { 4 } else { 12 }
}

/// A barrier's words: its members, those of them who have not come, who came last.
pub(super) const BARRIER_WORDS: u32 = 3;

/// Where the lock of a channel's reading end lies; that of the writing end comes next.
pub(super) const LOCKS: u32 = 4;

/// Where a bundle's channels begin, behind the count of ends and two locks.
pub(super) const BUNDLE_CHANNELS: u32 = 12;

pub(super) fn class_of(basic: Basic) -> Class {
    match basic {
        Basic::Bool => Class::Bool,
        Basic::Byte | Basic::Uint8 => Class::Byte,
        Basic::Int16 => Class::Half,
        Basic::Int | Basic::Int32 => Class::Word,
        Basic::Int64 => Class::Long,
        Basic::Uint16 => Class::UHalf,
        Basic::Uint | Basic::Uint32 => Class::UWord,
        Basic::Uint64 => Class::ULong,
        Basic::Real32 => Class::Real,
        Basic::Real64 => Class::Double,
    }
}

/// What a type is.
pub(super) fn shape(types: &Types, ty: TypeId) -> Shape {
    match types.get(ty) {
        Type::Named(at) => shape(types, types.named[at as usize].of),
        Type::Basic(basic) => Shape::Scalar(class_of(basic)),
        Type::Array { .. } => Shape::Array,
        Type::Record(at) => Shape::Record(at),
        Type::Mobile(of) => Shape::Mobile(of),
        Type::Chan { shared, .. } => Shape::Chan(shared),
        Type::End { bundle, .. } => Shape::End(bundle),
        Type::Timer => Shape::Timer,
        Type::Barrier => Shape::Barrier,
        _ => Shape::Other,
    }
}

/// Bytes of a value in memory; an array's open sizes count as nothing.
pub(super) fn size(types: &Types, ty: TypeId) -> u32 {
    match types.get(ty) {
        Type::Named(at) => size(types, types.named[at as usize].of),
        Type::Basic(basic) => class_of(basic).bytes(),
        Type::Array { size: count, element } => count.unwrap_or(0).saturating_mul(size(types, element)),
        Type::Record(at) => {
            let record = &types.records[at as usize];
            let mut total = 0;
            for field in &record.fields {
                total = align(total, if record.packed { 1 } else { alignment(types, field.ty) });
                total += size(types, field.ty);
            }
            if record.packed { total } else { align(total, alignment(types, ty)) }
        }
        // Each is an address.
        Type::Mobile(_) | Type::End { .. } | Type::Chan { .. } | Type::Barrier => 4,
        _ => 0,
    }
}

fn align(at: u32, to: u32) -> u32 {
    at.next_multiple_of(to.max(1))
}

fn alignment(types: &Types, ty: TypeId) -> u32 {
    match types.get(ty) {
        Type::Named(at) => alignment(types, types.named[at as usize].of),
        Type::Basic(basic) => class_of(basic).bytes().min(4),
        Type::Array { element, .. } => alignment(types, element),
        Type::Record(at) if types.records[at as usize].packed => 1,
        Type::Record(at) => types.records[at as usize]
            .fields
            .iter()
            .map(|field| alignment(types, field.ty))
            .max()
            .unwrap_or(1),
        _ => 4,
    }
}

/// Where a record's field lies, and its type.
pub(super) fn field(types: &Types, record: u32, name: Symbol) -> Option<(u32, TypeId)> {
    let record = &types.records[record as usize];
    let mut at = 0;
    for field in &record.fields {
        at = align(at, if record.packed { 1 } else { alignment(types, field.ty) });
        if field.name == name {
            return Some((at, field.ty));
        }
        at += size(types, field.ty);
    }
    None
}

/// Where every field of a record lies, with its type.
pub(super) fn fields(types: &Types, record: u32) -> Vec<(u32, TypeId)> {
    let names: Vec<Symbol> = types.records[record as usize].fields.iter().map(|field| field.name).collect();
    names.into_iter().filter_map(|name| field(types, record, name)).collect()
}

impl Lowerer<'_> {
    pub(super) fn shape(&self, ty: TypeId) -> Shape {
        shape(&self.program.types, ty)
    }

    pub(super) fn size(&self, ty: TypeId) -> u32 {
        size(&self.program.types, ty)
    }

    /// The sizes of an array type as far as it tells; what it does not tell is `None`.
    pub(super) fn type_dims(&self, ty: TypeId) -> Vec<Option<u32>> {
        let mut list = Vec::new();
        let mut at = ty;
        loop {
            match self.program.types.get(at) {
                Type::Named(named) => at = self.program.types.named[named as usize].of,
                Type::Array { size, element } => {
                    list.push(size);
                    at = element;
                }
                _ => return list,
            }
        }
    }

    /// The type of an array's elements, one dimension down.
    pub(super) fn element(&self, ty: TypeId) -> TypeId {
        match self.program.types.get(ty) {
            Type::Named(named) => self.element(self.program.types.named[named as usize].of),
            Type::Array { element, .. } => element,
            Type::Mobile(of) => self.element(of),
            _ => ty,
        }
    }

    /// The type of the elements behind all dimensions.
    pub(super) fn innermost(&self, ty: TypeId) -> TypeId {
        match self.shape(ty) {
            Shape::Array => self.innermost(self.element(ty)),
            _ => ty,
        }
    }

    /// The type without MOBILE, unless it has none.
    pub(super) fn content(&self, ty: TypeId) -> TypeId {
        match self.shape(ty) {
            Shape::Mobile(of) => of,
            _ => ty,
        }
    }

    /// The sizes, where all are known from the type.
    pub(super) fn const_dims(&self, ty: TypeId) -> Option<Vec<Dim>> {
        self.type_dims(ty).into_iter().map(|size| size.map(Dim::Const)).collect()
    }
}

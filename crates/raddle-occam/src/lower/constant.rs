//! Owns: what is constant: values, tables and texts that stand in the module's data.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: complains; what would trap is left to do so when it runs.

use super::function::{Dim, View};
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{Basic, ExprId, ExprKind, Mode, Monadic, Renaming};
use crate::operator::{in_range, literal, range, widen};
use crate::program::{NameId, NameKind};
use crate::types::TypeId;

/// A constant name.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Constant {
    /// The bytes of a value in a slot or two.
    Scalar(u64),
    /// Place in the data, and sizes.
    Data(i32, Vec<Dim>),
}

impl Lowerer<'_> {
    /// The value of a whole-number or BOOL expression, if it is constant.
    pub(super) fn fold(&self, expr: ExprId) -> Option<i64> {
        if let Some(&value) = self.program.constants.get(&expr.0) {
            return Some(value);
        }
        let types = &self.program.types;
        let ty = self.program.type_of(expr);
        match &self.ast.expr(expr).kind {
            ExprKind::Integer { value, hex, .. } => {
                let basic = types.basic(ty)?;
                if types.is_real(ty) {
                    return None;
                }
                literal(*value, *hex, basic)
            }
            ExprKind::Byte { value, .. } => Some(i64::from(*value)),
            ExprKind::Bool(value) => Some(i64::from(*value)),
            ExprKind::Name(_) => self.program.values.get(&self.program.name_of(expr).0).copied(),
            &ExprKind::Monadic(Monadic::Size, value) => {
                types.as_array(self.program.type_of(value))?.0.map(i64::from)
            }
            &ExprKind::Monadic(operator, value) => {
                if self.program.name_of(expr) != NameId::NONE {
                    return None;
                }
                self.fold_monadic(operator, value, types.basic(ty)?)
            }
            &ExprKind::Dyadic(operator, left, right) => {
                if self.program.name_of(expr) != NameId::NONE {
                    return None;
                }
                let basic = types.basic(self.program.type_of(left))?;
                if types.is_real(self.program.type_of(left)) {
                    return None;
                }
                operator.fold(self.fold(left)?, self.fold(right)?, basic)
            }
            &ExprKind::Convert { value, .. } => {
                let basic = types.basic(ty)?;
                if types.is_real(ty) || types.is_real(self.program.type_of(value)) {
                    return None;
                }
                let from = types.basic(self.program.type_of(value))?;
                in_range(widen(self.fold(value)?, from), basic)
            }
            &ExprKind::Most { high, .. } => {
                let (low, top) = range(types.basic(ty)?);
                (!types.is_real(ty)).then_some((if high { top } else { low }) as i64)
            }
            &ExprKind::BytesInType(_) => self.program.values.get(&(u32::MAX - expr.0)).copied(),
            &ExprKind::BytesIn(value) => i64::try_from(types.bytes(self.program.type_of(value))?).ok(),
            _ => None,
        }
    }

    fn fold_monadic(&self, operator: Monadic, value: ExprId, basic: Basic) -> Option<i64> {
        if matches!(basic, Basic::Real32 | Basic::Real64) {
            return None;
        }
        let negated = match (operator, &self.ast.expr(value).kind) {
            (Monadic::Minus, ExprKind::Integer { value, hex: false, .. }) => Some(-i128::from(*value)),
            _ => None,
        };
        match negated {
            Some(value) => in_range(value, basic),
            None => operator.fold(widen(self.fold(value)?, basic), basic),
        }
    }

    /// What a VAL name stands for, if that is constant.
    pub(super) fn constant_of(&mut self, name: NameId) -> Option<Constant> {
        if let Some(known) = self.constants.get(&name) {
            return known.clone();
        }
        let declared = self.program.name(name);
        let constant = match declared.kind {
            NameKind::Abbreviation { mode: Mode::Val, renaming: Renaming::Is, value } => {
                self.constant(value, declared.ty)
            }
            _ => None,
        };
        self.constants.insert(name, constant.clone());
        constant
    }

    /// An expression as a constant of that type.
    fn constant(&mut self, expr: ExprId, ty: TypeId) -> Option<Constant> {
        match self.shape(ty) {
            Shape::Scalar(_) => {
                let mut bytes = self.bytes_of(expr, ty)?;
                let signed = self.shape(ty) != Shape::Scalar(Class::UHalf);
                let negative = signed && bytes.len() == 2 && bytes[1] >= 0x80;
                bytes.resize(8, if negative { 0xFF } else { 0 });
                Some(Constant::Scalar(u64::from_le_bytes(bytes.try_into().ok()?)))
            }
            Shape::Array | Shape::Record(_) => {
                let dims = self.const_dims(ty)?;
                let bytes = self.bytes_of(expr, ty)?;
                let at = self.data_of(bytes);
                Some(Constant::Data(at, dims))
            }
            _ => None,
        }
    }

    /// The place of constant bytes in the data.
    pub(super) fn data_of(&mut self, bytes: Vec<u8>) -> i32 {
        if let Some(&at) = self.data.get(&bytes) {
            return at;
        }
        let at = self.module.data(&bytes);
        self.data.insert(bytes, at);
        at
    }

    /// The bytes of a constant expression in memory.
    pub(super) fn bytes_of(&mut self, expr: ExprId, ty: TypeId) -> Option<Vec<u8>> {
        if let Shape::Scalar(class) = self.shape(ty) {
            return self.scalar_bytes(expr, class);
        }
        let size = self.size(ty) as usize;
        let mut bytes = match &self.ast.expr(expr).kind {
            ExprKind::Text { bytes, .. } => bytes.to_vec(),
            ExprKind::Table { elements, .. } => {
                let elements = elements.clone();
                match self.shape(ty) {
                    Shape::Record(record) => self.record_bytes(&elements, record, size)?,
                    Shape::Array => {
                        let element = self.element(ty);
                        let each = elements.iter().map(|&item| self.bytes_of(item, element));
                        each.collect::<Option<Vec<_>>>()?.concat()
                    }
                    _ => return None,
                }
            }
            ExprKind::Name(_) => match self.program.name(self.program.name_of(expr)).kind {
                NameKind::Abbreviation { mode: Mode::Val, renaming: Renaming::Is, value } => {
                    self.bytes_of(value, ty)?
                }
                _ => return None,
            },
            &ExprKind::Convert { value, .. } => self.bytes_of(value, ty)?,
            _ => return None,
        };
        if bytes.len() > size {
            return None;
        }
        bytes.resize(size, 0);
        Some(bytes)
    }

    fn record_bytes(&mut self, elements: &[ExprId], record: u32, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size];
        let fields = super::shape::fields(&self.program.types, record);
        for (&element, (at, ty)) in elements.iter().zip(fields) {
            let field = self.bytes_of(element, ty)?;
            bytes.get_mut(at as usize..at as usize + field.len())?.copy_from_slice(&field);
        }
        Some(bytes)
    }

    fn scalar_bytes(&self, expr: ExprId, class: Class) -> Option<Vec<u8>> {
        if matches!(class, Class::Real | Class::Double) {
            let value = self.real(expr)?;
            return Some(match class {
                Class::Real => (value as f32).to_le_bytes().to_vec(),
                _ => value.to_le_bytes().to_vec(),
            });
        }
        let value = self.fold(expr)?;
        Some(value.to_le_bytes()[..class.bytes() as usize].to_vec())
    }

    /// The value of a literal real, or of a name for one.
    fn real(&self, expr: ExprId) -> Option<f64> {
        let single = |value: f64, ty| match self.program.types.basic(ty) {
            Some(Basic::Real32) => f64::from(value as f32),
            _ => value,
        };
        match self.ast.expr(expr).kind {
            ExprKind::Real { value, .. } => Some(single(value, self.program.type_of(expr))),
            ExprKind::Monadic(Monadic::Minus, value) if self.program.name_of(expr) == NameId::NONE => {
                self.real(value).map(|value| -value)
            }
            ExprKind::Name(_) => match self.program.name(self.program.name_of(expr)).kind {
                NameKind::Abbreviation { mode: Mode::Val, renaming: Renaming::Is, value } => self.real(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The real that an expression is, as bits in a slot or two.
    pub(super) fn real_bits(&self, expr: ExprId, class: Class) -> Option<u64> {
        let value = self.real(expr)?;
        Some(if class == Class::Real { u64::from((value as f32).to_bits()) } else { value.to_bits() })
    }

    /// Loads bits into a slot, or two for 64-bit classes.
    pub(super) fn load_bits(&mut self, to: Slot, class: Class, bits: u64) {
        if class.slots() == 1 {
            self.f.code.ldi(to, bits as u32 as i32);
        } else if let Ok(small) = i32::try_from(bits as i64) {
            self.f.code.ldi_l(to, small);
        } else {
            let number = self.module.constant(bits);
            self.f.code.pool(to, number);
        }
    }

    /// A view of constant data.
    pub(super) fn data_view(&mut self, at: i32, dims: Vec<Dim>) -> View {
        let slot = self.slots(if dims.is_empty() { 1 } else { 2 });
        self.f.code.data(slot, at);
        if let Some(&Dim::Const(count)) = dims.first() {
            self.f.code.ldi(slot + 1, count as i32);
        }
        View { at: slot, dims, frame: None }
    }
}

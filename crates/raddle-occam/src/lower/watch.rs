//! Owns: what a debug build watches: the names under `#PRAGMA SHARED` and PERMITALIASES.
//! May use: `program`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: anything in another build.
//!
//! What is watched lies in memory, never in slots that instructions name: the machine looks at accesses by address.
//! So whoever gets it by reference is seen, too, without knowing. What a MOBILE points to is not watched, since it
//! moves; nor is a timer.

use super::function::{Dim, Home, Owned, View};
use super::shape::{Shape, channel_bytes};
use super::{Lowerer, Slot, Watch};
use crate::ast::Mode;
use crate::program::{NameId, NameKind};
use raddle_bytecode::Watched;

/// Bytes: a number, or in a slot.
type Bytes = Dim;

impl Lowerer<'_> {
    /// Has a name watched that has just got its home, until the end of its scope.
    pub(super) fn watch(&mut self, name: NameId) {
        let declared = self.program.name(name);
        let wanted = match self.watched {
            Watch::Nothing => false,
            Watch::Exempt => declared.shared || declared.permits_aliases,
            Watch::Everything => !matches!(declared.kind, NameKind::Formal(Mode::Val)),
        };
        if !wanted {
            return;
        }
        let Some(home) = self.home(name).cloned() else { return };
        let ty = declared.ty;
        let dims = self.type_dims(ty).into_iter().map(|size| size.unwrap_or(0)).collect();
        match (self.shape(ty), home) {
            (Shape::Scalar(class), Home::Slot(slot)) if self.owns(name) => {
                let at = self.address_of_slot(slot);
                self.f.homes.insert(name, Home::At(at));
                self.watch_memory(name, at, Dim::Const(class.bytes()), (class.bytes(), dims));
            }
            (Shape::Scalar(class), Home::At(at)) => {
                self.watch_memory(name, at, Dim::Const(class.bytes()), (class.bytes(), dims));
            }
            (Shape::Chan(_), Home::Slot(at)) => self.watch_memory(name, at, Dim::Const(4), (4, dims)),
            (Shape::Array, Home::View(view)) => match self.shape(self.innermost(ty)) {
                Shape::Chan(shared) => {
                    if let (NameKind::Variable, Some(Dim::Const(1..))) =
                        (declared.kind, view.dims.first().copied())
                    {
                        self.watch_channels(name, &view, channel_bytes(shared), dims);
                    }
                }
                Shape::Mobile(_) | Shape::End(_) | Shape::Timer | Shape::Other => {}
                _ => self.watch_view(name, view, dims),
            },
            (Shape::Record(_), Home::View(view)) => self.watch_view(name, view, dims),
            _ => {}
        }
    }

    /// Whether a slot that is its home is its own, and not a value's that it abbreviates.
    fn owns(&self, name: NameId) -> bool {
        match self.program.name(name).kind {
            NameKind::Variable => true,
            NameKind::Abbreviation { mode, .. } | NameKind::Formal(mode) => mode != Mode::Val,
            _ => false,
        }
    }

    fn watch_view(&mut self, name: NameId, view: View, dims: Vec<u32>) {
        let ty = self.program.name(name).ty;
        let innermost = if dims.is_empty() { ty } else { self.innermost(ty) };
        let element = self.size(innermost);
        let bytes = self.view_bytes(&view, ty);
        let at = view.at;
        // No constant subscript leads past the address any more.
        self.f.homes.insert(name, Home::View(View { frame: None, ..view }));
        self.watch_memory(name, at, bytes, (element, dims));
    }

    /// The blocks of an array of channels, which lie one behind the other.
    fn watch_channels(&mut self, name: NameId, view: &View, bytes: u32, dims: Vec<u32>) {
        let first = self.slot();
        self.f.code.ldr_w(first, view.at, 0);
        let count: u32 = dims.iter().product();
        self.watch_memory(name, first, Dim::Const(count.saturating_mul(bytes)), (bytes, dims));
    }

    fn watch_memory(&mut self, name: NameId, at: Slot, bytes: Bytes, (element, dims): (u32, Vec<u32>)) {
        let text = self.program.spelling(name);
        let name = self.module.string(text);
        let number = self.module.watched(Watched { name, element, dims });
        // The machine clears the address if it is watched already: then it is not ours to end that.
        let own = self.slots(2);
        self.f.code.mov(own, at);
        match bytes {
            Dim::Const(bytes) => self.f.code.ldi(own + 1, bytes as i32),
            Dim::Slot(slot) => self.f.code.mov(own + 1, slot),
        }
        self.f.code.watch(own, number);
        self.f.owned.push(Owned::Watched(own));
    }
}

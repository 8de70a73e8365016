//! Owns: PLACED PAR: on one machine a PAR; over ranks, each of which runs the branches that are its own.
//! May use: `placed`, `program`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: other code for a rank than for a machine by itself.
//!
//! ```text
//!     host begin              slot a: how many ranks there are, a + 1: which one this is; alone: 1 and 0
//!     host channels ...       unless alone: each channel that is declared outside and mentioned inside
//!     PAR                     each branch begins with: is PROCESSOR \ ranks this one? else it is over
//!     host end                unless alone: on other ranks than 0 what follows is not run
//! ```
//!
//! All ranks begin it with one memory, so that addresses mean the same on all of them (`raddle-vm`, `ranks`). A branch
//! without PROCESSOR is placed so: instances of a replicated PAR in blocks, as many to each rank, so that neighbours
//! stay together; where a STEP is written, by their index; a branch of its own, at rank 0.

use super::function::{Dim, Home};
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ConstructKind, ProcessId, ProcessKind, Replicator};
use crate::placed;
use crate::program::NameId;
use crate::source::Span;
use raddle_bytecode::{BEGIN_PLACED, END_PLACED, PLACE_CHANNELS};

/// A call of the host is on so many slots.
const WINDOW: u32 = 4;

/// The PLACED PAR whose branches are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placing {
    /// The slot with the number of ranks; the next one has this rank's.
    pub(super) ranks: Slot,
    /// In an instance of a replicated one, the slot with the number to which it belongs if nothing else is written.
    pub(super) own: Option<Slot>,
}

impl Lowerer<'_> {
    pub(super) fn placed_par(
        &mut self,
        id: ProcessId,
        span: Span,
        replicator: Option<&Replicator>,
        body: &[ProcessId],
    ) {
        let ranks = self.slots(WINDOW);
        let may = placed::reasons(self.program, &self.free, id).is_empty();
        self.f.code.ldi(ranks, i32::from(!may));
        self.f.code.host(ranks, BEGIN_PLACED);
        let alone = self.slot();
        self.f.code.eq_i(alone, ranks, 1);
        let begin = self.f.code.label();
        self.f.code.jnz(alone, begin);
        self.place_channels(id, body);
        self.f.code.bind(begin);
        self.f.placing = Some(Placing { ranks, own: None });
        match replicator {
            None => self.par(span, body),
            Some(replicator) => self.replicated_par(replicator, body),
        }
        self.at(span);
        let end = self.f.code.label();
        self.f.code.jnz(alone, end);
        let window = self.slots(WINDOW);
        self.f.code.host(window, END_PLACED);
        self.f.code.bind(end);
    }

    /// Tells the host of the channels outside that branches mention.
    fn place_channels(&mut self, id: ProcessId, body: &[ProcessId]) {
        let Some(&first) = self.program.placed.get(&id.0) else { return };
        let (names, _) = self.free.of_processes(self.program, body, first);
        for (name, _) in names {
            let mark = self.mark();
            self.place_channels_of(name);
            self.release(mark);
        }
    }

    fn place_channels_of(&mut self, name: NameId) {
        let ty = self.program.name(name).ty;
        if !matches!(self.shape(self.innermost(ty)), Shape::Chan(_)) {
            return;
        }
        let window = self.slots(WINDOW);
        match self.home(name).cloned() {
            Some(Home::Slot(slot)) => {
                self.f.code.mov(window, slot);
                self.f.code.ldi(window + 1, -1);
            }
            Some(Home::View(view)) => {
                self.f.code.mov(window, view.at);
                self.f.code.ldi(window + 1, 1);
                for dim in view.dims {
                    let size = match dim {
                        Dim::Slot(slot) => slot,
                        Dim::Const(size) => {
                            self.f.code.ldi(window + 2, size as i32);
                            window + 2
                        }
                    };
                    self.f.code.mul(window + 1, window + 1, size);
                }
            }
            _ => return,
        }
        self.f.code.host(window, PLACE_CHANNELS);
    }

    /// In the body of a replicated PAR: what it needs to know where it belongs. `state` is where its parent has base
    /// and count.
    pub(super) fn captured_placing(
        &mut self,
        placing: Placing,
        (index, state): (Slot, Slot),
        has_step: bool,
    ) -> Placing {
        const PARENT: Slot = 1;
        let slots = self.slots(6);
        let [ranks, rank, base, count, own, each] = std::array::from_fn(|number| slots + number as Slot);
        self.load_at(PARENT, u32::from(placing.ranks) * 4, Class::Word, ranks);
        self.load_at(PARENT, u32::from(placing.ranks + 1) * 4, Class::Word, rank);
        if has_step {
            return Placing { ranks, own: Some(index) };
        }
        self.load_at(PARENT, u32::from(state + 1) * 4, Class::Word, base);
        self.load_at(PARENT, u32::from(state + 2) * 4, Class::Word, count);
        let code = &mut self.f.code;
        code.minus(own, index, base);
        // So many belong to each rank: (count + ranks - 1) / ranks.
        code.plus(each, count, ranks);
        code.plus_i(each, each, -1);
        code.div(each, each, ranks);
        code.div(own, own, each);
        Placing { ranks, own: Some(own) }
    }

    /// A branch: of a PLACED PAR it runs only where it belongs.
    pub(super) fn par_branch(&mut self, process: ProcessId, placing: Option<Placing>) {
        match placing {
            None => self.process(process),
            Some(placing) => {
                let mark = self.mark();
                self.placed_branch(process, placing);
                self.release(mark);
            }
        }
    }

    fn placed_branch(&mut self, process: ProcessId, placing: Placing) {
        let ast = self.ast;
        let node = ast.process(process);
        self.at(node.span);
        match &node.kind {
            // Its branches are this one's.
            ProcessKind::Construct { order: ConstructKind::PlacedPar, replicator, body } => {
                self.f.placing = Some(Placing { own: None, ..placing });
                match replicator {
                    None => self.par(node.span, body),
                    Some(replicator) => self.replicated_par(replicator, body),
                }
            }
            ProcessKind::Block { specs, body } => {
                self.specs(specs);
                self.placed_branch(*body, placing);
            }
            ProcessKind::Construct { order: ConstructKind::Seq, replicator: None, body } => {
                let number = body.first().and_then(|process| ast.processors.get(&process.0));
                let belongs = number.map(|&number| self.scalar(number)).or(placing.own);
                self.branch_at(process, placing, belongs);
            }
            _ => self.branch_at(process, placing, placing.own),
        }
    }

    /// Runs the process at rank `belongs` \ ranks, or 0.
    fn branch_at(&mut self, process: ProcessId, placing: Placing, belongs: Option<Slot>) {
        let rank = self.slot();
        match belongs {
            None => self.f.code.ldi(rank, 0),
            Some(belongs) => {
                let code = &mut self.f.code;
                code.rem(rank, belongs, placing.ranks);
                // Of one that is below 0, too.
                code.plus(rank, rank, placing.ranks);
                code.rem(rank, rank, placing.ranks);
            }
        }
        self.f.code.eq(rank, rank, placing.ranks + 1);
        let over = self.f.code.label();
        self.f.code.jz(rank, over);
        self.process(process);
        self.f.code.bind(over);
    }
}

//! Owns: how the code of a function is cut into pieces.
//! May use: `blocks`, `views`, `raddle-bytecode`.
//! Never: code.
//!
//! A piece with many entries has a number for each, and who comes in jumps twice: into the piece, and to the block; and
//! it does much, and wants registers that must be saved. So from a point after a wait what runs to the next waits is a
//! piece of its own, if it is short. Where it comes to another such point it jumps there, or, in a short loop, has that
//! point's blocks, too. (PERF: a message of commstime 9.0 ns with all in one piece, 7.5 so.)

use crate::blocks::Blocks;
use crate::views::{ViewSet, Views, held_at_blocks};
use raddle_bytecode::{Function, Insn};

/// A piece takes in a block that is a resume point, so that it need not jump there, while it has no more instructions.
const WANTED: u32 = 8;
/// One that would have more of them than this stays in the piece with all.
const MOST: u32 = 64;

/// A function, ready to be translated.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) blocks: Blocks,
    pub(crate) views: Views,
    /// What is held at the beginning of each block.
    pub(crate) held_at: Vec<ViewSet>,
    /// What of it may be late there.
    pub(crate) late_at: Vec<ViewSet>,
    /// Where it stands for each word of the frame whether a view has it that may be held.
    pub(crate) names: usize,
    /// Where it stands for each word of the frame, and one more, where the next such word begins, in bytes.
    pub(crate) gaps: usize,
}

/// What is translated together: blocks, by number.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Those at which it can be entered.
    pub(crate) entries: Vec<usize>,
    /// Whether each is in it.
    pub(crate) has: Vec<bool>,
}

impl Plan {
    pub(crate) fn of(
        function: &Function,
        code: &[Insn],
        views: Views,
        (names, gaps): (usize, usize),
    ) -> Plan {
        let blocks = Blocks::of(function, code);
        let (held_at, late_at) = held_at_blocks(&views, &blocks, code);
        Plan { blocks, views, held_at, late_at, names, gaps }
    }

    /// The pieces. The first one begins with the function.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        let all = &self.blocks.all;
        let (mut rest, mut pieces) = (Vec::new(), Vec::new());
        let mut is_apart = vec![false; all.len()];
        for number in (0..all.len()).filter(|&number| all[number].is_resume && all[number].is_live) {
            match self.short_piece(number) {
                Some(piece) if number != 0 && all[number].looped_from.is_none() => {
                    is_apart[number] = true;
                    pieces.push(piece);
                }
                _ => rest.push(number),
            }
        }
        let mut has = vec![false; all.len()];
        let mut found = rest.clone();
        while let Some(number) = found.pop() {
            if !is_apart[number] && !std::mem::replace(&mut has[number], true) {
                found.extend(&all[number].next);
            }
        }
        pieces.insert(0, Piece { entries: rest, has });
        pieces
    }

    /// What runs from that block on to the next waits, or at least to blocks that are resume points.
    fn short_piece(&self, first: usize) -> Option<Piece> {
        let all = &self.blocks.all;
        let size = |number: usize| all[number].behind - all[number].first;
        let mut has = vec![false; all.len()];
        let (mut total, mut found, mut later) = (0, vec![first], Vec::new());
        while let Some(number) = found.pop().or_else(|| later.pop()) {
            let is_wanted = number == first || !all[number].is_resume || total + size(number) <= WANTED;
            if has[number] || !is_wanted {
                continue;
            }
            has[number] = true;
            total += size(number);
            if total > MOST {
                return None;
            }
            for &next in &all[number].next {
                if all[next].is_resume { later.insert(0, next) } else { found.push(next) }
            }
        }
        Some(Piece { entries: vec![first], has })
    }
}

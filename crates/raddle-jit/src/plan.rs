//! Owns: how the code of a function is cut into pieces.
//! May use: `blocks`, `convention`, `settled`, `views`, `raddle-bytecode`.
//! Never: code.
//!
//! A piece with many entries has a number for each, and who comes in jumps twice: into the piece, and to the block; and
//! it does much, and wants registers that must be saved. So from a point after a wait what runs to the next waits is a
//! piece of its own, if it is short. Where it comes to another such point it jumps there, or, in a short loop, has that
//! point's blocks, too. (PERF: a message of commstime 9.0 ns with all in one piece, 7.5 so.)
//!
//! So has the head of a loop, at which a process goes on that had used up its fuel: with a second way into a loop the
//! compiler would move nothing out of it. (PERF: sieve and matrix.) It has the loops in that loop, too, if they are
//! not long, so that they are entered without a jump to another piece, and what they rely on is compared once, before
//! the loop around. A process whose fuel was used up in an inner loop ends that one in its piece, and comes back by
//! the head of the next loop around. The piece with the function's beginning jumps to the pieces of its loops, unless
//! they are short: it would be left for good when the fuel is used up first.

use crate::blocks::Blocks;
use crate::convention::NamedPlace;
use crate::settled::Settled;
use crate::views::{ViewSet, Views, held_at_blocks, wanted_at_heads};
use raddle_bytecode::{Function, Insn};

/// A piece takes in a block that is a resume point, so that it need not jump there, while it has no more instructions.
const WANTED: u32 = 8;
/// One that would have more of them than this stays in the piece with all.
const MOST: u32 = 64;
/// The same for what begins with the head of a loop.
const LOOP_MOST: u32 = 1024;
/// A loop of no more instructions is also in the piece with the function's beginning.
const LOOP_SHORT: u32 = 16;

/// A function, ready to be translated.
#[derive(Debug)]
pub(crate) struct FunctionPlan {
    pub(crate) blocks: Blocks,
    pub(crate) views: Views,
    pub(crate) settled: Settled,
    /// What is worth holding at the head of each loop, if it may be looked at there.
    pub(crate) wanted: Vec<ViewSet>,
    /// What is held at the beginning of each block, if all of that is.
    pub(crate) held_at: Vec<ViewSet>,
    /// Where it stands for each word of the frame whether a view has it that may be held.
    pub(crate) names: NamedPlace,
    /// Where it stands for each word of the frame, and one more, where the next such word begins, in bytes.
    pub(crate) gaps: NamedPlace,
}

/// What is translated together: blocks, by number.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Those at which it can be entered.
    pub(crate) entries: Vec<usize>,
    /// Whether each is in it.
    pub(crate) has: Vec<bool>,
}

impl FunctionPlan {
    pub(crate) fn of(
        function: &Function,
        code: &[Insn],
        views: Views,
        [names, gaps]: [NamedPlace; 2],
    ) -> FunctionPlan {
        let blocks = Blocks::of(function, code);
        let settled = Settled::of(function, code, &views);
        let mut settled_views = ViewSet::none(views.all.len());
        let is_settled = |view: &usize| settled.get(*view).is_some();
        (0..views.all.len()).filter(is_settled).for_each(|view| settled_views.add(view));
        let wanted = wanted_at_heads(&views, &blocks, code, &settled_views);
        let (held_at, _) = held_at_blocks(&views, &blocks, code, &wanted);
        FunctionPlan { blocks, views, settled, wanted, held_at, names, gaps }
    }

    /// The pieces. The first one begins with the function.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        let all = &self.blocks.all;
        let (mut rest, mut pieces) = (Vec::new(), Vec::new());
        let mut is_apart = vec![false; all.len()];
        for number in (0..all.len()).filter(|&number| all[number].is_resume && all[number].is_live) {
            let is_head = all[number].looped_from.is_some();
            let piece = match is_head {
                true => self
                    .short_piece(number, LOOP_MOST, true)
                    .or_else(|| self.short_piece(number, LOOP_MOST, false)),
                false => self.short_piece(number, MOST, false),
            };
            match piece {
                Some(piece) if number != 0 => {
                    let is_short =
                        all[number].looped_from.is_some_and(|it| it - all[number].first < LOOP_SHORT);
                    is_apart[number] = !is_short;
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

    /// What runs from that block on to the next waits, or at least to blocks that are resume points. The loop that
    /// begins there has its loops with it, if that is wanted.
    fn short_piece(&self, first: usize, most: u32, has_inner: bool) -> Option<Piece> {
        let all = &self.blocks.all;
        let size = |number: usize| all[number].behind - all[number].first;
        let mut has = vec![false; all.len()];
        let (mut total, mut found, mut later) = (0, vec![first], Vec::new());
        while let Some(number) = found.pop().or_else(|| later.pop()) {
            let is_near = total + size(number) <= WANTED;
            let is_inner = has_inner
                && all[number].looped_from.is_some()
                && all[first]
                    .looped_from
                    .is_some_and(|last| (all[first].first..=last).contains(&all[number].first));
            let is_wanted = number == first || !all[number].is_resume || is_near || is_inner;
            if has[number] || !is_wanted {
                continue;
            }
            has[number] = true;
            total += size(number);
            if total > most {
                return None;
            }
            for &next in &all[number].next {
                if all[next].is_resume { later.insert(0, next) } else { found.push(next) }
            }
        }
        Some(Piece { entries: vec![first], has })
    }
}

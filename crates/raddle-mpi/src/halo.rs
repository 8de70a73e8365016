//! Owns: what a rank and each of its neighbours give each other of an array: which cells, into which ghosts.
//! May use: `share`, `sweep`.
//! Never: a message; plans are made of this, and so is the schedule that is simulated.

use crate::share::Share;
use crate::sweep::Element;
use std::ops::Range;

const AXES: [&str; 3] = ["x", "y", "z"];

/// Which ghosts a halo brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those beyond faces: of six neighbours at most. Those of edges and corners stay as they are.
    #[default]
    Faces = 1,
    /// Those beyond faces and edges: of 18 neighbours at most.
    Edges = 2,
    /// All: of 26 neighbours at most.
    Corners = 3,
}

/// What goes between a rank and one neighbour, each way as much.
pub(crate) struct HaloSide {
    pub(crate) peer: usize,
    pub(crate) bytes: usize,
    pub(crate) label: String,
    /// Where what comes goes, counted from the ghost before the first cell.
    pub(crate) ghosts: [Range<usize>; 3],
    /// What is sent.
    pub(crate) cells: [Range<usize>; 3],
    /// What both know of it.
    pub(crate) text: String,
}

/// All of them, in one order on all ranks.
pub(crate) fn sides_of<T: Element>(share: &Share, reach: Reach) -> Vec<HaloSide> {
    let one = |side| {
        let peer = share.cart.beside(side)?;
        let cells = part(share, side, 0);
        let bytes = cells.iter().map(Range::len).product::<usize>() * size_of::<T>();
        Some(HaloSide {
            peer,
            bytes,
            label: label(&share.name, side),
            ghosts: part(share, side, 1),
            cells,
            text: note::<T>(share, side, bytes),
        })
    };
    directions(reach).into_iter().filter_map(one).collect()
}

/// The directions of neighbours, one step at most along each axis: faces first, then edges, then corners.
fn directions(reach: Reach) -> Vec<[isize; 3]> {
    let step = |digit: usize| [0, -1, 1][digit % 3];
    let all = (1..27).map(|number| [step(number), step(number / 3), step(number / 9)]);
    let mut sides: Vec<[isize; 3]> = all.filter(|side| steps(side) <= reach as usize).collect();
    sides.sort_by_key(steps);
    sides
}

fn steps(side: &[isize; 3]) -> usize {
    side.iter().filter(|step| **step != 0).count()
}

fn label(name: &str, side: [isize; 3]) -> String {
    let kind = ["", "face", "edge", "corner"][steps(&side)];
    let named = |axis: usize| match side[axis] {
        0 => String::new(),
        step => format!("{}{}", AXES[axis], if step > 0 { "+" } else { "-" }),
    };
    format!("`{name}`, {kind} {}", (0..3).map(named).collect::<String>())
}

/// What both neighbours know of what lies between them.
fn note<T: Element>(share: &Share, side: [isize; 3], bytes: usize) -> String {
    let first = side.iter().position(|step| *step != 0).unwrap_or(0);
    let along = [(first + 1) % 3, (first + 2) % 3];
    let extent: Vec<_> =
        along.into_iter().filter(|axis| side[*axis] == 0).map(|axis| share.own[axis].clone()).collect();
    // Where the two parts meet. The name comes last: it may be longer than there is room.
    let cut = |axis: usize| if side[axis] > 0 { share.own[axis].end } else { share.own[axis].start };
    let cuts: Vec<String> =
        (0..3).filter(|axis| side[*axis] != 0).map(|axis| format!("{} {}", AXES[axis], cut(axis))).collect();
    format!(
        "{bytes} bytes of {}, cells {extent:?} of {:?} at {}, `{}`",
        T::NAME,
        share.size,
        cuts.join(", "),
        share.name,
    )
}

/// The cells on a side, or (`beyond` 1) the ghosts beyond it.
fn part(share: &Share, side: [isize; 3], beyond: usize) -> [Range<usize>; 3] {
    let mut cells = share.inside();
    for (range, step) in cells.iter_mut().zip(side) {
        let at = match step {
            0 => continue,
            step if step > 0 => range.end - 1 + beyond,
            _ => 1 - beyond,
        };
        *range = at..at + 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cart::Cart;

    #[test]
    fn sides_are_six_faces_twelve_edges_eight_corners() {
        let count = |reach| directions(reach).len();
        assert_eq!([count(Reach::Faces), count(Reach::Edges), count(Reach::Corners)], [6, 18, 26]);
        assert_eq!(label("u", [0, 0, 1]), "`u`, face z+");
        assert_eq!(label("u", [-1, 1, 0]), "`u`, edge x-y+");
    }

    #[test]
    fn both_sides_of_every_boundary_say_the_same() {
        let ranks = [2, 2, 3];
        let share = |rank| {
            let cart = Cart::of(rank, 12, ranks).expect("a grid");
            Share::new("u", &cart, [5, 7, 9]).expect("a share")
        };
        for rank in 0..12 {
            for side in directions(Reach::Corners) {
                let own = share(rank);
                let Some(peer) = own.cart.beside(side) else { continue };
                let (other, back) = (share(peer), side.map(|step| -step));
                assert_eq!(other.cart.beside(back), Some(rank));
                let bytes = |share, side| part(share, side, 0).iter().map(Range::len).product::<usize>();
                assert_eq!(bytes(&own, side), bytes(&other, back));
                assert_eq!(note::<f64>(&own, side, 8), note::<f64>(&other, back, 8));
            }
        }
    }
}

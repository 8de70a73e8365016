//! Owns: `HaloPlan`: which faces go where, agreed on by both sides once, and moved many times.
//! May use: `agree`, `array`, `copy`, `error`, `moves`, `net`, `post`, `shim`, `sweep`.
//! Never: an access to a message's memory while it is under way.

use crate::agree::{Note, PlanKind};
use crate::array::DistArray;
use crate::copy::{pack, unpack};
use crate::error::NetError;
use crate::moves::{Moves, PlanReport};
use crate::net::Net;
use crate::post::{Post, Transfer};
use crate::shim::Direction;
use crate::sweep::{Colour, ColourPlane, Element};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::{Duration, Instant};

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

/// The parts that an array's ranks give each other, with a persistent request for each.
pub struct HaloPlan<T> {
    moves: Moves,
    /// What is sent, and where what is received goes, in the order of the post's messages.
    regions: Vec<[Range<usize>; 3]>,
    array: (String, [Range<usize>; 3]),
    element: PhantomData<T>,
}

/// An exchange that is under way.
///
/// The array is borrowed: nobody changes a face, or reads a ghost.
///
/// ```compile_fail,E0499
/// # use raddle_mpi::{DistArray, HaloPlan, NetError};
/// fn wrong(halo: &mut HaloPlan<f64>, u: &mut DistArray<f64>) -> Result<(), NetError> {
///     let exchange = halo.start(u)?;
///     u.set([0, 0, 0], 1.0); // a face in flight
///     exchange.wait().map(drop)
/// }
/// ```
///
/// ```compile_fail,E0502
/// # use raddle_mpi::{DistArray, HaloPlan, NetError};
/// fn wrong(halo: &mut HaloPlan<f64>, u: &mut DistArray<f64>) -> Result<(), NetError> {
///     let exchange = halo.start(u)?;
///     u.fold(0.0, |sum, cell| sum + cell.west); // ghosts that have not come
///     exchange.wait().map(drop)
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use raddle_mpi::{Colour, Exchange};
/// fn wrong(exchange: &mut Exchange<'_, f64>) {
///     exchange.annulus(Colour::Red); // depends on ghosts that have not come
/// }
/// ```
///
/// ```compile_fail,E0499
/// # use raddle_mpi::{DistArray, HaloPlan, NetError};
/// fn wrong(halo: &mut HaloPlan<f64>, u: &mut DistArray<f64>, v: &mut DistArray<f64>) -> Result<(), NetError> {
///     let one = halo.start(u)?;
///     let two = halo.start(v)?; // twice at a time
///     one.wait()?;
///     two.wait().map(drop)
/// }
/// ```
///
/// This is right:
///
/// ```
/// # use raddle_mpi::{DistArray, HaloPlan, NetError};
/// fn right(halo: &mut HaloPlan<f64>, u: &mut DistArray<f64>) -> Result<(), NetError> {
///     let exchange = halo.start(u)?;
///     let u = exchange.wait()?;
///     u.set([0, 0, 0], 1.0);
///     Ok(())
/// }
/// ```
///
/// Dropped, it waits, and what has come is dropped with it.
#[must_use = "dropped, it waits at once"]
pub struct Exchange<'a, T: Element> {
    plan: &'a mut HaloPlan<T>,
    array: Option<&'a mut DistArray<T>>,
}

impl Net {
    /// Agrees with all neighbours on the faces of an array: to be called by all ranks, with the same array.
    ///
    /// # Errors
    /// [`NetError::Disagree`] on all ranks if two neighbours do not expect the same of each other; [`NetError::Late`]
    /// and others.
    pub fn plan_halo<T: Element>(&self, array: &DistArray<T>) -> Result<HaloPlan<T>, NetError> {
        self.plan_halo_of(array, Reach::Faces)
    }

    /// As [`plan_halo`](Self::plan_halo), of edges and corners, too: for stencils that look along diagonals.
    ///
    /// # Errors
    /// As `plan_halo`.
    pub fn plan_halo_of<T: Element>(
        &self,
        array: &DistArray<T>,
        reach: Reach,
    ) -> Result<HaloPlan<T>, NetError> {
        let number = self.plan_number()?;
        let (transfers, regions) = self.agree(number, PlanKind::Halo, self.halo(array, reach, number))?;
        let post = Post::new(format!("the exchange of `{}`", array.name()), transfers, true);
        Ok(HaloPlan {
            moves: Moves::new(self, vec![post])?,
            regions,
            array: (array.name().to_owned(), array.own()),
            element: PhantomData,
        })
    }

    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    fn halo<T: Element>(
        &self,
        array: &DistArray<T>,
        reach: Reach,
        number: u32,
    ) -> Result<((Vec<Transfer>, Vec<[Range<usize>; 3]>), Vec<Note>), NetError> {
        let (mut transfers, mut regions, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        // Two ranks are neighbours in one direction only: so one tag will do.
        let tag = c_int::try_from(number).expect("below 16000");
        for side in sides(reach) {
            let Some(peer) = array.cart().beside(side) else { continue };
            let bytes = part(array, side, 0).iter().map(Range::len).product::<usize>() * size_of::<T>();
            let label = label(array.name(), side);
            let address = self.private(peer, tag, 2);
            transfers.push(Transfer::new(Direction::In, address, bytes, label.clone())?);
            regions.push(part(array, side, 1));
            transfers.push(Transfer::new(Direction::Out, address, bytes, label.clone())?);
            regions.push(part(array, side, 0));
            let text = note(array, side, bytes);
            notes.push(Note { peer, label, text });
        }
        Ok(((transfers, regions), notes))
    }
}

/// The directions of neighbours, one step at most along each axis: faces first, then edges, then corners.
fn sides(reach: Reach) -> Vec<[isize; 3]> {
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
fn note<T: Element>(array: &DistArray<T>, side: [isize; 3], bytes: usize) -> String {
    let first = side.iter().position(|step| *step != 0).unwrap_or(0);
    let along = [(first + 1) % 3, (first + 2) % 3];
    let extent: Vec<_> =
        along.into_iter().filter(|axis| side[*axis] == 0).map(|axis| array.own()[axis].clone()).collect();
    // Where the two parts meet. The name comes last: it may be longer than there is room.
    let cut = |axis: usize| if side[axis] > 0 { array.own()[axis].end } else { array.own()[axis].start };
    let cuts: Vec<String> =
        (0..3).filter(|axis| side[*axis] != 0).map(|axis| format!("{} {}", AXES[axis], cut(axis))).collect();
    format!(
        "{bytes} bytes of {}, cells {extent:?} of {:?} at {}, `{}`",
        T::NAME,
        array.size(),
        cuts.join(", "),
        array.name(),
    )
}

/// The cells on a side, or (`beyond` 1) the ghosts beyond it.
fn part<T: Element>(array: &DistArray<T>, side: [isize; 3], beyond: usize) -> [Range<usize>; 3] {
    let mut cells = array.inside();
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

impl<T: Element> HaloPlan<T> {
    /// Begins an exchange of the faces of the array for which the plan was made, or of another one of the same part.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if it is another part; [`NetError::Over`].
    pub fn start<'a>(&'a mut self, array: &'a mut DistArray<T>) -> Result<Exchange<'a, T>, NetError> {
        if array.own() != self.array.1 || !self.moves.is_free() {
            let text = format!("the plan is for `{}`, cells {:?}, and free", self.array.0, self.array.1);
            return Err(NetError::Misuse(text));
        }
        let began = Instant::now();
        for (transfer, region) in self.moves.post().transfers.iter().zip(&self.regions) {
            if transfer.direction == Direction::Out {
                // SAFETY: it is not under way; the plan, which the caller alone has, starts it.
                pack(array, region, [1; 3], unsafe { transfer.buffer.cells_mut() });
            }
        }
        self.moves.report.copying += began.elapsed();
        self.moves.start(0)?;
        Ok(Exchange { plan: self, array: Some(array) })
    }

    /// From now on, what of it has not come after so long is late; at first that is as the net has it.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.moves.deadline = deadline;
    }

    /// What its exchanges have taken.
    pub fn report(&self) -> PlanReport {
        self.moves.report
    }

    /// How many bytes this rank sends in an exchange.
    pub fn bytes(&self) -> usize {
        self.moves.bytes_out()
    }
}

impl<'a, T: Element> Exchange<'a, T> {
    /// The cells that depend on no neighbour and that no neighbour has a copy of, a plane at a time.
    pub fn inner(&mut self, colour: Colour) -> Vec<ColourPlane<'_, T>> {
        self.array.as_mut().expect("there until it ends").inner(colour)
    }

    /// Waits until all faces have come; parks the caller.
    ///
    /// # Errors
    /// [`NetError::Late`] with the faces that have not come; [`NetError::Mpi`].
    pub fn wait(mut self) -> Result<&'a mut DistArray<T>, NetError> {
        let array = self.array.take().expect("there until it ends");
        let plan = self.plan_mut();
        plan.moves.finish()?;
        let began = Instant::now();
        for (transfer, region) in plan.moves.post().transfers.iter().zip(&plan.regions) {
            if transfer.direction == Direction::In {
                // SAFETY: it is done, and the plan, which the caller alone has, would start it again.
                unpack(array, region, [1; 3], unsafe { transfer.buffer.cells() });
            }
        }
        plan.moves.report.copying += began.elapsed();
        Ok(array)
    }

    fn plan_mut(&mut self) -> &mut HaloPlan<T> {
        self.plan
    }
}

impl<T: Element> Drop for Exchange<'_, T> {
    fn drop(&mut self) {
        if self.array.is_some() {
            // Who wants to know waits by `wait`; the net remembers that something was late.
            let _unseen = self.plan.moves.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cart::Cart;

    #[test]
    fn sides_are_six_faces_twelve_edges_eight_corners() {
        let count = |reach| sides(reach).len();
        assert_eq!([count(Reach::Faces), count(Reach::Edges), count(Reach::Corners)], [6, 18, 26]);
        assert_eq!(label("u", [0, 0, 1]), "`u`, face z+");
        assert_eq!(label("u", [-1, 1, 0]), "`u`, edge x-y+");
    }

    #[test]
    fn both_sides_of_every_boundary_say_the_same() {
        let ranks = [2, 2, 3];
        let array = |rank| {
            let cart = Cart::of(rank, 12, ranks).expect("a grid");
            DistArray::<f64>::new("u", &cart, [5, 7, 9]).expect("an array")
        };
        for rank in 0..12 {
            for side in sides(Reach::Corners) {
                let own = array(rank);
                let Some(peer) = own.cart().beside(side) else { continue };
                let (other, back) = (array(peer), side.map(|step| -step));
                assert_eq!(other.cart().beside(back), Some(rank));
                let bytes = |array, side| part(array, side, 0).iter().map(Range::len).product::<usize>();
                assert_eq!(bytes(&own, side), bytes(&other, back));
                assert_eq!(note(&own, side, 8), note(&other, back, 8));
            }
        }
    }
}

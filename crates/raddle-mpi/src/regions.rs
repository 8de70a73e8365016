//! Owns: `RegionPlan`: regions of an array that go wherever a program says.
//! May use: `agree`, `array`, `copy`, `error`, `moves`, `net`, `post`, `shim`, `sweep`.
//! Never: an access to a message's memory while it is under way.

use crate::agree::{Note, PlanKind};
use crate::array::DistArray;
use crate::copy::{each_row, pack, unpack};
use crate::error::NetError;
use crate::moves::{Moves, PlanReport};
use crate::net::Net;
use crate::post::{Post, Transfer};
use crate::shim::Direction;
use crate::sweep::Element;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Cells of an array: from where, how many, and how far apart along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first cell, in the whole array; the ghosts before it are at -1.
    pub offset: [isize; 3],
    /// How many.
    pub extent: [usize; 3],
    /// Each is so far from the one before; 1 for neighbours.
    pub stride: [usize; 3],
}

impl Region {
    /// Cells that lie side by side.
    pub fn solid(offset: [isize; 3], extent: [usize; 3]) -> Region {
        Region { offset, extent, stride: [1; 3] }
    }

    fn count(&self) -> Option<usize> {
        self.extent.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent))
    }

    /// Where it is, counted from the ghost before the first of a rank's own cells; none if it is not within `own` and
    /// so many cells around.
    fn within(&self, own: &[Range<usize>; 3], around: usize) -> Option<[Range<usize>; 3]> {
        let mut places = [0..0, 0..0, 0..0];
        for axis in 0..3 {
            let first = self.offset[axis].checked_sub_unsigned(own[axis].start)?.checked_add(1)?;
            let first = usize::try_from(first).ok()?;
            let steps = self.extent[axis].checked_sub(1)?;
            let end = steps.checked_mul(self.stride[axis])?.checked_add(first)?.checked_add(1)?;
            let is_within = first >= 1 - around && end <= own[axis].len() + 1 + around;
            if !is_within || self.stride[axis] == 0 {
                return None;
            }
            places[axis] = first..end;
        }
        Some(places)
    }
}

/// One message of a plan of regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    peer: usize,
    direction: Direction,
    region: Region,
}

impl Leg {
    /// To that rank; the region is of the caller's own cells.
    pub fn send(peer: usize, region: Region) -> Leg {
        Leg { peer, direction: Direction::Out, region }
    }

    /// From that rank; the region is of the caller's own cells and its ghosts.
    pub fn receive(peer: usize, region: Region) -> Leg {
        Leg { peer, direction: Direction::In, region }
    }
}

/// Regions of an array that go from rank to rank, with a persistent request for each.
pub struct RegionPlan<T> {
    moves: Moves,
    regions: Vec<([Range<usize>; 3], [usize; 3])>,
    array: (String, [Range<usize>; 3]),
    element: PhantomData<T>,
}

/// An exchange of regions that is under way: the array is borrowed until [`wait`](Self::wait).
///
/// ```compile_fail,E0499
/// # use raddle_mpi::{DistArray, NetError, RegionPlan};
/// fn wrong(plan: &mut RegionPlan<f64>, u: &mut DistArray<f64>) -> Result<(), NetError> {
///     let exchange = plan.start(u)?;
///     u.set([0, 0, 0], 1.0); // perhaps in flight
///     exchange.wait().map(drop)
/// }
/// ```
#[must_use = "dropped, it waits at once"]
pub struct RegionExchange<'a, T: Element> {
    plan: &'a mut RegionPlan<T>,
    array: Option<&'a mut DistArray<T>>,
}

impl Net {
    /// Agrees with all others on which regions of an array go where: to be called by all ranks, each with its own
    /// messages. The first message from one rank to another is the other's first one from it, and so on. A rank may
    /// have messages for itself.
    ///
    /// # Errors
    /// [`NetError::Disagree`] on all ranks if two do not expect the same of each other; [`NetError::Misuse`] for a
    /// region that is not there, or two received ones with a cell in common; [`NetError::Late`] and others.
    pub fn plan_regions<T: Element>(
        &self,
        array: &DistArray<T>,
        legs: &[Leg],
    ) -> Result<RegionPlan<T>, NetError> {
        let number = self.plan_number()?;
        let (transfers, regions) = self.agree(number, PlanKind::Regions, self.legs(array, legs, number))?;
        let post = Post::new(format!("the exchange of regions of `{}`", array.name()), transfers, true);
        Ok(RegionPlan {
            moves: Moves::new(self, vec![post])?,
            regions,
            array: (array.name().to_owned(), array.own()),
            element: PhantomData,
        })
    }

    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    fn legs<T: Element>(
        &self,
        array: &DistArray<T>,
        legs: &[Leg],
        number: u32,
    ) -> Result<((Vec<Transfer>, Vec<([Range<usize>; 3], [usize; 3])>), Vec<Note>), NetError> {
        let tag = c_int::try_from(number).expect("below 16000");
        let (mut transfers, mut regions, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut taken = vec![false; array.cells().len()];
        for leg in legs {
            let places = self.place(array, leg)?;
            let words = ["sent to", "received from"][usize::from(leg.direction == Direction::In)];
            let label = format!("`{}`, {:?} {words} rank {}", array.name(), leg.region, leg.peer);
            if leg.direction == Direction::In {
                take(array, &places, leg.region.stride, &mut taken)
                    .map_err(|()| NetError::Misuse(format!("{label}: another one has cells of it")))?;
            }
            let bytes = leg.region.count().and_then(|count| count.checked_mul(size_of::<T>()));
            let bytes = bytes.ok_or_else(|| NetError::Misuse(format!("{label}: too many cells")))?;
            let address = self.private(leg.peer, tag, 2);
            transfers.push(Transfer::new(leg.direction, address, bytes, label.clone())?);
            regions.push((places, leg.region.stride));
            let (from, to) = match leg.direction {
                Direction::Out => (self.rank(), leg.peer),
                Direction::In => (leg.peer, self.rank()),
            };
            let text =
                format!("{bytes} bytes of {} from rank {from} to rank {to}, `{}`", T::NAME, array.name());
            // Of two ranks' notes of each other, those of the lower one's messages come first.
            notes.push((from > to, leg.direction, Note { peer: leg.peer, label, text }));
        }
        let own = |direction| {
            let of_own = notes.iter().filter(|note| note.2.peer == self.rank() && note.1 == direction);
            of_own.map(|note| note.2.text.clone()).collect::<Vec<_>>()
        };
        if own(Direction::Out) != own(Direction::In) {
            let text =
                format!("`{}`: rank {} does not receive what it sends itself", array.name(), self.rank());
            return Err(NetError::Misuse(text));
        }
        notes.sort_by_key(|note| note.0);
        Ok(((transfers, regions), notes.into_iter().map(|note| note.2).collect()))
    }

    fn place<T: Element>(&self, array: &DistArray<T>, leg: &Leg) -> Result<[Range<usize>; 3], NetError> {
        if leg.peer >= self.size() {
            return Err(NetError::Misuse(format!("there is no rank {} of {}", leg.peer, self.size())));
        }
        let around = usize::from(leg.direction == Direction::In);
        leg.region.within(&array.own(), around).ok_or_else(|| {
            NetError::Misuse(format!(
                "`{}`: rank {} has cells {:?}, and {:?} is not of them",
                array.name(),
                self.rank(),
                array.own(),
                leg.region
            ))
        })
    }
}

/// Notes the cells of a region; an error if one is taken.
fn take<T: Element>(
    array: &DistArray<T>,
    places: &[Range<usize>; 3],
    stride: [usize; 3],
    taken: &mut [bool],
) -> Result<(), ()> {
    let mut is_free = true;
    each_row(array, places, stride, |row| {
        row.step_by(stride[0]).for_each(|place| is_free &= !std::mem::replace(&mut taken[place], true));
    });
    if is_free { Ok(()) } else { Err(()) }
}

impl<T: Element> RegionPlan<T> {
    /// Begins an exchange of the array for which the plan was made, or of another one of the same part. What is sent is
    /// copied now.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if it is another part; [`NetError::Over`].
    pub fn start<'a>(&'a mut self, array: &'a mut DistArray<T>) -> Result<RegionExchange<'a, T>, NetError> {
        if array.own() != self.array.1 || !self.moves.is_free() {
            let text = format!("the plan is for `{}`, cells {:?}, and free", self.array.0, self.array.1);
            return Err(NetError::Misuse(text));
        }
        let began = Instant::now();
        for (transfer, (places, stride)) in self.moves.post().transfers.iter().zip(&self.regions) {
            if transfer.direction == Direction::Out {
                // SAFETY: it is not under way; the plan, which the caller alone has, starts it.
                pack(array, places, *stride, unsafe { transfer.buffer.cells_mut() });
            }
        }
        self.moves.report.copying += began.elapsed();
        self.moves.start(0)?;
        Ok(RegionExchange { plan: self, array: Some(array) })
    }

    /// From now on, what of it has not come after so long is late; at first that is as the net has it.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.moves.deadline = deadline;
    }

    /// What its exchanges have taken.
    pub fn report(&self) -> PlanReport {
        self.moves.report
    }
}

impl<'a, T: Element> RegionExchange<'a, T> {
    /// Waits until all regions have come, and puts them where they belong; parks the caller.
    ///
    /// # Errors
    /// [`NetError::Late`] with the regions that have not come; [`NetError::Mpi`].
    pub fn wait(mut self) -> Result<&'a mut DistArray<T>, NetError> {
        let array = self.array.take().expect("there until it ends");
        let RegionPlan { moves, regions, .. } = &mut *self.plan;
        moves.finish()?;
        let began = Instant::now();
        for (transfer, (places, stride)) in moves.post().transfers.iter().zip(regions) {
            if transfer.direction == Direction::In {
                // SAFETY: it is done, and the plan, which the caller alone has, would start it again.
                unpack(array, places, *stride, unsafe { transfer.buffer.cells() });
            }
        }
        moves.report.copying += began.elapsed();
        Ok(array)
    }
}

impl<T: Element> Drop for RegionExchange<'_, T> {
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

    #[test]
    fn a_region_is_within_a_part_and_its_ghosts_or_refused() {
        let own = [0..4, 2..6, 0..1];
        let of = |offset, extent, stride, around| Region { offset, extent, stride }.within(&own, around);
        assert_eq!(of([0, 2, 0], [4, 4, 1], [1; 3], 0), Some([1..5, 1..5, 1..2]));
        assert_eq!(of([1, 2, 0], [2, 2, 1], [2, 3, 1], 0), Some([2..5, 1..5, 1..2]));
        assert_eq!(of([-1, 2, 0], [1, 4, 1], [1; 3], 0), None);
        assert_eq!(of([-1, 2, 0], [1, 4, 1], [1; 3], 1), Some([0..1, 1..5, 1..2]));
        assert_eq!(of([-2, 2, 0], [1, 4, 1], [1; 3], 1), None);
        assert_eq!(of([0, 2, 0], [0, 4, 1], [1; 3], 0), None);
        assert_eq!(of([0, 2, 0], [2, 4, 1], [0, 1, 1], 0), None);
        assert_eq!(of([isize::MIN, 2, 0], [usize::MAX; 3], [usize::MAX; 3], 1), None);
    }
}

//! Owns: `HaloPlan`: which faces go where, agreed on by both sides once, and moved many times.
//! May use: `agree`, `array`, `copy`, `error`, `halo`, `moves`, `net`, `post`, `shim`, `sweep`.
//! Never: an access to a message's memory while it is under way.

use crate::agree::{Note, PlanKind};
use crate::array::DistArray;
use crate::copy::{pack, unpack};
use crate::error::NetError;
use crate::halo::{HaloSide, Reach, sides_of};
use crate::moves::{Moves, PlanReport};
use crate::net::Net;
use crate::post::{Post, Transfer};
use crate::shim::Direction;
use crate::sweep::{Colour, ColourPlane, Element};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::{Duration, Instant};

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
        for HaloSide { peer, bytes, label, ghosts, cells, text } in sides_of::<T>(array.share(), reach) {
            let address = self.private(peer, tag, 2);
            transfers.push(Transfer::new(Direction::In, address, bytes, label.clone())?);
            regions.push(ghosts);
            transfers.push(Transfer::new(Direction::Out, address, bytes, label.clone())?);
            regions.push(cells);
            notes.push(Note { peer, label, text });
        }
        Ok(((transfers, regions), notes))
    }
}

impl<T: Element> HaloPlan<T> {
    /// Begins an exchange of the faces of the array for which the plan was made, or of another one of the same part.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if it is another part; [`NetError::Over`].
    pub fn start<'a>(&'a mut self, array: &'a mut DistArray<T>) -> Result<Exchange<'a, T>, NetError> {
        self.begin(array)?;
        Ok(Exchange { plan: self, array: Some(array) })
    }

    /// As [`start`](Self::start), for programs whose language has no borrows: what goes is copied at once, and it is
    /// theirs not to write faces, nor to read ghosts, until [`finish`](Self::finish).
    ///
    /// # Errors
    /// As `start`.
    #[doc(hidden)]
    pub fn begin(&mut self, array: &DistArray<T>) -> Result<(), NetError> {
        if !self.moves.is_free() {
            return Err(self.unfit());
        }
        self.fits(array)?;
        let began = Instant::now();
        for (transfer, region) in self.moves.post().transfers.iter().zip(&self.regions) {
            if transfer.direction == Direction::Out {
                // SAFETY: it is not under way; the plan, which the caller alone has, starts it.
                pack(array, region, [1; 3], unsafe { transfer.buffer.cells_mut() });
            }
        }
        self.moves.report.copying += began.elapsed();
        self.moves.start(0)
    }

    /// Waits until all faces have come, and puts them into an array's ghosts.
    ///
    /// # Errors
    /// As [`Exchange::wait`]; [`NetError::Misuse`] if the array is of another part.
    #[doc(hidden)]
    pub fn finish(&mut self, array: &mut DistArray<T>) -> Result<(), NetError> {
        self.fits(array)?;
        self.moves.finish()?;
        let began = Instant::now();
        for (transfer, region) in self.moves.post().transfers.iter().zip(&self.regions) {
            if transfer.direction == Direction::In {
                // SAFETY: it is done, and the plan, which the caller alone has, would start it again.
                unpack(array, region, [1; 3], unsafe { transfer.buffer.cells() });
            }
        }
        self.moves.report.copying += began.elapsed();
        Ok(())
    }

    fn fits(&self, array: &DistArray<T>) -> Result<(), NetError> {
        if array.own() == self.array.1 { Ok(()) } else { Err(self.unfit()) }
    }

    fn unfit(&self) -> NetError {
        NetError::Misuse(format!("the plan is for `{}`, cells {:?}, and free", self.array.0, self.array.1))
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
        self.plan.finish(array)?;
        Ok(array)
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

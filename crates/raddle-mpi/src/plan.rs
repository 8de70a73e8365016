//! Owns: `HaloPlan`: which faces go where, agreed on by both sides once, and moved many times.
//! May use: `array`, `engine`, `error`, `net`, `post`, `shim`, `sweep`.
//! Never: an access to a message's memory while it is under way.

use crate::array::DistArray;
use crate::engine::Engine;
use crate::error::NetError;
use crate::net::{Net, PLAN_TAGS, fill};
use crate::post::{Post, Transfer};
use crate::shim::Direction;
use crate::sweep::{Colour, ColourPlane, Element};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What two neighbours tell each other of a face.
const NOTE_BYTES: usize = 256;
/// What every MPI has of tags, by six for each plan.
const PLANS_MAX: u32 = 32_767 / 6;

/// The faces that an array's ranks give each other, with a persistent request for each.
pub struct HaloPlan<T> {
    engine: Arc<Engine>,
    deadline: Duration,
    post: Arc<Post>,
    /// What is sent, and where what is received goes, in the order of the post's messages.
    regions: Vec<[Range<usize>; 3]>,
    array: (String, [Range<usize>; 3]),
    report: PlanReport,
    element: PhantomData<T>,
}

/// What a plan's exchanges have taken, on this rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanReport {
    /// How many there were.
    pub exchanges: u64,
    /// The time in which somebody waited for them.
    pub waited: Duration,
    /// From their beginnings until their last messages were found to be done.
    pub under_way: Duration,
    /// Copying faces to where MPI takes them, and from where it puts them.
    pub copying: Duration,
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
        let number = self.plans.fetch_add(1, Ordering::Relaxed);
        if number >= PLANS_MAX {
            return Err(NetError::Misuse(format!("{PLANS_MAX} plans have used up the tags")));
        }
        let (mut transfers, mut regions, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, after) in (0..6).map(|side| (side / 2, side % 2 == 1)) {
            let Some(peer) = array.cart().neighbour(axis, after) else { continue };
            let bytes =
                face(array, axis, after, 0).iter().map(Range::len).product::<usize>() * size_of::<T>();
            let label = format!(
                "`{}`, face {}{}",
                array.name(),
                ["x", "y", "z"][axis],
                ["-", "+"][usize::from(after)]
            );
            // Numbered by the side of the sender.
            let tag = |after: bool| {
                c_int::try_from(number * 6).expect("below 32768")
                    + c_int::try_from(2 * axis).expect("below 6")
                    + c_int::from(after)
            };
            let [out, back] = [self.private(peer, tag(after), 2), self.private(peer, tag(!after), 2)];
            transfers.push(Transfer::new(Direction::In, back, bytes, label.clone())?);
            regions.push(face(array, axis, after, 1));
            transfers.push(Transfer::new(Direction::Out, out, bytes, label.clone())?);
            regions.push(face(array, axis, after, 0));
            let extent = [(axis + 1) % 3, (axis + 2) % 3].map(|axis| array.own()[axis].clone());
            // Where the two parts meet. The name comes last: it may be longer than there is room.
            let cut = if after { array.own()[axis].end } else { array.own()[axis].start };
            let note = format!(
                "{bytes} bytes of {}, cells {extent:?} of {:?} at {} {cut}, `{}`",
                T::NAME,
                array.size(),
                ["x", "y", "z"][axis],
                array.name(),
            );
            notes.push((peer, label, note));
        }
        self.agree(number, &notes)?;
        let post = Arc::new(Post::new(format!("the exchange of `{}`", array.name()), transfers, true));
        self.engine.prepare(&post)?;
        Ok(HaloPlan {
            engine: self.engine.clone(),
            deadline: self.deadline,
            post,
            regions,
            array: (array.name().to_owned(), array.own()),
            report: PlanReport::default(),
            element: PhantomData,
        })
    }

    /// Compares notes with the neighbours; then all ranks hear whether all agree.
    fn agree(&self, number: u32, notes: &[(usize, String, String)]) -> Result<(), NetError> {
        let tag = PLAN_TAGS + c_int::try_from(number).expect("below 16000");
        let mut transfers = Vec::new();
        for (peer, _, note) in notes {
            let mut bytes = note.clone().into_bytes();
            bytes.resize(NOTE_BYTES, 0);
            transfers.push(Transfer::into(self.private(*peer, tag, 1), NOTE_BYTES)?);
            transfers.push(Transfer::out(self.private(*peer, tag, 1), &bytes)?);
        }
        let post = self.run(format!("the comparison of plan {number}"), transfers)?;
        let mut wrong = String::new();
        for (index, (peer, label, note)) in notes.iter().enumerate() {
            let mut theirs = [0; NOTE_BYTES];
            fill(&post, 2 * index, &mut theirs)?;
            let mut ours = note.clone().into_bytes();
            ours.resize(NOTE_BYTES, 0);
            if theirs[..] != ours[..] && wrong.is_empty() {
                let theirs = String::from_utf8_lossy(&theirs);
                let theirs = theirs.trim_end_matches('\0');
                wrong = format!("{label}: rank {} has {note}; rank {peer} has {theirs}", self.rank());
            }
        }
        let all = self.all_gather(&[u8::from(!wrong.is_empty())])?;
        let who: Vec<usize> = (0..all.len()).filter(|rank| all[*rank] != 0).collect();
        match (who.is_empty(), wrong.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err(NetError::Disagree(format!("ranks {who:?} do not agree on plan {number}"))),
            (false, false) => Err(NetError::Disagree(wrong)),
        }
    }
}

/// The cells of a face, or (`beyond` 1) the ghosts beyond it.
fn face<T: Element>(array: &DistArray<T>, axis: usize, after: bool, beyond: usize) -> [Range<usize>; 3] {
    let mut cells = array.inside();
    let at = if after { cells[axis].end - 1 + beyond } else { 1 - beyond };
    cells[axis] = at..at + 1;
    cells
}

/// The rows of a box, as ranges of the array's cells.
fn rows<T: Element>(array: &DistArray<T>, [x, y, z]: &[Range<usize>; 3]) -> Vec<Range<usize>> {
    let [_, south, below] = array.strides();
    let mut rows = Vec::with_capacity(y.len() * z.len());
    for plane in z.clone() {
        let starts = y.clone().map(|row| x.start + row * south + plane * below);
        rows.extend(starts.map(|start| start..start + x.len()));
    }
    rows
}

impl<T: Element> HaloPlan<T> {
    /// Begins an exchange of the faces of the array for which the plan was made, or of another one of the same part.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if it is another part; [`NetError::Over`].
    pub fn start<'a>(&'a mut self, array: &'a mut DistArray<T>) -> Result<Exchange<'a, T>, NetError> {
        if array.own() != self.array.1 || !self.post.is_done() {
            let text = format!("the plan is for `{}`, cells {:?}, and free", self.array.0, self.array.1);
            return Err(NetError::Misuse(text));
        }
        let began = Instant::now();
        for (transfer, region) in self.post.transfers.iter().zip(&self.regions) {
            if transfer.direction == Direction::Out {
                // SAFETY: it is not under way; the plan, which the caller alone has, starts it.
                let bytes = unsafe { transfer.buffer.bytes_mut() };
                let mut at = 0;
                for row in rows(array, region) {
                    let from = as_bytes(&array.cells()[row]);
                    bytes[at..at + from.len()].copy_from_slice(from);
                    at += from.len();
                }
            }
        }
        self.report.copying += began.elapsed();
        self.engine.start(&self.post)?;
        Ok(Exchange { plan: self, array: Some(array) })
    }

    /// What its exchanges have taken.
    pub fn report(&self) -> PlanReport {
        self.report
    }

    /// How many bytes this rank sends in an exchange.
    pub fn bytes(&self) -> usize {
        let out = self.post.transfers.iter().filter(|transfer| transfer.direction == Direction::Out);
        out.map(|transfer| transfer.buffer.len()).sum()
    }

    /// Waits for what was started.
    fn finish(&mut self) -> Result<(), NetError> {
        let began = Instant::now();
        let result = self.engine.wait(&self.post, self.deadline);
        self.report.exchanges += 1;
        self.report.waited += began.elapsed();
        let span = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
        let under_way = span(&self.post.done_ns).saturating_sub(span(&self.post.posted_ns));
        self.report.under_way += Duration::from_nanos(under_way);
        result
    }
}

impl<T> Drop for HaloPlan<T> {
    fn drop(&mut self) {
        self.engine.forget(&self.post);
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
        self.plan.finish()?;
        let began = Instant::now();
        for (transfer, region) in self.plan.post.transfers.iter().zip(&self.plan.regions) {
            if transfer.direction == Direction::In {
                // SAFETY: it is done, and the plan, which the caller alone has, would start it again.
                let bytes = unsafe { transfer.buffer.bytes() };
                let mut at = 0;
                for row in rows(array, region) {
                    let to = as_bytes_mut(&mut array.cells_mut()[row]);
                    to.copy_from_slice(&bytes[at..at + to.len()]);
                    at += to.len();
                }
            }
        }
        self.plan.report.copying += began.elapsed();
        Ok(array)
    }
}

impl<T: Element> Drop for Exchange<'_, T> {
    fn drop(&mut self) {
        if self.array.is_some() {
            // Who wants to know waits by `wait`; the net remembers that something was late.
            let _unseen = self.plan.finish();
        }
    }
}

fn as_bytes<T: Element>(cells: &[T]) -> &[u8] {
    // SAFETY: numbers have no padding.
    unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), size_of_val(cells)) }
}

fn as_bytes_mut<T: Element>(cells: &mut [T]) -> &mut [u8] {
    // SAFETY: numbers have no padding, and every pattern of bits is one.
    unsafe { std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast(), size_of_val(cells)) }
}

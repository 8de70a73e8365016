//! Owns: `BlockPlan`: blocks of numbers that go along the lines of a grid of ranks: broadcast, shifted, gathered.
//! May use: `agree`, `cart`, `error`, `moves`, `net`, `post`, `shim`, `sweep`.
//! Never: an access to a block while it is under way.
//!
//! A block lies in the plan's own memory, from which MPI takes it and to which MPI brings it: nothing is copied. While
//! it is under way there is a [`BlockFlight`] instead of a plan, and no way to the memory.
//!
//! A broadcast along a line goes from rank to rank, in segments, so that all links of the line are used at a time; each
//! rank hands a segment on when it has come, in whatever mode, without the program.

use crate::agree::{Note, PlanKind};
use crate::cart::Cart;
use crate::error::NetError;
use crate::moves::{Moves, PlanReport};
use crate::net::Net;
use crate::post::{Buffer, Post, Transfer};
use crate::shim::{Address, Direction};
use crate::sweep::Element;
use std::ffi::c_int;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::time::Duration;

/// A broadcast over more than two ranks goes in segments of so many bytes.
const SEGMENT_BYTES: usize = 256 << 10;

/// Blocks that go along a line of ranks.
pub struct BlockPlan<T> {
    moves: Moves,
    /// What this rank gives.
    own: Buffer,
    /// What it gets.
    got: Buffer,
    /// By which of the ways of the plan this rank gives something; none: by all.
    gives: Option<usize>,
    element: PhantomData<T>,
}

/// A block that is under way.
///
/// ```compile_fail,E0382
/// # use raddle_mpi::{BlockPlan, NetError};
/// fn wrong(plan: BlockPlan<f64>) -> Result<(), NetError> {
///     let first = plan.start(|block| block.fill(1.0))?;
///     let second = plan.start(|block| block.fill(2.0))?; // while the first is under way
///     first.wait()?;
///     second.wait().map(drop)
/// }
/// ```
///
/// ```compile_fail,E0608
/// # use raddle_mpi::{BlockPlan, NetError};
/// fn wrong(plan: BlockPlan<f64>) -> Result<f64, NetError> {
///     let flight = plan.start(|block| block.fill(1.0))?;
///     Ok(flight[0]) // has perhaps not come
/// }
/// ```
///
/// This is right:
///
/// ```
/// # use raddle_mpi::{BlockPlan, NetError};
/// fn right(plan: BlockPlan<f64>) -> Result<(BlockPlan<f64>, f64), NetError> {
///     let block = plan.start(|block| block.fill(1.0))?.wait()?;
///     let first = block[0];
///     Ok((block.free(), first))
/// }
/// ```
///
/// Dropped, it waits, and what has come is dropped with it.
#[must_use = "dropped, it waits at once"]
pub struct BlockFlight<T> {
    plan: Option<BlockPlan<T>>,
}

/// A block that has come: a slice of numbers.
#[must_use = "it has the plan"]
pub struct ArrivedBlock<T> {
    plan: BlockPlan<T>,
}

/// What a plan of blocks is made of.
struct Parts {
    posts: Vec<Post>,
    own: Buffer,
    got: Buffer,
    gives: Option<usize>,
}

impl Net {
    /// Agrees with the ranks of a line on broadcasts of blocks of `count` numbers, from any of them: to be called by
    /// all ranks of the net. Axis 0 of a grid of ranks are its rows, axis 1 its columns.
    ///
    /// [`start_from`](BlockPlan::start_from) says who gives.
    ///
    /// # Errors
    /// [`NetError::Disagree`] on all ranks if two do not expect the same; [`NetError::Late`] and others.
    pub fn plan_broadcast<T: Element>(
        &self,
        name: &str,
        cart: &Cart,
        axis: usize,
        count: usize,
    ) -> Result<BlockPlan<T>, NetError> {
        let number = self.plan_number()?;
        let made = self.broadcast::<T>(name, cart, axis, count, number);
        self.finish_plan(self.agree(number, PlanKind::Broadcast, made)?)
    }

    /// Agrees with the ranks of a line on giving a block of `count` numbers to the one `by` places on, and getting one
    /// of the one `by` places back, the line being a ring: to be called by all ranks.
    ///
    /// # Errors
    /// As [`plan_broadcast`](Self::plan_broadcast).
    pub fn plan_shift<T: Element>(
        &self,
        name: &str,
        cart: &Cart,
        axis: usize,
        by: isize,
        count: usize,
    ) -> Result<BlockPlan<T>, NetError> {
        let number = self.plan_number()?;
        let made = self.shift::<T>(name, cart, axis, by, count, number);
        self.finish_plan(self.agree(number, PlanKind::Shift, made)?)
    }

    /// Agrees on giving blocks of `count` numbers to rank `root`, which gets those of all ranks in their order, and the
    /// others nothing: to be called by all ranks.
    ///
    /// # Errors
    /// As [`plan_broadcast`](Self::plan_broadcast).
    pub fn plan_gather<T: Element>(
        &self,
        name: &str,
        root: usize,
        count: usize,
    ) -> Result<BlockPlan<T>, NetError> {
        let number = self.plan_number()?;
        let made = self.gathering::<T>(name, root, count, number);
        self.finish_plan(self.agree(number, PlanKind::Gather, made)?)
    }

    fn finish_plan<T>(&self, parts: Parts) -> Result<BlockPlan<T>, NetError> {
        let Parts { posts, own, got, gives } = parts;
        Ok(BlockPlan { moves: Moves::new(self, posts)?, own, got, gives, element: PhantomData })
    }

    fn of_plan(&self, peer: usize, number: u32) -> Address {
        self.private(peer, c_int::try_from(number).expect("below 16000"), 2)
    }

    fn broadcast<T: Element>(
        &self,
        name: &str,
        cart: &Cart,
        axis: usize,
        count: usize,
        number: u32,
    ) -> Result<(Parts, Vec<Note>), NetError> {
        let (line, place) = line(cart, axis)?;
        let memory = Transfer::memory(bytes_of::<T>(name, count)?)?;
        let segments = segments(memory.len(), line.len());
        let chain =
            Chain { net: self, name, line: &line, place, number, memory: &memory, segments: &segments };
        let posts = (0..line.len()).map(|root| chain.post(root)).collect();
        let text = format!(
            "{} bytes of {} along {line:?} in {} messages, `{name}`",
            memory.len(),
            T::NAME,
            segments.len()
        );
        let notes = neighbours(&line, place, 1)
            .into_iter()
            .map(|peer| Note { peer, label: format!("`{name}`, broadcast"), text: text.clone() })
            .collect();
        Ok((Parts { posts, own: memory.clone(), got: memory, gives: Some(place) }, notes))
    }

    fn shift<T: Element>(
        &self,
        name: &str,
        cart: &Cart,
        axis: usize,
        by: isize,
        count: usize,
        number: u32,
    ) -> Result<(Parts, Vec<Note>), NetError> {
        let (line, place) = line(cart, axis)?;
        let bytes = bytes_of::<T>(name, count)?;
        let (own, length) = (Transfer::memory(bytes)?, line.len());
        let steps = by.rem_euclid(isize::try_from(length).expect("few ranks")).unsigned_abs();
        if steps == 0 {
            let posts = vec![Post::new(format!("the shift of `{name}`"), Vec::new(), true)];
            return Ok((Parts { posts, own: own.clone(), got: own, gives: None }, Vec::new()));
        }
        let got = Transfer::memory(bytes)?;
        let (to, from) = (line[(place + steps) % length], line[(place + length - steps) % length]);
        let label = format!("`{name}`, shift by {by}");
        let message = |direction, peer, buffer: &Buffer| {
            Transfer::over(direction, self.of_plan(peer, number), buffer.clone(), label.clone())
        };
        let transfers = vec![message(Direction::In, from, &got), message(Direction::Out, to, &own)];
        let text = format!("{bytes} bytes of {} by {by} along {line:?}, `{name}`", T::NAME);
        let notes = neighbours(&line, place, steps)
            .into_iter()
            .map(|peer| Note { peer, label: label.clone(), text: text.clone() })
            .collect();
        let posts = vec![Post::new(format!("the shift of `{name}`"), transfers, true)];
        Ok((Parts { posts, own, got, gives: None }, notes))
    }

    fn gathering<T: Element>(
        &self,
        name: &str,
        root: usize,
        count: usize,
        number: u32,
    ) -> Result<(Parts, Vec<Note>), NetError> {
        if root >= self.size() {
            return Err(NetError::Misuse(format!("`{name}`: there is no rank {root} of {}", self.size())));
        }
        let bytes = bytes_of::<T>(name, count)?;
        let (label, what) = (format!("`{name}`, gather"), format!("the gather of `{name}`"));
        let note = |peer| Note {
            peer,
            label: label.clone(),
            text: format!("{bytes} bytes of {} for rank {root}, `{name}`", T::NAME),
        };
        let message = |direction, peer, buffer: Buffer| {
            Transfer::over(direction, self.of_plan(peer, number), buffer, label.clone())
        };
        if self.rank() != root {
            let (own, got) = (Transfer::memory(bytes)?, Transfer::memory(0)?);
            let posts = vec![Post::new(what, vec![message(Direction::Out, root, own.clone())], true)];
            return Ok((Parts { posts, own, got, gives: None }, vec![note(root)]));
        }
        let can_come = c_int::try_from(bytes).is_ok();
        let all = bytes.checked_mul(self.size()).filter(|all| can_come && isize::try_from(*all).is_ok());
        let all = all.ok_or_else(|| NetError::Misuse(format!("{label}: {count} numbers are too many")))?;
        let got = Buffer::new(all).ok_or_else(|| {
            NetError::Misuse(format!("{label}: {count} numbers of all have no room in memory"))
        })?;
        let others = || (0..self.size()).filter(|rank| *rank != root);
        let transfers = others()
            .map(|rank| message(Direction::In, rank, got.part(rank * bytes..(rank + 1) * bytes)))
            .collect();
        let own = got.part(root * bytes..(root + 1) * bytes);
        let notes = others().map(note).collect();
        Ok((Parts { posts: vec![Post::new(what, transfers, true)], own, got, gives: None }, notes))
    }
}

fn bytes_of<T>(name: &str, count: usize) -> Result<usize, NetError> {
    let bytes = count.checked_mul(size_of::<T>());
    bytes.ok_or_else(|| NetError::Misuse(format!("`{name}`: {count} numbers are too many")))
}

/// The ranks of a line, and where the caller is in it.
fn line(cart: &Cart, axis: usize) -> Result<(Vec<usize>, usize), NetError> {
    if axis >= 3 {
        return Err(NetError::Misuse(format!("there is no axis {axis} of three")));
    }
    Ok((cart.line(axis), cart.at()[axis]))
}

/// Who gets something of this place of a ring, and who gives it something, each once.
fn neighbours(line: &[usize], place: usize, steps: usize) -> Vec<usize> {
    let length = line.len();
    let mut peers = vec![line[(place + steps) % length], line[(place + length - steps) % length]];
    peers.dedup();
    peers.retain(|peer| *peer != line[place]);
    peers
}

/// The parts in which a block goes along a line of so many ranks.
pub(crate) fn segments(bytes: usize, ranks: usize) -> Vec<Range<usize>> {
    let step = if ranks <= 2 { bytes.max(1) } else { SEGMENT_BYTES };
    (0..bytes).step_by(step).map(|start| start..(start + step).min(bytes)).collect()
}

/// From which place of a line a rank gets each part of a broadcast, and to which it hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainLink {
    pub(crate) before: Option<usize>,
    pub(crate) behind: Option<usize>,
}

impl ChainLink {
    /// Of the rank at a place of a line of so many, if the one at `root` gives.
    pub(crate) fn of(place: usize, length: usize, root: usize) -> ChainLink {
        let steps = (place + length - root) % length;
        let before = (steps > 0).then(|| (place + length - 1) % length);
        let behind = (steps + 1 < length).then(|| (place + 1) % length);
        ChainLink { before, behind }
    }
}

/// A broadcast along a line.
struct Chain<'a> {
    net: &'a Net,
    name: &'a str,
    line: &'a [usize],
    place: usize,
    number: u32,
    memory: &'a Buffer,
    segments: &'a [Range<usize>],
}

impl Chain<'_> {
    /// What this rank does if the one at place `root` gives.
    fn post(&self, root: usize) -> Post {
        let ChainLink { before, behind } = ChainLink::of(self.place, self.line.len(), root);
        let [before, behind] = [before, behind].map(|place| place.map(|place| self.line[place]));
        let mut transfers = Vec::new();
        for (number, range) in self.segments.iter().enumerate() {
            let label = format!("`{}`, from rank {}, part {number}", self.name, self.line[root]);
            let message = |direction, peer| {
                let address = self.net.of_plan(peer, self.number);
                Transfer::over(direction, address, self.memory.part(range.clone()), label.clone())
            };
            let came = before.map(|peer| {
                transfers.push(message(Direction::In, peer));
                transfers.len() - 1
            });
            if let Some(peer) = behind {
                transfers.push(Transfer { after: came, ..message(Direction::Out, peer) });
            }
        }
        let what = format!("the broadcast of `{}` from rank {}", self.name, self.line[root]);
        Post::new(what, transfers, true)
    }
}

impl<T: Element> BlockPlan<T> {
    /// Begins a shift or a gather; `fill` writes what this rank gives, over what it has given before or, if that is
    /// the same block, what has come.
    ///
    /// # Errors
    /// [`NetError::Over`] and others.
    pub fn start(self, fill: impl FnOnce(&mut [T])) -> Result<BlockFlight<T>, NetError> {
        self.start_from(0, fill)
    }

    /// Begins a broadcast of the rank at that place of the line; there `fill` writes it.
    ///
    /// All ranks of the line must name the same place: nobody compares them. If two ranks each name their own, each
    /// sees its own block as the one that came; if somebody waits for a rank that does not send, the deadline tells.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if there is no such place; [`NetError::Over`].
    pub fn start_from(
        mut self,
        place: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<BlockFlight<T>, NetError> {
        if place >= self.moves.posts.len() {
            return Err(NetError::Misuse(format!("nobody is at place {place} of the line")));
        }
        if self.gives.is_none_or(|gives| gives == place) {
            // SAFETY: nothing of the plan is under way: there would be a flight instead.
            fill(unsafe { self.own.cells_mut() });
        }
        self.moves.start(place)?;
        Ok(BlockFlight { plan: Some(self) })
    }

    /// From now on, what of it has not come after so long is late; at first that is as the net has it.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.moves.deadline = deadline;
    }

    /// What it has taken.
    pub fn report(&self) -> PlanReport {
        self.moves.report
    }
}

impl<T: Element> BlockFlight<T> {
    /// Waits until the block has come, and what this rank has given is gone; parks the caller.
    ///
    /// # Errors
    /// [`NetError::Late`] with what has not come; [`NetError::Mpi`].
    pub fn wait(mut self) -> Result<ArrivedBlock<T>, NetError> {
        let mut plan = self.plan.take().expect("there until it ends");
        plan.moves.finish()?;
        Ok(ArrivedBlock { plan })
    }
}

impl<T> Drop for BlockFlight<T> {
    fn drop(&mut self) {
        if let Some(plan) = &mut self.plan {
            // Who wants to know waits by `wait`; the net remembers that something was late.
            let _unseen = plan.moves.finish();
        }
    }
}

impl<T> ArrivedBlock<T> {
    /// The plan, for the next one.
    pub fn free(self) -> BlockPlan<T> {
        self.plan
    }
}

impl<T: Element> Deref for ArrivedBlock<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: nothing of the plan is under way, and it cannot be started while this is borrowed.
        unsafe { self.plan.got.cells() }
    }
}

impl<T: Element> fmt::Debug for ArrivedBlock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrivedBlock").field("length", &self.len()).finish_non_exhaustive()
    }
}

//! Owns: `par_for`, `par_map`, `par_for_each`: loops whose turns may run in parallel.
//! May use: `raddle-core`.
//! Never: a number of chunks chosen beforehand.
//!
//! *Lazy splitting.* A loop runs block after block of its turns. When jobs are wanted it forks what is left in halves;
//! so a loop that nobody helps is a loop, and one that somebody helps is cut where it stands. How many turns are a
//! block: [`pace`].
//!
//! *Turns that talk*, as those that send to one collector, are dear on two workers and cheap on one: each message takes
//! another core's attention, 165 to 265 ns for a channel of 16 or none, where it takes 18 to 48 on one worker. A flow
//! sees it by a short time for a turn although others have run on its worker meanwhile. Then it is not cut, and who has
//! taken a part gives back what is left of it, to be run by the flow that has cut it.
//!
//! Considered for those: to have a fork that a wait lays open begin on its own worker first (queues then hold what may
//! not be taken for a time, and whoever looks for work asks a clock); to fork only after the first turns (a few turns
//! that wait for long would wait one after the other).

mod filled;
mod pace;

use super::flow::{Flow, Without, in_runtime, with_list};
use super::join::join_at;
use filled::{AllWritten, Filled, Slots};
use pace::{Heard, Pace};
use raddle_core::in_turn::is_in_turn;
use raddle_core::region;
use std::mem::{MaybeUninit, needs_drop};
use std::ops::Range;
use std::panic::Location;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Calls `f` with each number of `range`, in parallel if there are idle workers.
///
/// The calls must not wait for each other: what is left of a range starts only when somebody is idle, or in its turn.
/// In a region that is cancelled (`raddle::cancel`) no further ones begin, but for those of a block, some microseconds.
///
/// # Panics
/// As the first of the calls that panicked, in the order of the range, when all that was begun has ended. Calls that
/// would follow it in its part of the range do not happen.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// raddle::par_for(0..1000, |n| {
///     sum.fetch_add(n, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
#[track_caller]
pub fn par_for<F>(range: Range<usize>, f: F)
where
    F: Fn(usize) + Sync,
{
    run(Numbers { range, f: &f }, Location::caller());
}

/// Calls `f` with each element of `items`, in parallel if there are idle workers.
///
/// # Panics
/// As [`par_for`].
///
/// ```
/// let mut numbers = [1, 2, 3];
/// raddle::par_for_each(&mut numbers, |n| *n *= 10);
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
#[track_caller]
pub fn par_for_each<T, F>(items: &mut [T], f: F)
where
    T: Send,
    F: Fn(&mut T) + Sync,
{
    run(Items { items, f: &f }, Location::caller());
}

/// The values of `f` for each element of `items`, in their order, computed in parallel if there are idle workers.
///
/// # Panics
/// As [`par_for`].
///
/// ```
/// let squares = raddle::par_map(&[1, 2, 3], |n| n * n);
/// assert_eq!(squares, [1, 4, 9]);
/// ```
#[track_caller]
pub fn par_map<T, R, F>(items: &[T], f: F) -> Vec<R>
where
    T: Sync,
    R: Send,
    F: Fn(&T) -> R + Sync,
{
    let (site, mut values) = (Location::caller(), Vec::new());
    filled::fill(&mut values, items.len(), |slots| run(Values { items, slots, f: &f }, site));
    values
}

/// A loop, or what is left of one, or a part of that.
trait Turns: Send + Sized {
    /// What turns leave.
    type Done: Send;

    fn count(&self) -> usize;

    /// The first so many, and the others.
    fn split_at(self, count: usize) -> (Self, Self);

    /// One after the other.
    fn run(self) -> Self::Done;

    /// Of two parts that follow each other.
    fn both(first: Self::Done, second: Self::Done) -> Self::Done;
}

/// A loop as a whole.
struct Whole {
    /// Where the program calls it.
    site: &'static Location<'static>,
    heard: Heard,
}

/// What became of a part of a loop: turns that are done, and behind them those that its flow gives back.
struct Part<T: Turns> {
    done: Option<T::Done>,
    rest: Option<T>,
}

impl<T: Turns> Part<T> {
    fn add(&mut self, done: T::Done) {
        self.done = Some(match self.done.take() {
            Some(before) => T::both(before, done),
            None => done,
        });
    }

    /// All that is left is done at once.
    fn end(mut self, rest: T) -> Self {
        self.add(rest.run());
        self
    }
}

fn run<T: Turns>(turns: T, site: &'static Location<'static>) -> T::Done {
    if turns.count() <= 1 || is_in_turn() {
        return turns.run();
    }
    let whole = Whole { site, heard: Heard::default() };
    match (Flow::current(), Without::of_caller()) {
        (None, Without::Process(header)) => with_list(header, || halves(turns, Pace::new(), &whole)),
        (None, Without::Thread) => in_runtime(site, || run(turns, site)),
        _ => halves(turns, Pace::new(), &whole),
    }
}

/// What tells the flow that calls from others, for whoever only compares it.
fn home() -> *mut () {
    Flow::current().map_or(null_mut(), |flow| flow.home().cast_mut())
}

fn halves<T: Turns>(turns: T, pace: Pace, whole: &Whole) -> T::Done {
    let middle = turns.count() / 2;
    let (first, second) = turns.split_at(middle);
    let maker = AtomicPtr::new(null_mut());
    let run_first = || {
        // Relaxed: whoever finds another value than his own is another one, and nobody takes the second before.
        maker.store(home(), Ordering::Relaxed);
        blocks(first, pace, whole, false)
    };
    let run_second = || blocks(second, pace, whole, maker.load(Ordering::Relaxed) != home());
    let (mut part, second) = join_at(whole.site, run_first, run_second);
    second.done.into_iter().for_each(|done| part.add(done));
    if let Some(rest) = second.rest {
        let last = blocks(rest, pace, whole, false);
        last.done.into_iter().for_each(|done| part.add(done));
    }
    part.done.expect("who forks gives nothing back")
}

/// Runs a part. Whoever has it `lent`, as another flow than its maker, gives back what is left if turns talk.
fn blocks<T: Turns>(turns: T, mut pace: Pace, whole: &Whole, lent: bool) -> Part<T> {
    let (mut part, mut rest) = (Part { done: None, rest: None }, turns);
    pace.hear(&whole.heard);
    loop {
        // Asked for anew each time: a turn may wait, and go on elsewhere.
        let Some(flow) = Flow::current() else { return part.end(rest) };
        let (left, workers) = (rest.count(), flow.shared().workers().len());
        let in_region = flow.is_in_region();
        if in_region {
            region::check();
        }
        // Who has no peers is helped where a turn waits: turns that do are dear.
        let runs_all = |pace: &Pace| workers == 1 && !in_region && pace.is_short(left);
        // Before the block, which reads the clock.
        if runs_all(&pace) {
            return part.end(rest);
        }
        pace.see(flow.worker().dispatch_count());
        let count = pace.block(left, || flow.worker().now_ns());
        pace.tell(&whole.heard);
        if runs_all(&pace) {
            return part.end(rest);
        }
        let talks = whole.heard.talks();
        if talks && lent {
            part.rest = Some(rest);
            return part;
        }
        let open = flow.worker().jobs.waiting();
        if flow.worker().jobs.is_wanted() {
            // A fork that nobody has yet is no smaller than a half of what is left here, and goes first.
            if flow.forks().top().is_some() {
                flow.poll();
            } else if left > 1 && !talks && pace.is_worth_a_cut(left, open, (workers - 1).max(1)) {
                part.add(halves(rest, pace.of_part(), whole));
                return part;
            }
        }
        // What lies open is no smaller than what is left here.
        if open > 0 && !talks && pace.takes_long(left) {
            flow.rouse_for_long();
        }
        if count == left {
            return part.end(rest);
        }
        let (block, others) = rest.split_at(count);
        pace.begin(flow.worker().dispatch_count());
        part.add(block.run());
        whole.heard.count(count);
        rest = others;
    }
}

struct Numbers<'a, F> {
    range: Range<usize>,
    f: &'a F,
}

impl<F: Fn(usize) + Sync> Turns for Numbers<'_, F> {
    type Done = ();

    fn count(&self) -> usize {
        self.range.len()
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        let Range { start, end } = self.range;
        let part = |range| Numbers { range, f: self.f };
        (part(start..start + count), part(start + count..end))
    }

    fn run(self) {
        run_numbers(self.range, self.f);
    }

    fn both((): (), (): ()) {}
}

struct Items<'a, T, F> {
    items: &'a mut [T],
    f: &'a F,
}

impl<T: Send, F: Fn(&mut T) + Sync> Turns for Items<'_, T, F> {
    type Done = ();

    fn count(&self) -> usize {
        self.items.len()
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        let (first, second) = self.items.split_at_mut(count);
        (Items { items: first, f: self.f }, Items { items: second, f: self.f })
    }

    fn run(self) {
        run_items(self.items, self.f);
    }

    fn both((): (), (): ()) {}
}

struct Values<'a, T, R, F> {
    items: &'a [T],
    /// As many, for their values.
    slots: Slots<'a, R>,
    f: &'a F,
}

impl<'a, T: Sync, R: Send, F: Fn(&T) -> R + Sync> Turns for Values<'a, T, R, F> {
    type Done = Filled<'a, R>;

    fn count(&self) -> usize {
        self.items.len()
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        let (items, others) = self.items.split_at(count);
        let (slots, rest) = self.slots.split_at(count);
        (Values { items, slots, f: self.f }, Values { items: others, slots: rest, f: self.f })
    }

    fn run(self) -> Filled<'a, R> {
        self.slots.fill(|slots| run_values(self.items, slots, self.f))
    }

    fn both(first: Filled<'a, R>, second: Filled<'a, R>) -> Filled<'a, R> {
        first.and(second)
    }
}

// Functions of their own, whose parameters are what the turns use: only of a parameter does the compiler know that
// nothing else reaches it. So what `f` has captured stays in registers. PERF: bench `loops`, half of the time.

#[inline(never)]
fn run_numbers<F: Fn(usize)>(range: Range<usize>, f: &F) {
    range.for_each(f);
}

#[inline(never)]
fn run_items<T, F: Fn(&mut T)>(items: &mut [T], f: &F) {
    items.iter_mut().for_each(f);
}

#[inline(never)]
fn run_values<T, R, F: Fn(&T) -> R>(items: &[T], slots: &mut [MaybeUninit<R>], f: &F) -> AllWritten {
    if needs_drop::<R>() {
        filled::write(slots, items.iter().map(f))
    } else {
        filled::write_plain(slots, items, f)
    }
}

//! Owns: what sets of numbers are measured on, whoever has them: a sorted list, a hash table, a red-black tree.
//! May use: `raddle-measure`.
//! Never: a set.
//!
//! As `intset` of TinySTM: a set has half of the numbers of a range. Of a hundred operations so many as are asked for
//! change it: a number that is not there is added, and the next change of that thread takes it out again. All others
//! look for a number.

use raddle_measure::{Job, Sample};
use std::sync::{Arc, Mutex};

/// How a set's numbers lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// In a list of 256, sorted.
    List,
    /// 4096, in the lists of 2^17 places.
    Table,
    /// 4096, in a red-black tree.
    Tree,
}

/// Numbers of nodes that a thread may put into the set.
pub type Spare = Vec<u32>;

/// So many nodes each thread has to begin with; it has one of them in the set at a time.
const SPARE: u32 = 4;

impl Shape {
    fn of(job: &Job) -> Result<Shape, String> {
        match job.text("form")? {
            "list" => Ok(Shape::List),
            "table" => Ok(Shape::Table),
            "tree" => Ok(Shape::Tree),
            other => Err(format!("no form is called {other}")),
        }
    }

    /// So many numbers it has.
    fn len(self) -> u32 {
        if self == Shape::List { 256 } else { 4096 }
    }

    /// So many places at which lists begin.
    #[must_use]
    pub fn heads(self) -> u32 {
        if self == Shape::Table { 1 << 17 } else { 1 }
    }
}

/// A set of numbers above 0, in nodes which have numbers, too: those from [`Shape::heads`] on.
pub trait NumberSet: Send + Sync + 'static {
    /// An empty one, with room for so many nodes.
    fn new(shape: Shape, nodes: u32) -> Self;

    /// Whether the number is there.
    fn contains(&self, number: u32) -> bool;

    /// Adds the number, with a node of `spare`; false if it was there.
    fn insert(&self, number: u32, spare: &mut Spare) -> bool;

    /// Takes the number out, and its node to `spare`; false if it was not there.
    fn remove(&self, number: u32, spare: &mut Spare) -> bool;
}

/// One thread's numbers, as they come.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Runs what the job asks for; `on_threads` as that of [`transactions`](crate::transactions::run).
pub fn run<T: NumberSet>(
    job: &Job,
    on_threads: impl Fn(u64, Arc<dyn Fn(u64) -> u64 + Send + Sync>) -> u64,
) -> Result<Vec<Sample>, String> {
    let (threads, rounds) = (job.number("threads")?, job.number("rounds")?);
    let (shape, changes) = (Shape::of(job)?, job.number("changes")?);
    let count = u32::try_from(threads).map_err(|_| "too many threads")?;
    let first = shape.heads() + shape.len();
    let set = T::new(shape, first + count * SPARE);
    let mut spare: Spare = (shape.heads()..first).collect();
    let (mut dice, range) = (Dice(0x9e37_79b9_7f4a_7c15), u64::from(shape.len()) * 2);
    while !spare.is_empty() {
        set.insert((dice.next() % range) as u32 + 1, &mut spare);
    }
    let spares: Vec<_> = (0..count).map(|one| Mutex::new(nodes_of(first, one))).collect();
    let each = rounds / threads;
    let all = Arc::new((set, spares));
    job.plan.time(each * threads, || {
        let all = all.clone();
        on_threads(
            threads,
            Arc::new(move |thread| {
                let mut spare = all.1[thread as usize].lock().expect("nobody panics");
                let mut dice = Dice(0x2545_f491_4f6c_dd1d ^ thread << 32);
                turns(&all.0, &mut spare, &mut dice, (each, changes, range));
                each
            }),
        )
    })
}

fn nodes_of(first: u32, thread: u32) -> Spare {
    (first + thread * SPARE..first + (thread + 1) * SPARE).collect()
}

/// So many operations of one thread.
fn turns(set: &impl NumberSet, spare: &mut Spare, dice: &mut Dice, (each, changes, range): (u64, u64, u64)) {
    let mut added = None;
    for _ in 0..each {
        let toss = dice.next();
        let number = ((toss >> 8) % range) as u32 + 1;
        if toss % 100 >= changes {
            std::hint::black_box(set.contains(number));
        } else if let Some(mine) = added.take() {
            assert!(set.remove(mine, spare), "what was added was not there");
        } else if set.insert(number, spare) {
            added = Some(number);
        }
    }
    // So that the next sample begins as this one.
    assert!(added.is_none_or(|mine| set.remove(mine, spare)), "what was added was not there");
}

/// As [`run`], on OS threads.
pub fn run_on_os_threads<T: NumberSet>(job: &Job) -> Result<Vec<Sample>, String> {
    crate::cores::use_first(job.workers)?;
    run::<T>(job, crate::transactions::on_os_threads)
}

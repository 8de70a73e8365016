//! Owns: the product of two matrices over a mesh of ranks, panel by panel, in one of six models.
//! May use: `raddle`, `raddle-mpi`, `redblack3d`.
//! Never: a result that depends on the model, on the MPI, or on the number of workers.
//!
//! SUMMA (van de Geijn, Watts 1997). Each rank has a block of all three matrices. In each step the ranks of one column
//! of the mesh give a panel of the left matrix along their rows, and those of one row a panel of the right matrix along
//! their columns; each rank multiplies what it has got and adds it to its block of the product. The next two panels
//! are under way meanwhile, but in model `sync`.
//!
//! A panel has at most so many columns as was asked for, and is of one rank: blocks of different size on the two sides
//! make narrower ones. A rank's block of the product is computed in strips of columns that depend on the sizes alone,
//! and each element by the installed BLAS, in the order of the panels: so the result is the same bit by bit over
//! models, MPIs and workers. If the elements are small whole numbers, it is the same over meshes and libraries, too:
//! nothing is rounded.

pub mod blas;

use blas::{Blas, Columns};
use raddle_mpi::{BlockFlight, BlockPlan, Cart, Net, NetError, PlanReport};
use redblack3d::{Model, Taken, mixed};
use std::fmt;
use std::ops::Range;
use std::time::Instant;

/// A strip of the product has about so many multiplications, a quarter of a millisecond to some: between two of them
/// workers look after messages.
const STRIP: usize = 1 << 20;

/// What the elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Between -1 and 1.
    Real,
    /// Whole numbers from -8 to 8: no product is rounded.
    Whole,
}

/// What is to be computed.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Rows and columns of the product, and columns of the left matrix.
    pub size: [usize; 3],
    /// Columns of a panel of the left matrix, at most.
    pub panel: usize,
    /// Ranks along rows and columns of the mesh; none is the one that is most nearly square.
    pub mesh: Option<[usize; 2]>,
    /// When panels move.
    pub model: Model,
    /// The processor of the dedicated proxy.
    pub core: Option<usize>,
    /// What the elements are.
    pub values: Values,
    /// Whether strips are shared out among the workers.
    pub by_workers: bool,
}

/// What came out, on this rank.
#[derive(Clone, Debug)]
pub struct Product {
    /// Of all elements of all ranks.
    pub checksum: u64,
    /// The greatest difference to products of rows and columns that were computed by themselves, of those looked at,
    /// as a part of what rounding may make.
    pub error: f64,
    /// Ranks in a row of the mesh, and in a column.
    pub mesh: [usize; 2],
    /// What it has taken; an iteration is a step.
    pub taken: Taken,
}

/// An element of the left matrix (0) or the right one (1).
pub fn element(matrix: u64, row: usize, column: usize, values: Values) -> f64 {
    let bits = mixed(row as u64 ^ (matrix << 62), column as u64 + 1);
    match values {
        Values::Whole => (bits % 17) as f64 - 8.0,
        // 53 bits, as many as a number has.
        Values::Real => (bits >> 11) as f64 * f64::EPSILON - 1.0,
    }
}

/// The steps: ranges of the left matrix's columns, with the place in the row of the mesh that has them, and in the
/// column of the mesh that has the same rows of the right matrix.
fn steps(inner: usize, panel: usize, [wide, high]: [usize; 2]) -> Vec<(Range<usize>, usize, usize)> {
    let parts = |ranks: usize| -> Vec<usize> {
        // As `Cart::part` has them.
        (1..=ranks).map(|at| at * (inner / ranks) + at.min(inner % ranks)).collect()
    };
    let (columns, rows) = (parts(wide), parts(high));
    let (mut steps, mut at) = (Vec::new(), 0);
    while at < inner {
        let of = |ends: &[usize]| ends.iter().position(|end| at < *end).expect("it is below the last one");
        let (left, right) = (of(&columns), of(&rows));
        let end = (at + panel).min(columns[left]).min(rows[right]);
        steps.push((at..end, left, right));
        at = end;
    }
    steps
}

/// This rank's blocks.
struct RankBlocks {
    rows: Range<usize>,
    columns: Range<usize>,
    /// Its columns of the left matrix, its rows of the right one.
    left_columns: Range<usize>,
    right_rows: Range<usize>,
    /// By columns, all of them.
    left: Vec<f64>,
    right: Vec<f64>,
    product: Vec<f64>,
}

impl RankBlocks {
    fn new(cart: &Cart, [rows, columns, inner]: [usize; 3], values: Values) -> RankBlocks {
        let (own_rows, own_columns) = (cart.part(1, rows), cart.part(0, columns));
        let (left_columns, right_rows) = (cart.part(0, inner), cart.part(1, inner));
        let fill = |matrix, rows: &Range<usize>, columns: &Range<usize>| {
            let column = |column| rows.clone().map(move |row| element(matrix, row, column, values));
            columns.clone().flat_map(column).collect()
        };
        let left = fill(0, &own_rows, &left_columns);
        let right = fill(1, &right_rows, &own_columns);
        let product = vec![0.0; own_rows.len() * own_columns.len()];
        RankBlocks { rows: own_rows, columns: own_columns, left_columns, right_rows, left, right, product }
    }

    /// A panel of the left block: whole columns.
    fn give_left(&self, step: &Range<usize>, panel: &mut [f64]) {
        let start = (step.start - self.left_columns.start) * self.rows.len();
        let length = step.len() * self.rows.len();
        panel[..length].copy_from_slice(&self.left[start..start + length]);
    }

    /// A panel of the right block: some rows of all columns.
    fn give_right(&self, step: &Range<usize>, panel: &mut [f64]) {
        let (high, start) = (self.right_rows.len(), step.start - self.right_rows.start);
        for (column, to) in panel.chunks_exact_mut(step.len()).take(self.columns.len()).enumerate() {
            let from = column * high + start;
            to.copy_from_slice(&self.right[from..from + step.len()]);
        }
    }
}

/// What computes strips, and looks after messages between them.
struct Multiplier<'a> {
    net: &'a Net,
    blas: Blas,
    by_workers: bool,
}

impl Multiplier<'_> {
    fn add(&self, blocks: &mut RankBlocks, width: usize, left: &[f64], right: &[f64]) {
        let rows = blocks.rows.len();
        let wide = (STRIP / (rows * width).max(1)).max(1);
        let one = |(at, strip): (usize, &mut [f64])| {
            let columns = strip.len() / rows;
            let left = Columns { cells: left, apart: rows };
            let right = Columns { cells: &right[at * wide * width..], apart: width };
            self.blas.add_product([rows, columns, width], left, right, (strip, rows));
            self.net.point();
        };
        let strips = blocks.product.chunks_mut(wide * rows).enumerate();
        if self.by_workers {
            raddle::scope(|scope| strips.for_each(|strip| scope.spawn(move |_| one(strip))));
        } else {
            strips.for_each(one);
        }
    }
}

/// The mesh of so many ranks that is most nearly square, wider than high.
fn square(ranks: usize) -> [usize; 2] {
    let high =
        (1..=ranks).take_while(|high| high * high <= ranks).filter(|high| ranks.is_multiple_of(*high)).last();
    let high = high.unwrap_or(1);
    [ranks / high, high]
}

type Pair = (BlockPlan<f64>, BlockPlan<f64>);
type PairUnderWay = (BlockFlight<f64>, BlockFlight<f64>);

/// Multiplies, together with all other ranks.
///
/// # Errors
/// What plans and exchanges answer.
pub fn run(net: &Net, blas: Blas, setup: &Setup) -> Result<Product, NetError> {
    let mesh = setup.mesh.unwrap_or_else(|| square(net.size()));
    let cart = Cart::new(net, [mesh[0], mesh[1], 1])?;
    check(setup, mesh)?;
    net.set_mode(setup.model.mode(setup.core))?;
    let mut blocks = RankBlocks::new(&cart, setup.size, setup.values);
    let steps = steps(setup.size[2], setup.panel, mesh);
    let pair = |left: &str, right: &str| -> Result<Pair, NetError> {
        let panel = setup.panel.min(setup.size[2]);
        let left = net.plan_broadcast(left, &cart, 0, blocks.rows.len() * panel)?;
        Ok((left, net.plan_broadcast(right, &cart, 1, panel * blocks.columns.len())?))
    };
    let begin = |(left, right): Pair, blocks: &RankBlocks, step: usize| -> Result<PairUnderWay, NetError> {
        let (range, of_left, of_right) = &steps[step];
        let left = left.start_from(*of_left, |panel| blocks.give_left(range, panel))?;
        Ok((left, right.start_from(*of_right, |panel| blocks.give_right(range, panel))?))
    };
    let multiplier = Multiplier { net, blas, by_workers: setup.by_workers };
    let (mut times, count) = (Vec::with_capacity(steps.len()), steps.len());
    let (first, mut spare) = (pair("left", "right")?, Some(pair("left'", "right'")?));
    net.barrier()?;
    let mut began = Instant::now();
    let mut coming = Some(begin(first, &blocks, 0)?);
    let mut report = PlanReport::default();
    for (step, (range, ..)) in steps.iter().enumerate() {
        let is_last = step + 1 == count;
        // All models but one have the next panels under way while these are multiplied.
        let mut next = None;
        if let Some(free) = spare.take_if(|_| setup.model != Model::Sync && !is_last) {
            next = Some(begin(free, &blocks, step + 1)?);
        }
        let (left, right) = coming.take().expect("it was begun a step ago");
        let (left, right) = (left.wait()?, right.wait()?);
        multiplier.add(&mut blocks, range.len(), &left, &right);
        let free = (left.free(), right.free());
        if is_last {
            let all = [Some(free), spare.take()].into_iter().flatten();
            report = all.fold(report, |report, pair| report.and(&pair.0.report()).and(&pair.1.report()));
        } else if next.is_none() {
            next = Some(begin(free, &blocks, step + 1)?);
        } else {
            spare = Some(free);
        }
        coming = next;
        times.push(began.elapsed());
        began = Instant::now();
    }
    let bytes =
        size_of::<f64>() * setup.panel.min(setup.size[2]) * (blocks.rows.len() + blocks.columns.len());
    let taken = Taken::new(net, times, report, bytes);
    let (checksum, error) = judge(net, &blocks, setup)?;
    Ok(Product { checksum, error, mesh, taken })
}

/// What no rank can do is told on all of them, before they make plans.
fn check(setup: &Setup, [wide, high]: [usize; 2]) -> Result<(), NetError> {
    let [rows, columns, inner] = setup.size;
    if setup.panel == 0 || rows < high || columns < wide || inner < wide.max(high) {
        let text =
            format!("{:?}, panels of {}: not for a mesh of {wide}x{high} ranks", setup.size, setup.panel);
        return Err(NetError::Misuse(text));
    }
    Ok(())
}

/// How many elements each rank computes by themselves.
const SAMPLES: usize = 200;

/// The checksum of all ranks, and the greatest difference to what was computed otherwise.
fn judge(net: &Net, blocks: &RankBlocks, setup: &Setup) -> Result<(u64, f64), NetError> {
    let high = blocks.rows.len();
    let cell = |at: usize| (blocks.rows.start + at % high, blocks.columns.start + at / high);
    let sum = blocks.product.iter().enumerate().fold(0_u64, |sum, (at, value)| {
        let (row, column) = cell(at);
        sum.wrapping_add(mixed((row + setup.size[0] * column) as u64, value.to_bits()))
    });
    let error = (0..SAMPLES).fold(0.0, |worst: f64, number| {
        let at = (mixed(number as u64, 1) % blocks.product.len() as u64) as usize;
        worst.max(difference(cell(at), blocks.product[at], setup))
    });
    let all = net.all_gather(&[sum.to_le_bytes(), error.to_bits().to_le_bytes()].concat())?;
    let words: Vec<u64> =
        all.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
    let checksum = words.iter().step_by(2).fold(0, |sum: u64, one| sum.wrapping_add(*one));
    let error = words.iter().skip(1).step_by(2).map(|bits| f64::from_bits(*bits)).fold(0.0, f64::max);
    Ok((checksum, error))
}

/// The difference of an element to the product of its row and column, as a part of what rounding may make.
fn difference((row, column): (usize, usize), value: f64, setup: &Setup) -> f64 {
    let inner = setup.size[2];
    let (mut sum, mut large) = (0.0, 0.0);
    for at in 0..inner {
        let term = element(0, row, at, setup.values) * element(1, at, column, setup.values);
        sum += term;
        large += term.abs();
    }
    match setup.values {
        Values::Whole if sum.to_bits() == value.to_bits() || sum == value => 0.0,
        Values::Whole => f64::INFINITY,
        // No number is none of the product's.
        Values::Real if !value.is_finite() => f64::INFINITY,
        Values::Real => (sum - value).abs() / (inner as f64 * f64::EPSILON * large),
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.taken)?;
        let is_right = if self.error <= 1.0 { "within rounding" } else { "WRONG" };
        writeln!(
            f,
            "product {is_right} (the greatest difference is {:e} of what rounding may make), checksum {:016x}",
            self.error, self.checksum
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_cover_and_belong_to_one_rank_each() {
        for mesh in [[1, 1], [2, 1], [3, 2], [4, 4]] {
            for (inner, panel) in [(16, 4), (17, 5), (19, 100)] {
                let steps = steps(inner, panel, mesh);
                let mut at = 0;
                for (range, left, right) in steps {
                    assert_eq!(range.start, at);
                    assert!(!range.is_empty() && range.len() <= panel);
                    let part = |ranks: usize, of: usize| {
                        let start = |of: usize| of * (inner / ranks) + of.min(inner % ranks);
                        start(of)..start(of + 1)
                    };
                    for (ranks, of) in [(mesh[0], left), (mesh[1], right)] {
                        let part = part(ranks, of);
                        assert!(part.start <= range.start && range.end <= part.end, "{range:?} of {part:?}");
                    }
                    at = range.end;
                }
                assert_eq!(at, inner);
            }
        }
        assert_eq!([square(1), square(2), square(6), square(16)], [[1, 1], [2, 1], [3, 2], [4, 4]]);
    }

    #[test]
    fn elements_are_what_they_are_said_to_be() {
        for at in 0..1000 {
            let real = element(at & 1, at as usize, 3, Values::Real);
            assert!((-1.0..1.0).contains(&real));
            let whole = element(at & 1, at as usize, 3, Values::Whole);
            assert!(whole.fract() == 0.0 && whole.abs() <= 8.0);
        }
        assert_ne!(element(0, 1, 2, Values::Real).to_bits(), element(1, 1, 2, Values::Real).to_bits());
    }
}

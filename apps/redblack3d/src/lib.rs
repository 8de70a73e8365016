//! Owns: the solver: sweeps, exchanges of faces in one of six models, and what they have taken.
//! May use: `clap`, `raddle`, `raddle-mpi`.
//! Never: a result that depends on the model, on the number of ranks, or on that of workers.
//!
//! Poisson's equation with seven points and zero at the border. A sweep changes the cells of one colour, from those of
//! the other one; so the result is the same bit by bit however the cells are shared out, and so are the residual, which
//! is a maximum, and the checksum, which is a sum of whole numbers.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use raddle_mpi::{
    AutoReport, Cart, Colour, ColourPlane, Counters, DistArray, Exchange, Mode, Net, NetError, PlanReport,
    Seven,
};
use std::fmt;
use std::time::{Duration, Instant};

/// When faces move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Before a sweep; nothing is computed meanwhile.
    Sync,
    /// They are posted before the inner cells are computed; who waits for them moves them.
    Async,
    /// As `Async`, and the workers look after them between two planes.
    Shared,
    /// As `Shared`, and an OS thread looks when nobody has for long.
    Watched,
    /// As `Async`, and an OS thread does nothing but look after them.
    Dedicated,
    /// As `Async`, and who looks is found by trying.
    Auto,
}

impl Model {
    /// All of them.
    pub const ALL: [Model; 6] =
        [Model::Sync, Model::Async, Model::Shared, Model::Watched, Model::Dedicated, Model::Auto];

    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Model::Sync => "sync",
            Model::Async => "async",
            Model::Shared => "shared",
            Model::Watched => "watched",
            Model::Dedicated => "dedicated",
            Model::Auto => "auto",
        }
    }

    /// Who looks after messages in it; a dedicated proxy on that processor.
    pub fn mode(self, core: Option<usize>) -> Mode {
        match self {
            Model::Sync | Model::Async => Mode::Inline,
            Model::Shared => Mode::Shared,
            Model::Watched => Mode::Watched,
            Model::Dedicated => Mode::Dedicated { core },
            Model::Auto => Mode::Auto { core },
        }
    }
}

/// A model, on a command line.
#[derive(Clone, Copy, Debug)]
pub struct ModelName(pub Model);

impl ValueEnum for ModelName {
    fn value_variants<'a>() -> &'a [ModelName] {
        const ALL: [ModelName; Model::ALL.len()] = [
            ModelName(Model::ALL[0]),
            ModelName(Model::ALL[1]),
            ModelName(Model::ALL[2]),
            ModelName(Model::ALL[3]),
            ModelName(Model::ALL[4]),
            ModelName(Model::ALL[5]),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

/// How cells are shared out among ranks.
#[derive(Clone, Debug, PartialEq)]
pub enum Shares {
    /// All have as many, but for one along an axis.
    Even,
    /// By the speed of each rank, which it measures before.
    BySpeed,
    /// By these speeds of all ranks.
    Given(Vec<f64>),
}

/// What is to be computed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Cells along each axis.
    pub size: [usize; 3],
    /// How many pairs of sweeps.
    pub iterations: usize,
    /// When faces move.
    pub model: Model,
    /// Ranks along each axis; none has the smallest faces.
    pub ranks: Option<[usize; 3]>,
    /// How cells are shared out among ranks.
    pub shares: Shares,
    /// The processor of the dedicated proxy.
    pub core: Option<usize>,
    /// Whether planes are shared out among the workers.
    pub by_workers: bool,
}

/// What iterations have taken, of any program that has plans.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The time of each iteration, shortest first.
    pub times: Vec<Duration>,
    /// Those of them after mode `auto` had chosen for the first time, shortest first; none in other modes.
    pub settled: Vec<Duration>,
    /// What the exchanges have taken.
    pub report: PlanReport,
    /// What this rank sends in an exchange.
    pub bytes: usize,
    /// What the proxy has done.
    pub counters: Counters,
    /// Who has looked after messages, in words.
    pub mode: String,
}

/// What came out, on this rank.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The largest absolute residual of all ranks.
    pub residual: f64,
    /// Of all cells of all ranks.
    pub checksum: u64,
    /// Ranks along each axis.
    pub ranks: [usize; 3],
    /// How many cells this rank has.
    pub cells: usize,
    /// What it has taken.
    pub taken: Taken,
}

const OMEGA: f64 = 1.5;

/// The right-hand side, times the square of the distance of two cells: a product of three tables.
struct Humps([Vec<f64>; 3]);

impl Humps {
    fn new(size: [usize; 3]) -> Humps {
        // Not a sine of the library's: that may differ from machine to machine.
        let hump = |n: usize| (0..n).map(|at| ((at + 1) * (n - at)) as f64 / (n * n) as f64).collect();
        Humps(size.map(hump))
    }

    #[inline(always)]
    fn at(&self, [x, y, z]: [usize; 3]) -> f64 {
        self.0[0][x] * self.of_row([y, z])
    }

    #[inline(always)]
    fn of_row(&self, [y, z]: [usize; 2]) -> f64 {
        self.0[1][y] * self.0[2][z]
    }

    /// What relaxes the cells of a row.
    #[inline(always)]
    fn relaxes(&self, row: [usize; 2]) -> impl Fn(Seven<f64>) -> f64 {
        let (columns, of_row) = (&*self.0[0], self.of_row(row));
        move |cell| {
            let source = columns[cell.at[0]] * of_row;
            cell.here + OMEGA * ((neighbours(&cell) + source) / 6.0 - cell.here)
        }
    }
}

#[inline(always)]
fn neighbours(cell: &Seven<f64>) -> f64 {
    (cell.west + cell.east) + (cell.south + cell.north) + (cell.below + cell.above)
}

/// Sweeps planes of one colour.
fn sweep(net: &Net, source: &Humps, planes: Vec<ColourPlane<'_, f64>>, by_workers: bool) {
    let one = |mut plane: ColourPlane<'_, f64>| {
        plane.relax_rows(|row| source.relaxes(row));
        net.point();
    };
    if by_workers {
        raddle::scope(|scope| planes.into_iter().for_each(|plane| scope.spawn(move |_| one(plane))));
    } else {
        planes.into_iter().for_each(one);
    }
}

/// Solves, together with all other ranks.
///
/// # Errors
/// What exchanges answer.
pub fn run(net: &Net, setup: &Setup) -> Result<Outcome, NetError> {
    let cart = setup.ranks.map_or_else(|| Cart::fitting(net, setup.size), |ranks| Cart::new(net, ranks))?;
    net.set_mode(setup.model.mode(setup.core))?;
    let source = Humps::new(setup.size);
    let cart = match &setup.shares {
        Shares::Even => cart,
        Shares::BySpeed => cart.by_speeds(&net.speeds(speed(net, &cart, &source, setup)?)?)?,
        Shares::Given(speeds) => cart.by_speeds(speeds)?,
    };
    let mut u = DistArray::new("u", &cart, setup.size)?;
    let mut halo = net.plan_halo(&u)?;
    let (mut times, mut tried) = (Vec::with_capacity(setup.iterations), setup.iterations);
    net.barrier()?;
    for _ in 0..setup.iterations {
        let began = Instant::now();
        for colour in [Colour::Red, Colour::Black] {
            let exchange = halo.start(&mut u)?;
            half(net, &source, exchange, colour, setup)?;
        }
        times.push(began.elapsed());
        if setup.model == Model::Auto && times.len() < tried && has_chosen(net) {
            tried = times.len();
        }
    }
    let settled = sorted(times[tried..].to_vec());
    let taken = Taken { settled, ..Taken::new(net, times, halo.report(), halo.bytes()) };
    let u = halo.start(&mut u)?.wait()?;
    let (residual, checksum) = judge(net, u, &source)?;
    let cells = u.own().iter().map(ExactSizeIterator::len).product();
    Ok(Outcome { residual, checksum, ranks: cart.ranks(), cells, taken })
}

fn has_chosen(net: &Net) -> bool {
    net.auto_report().is_some_and(|report| report.choices > 0)
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
}

/// The middle one of times, shortest first.
pub fn median(times: &[Duration]) -> Duration {
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How many cells this rank changes in a second, while all others do the same: the median of a few sweeps of its even
/// part, after one that brings it into the caches.
fn speed(net: &Net, cart: &Cart, source: &Humps, setup: &Setup) -> Result<f64, NetError> {
    const SWEEPS: usize = 5;
    let mut u = DistArray::new("speed", cart, setup.size)?;
    let cells = u.own().iter().map(ExactSizeIterator::len).product::<usize>() as f64 / 2.0;
    net.barrier()?;
    let mut times: Vec<Duration> = (0..=SWEEPS)
        .map(|sweep_number| {
            let began = Instant::now();
            let colour = [Colour::Red, Colour::Black][sweep_number % 2];
            sweep(net, source, u.all(colour), setup.by_workers);
            began.elapsed()
        })
        .skip(1)
        .collect();
    times.sort_unstable();
    Ok(cells / times[SWEEPS / 2].as_secs_f64().max(1e-9))
}

/// Half an iteration.
fn half(
    net: &Net,
    source: &Humps,
    mut exchange: Exchange<'_, f64>,
    colour: Colour,
    setup: &Setup,
) -> Result<(), NetError> {
    if setup.model == Model::Sync {
        sweep(net, source, exchange.wait()?.all(colour), setup.by_workers);
        return Ok(());
    }
    sweep(net, source, exchange.inner(colour), setup.by_workers);
    sweep(net, source, exchange.wait()?.annulus(colour), setup.by_workers);
    Ok(())
}

/// The residual and the checksum of all ranks.
fn judge(net: &Net, u: &DistArray<f64>, source: &Humps) -> Result<(f64, u64), NetError> {
    let size = u.size();
    let own = u.fold((0.0_f64, 0_u64), |(residual, sum), cell| {
        let [x, y, z] = cell.at;
        let place = (x + size[0] * (y + size[1] * z)) as u64;
        let left = (neighbours(&cell) + source.at(cell.at) - 6.0 * cell.here).abs();
        (residual.max(left), sum.wrapping_add(mixed(place, cell.here.to_bits())))
    });
    let bytes = [own.0.to_bits().to_le_bytes(), own.1.to_le_bytes()].concat();
    let all = net.all_gather(&bytes)?;
    let words = all.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let words: Vec<u64> = words.collect();
    let residual = words.iter().step_by(2).map(|bits| f64::from_bits(*bits)).fold(0.0, f64::max);
    Ok((residual, words.iter().skip(1).step_by(2).fold(0, |sum, one| sum.wrapping_add(*one))))
}

/// A number that depends on the place of a cell and on each bit of it.
pub fn mixed(place: u64, bits: u64) -> u64 {
    // The mixer of SplitMix64 (Steele, Lea, Flood 2014).
    let mut word = bits ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Taken {
    /// At the end of the last iteration.
    pub fn new(net: &Net, times: Vec<Duration>, report: PlanReport, bytes: usize) -> Taken {
        let mode = match net.auto_report() {
            Some(AutoReport { reason, .. }) if reason.is_empty() => {
                format!("auto: nothing is chosen yet; {} at the moment", net.acting())
            }
            Some(AutoReport { reason, .. }) => format!("auto, {reason}"),
            None => net.mode().to_string(),
        };
        Taken { times: sorted(times), settled: Vec::new(), report, bytes, counters: net.counters(), mode }
    }

    /// The median time of an iteration.
    pub fn median(&self) -> Duration {
        median(&self.times)
    }

    /// A time of all iterations, by each of them, in milliseconds.
    pub fn each(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.times.len().max(1) as f64
    }

    /// The thesis's prediction for a proxy that takes one of `workers` processors, and for one that takes none, in
    /// milliseconds an iteration: what is not waited for, longer by the processor that is gone, or the wire's time if
    /// that is more. It is founded on what is waited for, so it says something only of a run that hides nothing.
    pub fn predicted(&self, workers: usize) -> (Option<f64>, f64) {
        let total = self.each(self.times.iter().sum());
        let wire = self.each(self.report.waited);
        let longer = (workers > 1).then(|| workers as f64 / (workers - 1) as f64);
        (longer.map(|longer| ((total - wire) * longer).max(wire)), (total - wire).max(wire))
    }

    /// The same in words.
    pub fn prediction(&self, workers: usize) -> String {
        let (dedicated, shared) = self.predicted(workers);
        let dedicated =
            dedicated.map(|time| format!("{time:.2} ms with a worker less, ")).unwrap_or_default();
        format!("predicted: {dedicated}{shared:.2} ms if workers look between tasks")
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends =
            (self.times.first().copied().unwrap_or_default(), self.times.last().copied().unwrap_or_default());
        let (wait, copying) = (self.each(self.report.waited), self.each(self.report.copying));
        let total = self.each(self.times.iter().sum());
        writeln!(
            f,
            "an iteration takes {:.2} ms (median; {:.2} to {:.2})",
            milliseconds(self.median()),
            milliseconds(ends.0),
            milliseconds(ends.1),
        )?;
        if !self.settled.is_empty() {
            let tried = self.times.len() - self.settled.len();
            writeln!(f, "{:.2} ms after the {tried} in which it chose", milliseconds(median(&self.settled)))?;
        }
        writeln!(
            f,
            "on average {total:.2} ms, of which computing {:.2}, waiting {wait:.2}, copying {copying:.2}",
            (total - wait - copying).max(0.0),
        )?;
        writeln!(
            f,
            "messages of {} bytes are under way {:.2} ms an iteration, {:.0} % of it hidden",
            self.bytes,
            self.each(self.report.under_way),
            100.0 * self.report.hidden(),
        )?;
        let Counters { polls, empty, longest_gap, processor, .. } = self.counters;
        writeln!(
            f,
            "the proxy looked {polls} times, {empty} for nothing; the longest gap was {:.2} ms; it has had a processor \
             for {:.2} ms an iteration",
            milliseconds(longest_gap),
            self.each(processor),
        )?;
        writeln!(f, "mode {}", self.mode)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.taken)?;
        writeln!(
            f,
            "residual {:016x} ({:e}), checksum {:016x}",
            self.residual.to_bits(),
            self.residual,
            self.checksum
        )
    }
}

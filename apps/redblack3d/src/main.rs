//! Owns: the command line of the solver.
//! May use: `clap`, `raddle`, `raddle-mpi`.
//! Never: a setting of the runtime; those come from the environment (`RADDLE_WORKERS`, ...).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use raddle::Runtime;
use raddle_mpi::{EmulatedLink, Net, NetConfig, NetError};
use redblack3d::{Model, ModelName, Setup, Shares, median, run};

/// Stacks of processes: MPI runs on them.
const STACK_BYTES: usize = 256 << 10;

/// Poisson's equation in three dimensions over ranks of MPI, by red-black over-relaxation
///
/// To be started by mpirun; `raddle mpi build` comes first. Rank 0 prints what it has measured, and the residual and a
/// checksum, which are the same for all models, ranks and workers.
#[derive(Parser)]
#[command(name = "redblack3d")]
struct CommandLine {
    /// Cells along each axis
    #[arg(long, default_value = "128x128x128", value_parser = three)]
    size: [usize; 3],
    /// Pairs of sweeps
    #[arg(long, default_value_t = 20)]
    iterations: usize,
    /// When faces move
    #[arg(long, value_enum, default_value_t = ModelName(Model::Shared))]
    model: ModelName,
    /// Ranks along each axis; by default those with the smallest faces
    #[arg(long, value_parser = three)]
    ranks: Option<[usize; 3]>,
    /// Share cells out by the speed of each rank, which is measured first
    #[arg(long, conflicts_with = "speeds")]
    by_speed: bool,
    /// Share cells out by these speeds of all ranks, as in 3,1
    #[arg(long, value_delimiter = ',', value_name = "SPEED")]
    speeds: Vec<f64>,
    /// The processor of the dedicated proxy
    #[arg(long)]
    core: Option<usize>,
    /// Seconds after which a message is late
    #[arg(long, default_value_t = 30)]
    deadline: u64,
    /// Hold messages back as a link of so many megabits a second would: what is measured then is a model's answer
    #[arg(long, value_name = "MEGABITS")]
    emulate: Option<f64>,
    /// Run these models in turn, instead of one, and print the medians of their medians
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MODEL")]
    beside: Vec<ModelName>,
    /// How often, with --beside
    #[arg(long, default_value_t = 5, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// On rank 1, make another array than the others do: a fault, which is named
    #[arg(long, hide = true)]
    disagree: bool,
}

fn three(text: &str) -> Result<[usize; 3], String> {
    let numbers: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
    let numbers = numbers.map_err(|error| error.to_string())?;
    numbers.try_into().map_err(|_| "three numbers, as in 64x64x32".to_owned())
}

impl CommandLine {
    fn setup(&self, by_workers: bool) -> Setup {
        let model = self.model.0;
        let (size, iterations, ranks, core) = (self.size, self.iterations, self.ranks, self.core);
        let shares = match (&*self.speeds, self.by_speed) {
            ([], false) => Shares::Even,
            ([], true) => Shares::BySpeed,
            (speeds, _) => Shares::Given(speeds.to_vec()),
        };
        Setup { size, iterations, model, ranks, shares, core, by_workers }
    }
}

fn solve(line: &CommandLine, workers: usize) -> Result<(), NetError> {
    let mut config = NetConfig::default().deadline(Duration::from_secs(line.deadline));
    config.link = line.emulate.map(EmulatedLink::megabits);
    let net = Net::start(config)?;
    let mut setup = line.setup(workers > 1);
    if line.disagree && net.rank() == 1 {
        setup.size[0] += 1;
    }
    if !line.beside.is_empty() {
        return compare(&net, line, &mut setup);
    }
    let outcome = run(&net, &setup)?;
    if net.rank() == 0 {
        println!(
            "{:?} cells on {:?} ranks of {}, {:?}",
            setup.size,
            outcome.ranks,
            net.library(),
            setup.model
        );
        if let Some(rate) = line.emulate {
            println!("EMULATED: messages take the time that a link of {rate} Mbit/s would");
        }
        if setup.shares != Shares::Even {
            let all = setup.size.iter().product::<usize>() as f64;
            println!("rank 0 has {} cells, {:.3} of all", outcome.cells, outcome.cells as f64 / all);
        }
        print!("{outcome}");
        if matches!(setup.model, Model::Sync | Model::Async) {
            println!("{}", outcome.taken.prediction(workers));
        }
    }
    Ok(())
}

/// Each model so often, in turn.
fn compare(net: &Net, line: &CommandLine, setup: &mut Setup) -> Result<(), NetError> {
    let mut found = vec![[Vec::new(), Vec::new()]; line.beside.len()];
    for _ in 0..line.rounds {
        for (model, [all, settled]) in line.beside.iter().zip(&mut found) {
            setup.model = model.0;
            let taken = run(net, setup)?.taken;
            all.push(taken.median());
            settled.extend((!taken.settled.is_empty()).then(|| median(&taken.settled)));
        }
    }
    for (model, times) in line.beside.iter().zip(&mut found).filter(|_| net.rank() == 0) {
        times.iter_mut().for_each(|times| times.sort_unstable());
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let [all, settled] = [&times[0], &times[1]];
        print!("{:<9} {:.3} ms an iteration", model.0.name(), ms(median(all)));
        print!(" ({:.3} to {:.3})", ms(all[0]), ms(all[all.len() - 1]));
        println!(
            "{}",
            if settled.is_empty() {
                String::new()
            } else {
                format!(", {:.3} when it had chosen", ms(median(settled)))
            }
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let runtime = match Runtime::builder().stack_size(STACK_BYTES).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("redblack3d: {error}");
            return ExitCode::from(2);
        }
    };
    let workers = runtime.workers();
    match runtime.run(move || solve(&line, workers)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redblack3d: {error}");
            ExitCode::FAILURE
        }
    }
}

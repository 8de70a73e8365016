//! Owns: the command line of the product.
//! May use: `clap`, `raddle`, `raddle-mpi`, `redblack3d`.
//! Never: a setting of the runtime; those come from the environment (`RADDLE_WORKERS`, ...).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use raddle::Runtime;
use raddle_mpi::{EmulatedLink, Net, NetConfig};
use redblack3d::{Model, ModelName};
use summa::blas::Blas;
use summa::{Setup, Values, run};

/// Stacks of processes: MPI and the BLAS run on them.
const STACK_BYTES: usize = 512 << 10;

/// A product of matrices over a mesh of ranks of MPI: panels go along rows and columns while others are multiplied
///
/// To be started by mpirun; `raddle mpi build` comes first. The product is computed by the installed BLAS, which should
/// use one thread (OPENBLAS_NUM_THREADS=1): workers share the work out. Rank 0 prints what it has measured and a
/// checksum, which is the same for all models, MPIs and workers.
#[derive(Parser)]
#[command(name = "summa")]
struct SummaLine {
    /// Rows and columns of the product, and columns of the left matrix
    #[arg(long, default_value = "512x512x512", value_parser = three)]
    size: [usize; 3],
    /// Columns of a panel, at most
    #[arg(long, default_value_t = 64)]
    panel: usize,
    /// Ranks in a row and in a column; by default the mesh that is most nearly square
    #[arg(long, value_parser = two)]
    mesh: Option<[usize; 2]>,
    /// When panels move
    #[arg(long, value_enum, default_value_t = ModelName(Model::Shared))]
    model: ModelName,
    /// What the elements are: real ones, or small whole numbers, of which no product is rounded
    #[arg(long, value_enum, default_value_t = ValuesName::Real)]
    values: ValuesName,
    /// The library with the BLAS, by name or path
    #[arg(long)]
    blas: Option<String>,
    /// The processor of the dedicated proxy
    #[arg(long)]
    core: Option<usize>,
    /// Seconds after which a message is late
    #[arg(long, default_value_t = 30)]
    deadline: u64,
    /// Hold messages back as a link of so many megabits a second would: what is measured then is a model's answer
    #[arg(long, value_name = "MEGABITS")]
    emulate: Option<f64>,
    /// On rank 1, make panels of another width than the others do: a fault, which is named
    #[arg(long, hide = true)]
    disagree: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ValuesName {
    Real,
    Whole,
}

fn numbers<const N: usize>(text: &str) -> Result<[usize; N], String> {
    let numbers: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
    let numbers = numbers.map_err(|error| error.to_string())?;
    numbers.try_into().map_err(|_| format!("{N} numbers with x between them"))
}

fn three(text: &str) -> Result<[usize; 3], String> {
    numbers(text)
}

fn two(text: &str) -> Result<[usize; 2], String> {
    numbers(text)
}

fn multiply(line: &SummaLine, workers: usize) -> Result<bool, String> {
    let blas = Blas::load(line.blas.as_deref())?;
    let mut config = NetConfig::default().deadline(Duration::from_secs(line.deadline));
    config.link = line.emulate.map(EmulatedLink::megabits);
    let net = Net::start(config).map_err(|error| error.to_string())?;
    let values = match line.values {
        ValuesName::Real => Values::Real,
        ValuesName::Whole => Values::Whole,
    };
    let (size, mesh, model, core) = (line.size, line.mesh, line.model.0, line.core);
    let panel = if line.disagree && net.rank() == 1 { line.panel + 1 } else { line.panel };
    let setup = Setup { size, panel, mesh, model, core, values, by_workers: workers > 1 };
    let outcome = run(&net, blas, &setup).map_err(|error| error.to_string())?;
    if net.rank() == 0 {
        let [rows, columns, inner] = size;
        println!("{rows}x{inner} times {inner}x{columns} on {:?} ranks of {}", outcome.mesh, net.library());
        if let Some(rate) = line.emulate {
            println!("EMULATED: messages take the time that a link of {rate} Mbit/s would");
        }
        print!("{outcome}");
        if matches!(model, Model::Sync | Model::Async) {
            println!("{}", outcome.taken.prediction(workers));
        }
    }
    Ok(outcome.error <= 1.0)
}

fn main() -> ExitCode {
    let line = SummaLine::parse();
    let runtime = match Runtime::builder().stack_size(STACK_BYTES).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("summa: {error}");
            return ExitCode::from(2);
        }
    };
    let workers = runtime.workers();
    match runtime.run(move || multiply(&line, workers)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("summa: {error}");
            ExitCode::FAILURE
        }
    }
}

//! Owns: RedBlack3D and SUMMA on two ranks of MPI, a worker each; the cell's program starts itself as ranks.
//! May use: raddle, raddle-mpi, the applications.
//! Never: a process that is left behind; a figure of a link that was not the one asked for.
//!
//! Parameters: `app` (redblack3d, summa), `model`, `mpi` (openmpi, mpich), `link` (emulated: held back in the process;
//! shaped: two network namespaces and a link of 1 Gbit/s between them, which needs the rights), `iterations` and the
//! sizes `x`, `y`, `z`; for summa rows, columns and the inner size, with `panel`. The model `c-polled` is the program
//! in C that polls by hand, and its other ones are `c-sync` and `c-async`.

mod shaped;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use raddle::Runtime;
use raddle_measure::Sample;
use raddle_measure::program::{self, Job};
use raddle_mpi::install::{Flavour, build_with, compilers};
use raddle_mpi::{EmulatedLink, Net, NetConfig};
use redblack3d::{Model, Taken};
use shaped::ShapedLink;
use summa::blas::Blas;

/// Says that this process is a rank.
const RANK: &str = "BENCH_PROXY_RANK";
const RANKS: &str = "2";
const MEGABITS: f64 = 1000.0;
/// A message is late after so long; ranks that hang end by it.
const DEADLINE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    program::main(|job| if env::var_os(RANK).is_some() { as_rank(job) } else { start_ranks(job) })
}

/// Runs the job, and reads what its rank 0 prints.
fn start_ranks(job: &Job) -> Result<Vec<Sample>, String> {
    let (flavour, mpicc) = found(job.text("mpi")?)?;
    let own = env::current_exe().map_err(|error| error.to_string())?;
    let folder = own.parent().ok_or("a program lies in a folder")?.join("proxy");
    build_with(&folder, &mpicc, &[]).map_err(|error| error.to_string())?;
    let model = job.text("model")?;
    let line: Vec<String> = match model.strip_prefix("c-") {
        Some(model) => {
            let program = compile(&folder, flavour, &mpicc)?;
            let sizes = ["x", "y", "z", "iterations"].map(|name| job.text(name).map(str::to_owned));
            let mut line = vec![program.display().to_string(), model.to_owned()];
            line.extend(sizes.into_iter().collect::<Result<Vec<_>, _>>()?);
            line
        }
        None => [own.display().to_string()].into_iter().chain(env::args().skip(1)).collect(),
    };
    let link = if job.text("link")? == "shaped" { Some(ShapedLink::new(MEGABITS)?) } else { None };
    let run = || -> Result<Vec<Sample>, String> {
        let mut command = link.as_ref().map_or_else(|| plainly(flavour), |link| link.command(flavour));
        command.args(["-np", RANKS]).args(&line).env(RANK, "1").env("MPI_SHIM_DIR", &folder);
        let output = command.env("MPI_SHIM", flavour.name()).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{} cannot be started: {error}", launcher(flavour)))?;
        read(&output, model)
    };
    // UCX over TCP does not always find the other end of a link that is a second old.
    run().or_else(|_| run())
}

fn read(output: &Output, model: &str) -> Result<Vec<Sample>, String> {
    let (said, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let samples: Vec<Sample> = if model.starts_with("c-") {
        said.lines().filter_map(of_c).collect()
    } else {
        said.lines().filter_map(|line| Sample::from_json_line(line.trim()).ok()).collect()
    };
    if !output.status.success() || samples.is_empty() {
        return Err(format!("{}: {}", output.status, complaints.trim()));
    }
    Ok(samples)
}

/// `sync: 1.50 ms an iteration (...), waiting 0.50, checksum 00ab...`
fn of_c(line: &str) -> Option<Sample> {
    let after = |text: &str| line.split_once(text).map(|(_, rest)| rest);
    let word = |rest: &str| rest.split([' ', ',', ')']).next().map(str::to_owned);
    let time: f64 = word(after(": ")?)?.parse().ok()?;
    let waiting: f64 = word(after("waiting ")?)?.parse().ok()?;
    let checksum = u64::from_str_radix(after("checksum ")?.trim(), 16).ok()?;
    Some(Sample::new(time * 1e6, checksum).with("wait_ns", waiting * 1e6))
}

fn found(name: &str) -> Result<(Flavour, PathBuf), String> {
    let found = compilers().into_iter().find(|(_, flavour)| flavour.name() == name);
    let (mpicc, flavour) =
        found.ok_or_else(|| format!("{name} is not here; `raddle mpi info` says what to install"))?;
    Ok((flavour, mpicc))
}

fn launcher(flavour: Flavour) -> String {
    format!("mpirun.{}", flavour.name())
}

/// All ranks on this host.
fn plainly(flavour: Flavour) -> Command {
    let mut command = Command::new(launcher(flavour));
    if flavour == Flavour::OpenMpi {
        command.args(["--oversubscribe", "--bind-to", "none"]);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    command
}

fn compile(folder: &Path, flavour: Flavour, mpicc: &Path) -> Result<PathBuf, String> {
    let program = folder.join(format!("redblack3d-{}", flavour.name()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proxy/redblack3d.c");
    let mut command = Command::new(mpicc);
    // As rustc, which joins no product and sum either.
    command.args(["-std=c11", "-O3", "-ffp-contract=off", "-o"]).arg(&program).arg(source);
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(program)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// What a rank does; rank 0 has the sample.
fn as_rank(job: &Job) -> Result<Vec<Sample>, String> {
    pin();
    let runtime = Runtime::builder().workers(job.workers).stack_size(512 << 10).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let job = job.clone();
    runtime.run(move || measure(&job))
}

/// Each rank to a processor of its own, if there are as many.
fn pin() {
    let rank =
        ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].into_iter().find_map(|name| env::var(name).ok()?.parse().ok());
    if let Some(rank) = rank {
        let _where_it_is = bench_common::cores::pin(rank);
    }
}

fn measure(job: &Job) -> Result<Vec<Sample>, String> {
    let mut config = NetConfig::default().deadline(DEADLINE);
    if job.text("link")? == "emulated" {
        config.link = Some(EmulatedLink::megabits(MEGABITS));
    }
    let net = Net::start(config).map_err(|error| error.to_string())?;
    let name = job.text("model")?;
    let model = Model::ALL.into_iter().find(|model| model.name() == name);
    let model = model.ok_or_else(|| format!("there is no model {name}"))?;
    let number = |name| job.number(name).map(|number| number as usize);
    let size = [number("x")?, number("y")?, number("z")?];
    let (taken, checksum) = match job.text("app")? {
        "redblack3d" => {
            let (iterations, ranks) = (number("iterations")?, Some([1, 1, net.size()]));
            let (shares, core, by_workers) = (redblack3d::Shares::Even, None, false);
            let setup = redblack3d::Setup { size, iterations, model, ranks, shares, core, by_workers };
            let outcome = redblack3d::run(&net, &setup).map_err(|error| error.to_string())?;
            (outcome.taken, outcome.checksum)
        }
        "summa" => {
            let (panel, values) = (number("panel")?, summa::Values::Whole);
            let setup =
                summa::Setup { size, panel, mesh: None, model, core: None, values, by_workers: false };
            let blas = Blas::load(None)?;
            let product = summa::run(&net, blas, &setup).map_err(|error| error.to_string())?;
            if product.error > 1.0 {
                return Err("the product is wrong".to_owned());
            }
            (product.taken, product.checksum)
        }
        other => return Err(format!("there is no application {other}")),
    };
    Ok(if net.rank() == 0 { vec![sample(&taken, checksum)] } else { Vec::new() })
}

/// An iteration: its median time, and beside it in nanoseconds what the thesis reports.
fn sample(taken: &Taken, checksum: u64) -> Sample {
    let ns = |time: Duration| taken.each(time) * 1e6;
    let total = ns(taken.times.iter().sum());
    let wait = ns(taken.report.waited);
    Sample::new(taken.median().as_secs_f64() * 1e9, checksum)
        .with("total_ns", total)
        .with("compute_ns", (total - wait - ns(taken.report.copying)).max(0.0))
        .with("wait_ns", wait)
        .with("under_way_ns", ns(taken.report.under_way))
        .with("hidden", taken.report.hidden())
        .with("proxy_ns", ns(taken.counters.processor))
        .with("polls", taken.counters.polls as f64 / taken.times.len().max(1) as f64)
        .with("gap_ns", taken.counters.longest_gap.as_secs_f64() * 1e9)
}

//! Owns: `raddle mpi simulate`: its options, and the table of simulated times beside the formula's.
//! May use: `out`, `refusal`, `raddle-mpi`.
//! Never: a time without the word that it is simulated.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_mpi::simulate::{Scene, SimulatedModel, SimulatedTime, SimulationError, SummaScene, launcher};

use super::MpiEnded;
use super::interrupt;
use crate::out::print;
use crate::refusal::Error;

/// By so much a simulated time may differ from the formula's.
const TOLERANCE: f64 = 0.05;

/// Above the lines of a table.
const HEADING: &str = " ranks  grid       model      simulated ms    formula ms    ratio  of sync\n";

pub(super) const SIMULATE_HELP: &str = "\
Examples:
  raddle mpi simulate                                    8 to 4096 ranks, a link of 1 Gbit/s each
  raddle mpi simulate --ranks 8,27 --megabits 10000 --latency-us 2
  raddle mpi simulate --ranks 64 --keep sim              with the schedules that SimGrid replays
  raddle mpi simulate --summa                            SUMMA, on meshes of 16 to 1024 ranks

Exit codes:
    1  a time differs from the formula's by more than 5 %
    2  the command line is wrong
  126  smpirun has failed; all that it says is shown
  127  there is no smpirun: apt-get install libsimgrid-dev
  130  interrupted (SIGINT; 143 for SIGTERM): smpirun is ended, its schedules are removed";

/// `raddle mpi simulate`.
#[derive(clap::Args)]
pub(crate) struct Simulate {
    /// Numbers of ranks [default: 8,64,512,4096; of SUMMA, where they are squares: 16,64,256,1024]
    #[arg(long, value_delimiter = ',')]
    ranks: Vec<usize>,
    /// Simulate SUMMA, and not RedBlack3D
    #[arg(long)]
    summa: bool,
    /// SUMMA: rows and columns of each rank's part
    #[arg(long, default_value_t = SummaScene::default().block, requires = "summa")]
    block: usize,
    /// SUMMA: columns of a panel
    #[arg(long, default_value_t = SummaScene::default().panel, requires = "summa")]
    panel: usize,
    /// SUMMA: panels that are multiplied
    #[arg(long, default_value_t = SummaScene::default().steps, requires = "summa")]
    steps: usize,
    /// SUMMA: floating-point operations of a rank, in 10^9 a second
    #[arg(long, default_value_t = SummaScene::default().products_per_second * 2e-9, requires = "summa")]
    gflops: f64,
    /// Cells along each axis of each rank's part
    #[arg(long, default_value_t = Scene::default().cells)]
    cells: usize,
    /// Iterations that are simulated
    #[arg(long, default_value_t = Scene::default().iterations)]
    iterations: usize,
    /// Nanoseconds in which a rank computes a cell
    #[arg(long, default_value_t = Scene::default().cell_ns)]
    cell_ns: f64,
    /// Megabits a second of each rank's link, each way
    #[arg(long, default_value_t = Scene::default().bytes_per_second * 8e-6)]
    megabits: f64,
    /// Microseconds from one rank to another one
    #[arg(long, default_value_t = 50.0)]
    latency_us: f64,
    /// Microseconds of a rank's processor for each message that it sends
    #[arg(long, default_value_t = 5.0)]
    overhead_us: f64,
    /// Kilobytes up to which a message moves while nobody looks
    #[arg(long, default_value_t = 64)]
    eager_kb: usize,
    /// How much longer a rank computes when a proxy has one of its processors
    #[arg(long, default_value_t = Scene::default().kernel_ratio)]
    kernel_ratio: f64,
    /// Keep what SimGrid reads in this folder, a folder in it for each line of the table
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

impl From<SimulationError> for Error {
    fn from(error: SimulationError) -> Error {
        match error {
            SimulationError::NotInstalled(text) => Error::NotFound(text),
            SimulationError::Scene(text) => Error::Setting(text),
            error => Error::CannotRun(error.to_string()),
        }
    }
}

fn microseconds(number: f64, what: &str) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(number * 1e-6)
        .map_err(|_| Error::Setting(format!("`--{what} {number}` is no time of microseconds")))
}

/// A folder that goes, but for what is to be kept.
struct ScheduleFolder {
    path: PathBuf,
    is_kept: bool,
}

impl ScheduleFolder {
    /// One among temporary files that is new and nobody else's: what is written there goes nowhere else by links.
    fn temporary() -> Result<ScheduleFolder, Error> {
        let mut number = 0;
        loop {
            let name = format!("raddle-simulate-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(ScheduleFolder { path, is_kept: false }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    return Err(Error::CannotRun(format!("`{}` cannot be made: {error}", path.display())));
                }
            }
        }
    }
}

impl Drop for ScheduleFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is left lies among temporary files.
            let _left = fs::remove_dir_all(&self.path);
        }
    }
}

impl Simulate {
    fn scene(&self, ranks: usize) -> Result<Scene, Error> {
        Ok(Scene {
            ranks,
            cells: self.cells,
            iterations: self.iterations,
            cell_ns: self.cell_ns,
            bytes_per_second: self.megabits * 1e6 / 8.0,
            latency: microseconds(self.latency_us, "latency-us")?,
            overhead: microseconds(self.overhead_us, "overhead-us")?,
            eager_bytes: self.eager_kb.saturating_mul(1024),
            kernel_ratio: self.kernel_ratio,
        })
    }

    /// Prints the table, unless a signal ends that.
    pub(super) fn carry_out(&self) -> Result<MpiEnded, Error> {
        interrupt::watch();
        let simulated = self.print_table();
        match interrupt::signal() {
            Some(signal) => Ok(MpiEnded::Interrupted(signal)),
            None => simulated.map(MpiEnded::Simulated),
        }
    }

    fn ranks(&self) -> &[usize] {
        match self.ranks.as_slice() {
            [] if self.summa => &[16, 64, 256, 1024],
            [] => &[8, 64, 512, 4096],
            some => some,
        }
    }

    /// Prints a line as soon as it is known; whether all times are the formula's.
    fn print_table(&self) -> Result<bool, Error> {
        let is_well = if self.summa { self.print_summa()? } else { self.print_redblack()? };
        let words = if is_well { "All times are within" } else { "NOT all times are within" };
        print(&format!(
            "\n{words} 5 % of the formula's. SimGrid moves messages while ranks compute: it bounds what a proxy gains, \
             and does not show the need of one{}.\n",
            if self.summa { "" } else { "; async posts large messages when it has computed" }
        ))?;
        Ok(is_well)
    }

    fn print_redblack(&self) -> Result<bool, Error> {
        let scenes = self.ranks().iter().map(|ranks| self.scene(*ranks)).collect::<Result<Vec<_>, _>>()?;
        // What cannot be is refused before anything is said.
        scenes.iter().try_for_each(|scene| scene.formula(SimulatedModel::Sync).map(drop))?;
        launcher()?;
        print(&format!(
            "SIMULATED by SimGrid: nothing here was measured. RedBlack3D, {0} x {0} x {0} cells of {1} ns a rank; a \
             link of {2} Mbit/s and {3} us for each rank, {4} us a message; no contention in the switch.\n\n{5}",
            self.cells, self.cell_ns, self.megabits, self.latency_us, self.overhead_us, HEADING,
        ))?;
        let mut is_well = true;
        for scene in &scenes {
            let [x, y, z] = scene.grid()?;
            let place = (scene.ranks, format!("{x}x{y}x{z}"));
            is_well &= self.print_models(&place, &SimulatedModel::ALL, |model, folder, is_to_stop| {
                scene.simulate_unless(model, folder, is_to_stop)
            })?;
        }
        Ok(is_well)
    }

    fn print_summa(&self) -> Result<bool, Error> {
        let scene = |ranks: &usize| {
            let side = ranks.isqrt();
            if side * side != *ranks {
                let text = format!("`--ranks {ranks}`: meshes of SUMMA are square here");
                return Err(Error::Setting(text));
            }
            Ok(SummaScene {
                side,
                block: self.block,
                panel: self.panel,
                steps: self.steps,
                products_per_second: self.gflops * 5e8,
                bytes_per_second: self.megabits * 1e6 / 8.0,
                latency: microseconds(self.latency_us, "latency-us")?,
                kernel_ratio: self.kernel_ratio,
            })
        };
        let scenes = self.ranks().iter().map(scene).collect::<Result<Vec<_>, Error>>()?;
        scenes.iter().try_for_each(|scene| scene.formula(SimulatedModel::Sync).map(drop))?;
        launcher()?;
        print(&format!(
            "SIMULATED by SimGrid: nothing here was measured. SUMMA, {0} x {0} doubles a rank, panels of {1}, {2} \
             steps, \
             {3} Gflop/s; a link of {4} Mbit/s and {5} us for each rank; no contention in the switch. Times of a step.\
             \n\n{6}",
            self.block, self.panel, self.steps, self.gflops, self.megabits, self.latency_us, HEADING,
        ))?;
        let mut is_well = true;
        for scene in &scenes {
            let place = (scene.side * scene.side, format!("{0}x{0}", scene.side));
            is_well &= self.print_models(&place, &SummaScene::MODELS, |model, folder, is_to_stop| {
                scene.simulate_unless(model, folder, is_to_stop)
            })?;
        }
        Ok(is_well)
    }

    /// The lines of a number of ranks, of which the first is sync's.
    fn print_models(
        &self,
        (ranks, grid): &(usize, String),
        models: &[SimulatedModel],
        simulate: impl Fn(SimulatedModel, &Path, &dyn Fn() -> bool) -> Result<SimulatedTime, SimulationError>,
    ) -> Result<bool, Error> {
        let (mut is_well, mut sync) = (true, None);
        for model in models {
            let folder = match &self.keep {
                Some(folder) => {
                    let path = folder.join(format!("{ranks}-{}", model.name()));
                    ScheduleFolder { path, is_kept: true }
                }
                None => ScheduleFolder::temporary()?,
            };
            let time = simulate(*model, &folder.path, &|| interrupt::signal().is_some())?;
            is_well &= (time.ratio() - 1.0).abs() <= TOLERANCE;
            let sync = *sync.get_or_insert(time.simulated);
            print(&format!(
                "{ranks:>6}  {grid:<10} {:<9}  {:>12.3}  {:>12.3}  {:>7.4}  {:>7.3}\n",
                model.name(),
                time.simulated.as_secs_f64() * 1e3,
                time.formula.as_secs_f64() * 1e3,
                time.ratio(),
                time.simulated.as_secs_f64() / sync.as_secs_f64(),
            ))?;
        }
        Ok(is_well)
    }
}

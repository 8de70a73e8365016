// Owns: how a plan's schedule is simulated on thousands of ranks, by SimGrid's `smpirun`, and the formula beside it.
// May use: `cart`, `error`, `share`.
// Never: a time that was measured; all times here are a model's, and whoever shows them says so.

//! SIMULATED: the exchange of faces on more ranks than there are machines, by SimGrid's SMPI, beside the formula.
//!
//! For each rank the halo plan of [`DistArray`](crate::DistArray)s is made as a program makes it, by the same code, and
//! written down as a schedule: which messages are posted when, what is computed meanwhile, when is waited. SimGrid
//! replays the schedules of all ranks on a network of its own: a link to a switch for each rank, as fast both ways at a
//! time; the switch has room for all. Nothing is measured: computing takes what the [`Scene`] says.
//!
//! SMPI moves messages while ranks compute, whoever looks (*strong progress*). So it can tell what a proxy gains, and
//! not that one is needed; messages that nobody moves while the rank computes are posted after it
//! ([`SimulatedModel::Async`]).
//!
//! # Why schedules
//! SimGrid runs real programs, too, each rank as a coroutine of one OS thread. It was tried with a program of this
//! crate: it is loaded as a library, which the loader refuses for executables of Rust; MPI is begun by an OS thread
//! that SimGrid does not know; and waits that park until a time of the clock stop the simulation, whose clock is its
//! own. A twin of the engine without all that would not be what runs on a cluster. The schedule is.

mod launch;
mod network;
mod schedule;
mod summa;

use crate::cart::{Cart, fitting};
use crate::error::NetError;
use crate::share::Share;
use network::{ReplayFiles, ReplayNetwork};
use schedule::Half;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
pub use summa::SummaScene;

/// What is simulated: RedBlack3D, an iteration of which exchanges faces twice, each time for half of the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// How many ranks.
    pub ranks: usize,
    /// Cells along each axis of each rank's part.
    pub cells: usize,
    /// How many iterations.
    pub iterations: usize,
    /// How long a cell is computed, in nanoseconds.
    pub cell_ns: f64,
    /// How fast a rank's link is, each way.
    pub bytes_per_second: f64,
    /// From one rank to another one.
    pub latency: Duration,
    /// What sending a message takes of the rank's processor.
    pub overhead: Duration,
    /// Messages of at most so many bytes move while nobody looks.
    pub eager_bytes: usize,
    /// How much longer a rank computes with a processor less.
    pub kernel_ratio: f64,
}

impl Default for Scene {
    /// Eight ranks with 256 cells along each axis, a link of 1 Gbit/s and 50 us, cells as fast as a core computed them
    /// that was measured, Open MPI's limit over TCP, and the kernel ratio that the thesis found on four processors.
    fn default() -> Scene {
        Scene {
            ranks: 8,
            cells: 256,
            iterations: 3,
            cell_ns: 3.4,
            bytes_per_second: 125e6,
            latency: Duration::from_micros(50),
            overhead: Duration::from_micros(5),
            eager_bytes: 64 << 10,
            kernel_ratio: 1.12,
        }
    }
}

/// When faces move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedModel {
    /// Before computing.
    Sync,
    /// Posted before the inner cells are computed; nobody looks, so that large messages move in the wait.
    Async,
    /// They move while the inner cells are computed: the bound of a proxy that shares the rank's processors.
    Shared,
    /// The same, and the rank computes with a processor less.
    Dedicated,
}

impl SimulatedModel {
    /// All of them.
    pub const ALL: [SimulatedModel; 4] = [Self::Sync, Self::Async, Self::Shared, Self::Dedicated];

    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Shared => "shared",
            Self::Dedicated => "dedicated",
        }
    }
}

/// What an iteration takes. Both are a model's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedTime {
    /// By SimGrid, which has all ranks and messages.
    pub simulated: Duration,
    /// By the formula, which has the busiest rank.
    pub formula: Duration,
}

impl SimulatedTime {
    /// How much longer the simulated iteration is: 1 if both are equal.
    pub fn ratio(&self) -> f64 {
        self.simulated.as_secs_f64() / self.formula.as_secs_f64()
    }
}

/// Why nothing was simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimulationError {
    /// There is no `smpirun`; with what to do.
    NotInstalled(String),
    /// There can be no such scene.
    Scene(String),
    /// A file cannot be written, or `smpirun` has failed; with all that it says.
    Failed(String),
    /// It was [asked](Scene::simulate_unless) to stop.
    Stopped,
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled(text) | Self::Scene(text) | Self::Failed(text) => f.write_str(text),
            Self::Stopped => f.write_str("the simulation was stopped"),
        }
    }
}

impl std::error::Error for SimulationError {}

impl From<NetError> for SimulationError {
    fn from(error: NetError) -> Self {
        SimulationError::Scene(error.to_string())
    }
}

/// SimGrid's launcher.
///
/// # Errors
/// [`SimulationError::NotInstalled`] if it is not in the path.
pub fn launcher() -> Result<PathBuf, SimulationError> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join("smpirun")).find(|path| path.is_file());
    found.ok_or_else(|| {
        let text = "there is no `smpirun` of SimGrid; on Debian: apt-get install libsimgrid-dev";
        SimulationError::NotInstalled(text.to_owned())
    })
}

impl Scene {
    /// Ranks along each axis.
    ///
    /// # Errors
    /// [`SimulationError::Scene`] if there are none.
    pub fn grid(&self) -> Result<[usize; 3], SimulationError> {
        // As many places as ranks would be the most: any grid of them fits.
        fitting(self.ranks, [self.ranks; 3])
            .ok_or_else(|| SimulationError::Scene(format!("{} ranks have no grid", self.ranks)))
    }

    /// Refuses what cannot be computed with.
    fn check(&self) -> Result<(), SimulationError> {
        let is_number = |number: f64| number.is_finite() && number > 0.0;
        let is_well = is_number(self.cell_ns)
            && is_number(self.bytes_per_second)
            && is_number(self.kernel_ratio)
            && (1..=1 << 16).contains(&self.ranks)
            && (1..=1 << 12).contains(&self.cells)
            && (1..=1 << 10).contains(&self.iterations);
        let text =
            "up to 65536 ranks, 4096 cells and 1024 iterations, and times and rates above zero, are possible";
        if is_well { Ok(()) } else { Err(SimulationError::Scene(text.to_owned())) }
    }

    fn half(&self, rank: usize, grid: [usize; 3]) -> Result<Half, SimulationError> {
        let cart = Cart::of(rank, self.ranks, grid)?;
        let share = Share::new("u", &cart, grid.map(|ranks| ranks * self.cells))?;
        Ok(Half::of::<f64>(&share))
    }

    /// What an iteration takes by the formula.
    ///
    /// # Errors
    /// [`SimulationError::Scene`].
    pub fn formula(&self, model: SimulatedModel) -> Result<Duration, SimulationError> {
        self.check()?;
        let grid = self.grid()?;
        let mut longest = 0.0_f64;
        for rank in 0..self.ranks {
            longest = longest.max(self.half(rank, grid)?.formula(self, model));
        }
        Duration::try_from_secs_f64(2.0 * longest).map_err(|_| {
            SimulationError::Scene("an iteration would take longer than a time can be long".to_owned())
        })
    }

    /// Simulates a model, and says what the formula does of it. The schedules are written to a folder, which is made
    /// if it is not there.
    ///
    /// # Errors
    /// [`SimulationError`].
    pub fn simulate(&self, model: SimulatedModel, folder: &Path) -> Result<SimulatedTime, SimulationError> {
        self.simulate_unless(model, folder, &|| false)
    }

    /// The same, unless that is to be stopped, which is asked a hundred times a second: SimGrid is ended then, with all
    /// processes that it has started.
    ///
    /// # Errors
    /// [`SimulationError::Stopped`], and others.
    pub fn simulate_unless(
        &self,
        model: SimulatedModel,
        folder: &Path,
        is_to_stop: &dyn Fn() -> bool,
    ) -> Result<SimulatedTime, SimulationError> {
        let formula = self.formula(model)?;
        let launcher = launcher()?;
        let files = ReplayFiles::in_folder(folder);
        self.write(model, &files, is_to_stop)?;
        let all = self.network().replay(&launcher, (&files, self.overhead), is_to_stop)?;
        Ok(SimulatedTime { simulated: all / u32::try_from(self.iterations).expect("few"), formula })
    }

    /// The schedules of all ranks, the network, and who is where.
    fn write(
        &self,
        model: SimulatedModel,
        files: &ReplayFiles<'_>,
        is_to_stop: &dyn Fn() -> bool,
    ) -> Result<(), SimulationError> {
        let grid = self.grid()?;
        for rank in 0..self.ranks {
            if is_to_stop() {
                return Err(SimulationError::Stopped);
            }
            files.schedule(rank, &self.half(rank, grid)?.schedule(rank, self, model))?;
        }
        files.network(&self.network())
    }

    fn network(&self) -> ReplayNetwork {
        ReplayNetwork {
            hosts: self.ranks,
            processes: self.ranks,
            bytes_per_second: self.bytes_per_second,
            latency: self.latency,
        }
    }
}

//! Owns: `ReplayNetwork` and `ReplayFiles`: the network that SimGrid has, what it reads, and the time that it says.
//! May use: nothing.
//! Never: what is in a schedule.

use super::{SimulationError, launch};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A link for each host to a switch with room for all.
pub(super) struct ReplayNetwork {
    pub(super) hosts: usize,
    /// Processes go round the hosts: the first of each host, then the second.
    pub(super) processes: usize,
    pub(super) bytes_per_second: f64,
    pub(super) latency: Duration,
}

/// What SimGrid reads.
pub(super) struct ReplayFiles<'f> {
    folder: &'f Path,
}

impl<'f> ReplayFiles<'f> {
    /// In a folder, which is made if it is not there.
    pub(super) fn in_folder(folder: &'f Path) -> ReplayFiles<'f> {
        // If it cannot be made, the first file says so.
        let _there = fs::create_dir_all(folder);
        ReplayFiles { folder }
    }

    fn file(&self, name: &str, text: &str) -> Result<(), SimulationError> {
        let path = self.folder.join(name);
        let failed =
            |error| SimulationError::Failed(format!("`{}` cannot be written: {error}", path.display()));
        fs::write(&path, text).map_err(failed)
    }

    /// What a process does.
    pub(super) fn schedule(&self, process: usize, text: &str) -> Result<(), SimulationError> {
        self.file(&format!("rank-{process}"), text)
    }

    /// The network, and who is where.
    pub(super) fn network(&self, network: &ReplayNetwork) -> Result<(), SimulationError> {
        let (mut hosts, mut list) = (String::new(), String::new());
        for process in 0..network.processes {
            let _ = writeln!(hosts, "n{}", process % network.hosts);
            let _ = writeln!(list, "rank-{process}");
        }
        self.file("hosts", &hosts)?;
        self.file("schedules", &list)?;
        self.file("network.xml", &network.text())
    }
}

impl ReplayNetwork {
    /// A message goes over the links of both ends: each has half of the latency. Within a host it takes no time.
    fn text(&self) -> String {
        let (last, rate, half) =
            (self.hosts - 1, self.bytes_per_second, self.latency.as_secs_f64() * 1e6 / 2.0);
        let cores = self.processes / self.hosts;
        format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\">\n  <cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-{last}\" \
             speed=\"1Gf\" core=\"{cores}\" bw=\"{rate}Bps\" lat=\"{half}us\" sharing_policy=\"SPLITDUPLEX\" \
             loopback_bw=\"1e15Bps\" loopback_lat=\"0us\"/>\n</platform>\n"
        )
    }

    /// The time of all of it; each message that a process sends takes so long of it.
    pub(super) fn replay(
        &self,
        launcher: &Path,
        (files, overhead): (&ReplayFiles<'_>, Duration),
        is_to_stop: &dyn Fn() -> bool,
    ) -> Result<Duration, SimulationError> {
        let overhead = overhead.as_secs_f64();
        let mut command = Command::new(launcher);
        command.current_dir(files.folder).args(["-quiet", "-np", &self.processes.to_string()]);
        command.args(["-platform", "network.xml", "-hostfile", "hosts", "-replay", "schedules"]);
        // The link is as fast as it is said to be: no losses to headers, to acknowledgements, or to distance.
        command.args(["--cfg=network/model:CM02", "--cfg=network/bandwidth-factor:1"]);
        command.args(["--cfg=network/latency-factor:1", "--cfg=network/weight-S:0"]);
        command.args(["--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0"]);
        command.args([&format!("--cfg=smpi/ois:0:{overhead}:0"), "--cfg=contexts/stack-size:128"]);
        command.args(["--log=xbt_cfg.thresh:warning", "--log=smpi_config.thresh:warning"]);
        let failed = |what: String| SimulationError::Failed(format!("`{}` {what}", launcher.display()));
        let ended = launch::run(&mut command, is_to_stop);
        let ended = ended.map_err(|error| failed(format!("cannot be started: {error}")))?;
        let (status, said) = ended.ok_or(SimulationError::Stopped)?;
        let seconds = said.split("Simulation time ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let time = seconds.and_then(|text| Duration::try_from_secs_f64(text.parse().ok()?).ok());
        time.filter(|_| status.success())
            .ok_or_else(|| failed(format!("has failed ({status}): {}", said.trim())))
    }
}

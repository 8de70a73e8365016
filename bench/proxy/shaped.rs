//! Owns: `ShapedLink`: two network namespaces on this host, and between them a link of a given speed.
//! May use: the commands `ip` and `tc`.
//! Never: a namespace that stays.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use raddle_mpi::install::Flavour;

/// Namespaces, the link between them, and a script that starts programs in them.
pub struct ShapedLink {
    names: [String; 2],
    /// The two ends.
    devices: [String; 2],
    agent: PathBuf,
}

/// How often it is asked whether a device is up, and the time between.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

impl ShapedLink {
    /// A link of so many megabits a second, each way.
    pub fn new(megabits: f64) -> Result<ShapedLink, String> {
        let number = std::process::id();
        let names = ["a", "b"].map(|end| format!("raddle-{number}-{end}"));
        let agent = std::env::temp_dir().join(format!("raddle-proxy-{number}.sh"));
        // A device's name has at most 15 letters.
        let devices = ["a", "b"].map(|end| format!("rp{}{end}", number % 10_000_000));
        let link = ShapedLink { names, devices, agent };
        link.make(megabits).map_err(|why| format!("no rights for a shaped link: {why}"))?;
        Ok(link)
    }

    fn make(&self, megabits: f64) -> Result<(), String> {
        let [a, b] = &self.names;
        run(&["ip", "netns", "add", a])?;
        run(&["ip", "netns", "add", b])?;
        let [end_a, end_b] = &self.devices;
        run(&["ip", "link", "add", end_a, "netns", a, "type", "veth", "peer", "name", end_b, "netns", b])?;
        for ((name, end), address) in self.names.iter().zip(&self.devices).zip(ADDRESSES) {
            run(&["ip", "-n", name, "addr", "add", &format!("{address}/24"), "dev", end])?;
            run(&["ip", "-n", name, "link", "set", "lo", "up"])?;
            run(&["ip", "-n", name, "link", "set", end, "up"])?;
            let rate = format!("{megabits}mbit");
            let shape = ["tbf", "rate", &rate, "burst", "128kb", "latency", "50ms"];
            let words = ["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", end, "root"];
            run(&[&words[..], &shape[..]].concat())?;
            let reno = "net.ipv4.tcp_congestion_control=reno";
            run(&["ip", "netns", "exec", name, "sysctl", "-qw", reno])?;
        }
        self.names.iter().zip(&self.devices).try_for_each(|(name, end)| comes_up(name, end))?;
        // What mpirun calls instead of ssh: the host's address, and what is to be run there.
        let script = format!(
            "#!/bin/sh\nhost=$1; shift\ncase $host in {}) name={a};; {}) name={b};; *) exit 9;; esac\n\
             exec ip netns exec $name unshare -u sh -c \"hostname $name; $*\"\n",
            ADDRESSES[0], ADDRESSES[1]
        );
        fs::write(&self.agent, script).map_err(|error| error.to_string())?;
        run(&["chmod", "+x", &self.agent.display().to_string()]).map(drop)
    }

    /// The launcher of an MPI, with a rank at each end.
    pub fn command(&self, flavour: Flavour) -> Command {
        let [a, _] = &self.names;
        let (hosts, agent) = (ADDRESSES.join(","), self.agent.display().to_string());
        let mut command = Command::new("ip");
        let rename = format!("hostname {a}; exec \"$@\"");
        command.args(["netns", "exec", a, "unshare", "-u", "sh", "-c", &rename, "x"]);
        match flavour {
            Flavour::OpenMpi => {
                command.args([
                    "mpirun.openmpi",
                    "--allow-run-as-root",
                    "--bind-to",
                    "none",
                    "--host",
                    &hosts,
                ]);
                let options = [
                    ["plm", "rsh"],
                    ["plm_rsh_agent", &agent],
                    ["pml", "ob1"],
                    ["btl", "tcp,self"],
                    // With one connection, large messages both ways take turns.
                    ["btl_tcp_links", "2"],
                    ["btl_tcp_if_include", "10.77.0.0/24"],
                    ["oob_tcp_if_include", "10.77.0.0/24"],
                ];
                options.iter().for_each(|[name, value]| {
                    command.args(["--mca", name, value]);
                });
            }
            Flavour::Mpich => {
                command.env("UCX_TLS", "tcp,self").env("UCX_NET_DEVICES", "all");
                command.args([
                    "mpirun.mpich",
                    "-launcher",
                    "rsh",
                    "-launcher-exec",
                    &agent,
                    "-hosts",
                    &hosts,
                ]);
                command.args(["-iface", &self.devices[0], "-genvlist", "UCX_TLS,UCX_NET_DEVICES"]);
            }
        }
        command
    }
}

impl Drop for ShapedLink {
    fn drop(&mut self) {
        // With a namespace goes what is in it; one that was not made is not there.
        self.names.iter().for_each(|name| drop(run(&["ip", "netns", "del", name])));
        let _not_made = fs::remove_file(&self.agent);
    }
}

/// Waits until the kernel says of a device that it is up: UCX finds no way before.
fn comes_up(name: &str, device: &str) -> Result<(), String> {
    for _ in 0..LOOKS {
        if run(&["ip", "-n", name, "-o", "link", "show", device])?.contains("state UP") {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Err(format!("{device} does not come up"))
}

fn run(words: &[&str]) -> Result<String, String> {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.map_err(|error| format!("`{}`: {error}", words.join(" ")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{}`: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

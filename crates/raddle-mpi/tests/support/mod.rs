//! Owns: `Job`: this test program, started by `mpirun`, watched to its end.
//! May use: `raddle-mpi`.
//! Never: a process that is left behind.
#![allow(clippy::print_stdout, reason = "who asks for these tests is told why they do nothing")]

use raddle_mpi::install::{Flavour, build_with, compilers};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// After so long a job hangs.
const WATCH: Duration = Duration::from_secs(300);

static COUNT: AtomicU32 = AtomicU32::new(0);
/// The shims that are built, once each.
static BUILT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Under each MPI that is here; says why if nothing is done.
pub(crate) fn each_mpi(test: impl Fn(Flavour)) {
    if env::var_os("TEST_MPI").is_none() {
        println!("not run: `cargo xtask test mpi` does");
        return;
    }
    let found = compilers();
    assert_eq!(found.len(), Flavour::ALL.len(), "TEST_MPI is set, and not every MPI is here: {found:?}");
    found.into_iter().for_each(|(_, flavour)| test(flavour));
}

/// Two ranks of this program.
pub(crate) struct Job {
    mpi: Flavour,
    command: Command,
    mark: String,
}

/// How a job ended.
pub(crate) struct Ended {
    status: ExitStatus,
    said: String,
}

impl Job {
    /// Two ranks of this test program, whose test `as_a_rank` is to do what `case` names.
    #[allow(dead_code, reason = "not every program that shares this starts itself")]
    pub(crate) fn new(mpi: Flavour, case: &str) -> Job {
        Job::ranks(mpi, 2, case)
    }

    /// The same, of so many ranks.
    #[allow(dead_code, reason = "as below")]
    pub(crate) fn ranks(mpi: Flavour, ranks: usize, case: &str) -> Job {
        let program = env::current_exe().expect("its path");
        let line = ["--exact", "as_a_rank", "--nocapture", "--test-threads", "1"];
        Job::of(mpi, ranks, program, &line).with("TEST_MPI_CASE", case)
    }

    /// So many ranks of a program.
    pub(crate) fn of(mpi: Flavour, ranks: usize, program: impl AsRef<OsStr>, line: &[&str]) -> Job {
        let mut command = Command::new(format!("mpirun.{}", mpi.name()));
        if mpi == Flavour::OpenMpi {
            command.args(["--oversubscribe", "--bind-to", "none"]);
        }
        command.args(["-np", &ranks.to_string()]).arg(program.as_ref()).args(line);
        Job::by(mpi, command)
    }

    /// A program that starts ranks itself.
    #[allow(dead_code, reason = "as below")]
    pub(crate) fn alone(mpi: Flavour, program: impl AsRef<OsStr>, line: &[&str]) -> Job {
        let mut command = Command::new(program);
        command.args(line);
        Job::by(mpi, command).with("MPI_SHIM", mpi.name())
    }

    fn by(mpi: Flavour, mut command: Command) -> Job {
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        if mpi == Flavour::OpenMpi {
            // All ranks are on one core, where need be; a container refuses to copy between processes.
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command
                .env("OMPI_MCA_mpi_yield_when_idle", "1")
                .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
            // All jobs of a user have one folder, which the last removes: one that begins then finds it gone.
            fs::create_dir_all(own_folder(&mark)).expect("a folder for the job");
            command.env("OMPI_MCA_orte_tmpdir_base", own_folder(&mark));
        }
        command.env("TEST_MPI_MARK", &mark).env_remove("MPI_SHIM");
        Job { mpi, command, mark }.with_shim("plain", &[])
    }

    /// With a variable in its environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Job {
        self.command.env(name, value);
        self
    }

    /// With a shim that was compiled with these options.
    pub(crate) fn with_shim(mut self, name: &str, options: &[&str]) -> Job {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("shims").join(name);
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if built.insert(folder.join(self.mpi.name())) {
            let mpicc = PathBuf::from(format!("mpicc.{}", self.mpi.name()));
            build_with(&folder, &mpicc, options).expect("the shim is built");
        }
        drop(built);
        self.command.env("MPI_SHIM_DIR", folder);
        self
    }

    /// Asked to use the MPI that is not `mpirun`'s.
    #[allow(dead_code, reason = "as above")]
    pub(crate) fn with_the_other(mut self) -> Job {
        let other = Flavour::ALL.into_iter().find(|flavour| *flavour != self.mpi).expect("there are two");
        self.command.env("MPI_SHIM", other.name());
        self
    }

    /// Runs it to its end, and sees to it that nothing of it is left.
    pub(crate) fn run(self) -> Ended {
        self.run_with(|_| ())
    }

    /// The same; meanwhile somebody else does something to it.
    pub(crate) fn run_with(mut self, meddles: impl FnOnce(&Running) + Send) -> Ended {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        self.command.stdin(Stdio::null()).stdout(writer.try_clone().expect("the pipe")).stderr(writer);
        let mut child = self.command.spawn().expect("mpirun starts");
        // Its ends of the pipe.
        drop(self.command);
        let launcher = child.id();
        let (told, status) = mpsc::channel();
        std::thread::spawn(move || told.send(child.wait().expect("a status")));
        let (told, said) = mpsc::channel();
        let running = Running { mark: self.mark.clone(), launcher, said: Arc::default() };
        let all = running.said.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                all.lock().unwrap_or_else(PoisonError::into_inner).extend(&bytes[..count]);
            }
            told.send(
                String::from_utf8_lossy(&all.lock().unwrap_or_else(PoisonError::into_inner)).into_owned(),
            )
        });
        meddles(&running);
        let ended = status.recv_timeout(WATCH);
        // The pipe is closed when nobody has it any more, no rank either.
        let closed =
            if ended.is_ok() { said.recv_timeout(WATCH) } else { Err(mpsc::RecvTimeoutError::Timeout) };
        let left = wait_for_none(&self.mark, ended.is_ok() && closed.is_ok());
        // There is none where the MPI is another one.
        let _none = fs::remove_dir_all(own_folder(&self.mark));
        let said = closed.or_else(|_| said.recv_timeout(WATCH)).unwrap_or_default();
        let status = ended.unwrap_or_else(|_| panic!("the job hangs, and said:\n{said}"));
        assert!(left.is_empty(), "left behind: {left:?}; the job said:\n{said}");
        Ended { status, said }
    }
}

/// Where a job of Open MPI has its files. The paths of its sockets must stay short.
fn own_folder(mark: &str) -> PathBuf {
    env::temp_dir().join(format!("raddle-{mark}"))
}

/// The job's processes that are still there after a while, now killed; without the while if the job hangs.
fn wait_for_none(mark: &str, patiently: bool) -> Vec<String> {
    let until = Instant::now() + if patiently { WATCH } else { Duration::ZERO };
    loop {
        let left = left(mark);
        if left.is_empty() || Instant::now() >= until {
            for process in &left {
                let _gone = Command::new("kill").args(["-KILL", process]).status();
            }
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The processes that have this mark in their environment and are no zombies.
fn left(mark: &str) -> Vec<String> {
    let entry = format!("TEST_MPI_MARK={mark}\0");
    let folders = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let has = |folder: &fs::DirEntry| {
        let environment = fs::read(folder.path().join("environ")).unwrap_or_default();
        environment.windows(entry.len()).any(|at| at == entry.as_bytes())
    };
    folders.filter(has).map(|folder| folder.file_name().to_string_lossy().into_owned()).collect()
}

/// A job that goes on.
pub(crate) struct Running {
    mark: String,
    launcher: u32,
    said: Arc<Mutex<Vec<u8>>>,
}

#[allow(dead_code, reason = "as above")]
impl Running {
    /// Waits until it has said that.
    pub(crate) fn wait_for(&self, text: &str) {
        // One that ends before is told by what it has said.
        let until = Instant::now() + WATCH / 5;
        let has = || {
            let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.windows(text.len()).any(|at| at == text.as_bytes())
        };
        while !has() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal to the process of a rank.
    pub(crate) fn signal_rank(&self, rank: usize, signal: &str) {
        let named = [format!("OMPI_COMM_WORLD_RANK={rank}\0"), format!("PMI_RANK={rank}\0")];
        let is_it = |process: &&String| {
            let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            named.iter().any(|entry| environment.windows(entry.len()).any(|at| at == entry.as_bytes()))
        };
        let process = left(&self.mark).iter().find(is_it).cloned().expect("the rank goes on");
        send(&process, signal);
    }

    /// Sends a signal to the program that has started the ranks.
    pub(crate) fn signal_launcher(&self, signal: &str) {
        send(&self.launcher.to_string(), signal);
    }
}

#[allow(dead_code, reason = "as above")]
fn send(process: &str, signal: &str) {
    let sent = Command::new("kill").args([signal, process]).status().expect("`kill` is there");
    assert!(sent.success(), "{signal} to {process}");
}

impl Ended {
    pub(crate) fn expect_well(&self) {
        assert!(self.status.success(), "{}:\n{}", self.status, self.said);
    }

    pub(crate) fn expect_ill(&self) {
        assert!(!self.status.success(), "{}:\n{}", self.status, self.said);
    }

    #[allow(dead_code, reason = "as above")]
    pub(crate) fn expect_not(&self, text: &str) {
        assert!(!self.said.contains(text), "`{text}` is in:\n{}", self.said);
    }

    /// Nothing but that.
    #[allow(dead_code, reason = "as above")]
    pub(crate) fn expect_all(&self, text: &str) {
        assert_eq!(self.said, text);
    }

    #[allow(dead_code, reason = "as above")]
    pub(crate) fn expect(&self, text: &str) {
        assert!(self.said.contains(text), "`{text}` is not in:\n{}", self.said);
    }

    /// The first line that has this text, from there on.
    #[allow(dead_code, reason = "as above")]
    pub(crate) fn line(&self, text: &str) -> String {
        let line = self.said.lines().find_map(|line| line.find(text).map(|at| line[at..].to_owned()));
        line.unwrap_or_else(|| panic!("`{text}` is not in:\n{}", self.said))
    }
    /// All lines that have this text.
    #[allow(dead_code, reason = "as above")]
    pub(crate) fn lines(&self, text: &str) -> Vec<&str> {
        self.said.lines().filter(|line| line.contains(text)).collect()
    }
}

// Owns: where the shim is, how it is built, and which one a program needs.
// May use: `error`.
// Never: guessing between two MPIs that are both possible.

//! The shim: the library of some 150 lines through which MPI is called, compiled by the user's own `mpicc`.
//!
//! It lies in the folder [`folder`], one for each MPI: `libraddle_mpi_openmpi.so`, `libraddle_mpi_mpich.so`. Which is
//! chosen by `MPI_SHIM` and `MPI_SHIM_DIR`; names that begin with `RADDLE_` are of the runtime's settings.

use crate::error::NetError;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const SOURCE: &str = include_str!("shim.c");
const PROBE: &str = "#include <mpi.h>\n#if defined(OPEN_MPI)\nraddle_flavour openmpi\n\
                     #elif defined(MPICH_VERSION)\nraddle_flavour mpich\n#endif\n";

/// The MPIs whose shims are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and what is built on it.
    Mpich,
}

impl Flavour {
    /// All of them.
    pub const ALL: [Flavour; 2] = [Flavour::OpenMpi, Flavour::Mpich];

    /// As `MPI_SHIM` and the shim's file name it.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::OpenMpi => "openmpi",
            Flavour::Mpich => "mpich",
        }
    }

    fn named(name: &OsStr) -> Option<Flavour> {
        Flavour::ALL.into_iter().find(|flavour| OsStr::new(flavour.name()) == name)
    }

    /// Which one the caller was started by; none if by no launcher, or by one that starts either.
    pub fn of_launcher() -> Option<Flavour> {
        if env::var_os("OMPI_COMM_WORLD_SIZE").is_some() {
            Some(Flavour::OpenMpi)
        } else if env::var_os("PMI_SIZE").is_some() && env::var_os("SLURM_PROCID").is_none() {
            Some(Flavour::Mpich)
        } else {
            None
        }
    }

    /// Where its shim is, or would be.
    pub fn shim(self) -> PathBuf {
        folder().join(self.file())
    }

    fn file(self) -> String {
        format!("libraddle_mpi_{}.so", self.name())
    }
}

/// Where shims are: `MPI_SHIM_DIR`, or `raddle/mpi` in the user's cache.
pub fn folder() -> PathBuf {
    if let Some(folder) = env::var_os("MPI_SHIM_DIR") {
        return folder.into();
    }
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("raddle").join("mpi")
}

/// The compilers of MPI that are found: `MPICC`, and those with the usual names in the path, each MPI once.
pub fn compilers() -> Vec<(PathBuf, Flavour)> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let in_path = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let named = env::var_os("MPICC").map(PathBuf::from);
    let candidates =
        named.into_iter().chain(["mpicc", "mpicc.openmpi", "mpicc.mpich"].into_iter().filter_map(in_path));
    let mut found: Vec<(PathBuf, Flavour)> = Vec::new();
    for path in candidates {
        if let Ok(flavour) = flavour(&path)
            && found.iter().all(|(_, other)| *other != flavour)
        {
            found.push((path, flavour));
        }
    }
    found
}

/// Which MPI a compiler is for.
///
/// # Errors
/// [`NetError::NotInstalled`] if it does not run, or is for neither.
pub fn flavour(mpicc: &Path) -> Result<Flavour, NetError> {
    let not = |why: String| NetError::NotInstalled(format!("`{}` {why}", mpicc.display()));
    // A file, since Open MPI's compiler finds no headers for what comes in a pipe.
    let source = env::temp_dir().join(format!("raddle-mpi-{}.c", unique()));
    fs::write(&source, PROBE).map_err(|error| not(format!("is not asked: {}: {error}", source.display())))?;
    let output = Command::new(mpicc).arg("-E").arg(&source).stdin(Stdio::null()).output();
    let _left_over = fs::remove_file(&source);
    let output = output.map_err(|error| not(format!("cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(not(format!("fails: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let name = text.lines().find_map(|line| line.strip_prefix("raddle_flavour "));
    name.and_then(|name| Flavour::named(OsStr::new(name.trim())))
        .ok_or_else(|| not("is for neither Open MPI nor MPICH".to_owned()))
}

/// Builds the shim with a compiler; returns where it is.
///
/// # Errors
/// [`NetError::NotInstalled`] with what the compiler says, or why a file cannot be written.
pub fn build(mpicc: &Path) -> Result<PathBuf, NetError> {
    build_with(&folder(), mpicc, &[])
}

/// As [`build`], in another folder, with options for the compiler.
///
/// # Errors
/// As [`build`].
#[doc(hidden)]
pub fn build_with(folder: &Path, mpicc: &Path, options: &[&str]) -> Result<PathBuf, NetError> {
    let library = folder.join(flavour(mpicc)?.file());
    let unwritten =
        |error| NetError::NotInstalled(format!("`{}` cannot be written: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(unwritten)?;
    // Under names of its own, so that two builds at a time do not meet, and nobody loads half a library.
    let (source, built) = (folder.join(format!("{}.c", unique())), library.with_extension(unique()));
    fs::write(&source, SOURCE).map_err(unwritten)?;
    let mut command = Command::new(mpicc);
    command.args(["-std=c11", "-O2", "-shared", "-fPIC"]).args(options).arg("-o").arg(&built).arg(&source);
    let output = command.output();
    let _left_over = fs::remove_file(&source);
    let output = output.map_err(|error| NetError::NotInstalled(format!("`{}`: {error}", mpicc.display())))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(NetError::NotInstalled(format!("`{}` cannot compile the shim: {said}", mpicc.display())));
    }
    fs::rename(&built, &library).map_err(unwritten)?;
    Ok(library)
}

/// A name that nobody else has at the time.
fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Which shim the caller needs: `MPI_SHIM`, else the launcher's, else the only one there is.
///
/// # Errors
/// [`NetError::WrongLibrary`] if the launcher is of another MPI than `MPI_SHIM` says or it cannot be known which is
/// meant; [`NetError::NotInstalled`] if there is none.
pub fn choose() -> Result<(Flavour, PathBuf), NetError> {
    let built: Vec<Flavour> = Flavour::ALL.into_iter().filter(|flavour| flavour.shim().is_file()).collect();
    let flavour = decide(env::var_os("MPI_SHIM").as_deref(), Flavour::of_launcher(), &built)?;
    let path = flavour.shim();
    if !path.is_file() {
        let text = format!("there is no `{}`; build it: raddle mpi build", path.display());
        return Err(NetError::NotInstalled(text));
    }
    Ok((flavour, path))
}

fn decide(wanted: Option<&OsStr>, launcher: Option<Flavour>, built: &[Flavour]) -> Result<Flavour, NetError> {
    let wanted = wanted.map(|name| {
        Flavour::named(name).ok_or_else(|| {
            NetError::Misuse(format!("MPI_SHIM is `{}`, not openmpi or mpich", name.to_string_lossy()))
        })
    });
    match (wanted.transpose()?, launcher, built) {
        (Some(wanted), Some(launcher), _) if wanted != launcher => Err(NetError::WrongLibrary(format!(
            "MPI_SHIM asks for {}, but this program was started by the mpirun of {}",
            wanted.name(),
            launcher.name()
        ))),
        (Some(flavour), ..) | (None, Some(flavour), _) => Ok(flavour),
        (None, None, [flavour]) => Ok(*flavour),
        (None, None, []) => {
            let text =
                "no shim of an MPI is built; `raddle mpi info` says what is there, `raddle mpi build` builds";
            Err(NetError::NotInstalled(text.to_owned()))
        }
        (None, None, _) => {
            let text = "shims of two MPIs are here, and the launcher does not say which is its own: set MPI_SHIM \
                        to openmpi or mpich";
            Err(NetError::WrongLibrary(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(
        wanted: Option<&str>,
        launcher: Option<Flavour>,
        built: &[Flavour],
    ) -> Result<Flavour, NetError> {
        decide(wanted.map(OsStr::new), launcher, built)
    }

    #[test]
    fn the_launcher_decides_and_must_not_be_contradicted() {
        let (open, mpich) = (Flavour::OpenMpi, Flavour::Mpich);
        assert_eq!(asked(None, Some(mpich), &[open]), Ok(mpich));
        assert_eq!(asked(Some("mpich"), None, &[open, mpich]), Ok(mpich));
        assert_eq!(asked(None, None, &[open]), Ok(open));
        assert!(matches!(asked(Some("mpich"), Some(open), &[mpich]), Err(NetError::WrongLibrary(_))));
        assert!(matches!(asked(None, None, &[open, mpich]), Err(NetError::WrongLibrary(_))));
        assert!(matches!(asked(None, None, &[]), Err(NetError::NotInstalled(_))));
        assert!(matches!(asked(Some("lam"), None, &[]), Err(NetError::Misuse(_))));
    }
}

//! Owns: STAMP's vacation, genome and intruder, with gcc's transactions: what they say of their own result.
//! May use: `anyhow`.
//! Never: keeps a line of STAMP in this repository.
//!
//! Each is compiled by gcc from the user's checkout, and run on 1 to 16 threads, with libitm and with Raddle's library.
//! They verify themselves: vacation by assertions over its tables, genome by comparing what it has put together,
//! intruder by counting what it has found. An assertion inside of a transaction is called pure, as it ends the program.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// A program: its folder, its arguments before the number of threads, and how that is asked for.
struct Stamp {
    name: &'static str,
    arguments: &'static [&'static str],
    threads: &'static str,
    /// Whether it says that its result is right.
    is_right: fn(&str) -> bool,
}

const ALL: &[Stamp] = &[
    Stamp {
        name: "vacation",
        arguments: &["-n2", "-q90", "-u98", "-r16384", "-t20000"],
        threads: "-c",
        is_right: |said| said.contains("Checking tables... done."),
    },
    Stamp {
        name: "genome",
        arguments: &["-g256", "-s16", "-n16384"],
        threads: "-t",
        is_right: |said| said.contains("Sequence matches gene: yes"),
    },
    Stamp {
        name: "intruder",
        arguments: &["-a10", "-l16", "-n4096"],
        threads: "-t",
        is_right: |said| number(said, "Num found").is_some_and(|n| Some(n) == number(said, "Num attack")),
    },
];

/// As STAMP's own makefiles have it for `-fgnu-tm`.
const OPTIONS: &[&str] = &[
    "-O2",
    "-fgnu-tm",
    "-pthread",
    "-w",
    "-DITM",
    "-DORIGINAL",
    "-DLIST_NO_DUPLICATES",
    "-DMAP_USE_RBTREE",
    "-DCHUNK_STEP1=12",
    "-DOUTPUT_VERIFY",
];

/// Of the checkout's folder `lib`, what the three programs want.
const LIBRARY: &[&str] = &[
    "bitmap",
    "hash",
    "hashtable",
    "list",
    "mt19937ar",
    "pair",
    "queue",
    "random",
    "rbtree",
    "thread",
    "vector",
];

/// Without it gcc refuses an assertion inside of a transaction.
const PURE: &str = "__attribute__((transaction_pure, noreturn)) extern void __assert_fail(const char *, const char *, \
                    unsigned, const char *);\n";

const THREADS: &[u32] = &[1, 2, 4, 16];

/// The table, and whether each run with Raddle's library is right.
pub(super) fn table(checkout: &Path, library: &Path) -> anyhow::Result<(String, bool)> {
    let scratch = std::env::temp_dir().join(format!("raddle-stamp-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("could not make {}", scratch.display()))?;
    fs::write(scratch.join("pure.h"), PURE).context("could not write a header")?;
    let (mut text, mut good) = (String::new(), true);
    for stamp in ALL {
        let binary = compile(stamp, checkout, &scratch)?;
        for (with, library) in [("libitm", None), ("Raddle", Some(library))] {
            let right = THREADS.iter().filter(|threads| runs(stamp, **threads, &binary, library)).count();
            let all = THREADS.len();
            let _ = writeln!(text, "{} with {with}: {right} of {all} runs are right", stamp.name);
            good &= library.is_none() || right == all;
        }
    }
    // Nobody needs it any more.
    let _ = fs::remove_dir_all(&scratch);
    Ok((text, good))
}

fn compile(stamp: &Stamp, checkout: &Path, scratch: &Path) -> anyhow::Result<PathBuf> {
    let (folder, lib, binary) = (checkout.join(stamp.name), checkout.join("lib"), scratch.join(stamp.name));
    let sources = super::files(&folder, |name| name.ends_with(".c"))?;
    let libraries = LIBRARY.iter().map(|name| lib.join(name).with_extension("c"));
    let mut command = Command::new("gcc");
    command.args(OPTIONS).arg("-include").arg(scratch.join("pure.h")).arg("-I").arg(&lib);
    command.arg("-o").arg(&binary).args(sources).args(libraries).arg("-lm");
    let status = command.status().context("could not start `gcc`")?;
    ensure!(status.success(), "STAMP's {} could not be compiled", stamp.name);
    Ok(binary)
}

/// Whether it ends within two minutes and says that its result is right.
fn runs(stamp: &Stamp, threads: u32, binary: &Path, library: Option<&Path>) -> bool {
    let mut command = Command::new("timeout");
    command.arg("120").arg("env");
    if let Some(library) = library {
        command.arg(format!("LD_PRELOAD={}", library.display()));
    }
    command.arg(binary).args(stamp.arguments).arg(format!("{}{threads}", stamp.threads));
    let ran = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    ran.is_ok_and(|ran| ran.status.success() && (stamp.is_right)(&String::from_utf8_lossy(&ran.stdout)))
}

/// The number in the line that begins with these words.
fn number(said: &str, words: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.starts_with(words))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn what_intruder_says_is_read() {
    let intruder = &ALL[2];
    assert!((intruder.is_right)("Num attack      = 412\nNum found       = 412\n"));
    assert!(!(intruder.is_right)("Num attack      = 412\nNum found       = 411\n"));
    assert!(!(intruder.is_right)("Num attack      = 412\n"));
}

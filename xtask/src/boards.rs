//! Owns: the images that `raddle flash` puts programs behind: the machine, built for each board.
//! May use: `house`, `report`, `anyhow`, `clap`.
//! Never: what an image does; that is in `boards/`.
//!
//! Images are made by Debian's compiler, which has the source of the library `core`. Cargo runs as a program. Each
//! target has a folder, whose images share the library; the targets are built side by side, since most of a build
//! waits for one crate after the other.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs, thread};

use anyhow::{Context as _, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::{house, report};

/// `cargo xtask boards`.
#[derive(clap::Args)]
pub(crate) struct BoardsArgs {
    /// The folder that gets them; by default `raddle-boards` beside the `raddle` of a release build
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Beside the `raddle` of a debug build
    #[arg(long)]
    debug: bool,
    /// Which; all, if none is named
    #[arg(value_name = "IMAGE", value_parser = names())]
    images: Vec<String>,
}

/// An image: its name, for which target it is built, and what of the crate in `boards/` it has.
struct Image {
    name: &'static str,
    target: &'static str,
    features: &'static str,
}

/// A Cortex-M0 has the small machine, and brief reports. Beside each image, one for programs that compute with reals.
const IMAGES: &[Image] = &[
    Image { name: "microbit", target: "thumbv6m-none-eabi", features: "microbit" },
    Image { name: "microbit-reals", target: "thumbv6m-none-eabi", features: "microbit,reals" },
    Image { name: "lm3s6965evb", target: "thumbv7m-none-eabi", features: "lm3s6965evb,report,large" },
    Image {
        name: "lm3s6965evb-reals",
        target: "thumbv7m-none-eabi",
        features: "lm3s6965evb,report,large,reals",
    },
    Image { name: "sifive_e", target: "riscv32imac-unknown-none-elf", features: "sifive_e,report,large" },
    Image {
        name: "sifive_e-reals",
        target: "riscv32imac-unknown-none-elf",
        features: "sifive_e,report,large,reals",
    },
];

/// A panic is an instruction that faults: what it would say is not in the image.
const FLAGS: &str = "-Clinker=ld.lld -Clinker-flavor=ld.lld -Zunstable-options -Cpanic=immediate-abort";

/// For a Cortex-M0, whose image must be small: arms of the loop of instructions that end alike end in the same place.
/// That is a kilobyte.
const SMALL: &str = " -Cllvm-args=-tail-merge-size=1 -Cllvm-args=-tail-merge-threshold=2000";

fn names() -> PossibleValuesParser {
    IMAGES.iter().map(|image| PossibleValue::new(image.name)).collect::<Vec<_>>().into()
}

/// Builds them.
pub(crate) fn run(args: &BoardsArgs) -> anyhow::Result<ExitCode> {
    let folder = args.output.clone().unwrap_or_else(|| {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        target.join(if args.debug { "debug" } else { "release" }).join("raddle-boards")
    });
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let wanted = |image: &&Image| args.images.is_empty() || args.images.iter().any(|it| it == image.name);
    let mut targets: Vec<(&str, Vec<&Image>)> = Vec::new();
    for image in IMAGES.iter().filter(wanted) {
        match targets.iter_mut().find(|(target, _)| *target == image.target) {
            Some((_, images)) => images.push(image),
            None => targets.push((image.target, vec![image])),
        }
    }
    thread::scope(|scope| {
        let all =
            |images: Vec<&'static Image>| images.into_iter().try_for_each(|image| write(image, &folder));
        let threads: Vec<_> =
            targets.into_iter().map(|(_, images)| scope.spawn(move || all(images))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a build panics nowhere"))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn write(image: &Image, folder: &Path) -> anyhow::Result<()> {
    let bytes = built(image)?;
    let place = folder.join(format!("{}.img", image.name));
    fs::write(&place, &bytes).with_context(|| format!("could not write {}", place.display()))?;
    report::say(&format!("boards: {} has {} bytes\n", image.name, bytes.len()));
    Ok(())
}

fn built(image: &Image) -> anyhow::Result<Vec<u8>> {
    let build =
        ["build", "--release", "--quiet", "-Zbuild-std=core,alloc", "--manifest-path", "boards/Cargo.toml"];
    let mut cargo = Command::new("/usr/bin/cargo");
    let folder = format!("target/boards/{}", image.target);
    cargo.args(build).args(["--target-dir", &folder, "--target", image.target]);
    cargo.args(["--features", image.features]);
    let small = if image.target.starts_with("thumbv6m") { SMALL } else { "" };
    cargo
        .env("RUSTC", "/usr/bin/rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", format!("{FLAGS}{small}"));
    cargo.env("RUSTC_WRAPPER", "");
    // Cargo, which runs this, has set variables for its own toolchain.
    let of_cargo = |name: &str| {
        name == "CARGO" || name == "RUSTUP_TOOLCHAIN" || name.starts_with("CARGO_PROFILE_RELEASE")
    };
    for (name, _) in env::vars().filter(|(name, _)| of_cargo(name)) {
        cargo.env_remove(name);
    }
    let installs = "`cargo xtask setup` installs what that needs";
    let status = cargo.stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("could not start /usr/bin/cargo; {installs}"))?;
    if !status.success() {
        bail!("the image could not be built ({status}); {installs}");
    }
    let place = format!("{folder}/{}/release/raddle-board", image.target);
    let bytes = fs::read(house::root().join(&place)).with_context(|| place)?;
    ensure!(bytes.len() % 16 == 0, "the image ends at {}, where it does not look for a program", bytes.len());
    Ok(bytes)
}

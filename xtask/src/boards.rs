//! Owns: the images that `raddle flash` puts programs behind: the machine, built for each board.
//! May use: `house`, `report`, `anyhow`, `clap`.
//! Never: what an image does; that is in `boards/`.
//!
//! Images are made by Debian's compiler, which has the source of the library `core`. Cargo runs as a program. One
//! folder has the builds of all, which share the library where they share the target.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

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
    for image in IMAGES.iter().filter(wanted) {
        let bytes = built(image)?;
        let place = folder.join(format!("{}.img", image.name));
        fs::write(&place, &bytes).with_context(|| format!("could not write {}", place.display()))?;
        report::say(&format!("boards: {} has {} bytes\n", image.name, bytes.len()));
    }
    Ok(ExitCode::SUCCESS)
}

fn built(image: &Image) -> anyhow::Result<Vec<u8>> {
    let build =
        ["build", "--release", "--quiet", "-Zbuild-std=core,alloc", "--manifest-path", "boards/Cargo.toml"];
    let mut cargo = Command::new("/usr/bin/cargo");
    cargo.args(build).args(["--target-dir", "target/boards", "--target", image.target]);
    cargo.args(["--features", image.features]);
    cargo.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
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
    let place = format!("target/boards/{}/release/raddle-board", image.target);
    let bytes = fs::read(house::root().join(&place)).with_context(|| place)?;
    ensure!(bytes.len() % 16 == 0, "the image ends at {}, where it does not look for a program", bytes.len());
    Ok(bytes)
}

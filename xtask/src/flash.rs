//! Owns: bytecode as firmware: the machine's image for a board with a program behind it, and qemu that runs it.
//! May use: `house`, `report`, `anyhow`, `clap`.
//! Never: what the image does; that is in `boards/`.
//!
//! Images are made by Debian's compiler, which has the source of the library `core`. Cargo and qemu run as programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;

use crate::{house, report};

/// `cargo xtask flash`.
#[derive(clap::Args)]
pub(crate) struct FlashArgs {
    /// The board
    #[arg(long, value_enum)]
    board: Board,
    /// Start it in qemu, with this terminal as its serial line; ends with what the program ends with
    #[arg(long)]
    run: bool,
    /// The firmware: what is to be written to the board's flash, from its first byte on
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Bytecode, as `raddle build` writes it
    #[arg(value_name = "PROGRAM.rbc")]
    program: PathBuf,
}

/// The boards that there are images for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Board {
    /// A Cortex-M3 with 256 KiB of flash and 64 KiB of memory
    Lm3s6965evb,
}

impl Board {
    fn name(self) -> &'static str {
        match self {
            Board::Lm3s6965evb => "lm3s6965evb",
        }
    }

    fn target(self) -> &'static str {
        match self {
            Board::Lm3s6965evb => "thumbv7m-none-eabi",
        }
    }

    /// What the flash holds.
    fn flash_bytes(self) -> usize {
        match self {
            Board::Lm3s6965evb => 256 << 10,
        }
    }

    fn qemu(self) -> (&'static str, &'static [&'static str]) {
        const SEMIHOSTING: &str = "enable=on,target=native";
        match self {
            Board::Lm3s6965evb => {
                ("qemu-system-arm", &["-M", "lm3s6965evb", "-semihosting-config", SEMIHOSTING, "-kernel"])
            }
        }
    }
}

/// Marks a program behind an image.
const MARK: &[u8; 4] = b"RDLF";

/// Makes the firmware, and runs it if that is asked for.
pub(crate) fn run(args: &FlashArgs) -> anyhow::Result<ExitCode> {
    let program = fs::read(&args.program).with_context(|| args.program.display().to_string())?;
    ensure!(program.starts_with(b"RDLB"), "`{}` is no bytecode", args.program.display());
    let image = image(args.board)?;
    let firmware = behind(&image, &program);
    let (bytes, room) = (firmware.len(), args.board.flash_bytes());
    report::say(&format!(
        "flash: {} for the machine, {} for the program, of {room}\n",
        image.len(),
        bytes - image.len()
    ));
    ensure!(bytes <= room, "the board's flash holds {room} bytes, and these are {bytes}");
    let default = || house::root().join(format!("target/boards/{}.bin", args.board.name()));
    let output = args.output.clone().unwrap_or_else(default);
    fs::write(&output, &firmware).with_context(|| format!("could not write {}", output.display()))?;
    if args.run { start(args.board, &output) } else { Ok(ExitCode::SUCCESS) }
}

/// The program behind the image, where this looks for it.
fn behind(image: &[u8], program: &[u8]) -> Vec<u8> {
    let length = (program.len() as u32).to_le_bytes();
    [image, MARK, &length, program].concat()
}

/// The machine for a board, as it lies in flash.
fn image(board: Board) -> anyhow::Result<Vec<u8>> {
    let build =
        ["build", "--release", "--quiet", "-Zbuild-std=core,alloc", "--manifest-path", "boards/Cargo.toml"];
    let mut cargo = Command::new("/usr/bin/cargo");
    cargo.args(build).args(["--target-dir", "target/boards", "--target", board.target()]);
    let flags = format!(
        "-Clinker=ld.lld -Clinker-flavor=ld.lld -Clink-arg=-T{} -Clink-arg=--oformat=binary",
        house::root().join(format!("boards/{}.ld", board.name())).display()
    );
    cargo.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
    cargo.env("RUSTC_WRAPPER", "").env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    cargo.env_remove("CARGO_PROFILE_RELEASE_OPT_LEVEL");
    let status = cargo.stdin(Stdio::null()).status().context("could not start /usr/bin/cargo")?;
    if !status.success() {
        bail!("the image could not be built ({status}); `cargo xtask setup` installs what that needs");
    }
    let place = format!("target/boards/{}/release/raddle-board", board.target());
    let image = fs::read(house::root().join(&place)).with_context(|| place)?;
    ensure!(image.len() % 16 == 0, "the image ends at {}, where it does not look for a program", image.len());
    Ok(image)
}

fn start(board: Board, firmware: &Path) -> anyhow::Result<ExitCode> {
    let (qemu, options) = board.qemu();
    let mut command = Command::new(qemu);
    command.args(["-display", "none", "-monitor", "none", "-serial", "stdio"]).args(options).arg(firmware);
    let status = command.status().with_context(|| format!("could not start {qemu}"))?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}

#[test]
fn a_program_lies_behind_the_image_with_a_mark_and_its_length() {
    assert_eq!(behind(b"image", b"abc"), b"imageRDLF\x03\0\0\0abc");
}

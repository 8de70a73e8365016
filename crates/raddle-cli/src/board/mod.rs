//! Owns: `raddle flash`: bytecode as the firmware of a board, and qemu that runs it; `raddle build --ram`.
//! May use: `check::files`, `occam`, `refusal`, `clap`, `raddle-bytecode`.
//! Never: what an image does; that is in `boards/`, and `cargo xtask boards` builds it.
//!
//! A firmware is an image of the machine, with a mark, a length and the program behind it. A board has two images: one
//! with what computes with reals is taken for programs that do.

mod budget;
mod count;
mod need;

pub(crate) use budget::{Budget, PART, Ram};

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use clap::ValueEnum;
use raddle_bytecode::{Module, file};

use crate::check::files;
use crate::occam::{Compile, Refused};
use crate::refusal::Error;

pub(crate) const FLASH_HELP: &str = "\
Examples:
  raddle flash --board microbit --run blink.occ     in qemu, with this terminal as the serial line
  raddle flash --board microbit -o blink.bin blink.rbc    what is to be written to the board's flash
  raddle build --ram 10K blink.occ                  says what takes how much memory

Exit codes:
    0  done; with --run, the program has come to its end
    1  the program is refused, or takes too much memory; with --run, it failed or deadlocked
    2  the command line is wrong
  126  a file cannot be read or written, or is no bytecode, or the firmware is too large
  127  a file, the board's image or qemu does not exist";

/// `raddle flash`.
#[derive(clap::Args)]
pub(crate) struct Flash {
    #[command(flatten)]
    compile: Compile,

    /// The board
    #[arg(long, value_enum)]
    board: Board,

    /// Start it in qemu, with this terminal as its serial line
    #[arg(long)]
    run: bool,

    /// The firmware: what is to be written to the board's flash; by default next to the program
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// An occam program (`.occ`) or bytecode (`.rbc`)
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// The boards that there are images for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Board {
    /// A Cortex-M3 with 256 KiB of flash and 64 KiB of memory
    Lm3s6965evb,
    /// BBC micro:bit: a Cortex-M0 with 256 KiB of flash and 16 KiB of memory, of which 10 are used
    Microbit,
    /// SiFive HiFive1: a RISC-V of 32 bits with 16 KiB of memory
    SifiveE,
}

/// Marks a program behind an image.
const MARK: &[u8; 4] = b"RDLF";

/// Names the folder with the images, if they are not beside `raddle`.
const FOLDER_VARIABLE: &str = "RADDLE_BOARDS";

impl Board {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What the flash holds.
    fn flash_bytes(self) -> usize {
        match self {
            Board::Lm3s6965evb | Board::Microbit => 256 << 10,
            // Of 16 MiB, the first four are the boot loader's.
            Board::SifiveE => 12 << 20,
        }
    }

    /// The memory that the image uses: the micro:bit's leaves six KiB to what was there before.
    fn memory(self) -> Ram {
        match self {
            Board::Lm3s6965evb => Ram(64 << 10),
            Board::Microbit => Ram(10 << 10),
            Board::SifiveE => Ram(16 << 10),
        }
    }

    /// The emulator, and the Debian package that has it.
    fn qemu(self) -> (&'static str, &'static str) {
        match self {
            Board::Lm3s6965evb | Board::Microbit => ("qemu-system-arm", "qemu-system-arm"),
            Board::SifiveE => ("qemu-system-riscv32", "qemu-system-misc"),
        }
    }

    /// The firmware as qemu takes it: for a board whose flash does not begin at 0, as a program for a loader.
    fn loadable(self, firmware: Vec<u8>) -> Vec<u8> {
        match self {
            Board::Lm3s6965evb | Board::Microbit => firmware,
            Board::SifiveE => elf(0x2040_0000, &firmware),
        }
    }
}

/// A program for RISC-V that lies at that address, where its first instruction is.
fn elf(at: u32, bytes: &[u8]) -> Vec<u8> {
    const HEADERS: u32 = 52 + 32;
    let length = bytes.len() as u32;
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0".to_vec();
    // Version, entry, where the one header of a segment lies, none of sections, compressed instructions.
    [1, at, 52, 0, 1].iter().for_each(|word: &u32| file.extend(word.to_le_bytes()));
    [52, 32, 1, 40, 0, 0].iter().for_each(|half: &u16| file.extend(half.to_le_bytes()));
    // To be loaded: from where in the file, to which address, how many bytes; read and executed; aligned to words.
    [1, HEADERS, at, at, length, length, 5, 4].iter().for_each(|word| file.extend(word.to_le_bytes()));
    file.extend(bytes);
    file
}

impl Flash {
    /// Makes the firmware, and says what it is. If it is to run, this process becomes the emulator: so whatever is sent
    /// to it, Ctrl-C or another signal, ends that, and its code is how the program has ended.
    pub(crate) fn carry_out(self) -> Result<String, Refused> {
        let program = self.program()?;
        let module = Module::read(&program).map_err(|error| {
            let text = format!("cannot read the bytecode `{}`: {error}", self.path.display());
            Refused::Trouble(Error::CannotRun(text))
        })?;
        let (program, takes) = self.with_room(program, &module).map_err(Refused::Trouble)?;
        let told = self.firmware(&program, &module).map_err(Refused::Trouble)?;
        Ok(told + &takes)
    }

    /// The program with what the board is to give it at the start, where that can be known, and a line about it. What
    /// the board has not is refused, as `raddle build --ram` does.
    fn with_room(&self, mut program: Vec<u8>, module: &Module) -> Result<(Vec<u8>, String), Error> {
        let Ok(budget) = Budget::of(module) else {
            return Ok((program, "how much memory it takes is not known before it runs\n".to_owned()));
        };
        let (name, room) = (self.board.name(), self.board.memory());
        let fits = budget.fits(&self.path.display().to_string(), room);
        fits.map_err(|why| Error::TooLarge(format!("{name}: {why}")))?;
        if file::part(&program, PART).is_none() {
            file::append(&mut program, PART, &[budget.memory, budget.processes]);
        }
        Ok((program, format!("{} bytes of memory at most, of {}\n", budget.total(), room.0)))
    }

    fn program(&self) -> Result<Vec<u8>, Refused> {
        if self.path.extension().is_none_or(|extension| extension != "rbc") {
            return Ok(self.compile.module(self.path.as_os_str())?.write());
        }
        // For what it is not compiled with, and for the messages.
        self.compile.module(self.path.as_os_str())?;
        fs::read(&self.path).map_err(|error| {
            let text = format!("could not read `{}`: {error}", self.path.display());
            Refused::Trouble(Error::CannotRun(text))
        })
    }

    fn firmware(&self, program: &[u8], module: &Module) -> Result<String, Error> {
        let name = self.board.name();
        let image = image(&format!("{name}{}.img", if module.uses_reals() { "-reals" } else { "" }))?;
        let firmware = behind(&image, program);
        let room = self.board.flash_bytes();
        if firmware.len() > room {
            let (machine, bytes) = (image.len(), firmware.len());
            return Err(Error::CannotRun(format!(
                "the flash of {name} holds {room} bytes, and these are {bytes}: {machine} the machine's, {} the \
                 program's",
                bytes - machine
            )));
        }
        let default = || self.path.with_extension(format!("{name}.bin"));
        let output = self.output.clone().unwrap_or_else(default);
        files::save(&output, &firmware)
            .map_err(|error| Error::CannotRun(format!("could not write `{}`: {error}", output.display())))?;
        if self.run {
            return Err(become_emulator(self.board, &output, firmware));
        }
        Ok(format!(
            "{}: {} bytes for the machine, {} for the program, of {room}\n",
            output.display(),
            image.len(),
            firmware.len() - image.len()
        ))
    }
}

/// The program behind the image, where this looks for it.
fn behind(image: &[u8], program: &[u8]) -> Vec<u8> {
    let length = (program.len() as u32).to_le_bytes();
    [image, MARK, &length, program].concat()
}

/// The machine for a board, as it lies in flash.
fn image(file: &str) -> Result<Vec<u8>, Error> {
    let own = env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let beside = own.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    let places = match env::var_os(FOLDER_VARIABLE) {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec![beside.join("raddle-boards"), beside.join("../lib/raddle-boards")],
    };
    let Some(path) = places.iter().map(|folder| folder.join(file)).find(|path| path.is_file()) else {
        return Err(Error::NotFound(format!(
            "there is no raddle-boards/{file} beside `raddle`; in Raddle's source, `cargo xtask setup` installs what \
             building it needs and `cargo xtask boards` builds it, and {FOLDER_VARIABLE} may name its folder"
        )));
    };
    fs::read(&path).map_err(|error| Error::CannotRun(format!("could not read `{}`: {error}", path.display())))
}

/// Becomes the emulator with what has been written to `output`; says why not.
fn become_emulator(board: Board, output: &Path, firmware: Vec<u8>) -> Error {
    let (qemu, package) = board.qemu();
    let loadable = output.with_extension("qemu");
    if let Err(error) = files::save(&loadable, &board.loadable(firmware)) {
        return Error::CannotRun(format!("could not write `{}`: {error}", loadable.display()));
    }
    let mut command = Command::new(qemu);
    command.args(["-display", "none", "-monitor", "none", "-serial", "stdio"]);
    command.args(["-semihosting-config", "enable=on,target=native", "-M", &board.name()]);
    command.arg("-kernel").arg(&loadable);
    let error = command.exec();
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound(format!(
            "there is no {qemu}, which emulates the board; Debian's package {package} has it. The firmware is `{}`",
            output.display()
        )),
        _ => Error::CannotRun(format!("could not start {qemu}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_lies_behind_the_image_with_a_mark_and_its_length() {
        assert_eq!(behind(b"image", b"abc"), b"imageRDLF\x03\0\0\0abc");
    }

    #[test]
    fn a_program_for_a_loader_has_its_bytes_behind_its_headers() {
        let file = elf(0x2040_0000, b"abcd");
        assert_eq!((&file[..4], &file[84..]), (&b"\x7fELF"[..], &b"abcd"[..]));
        assert_eq!(file[24..28], 0x2040_0000_u32.to_le_bytes());
    }

    #[test]
    fn boards_are_called_as_qemu_calls_them() {
        let names = [Board::Lm3s6965evb, Board::Microbit, Board::SifiveE].map(Board::name);
        assert_eq!(names, ["lm3s6965evb", "microbit", "sifive_e"]);
    }
}

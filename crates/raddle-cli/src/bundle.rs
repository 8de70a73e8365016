//! Owns: an executable that is this program with an occam program in it.
//! May use: `check::files`, `occam`, `refusal`, `settings`, `clap`, `raddle-bytecode`.
//! Never: more of the file than its end, to find out that there is none.
//!
//! `raddle build --native` copies the program that has the compiler, which has all that an occam program needs, and
//! puts the bytecode behind it: a program's loader maps what its headers name, and looks no further. The copy finds the
//! bytecode there when it begins, and compiles what is hot. (Alternatives: to link machine code that was made before
//! asks for a linker and a library of the machine where it is built, and its addresses for a place where it must be
//! mapped; it would begin some milliseconds earlier in what is hot.)

use crate::check::files;
use crate::occam::{self, Ended, Running};
use crate::refusal::Error;
use crate::settings::Settings;
use clap::Parser as _;
use raddle_bytecode::Module;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// How such a file ends: the length of the bytecode before it, eight bytes, the lowest first, and this.
const MARK: [u8; 8] = *b"\x7frdlocc\n";
const END_BYTES: usize = 8 + MARK.len();

/// An occam program, compiled by Raddle
#[derive(clap::Parser)]
#[command(max_term_width = 100, disable_version_flag = true)]
struct BundledArguments {
    #[command(flatten)]
    settings: Settings,

    #[command(flatten)]
    running: Running,

    /// Arguments for the program, which reads them with `argument.count` and `argument`
    #[arg(value_name = "ARGS", last = true)]
    args: Vec<OsString>,
}

/// The bytecode behind this program, if there is some.
pub(crate) fn contained() -> io::Result<Option<Vec<u8>>> {
    contained_in(&mut File::open("/proc/self/exe")?)
}

fn contained_in(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let all = file.seek(SeekFrom::End(0))?;
    let Some(end) = all.checked_sub(END_BYTES as u64) else { return Ok(None) };
    let mut last = [0; END_BYTES];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut last)?;
    let (length, mark) = last.split_at(8);
    if mark != MARK {
        return Ok(None);
    }
    let length = length.iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the program in it is cut off");
    file.seek(SeekFrom::Start(end.checked_sub(length).ok_or_else(damaged)?))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The program that is in this one, and how it is to be run.
pub(crate) struct BundledRun {
    module: Result<Module, Error>,
    arguments: BundledArguments,
}

impl BundledRun {
    /// Of that bytecode, with the process's arguments.
    pub(crate) fn of(bytes: &[u8]) -> Result<BundledRun, clap::Error> {
        let read = Module::read(bytes);
        let module = read.map_err(|error| Error::CannotRun(format!("the program in this file: {error}")));
        Ok(BundledRun { module, arguments: BundledArguments::try_parse()? })
    }

    /// Runs it to its end.
    pub(crate) fn carry_out(self) -> Result<Ended, Error> {
        let BundledArguments { settings, running, args } = self.arguments;
        occam::run(self.module?, (&running.as_machine_code(), true), settings.variables(), args)
    }
}

/// Writes this program, with an occam program behind it.
pub(crate) fn write(module: &Module, output: &Path) -> Result<(), Error> {
    let failed = |error| Error::CannotRun(format!("could not write `{}`: {error}", output.display()));
    let bytecode = module.write();
    let mut bytes = std::fs::read("/proc/self/exe").map_err(failed)?;
    bytes.extend_from_slice(&bytecode);
    bytes.extend_from_slice(&(bytecode.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&MARK);
    files::save(output, &bytes).map_err(failed)?;
    let mut permissions = std::fs::metadata(output).map_err(failed)?.permissions();
    // Who may read it may run it.
    permissions.set_mode(permissions.mode() | (permissions.mode() & 0o444) >> 2);
    std::fs::set_permissions(output, permissions).map_err(failed)
}

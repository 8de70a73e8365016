//! Owns: where the compiler to machine code is: in this program, or in `raddle-native`, which is the same command.
//! May use: `refusal`, `raddle-bytecode`, `raddle-host`.
//! Never: compiles.

use crate::refusal::Error;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// Who makes machine code of programs.
#[cfg(feature = "native")]
#[derive(Debug)]
pub struct Compilers {
    /// One that compiles a function when much time has been spent in it; or, as the first says, everything when the
    /// program begins; and names what it makes for `perf`, as the second says.
    pub compiler: fn(bool, bool) -> std::sync::Arc<dyn raddle_host::Compile>,
    /// The machine code of a program, in that form.
    pub listing: fn(&raddle_bytecode::Verified, &raddle_host::CompileInput, Emit) -> Result<Vec<u8>, String>,
}

/// In which form machine code is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
#[cfg_attr(
    not(feature = "native"),
    expect(unreachable_pub, reason = "who brings compilers names it, and nobody else")
)]
pub enum Emit {
    /// Instructions of the processor
    Asm,
    /// Instructions of Cranelift, which makes those
    Clif,
    /// An object file, ELF, with the names of routines and their lines
    Obj,
}

/// The machine code of a program.
#[cfg(feature = "native")]
pub(crate) fn listing(module: raddle_bytecode::Module, emit: Emit) -> Result<Vec<u8>, Error> {
    let program = raddle_bytecode::verify(module)
        .map_err(|refusal| Error::CannotRun(format!("the bytecode is invalid: {refusal}")))?;
    let compilers = COMPILERS.get().ok_or_else(|| Error::CannotRun("there is no compiler".to_owned()))?;
    let listed = raddle_host::CompileInput::of(&program, raddle_host::RunOptions::default().memory_bytes)
        .and_then(|input| (compilers.listing)(&program, &input, emit));
    listed.map_err(Error::CannotRun)
}

#[cfg(feature = "native")]
static COMPILERS: std::sync::OnceLock<Compilers> = std::sync::OnceLock::new();

/// This program has compilers.
#[cfg(feature = "native")]
pub(crate) fn bring(compilers: Compilers) {
    // The first are as good.
    let _ = COMPILERS.set(compilers);
}

/// What is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum CompiledPart {
    /// Each function when much time has been spent in it
    Hot,
    /// Everything, when the program begins
    All,
}

/// The options with the compiler, if the program is to be compiled.
pub(crate) fn with_compiler(
    options: raddle_host::RunOptions,
    native: Option<CompiledPart>,
    perf_map: bool,
) -> raddle_host::RunOptions {
    #[cfg(feature = "native")]
    let options = raddle_host::RunOptions {
        compiler: native
            .zip(COMPILERS.get())
            .map(|(part, compilers)| (compilers.compiler)(part == CompiledPart::All, perf_map)),
        ..options
    };
    let _ = (native, perf_map);
    options
}

/// The other program.
const NAME: &str = "raddle-native";
const BUILD: &str = "cargo install --path crates/raddle-jit/command";

/// By this variable the other program is told who becomes it. Its name does not begin as those of settings do, of which
/// an unknown one is an error.
const CALLER: &str = "LIBRADDLE_NATIVE_CALLER";

/// Which raddle this is: programs that differ in it are not each other's.
fn version() -> String {
    format!("{}, numbering {}", env!("CARGO_PKG_VERSION"), raddle_bytecode::NUMBERING)
}

/// Whether the program that became this one is of this version. Who was called by itself has none.
fn check_caller(caller: Option<&str>, own: &str) -> Result<(), Error> {
    match caller {
        Some(caller) if caller != own => Err(Error::CannotRun(format!(
            "`raddle` is {caller}, and the `{NAME}` that it found is {own}; `{BUILD}` builds it anew"
        ))),
        _ => Ok(()),
    }
}

/// Becomes the program that has the compiler, unless this one has it. Gives why that fails.
pub(crate) fn become_compiler() -> Result<(), Error> {
    if cfg!(feature = "native") {
        return check_caller(std::env::var(CALLER).ok().as_deref(), &version());
    }
    let beside =
        std::env::current_exe().ok().and_then(|me| Some(me.parent()?.join(NAME))).filter(|it| it.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from(NAME));
    let error = Command::new(&program).args(std::env::args_os().skip(1)).env(CALLER, version()).exec();
    Err(match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound(format!(
            "--native needs `{NAME}`, which is neither beside this program nor in PATH; `{BUILD}` builds it"
        )),
        _ => Error::CannotRun(format!("could not run `{}`: {error}", program.display())),
    })
}

#[test]
fn a_compiler_of_another_version_is_refused() {
    assert!(check_caller(None, "0.1.0, numbering 1").is_ok());
    assert!(check_caller(Some("0.1.0, numbering 1"), "0.1.0, numbering 1").is_ok());
    let refusal = check_caller(Some("0.2.0, numbering 1"), "0.1.0, numbering 1").unwrap_err().to_string();
    assert!(refusal.contains("0.2.0, numbering 1") && refusal.contains(BUILD), "{refusal}");
}

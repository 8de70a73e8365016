//! Owns: `raddle graph`: a program's processes and channels as a picture.
//! May use: `check::files`, `network::tree`, `occam`, `out`, `refusal`.
//! Never: what is a process; `raddle-occam` says so.

mod draw;
mod layers;
mod level;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::network::Network;

use crate::check::files;
use crate::occam::{Compile, Refused};
use crate::out::print;
use crate::refusal::Error;

pub(crate) const GRAPH_HELP: &str = "\
Examples:
  raddle graph prog.occ > prog.svg     the processes and channels of a program
  raddle graph -o prog.svg prog.occ    the same
  raddle run --deadlock-graph who.svg prog.occ    of a run that stops: who waits for whom
  raddle trace run -o run.rdt -- prog.occ; raddle trace graph run.rdt    of one that ends: who waited for whom

A box is a branch of a PAR, or a process that is forked (dashed); a box around others is a PROC with a PAR in it. An
arrow is a channel, with its name and its protocol; several writers or readers meet in a dot.

Exit codes:
    0  done
    1  the program is refused
    2  the command line is wrong
  126  a file cannot be read or written
  127  a file does not exist";

/// `raddle graph`.
#[derive(clap::Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    compile: Compile,

    /// Write the picture here; otherwise to standard output
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// An occam program; `-` is standard input
    #[arg(value_name = "PATH")]
    path: OsString,
}

impl Graph {
    /// Draws the program.
    pub(crate) fn carry_out(self) -> Result<(), Refused> {
        let source = self.compile.checked(&self.path)?;
        let network = Network::of(source.checked.program(), &source.sources);
        let svg = draw::svg(&network, &source.sources);
        match self.output {
            None => print(&svg).map_err(Refused::Trouble),
            Some(file) => files::save(&file, svg.as_bytes()).map_err(|error| {
                let text = format!("could not write `{}`: {error}", file.display());
                Refused::Trouble(Error::CannotRun(text))
            }),
        }
    }
}

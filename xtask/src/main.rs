//! Owns: the commands of the house (`cargo xtask`) and, as its tests, the rules of the house.
//! May use: `anyhow`, `clap`.
//! Never: code that Raddle ships.
//!
//! `cargo xtask test` runs every check that there is; what it consists of is the one table in `groups`, from which
//! the help, the running, the installing (`setup`) and the page `docs/HACKING.md` derive. The rules of `docs` and
//! STYLE that a machine can check are the tests of this crate, in `tidy`.
//!
//! Cargo, git, apt and the tools that the groups in `groups` name run as programs.

mod alloc;
mod bench;
mod boards;
mod conformance;
mod docs;
mod failing;
mod graph;
mod groups;
mod header_pages;
mod house;
mod install;
mod itm;
mod link_shared;
mod man;
mod openmp;
mod plate;
mod playground;
mod pthread_programs;
mod pthreads;
mod recipes;
mod report;
mod run;
mod setup;
mod side_by_side;
mod site;
mod structure;
#[cfg(test)]
mod tidy;
mod tree;
mod verdicts;

use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser};

/// The commands of Raddle's house.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Run all tests and checks, or only the named groups
    ///
    /// Runs what this machine can run and says what it skipped and why. Installs nothing.
    /// Ends with 0 if nothing failed, 1 if something did, 2 if the request makes no sense.
    Test(TestArgs),
    /// Install with apt the Debian packages that the groups of `test` need
    Setup {
        /// Only say what would be done
        #[arg(long)]
        dry_run: bool,
    },
    /// Run the benchmarks; everything after `bench` goes to the runner (try `cargo xtask bench --help`)
    #[command(disable_help_flag = true)]
    Bench {
        /// Arguments of the runner
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        args: Vec<std::ffi::OsString>,
    },
    /// Build the rivals of the benchmarks and of `raddle lab`, and say what those need that cannot be built here
    Rivals,
    /// Run independent suites of occam and OpenMP programs, from checkouts that you have
    Conformance(conformance::ConformanceArgs),
    /// Build a crate as a shared library whose symbols have versions
    LinkShared(link_shared::LinkSharedArgs),
    /// Build the library that `raddle exec` gives OpenMP programs, beside `raddle`
    Openmp(openmp::OpenmpArgs),
    /// Install the libraries for C and C++, with headers, pkg-config, CMake and the manual, below a prefix
    Install(install::InstallArgs),
    /// Build the library that `raddle exec --pthreads` gives programs with POSIX threads, beside `raddle`
    Pthreads(pthreads::PthreadsArgs),
    /// Build the library that `raddle exec --itm` gives programs with gcc's transactions, beside `raddle`
    Itm(itm::ItmArgs),
    /// Build the library that `raddle alloc run` gives programs, or run the long proofs of the allocator
    Alloc(alloc::AllocArgs),
    /// Build the playground: occam in a browser, one page that needs no server
    Playground(playground::PlaygroundArgs),
    /// Build the images of the machine for boards, beside `raddle`, which `raddle flash` puts programs behind
    Boards(boards::BoardsArgs),
    /// Write the site: the pages of `docs/` as HTML, with a search and the playground
    ///
    /// Ends with 1 if a link leads nowhere.
    Site(site::SiteArgs),
    /// Write the generated parts of the pages in `docs/` anew
    Docs,
    /// Hold the `May use:` lines of modules against what they import
    ///
    /// Ends with 1 if one is not true.
    Plates(plate::command::PlatesArgs),
    /// Trace programs with one fault each, and say how often the verdict names it
    ///
    /// Ends with 1 if it does so in fewer than nine of ten traces.
    Verdicts(verdicts::VerdictsArgs),
    /// Follow the recipes of `docs/recipes.md` and `docs/recipes-occam.md` in a copy of the tree
    ///
    /// Ends with 1 if what one adds does not build, or does not do what it was added for.
    Recipes(recipes::RecipesArgs),
    /// Show the structure of every crate in figures: lines, modules, arrows upward, circles
    Structure,
}

#[derive(clap::Args)]
struct TestArgs {
    /// Groups to run; all but the long ones if none is named
    #[arg(value_name = "GROUP", value_parser = group_names())]
    groups: Vec<String>,
    /// With the long groups, which else run only by their names
    #[arg(long, conflicts_with = "groups")]
    long: bool,
    /// Count a skipped group as a failure
    #[arg(long)]
    require_all: bool,
    /// Only show the groups, what they need and the commands they run
    #[arg(long)]
    list: bool,
    /// Install meanwhile what the groups need, as `setup` does; those that only read the source run beside that
    #[arg(long, conflicts_with = "list")]
    setup: bool,
    /// Run so many groups side by side; each then shows its output when it is done
    #[arg(short, long, alias = "lanes", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: u8,
}

fn group_names() -> PossibleValuesParser {
    groups::all().map(|group| PossibleValue::new(group.name).help(group.what)).into()
}

fn main() -> ExitCode {
    match dispatch(Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            report::complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    std::env::set_current_dir(house::root())?;
    match command {
        Command::Test(args) if args.list => {
            report::say(&groups::listing());
            Ok(ExitCode::SUCCESS)
        }
        Command::Test(args) => {
            let chosen = groups::choose(&args.groups, args.long);
            let rows = match usize::from(args.jobs) {
                1 if !args.setup => run::run_groups(&chosen, &mut report::say)?,
                jobs => {
                    let setup = args.setup.then_some(setup::quietly as fn() -> _);
                    side_by_side::run(&chosen, jobs, setup, &mut report::say)?
                }
            };
            report::say(&report::table(&rows));
            Ok(report::exit_code(&rows, args.require_all))
        }
        Command::Setup { dry_run } => setup::run(dry_run),
        Command::Bench { args } => bench::run(&args),
        Command::Rivals => bench::rivals(),
        Command::Conformance(args) => conformance::run(&args),
        Command::LinkShared(args) => link_shared::run(&args),
        Command::Openmp(args) => openmp::run(&args),
        Command::Install(args) => install::run(&args),
        Command::Pthreads(args) => pthreads::run(&args),
        Command::Itm(args) => itm::run(&args),
        Command::Alloc(args) => alloc::run(&args),
        Command::Playground(args) => playground::run(&args),
        Command::Boards(args) => boards::run(&args),
        Command::Site(args) => site::run(&args),
        Command::Docs => docs::write().map(|()| ExitCode::SUCCESS),
        Command::Plates(args) => plate::command::run(&args),
        Command::Recipes(args) => recipes::run(&args),
        Command::Verdicts(args) => verdicts::run(&args),
        Command::Structure => structure::show().map(|()| ExitCode::SUCCESS),
    }
}

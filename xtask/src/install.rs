//! Owns: `cargo xtask install`: the libraries for C and C++ with all that finds them, below a prefix.
//! May use: `header_pages`, `link_shared`, `man`, `report`, `anyhow`.
//! Never: a path of the machine that built it in what it writes, but for the prefix.
//!
//! | file | what |
//! |---|---|
//! | `raddle.h`, `raddle.hpp` in `include` | the interface |
//! | `lib/libraddle.so.0.1.0`, with `.so.0` and `.so` | the shared library; symbols have versions |
//! | `lib/libraddle.a` | the same as one object, whose other symbols are local: it stands beside other Rust libraries |
//! | `lib/pkgconfig/raddle.pc`, `lib/cmake/raddle/*` | how build systems find it |
//! | `share/man/man3/raddle.3` | `docs/C.md` as a page of the manual |
//! | `share/man/man3/raddle_*.3` | a page for each group of `raddle.h`, to which its functions lead |
//!
//! A static library as cargo makes it would do less: what attaches itself before `main` is in objects to which nothing
//! refers, so that a linker leaves them out, and each name of the standard library would be there twice in a program
//! with another Rust library. It uses `ld`, `objcopy` and `ar`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

use crate::link_shared::{self, LinkSharedArgs};
use crate::{header_pages, man, report};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const SONAME: &str = "libraddle.so.0";
const CRATE: &str = "crates/raddle-capi";
/// What the standard library stands on.
const SYSTEM: &str = "-lgcc_s -lm -ldl -lpthread -lc";

/// Where the library goes.
#[derive(clap::Args)]
pub(crate) struct InstallArgs {
    /// The folder below which everything goes, as /usr/local
    #[arg(long, value_name = "FOLDER", value_parser = from_here)]
    pub(crate) prefix: PathBuf,
    /// Compile as for tests
    #[arg(long)]
    pub(crate) debug: bool,
}

/// Where the caller is: the commands of the house run elsewhere.
fn from_here(folder: &str) -> std::io::Result<PathBuf> {
    std::path::absolute(folder)
}

/// Builds it and lays everything out.
pub(crate) fn run(args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let prefix = &args.prefix;
    let folder = |below: &str| -> anyhow::Result<PathBuf> {
        let folder = prefix.join(below);
        fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        Ok(folder)
    };
    let (include, lib) = (folder("include")?, folder("lib")?);
    for header in ["raddle.h", "raddle.hpp"] {
        let from = Path::new(CRATE).join("include").join(header);
        fs::copy(&from, include.join(header)).with_context(|| format!("could not copy {header}"))?;
    }
    let map = Path::new(CRATE).join("raddle.map");
    let link = LinkSharedArgs {
        package: "raddle-capi".to_owned(),
        example: None,
        version_script: map.clone(),
        wrap: Vec::new(),
        soname: Some(SONAME.to_owned()),
        output: lib.join(format!("libraddle.so.{VERSION}")),
        release: !args.debug,
        keep_symbols: args.debug,
    };
    link_shared::run(&link)?;
    name(&lib, &format!("libraddle.so.{VERSION}"), SONAME)?;
    name(&lib, SONAME, "libraddle.so")?;
    archive(&link_shared::archive(&link), &fs::read_to_string(&map)?, &lib)?;
    let prefix_text = prefix.to_str().context("the prefix is no text")?;
    write(&folder("lib/pkgconfig")?.join("raddle.pc"), &pkg_config(prefix_text))?;
    let cmake = folder("lib/cmake/raddle")?;
    write(&cmake.join("raddle-config.cmake"), &cmake_config())?;
    write(&cmake.join("raddle-config-version.cmake"), &cmake_version())?;
    let manual = fs::read_to_string("docs/C.md").context("could not read docs/C.md")?;
    let pages = folder("share/man/man3")?;
    write(&pages.join("raddle.3"), &man::page("RADDLE", 3, VERSION, &manual))?;
    for (name, page) in header_pages::pages(&fs::read_to_string(include.join("raddle.h"))?, VERSION) {
        write(&pages.join(name), &page)?;
    }
    report::say(&format!("Raddle {VERSION} for C and C++ is in {}\n", prefix.display()));
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}

/// Gives a file another name, in place of what may be there.
fn name(folder: &Path, file: &str, other: &str) -> anyhow::Result<()> {
    let link = folder.join(other);
    if link.symlink_metadata().is_ok() {
        fs::remove_file(&link).with_context(|| format!("could not replace {}", link.display()))?;
    }
    symlink(file, &link).with_context(|| format!("could not make {}", link.display()))
}

/// The names that a version script exports.
fn exported(map: &str) -> impl Iterator<Item = &str> {
    map.lines().filter_map(|line| line.trim().strip_suffix(';')).filter(|name| name.starts_with("raddle_"))
}

fn archive(rust: &Path, map: &str, lib: &Path) -> anyhow::Result<()> {
    let (object, names) = (lib.join("raddle.o"), lib.join("raddle.names"));
    write(&names, &exported(map).map(|name| format!("{name}\n")).collect::<String>())?;
    step(Command::new("ld").args(["-r", "--whole-archive"]).arg(rust).arg("-o").arg(&object))?;
    let keep = format!("--keep-global-symbols={}", names.display());
    // The standard library carries its bitcode, which joined is none, and which an `ar` with LLVM's plugin reads.
    let less = ["--remove-section=.llvmbc", "--remove-section=.llvmcmd"];
    step(Command::new("objcopy").arg(keep).args(less).arg(&object))?;
    let archive = lib.join("libraddle.a");
    let _not_there = fs::remove_file(&archive);
    step(Command::new("ar").arg("rcs").arg(&archive).arg(&object))?;
    fs::remove_file(object)?;
    Ok(fs::remove_file(names)?)
}

fn step(command: &mut Command) -> anyhow::Result<()> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("could not start `{tool}`; is it on PATH?"))?;
    ensure!(status.success(), "`{tool}` ended with {status}");
    Ok(())
}

fn pkg_config(prefix: &str) -> String {
    format!(
        "prefix={prefix}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: raddle\nDescription: Very many very small threads, on all cores\nVersion: {VERSION}\n\
         Cflags: -I\"${{includedir}}\"\nLibs: -L\"${{libdir}}\" -lraddle\nLibs.private: {SYSTEM}\n"
    )
}

/// `raddle::raddle` is the shared library, `raddle::raddle_static` the other.
fn cmake_config() -> String {
    let libraries =
        SYSTEM.split(' ').map(|library| library.trim_start_matches("-l")).collect::<Vec<_>>().join(";");
    let target = |name: &str, kind: &str, file: &str, more: &str| {
        format!(
            "if(NOT TARGET raddle::{name})\n  add_library(raddle::{name} {kind} IMPORTED)\n  set_target_properties(\
             raddle::{name} PROPERTIES\n    IMPORTED_LOCATION \"${{_raddle_prefix}}/lib/{file}\"\n    \
             INTERFACE_INCLUDE_DIRECTORIES \"${{_raddle_prefix}}/include\"{more})\nendif()\n"
        )
    };
    let soname = format!("\n    IMPORTED_SONAME \"{SONAME}\"");
    let system = format!("\n    INTERFACE_LINK_LIBRARIES \"{libraries}\"");
    format!(
        "get_filename_component(_raddle_prefix \"${{CMAKE_CURRENT_LIST_DIR}}/../../..\" ABSOLUTE)\n{}{}",
        target("raddle", "SHARED", &format!("libraddle.so.{VERSION}"), &soname),
        target("raddle_static", "STATIC", "libraddle.a", &system),
    )
}

/// Before 1.0 another minor version is another interface.
fn cmake_version() -> String {
    let minor = VERSION.rsplit_once('.').map_or(VERSION, |(minor, _)| minor);
    format!(
        "set(PACKAGE_VERSION \"{VERSION}\")\nif(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n  \
         set(PACKAGE_VERSION_COMPATIBLE FALSE)\nelseif(PACKAGE_FIND_VERSION VERSION_LESS \"{minor}\")\n  \
         set(PACKAGE_VERSION_COMPATIBLE FALSE)\nelse()\n  set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exported_stands_in_the_version_script() {
        let map = "RADDLE_0.1 {\n  global:\n    raddle_a;\n    raddle_b;\n  local: *;\n};\n";
        assert_eq!(exported(map).collect::<Vec<_>>(), ["raddle_a", "raddle_b"]);
    }

    #[test]
    fn a_prefix_may_have_spaces() {
        let text = pkg_config("/opt/a b");
        assert!(text.contains("\nCflags: -I\"${includedir}\"\nLibs: -L\"${libdir}\" -lraddle\n"), "{text}");
    }

    #[test]
    fn a_relative_prefix_is_where_the_caller_is() {
        let whole = from_here("below/it").unwrap();
        assert_eq!(whole, std::env::current_dir().unwrap().join("below/it"));
    }

    #[test]
    fn the_prefix_is_the_only_path() {
        assert!(pkg_config("/opt/raddle").starts_with("prefix=/opt/raddle\nlibdir=${prefix}/lib\n"));
        assert!(!cmake_config().contains("/opt"));
    }
}

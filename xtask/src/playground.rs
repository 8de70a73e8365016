//! Owns: the playground: one page that holds compiler, machine, programs and itself.
//! May use: `house`, `report`, `anyhow`.
//! Never: what the page does; that is in `web/page`.
//!
//! The module is made by Debian's compiler, which has the source of the standard library; so the page needs what the
//! group `playground` needs. Cargo and gzip run as programs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use anyhow::{Context as _, bail, ensure};

use crate::{house, report};

/// `cargo xtask playground`.
#[derive(clap::Args)]
pub(crate) struct PlaygroundArgs {
    /// The page; the folder is made
    #[arg(short, long, value_name = "FILE", default_value = "target/playground/index.html")]
    output: PathBuf,
}

/// What the module may be at most, as it is and compressed.
const BYTES_MAX: usize = 1_500_000;
const PACKED_BYTES_MAX: usize = 500_000;

/// A megabyte of stack, and at most a gigabyte of memory. A panic is a trap: nobody hears what it would say.
const FLAGS: &str = "-Clinker=wasm-ld -Clinker-flavor=wasm-ld -Clink-arg=-zstack-size=1048576 \
                     -Clink-arg=--max-memory=1073741824 -Zunstable-options -Cpanic=immediate-abort";

/// Builds the module and writes the page.
pub(crate) fn run(args: &PlaygroundArgs) -> anyhow::Result<ExitCode> {
    write(&args.output)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn write(output: &Path) -> anyhow::Result<()> {
    let module = module()?;
    let packed = packed(&module)?;
    report::say(&format!(
        "playground: the module has {} bytes, {} compressed\n",
        module.metadata()?.len(),
        packed.len()
    ));
    ensure!(module.metadata()?.len() <= BYTES_MAX as u64, "the module has more than {BYTES_MAX} bytes");
    ensure!(packed.len() <= PACKED_BYTES_MAX, "compressed, it has more than {PACKED_BYTES_MAX} bytes");
    let page = page(&packed)?;
    if let Some(folder) = output.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(output, &page)?;
    report::say(&format!("playground: {} bytes in {}\n", page.len(), output.display()));
    Ok(())
}

fn module() -> anyhow::Result<PathBuf> {
    let build = ["build", "--release", "--manifest-path", "web/Cargo.toml"];
    let mut cargo = Command::new("/usr/bin/cargo");
    // Without traces of the stack, and with the small one where the library has two ways.
    cargo.args(build).args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
    cargo.args(["--target-dir", "target/web", "--target", "wasm32-unknown-unknown"]);
    cargo.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
    // The module is the same, and as large, wherever the repository lies.
    let here = format!("--remap-path-prefix={}/=", house::root().display());
    let flags: Vec<_> = FLAGS.split_whitespace().chain([here.as_str()]).collect();
    cargo.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    cargo.env("RUSTC_WRAPPER", "");
    // Cargo, which runs this, has set variables for its own toolchain.
    let of_cargo = |name: &str| {
        name == "CARGO" || name == "RUSTUP_TOOLCHAIN" || name.starts_with("CARGO_PROFILE_RELEASE")
    };
    for (name, _) in env::vars().filter(|(name, _)| of_cargo(name)) {
        cargo.env_remove(name);
    }
    let status = cargo.stdin(Stdio::null()).status().context("could not start /usr/bin/cargo")?;
    if !status.success() {
        bail!("the module could not be built ({status}); `cargo xtask setup` installs what that needs");
    }
    Ok(house::root().join("target/web/wasm32-unknown-unknown/release/raddle_web.wasm"))
}

fn packed(module: &Path) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("gzip").args(["-9", "--no-name", "--stdout"]).arg(module).output();
    let output = output.context("could not start gzip")?;
    ensure!(output.status.success(), "gzip: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

fn part(name: &str) -> anyhow::Result<String> {
    let path = house::root().join("web/page").join(name);
    fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))
}

/// The page with everything in it.
fn page(packed: &[u8]) -> anyhow::Result<String> {
    let mut page = part("page.html")?;
    let parts = [
        ("/*{{style}}*/", part("style.css")?),
        ("/*{{machine}}*/", part("machine.js")?),
        ("/*{{worker}}*/", part("worker.js")?),
        ("{{library}}", library()?),
        ("/*{{app}}*/", part("app.js")?),
        ("{{wasm}}", base64(packed)),
    ];
    for (place, text) in parts {
        ensure!(page.matches(place).count() == 1, "the page has no place {place}");
        ensure!(
            !text.contains("</script") && !text.contains("</style"),
            "{place} would end the element it is in"
        );
        page = page.replacen(place, &text, 1);
    }
    Ok(page)
}

/// The programs to choose from, as JSON: those of `web/examples`, then the exercises of `web/course`.
fn library() -> anyhow::Result<String> {
    let mut all = Vec::new();
    for (folder, group) in [("web/examples", "Examples"), ("web/course", "Course")] {
        let entries = fs::read_dir(house::root().join(folder)).with_context(|| folder.to_owned())?;
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|it| it == "occ"));
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let title = text.lines().next().unwrap_or_default().trim_start_matches('-').trim().to_owned();
            let fields = [("name", &*name), ("group", group), ("title", &*title), ("text", &*text)];
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{}:{}", quoted(key), quoted(value))).collect();
            all.push(format!("{{{}}}", fields.join(",")));
        }
    }
    Ok(format!("[{}]", all.join(",")))
}

/// A text in quotes; `<` as a number, since it stands within an element of a page.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '<' => out.push_str("\\u003c"),
            character if character < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            character => out.push(character),
        }
    }
    out + "\""
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, at| word << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        let digit = |at: usize| char::from(DIGITS[(word >> (18 - 6 * at)) as usize & 63]);
        (0..4).for_each(|at| out.push(if at <= three.len() { digit(at) } else { '=' }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_as_base64_has_them() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        cases.iter().for_each(|(text, wanted)| assert_eq!(base64(text.as_bytes()), *wanted));
    }

    #[test]
    fn a_program_in_the_page_ends_no_element() {
        assert_eq!(quoted("a\n\"</script>\\\u{1}"), "\"a\\n\\\"\\u003c/script>\\\\\\u0001\"");
    }

    #[test]
    fn the_page_has_a_place_for_each_part() {
        let page = page(b"module").unwrap();
        assert!(
            !page.contains("{{") && page.contains("class Instance") && page.contains("\"group\":\"Course\"")
        );
    }
}

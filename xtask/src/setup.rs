//! Owns: installing what the groups of tests need.
//! May use: `groups`, `report`, `anyhow`.
//! Never: any package that no group names.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, bail};

use crate::{groups, report};

/// Installs the missing packages of all groups; with `dry_run` only says what it would run.
pub(crate) fn run(dry_run: bool) -> anyhow::Result<ExitCode> {
    let missing: Vec<_> = groups::packages().into_iter().filter(|package| !installed(package)).collect();
    if missing.is_empty() {
        report::say("setup: every package that the tests need is installed\n");
        return Ok(ExitCode::SUCCESS);
    }
    let commands = commands(&missing, is_root());
    for command in &commands {
        report::say(&format!("setup: $ {}\n", command.join(" ")));
        if !dry_run {
            execute(command)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// As [`run`], but what the commands print is shown only if one fails. Gives what there is to say.
pub(crate) fn quietly() -> anyhow::Result<String> {
    let missing: Vec<_> = groups::packages().into_iter().filter(|package| !installed(package)).collect();
    if missing.is_empty() {
        return Ok("setup: every package that the tests need is installed\n".to_owned());
    }
    for command in commands(&missing, is_root()) {
        let output = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("could not start `{}`", command[0]))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            bail!("`{}` ended with {}:\n{said}", command.join(" "), output.status);
        }
    }
    Ok(format!("setup: installed {}\n", missing.join(" ")))
}

/// The command lines that install `packages`.
fn commands(packages: &[&str], root: bool) -> [Vec<String>; 2] {
    let before: &[&str] = if root { &["env"] } else { &["sudo", "env"] };
    let line = |rest: &[&str]| -> Vec<String> {
        [before, &["DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes"], rest]
            .concat()
            .iter()
            .map(|&w| w.into())
            .collect()
    };
    [line(&["update"]), line(&[&["install", "--no-install-recommends"], packages].concat())]
}

fn execute(command: &[String]) -> anyhow::Result<()> {
    let status = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("could not start `{}`", command[0]))?;
    if !status.success() {
        bail!("`{}` ended with {status}; run it by hand to see why", command.join(" "));
    }
    Ok(())
}

/// Whether dpkg knows `package` as installed; where there is no dpkg, it is not.
fn installed(package: &str) -> bool {
    let query =
        Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]).output();
    query.is_ok_and(|output| output.stdout == b"installed")
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_needs_no_sudo() {
        let [update, install] = commands(&["valgrind"], true);
        assert_eq!(update.join(" "), "env DEBIAN_FRONTEND=noninteractive apt-get --yes update");
        let expected =
            "env DEBIAN_FRONTEND=noninteractive apt-get --yes install --no-install-recommends valgrind";
        assert_eq!(install.join(" "), expected);
        assert_eq!(commands(&["valgrind"], false)[0][0], "sudo");
    }

    #[test]
    fn a_package_that_is_not_there_is_not_installed() {
        assert!(!installed("no-such-package-of-raddle"));
    }
}

//! Owns: the profiles in which Rust programs are built, and what cargo is told for each.
//! May use: nothing.
//! Never: cargo itself.
//!
//! Optimisation at link time inlines across crates whatever the sources say, so a figure of the house's own profile
//! does not show what a call from one crate to another costs. Users have cargo's default release profile, and with it
//! only what generics and `#[inline]` let through. What cargo is told stands here and not in `bench/Cargo.toml`, so
//! that an older source tree, which knows of no such profile, is built alike.

use std::fmt;

/// How Rust programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// As `bench/Cargo.toml` has it: optimised at link time, one unit a crate.
    House,
    /// As cargo builds for release what is told nothing else.
    User,
}

impl Profile {
    /// All of them, in the order of the tables.
    pub const ALL: [Profile; 2] = [Profile::House, Profile::User];

    /// What the command line and the tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::House => "house",
            Profile::User => "user",
        }
    }

    /// What it is, in a line.
    pub fn what(self) -> &'static str {
        match self {
            Profile::House => "thin LTO, one codegen unit a crate (bench/Cargo.toml)",
            Profile::User => "cargo's default release profile: no LTO across crates, 16 codegen units",
        }
    }

    /// The folder below cargo's target folder in which the programs lie.
    pub fn folder(self) -> &'static str {
        match self {
            Profile::House => "release",
            Profile::User => "user",
        }
    }

    /// Arguments of `cargo build`. The settings of `user` are the default ones that `bench/Cargo.toml` changes.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Profile::House => &["--profile", "release"],
            Profile::User => &[
                "--profile",
                "user",
                "--config",
                "profile.user.inherits='release'",
                "--config",
                "profile.user.lto=false",
                "--config",
                "profile.user.codegen-units=16",
                "--config",
                "profile.user.debug=false",
            ],
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a profile sets in a manifest that `user` does not set back would be left over in it.
    #[test]
    fn the_user_profile_takes_back_every_setting_of_the_workspace() {
        let manifest = include_str!("../../Cargo.toml");
        let release =
            manifest.split_once("[profile.release]\n").expect("the workspace has a release profile").1;
        let set =
            release.lines().take_while(|line| !line.starts_with('[')).filter_map(|l| l.split_once(" = "));
        let names: Vec<&str> = set.map(|(name, _)| name).collect();
        assert!(!names.is_empty());
        for name in names {
            let back = format!("profile.user.{name}=");
            assert!(Profile::User.arguments().iter().any(|a| a.starts_with(&back)), "{name} stays as it is");
        }
    }
}

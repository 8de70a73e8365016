//! Owns: the runtime's settings as options of the command line.
//! May use: `clap`, `raddle`.
//! Never: its own check of a value.
//!
//! The runtime's table checks each value when the line is parsed, so that an error names what was typed. Contradictions
//! between settings are found when the runtime starts.
//!
//! An option is its variable in another spelling: `RADDLE_STACK_SIZE` is `--stack-size`. So a new setting of the
//! runtime automatically has an option.
//!
//! It uses clap, the runtime's own table of settings.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use raddle::{Builder, SETTINGS, Setting};

/// The settings that are switched on by naming them; the others take a value.
const SWITCHES: [&str; 2] = ["RADDLE_STATS", "RADDLE_TRACE_STREAM"];

/// The settings that were given on the command line, as variables with their values.
pub(crate) struct Settings {
    given: Vec<(&'static str, OsString)>,
}

impl Settings {
    /// What to set in the program's environment. A setting that was not given leaves the environment as it is.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> + use<> {
        self.given.clone().into_iter()
    }
}

impl clap::Args for Settings {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = SETTINGS.iter().filter_map(|setting| Some((setting.variable, value(matches, setting)?)));
        Ok(Settings { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn option(setting: &Setting) -> Arg {
    let arg = Arg::new(setting.variable).long(flag(setting.variable)).help_heading("Settings of the runtime");
    let what = capitalised(setting.what);
    if is_switch(setting) {
        return arg.action(ArgAction::SetTrue).help(format!("{what} ({}=on)", setting.variable));
    }
    let help = format!("{what} [{}] ({})", setting.allowed, setting.variable);
    let setting = *setting;
    let checked = OsStringValueParser::new().try_map(move |value| check(setting, value));
    arg.value_name("VALUE").value_parser(checked).help(help)
}

fn check(setting: Setting, value: OsString) -> Result<OsString, String> {
    match Builder::default().setting(setting.variable, &value.to_string_lossy()) {
        Ok(_) => Ok(value),
        Err(_) => Err(format!("it can be {}", setting.allowed)),
    }
}

/// The option of a setting.
pub(crate) fn option_name(variable: &str) -> String {
    format!("--{}", flag(variable))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn value(matches: &ArgMatches, setting: &Setting) -> Option<OsString> {
    if is_switch(setting) {
        return matches.get_flag(setting.variable).then(|| OsString::from("on"));
    }
    matches.get_one::<OsString>(setting.variable).cloned()
}

fn flag(variable: &str) -> String {
    variable.trim_start_matches("RADDLE_").to_lowercase().replace('_', "-")
}

fn is_switch(setting: &Setting) -> bool {
    SWITCHES.contains(&setting.variable)
}

#[test]
fn the_options_that_the_documents_name_are_there() {
    let flags: Vec<_> = SETTINGS.iter().map(|setting| flag(setting.variable)).collect();
    for named in
        ["workers", "balance", "queues", "victim", "migration", "tick", "pin", "spin", "stack-size", "stats"]
    {
        assert!(flags.iter().any(|flag| flag == named), "--{named} is missing");
    }
}

#[test]
fn a_switch_is_a_setting_that_can_be_on() {
    for name in SWITCHES {
        let setting = SETTINGS.iter().find(|setting| setting.variable == name).expect(name);
        assert!(setting.allowed.contains("on"));
    }
}

//! Owns: the table of the runtime's settings as options of the command line.
//! May use: clap.
//! Never: judging a value. The runtime does, when it starts, and its message lists what is allowed.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

/// A setting of the runtime: an option here, a variable there.
pub(crate) struct Setting {
    /// The option without its dashes.
    flag: &'static str,
    /// What the runtime reads.
    pub(crate) variable: &'static str,
    /// What stands for the value in the help; a setting without one is switched on with `1`.
    value: Option<&'static str>,
    help: &'static str,
}

/// Every setting, in the order of the help.
pub(crate) const SETTINGS: [Setting; 10] = [
    Setting {
        flag: "workers",
        variable: "RADDLE_WORKERS",
        value: Some("N"),
        help: "OS threads that run the program; as many as there are usable cores if not given",
    },
    Setting {
        flag: "balance",
        variable: "RADDLE_BALANCE",
        value: Some("steal|share|fair|none"),
        help: "How work gets from a busy worker to an idle one; `none` leaves it where it was put",
    },
    Setting {
        flag: "queues",
        variable: "RADDLE_QUEUES",
        value: Some("worker|group:N|shared"),
        help: "Task queues: one a worker, one for each N workers, or one for all",
    },
    Setting {
        flag: "victim",
        variable: "RADDLE_VICTIM",
        value: Some("backlog|random|ring"),
        help: "Whom an idle worker takes work from: the longest published backlog, anybody, or its neighbour",
    },
    Setting {
        flag: "migration",
        variable: "RADDLE_MIGRATION",
        value: Some("on|off"),
        help: "Whether what has already run may move to another worker",
    },
    Setting {
        flag: "tick",
        variable: "RADDLE_TICK",
        value: Some("DURATION"),
        help: "How often a worker publishes its backlog, such as 10ms",
    },
    Setting {
        flag: "pin",
        variable: "RADDLE_PIN",
        value: Some("on|off"),
        help: "Whether each worker stays on one core",
    },
    Setting {
        flag: "spin",
        variable: "RADDLE_SPIN",
        value: Some("DURATION"),
        help: "How long an idle worker looks around before it sleeps, such as 20us",
    },
    Setting {
        flag: "stack-size",
        variable: "RADDLE_STACK_SIZE",
        value: Some("BYTES"),
        help: "Stack of a process that asks for no size of its own",
    },
    Setting {
        flag: "stats",
        variable: "RADDLE_STATS",
        value: None,
        help: "Print the runtime's counters to standard error when the program ends",
    },
];

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

fn option(setting: &Setting) -> Arg {
    let arg = Arg::new(setting.variable)
        .long(setting.flag)
        .help(format!("{} [{}]", setting.help, setting.variable))
        .help_heading("Settings of the runtime");
    match setting.value {
        Some(name) => arg.value_name(name).value_parser(clap::value_parser!(OsString)),
        None => arg.action(ArgAction::SetTrue),
    }
}

impl clap::FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |setting: &Setting| match setting.value {
            Some(_) => matches.get_one::<OsString>(setting.variable).cloned(),
            None => matches.get_flag(setting.variable).then(|| OsString::from("1")),
        };
        let given = SETTINGS.iter().filter_map(|setting| Some((setting.variable, value(setting)?)));
        Ok(Settings { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[test]
fn a_flag_and_its_variable_say_the_same() {
    for setting in &SETTINGS {
        let from_flag = format!("RADDLE_{}", setting.flag.to_uppercase().replace('-', "_"));
        assert_eq!(setting.variable, from_flag);
    }
}

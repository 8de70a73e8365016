//! Owns: the libraries that are written in occam and come with the front end.
//! May use: nothing.
//! Never: reads files; the texts are part of this crate.

/// Routines that occam 2.1 predefines and that are written in occam themselves.
pub(crate) const PREDEFINED: &str = include_str!("../library/predefined.occ");

/// The name under which places in it are shown.
pub(crate) const PREDEFINED_NAME: &str = "predefined.occ (of raddle)";

/// The course library: what programs for people to read and write to use most.
const COURSE: &str = include_str!("../library/course.occ");

/// The names by which programs ask for it.
const COURSE_NAMES: &[&str] = &[
    "course",
    "course.lib",
    "course.module",
    "course.occ",
    "consts.inc",
    "utils.inc",
    "utils",
    "cycles.inc",
    "shared_screen.inc",
    "random.inc",
    "file_in.inc",
    "stream_modes.inc",
    "dynamic_out.inc",
    "float_io.occ",
];

/// What a program reads its command line with.
const ARGUMENTS: &str = include_str!("../library/arguments.occ");

/// Constants for real numbers.
const MATHVALS: &str = include_str!("../library/mathvals.occ");

/// Libraries of the INMOS toolset whose routines are predefined here.
const PREDEFINED_LIBRARIES: &[&str] = &[
    "convert",
    "convert.lib",
    "dblmath",
    "dblmath.lib",
    "snglmath",
    "snglmath.lib",
    "tbmaths",
    "tbmaths.lib",
];

/// The library of that name, and how to show it; for files that are found nowhere else.
pub(crate) fn text(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "arguments" | "arguments.module" => Some(("arguments.occ (of raddle)", ARGUMENTS)),
        "mathvals.inc" => Some(("mathvals.occ (of raddle)", MATHVALS)),
        _ if PREDEFINED_LIBRARIES.contains(&name) => Some(("predefined (of raddle)", "")),
        _ => COURSE_NAMES.contains(&name).then_some(("course.occ (of raddle)", COURSE)),
    }
}

/// The library to include for a name.
pub(crate) fn that_declares(name: &str) -> Option<&'static str> {
    let libraries = [("course.module", COURSE), ("arguments.module", ARGUMENTS)];
    libraries.into_iter().find(|(_, text)| declared(text).any(|it| it == name)).map(|(library, _)| library)
}

/// The names of what [`PREDEFINED`] declares.
pub(crate) fn predefined_names() -> impl Iterator<Item = &'static str> {
    declared(PREDEFINED)
}

/// The names of the PROCs and FUNCTIONs of a text.
fn declared(text: &'static str) -> impl Iterator<Item = &'static str> {
    let heading = |line: &'static str| {
        let before = line.split(" (").next()?;
        let mut words = before.split(' ');
        let known = words.any(|word| word == "FUNCTION" || word == "PROC");
        (known && !line.starts_with(' ') && !line.starts_with("--")).then(|| words.next()).flatten()
    };
    text.lines().filter_map(heading)
}

#[test]
fn every_predefined_routine_written_in_occam_is_found() {
    let names: Vec<_> = predefined_names().collect();
    for name in ["FRACMUL", "IEEE32OP", "RAN", "INTTOSTRING", "MOVE2D", "REAL32EQ"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

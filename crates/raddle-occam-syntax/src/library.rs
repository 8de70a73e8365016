//! Owns: the libraries that are written in occam and come with the front end.
//! May use: nothing.
//! Never: reads files; the texts are part of this crate.

/// Routines that occam 2.1 predefines and that are written in occam themselves.
pub const PREDEFINED: &str = include_str!("../library/predefined.occ");

/// The name under which places in it are shown.
pub const PREDEFINED_NAME: &str = "predefined.occ (of raddle)";

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

/// A library: the names by which programs ask for it, the first one to be told; how it is shown; its text.
type Library = (&'static [&'static str], &'static str, &'static str);

macro_rules! libraries {
    ($($file:literal [$($name:literal)+];)*) => {
        &[$((&[$($name),+], concat!($file, " (of raddle)"), include_str!(concat!("../library/", $file))),)*]
    };
}

/// The libraries besides that of the course.
const LIBRARIES: &[Library] = libraries! {
    "arguments.occ" ["arguments.module" "arguments"];
    "mathvals.occ" ["mathvals.inc" "maths.module" "maths"];
    "file.occ" ["file.module" "file" "file.lib" "file.inc"];
    "socket.occ" ["socket.module" "socket" "socket.lib" "socket.inc"];
    "http.occ" ["http.module" "http" "http.inc"];
    "proc.occ" ["proc.module" "proc" "proc.lib" "proc.inc"];
    "env.occ" ["env.module" "env"];
    "time.occ" ["time.module" "time"];
    "random.occ" ["random.module" "random"];
    "stream.occ" ["stream.module" "stream" "streamio.module" "streamio" "streamio.lib" "streamio.inc"];
    "string.occ" ["string.module" "string" "string.lib"];
    "hash.occ" ["hash.module" "hash"];
    "graphics.occ" ["graphics.module" "graphics"];
    "blas.occ" ["blas.module" "blas"];
    "lapack.occ" ["lapack.module" "lapack"];
};

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
    "forall",
    "forall.lib",
];

/// The library of that name, and how to show it; for files that are found nowhere else.
pub fn text(name: &str) -> Option<(&'static str, &'static str)> {
    if let Some(&(_, shown, text)) = LIBRARIES.iter().find(|(names, ..)| names.contains(&name)) {
        return Some((shown, text));
    }
    match name {
        _ if PREDEFINED_LIBRARIES.contains(&name) => Some(("predefined (of raddle)", "")),
        _ => COURSE_NAMES.contains(&name).then_some(("course.occ (of raddle)", COURSE)),
    }
}

/// The libraries that programs include, by their first names.
pub fn library_names() -> impl Iterator<Item = &'static str> {
    std::iter::once("course.module").chain(LIBRARIES.iter().map(|it| it.0[0]))
}

/// The library to include for a name.
pub fn that_declares(name: &str) -> Option<&'static str> {
    let others = LIBRARIES.iter().map(|&(names, _, text)| (names[0], text));
    std::iter::once(("course.module", COURSE))
        .chain(others)
        .find(|(_, text)| declared(text).any(|it| it == name))
        .map(|(library, _)| library)
}

/// The names of what [`PREDEFINED`] declares.
pub fn predefined_names() -> impl Iterator<Item = &'static str> {
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

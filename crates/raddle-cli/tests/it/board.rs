//! Owns: what `raddle flash` and `raddle build --ram` say where they cannot go on, each with its code.
//! May use: the command; a folder in place of the images.
//! Never: qemu, an image: the group `bare` has those.

use super::{raddle, text};
use std::path::{Path, PathBuf};
use std::process::Output;

/// A folder for images, firmware and programs, which is gone when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("raddle-board-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is room");
        Folder(path)
    }

    fn with(self, name: &str, bytes: &[u8]) -> Folder {
        std::fs::write(self.0.join(name), bytes).expect("there is room");
        self
    }

    /// With the images of this folder, and nothing in `PATH`.
    fn raddle(&self, arguments: &[&str]) -> Output {
        let mut command = raddle();
        command.env("RADDLE_BOARDS", &self.0).env("PATH", &self.0).current_dir(&self.0);
        command.args(arguments).output().expect("it starts")
    }

    /// Says these words and ends with that code.
    #[track_caller]
    fn ends(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let output = self.raddle(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{arguments:?} does not say `{word}`: {said}");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn program(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../boards/programs").join(name);
    path.to_str().expect("a path in words").to_owned()
}

#[test]
fn a_board_that_there_is_not_is_refused_with_those_that_there_are() {
    let folder = Folder::new("wrong");
    let wrong = ["flash", "--board", "nope", &program("blink.occ")];
    folder.ends(&wrong, 2, &["'nope'", "lm3s6965evb", "microbit", "sifive_e"]);
    folder.ends(&["flash", &program("blink.occ")], 2, &["--board"]);
}

#[test]
fn what_is_missing_is_named_with_what_brings_it() {
    let folder = Folder::new("missing");
    let blink = program("blink.occ");
    folder.ends(&["flash", "--board", "microbit", "no.occ"], 127, &["no.occ"]);
    folder.ends(&["flash", "--board", "microbit", &blink], 127, &["microbit.img", "cargo xtask boards"]);
    // One that computes with reals asks for the image that has them.
    folder.ends(&["flash", "--board", "microbit", &program("reals.occ")], 127, &["microbit-reals.img"]);
    let folder = folder.with("microbit.img", &[0; 16]);
    let run = ["flash", "--board", "microbit", "--run", "-o", "blink.bin", &blink];
    folder.ends(&run, 127, &["there is no qemu-system-arm", "Debian's package", "blink.bin"]);
    let written = std::fs::read(folder.0.join("blink.bin")).expect("the firmware stays");
    assert_eq!(&written[16..20], b"RDLF");
    folder.ends(&["flash", "--board", "microbit", "-o", "no/where.bin", &blink], 126, &["could not write"]);
}

#[test]
fn what_is_no_program_is_refused() {
    let folder = Folder::new("refused").with("microbit.img", &[0; 16]).with("x.rbc", b"\x7fELF nothing");
    folder.ends(&["flash", "--board", "microbit", "x.rbc"], 126, &["x.rbc"]);
    let folder = folder.with("race.occ", b"PROC main ()\n  INT x:\n  PAR\n    x := 1\n    x := 2\n:\n");
    folder.ends(&["flash", "--board", "microbit", "race.occ"], 1, &["O0701"]);
    // 256 KiB of flash, of which an image takes all.
    let folder = folder.with("microbit.img", &[0; 256 << 10]);
    let blink = program("blink.occ");
    folder.ends(
        &["flash", "--board", "microbit", "-o", "x.bin", &blink],
        126,
        &["the flash of microbit holds"],
    );
}

#[test]
fn a_memory_that_is_too_small_is_refused_and_the_largest_part_named() {
    let folder = Folder::new("ram");
    let blink = program("blink.occ");
    folder.ends(&["build", "--ram", "1K", &blink], 1, &["more than 1024", "most of it", "is stack"]);
    let big = "PROC main ()\n  [100000]INT a:\n  SEQ i = 0 FOR SIZE a\n    a[i] := i\n:\n";
    let folder = folder.with("big.occ", big.as_bytes());
    folder.ends(
        &["build", "--ram", "10K", "big.occ"],
        1,
        &["more than 10240", "is frames", "the array at big.occ:2:3"],
    );
    // As it is flashed, too: what the board has is known there.
    let folder = folder.with("microbit.img", &[0; 16]).with("lm3s6965evb.img", &[0; 16]);
    folder.ends(
        &["flash", "--board", "microbit", "big.occ"],
        1,
        &["microbit: `big.occ` takes", "than 10240"],
    );
    let some = "PROC main ()\n  [4000]INT a:\n  SEQ i = 0 FOR SIZE a\n    a[i] := i\n:\n";
    let folder = folder.with("some.occ", some.as_bytes());
    folder.ends(&["flash", "--board", "microbit", "some.occ"], 1, &["most of it, 16"]);
    let output = folder.raddle(&["flash", "--board", "lm3s6965evb", "-o", "some.bin", "some.occ"]);
    assert!(text(&output.stdout).contains("bytes of memory at most, of 65536"), "{}", text(&output.stderr));
    for wrong in ["0", "10Q", "", "99999999999G", "1.5K"] {
        folder.ends(&["build", &format!("--ram={wrong}"), &blink], 2, &["--ram <SIZE>"]);
    }
}

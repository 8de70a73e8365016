//! Owns: tests of files that this version does not read.
//! May use: `Module::read`, `Module::write`.
//! Never: damaged files; `raddle-vm` tests those, and what happens when they run.

use raddle_bytecode::build::ModuleBuilder;
use raddle_bytecode::{FileError, Module, NUMBERING};

/// A file whose first instruction is an `end`.
fn written() -> Vec<u8> {
    let mut module = ModuleBuilder::new();
    let main = module.declare("main");
    let mut code = module.function();
    code.end();
    module.define(main, code, 2);
    module.entry(main);
    module.finish().write()
}

fn refusal(bytes: &[u8]) -> String {
    Module::read(bytes).expect_err("it is refused").to_string()
}

#[test]
fn a_file_says_its_version_and_its_numbering() {
    let bytes = written();
    assert_eq!(bytes[..8], *b"RDLB\x02\0\0\0");
    assert_eq!(bytes[8..12], NUMBERING.to_le_bytes());
    assert!(Module::read(&bytes).is_ok());
}

#[test]
fn an_old_file_is_refused_by_its_version_and_one_of_another_numbering_by_that() {
    // Version 1 had no numbering: its chunks begin where the numbering stands now.
    let mut old = written();
    old[4] = 1;
    old.drain(8..12);
    assert_eq!(Module::read(&old), Err(FileError::Version(1)));
    assert_eq!(
        refusal(&old),
        "it is a file of version 1, and this raddle reads version 2; compile its source again, with `raddle build`"
    );
    let mut other = written();
    other[8..12].copy_from_slice(&(NUMBERING + 1).to_le_bytes());
    assert_eq!(Module::read(&other), Err(FileError::Numbering(NUMBERING + 1)));
    assert_eq!(
        refusal(&other),
        format!(
            "its instructions have numbering {}, and this raddle has {NUMBERING}; compile its source again, \
             with `raddle build`",
            NUMBERING + 1
        )
    );
}

#[test]
fn an_instruction_that_does_not_exist_is_named_by_its_number() {
    let mut bytes = written();
    let code = bytes.windows(4).position(|tag| tag == b"CODE").expect("there is code");
    bytes[code + 8] = 255;
    assert_eq!(Module::read(&bytes), Err(FileError::Instruction { at: 0, number: 255 }));
    assert!(refusal(&bytes).contains("the number 255"));
}

#[test]
fn what_ends_within_the_header_is_cut_short() {
    let bytes = written();
    for length in 4..12 {
        assert_eq!(refusal(&bytes[..length]), "it is cut short or damaged in `the header`", "{length}");
    }
    assert_eq!(Module::read(b"RDL"), Err(FileError::NotBytecode));
}

#[test]
fn a_name_moves_no_cursor_and_turns_no_text() {
    let named = |name: &str| {
        let mut module = ModuleBuilder::new();
        let main = module.declare(name);
        let mut code = module.function();
        code.end();
        module.define(main, code, 2);
        module.entry(main);
        module.finish()
    };
    let odd = "a\x1b[2J\u{202e}b\n";
    assert_eq!(named(odd).strings, ["a\u{fffd}[2J\u{fffd}b\u{fffd}"]);
    // A file from elsewhere.
    let mut bytes = named("aXXXb").write();
    let at = bytes.windows(5).position(|name| name == b"aXXXb").expect("the name is there");
    bytes[at + 1..at + 4].copy_from_slice("\u{202e}".as_bytes());
    assert_eq!(Module::read(&bytes).expect("it is a module").strings, ["a\u{fffd}b"]);
}

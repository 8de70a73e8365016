//! Object files: a linker puts them together, and what comes of it runs as any other code does.

use crate::support::{Paper, input_of, module, programs, run, run_prepared, verified};
use raddle_bytecode::Verified;
use raddle_jit::Compiler;
use raddle_vm::Machine;
use raddle_vm::native::{CodeEntry, CodeTable, Enter, Keep, NativeCode};
use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs with calls, branches of a PAR, messages of all sizes, errors.
const PROGRAMS: [&str; 6] = ["forks", "alternation", "fault", "fault-subscript", "keyboard", "library-reals"];

/// A library that was opened, as long as its code is needed.
struct Opened(*mut c_void);

impl Keep for Opened {}

// SAFETY: closing it asks for no OS thread.
unsafe impl Send for Opened {}
// SAFETY: nothing is done with a reference to it.
unsafe impl Sync for Opened {}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: it was opened, and who had its code is gone.
        unsafe { libc::dlclose(self.0) };
    }
}

impl Opened {
    fn place(&self, name: &str) -> usize {
        let name = CString::new(name).unwrap();
        // SAFETY: it is open.
        let place = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!place.is_null(), "{name:?} is there");
        place as usize
    }

    fn table<T>(&self, name: &str, count: usize) -> &[T] {
        // SAFETY: so many of them lie there, which the code that made the file says.
        unsafe { std::slice::from_raw_parts(self.place(name) as *const T, count) }
    }
}

/// The machine has the code of an object file, made by the linker to a library.
fn link(machine: &mut Machine<()>, folder: &Path) {
    let program = machine.program();
    let object = Compiler::default().object(program, &input_of(machine)).expect("it can be compiled");
    let (file, library) = (folder.join("program.o"), folder.join("program.so"));
    std::fs::write(&file, object).unwrap();
    // Of another processor's code it is that one's.
    let mut linker = Command::new(std::env::var_os("TEST_CC").unwrap_or_else(|| "cc".into()));
    // Addresses in code are what another linker leaves to the loader unasked.
    let output = linker.args(["-shared", "-Wl,-z,notext", "-o"]).arg(&library).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let name = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: it has no code that runs by itself.
    let opened = Opened(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) });
    assert!(!opened.0.is_null(), "the loader takes it");
    let (leave_there, count) = (opened.place("raddle_leave_there"), program.module().code.len());
    let codes = CodeTable::new(count, leave_there);
    let all = opened.table::<usize>("raddle_codes", count).iter().zip(opened.table("raddle_numbers", count));
    let made = all.enumerate().filter(|(_, (code, _))| **code != leave_there);
    let made = made.map(|(at, (&code, &number))| CodeEntry { at: at as u32, number, code });
    assert!(made.clone().count() > 0, "there is code");
    codes.publish(made, || ());
    // SAFETY: code of this signature lies there.
    let enter = unsafe { std::mem::transmute::<usize, Enter>(opened.place("raddle_enter")) };
    let leave = opened.place("raddle_leave");
    // SAFETY: it was made for this machine by the compiler.
    unsafe { machine.set_native(NativeCode { enter, leave, leave_there, codes, keeper: Box::new(opened) }) };
}

fn corpus(name: &str) -> Verified {
    let path = programs("run").into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    verified(module(&path.unwrap_or_else(|| panic!("{name} is in the corpus"))).unwrap())
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("raddle-object-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn are_the_same(programs: &[&str], seeds: u64) {
    let folder = folder(programs[0]);
    for name in programs {
        let program = corpus(name);
        for seed in 0..seeds {
            let paper = || Paper::new("12 keys\n", 2000);
            let interpreted = run(&program, paper(), (16 << 20, seed), None).unwrap();
            let linked = run_prepared(&program, paper(), (16 << 20, seed), |it| link(it, &folder)).unwrap();
            assert!(interpreted == linked, "{name}:\ninterpreted {interpreted:#?}\nlinked {linked:#?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn machine_code_from_an_object_file_is_the_same() {
    are_the_same(&PROGRAMS[..1], 1);
}

#[test]
fn object_files_of_many_programs_are_the_same() {
    are_the_same(&PROGRAMS[1..], 2);
}

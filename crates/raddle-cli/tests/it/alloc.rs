//! `raddle alloc`, and the page of a heap profile. The library is an empty file here: raddle-alloc's tests have it.

use super::{raddle, text};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alloc");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn a_program_gets_the_library_and_the_options_in_its_own_words() {
    let folder = folder();
    std::fs::write(folder.join("libraddle_alloc.so"), "").expect("a file");
    let mut command = raddle();
    command.args(["alloc", "run", "--stats", "--profile", "heap.%p", "--set", "decay=7", "--", "sh", "-c"]);
    command.arg("echo $RADDLE_ALLOC $LD_PRELOAD").env("RADDLE_ALLOC", "limit=4G");
    let output = command.env("ALLOC_LIBRARY", &folder).env_remove("LD_PRELOAD").output().expect("it starts");
    let library = folder.canonicalize().expect("it is there").join("libraddle_alloc.so");
    let expected = format!("limit=4G,stats=on,profile=heap.%p,decay=7 {}\n", library.display());
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn of_a_program_that_takes_no_library_it_is_said() {
    let folder = folder();
    let image = folder.join("image");
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    std::fs::write(&image, bytes).expect("a file");
    std::fs::write(folder.join("libraddle_alloc.so"), "").expect("a file");
    let mut command = raddle();
    command.args(["alloc", "run", "--stats", "--"]).arg(&image).env("ALLOC_LIBRARY", &folder);
    let said = text(&command.output().expect("it starts").stderr);
    let expected = format!("raddle: `{}` runs as it is: it is linked statically\n", image.display());
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn a_process_without_the_allocator_and_one_that_is_not_there_are_told_apart() {
    let ended = |pid: &str| raddle().args(["alloc", "stats", pid]).output().expect("it starts");
    let none = ended("4194305");
    assert_eq!(none.status.code(), Some(127));
    assert!(text(&none.stderr).contains("there is no process 4194305"));
    let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("sleep is here");
    let without = ended(&other.id().to_string());
    other.kill().expect("it is ours");
    other.wait().expect("it ends");
    assert!(!without.status.success(), "{}", text(&without.stdout));
}

#[test]
fn a_heap_profile_becomes_a_page_and_a_broken_one_is_refused() {
    let folder = folder();
    let view = |name: &str, profile: &str| {
        let file = folder.join(name);
        std::fs::write(&file, profile).expect("a file");
        (
            raddle().args(["trace", "view"]).arg(&file).output().expect("it starts"),
            file.with_extension("html"),
        )
    };
    let whole =
        "heap profile: 1: 2048 [3: 4096] @ heapprofile\n1: 2048 [3: 4096] @ 0x1000\n\nMAPPED_LIBRARIES:\n";
    let (output, page) = view("whole.txt", whole);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains(r#""f":[2048,1,4096,3]"#) && page.contains("0x1000"), "{page}");
    let (output, _) = view("broken.txt", "heap profile: \n1: 2 [3\n");
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("line 2 is no site of a heap profile"), "{}", text(&output.stderr));
}

//! `raddle exec --pthreads`: what it sets, and what it leaves as it is. With OpenMP see raddle-omp's tests.

use super::{raddle, text};
use std::path::{Path, PathBuf};

/// A folder with a file that has the library's name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("libraddle_pthread.so"), "").expect("a file");
    folder.canonicalize().expect("it is there")
}

#[test]
fn the_library_of_pthreads_is_preloaded_and_shown() {
    let folder = folder("shown");
    let mut command = raddle();
    command.args(["exec", "--pthreads", "--alone", "--workers", "3", "--show", "--", "/bin/sh"]);
    let output =
        command.env("PTHREADS_LIBRARY", &folder).env_remove("LD_PRELOAD").output().expect("it starts");
    let library = folder.join("libraddle_pthread.so");
    let expected = format!("LD_PRELOAD={}\nLIBRADDLE_ALONE=1\nRADDLE_WORKERS=3\n", library.display());
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

#[test]
fn a_denied_program_runs_as_it_is_and_others_are_told_which() {
    let folder = folder("denied");
    let shown = |program: &str| {
        let mut command = raddle();
        command.args(["exec", "--pthreads", "--deny", "sh", "--deny", "nginx", "--show", "--", program]);
        let command = command.env("PTHREADS_LIBRARY", &folder).env_remove("LD_PRELOAD");
        text(&command.output().expect("it starts").stdout)
    };
    assert_eq!(shown("/bin/sh"), "raddle: `/bin/sh` runs as it is: it is denied\n");
    assert!(shown("/bin/ls").ends_with("\nLIBRADDLE_DENY=sh:nginx\n"), "{}", shown("/bin/ls"));
}

#[test]
fn a_program_that_it_cannot_serve_runs_as_it_is() {
    let folder = folder("declined");
    let image = folder.join("image");
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18] = 62;
    std::fs::write(&image, bytes).expect("a file");
    let mut command = raddle();
    let output =
        command.args(["exec", "--pthreads", "--show", "--"]).arg(&image).output().expect("it starts");
    let expected = format!("raddle: `{}` runs as it is: it is linked statically\n", image.display());
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn without_the_library_it_says_how_to_build_it() {
    let output = raddle()
        .args(["exec", "--pthreads", "--", "/bin/sh"])
        .env("PTHREADS_LIBRARY", "/nowhere")
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(127));
    assert!(
        text(&output.stderr).contains("where there is no libraddle_pthread.so"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn transactions_are_preloaded_alone_and_before_pthreads() {
    let folder = folder("both");
    std::fs::write(folder.join("libraddle_itm.so"), "").expect("a file");
    let shown = |more: &[&str]| {
        let mut command = raddle();
        command.args(["exec", "--itm", "--show"]).args(more).args(["--", "/bin/sh"]);
        let command = command.env("ITM_LIBRARY", &folder).env("PTHREADS_LIBRARY", &folder);
        text(&command.env_remove("LD_PRELOAD").output().expect("it starts").stdout)
    };
    let (itm, pthreads) = (folder.join("libraddle_itm.so"), folder.join("libraddle_pthread.so"));
    assert_eq!(shown(&[]), format!("LD_PRELOAD={}\n", itm.display()));
    assert_eq!(shown(&["--pthreads"]), format!("LD_PRELOAD={}:{}\n", itm.display(), pthreads.display()));
}

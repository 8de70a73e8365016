//! Owns: programs that know nothing of the allocator run on it, preloaded.
//! May use: `raddle-alloc`.
//! Never: a time.

#![allow(clippy::print_stderr, reason = "it says what is not here")]

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{errors}", output.status);
    output
}

/// The library, built as this program was.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("raddle_alloc"))
}

/// An example that is a library.
fn built(name: &str) -> PathBuf {
    let mut command = Command::new(std::env::var_os("CARGO").expect("a test runs under cargo"));
    command.args(["build", "--quiet", "--package", "raddle-alloc", "--example", name]);
    command.args((!cfg!(debug_assertions)).then_some("--release"));
    succeed(&mut command);
    let program = std::env::current_exe().expect("a test program has a path");
    let profile = program.ancestors().nth(2).expect("it lies in `deps`");
    profile.join(format!("examples/lib{name}.so"))
}

/// A command with the allocator; it is ended where it hangs.
fn preloaded(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["600", "env"]).arg(format!("LD_PRELOAD={}", library().display())).arg(program);
    command
}

/// Compiles a program of this folder, once, and gives its path: what another test runs is not written meanwhile.
fn compiled(name: &str) -> PathBuf {
    static DONE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload").join(name);
    let program = folder().join(format!("alloc-{}", name.replace('.', "-")));
    if done.contains(name) {
        return program;
    }
    let mut compiler = Command::new(if name.ends_with("cpp") { "c++" } else { "cc" });
    compiler.args(["-O1", "-g", "-fno-builtin", "-Wall", "-Wno-alloc-size-larger-than", "-pthread", "-o"]);
    compiler.arg(&program).arg(&source).arg("-ldl");
    succeed(&mut compiler);
    done.insert(name.to_owned());
    program
}

fn check(name: &str) {
    succeed(&mut preloaded(&compiled(name)));
}

#[test]
fn each_function_of_c_does_what_its_page_says() {
    check("surface.c");
}

#[test]
fn each_operator_new_of_cpp_has_its_delete_and_its_exception() {
    check("news.cpp");
}

#[test]
fn a_library_in_cpp_that_a_program_in_c_opens_has_its_exceptions_too() {
    let (program, plugin) = (compiled("opens.c"), folder().join("alloc-plugin.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload/plugin.cpp");
    let with = ["-std=c++17", "-shared", "-fPIC", "-fno-builtin", "-Wall", "-o"];
    succeed(Command::new("c++").args(with).arg(&plugin).arg(source));
    for kind in ["throws", "nothrow", "aligned"] {
        succeed(preloaded(&program).arg(&plugin).arg(kind));
    }
}

#[test]
fn a_program_with_threads_in_malloc_forks_and_the_children_allocate() {
    check("fork.c");
}

#[test]
fn a_signal_handler_that_interrupted_malloc_allocates() {
    check("signal.c");
}

#[test]
fn a_program_allocates_at_bad_moments_and_in_odd_sizes() {
    let program = compiled("hostile.c");
    for kind in ["jump", "destructors", "small stack", "odd", "names"] {
        succeed(preloaded(&program).arg(kind));
    }
}

#[test]
fn a_list_of_free_blocks_that_goes_round_ends_the_program_instead_of_hanging_it() {
    let output = preloaded(&compiled("hostile.c")).arg("twice").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("a block was freed twice") && !output.status.success(),
        "{}: {text}",
        output.status
    );
}

/// A program with the rights of another user, which the library is linked to: none would be preloaded.
#[test]
fn a_program_with_more_rights_than_its_caller_reads_no_options() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let libraries = library().parent().expect("a file has a folder");
    let program = folder().join("alloc-rights");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload/hostile.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-w", "-pthread", "-o"]).arg(&program).arg(source).arg("-L").arg(libraries);
    succeed(compiler.arg("-lraddle_alloc").arg(format!("-Wl,--no-as-needed,-rpath,{}", libraries.display())));
    let mut command = Command::new(&program);
    command.arg("rights").env("RADDLE_ALLOC", "speed=11");
    let refused = command.output().expect("it starts");
    assert_eq!(refused.status.code(), Some(2), "with no other rights it does");
    let is_set = chown(&program, Some(65534), None).is_ok()
        && std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).is_ok();
    let has_more = is_set && succeeds(Command::new(&program).arg("rights"));
    if !has_more {
        eprintln!("only root can give a program other rights, where the file system lets it; left out");
        return;
    }
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

fn succeeds(command: &mut Command) -> bool {
    command.status().expect("it starts").success()
}

#[test]
fn at_the_limit_blocks_become_smaller() {
    succeed(preloaded(&compiled("limit.c")).env("RADDLE_ALLOC", "limit=400M"));
}

#[test]
fn a_program_with_little_address_space_has_what_there_is() {
    // A whole arena is more than that.
    let script = "ulimit -v 40000; ls / | sort | wc -l; x=$(seq 1 2000 | sort -n | tail -1); echo $x";
    let output = succeed(preloaded(Path::new("bash")).arg("-c").arg(script));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("\n2000\n"));
    succeed(preloaded(Path::new("true")).env("RADDLE_ALLOC", "limit=3M"));
}

#[test]
fn large_blocks_that_were_freed_go_back_to_the_kernel() {
    succeed(preloaded(&compiled("decay.c")).env("RADDLE_ALLOC", "decay=10"));
}

#[test]
fn a_library_that_was_closed_still_ends_its_threads() {
    let program = compiled("late.c");
    succeed(Command::new("timeout").arg("600").arg(program).arg(library()));
}

#[test]
fn a_library_with_an_allocator_of_its_own_is_closed_before_its_threads_end() {
    let program = compiled("closed.c");
    succeed(Command::new("timeout").arg("600").arg(program).arg(built("raddle_closed")));
}

#[test]
fn a_shell_with_pipes_sorts() {
    let script = "for n in 5 3 9 1; do echo $n; done | sort -n | tr '\\n' ' '; \
                  x=$(seq 1 2000 | sort -R | sort -n | tail -1); echo $x";
    let output = succeed(preloaded(Path::new("bash")).arg("-c").arg(script));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 3 5 9 2000\n");
}

#[test]
fn python_runs_with_threads() {
    if Command::new("python3").arg("-c").arg("").output().is_err() {
        eprintln!("python3 is not here");
        return;
    }
    let script = "import threading, json\n\
                  def one(n): return json.loads(json.dumps({str(k): [k] * n for k in range(50)}))\n\
                  def work(n): return [one(n) for _ in range(20)]\n\
                  threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]\n\
                  [t.start() for t in threads]; [t.join() for t in threads]\n\
                  print(sum(len(str(k)) for k in range(100000)))";
    let output = succeed(preloaded(Path::new("python3")).env("PYTHONMALLOC", "malloc").args(["-c", script]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "488890\n");
}

#[test]
fn statistics_are_told_and_a_wrong_option_is_refused() {
    let output =
        succeed(preloaded(Path::new("true")).env("RADDLE_ALLOC", "stats=on,decay=100,huge_pages=never"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("{\"mapped_bytes\": ") && text.ends_with("]}\n"), "{text}");
    let output = preloaded(Path::new("true")).env("RADDLE_ALLOC", "speed=11").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("`speed=11` is no option; allowed: decay, limit"), "{text}");
    assert_eq!(output.status.code(), Some(2));
    let no_text = std::os::unix::ffi::OsStrExt::from_bytes(b"decay=5,\xff");
    let no_text: &std::ffi::OsStr = no_text;
    let output = preloaded(Path::new("true")).env("RADDLE_ALLOC", no_text).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_heap_profile_has_what_is_in_use_by_who_allocated_it() {
    let file = folder().join("alloc-heap.txt");
    let options = format!("profile={},profile_interval=16K", file.display());
    let mut command = Command::new(compiled("profile.c"));
    succeed(command.env("LD_PRELOAD", library()).env("RADDLE_ALLOC", options));
    let text = std::fs::read_to_string(&file).expect("the program has written it");
    let (sites, maps) = text.split_once("MAPPED_LIBRARIES:").expect("it ends with the mappings");
    assert!(maps.contains("alloc-profile-c"), "{maps}");
    let figures = |line: &str| -> Vec<i64> {
        let figures = line.split(" @").next().unwrap_or("").replace(['[', ']', ':'], " ");
        figures.split_whitespace().filter_map(|figure| figure.parse().ok()).collect()
    };
    let sites: Vec<_> = sites.lines().skip(1).map(figures).filter(|figures| figures.len() == 4).collect();
    // Blocks of 1000 bytes are of the class of 1024. Samples: a thousandth is what one stands for.
    let is_near = |bytes: i64, wanted: i64| (bytes - wanted).abs() < wanted / 4;
    let kept = |wanted| sites.iter().any(|site| is_near(site[1], wanted) && site[1] == site[3]);
    assert!(kept(1_024_000) && kept(100_000_000), "{text}");
    let freed = |site: &&Vec<i64>| site[1] == 0 && is_near(site[3], 1_024_000_000);
    assert!(sites.iter().any(|site| freed(&site)), "{text}");
}

#[test]
fn a_profile_that_cannot_be_written_is_told() {
    let file = folder().join("no such folder/heap.txt");
    let mut command = preloaded(Path::new("true"));
    let output = succeed(command.env("RADDLE_ALLOC", format!("profile={}", file.display())));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("the heap profile could not be written"), "{text}");
}

#[test]
fn the_figures_of_another_process_are_read_from_outside() {
    let mut command = Command::new("cat");
    command.env("LD_PRELOAD", library()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut cat = command.spawn().expect("cat is here");
    let (mut to, mut from) = (cat.stdin.take().expect("a pipe"), cat.stdout.take().expect("a pipe"));
    to.write_all(b"x").expect("it reads");
    from.read_exact(&mut [0]).expect("it writes: it is at work, and waits");
    let figures = raddle_alloc::statistics_of(cat.id());
    drop(to);
    assert!(cat.wait().expect("it ends").success());
    match figures {
        Ok(figures) => {
            assert_eq!((figures.heaps, figures.arena_bytes), (1, 32 << 20));
            let used = figures.classes.iter().filter(|class| class.blocks > 0);
            assert!(used.clone().count() > 3, "cat has blocks of some sizes: {figures}");
            let bytes: usize = used.map(|class| class.blocks * class.block_bytes).sum();
            assert!((1..=figures.touched_bytes).contains(&bytes), "{figures}");
            assert!(figures.to_string().starts_with("{\"mapped_bytes\": "));
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => eprintln!("nobody may look: {error}"),
        Err(error) => panic!("{error}"),
    }
    let without = Command::new("sleep").arg("60").spawn();
    let mut without = without.expect("sleep is here");
    assert!(raddle_alloc::statistics_of(without.id()).is_err());
    without.kill().expect("it is ours");
    without.wait().expect("it ends");
}

#[test]
fn the_hardened_mode_notices_misuse_and_nothing_else() {
    let program = compiled("misuse.c");
    let told = [
        ("twice", "a block is freed twice"),
        ("large twice", "a large block is freed twice"),
        ("middle", "a pointer into the middle of a block is freed"),
        ("middle of a run", "a pointer into the middle of a block is freed"),
        ("middle of a mapping", "a pointer into the middle of a block is freed"),
        ("stack", "a pointer is freed that this allocator has not given out"),
        ("hole", "a pointer is freed that this allocator has not given out"),
        ("size of the stack's", "realloc or malloc_usable_size of a pointer that this allocator"),
        ("grow the middle", "realloc or malloc_usable_size of a pointer that this allocator"),
        ("grow", "realloc or malloc_usable_size of a block after it was freed"),
        ("after", "a block was written to after it had been freed"),
        ("link", "the link in a free block was overwritten"),
        ("beyond", ""),
        ("beyond a mapping", ""),
    ];
    succeed(preloaded(&program).arg("nothing").env("RADDLE_ALLOC", "hardened=on"));
    for (kind, expected) in told {
        let output = preloaded(&program).arg(kind).env("RADDLE_ALLOC", "hardened=on").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(expected), "{kind}: {}\n{text}", output.status);
        if kind == "twice" {
            let places = text.matches("alloc-misuse-c+0x").count();
            assert!(text.contains("allocated at") && text.contains("freed now at") && places >= 3, "{text}");
        }
    }
}

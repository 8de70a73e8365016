//! The same program with the standard library's files and children and with ours, which say the same.

use crate::everywhere;

macro_rules! programs {
    ($module:ident, $fs:path, $process:path) => {
        mod $module {
            use std::fmt::Write as _;
            use std::io::{ErrorKind, IoSlice, IoSliceMut, Read as _, Seek as _, SeekFrom, Write as _};
            use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
            use std::os::unix::fs::{
                DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _,
            };
            use std::path::Path;
            use std::time::{Duration, SystemTime};
            use $fs as fs;
            use $process as process;

            fn folders(at: &Path, said: &mut String) {
                fs::create_dir_all(at.join("a/b")).unwrap();
                let again = fs::create_dir(at.join("a")).map_err(|error| error.kind());
                fs::DirBuilder::new().recursive(true).mode(0o700).create(at.join("c/d")).unwrap();
                let mode = fs::metadata(at.join("c/d")).unwrap().mode() & 0o777;
                fs::write(at.join("a/text"), "some words").unwrap();
                fs::copy(at.join("a/text"), at.join("a/copy")).unwrap();
                fs::hard_link(at.join("a/text"), at.join("a/same")).unwrap();
                std::os::unix::fs::symlink("text", at.join("a/way")).unwrap();
                let way = fs::read_link(at.join("a/way")).unwrap();
                let is_way = fs::symlink_metadata(at.join("a/way")).unwrap().file_type().is_symlink();
                fs::rename(at.join("a/copy"), at.join("a/b/moved")).unwrap();
                let whole = fs::canonicalize(at.join("a/b/../way")).unwrap().ends_with("a/text");
                let mut names: Vec<_> =
                    fs::read_dir(at.join("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                names.sort();
                let text = fs::read_to_string(at.join("a/b/moved")).unwrap();
                let bytes = fs::read(at.join("a/same")).unwrap().len();
                fs::remove_file(at.join("a/same")).unwrap();
                let there = fs::exists(at.join("a/same")).unwrap();
                let full = fs::remove_dir(at.join("a")).map_err(|error| error.kind());
                fs::remove_dir(at.join("c/d")).unwrap();
                fs::remove_dir_all(at.join("a")).unwrap();
                writeln!(said, "{again:?} {mode:o} {way:?} {is_way} {whole} {names:?}").unwrap();
                writeln!(said, "{text} {bytes} {there} {full:?}").unwrap();
            }

            fn files(at: &Path, said: &mut String) {
                let path = at.join("file");
                let mut file = fs::File::create_new(&path).unwrap();
                let twice = fs::File::create_new(&path).map(drop).map_err(|error| error.kind());
                let parts = [IoSlice::new(b"one "), IoSlice::new(b"two")];
                let written = file.write_vectored(&parts).unwrap();
                file.flush().unwrap();
                file.sync_all().unwrap();
                file.sync_data().unwrap();
                file.seek(SeekFrom::Start(4)).unwrap();
                let (mut one, mut two) = ([0; 2], [0; 9]);
                let mut parts = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
                let read = file.read_vectored(&mut parts).unwrap();
                file.write_all_at(b"TWO and more", 4).unwrap();
                let mut middle = [0; 3];
                file.read_exact_at(&mut middle, 4).unwrap();
                let (at_end, behind) =
                    (file.read_at(&mut middle, 100).unwrap(), file.write_at(b"x", 20).unwrap());
                file.set_len(7).unwrap();
                let length = file.metadata().unwrap().len();
                let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
                file.set_modified(past).unwrap();
                let since = file.metadata().unwrap().modified().unwrap() == past;
                file.set_times(fs::FileTimes::new().set_accessed(past)).unwrap();
                let mut rights = file.metadata().unwrap().permissions();
                rights.set_readonly(true);
                file.set_permissions(rights.clone()).unwrap();
                fs::set_permissions(&path, rights).unwrap();
                let text = String::from_utf8_lossy(&middle).into_owned();
                writeln!(
                    said,
                    "{twice:?} {written} {read} {one:?} {two:?} {text} {at_end} {behind} {length} {since}"
                )
                .unwrap();
            }

            fn ways_to_open(at: &Path, said: &mut String) {
                let path = at.join("opened");
                let missing = fs::OpenOptions::new().read(true).open(&path).map(drop).map_err(|e| e.kind());
                let nothing = fs::OpenOptions::new().open(&path).map(drop).map_err(|e| e.kind());
                let made = fs::OpenOptions::new().write(true).create(true).mode(0o600).open(&path).unwrap();
                let mode = made.metadata().unwrap().mode() & 0o777;
                let mut added = fs::File::options().append(true).open(&path).unwrap();
                added.write_all(b"added").unwrap();
                let clone = added.try_clone().unwrap();
                let number = (clone.as_raw_fd() >= 0) && clone.as_fd().as_raw_fd() == clone.as_raw_fd();
                let mut from_owned = fs::File::from(OwnedFd::from(clone));
                from_owned.write_all(b" more").unwrap();
                let truncated = fs::OpenOptions::new().write(true).truncate(true).open(&path).map(drop);
                let unread = (&added).read(&mut [0]).map_err(|error| error.raw_os_error());
                writeln!(said, "{missing:?} {nothing:?} {mode:o} {number} {truncated:?} {unread:?}").unwrap();
            }

            fn locks(at: &Path, said: &mut String) {
                let path = at.join("locked");
                let (one, other) = (fs::File::create(&path).unwrap(), fs::File::open(&path).unwrap());
                one.lock().unwrap();
                let refused = matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock));
                let shared = matches!(other.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
                one.unlock().unwrap();
                one.lock_shared().unwrap();
                other.try_lock_shared().unwrap();
                writeln!(said, "{refused} {shared}").unwrap();
            }

            fn children(at: &Path, said: &mut String) {
                let mut shell = process::Command::new("sh");
                shell.arg("-c").args(["cat; echo $WORD $0 >&2; pwd; exit 3", "name"]);
                shell.env_clear().env("WORD", "word").envs([("OTHER", "other")]).env_remove("OTHER");
                shell.env("PATH", "/bin:/usr/bin").current_dir(at);
                shell.stdin(process::Stdio::piped()).stdout(process::Stdio::piped());
                shell.stderr(process::Stdio::piped());
                let (program, folder) = (shell.get_program().to_owned(), shell.get_current_dir().is_some());
                let (arguments, variables) = (shell.get_args().count(), shell.get_envs().count());
                let mut child = shell.spawn().unwrap();
                child.stdin.take().unwrap().write_all(b"what it reads\n").unwrap();
                let output = child.wait_with_output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout).replace(at.to_str().unwrap(), "HERE");
                let errors = String::from_utf8_lossy(&output.stderr).into_owned();
                writeln!(said, "{program:?} {folder} {arguments} {variables}").unwrap();
                writeln!(said, "{text} {errors} {}", output.status).unwrap();
                let status = process::Command::new("sh").args(["-c", "exit 7"]).status().unwrap();
                let output = process::Command::new("echo").arg("all").output().unwrap();
                let mut waits = process::Command::new("sleep").arg("600").spawn().unwrap();
                let (before, id) = (waits.try_wait().unwrap(), waits.id() > 0);
                waits.kill().unwrap();
                let after = waits.wait().unwrap();
                let again = (waits.wait().unwrap() == after, waits.try_wait().unwrap() == Some(after));
                let missing =
                    process::Command::new("/no/such/program").spawn().map(drop).map_err(|e| e.kind());
                assert_eq!(missing, Err(ErrorKind::NotFound));
                writeln!(said, "{status} {output:?} {before:?} {id} {after} {again:?}").unwrap();
            }

            pub(super) fn say(name: &str) -> String {
                let at = std::env::temp_dir().join(format!("raddle-files-{}-{name}", std::process::id()));
                std::fs::create_dir_all(&at).unwrap();
                let at = std::fs::canonicalize(at).unwrap();
                let mut said = String::new();
                for program in [folders, files, ways_to_open, locks, children] {
                    program(&at, &mut said);
                }
                std::fs::remove_dir_all(&at).unwrap();
                said
            }
        }
    };
}

programs!(of_std, std::fs, std::process);
programs!(ours, raddle_net::fs, raddle_net::process);

#[test]
fn files_and_children_are_as_stds() {
    let expected = of_std::say("std");
    assert_eq!(ours::say("os"), expected);
    everywhere(|| assert_eq!(ours::say("process"), expected));
}

#[test]
fn a_child_that_says_much_is_heard_whole() {
    use raddle_net::process::{Command, Stdio};
    everywhere(|| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; cat"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = shell.spawn().unwrap().wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 200_000));
    });
}

fn own_path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("raddle-{name}-{}", std::process::id()))
}

/// On one worker, who waits behind a read runs only if that leaves the worker.
#[test]
fn a_read_of_what_is_in_the_page_cache_stays_on_its_worker() {
    use raddle::csp;
    use std::io::Read as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let path = own_path("cached");
    std::fs::write(&path, [7; 4096]).unwrap();
    let mut byte = [0];
    let parts = &mut [std::io::IoSliceMut::new(&mut byte)];
    let flags = rustix::io::ReadWriteFlags::NOWAIT;
    if rustix::io::preadv2(std::fs::File::open(&path).unwrap(), parts, 0, flags).is_err() {
        // The file system of this folder does not know reads without a wait.
        return std::fs::remove_file(&path).unwrap();
    }
    let runtime = raddle::Runtime::builder().workers(1).build().unwrap();
    let stayed = runtime.run(|| {
        let stays = || {
            let mut file = raddle_net::fs::File::open(&path).unwrap();
            let ran = Arc::new(AtomicBool::new(false));
            let behind = csp::spawn({
                let ran = ran.clone();
                move || ran.store(true, Ordering::Relaxed)
            });
            let mut bytes = [0; 4096];
            file.read_exact(&mut bytes).unwrap();
            let stayed = !ran.load(Ordering::Relaxed);
            behind.join().unwrap();
            assert_eq!(bytes, [7; 4096]);
            stayed
        };
        // The slice may be over just then, and the page may have gone.
        (0..100).filter(|_| stays()).count()
    });
    std::fs::remove_file(&path).unwrap();
    assert!(stayed > 0, "each of 100 reads left the worker");
}

/// A pipe with a name, what the kernel makes up, ends of files, places far behind them.
#[test]
fn reads_that_the_cache_has_nothing_for_wait_or_fail_as_stds() {
    use raddle::csp;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::FileExt as _;
    let pipe = own_path("pipe");
    everywhere(|| {
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let reader = csp::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = [0; 5];
                raddle_net::fs::File::open(&pipe).unwrap().read_exact(&mut text).map(|()| text)
            }
        });
        let mut writer = raddle_net::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        csp::yield_now();
        writer.write_all(b"he").unwrap();
        csp::sleep(std::time::Duration::from_millis(2));
        writer.write_all(b"llo").unwrap();
        assert_eq!(&reader.join().unwrap().unwrap(), b"hello");
        std::fs::remove_file(&pipe).unwrap();

        let mut status = String::new();
        let mut file = raddle_net::fs::File::open("/proc/self/status").unwrap();
        let mut first = [0; 5];
        assert_eq!(file.read(&mut first).unwrap(), 5);
        file.read_to_string(&mut status).unwrap();
        assert!(first == *b"Name:" && status.contains("\nVmRSS:"));

        let (ours, stds) = (raddle_net::fs::File::open("Cargo.toml"), std::fs::File::open("Cargo.toml"));
        let (ours, stds) = (ours.unwrap(), stds.unwrap());
        let end = stds.metadata().unwrap().len();
        for at in [end - 1, end, end + 1, i64::MAX as u64, u64::MAX] {
            let (mut by_ours, mut by_stds) = ([0; 9], [0; 9]);
            let read = |result: std::io::Result<usize>| result.map_err(|error| error.kind());
            assert_eq!(read(ours.read_at(&mut by_ours, at)), read(stds.read_at(&mut by_stds, at)), "{at}");
            assert_eq!(by_ours, by_stds);
            let exact = |result: std::io::Result<()>| result.map_err(|error| error.kind());
            assert_eq!(
                exact(ours.read_exact_at(&mut by_ours, at)),
                exact(stds.read_exact_at(&mut by_stds, at)),
                "{at}"
            );
        }
    });
}

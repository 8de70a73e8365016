//! An end for a program of tests that hangs: nothing of it need think of that, and whoever waits for it learns of it.
//!
//! It begins before `main`. In the program that has the tests it is an OS thread, which aborts the program after half
//! an hour and says which OS threads there were: those of tests have their names, of which the harness has also said
//! that they run for long. It counts its own short sleeps, not the clock, so that a stopped program does not count as
//! one that hangs. In a program that a test has started, where another OS thread might change what is tested, it is
//! the kernel's alarm, which ends the program after a quarter of an hour: its parent sees that it ended by `SIGALRM`.
//!
//! That is no assertion about time. It is many times what any program takes, under a sanitizer, by an emulator, or
//! beside ten others. The long forms of tests (`REFUSE=every`) get twelve hours.

use std::io::Write as _;
use std::time::Duration;

/// Says to a test that it is the child. Does not begin with the runtime's prefix: the runtime refuses what it does
/// not know.
pub(super) const CHILD: &str = "TEST_CHILD";

const BEAT: Duration = Duration::from_secs(1);
const BEATS_MAX: u32 = 1800;
const BEATS_MAX_OF_LONG_FORMS: u32 = 12 * 60 * 60;
const CHILD_SECONDS_MAX: u32 = 900;

unsafe extern "C" {
    safe fn alarm(seconds: u32) -> u32;
}

#[used]
#[unsafe(link_section = ".init_array.00102")]
static BEFORE_MAIN: extern "C" fn() = begin;

extern "C" fn begin() {
    if std::env::var_os(CHILD).is_some() {
        alarm(CHILD_SECONDS_MAX);
        return;
    }
    let is_long = std::env::var_os("REFUSE").is_some_and(|it| it == "every");
    let beats_max = if is_long { BEATS_MAX_OF_LONG_FORMS } else { BEATS_MAX };
    let guard = std::thread::Builder::new().name("guard".to_owned());
    // Without it the tests are the same.
    let _refused = guard.spawn(move || {
        (0..beats_max).for_each(|_| std::thread::sleep(BEAT));
        // Not by a macro, whose output the harness keeps.
        let text = format!("guard: this program of tests does not end; its OS threads: {}\n", os_threads());
        let _nowhere = std::io::stderr().write_all(text.as_bytes());
        std::process::abort();
    });
}

/// Their names, and in what state the kernel has them.
fn os_threads() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let told = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let (name, state) =
            stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") ")).unwrap_or_default();
        format!("{name} {}", state.chars().next().unwrap_or('?'))
    };
    tasks.map(told).collect::<Vec<_>>().join(", ")
}

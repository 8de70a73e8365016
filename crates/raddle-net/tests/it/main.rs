//! Sockets and other descriptors: as the standard library's, from whatever waits.

mod as_std;
#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;
mod descriptors;
mod dumps;
mod ends;
mod files;
mod hostile;
mod many;
mod signals;
mod sim;
mod slices;
mod sockets;
mod storm;
mod tasks;

use raddle::{Balance, Runtime, csp, thread};
use std::io::Write as _;
use std::sync::Once;
use std::time::Duration;

/// A wake that is lost is a program that hangs: it ends, after so long that no machine is so slow.
fn watched() {
    static WATCHDOG: Once = Once::new();
    WATCHDOG.call_once(|| {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(900));
            let _unwritable = writeln!(std::io::stderr(), "the tests hang:\n{}", raddle::dump());
            std::process::abort();
        });
    });
}

/// Runs it on one worker and on two, by two ways in which idle workers find work.
fn everywhere(f: impl Fn() + Sync + Send) {
    watched();
    for workers in [1, 2] {
        for balance in [Balance::Steal, Balance::Share] {
            let runtime = Runtime::builder().workers(workers).balance(balance).build().expect("a runtime");
            runtime.run(&f);
        }
    }
}

/// Whoever may wait by a call.
#[derive(Clone, Copy, Debug)]
enum WaiterKind {
    Process,
    Thread,
    OsThread,
}

const KINDS: [WaiterKind; 3] = [WaiterKind::Process, WaiterKind::Thread, WaiterKind::OsThread];

/// Runs `f` as one of that kind; what is returned waits for its end.
fn start<T: Send + 'static>(
    kind: WaiterKind,
    f: impl FnOnce() -> T + Send + 'static,
) -> Box<dyn FnOnce() -> T + Send> {
    match kind {
        WaiterKind::Process => {
            let handle = csp::spawn(f);
            Box::new(move || handle.join().unwrap())
        }
        WaiterKind::Thread => {
            let handle = thread::spawn(f);
            Box::new(move || handle.join().unwrap())
        }
        WaiterKind::OsThread => {
            let handle = std::thread::spawn(f);
            Box::new(move || raddle::blocking(|| handle.join()).unwrap())
        }
    }
}

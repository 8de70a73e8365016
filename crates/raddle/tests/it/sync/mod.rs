//! The documented behaviour of `std::sync`, item by item: each case runs against `std` on OS threads, and against ours
//! on OS threads, in processes of a runtime, and in both at once. All must agree.

/// Declares the cases in a world, which brings `sync`, `go` and `run`.
macro_rules! cases {
    () => {
        #[path = "barrier.rs"]
        mod barrier;
        #[path = "condvar.rs"]
        mod condvar;
        #[path = "lazy.rs"]
        mod lazy;
        #[path = "mpsc.rs"]
        mod mpsc;
        #[path = "mutex.rs"]
        mod mutex;
        #[path = "once.rs"]
        mod once;
        #[path = "rwlock.rs"]
        mod rwlock;
        #[path = "types.rs"]
        mod types;
    };
}

mod bad_use;
#[path = "cases"]
mod std_on_threads {
    pub(crate) use std::sync;
    pub(crate) use std::thread::{spawn as go, yield_now};

    pub(crate) fn run(test: impl FnOnce() + Send + 'static) {
        test();
    }
    cases!();
}
#[path = "cases"]
mod ours_on_threads {
    pub(crate) use raddle::sync;
    pub(crate) use std::thread::{spawn as go, yield_now};

    pub(crate) fn run(test: impl FnOnce() + Send + 'static) {
        test();
    }
    cases!();
}
#[path = "cases"]
mod ours_in_processes {
    pub(crate) use raddle::csp::{spawn as go, yield_now};
    pub(crate) use raddle::sync;

    pub(crate) fn run(test: impl FnOnce() + Send + 'static) {
        raddle::csp::spawn(test).join().unwrap();
    }
    cases!();
}
#[path = "cases"]
mod ours_mixed {
    //! Every second is a process, the others are OS threads.
    pub(crate) use raddle::csp::yield_now;
    pub(crate) use raddle::sync;
    use std::sync::atomic::{AtomicBool, Ordering};

    static PROCESS: AtomicBool = AtomicBool::new(false);

    pub(crate) enum Handle<T> {
        Process(raddle::csp::JoinHandle<T>),
        Thread(std::thread::JoinHandle<T>),
    }

    impl<T> Handle<T> {
        pub(crate) fn join(self) -> std::thread::Result<T>
        where
            T: Send,
        {
            match self {
                Handle::Process(handle) => handle.join(),
                // What is joined may wait for a process of this very worker.
                Handle::Thread(handle) => raddle::blocking(|| handle.join()),
            }
        }
    }

    pub(crate) fn go<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Handle<T> {
        if PROCESS.fetch_xor(true, Ordering::Relaxed) {
            Handle::Process(raddle::csp::spawn(f))
        } else {
            Handle::Thread(std::thread::spawn(f))
        }
    }

    pub(crate) fn run(test: impl FnOnce() + Send + 'static) {
        go(test).join().unwrap();
    }
    cases!();
}

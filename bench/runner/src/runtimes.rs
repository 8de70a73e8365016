//! Owns: the table of runtimes: their names, and how a program on each is built.
//! May use: nothing.
//! Never: building one, which is [`crate::programs`]'s; what runs on which, which is in [`crate::catalogue`].

/// What programs run on.
pub struct Runtime {
    /// Its name on the command line, in file names and in results.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    pub built: Built,
}

/// How a program is built.
#[derive(Clone, Copy)]
pub enum Built {
    /// By cargo, in the package `runtimes/<runtime>`.
    Rust,
    /// It is the program of another runtime in Rust, run with [`VARIANT`] set to this one's name.
    VariantOf(&'static str),
    /// The same, of occam, whose variant has the installed `raddle-native` run it.
    Native(&'static str),
    Go,
    Java,
    Ghc,
    Erlang,
    Cpp(Library),
    /// In C, with the POSIX threads of the C library, compiled with these options.
    C(&'static [&'static str]),
    /// The program of another runtime in C, compiled by clang with the same options.
    Clang(&'static str),
    /// The program of another runtime in C, run with a library of Raddle's.
    Preloaded(Preloaded),
    /// The program of another runtime in C, run with a library that is installed.
    Found(Found),
}

/// A library of C++: a header to detect it, the Debian package, compiler options.
#[derive(Clone, Copy)]
pub struct Library {
    pub header: &'static str,
    pub package: &'static str,
    pub options: &'static [&'static str],
}

const OPENMP: Library = Library { header: "omp.h", package: "g++", options: &["-fopenmp"] };
const TBB: Library = Library { header: "tbb/task_group.h", package: "libtbb-dev", options: &["-ltbb"] };
const BOOST: Library = Library {
    header: "boost/fiber/all.hpp",
    package: "libboost-fiber-dev",
    options: &["-lboost_fiber", "-lboost_context", "-pthread"],
};

/// Every runtime that occurs, in the order of the tables.
pub const RUNTIMES: &[Runtime] = &[
    Runtime { name: "raddle", title: "Raddle", built: Built::Rust },
    Runtime { name: "light", title: "Raddle, light processes", built: Built::VariantOf("raddle") },
    Runtime { name: "occam", title: "occam on the VM", built: Built::Rust },
    Runtime { name: "occam-native", title: "occam native", built: Built::Native("occam") },
    Runtime { name: "go", title: "Go", built: Built::Go },
    Runtime { name: "java", title: "Java virtual threads", built: Built::Java },
    Runtime { name: "ghc", title: "GHC", built: Built::Ghc },
    Runtime { name: "erlang", title: "Erlang", built: Built::Erlang },
    Runtime { name: "openmp", title: "OpenMP", built: Built::Cpp(OPENMP) },
    Runtime { name: "tbb", title: "oneTBB", built: Built::Cpp(TBB) },
    Runtime { name: "boost", title: "Boost.Fiber", built: Built::Cpp(BOOST) },
    Runtime { name: "floor", title: "the floor", built: Built::Rust },
    Runtime { name: "rayon", title: "Rayon", built: Built::Rust },
    Runtime { name: "chili", title: "chili", built: Built::Rust },
    Runtime { name: "tokio", title: "tokio", built: Built::Rust },
    Runtime { name: "smol", title: "smol", built: Built::Rust },
    Runtime { name: "may", title: "may", built: Built::Rust },
    Runtime { name: "std", title: "OS threads", built: Built::Rust },
    Runtime { name: "parking_lot", title: "parking_lot", built: Built::Rust },
    Runtime { name: "kernel", title: "the kernel", built: Built::Rust },
    Runtime { name: "stm", title: "stm", built: Built::Rust },
    Runtime { name: "fast-stm", title: "fast-stm", built: Built::Rust },
    Runtime { name: "itm", title: "gcc's transactions on Raddle", built: Built::Preloaded(ITM) },
    Runtime { name: "libitm", title: "libitm", built: Built::C(&["-fgnu-tm"]) },
    Runtime { name: "crossbeam", title: "crossbeam", built: Built::Rust },
    Runtime { name: "pthreads", title: "POSIX threads on Raddle", built: Built::Preloaded(PTHREADS) },
    Runtime { name: "nptl", title: "NPTL", built: Built::C(&[]) },
    Runtime { name: "omp", title: "OpenMP on Raddle", built: Built::Preloaded(OMP) },
    Runtime { name: "libgomp", title: "libgomp", built: Built::C(&["-fopenmp"]) },
    Runtime { name: "libomp", title: "libomp", built: Built::Clang("libgomp") },
    Runtime { name: "alloc", title: "Raddle's allocator", built: Built::Preloaded(ALLOC) },
    Runtime { name: "mimalloc", title: "mimalloc", built: allocator("libmimalloc.so", "libmimalloc2.0") },
    Runtime { name: "snmalloc", title: "snmalloc", built: allocator("libsnmallocshim.so", "") },
    Runtime { name: "rpmalloc", title: "rpmalloc", built: allocator("librpmalloc.so", "") },
    Runtime { name: "jemalloc", title: "jemalloc", built: allocator("libjemalloc.so", "libjemalloc2") },
    Runtime {
        name: "tcmalloc",
        title: "tcmalloc",
        built: allocator("libtcmalloc_minimal.so", "libgoogle-perftools4"),
    },
    Runtime { name: "glibc", title: "glibc", built: Built::C(&[]) },
];

/// The environment variable that tells a program which variant of its runtime it is to use.
pub const VARIANT: &str = "BENCH_VARIANT";

/// A program in C with a library of Raddle's: a script starts it, with as many workers as are asked for.
#[derive(Clone, Copy)]
pub struct Preloaded {
    /// The runtime whose program it is.
    pub of: &'static str,
    /// The command of `cargo xtask` that builds the library, and the library's file.
    pub command: &'static str,
    pub library: &'static str,
    /// The environment variable by which the program, or the loader, gets the library's path.
    pub variable: &'static str,
}

const PTHREADS: Preloaded =
    Preloaded { of: "nptl", command: "pthreads", library: "libraddle_pthread.so", variable: PRELOAD };
const ITM: Preloaded =
    Preloaded { of: "libitm", command: "itm", library: "libraddle_itm.so", variable: "LD_PRELOAD" };

/// The folder stands for the library, which has the name of libgomp there.
const OMP: Preloaded =
    Preloaded { of: "libgomp", command: "openmp", library: "", variable: "LD_LIBRARY_PATH" };

const ALLOC: Preloaded =
    Preloaded { of: "glibc", command: "alloc", library: "libraddle_alloc.so", variable: "LD_PRELOAD" };

/// A library that is preloaded where it is found: by the loader, or in a folder that [`ALLOCATORS`] names.
#[derive(Clone, Copy)]
pub struct Found {
    /// The runtime whose program it is.
    pub of: &'static str,
    /// What the library's file begins with.
    pub library: &'static str,
    /// The Debian package, if there is one.
    pub package: &'static str,
}

/// The environment variable with folders that are searched for allocators before the loader's, with colons between.
pub const ALLOCATORS: &str = "BENCH_ALLOCATORS";

const fn allocator(library: &'static str, package: &'static str) -> Built {
    Built::Found(Found { of: "glibc", library, package })
}

/// The environment variable that names the library which a program in C has to be given, or give to what it starts.
const PRELOAD: &str = "BENCH_PRELOAD";

/// The runtime whose programs are run for `name`: another one's if it is a variant of that.
pub fn program_of(name: &str) -> &str {
    match of(name).map(|runtime| runtime.built) {
        Some(Built::VariantOf(other) | Built::Native(other)) => other,
        _ => name,
    }
}

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    RUNTIMES.iter().map(|runtime| runtime.name)
}

/// The one with this name.
pub fn of(name: &str) -> Option<&'static Runtime> {
    RUNTIMES.iter().find(|runtime| runtime.name == name)
}

#[test]
fn the_packages_of_the_rust_ones_are_there_and_no_others() {
    let folder = crate::programs::bench_folder().join("runtimes");
    let packages = std::fs::read_dir(folder).expect("the folder of the packages");
    let mut packages: Vec<_> = packages
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("text"))
        .collect();
    let rust = RUNTIMES.iter().filter(|runtime| matches!(runtime.built, Built::Rust));
    let mut rust: Vec<_> = rust.map(|runtime| runtime.name).collect();
    packages.sort_unstable();
    rust.sort_unstable();
    assert_eq!(packages, rust);
}

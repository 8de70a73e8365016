//! Libraries of C and C++ that are compiled by whatever compiler there is, and loaded.

use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a file of `tests/native` to a library; none if that is not possible here.
pub(crate) fn compile(source: &str, name: &str, options: &[&str]) -> Option<PathBuf> {
    let cross = std::env::var_os("TEST_RUNNER").is_some();
    if cross || Command::new("g++").arg("--version").output().is_err() {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native").join(source);
    let library = std::env::temp_dir().join(format!("raddle-{}-{name}.so", std::process::id()));
    let compiler = if source.extension().is_some_and(|e| e == "c") { "gcc" } else { "g++" };
    let mut command = Command::new(compiler);
    command
        .args(["-shared", "-fPIC", "-O1", "-g", "-pthread"])
        .args(options)
        .arg("-o")
        .arg(&library)
        .arg(source);
    assert!(command.status().expect("the compiler runs").success());
    Some(library)
}

/// A loaded library; its file is gone.
pub(crate) struct Library(*mut c_void);

// SAFETY: a handle that any thread may use.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    pub(crate) fn load(path: &Path) -> Library {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: loads a library whose initialisers are those of C++.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "{path:?} is not loaded");
        std::fs::remove_file(path).unwrap();
        Library(handle)
    }

    /// Nothing of it is used any more.
    #[allow(dead_code, reason = "each test program uses a part")]
    pub(crate) fn unload(self) {
        // SAFETY: loaded, and unloaded once.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0);
    }

    /// # Safety
    /// `T` is the type of the function of this name.
    pub(crate) unsafe fn function<T: Copy>(&self, name: &str) -> T {
        let name = CString::new(name).unwrap();
        // SAFETY: looks a name up in a loaded library.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?} is not there");
        // SAFETY: the caller vouches for the type.
        unsafe { std::mem::transmute_copy(&address) }
    }
}

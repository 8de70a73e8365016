//! Owns: the folder into which a test program installs and compiles, which is its own as long as it runs.
//! May use: nothing.
//! Never: two of one name in a program.
//!
//! Groups of tests run side by side: one is not to install there while another links.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of this name, once nobody else has it.
pub(crate) fn own_folder(name: &str) -> PathBuf {
    static HELD: OnceLock<File> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    HELD.get_or_init(|| {
        let file = File::create(folder.join("lock")).expect("a file");
        file.lock().expect("a lock of it");
        file
    });
    folder
}

//! Owns: where the repository lies.
//! May use: nothing.
//! Never: the contents of files.

use std::path::{Path, PathBuf};

/// The root of the repository that this xtask was built from.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

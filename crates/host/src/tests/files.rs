// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of a machine, for the tests of the crates that read one.

use crate::HostRoot;
use tempfile::TempDir;

/// Lays files below a directory of their own, which is gone when dropped.
pub(crate) fn lay(files: &[(&str, &str)]) -> (TempDir, HostRoot) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        put(&dir, path, text);
    }
    let root = HostRoot::at(dir.path());
    (dir, root)
}

/// Lays or replaces one file.
pub(crate) fn put(dir: &TempDir, path: &str, text: &str) {
    let file = dir.path().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

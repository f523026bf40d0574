// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another machine's files, in a folder that stands for its /.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Lays out one of the captured machines.
pub fn lay_out(folder: &Path, name: &str) {
    let tree =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../check/src/trees/{name}.tree"));
    let text = fs::read_to_string(tree).unwrap();
    for file in text[text.find("=== ").unwrap()..].split("=== ").skip(1) {
        let (path, content) = file.split_once('\n').unwrap();
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// What every file of it below /proc and /sys says.
pub fn contents(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.join("proc"), folder.join("sys")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(
                    entry.path().display().to_string(),
                    fs::read_to_string(entry.path()).unwrap(),
                );
            }
        }
    }
    found
}

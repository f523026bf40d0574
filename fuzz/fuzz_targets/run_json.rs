// SPDX-License-Identifier: MIT OR Apache-2.0
//! The document of a recording from a stranger.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recording::{Recording, verify};

fuzz_target!(|bytes: &[u8]| {
    let Ok(folder) = tempfile::tempdir() else { return };
    if std::fs::write(folder.path().join("run.json"), bytes).is_err() {
        return;
    }
    if let Ok(recorded) = Recording::open(folder.path()).and_then(Recording::summarise) {
        let _ = verify(&recorded);
    }
});

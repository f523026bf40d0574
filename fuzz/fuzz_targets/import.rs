// SPDX-License-Identifier: MIT OR Apache-2.0
//! An output of another program from a stranger, whichever format it is of.
#![no_main]

use formats::{ImportOptions, import};
use libfuzzer_sys::fuzz_target;
use recording::{Recording, verify};

fuzz_target!(|bytes: &[u8]| {
    let Ok(folder) = tempfile::tempdir() else { return };
    let file = folder.path().join("output");
    if std::fs::write(&file, bytes).is_err() {
        return;
    }
    let found = import(&file, folder.path(), "0.0.0", ImportOptions::default());
    for one in found.unwrap_or_default() {
        let read = Recording::open(&one.recording).and_then(Recording::summarise);
        let recorded = read.unwrap_or_else(|error| panic!("what was made cannot be read: {error}"));
        let wrong = verify(&recorded);
        assert!(wrong.is_empty(), "what was made contradicts itself: {wrong:?}");
    }
});

// SPDX-License-Identifier: MIT OR Apache-2.0
//! An output of another program from a stranger, whichever format it is of.
#![no_main]

use formats::{ImportOptions, import_in_memory};
use libfuzzer_sys::fuzz_target;
use model::contradictions;

fuzz_target!(|bytes: &[u8]| {
    for recorded in import_in_memory(bytes, ImportOptions::default()).unwrap_or_default() {
        let wrong = contradictions(&recorded);
        assert!(wrong.is_empty(), "what was made contradicts itself: {wrong:?}");
    }
});

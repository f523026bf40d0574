// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table of published figures: an error with its line, or figures.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::Published;

fuzz_target!(|bytes: &[u8]| {
    match Published::read("a.csv", bytes) {
        Ok(_) => {}
        Err(error) => assert!(error.to_string().starts_with("a.csv, line ")),
    }
});

// SPDX-License-Identifier: MIT OR Apache-2.0
//! How an output of another program is known: each line as if nobody knew those before it.
#![no_main]

use formats::recognise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = recognise(bytes);
});

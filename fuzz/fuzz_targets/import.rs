// SPDX-License-Identifier: MIT OR Apache-2.0
//! An output of another program from a stranger: of whichever format it is, or of the one that
//! TEIJI_FUZZ_FORMAT names.
#![no_main]

use formats::{ImportOptions, format, import_in_memory};
use libfuzzer_sys::fuzz_target;
use model::contradictions;
use peak_alloc::PeakAlloc;
use std::sync::LazyLock;

/// What an input of up to 1 MB may take, MB.
const MAX_MB: f32 = 64.0;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

static OPTIONS: LazyLock<ImportOptions> = LazyLock::new(|| ImportOptions {
    format: std::env::var("TEIJI_FUZZ_FORMAT").ok().map(|name| {
        format(&name).unwrap_or_else(|| panic!("TEIJI_FUZZ_FORMAT={name}: unknown format"))
    }),
    unit_ns: None,
});

fuzz_target!(|bytes: &[u8]| {
    let before = ALLOCATED.current_usage_as_mb();
    ALLOCATED.reset_peak_usage();
    for recorded in import_in_memory(bytes, *OPTIONS).unwrap_or_default() {
        let wrong = contradictions(&recorded);
        assert!(wrong.is_empty(), "what was made contradicts itself: {wrong:?}");
    }
    let taken = ALLOCATED.peak_usage_as_mb() - before;
    assert!(taken <= MAX_MB, "it took {taken} MB");
});

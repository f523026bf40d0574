// SPDX-License-Identifier: MIT OR Apache-2.0
//! A samples file from a stranger, read as one that is whole and as one that was cut off.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recording::SampleFile;
use stats::{AfterOverrun, summarise};

fuzz_target!(|bytes: &[u8]| {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("samples-0.arrows");
    if std::fs::write(&path, bytes).is_err() {
        return;
    }
    for cut in [false, true] {
        if let Ok(statistics) = SampleFile::open(&path, cut).and_then(|file| summarise(&file, 1_000_000, AfterOverrun::Skip, 64)) {
            let counted = statistics.activations;
            assert_eq!(counted.due, counted.on_time + counted.late + counted.skipped);
            assert_eq!(statistics.histogram.total(), counted.on_time + counted.late);
        }
    }
});

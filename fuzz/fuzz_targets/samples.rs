// SPDX-License-Identifier: MIT OR Apache-2.0
//! A samples file from a stranger, read as one that is whole and as one that was cut off: once as
//! the latencies of all rows, once as those beyond 32 bits, beside a sound file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::ProbeStatement;
use recording::SampleFile;
use stats::{AfterOverrun, summarise};
use std::path::Path;

/// As the program wrote it.
const SOUND: &[u8] = include_bytes!("../corpus/samples/complete.arrows");

fuzz_target!(|bytes: &[u8]| {
    let Ok(folder) = tempfile::tempdir() else { return };
    let samples = folder.path().join("samples-0.arrows");
    if std::fs::write(&samples, bytes).is_err() {
        return;
    }
    read(&samples);
    let long = folder.path().join("samples-0-long.arrows");
    if std::fs::write(&samples, SOUND).and_then(|()| std::fs::write(&long, bytes)).is_ok() {
        read(&samples);
    }
});

fn read(path: &Path) {
    for cut in [false, true] {
        if let Ok(statistics) = SampleFile::open_column(path, 0, &ProbeStatement::cyclic(), cut)
            .and_then(|file| summarise(&file, 1_000_000, AfterOverrun::Skip, 64))
        {
            let counted = statistics.activations;
            assert_eq!(counted.due, counted.on_time + counted.late + counted.skipped);
            assert_eq!(statistics.histogram.total(), counted.on_time + counted.late);
        }
    }
}

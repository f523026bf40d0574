// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes from a kernel or claims to be one: bytes on a serial line, an archive of results, an
//! image. Each is understood or refused, and nothing is found beyond its end.
#![no_main]

use check::ImageNames;
use lab::{Scanned, archive_files, find_frame, inspect_image};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Scanned::Frame { end, payload, .. } = find_frame(rest) {
        assert!(payload.len() < end && end <= rest.len());
        rest = &rest[end..];
    }
    if let Ok(files) = archive_files(bytes) {
        assert!(files.iter().map(|file| file.content.len()).sum::<usize>() <= bytes.len());
    }
    let _ = inspect_image(bytes);
    let names = ["isolcpus", "managed_irq,"].map(str::to_owned);
    if let Ok(found) = ImageNames::from_bytes(bytes, "Linux version 6.1.0", names, "image") {
        let _ = (found.holds("isolcpus"), found.holds("managed_irq,"));
    }
});

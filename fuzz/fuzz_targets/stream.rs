// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stream from a stranger, in every form: the same records however it is cut, no interval below
//! 0, and time that never runs backwards.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probe::{Format, Kind, Record, Records, Series, Taken};

fuzz_target!(|bytes: &[u8]| {
    let binary = |bytes, big_endian, signed| Format::Binary { bytes, big_endian, signed };
    let formats = [Format::Text, binary(4, true, false), binary(8, false, true)];
    for format in formats {
        let whole = records(format, bytes, usize::MAX);
        assert_eq!(whole, records(format, bytes, 7));
        for (kind, per_ns, wrap) in [
            (Kind::Timestamp, 866_000_000, Some(32)),
            (Kind::Timestamp, 1, None),
            (Kind::Interval, 3, None),
        ] {
            let mut series = Series::new(kind, per_ns, wrap, Some(976_562));
            let mut last = 0;
            for number in whole.iter().filter_map(|record| record.number) {
                if let Ok(Taken::Event { time_ns: Some(time), value_ns, .. }) = series.take(number)
                {
                    assert!(time >= last && value_ns >= 0);
                    last = time;
                }
            }
        }
    }
});

/// The records of these bytes, given in portions of at most so many.
fn records(format: Format, bytes: &[u8], portion: usize) -> Vec<Record> {
    let mut records = Records::new(format);
    let (mut found, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let free = records.free();
        let length = portion.min(rest.len()).min(free.len());
        assert!(length > 0);
        free[..length].copy_from_slice(&rest[..length]);
        records.filled(length);
        rest = &rest[length..];
        found.extend(std::iter::from_fn(|| records.next_record()));
    }
    found
}

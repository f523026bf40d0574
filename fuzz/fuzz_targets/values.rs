// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values people write: an error or a value, and what is written again is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::{CpuId, CpuList, LoadSpec, Nanos, Unit};

fuzz_target!(|text: &str| {
    if let Ok(duration) = Nanos::parse(text, Unit::Microsecond) {
        assert_eq!(Nanos::parse(&duration.to_string(), Unit::Day), Ok(duration));
    }
    if let Ok(list) = text.parse::<CpuList>() {
        let _ = list.resolve(&[CpuId(0), CpuId(3), CpuId(64)]);
    }
    if let Ok(spec) = text.parse::<LoadSpec>() {
        assert_eq!(spec.to_string(), text);
    }
});

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of trace_pipe, whatever they say: an event or none, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{Gap, Line, TimerLatency};

fuzz_target!(|bytes: &[u8]| {
    for line in String::from_utf8_lossy(bytes).lines() {
        let payload = Line::parse(line).map_or(line, |line| line.payload);
        let _ = (TimerLatency::parse(payload), Gap::parse(payload));
    }
});

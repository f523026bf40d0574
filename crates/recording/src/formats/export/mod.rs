// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings written as other programs write their output.

mod cyclictest;

pub use cyclictest::{
    CyclictestFigures, CyclictestFrame, CyclictestThread, HistogramLayout, UnameFields,
    cyclictest_histogram, cyclictest_json, cyclictest_time,
};

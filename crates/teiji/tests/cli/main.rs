// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program as its users meet it: command lines in; output, exit codes and recordings out.
//!
//! These tests run the real binary on the real machine, as root with real-time priority or as an
//! ordinary user without. What holds in both cases is asserted in both; what needs a right says so
//! and returns where that right is missing. Bounds are those a busy two-core virtual machine keeps.
//! One test binary, because each would link everything again.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests, outside of any #[test]"
)]

mod accounting;
mod affinity;
mod anonymise;
mod app;
mod bad_input;
mod check;
mod cokernels;
mod cut_short;
mod cyclictest;
mod deadline;
mod edited_numbers;
mod explain;
mod faults;
mod hostile;
mod import;
mod intervals;
mod jitter;
mod judging;
mod lab_again;
mod lent_rights;
mod limits;
mod limits_of_plans;
mod live;
mod loads;
mod memory;
mod no_samples;
mod noise;
mod opened_files;
mod ordinary_user;
mod plans;
mod plans_changed;
mod plans_programs;
mod probe_columns;
mod probes;
mod proving;
mod reading;
mod run_json;
mod sessions;
mod signals;
mod stream;
mod stream_ends;
mod suggested;
mod support;
mod terminal;
mod tracers;
mod tune;
mod tune_boot;
mod wakeup;

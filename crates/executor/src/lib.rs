// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the settings of a plan's combination to its checked run: what can be wrong with a setting, as values that name it.
//!
//! In: runs and guests as flags or a plan ask for them. Out: the checked run, or an error and the settings it is about, so that
//! its line and column follow from where the plan has them and never from the error's text. It prints nothing and knows no
//! flags' parser.

#![forbid(unsafe_code)]

mod setting_error;

pub use setting_error::{SettingError, checked_run};

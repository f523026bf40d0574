//! x
#![forbid(unsafe_code)]
mod document;
pub use document::*;

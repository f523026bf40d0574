// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hashes, as files are known by them.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// SHA-256, hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

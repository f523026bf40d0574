// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program says. A reader that has gone away, a closed pipe or terminal, is no error: the work goes on.

use std::io::{Write, stderr, stdout};

/// Says what was asked for.
pub fn say(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    let _ = out.flush();
}

/// Says what somebody should know.
pub fn complain(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}

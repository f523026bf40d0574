// SPDX-License-Identifier: MIT OR Apache-2.0
//! LinuxCNC's `latency-histogram --nox`, which prints the smallest and the largest latency of each
//! thread again and again, and neither a mean nor of how many: too little for a recording.

use super::{Import, ImportError, Lines};

/// `   12 secs  servo min:  -9.800 uS max:  14.200 uS sdev:   1.300 uS`.
fn is_line(line: &str) -> bool {
    let words: Vec<&str> =
        line.split([' ', ':']).filter(|word| !word.is_empty()).take(12).collect();
    matches!(words[..], [_, "secs", _, "min", _, "uS", "max", _, "uS", "sdev", _, "uS"])
}

/// Whether its lines begin here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| is_line(line))
}

/// Refuses them.
pub(crate) fn read(lines: &mut Lines<'_>, _: &mut Import<'_>) -> Result<(), ImportError> {
    Err(lines.error(
        "LinuxCNC's latency-histogram prints neither a mean nor of how many latencies: it is not \
         read",
    ))
}

#[cfg(test)]
mod tests {
    use crate::tests::refused;

    #[test]
    fn it_says_too_little() {
        let text = "   12 secs   base min:  -9.800 uS max:  14.200 uS sdev:   1.300 uS\n";
        assert!(refused(text).starts_with("line 1: LinuxCNC's latency-histogram prints neither"));
    }
}

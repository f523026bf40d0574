// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much the machine has to do: memory, load averages, time since boot.

use crate::root::{Fault, not_a_number};

/// `MemTotal` or `MemAvailable` of /proc/meminfo, KiB.
pub(crate) fn meminfo(text: &str, item: &str) -> Result<u64, Fault> {
    for (index, line) in text.lines().enumerate() {
        if let Some((key, value)) = line.split_once(':')
            && key.trim() == item
        {
            let number = value.split_ascii_whitespace().next().unwrap_or("");
            return number.parse().map_err(|_| Fault::at(index + 1, item, not_a_number(number)));
        }
    }
    Err(Fault::without_line(item, "there is no such line"))
}

/// The three averages of /proc/loadavg: over 1, 5 and 15 minutes.
pub(crate) fn load_average(text: &str) -> Result<[f64; 3], Fault> {
    let mut words = text.split_ascii_whitespace();
    let mut average = |item| seconds(words.next(), item);
    Ok([
        average("average over 1 minute")?,
        average("average over 5 minutes")?,
        average("average over 15 minutes")?,
    ])
}

/// Seconds since boot, from /proc/uptime.
pub(crate) fn uptime(text: &str) -> Result<f64, Fault> {
    seconds(text.split_ascii_whitespace().next(), "uptime")
}

fn seconds(word: Option<&str>, item: &str) -> Result<f64, Fault> {
    let word = word.unwrap_or("");
    // `inf` and `NaN` parse as floating point, and JSON cannot hold them.
    word.parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| Fault::at(1, item, not_a_number(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEMINFO: &str =
        "MemTotal:       24684092 kB\nMemFree:        24023888 kB\nMemAvailable:   24321824 kB\n";

    #[test]
    fn memory() {
        assert_eq!(meminfo(MEMINFO, "MemTotal"), Ok(24_684_092));
        assert_eq!(meminfo(MEMINFO, "MemAvailable"), Ok(24_321_824));
        assert_eq!(
            meminfo(MEMINFO, "Mem"),
            Err(Fault::without_line("Mem", "there is no such line"))
        );
        assert_eq!(
            meminfo("MemTotal: 1 kB\nMemAvailable: much\n", "MemAvailable"),
            Err(Fault::at(2, "MemAvailable", "'much' is not a number that fits"))
        );
    }

    #[test]
    fn averages_and_uptime() {
        assert_eq!(load_average("0.18 0.15 1.11 2/87 6454\n"), Ok([0.18, 0.15, 1.11]));
        assert_eq!(uptime("1210.65 2221.28\n"), Ok(1210.65));
        assert_eq!(
            load_average("0.18 x"),
            Err(Fault::at(1, "average over 5 minutes", "'x' is not a number that fits"))
        );
        assert_eq!(uptime("inf"), Err(Fault::at(1, "uptime", "'inf' is not a number that fits")));
        assert_eq!(uptime(""), Err(Fault::at(1, "uptime", "'' is not a number that fits")));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(MemTotal:)?\\PC*\n?\\PC*") {
            let _ = (meminfo(&text, "MemTotal"), load_average(&text), uptime(&text));
        }
    }
}

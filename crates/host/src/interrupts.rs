// SPDX-License-Identifier: MIT OR Apache-2.0
//! /proc/interrupts and /proc/softirqs: a header that names the CPUs, then one row per kind.
//!
//! Rows come in three shapes. Most have one count per CPU. `ERR` and `MIS` have a single count for
//! the whole machine; it stays a single count here, because no CPU can be named for it. A few
//! boards add rows without any count (`FIQ`).

use crate::root::{Fault, cpu_number};
use model::EventCounts;
use plan::CpuId;

/// The rows of either file, with counts in the order of `cpus`: one per CPU, or one in all, or none
/// (see above). A column of a CPU that is not among `cpus` is left out; a CPU without a column
/// counts 0, for it came online a moment later.
pub fn parse(text: &str, cpus: &[CpuId], faults: &mut Vec<Fault>) -> Vec<EventCounts> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.next() else {
        faults.push(Fault::without_line("header", "the file is empty"));
        return Vec::new();
    };
    let columns = match columns(header) {
        Ok(columns) => columns,
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    let places: Vec<Option<usize>> =
        columns.iter().map(|cpu| cpus.iter().position(|known| known == cpu)).collect();
    let mut rows = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        match row(line, &places, cpus.len()) {
            Ok(row) => rows.push(row),
            Err((item, error)) => faults.push(Fault::at(index + 1, item, error)),
        }
    }
    rows
}

fn columns(header: &str) -> Result<Vec<CpuId>, Fault> {
    let column = |word: &str| {
        let number = word.strip_prefix("CPU").filter(|number| !number.is_empty());
        number.and_then(cpu_number).ok_or_else(|| {
            let shown: String = word.chars().take(40).collect();
            Fault::at(1, "header", format!("'{shown}' is not the name of a CPU"))
        })
    };
    let columns = header.split_ascii_whitespace().map(column).collect::<Result<Vec<_>, _>>()?;
    if columns.is_empty() { Err(Fault::at(1, "header", "it names no CPU")) } else { Ok(columns) }
}

fn row(line: &str, places: &[Option<usize>], cpus: usize) -> Result<EventCounts, (String, String)> {
    let Some((name, mut rest)) = line.split_once(':') else {
        return Err(("name".to_owned(), "there is no colon after it".to_owned()));
    };
    let name = name.trim().to_owned();
    let mut found = Vec::with_capacity(places.len());
    // No further than there are columns: a description may begin with a number.
    while found.len() < places.len() {
        let trimmed = rest.trim_start();
        let (word, after) =
            trimmed.split_at(trimmed.find(char::is_whitespace).unwrap_or(trimmed.len()));
        let Some(count) = count(word) else { break };
        found.push(count.map_err(|error| (format!("count of {name}"), error))?);
        rest = after;
    }
    let counts = match found.len() {
        0 => Vec::new(),
        n if n == places.len() => {
            let mut counts = vec![0; cpus];
            for (place, count) in places.iter().zip(found) {
                if let Some(slot) = place.and_then(|place| counts.get_mut(place)) {
                    *slot = count;
                }
            }
            counts
        }
        1 => found,
        n => return Err((format!("counts of {name}"), format!("{n} of {} columns", places.len()))),
    };
    // The kernel pads its columns with spaces; a person reads one.
    let description = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(EventCounts { name, description, counts })
}

/// A count, if the word is one at all.
fn count(word: &str) -> Option<Result<u64, String>> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| {
        word.parse().map_err(|_| {
            format!("'{}' does not fit 64 bits", word.chars().take(40).collect::<String>())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machines::{GUEST_INTERRUPTS, GUEST_SOFTIRQS, PC_INTERRUPTS, PI_INTERRUPTS};
    use proptest::prelude::*;

    fn read(text: &str, cpus: &[u32]) -> (Vec<EventCounts>, Vec<Fault>) {
        let mut faults = Vec::new();
        let cpus: Vec<CpuId> = cpus.iter().copied().map(CpuId).collect();
        (parse(text, &cpus, &mut faults), faults)
    }

    fn named<'a>(rows: &'a [EventCounts], name: &str) -> &'a EventCounts {
        rows.iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn a_guest() {
        let (rows, faults) = read(GUEST_INTERRUPTS, &[0, 1]);
        assert_eq!(faults, []);
        assert_eq!(rows.len(), GUEST_INTERRUPTS.lines().count() - 1);
        let disk = named(&rows, "36");
        assert_eq!(disk.counts, [0, 66_214]);
        assert_eq!(disk.description, "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0");
        assert_eq!(named(&rows, "LOC").description, "Local timer interrupts");
        assert_eq!(
            named(&rows, "ERR").counts,
            [0],
            "one count for the machine is not a count of CPU 0"
        );
    }

    #[test]
    fn softirqs() {
        let (rows, faults) = read(GUEST_SOFTIRQS, &[0, 1]);
        assert_eq!(faults, []);
        let timer = named(&rows, "TIMER");
        assert_eq!(
            (timer.counts.as_slice(), timer.description.as_str()),
            (&[9_389, 9_072][..], "")
        );
    }

    #[test]
    fn a_pc_of_four() {
        let (rows, faults) = read(PC_INTERRUPTS, &[0, 1, 2, 3]);
        assert_eq!(faults, []);
        assert_eq!(named(&rows, "0").counts, [9, 0, 0, 0]);
        assert_eq!(
            named(&rows, "16").description,
            "IO-APIC 16-fasteoi ehci_hcd:usb1, snd_hda_intel:card1"
        );
        assert_eq!(named(&rows, "MIS").counts, [0]);
    }

    #[test]
    fn a_board_with_a_cpu_offline() {
        let (rows, faults) = read(PI_INTERRUPTS, &[0, 1, 3]);
        assert_eq!(faults, []);
        let timer = named(&rows, "11");
        assert_eq!(timer.counts, [1_201_334, 801_772, 655_021]);
        assert_eq!(timer.description, "GICv2 30 Level arch_timer");
        assert!(named(&rows, "FIQ").counts.is_empty());
        assert_eq!(named(&rows, "FIQ").description, "usb_fiq");
        assert_eq!(named(&rows, "IPI0").description, "Rescheduling interrupts");
    }

    #[test]
    fn columns_follow_the_header_and_not_their_place() {
        let (rows, _) = read("  CPU0 CPU2 CPU3\nX: 1 2 3\n", &[3, 0, 1]);
        assert_eq!(rows[0].counts, [3, 1, 0]);
    }

    #[test]
    fn a_description_may_begin_with_a_number() {
        let (rows, _) = read("  CPU0\n 5: 7 11 eth0\n", &[0]);
        assert_eq!(
            (rows[0].counts.as_slice(), rows[0].description.as_str()),
            (&[7][..], "11 eth0")
        );
    }

    #[test]
    fn names_the_line() {
        let (rows, faults) = read(
            "  CPU0 CPU1 CPU2\nA: 1 2 3\nB 1 2 3\nC: 1 2\nD: 1 99999999999999999999 3\n",
            &[0, 1, 2],
        );
        assert_eq!(rows.len(), 1);
        assert_eq!(
            faults,
            [
                Fault::at(3, "name", "there is no colon after it"),
                Fault::at(4, "counts of C", "2 of 3 columns"),
                Fault::at(5, "count of D", "'99999999999999999999' does not fit 64 bits"),
            ]
        );
        assert_eq!(
            read("  CPU0 GPU1\n", &[0]).1,
            [Fault::at(1, "header", "'GPU1' is not the name of a CPU")]
        );
        assert_eq!(read("\nA: 1\n", &[0]).1, [Fault::at(1, "header", "it names no CPU")]);
        assert_eq!(read("", &[0]).1, [Fault::without_line("header", "the file is empty")]);
    }

    proptest! {
        #[test]
        fn no_text_panics(
            head in "( CPU[0-9]{1,3}){0,4}",
            body in "([A-Z0-9]{1,3}:?( [0-9]{1,21}){0,5}[ \\PC]*\n|\\PC*\n){0,6}",
        ) {
            let text = format!("{head}\n{body}");
            let (rows, _) = read(&text, &[0, 1, 2]);
            prop_assert!(rows.iter().all(|row| [0, 1, 3].contains(&row.counts.len())));
        }
    }
}

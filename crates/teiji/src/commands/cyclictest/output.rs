// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cyclictest prints, byte for byte, for the version that is asked for.

use super::account::Account;
use super::options::Version;
use super::settings::Settings;
use formats::{CyclictestFigures, HistogramLayout, cyclictest_histogram};
use plan::{Nanos, Policy};
use std::fmt::Write;

/// What a thread was given.
#[derive(Clone, Copy, Debug)]
pub struct ThreadLine {
    pub priority: u8,
    pub interval: Nanos,
}

/// One line for each thread with its figures.
pub fn thread_lines(settings: &Settings, threads: &[ThreadLine], account: &Account) -> String {
    let mut text = String::new();
    let width = if settings.nanoseconds { 8 } else { 5 };
    for (index, (of, thread)) in threads.iter().zip(&account.threads).enumerate() {
        let (tid, priority, figures) = (thread.tid, of.priority, &thread.figures);
        let interval = of.interval.0 / 1_000;
        let cycles = figures.cycles;
        let (min, last, max) = (figures.printed_min(), figures.last, figures.max);
        let mean = figures.whole_mean();
        let _ = write!(
            text,
            "T:{index:2} ({tid:5}) P:{priority:2} I:{interval} C:{cycles:7} Min:{min:7} \
             Act:{last:width$} Avg:{mean:width$} Max:{max:8}"
        );
        if let Some(smis) = figures.smis {
            let _ = write!(text, " SMI:{smis:8}");
        }
        text.push('\n');
    }
    text
}

/// The line above those of the threads, and the empty line below it. A thread without a priority
/// is of SCHED_OTHER beside the policy of the others.
pub fn policy_lines(policy: Policy, threads: &[ThreadLine], load: &str) -> String {
    let name = match policy {
        Policy::Fifo => "fifo",
        Policy::Rr => "rr",
        Policy::Batch => "batch",
        Policy::Idle => "idle",
        Policy::Other | Policy::Deadline => "other",
    };
    let other = if threads.iter().any(|thread| thread.priority == 0) { "/other" } else { "" };
    format!("policy: {name}{other}: loadavg: {load}          \n\n")
}

/// Moves up to where the lines of so many threads began.
pub fn up(threads: usize) -> String {
    format!("\x1b[{}A", threads + 2)
}

/// Moves down again.
pub fn down(threads: usize) -> String {
    format!("\x1b[{}B", threads + 2)
}

/// Values that are not printed yet, as `-v` prints them. The first of a thread has the system
/// management interrupts that were counted since the last.
pub fn values(account: &mut Account) -> String {
    let mut text = String::new();
    for (index, thread) in account.threads.iter_mut().enumerate() {
        for (cycle, latency) in thread.unprinted.drain(..) {
            let _ = write!(text, "{index:8}:{cycle:8}:{latency:8}");
            if thread.figures.smis.is_some() {
                let _ = write!(text, "{:8}", std::mem::take(&mut thread.unprinted_smis));
            }
            text.push('\n');
        }
    }
    text
}

/// What a signal has it print, and one that looks from outside.
pub fn status(thread_lines: &str) -> String {
    let line = "#---------------------------\n";
    format!("{line}# cyclictest current status:\n{thread_lines}{line}")
}

/// The histogram and what follows it.
pub fn histogram(settings: &Settings, account: &Account) -> String {
    let threads: Vec<&CyclictestFigures> =
        account.threads.iter().map(|thread| &thread.figures).collect();
    let layout = HistogramLayout {
        buckets: settings.histogram.unwrap_or(0),
        has_sum: settings.histogram_has_sum,
        is_old: settings.version < Version::TwoNine,
    };
    let mut text = Vec::new();
    // Memory takes all of it.
    let _ = cyclictest_histogram(&threads, layout, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// What is printed at the end of a run that a latency ended, or that was asked to end for one.
pub fn break_lines(account: &Account, broken: Option<(usize, i64)>) -> String {
    let mut text = "# Thread Ids:".to_owned();
    for thread in &account.threads {
        let _ = write!(text, " {:05}", thread.tid);
    }
    text.push('\n');
    if let Some((thread, latency)) = broken {
        let tid = account.threads[thread].tid;
        let _ = writeln!(text, "# Break thread: {tid}\n# Break value: {latency}");
    }
    text
}

/// The list of `--spike`.
pub fn spikes(account: &Account) -> String {
    let mut text = "\n".to_owned();
    for spike in &account.spikes {
        let _ = writeln!(
            text,
            "T:{:2} Spike:{:8}: TS: {:12}",
            spike.thread, spike.latency, spike.at_us
        );
    }
    let _ = writeln!(text, "spikes = {}\n", account.spikes_in_all);
    text
}

#[cfg(test)]
mod tests {
    use super::super::options::CommandLine;
    use super::*;

    /// What a version makes of latencies, ns, of two threads, one in each 10 rows but the last.
    fn made(words: &str, version: Version) -> (Settings, Account) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let line = CommandLine::read(&words, version).unwrap();
        let (settings, _) = Settings::from_line(&line, version, 2).unwrap();
        let mut account = Account::new(&settings, 2);
        for (thread, tid) in [(0, 11_999), (1, 12_000)] {
            account.threads[thread].tid = tid;
        }
        for (row, latency) in [(0, 2_900), (1, 1_000), (2, 7_300), (5, 4_000)] {
            account.add(0, row, latency, 1_000_000 * row.cast_signed() + latency);
        }
        account.add(1, 0, 1_500, 1_500);
        (settings, account)
    }

    #[test]
    fn lines_of_threads() {
        let lines = [80, 0].map(|priority| ThreadLine { priority, interval: Nanos(1_500_000) });
        let (settings, account) = made("-t 3", Version::TwoFour);
        assert_eq!(
            thread_lines(&settings, &lines, &account),
            "T: 0 (11999) P:80 I:1500 C:      4 Min:      1 Act:    4 Avg:    3 Max:       7\n\
             T: 1 (12000) P: 0 I:1500 C:      1 Min:      1 Act:    1 Avg:    1 Max:       1\n"
        );
        let (settings, account) = made("-t 3 -N -l 1", Version::TwoNine);
        assert_eq!(
            thread_lines(&settings, &lines[..1], &account),
            "T: 0 (11999) P:80 I:1500 C:      1 Min:   2900 Act:    2900 Avg:    2900 \
             Max:    2900\n"
        );
        assert_eq!(
            policy_lines(Policy::Fifo, &lines, "1.53 1.62 1.35 6/111 12000"),
            "policy: fifo/other: loadavg: 1.53 1.62 1.35 6/111 12000          \n\n"
        );
        let skipped: Vec<u64> = account.threads.iter().map(|thread| thread.skipped).collect();
        assert_eq!(skipped, [0, 0], "rows after its loops are none of its own");
    }

    #[test]
    fn skipped_rows_are_counted() {
        let (_, account) = made("", Version::TwoFour);
        assert_eq!((account.threads[0].figures.cycles, account.threads[0].skipped), (4, 2));
    }

    #[test]
    fn histograms_of_versions() {
        let trailer = [
            "# Min Latencies: 00001 00001",
            "# Avg Latencies: 00003 00001",
            "# Max Latencies: 00007 00001 00007",
            "# Histogram Overflows: 00002 00000 00002",
            "# Histogram Overflow at cycle number:",
            "# Thread 0: 00002 00003",
            "# Thread 1:",
            "\n",
        ]
        .join("\n");
        let (settings, account) = made("-H 4", Version::TwoFour);
        assert_eq!(
            histogram(&settings, &account),
            format!(
                "# Histogram\n000000 000000\t000000\t000000\n000001 000001\t000001\t000002\n000002 \
                 000001\t000000\t000001\n000003 000000\t000000\t000000\n# Total: 000000002 \
                 000000001 000000003\n{trailer}"
            )
        );
        let (settings, account) = made("-H 4", Version::TwoNine);
        assert_eq!(
            histogram(&settings, &account),
            format!(
                "# Histogram\n000001 000001\t000001\t000002\n000002 000001\t000000\t000001\n\
                 {trailer}"
            )
        );
    }

    /// Two buckets hold two cycles beyond them; the others are only counted.
    #[test]
    fn what_is_beyond_the_histogram() {
        let (settings, mut account) = made("-h 1", Version::TwoFour);
        account.add(1, 1, 500, 500);
        let text = histogram(&settings, &account);
        let threads: Vec<&str> = text.lines().filter(|line| line.starts_with("# Thread")).collect();
        assert_eq!(threads, ["# Thread 0: 00000 # 00003 others", "# Thread 1: 00000"]);
        assert!(!text.contains("000000\t000001\t"), "no sum without -H: {text}");
    }

    #[test]
    fn single_latencies() {
        let (_, mut account) = made("-v", Version::TwoFour);
        assert_eq!(
            values(&mut account),
            "       0:       0:       2\n       0:       1:       1\n       0:       2:       7\n\
             \x20      0:       3:       4\n       1:       0:       1\n"
        );
        assert_eq!(values(&mut account), "");
        let (_, mut account) = made("-v -o 2", Version::TwoFour);
        assert_eq!(
            values(&mut account),
            "       0:       0:       2\n       0:       2:       7\n"
        );
    }

    /// As the real one prints them: behind a thread's line, behind a latency without anything
    /// between, and below the histogram.
    #[test]
    fn system_management_interrupts() {
        let (settings, mut account) = made("--smi -v -h 4", Version::TwoFour);
        account.threads[0].count_smis(0);
        account.threads[1].count_smis(0);
        account.threads[0].count_smis(3);
        let line = ThreadLine { priority: 80, interval: Nanos(1_500_000) };
        assert!(
            thread_lines(&settings, &[line], &account).ends_with("Max:       7 SMI:       3\n")
        );
        assert_eq!(
            values(&mut account).lines().take(2).collect::<Vec<_>>(),
            ["       0:       0:       2       3", "       0:       1:       1       0"]
        );
        account.threads[0].count_smis(4);
        assert!(histogram(&settings, &account).ends_with("\n# Thread 1:\n# SMIs: 00004 00000\n\n"));
        account.threads[0].unprinted.push((4, 9));
        assert_eq!(values(&mut account), "       0:       4:       9       1\n");
    }

    #[test]
    fn spikes_and_what_ended_the_run() {
        let (_, account) = made("--spike=2 --spike-nodes=1 -b 3", Version::TwoNine);
        assert_eq!(spikes(&account), "\nT: 0 Spike:       7: TS:         2007\nspikes = 2\n\n");
        assert_eq!(
            break_lines(&account, Some((0, 7))),
            "# Thread Ids: 11999 12000\n# Break thread: 11999\n# Break value: 7\n"
        );
        assert_eq!(break_lines(&account, None), "# Thread Ids: 11999 12000\n");
    }
}

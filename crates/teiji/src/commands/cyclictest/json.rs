// SPDX-License-Identifier: MIT OR Apache-2.0
//! cyclictest's JSON, with what is wrong in it: keys that end in a colon, a command line whose
//! quotes are not escaped, and a mean that is no number where there is no cycle.

use super::account::{Account, ThreadAccount};
use super::options::Version;
use super::output::NO_MINIMUM;
use super::settings::Settings;
use host::HostRoot;
use std::ffi::CStr;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

/// What it says beside the figures.
#[derive(Clone, Debug)]
pub struct Frame {
    pub command_line: String,
    pub started: SystemTime,
    pub ended: SystemTime,
    /// Each thread's CPU; none if it is not pinned.
    pub cpus: Vec<Option<u32>>,
}

/// `Sat, 28 Nov 2026 07:14:43 +0000`.
fn time(of: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let since = of.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let weekday = usize::try_from(since.as_secs() / 86_400 % 7).map_or("", |day| DAYS[day]);
    // 2026-11-28T07:14:43Z
    let text = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string();
    let (year, month, day) = (&text[..4], &text[5..7], &text[8..10]);
    let month = month.parse().ok().and_then(|month: usize| MONTHS.get(month - 1)).unwrap_or(&"");
    format!("{weekday}, {day} {month} {year} {} +0000", &text[11..19])
}

/// The whole file.
pub fn json(settings: &Settings, account: &Account, frame: &Frame, root: &HostRoot) -> String {
    let system = rustix::system::uname();
    let text = |field: &CStr| field.to_string_lossy().into_owned();
    let is_real_time = root.path("sys/kernel/realtime");
    let is_real_time = std::fs::read_to_string(is_real_time).is_ok_and(|text| text.trim() == "1");
    let threads: Vec<String> = account
        .threads
        .iter()
        .zip(&frame.cpus)
        .enumerate()
        .map(|(index, (thread, cpu))| of_thread(settings, root, index, thread, *cpu))
        .collect();
    format!(
        "{{\n  \"file_version\": 1,\n  \"cmdline:\": \"{}\",\n  \"rt_test_version:\": \"{}\",\n  \
         \"start_time\": \"{}\",\n  \"end_time\": \"{}\",\n  \"return_code\": 0,\n  \
         \"sysinfo\": {{\n    \"sysname\": \"{}\",\n    \"nodename\": \"{}\",\n    \
         \"release\": \"{}\",\n    \"version\": \"{}\",\n    \"machine\": \"{}\",\n    \
         \"realtime\": {}\n  }},\n  \"num_threads\": {},\n  \"resolution_in_ns\": {},\n  \
         \"thread\": {{\n{}\n  }}\n}}\n",
        frame.command_line,
        settings.version.printed(),
        time(frame.started),
        time(frame.ended),
        text(system.sysname()),
        text(system.nodename()),
        text(system.release()),
        text(system.version()),
        text(system.machine()),
        u8::from(is_real_time),
        account.threads.len(),
        u8::from(settings.nanoseconds),
        threads.join(",\n"),
    )
}

fn of_thread(
    settings: &Settings,
    root: &HostRoot,
    index: usize,
    thread: &ThreadAccount,
    cpu: Option<u32>,
) -> String {
    let mut text = format!("    \"{index}\": {{\n");
    // Since 2.7 only where one was asked for.
    if settings.histogram.is_some() || settings.version < Version::TwoNine {
        let buckets = thread.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
        let buckets: Vec<String> =
            buckets.map(|(value, count)| format!("\n        \"{value}\": {count}")).collect();
        let end = if buckets.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "      \"histogram\": {{{}{end}      }},", buckets.join(","));
    }
    let mean = thread.mean().map_or_else(|| "-nan".to_owned(), |mean| format!("{mean:.2}"));
    let node = cpu.map_or(-1, |cpu| node_of(root, cpu));
    let _ = write!(
        text,
        "      \"cycles\": {},\n      \"min\": {},\n      \"max\": {},\n      \"avg\": {mean},\n\
         \x20     \"cpu\": {},\n      \"node\": {node}\n    }}",
        thread.cycles,
        thread.min.unwrap_or(NO_MINIMUM),
        thread.max,
        cpu.map_or(-1, i64::from),
    );
    text
}

/// The memory node of a CPU; -1 where the kernel knows of none.
fn node_of(root: &HostRoot, cpu: u32) -> i64 {
    let folder = root.path(&format!("sys/devices/system/cpu/cpu{cpu}"));
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let nodes =
        names.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok());
    nodes.min().unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_as_mail_has_it() {
        let at = |seconds| time(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Thu, 01 Jan 1970 00:00:00 +0000");
        assert_eq!(at(1_795_850_083), "Sat, 28 Nov 2026 07:14:43 +0000");
    }
}

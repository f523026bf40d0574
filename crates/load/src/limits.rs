// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of a load, so that it neither takes the machine down nor starves the measuring threads:
//! memory, disk and priority.

use std::fs;
use std::path::{Path, PathBuf};

/// What the machine and the measurement leave to loads.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory that each load may fill, bytes.
    pub memory: u64,
    /// The measuring threads' real-time priority, 0 for ordinary ones; none if there are no such
    /// threads.
    pub probe_prio: Option<u8>,
    /// Loads that run at the same time and share what there is.
    pub loads: usize,
}

impl Limits {
    /// Of this machine, now, for so many loads.
    pub fn for_loads(probe_prio: Option<u8>, loads: usize) -> Self {
        let loads = loads.max(1);
        Limits { memory: memory_for_loads() / loads as u64, probe_prio, loads }
    }
}

/// What all loads together may fill, bytes: half of what is available now, by the machine's and by
/// the control group's account. Where neither says, 64 MiB.
fn memory_for_loads() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups(&own).iter().filter_map(|group| headroom(group)).min();
    machine.into_iter().chain(group).min().map_or(64 << 20, |free| free / 2)
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// The control group of `/proc/self/cgroup` and those around it, whose limits hold as well.
fn groups(own: &str) -> Vec<PathBuf> {
    let place = |line: &str| {
        let (root, path) = match line.splitn(3, ':').collect::<Vec<_>>()[..] {
            ["0", "", path] => ("/sys/fs/cgroup", path),
            [_, controllers, path] if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", path)
            }
            _ => return None,
        };
        Some(Path::new(root).join(path.trim_start_matches('/')))
    };
    let own: Vec<PathBuf> = own.lines().filter_map(place).collect();
    own.iter()
        .flat_map(|group| group.ancestors().take_while(|path| path.starts_with("/sys/fs/cgroup")))
        .map(Path::to_owned)
        .collect()
}

fn headroom(group: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    Some(limit.saturating_sub(used))
}

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

/// `64M` and the like, in powers of 1,024; a bare number counts bytes.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find_map(|(unit, shift)| {
        Some((text.strip_suffix([*unit, unit.to_ascii_lowercase()])?, *shift))
    });
    let (number, shift) = unit.unwrap_or((text, 0));
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The same the other way round, rounded down.
pub(crate) fn human_readable(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, shift)| bytes >> shift > 0);
    unit.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("4096", 4_096),
            ("4K", 4_096),
            ("64M", 64 << 20),
            ("2g", 2 << 30),
            ("9999T", 9_999 << 40),
        ] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5M", "99999999T", "1MB"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
        assert_eq!(
            [human_readable(100), human_readable(5_000), human_readable(64 << 20)],
            ["100", "4K", "64M"]
        );
    }

    #[test]
    fn what_the_kernel_says() {
        assert_eq!(available("MemTotal:  9 kB\nMemAvailable:   2000 kB\n"), Some(2_048_000));
        let v2 = groups("0::/user.slice/x\n");
        assert_eq!(
            v2,
            ["/sys/fs/cgroup/user.slice/x", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
                .map(PathBuf::from)
        );
        assert_eq!(groups("5:cpu,memory:/a\n3:pids:/b\n")[0], Path::new("/sys/fs/cgroup/memory/a"));
        assert!(memory_for_loads() > 0);
    }
}

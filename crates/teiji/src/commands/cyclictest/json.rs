// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cyclictest's JSON says of this machine.

use super::account::Account;
use super::options::Version;
use super::settings::Settings;
use formats::{CyclictestFrame, CyclictestThread, UnameFields, cyclictest_json, cyclictest_time};
use host::HostRoot;
use std::ffi::CStr;
use std::time::SystemTime;

/// What it says beside the figures.
#[derive(Clone, Debug)]
pub struct Frame {
    pub command_line: String,
    pub started: SystemTime,
    pub ended: SystemTime,
    /// Each thread's CPU; none if it is not pinned.
    pub cpus: Vec<Option<u32>>,
}

/// The whole file.
pub fn json(settings: &Settings, account: &Account, frame: &Frame, root: &HostRoot) -> String {
    let system = rustix::system::uname();
    let text = |field: &CStr| field.to_string_lossy().into_owned();
    let is_real_time = root.path("sys/kernel/realtime");
    let is_real_time = std::fs::read_to_string(is_real_time).is_ok_and(|text| text.trim() == "1");
    let threads: Vec<CyclictestThread<'_>> = account
        .threads
        .iter()
        .zip(&frame.cpus)
        .map(|(thread, cpu)| CyclictestThread {
            figures: &thread.figures,
            cpu: *cpu,
            node: cpu.map_or(-1, |cpu| node_of(root, cpu)),
        })
        .collect();
    let frame = CyclictestFrame {
        command_line: Some(frame.command_line.clone()),
        version: settings.version.printed(),
        started: Some(cyclictest_time(frame.started)),
        ended: Some(cyclictest_time(frame.ended)),
        system: UnameFields {
            sysname: text(system.sysname()),
            nodename: text(system.nodename()),
            release: text(system.release()),
            version: text(system.version()),
            machine: text(system.machine()),
        },
        is_real_time: Some(is_real_time),
        is_in_ns: settings.nanoseconds,
        // Since 2.7 only where one was asked for.
        has_histogram: settings.histogram.is_some() || settings.version < Version::TwoNine,
    };
    cyclictest_json(&frame, &threads)
}

/// The memory node of a CPU; -1 where the kernel knows of none.
fn node_of(root: &HostRoot, cpu: u32) -> i64 {
    let folder = root.path(&format!("sys/devices/system/cpu/cpu{cpu}"));
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let nodes =
        names.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok());
    nodes.min().unwrap_or(-1)
}

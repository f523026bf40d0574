// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of /proc and /sys that say anything at all: facts or reasons, never a panic.
#![no_main]

use host::HostRoot;
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 9] = [
    "proc/stat",
    "proc/interrupts",
    "proc/softirqs",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/loadavg",
    "proc/uptime",
    "proc/version",
    "sys/devices/system/cpu/online",
];

fuzz_target!(|bytes: &[u8]| {
    let Ok(folder) = tempfile::tempdir() else { return };
    for file in FILES {
        let path = folder.path().join(file);
        let made = path.parent().is_some_and(|parent| std::fs::create_dir_all(parent).is_ok());
        if !made || std::fs::write(&path, bytes).is_err() {
            return;
        }
    }
    let facts = HostRoot::at(folder.path()).snapshot();
    let _ = model::changes(&facts, &facts);
    let _ = host::warnings(&facts, &facts, plan::MachineTime::Real);
});

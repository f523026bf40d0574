// SPDX-License-Identifier: MIT OR Apache-2.0
//! OSADL's RT Dataset 1.0, which its Latencyplot draws.

use super::micros::{BUCKETS, command_line, figures};
use super::{ExportError, Source, counted};
use model::Unknown;
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let figures = figures(source)?;
    let document = &source.recorded.document;
    let host = &document.host.before;
    let known = |known: &Option<String>| known.clone().unwrap_or_default();
    let clock = host.cpus.iter().filter_map(|cpu| cpu.frequency_max_khz).max();
    // Its other loads are names of OSADL's own.
    let imported = document.imported.as_ref();
    let is_idle = document.run.loads.is_empty()
        && imported.is_none_or(|imported| !imported.unknown.contains(&Unknown::Load));
    let cycles = figures.iter().map(|thread| thread.cycles).max().unwrap_or(0);
    let maxima: Vec<i64> = figures.iter().map(|thread| thread.max).collect();
    let sections = [
        ("format", json!({ "name": "RT Dataset", "version": "1.0" })),
        (
            "timestamps",
            json!({
                "origin": document.started_at, "dataset": source.options.written_at,
            }),
        ),
        ("system", json!({ "hostname": known(&host.hostname) })),
        (
            "processor",
            json!({
                "family": host.architecture, "vendor": "", "type": known(&host.cpu_model),
                "clock": clock.map_or_else(String::new, |khz| (khz / 1_000).to_string()),
            }),
        ),
        (
            "kernel",
            json!({
                "version": known(&host.kernel), "patches": [], "config": [],
                "cmdline": known(&host.kernel_command_line),
            }),
        ),
        (
            "condition",
            json!({
                "load": if is_idle { "idle" } else { "" }, "cycles": cycles,
                "interval": document.run.interval_ns.0 / 1_000,
                "cyclictest": command_line(document),
            }),
        ),
    ];
    out.write_all(b"{\n")?;
    for (name, section) in sections {
        let section = (source.options.shown)(&section.to_string());
        writeln!(out, "  \"{name}\": {section},")?;
    }
    writeln!(out, "  \"latency\": {{\n    \"granularity\": 1,")?;
    writeln!(out, "    \"maxima\": {},\n    \"cores\": [", Value::from(maxima))?;
    // All arrays are as long as the longest.
    let buckets = figures.iter().map(|thread| thread.used_buckets()).max().unwrap_or(0);
    for (index, thread) in figures.iter().enumerate() {
        out.write_all(b"      [")?;
        for bucket in 0..buckets {
            write!(out, "{}{}", if bucket == 0 { "" } else { "," }, thread.bucket(bucket))?;
        }
        writeln!(out, "]{}", if index + 1 == figures.len() { "" } else { "," })?;
    }
    out.write_all(b"    ]\n  }\n}\n")?;
    let beyond: u64 = figures.iter().map(|thread| thread.overflows).sum();
    let mut left_out = source.skipped_and_lost();
    let outside = counted(beyond, "latency", "latencies");
    let limit = figures.first().map_or(BUCKETS, |thread| thread.limit);
    left_out.extend(outside.map(|of| format!("{of} outside of 0 to {} us", limit - 1)));
    left_out.extend((!is_idle).then(|| "the load".to_owned()));
    Ok(left_out)
}

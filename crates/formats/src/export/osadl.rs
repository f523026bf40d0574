// SPDX-License-Identifier: MIT OR Apache-2.0
//! OSADL's RT Dataset 1.0, which its Latencyplot draws: first the classes of latencies, us, then of
//! each thread how many are in each.

use super::micros::{BUCKETS, NO_COMMAND_LINE, command_line, figures};
use super::{CyclictestFigures, ExportError, Source, counted};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let figures = figures(source)?;
    let document = &source.recorded.document;
    let host = &document.host.before;
    let known = |known: &Option<String>| known.clone().unwrap_or_default();
    let clock = host.cpus.iter().filter_map(|cpu| cpu.frequency_max_khz).max();
    let mut processor = json!({
        "family": host.architecture, "vendor": "", "type": known(&host.cpu_model),
    });
    if let Some(khz) = clock {
        processor["clock"] = (khz / 1_000).to_string().into();
    }
    // Its other loads are names of OSADL's own.
    let load = match &document.imported {
        Some(imported) => imported.load.as_deref().unwrap_or_default(),
        None if document.run.loads.is_empty() => "idle",
        None => "",
    };
    let cycles = figures.iter().map(|thread| thread.cycles).max().unwrap_or(0);
    let command = command_line(document);
    // Latencyplot needs the key of the command line, and no other of these.
    let mut condition = json!({
        "load": load, "cycles": cycles,
        "cyclictest": command.as_deref().unwrap_or_default(),
    });
    if document.has_intervals() {
        condition["interval"] = (document.run.interval_ns.0 / 1_000).into();
    }
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
        ("processor", processor),
        (
            "kernel",
            json!({
                "version": known(&host.kernel), "config": [],
                "cmdline": known(&host.kernel_command_line),
            }),
        ),
        ("condition", condition),
    ];
    out.write_all(b"{\n")?;
    for (name, section) in sections {
        let section = (source.options.shown)(&section.to_string());
        writeln!(out, "  \"{name}\": {section},")?;
    }
    writeln!(out, "  \"latency\": {{\n    \"granularity\": \"microseconds\",")?;
    writeln!(out, "    \"maxima\": {},\n    \"cores\": [", Value::from(maxima))?;
    // Latencyplot draws each class as far as the next, so none is left out.
    let classes = figures.iter().map(CyclictestFigures::used_buckets).max().unwrap_or(0);
    array(out, &mut (0..classes).map(|class| class as u64))?;
    for thread in &figures {
        out.write_all(b",\n")?;
        array(out, &mut (0..classes).map(|class| thread.bucket(class)))?;
    }
    out.write_all(b"\n    ]\n  }\n}\n")?;
    let beyond: u64 = figures.iter().map(|thread| thread.overflows).sum();
    let mut left_out = source.skipped_and_lost();
    let outside = counted(beyond, "latency", "latencies");
    let limit = figures.first().map_or(BUCKETS, |thread| thread.limit);
    left_out.extend(outside.map(|of| format!("{of} outside of 0 to {} us", limit - 1)));
    left_out.extend(load.is_empty().then(|| "the load".to_owned()));
    left_out.extend(command.is_none().then(|| NO_COMMAND_LINE.to_owned()));
    Ok(left_out)
}

fn array(out: &mut dyn Write, numbers: &mut dyn Iterator<Item = u64>) -> io::Result<()> {
    out.write_all(b"      [")?;
    for (at, number) in numbers.enumerate() {
        write!(out, "{}{number}", if at == 0 { "" } else { "," })?;
    }
    out.write_all(b"]")
}

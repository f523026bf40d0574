// SPDX-License-Identifier: MIT OR Apache-2.0
//! What recordings that were not made by one plan can differ in: read from the recordings, written
//! as a plan writes it.

use crate::format;
use crate::sections::{co_kernel, columns};
use model::{Document, TakenBy, Unknown, Warning, kernel_arguments};
use plan::{CpuList, Length, LoadSpec, Nanos, Scheduling, Unit};

/// Which settings recordings can differ in, as the columns of a table: what takes longest to change
/// first.
pub const SETTINGS: [&str; 18] = [
    "source",
    "machine",
    "qemu",
    "kernel",
    "append",
    "probe",
    COMMAND,
    "co-kernel",
    "policy",
    "prio",
    "memory",
    "cpu_dma_latency",
    "cpus",
    "interval",
    "distance",
    "load",
    "samples",
    "duration",
];

/// The program that a probe measures, beside the probe, so that a table has room for it.
const COMMAND: &str = "command";

/// A setting that the machine may refuse, as it was in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Its name in [`SETTINGS`].
    pub name: &'static str,
    /// What was in force and, where that is something else, what was asked for: `other (asked for:
    /// fifo)`.
    pub value: String,
    pub is_as_asked: bool,
}

/// The settings of a recording that a machine may refuse: those of our threads where they measured,
/// and of the machine unless the times were taken elsewhere.
pub fn in_force(document: &Document) -> Vec<InForce> {
    let taken_by = document.probe.taken_by();
    let (run, instrument) = (&document.run, &document.instrument);
    let (asked, granted) = (run.scheduling, document.scheduling());
    let policy =
        |of: Scheduling| of.policy.kernel_name().trim_start_matches("SCHED_").to_lowercase();
    let prio = |of: Scheduling| or_none(of.prio.map_or_else(String::new, |prio| prio.to_string()));
    let locked = |is: bool| if is { "locked" } else { "not locked" }.to_owned();
    let held = |is: bool| if is { "held at 0" } else { "not held" }.to_owned();
    let of_threads = [
        ("policy", policy(granted), policy(asked)),
        ("prio", prio(granted), prio(asked)),
        ("memory", locked(instrument.memory_locked), locked(true)),
    ];
    let of_machine =
        ("cpu_dma_latency", held(instrument.dma_latency_held), held(run.hold_dma_latency));
    let is_said = document.imported.is_some() && !document.lacks(Unknown::Scheduling);
    let of_threads = of_threads
        .into_iter()
        .filter(|(name, ..)| taken_by == TakenBy::OwnThreads || (is_said && *name != "memory"));
    let of_machine = (taken_by != TakenBy::AnotherMachine).then_some(of_machine);
    let in_force = |(name, granted, asked): (&'static str, String, String)| {
        let is_as_asked = granted == asked;
        let value = if is_as_asked { granted } else { format!("{granted} (asked for: {asked})") };
        InForce { name, value, is_as_asked }
    };
    of_threads.chain(of_machine).map(in_force).collect()
}

/// The CPUs that threads were bound to.
fn cpus(document: &Document) -> String {
    match document.threads.iter().filter(|thread| !thread.pinned).count() {
        0 => CpuList::format(&document.run.cpus),
        unbound => format!("{} on any", format::counted_in_english(unbound as u64, "thread")),
    }
}

/// The settings of a recording, each by its name in [`SETTINGS`]. One that is not known is left
/// out, and so is one that what was measured does not have: a program or a stream has its own
/// times, and may end before the run.
pub fn settings_of(document: &Document) -> Vec<(&'static str, String)> {
    let (run, host) = (&document.run, &document.host.before);
    let loads: Vec<String> = run.loads.iter().map(LoadSpec::to_string).collect();
    let (machine, kernel, append) = match &document.lab {
        Some(lab) => (
            Some(format!("lab {}", lab.guest.machine)),
            Some(lab.kernel.name.clone()),
            Some(lab.guest.kernel_args.clone()),
        ),
        None => (
            host.hostname.clone().or_else(|| host.cpu_model.clone()),
            host.kernel.clone(),
            host.kernel_command_line.as_deref().map(kernel_arguments),
        ),
    };
    let is_observed = document.probe.taken_by() != TakenBy::OwnThreads;
    let of_threads = |value: String| (!is_observed).then_some(value);
    let has_ended = |warning: &Warning| {
        matches!(warning, Warning::ProgramEnded { .. } | Warning::StreamEnded { .. })
    };
    let (samples, duration) = match document.length() {
        _ if document.warnings.iter().any(has_ended) => (None, None),
        None => (None, None),
        Some(Length::Samples(n)) => (Some(n.to_string()), None),
        Some(Length::DurationNs(duration)) => (None, Some(duration.to_string())),
        Some(Length::Forever) => (None, Some(Length::FOREVER.to_owned())),
    };
    // Without the name of a distribution's package.
    let qemu =
        document.lab.as_ref().and_then(|lab| lab.qemu.version.split(' ').next()).map(str::to_owned);
    let source = document.imported.as_ref().map(|imported| {
        let line = if imported.line == 1 { String::new() } else { format!(":{}", imported.line) };
        // Columns of one table are different things.
        let is_column = imported.format == "columns" && document.threads.len() == 1;
        let names_it =
            |said: &&model::Said| ["column", "thread 0: name"].contains(&said.what.as_str());
        let column = imported.says.iter().find(names_it).filter(|_| is_column);
        let column = column.map_or_else(String::new, |said| format!(":{}", said.text));
        format!("{}{line}{column}", imported.file)
    });
    let interval = of_threads(run.interval_ns.to_string()).or_else(|| {
        let is_said = document.imported.is_some() && run.interval_ns > Nanos(1);
        (is_said && !document.lacks(Unknown::Interval)).then(|| run.interval_ns.to_string())
    });
    let load = Some(or_none(loads.join(" + "))).filter(|_| source.is_none());
    let known = [
        ("source", source),
        ("machine", machine),
        ("qemu", qemu),
        ("kernel", kernel),
        ("append", append.map(or_none)),
        ("probe", Some(columns::probe_without(document, COMMAND))),
        (COMMAND, run.probe_settings.get(COMMAND).cloned()),
        (
            "co-kernel",
            Some(co_kernel::of(document).map_or_else(|| "none".to_owned(), co_kernel::as_setting)),
        ),
        ("cpus", of_threads(cpus(document))),
        ("interval", interval),
        ("distance", of_threads(run.distance_ns.to_string())),
        ("load", load),
        ("samples", samples),
        ("duration", duration),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.chain(in_force(document).into_iter().map(|one| (one.name, one.value))).collect()
}

/// A value of a plan as [`settings_of`] writes it: `1000us` is `1ms`.
pub fn normalised(name: &str, value: &str) -> String {
    let unit = match name {
        "interval" | "distance" => Unit::Microsecond,
        "duration" => Unit::Second,
        _ => return value.to_owned(),
    };
    Nanos::parse(value, unit).map_or_else(|_| value.to_owned(), |time| time.to_string())
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn settings_are_those_of_the_recording() {
        let mut document = Synthetic::hackbench().build().document;
        document.host.before.kernel = Some("6.1.0-56-rt-arm64".into());
        document.host.before.kernel_command_line =
            Some("BOOT_IMAGE=/vmlinuz root=UUID=1 ro quiet isolcpus=1-3\n".into());
        let settings = settings_of(&document);
        let of = |name: &str| {
            settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
        };
        assert_eq!((of("kernel"), of("append")), (Some("6.1.0-56-rt-arm64"), Some("isolcpus=1-3")));
        assert_eq!(
            of("interval").unwrap(),
            normalised("interval", &of("interval").unwrap().replace("ms", "000us"))
        );
        assert!(settings.iter().all(|(name, _)| SETTINGS.contains(name)));
        assert_eq!(of("qemu"), None);
        let in_lab = settings_of(&Synthetic::idle().in_lab(Some(1)).build().document);
        assert!(in_lab.contains(&("qemu", "7.2.22".to_owned())), "{in_lab:?}");
    }

    /// Recordings of SCHED_OTHER were grouped with those of the SCHED_FIFO that both had asked for.
    #[test]
    fn what_was_in_force_stands_for_what_was_asked_for() {
        let mut document = Synthetic::idle().build().document;
        let of = |document: &Document, name: &str| {
            let settings = settings_of(document);
            let value = settings.into_iter().find(|(known, _)| *known == name);
            value.map(|(_, value)| value)
        };
        document.instrument.memory_locked = true;
        document.instrument.dma_latency_held = document.run.hold_dma_latency;
        assert!(in_force(&document).iter().all(|one| one.is_as_asked));
        assert_eq!(of(&document, "policy").as_deref(), Some("fifo"));
        assert_eq!(of(&document, "prio").as_deref(), Some("90"));
        for thread in &mut document.threads {
            thread.scheduling = Scheduling::OTHER;
        }
        (document.instrument.memory_locked, document.instrument.dma_latency_held) = (false, false);
        document.run.hold_dma_latency = true;
        assert_eq!(of(&document, "policy").as_deref(), Some("other (asked for: fifo)"));
        assert_eq!(of(&document, "prio").as_deref(), Some("none (asked for: 90)"));
        assert_eq!(of(&document, "memory").as_deref(), Some("not locked (asked for: locked)"));
        let held = of(&document, "cpu_dma_latency");
        assert_eq!(held.as_deref(), Some("not held (asked for: held at 0)"));
        document.threads.iter_mut().for_each(|thread| thread.pinned = false);
        assert_eq!(of(&document, "cpus").as_deref(), Some("2 threads on any"));
        document.threads.pop();
        assert_eq!(of(&document, "cpus").as_deref(), Some("1 thread on any"));
    }

    /// A table gave them the interval, policy and length of the thread that observed.
    #[test]
    fn a_program_that_is_observed_has_no_settings_of_our_threads() {
        let mut document = Synthetic::idle().build().document;
        document.probe.name = "app".into();
        document.probe.only_observes = true;
        let words = [("command", "chrt -f 80 ./loop 3000"), ("wakeups", "all")];
        document.run.probe_settings =
            words.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let of = |document: &Document| {
            let mut settings = settings_of(document);
            let of_thread =
                ["policy", "prio", "memory", "cpus", "interval", "distance", "samples", "duration"];
            settings.retain(|(name, _)| of_thread.contains(name) || name.starts_with(['p', 'c']));
            settings.retain(|(name, _)| *name != "co-kernel");
            settings
        };
        let mut expected = vec![
            ("probe", "app (wakeups all)".to_owned()),
            ("command", "chrt -f 80 ./loop 3000".to_owned()),
            ("samples", "10000".to_owned()),
            ("cpu_dma_latency", "held at 0".to_owned()),
        ];
        assert_eq!(of(&document), expected);
        document.warnings = vec![Warning::ProgramEnded {
            after_ns: Nanos(1),
            planned_ns: Nanos(2),
            status: Some(0),
            signal: None,
            default_length: false,
        }];
        expected.remove(2);
        assert_eq!(of(&document), expected);
        (document.warnings, document.probe.from_file) = (Vec::new(), true);
        assert_eq!(of(&document), expected);
    }

    #[test]
    fn values_of_plans_are_those_of_recordings() {
        assert_eq!(normalised("interval", "1000"), "1ms");
        assert_eq!(normalised("duration", "60"), "60s");
        assert_eq!(
            (normalised("load", "cpu@50%"), normalised("interval", "soon")),
            ("cpu@50%".into(), "soon".into())
        );
    }
}

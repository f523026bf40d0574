// SPDX-License-Identifier: MIT OR Apache-2.0
//! What recordings that were not made by one plan can differ in: read from the recordings, written
//! as a plan writes it.

use crate::sections::{co_kernel, columns};
use model::{Document, kernel_arguments};
use plan::{CpuList, Length, LoadSpec, Nanos, Unit};

/// Which settings recordings can differ in, as the columns of a table: what takes longest to change
/// first.
pub const SETTINGS: [&str; 14] = [
    "machine",
    "qemu",
    "kernel",
    "append",
    "probe",
    "co-kernel",
    "policy",
    "prio",
    "cpus",
    "interval",
    "distance",
    "load",
    "samples",
    "duration",
];

/// The settings of a recording, each by its name in [`SETTINGS`]. One that is not known is left
/// out.
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
    let (samples, duration) = match run.length {
        Length::Samples(n) => (Some(n.to_string()), None),
        Length::DurationNs(duration) => (None, Some(duration.to_string())),
        Length::Forever => (None, Some(Length::FOREVER.to_owned())),
    };
    // Without the name of a distribution's package.
    let qemu =
        document.lab.as_ref().and_then(|lab| lab.qemu.version.split(' ').next()).map(str::to_owned);
    let known = [
        ("machine", machine),
        ("qemu", qemu),
        ("kernel", kernel),
        ("append", append.map(or_none)),
        ("probe", Some(columns::probe(document))),
        (
            "co-kernel",
            Some(co_kernel::of(document).map_or_else(|| "none".to_owned(), co_kernel::as_setting)),
        ),
        (
            "policy",
            Some(run.scheduling.policy.kernel_name().trim_start_matches("SCHED_").to_lowercase()),
        ),
        (
            "prio",
            Some(or_none(run.scheduling.prio.map_or_else(String::new, |prio| prio.to_string()))),
        ),
        ("cpus", Some(CpuList::format(&run.cpus))),
        ("interval", Some(run.interval_ns.to_string())),
        ("distance", Some(run.distance_ns.to_string())),
        ("load", Some(or_none(loads.join(" + ")))),
        ("samples", samples),
        ("duration", duration),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
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

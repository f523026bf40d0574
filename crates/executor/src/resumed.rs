// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a recording was made with what its plan asks for now: a plan that was changed since is
//! another plan.
//!
//! What a machine decides by itself is no difference: which probe `auto` is, the CPUs where none
//! are named, the version of a kernel whose name leaves it open. Nor is a title, nor a setting left
//! out that has its default.

use lab::KernelName;
use model::{Document, QemuOrigin};
use plan::{
    AUTO_PROBE, CpuList, DEFAULT_PROBE, Guest, GuestTime, Length, LoadSpec, Nanos, OverrunPolicy,
    Qemu, Run, Settle,
};
use std::collections::BTreeSet;
use std::path::Path;

/// What a plan asks for, as far as it was asked for before.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The run, on the CPUs of the recording.
    pub run: Run,
    /// The kernel, if it is for the lab.
    pub kernel: Option<&'a KernelName>,
    /// The guest, if it is for the lab.
    pub guest: Option<Guest>,
    /// The QEMU, if one was named.
    pub qemu: Option<&'a Qemu>,
}

/// A setting that a recording was made with and its plan has otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    setting: String,
    recorded: String,
    planned: String,
}

/// What differs, in the order of the flags; empty where nothing does.
pub fn differences(recorded: &Document, asked: &Asked<'_>) -> Vec<Difference> {
    let mut found = in_run(recorded, &asked.run);
    found.extend(in_probe(recorded, &asked.run));
    found.extend(in_lab(recorded, asked));
    found
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was {}, and the plan now says {}", self.setting, self.recorded, self.planned)
    }
}

fn difference(setting: &str, recorded: String, planned: String) -> Option<Difference> {
    (recorded != planned).then(|| Difference { setting: setting.to_owned(), recorded, planned })
}

/// A run's settings as they are written.
fn settings(run: &Run) -> [(&'static str, String); 16] {
    let or_none = |time: Option<Nanos>| time.map_or_else(none, |time| time.to_string());
    let (samples, duration) = match run.length {
        Length::Samples(samples) => (samples.to_string(), none()),
        Length::DurationNs(time) => (none(), time.to_string()),
        Length::Forever => (none(), Length::FOREVER.to_owned()),
    };
    let settle = match run.settle {
        Settle::Auto => "auto".to_owned(),
        Settle::ForNs(time) => time.to_string(),
    };
    let loads: Vec<String> = run.loads.iter().map(LoadSpec::to_string).collect();
    [
        ("interval", run.interval_ns.to_string()),
        ("samples", samples),
        ("duration", duration),
        ("cpus", CpuList::format(&run.cpus)),
        ("threads", run.cpus.len().to_string()),
        ("policy and prio", run.scheduling.to_string()),
        ("distance", run.distance_ns.to_string()),
        ("aligned", or_none(run.aligned_ns)),
        ("warmup", run.warmup_ns.to_string()),
        ("break-above", or_none(run.break_above_ns)),
        ("explain", or_none(run.explain_above_ns)),
        ("catch-up", (run.overrun_policy == OverrunPolicy::CatchUp).to_string()),
        ("no-dma-latency", (!run.hold_dma_latency).to_string()),
        ("no-sync", (!run.sync).to_string()),
        ("settle", settle),
        ("load", if loads.is_empty() { none() } else { loads.join(" + ") }),
    ]
}

fn none() -> String {
    "none".to_owned()
}

fn in_run(recorded: &Document, asked: &Run) -> Vec<Difference> {
    let both = settings(&recorded.run).into_iter().zip(settings(asked));
    let phases = difference("phase", recorded.run.phase.to_string(), asked.phase.to_string());
    both.filter_map(|((setting, recorded), (_, planned))| difference(setting, recorded, planned))
        .chain(phases)
        .collect()
}

fn in_probe(recorded: &Document, asked: &Run) -> Vec<Difference> {
    let run = &recorded.run;
    let was_chosen = run.probe == DEFAULT_PROBE
        || recorded.instrument.co_kernel.as_ref().is_some_and(|core| core.chosen);
    if run.probe != asked.probe && !(asked.probe == AUTO_PROBE && was_chosen) {
        return difference("probe", run.probe.clone(), asked.probe.clone()).into_iter().collect();
    }
    let default = |name: &str| {
        let setting = probe::find(&run.probe)
            .ok()
            .and_then(|probe| probe.settings.iter().find(|setting| setting.name == name));
        setting.map_or("", |setting| setting.default).to_owned()
    };
    let names: BTreeSet<&String> =
        run.probe_settings.keys().chain(asked.probe_settings.keys()).collect();
    let one = |name: &String| {
        let of = |run: &Run| run.probe_settings.get(name).cloned().unwrap_or_else(|| default(name));
        difference(name, or_none(of(run)), or_none(of(asked)))
    };
    names.into_iter().filter_map(one).collect()
}

fn or_none(text: String) -> String {
    if text.is_empty() { none() } else { text }
}

fn in_lab(recorded: &Document, asked: &Asked<'_>) -> Vec<Difference> {
    let kernel = |name: Option<&str>| name.map_or_else(none, str::to_owned);
    let (Some(lab), Some(guest), Some(name)) = (&recorded.lab, &asked.guest, asked.kernel) else {
        let was = recorded.lab.as_ref().map(|lab| lab.kernel.name.as_str());
        return difference(
            "kernel",
            kernel(was),
            kernel(asked.kernel.map(ToString::to_string).as_deref()),
        )
        .into_iter()
        .collect();
    };
    let was = &lab.guest;
    let is_kernel = is_kernel(name, &lab.kernel.name, &lab.kernel.image.sha256);
    let kernels = if is_kernel {
        None
    } else {
        difference("kernel", lab.kernel.name.clone(), name.to_string())
    };
    let origin = match lab.qemu.origin {
        QemuOrigin::Pinned => "pinned",
        QemuOrigin::System => "system",
        QemuOrigin::Path => "a path",
    };
    let qemu = asked.qemu.map_or(origin, |qemu| match qemu {
        Qemu::Pinned => "pinned",
        Qemu::System => "system",
        Qemu::Path(_) => "a path",
    });
    let all = [
        kernels,
        difference("machine", was.machine.to_string(), guest.machine.to_string()),
        difference("memory", was.memory_mib.to_string(), guest.memory_mib.to_string()),
        difference("smp", was.cpus.to_string(), guest.cpus.to_string()),
        difference("time and mips", time(was.time), time(guest.time)),
        difference("append", or_none(was.kernel_args.clone()), or_none(guest.kernel_args.clone())),
        difference("qemu", origin.to_owned(), qemu.to_owned()),
    ];
    all.into_iter().flatten().collect()
}

fn time(time: GuestTime) -> String {
    match time {
        GuestTime::Virtual { shift } => {
            format!("virtual, {} ns an instruction", 1_u64 << shift.min(63))
        }
        GuestTime::Host => "host".to_owned(),
    }
}

/// Whether a kernel is one of this name: of Debian's any version that the name leaves open, of a
/// file the one at that path, or the same image elsewhere.
fn is_kernel(name: &KernelName, recorded: &str, sha256: &str) -> bool {
    match (name, recorded.parse()) {
        (
            KernelName::Debian { flavour, version },
            Ok(KernelName::Debian { flavour: was, version: found }),
        ) => {
            let is_version =
                |version: &String| found.as_ref().is_some_and(|found| found.starts_with(version));
            flavour.name == was.name && version.as_ref().is_none_or(is_version)
        }
        (KernelName::Path(path), _) => {
            path == Path::new(recorded)
                || std::fs::read(path).is_ok_and(|image| lab::sha256(&image) == sha256)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A recording of the lab, of a kernel of this name whose image has the hash of nothing.
    fn recorded(kernel: &str) -> Document {
        const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let mut document: Document =
            serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json"))
                .unwrap();
        let guest = json!({
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "nohz=off",
        });
        let lab = json!({
            "guest": guest, "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
            "kernel": {
                "name": kernel, "image": { "path": "vmlinuz", "sha256": OF_NOTHING },
                "modules": null,
            },
            "device_tree": null,
            "program": { "path": "teiji", "sha256": "" }, "modules": [], "initramfs_sha256": "",
            "qemu": { "version": "7.2.22", "origin": "pinned", "command_line": [] }, "host_ms": 5,
        });
        document.lab = serde_json::from_value(lab).unwrap();
        document
    }

    fn differ(document: &Document, name: &str, change: impl FnOnce(&mut Asked<'_>)) -> Vec<String> {
        let name: KernelName = name.parse().unwrap();
        let guest = document.lab.as_ref().map(|lab| lab.guest.clone());
        let mut asked = Asked { run: document.run.clone(), kernel: Some(&name), guest, qemu: None };
        change(&mut asked);
        differences(document, &asked).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_guest_is_the_one_that_was_asked_for() {
        let document = recorded("debian:amd64=6.1.0-56");
        let of = |change: fn(&mut Asked<'_>)| differ(&document, "debian:amd64=6.1.0-56", change);
        assert!(of(|_| ()).is_empty());
        assert!(of(|asked| asked.qemu = Some(&Qemu::Pinned)).is_empty());
        let guest = |change: fn(&mut Guest)| {
            differ(&document, "debian:amd64=6.1.0-56", |asked| {
                asked.guest.iter_mut().for_each(change)
            })
        };
        assert_eq!(
            guest(|guest| guest.memory_mib = 256),
            ["memory was 512, and the plan now says 256"]
        );
        assert_eq!(guest(|guest| guest.cpus = 2), ["smp was 1, and the plan now says 2"]);
        assert_eq!(
            guest(|guest| guest.kernel_args.clear()),
            ["append was nohz=off, and the plan now says none"]
        );
        let times = guest(|guest| guest.time = GuestTime::Host);
        assert_eq!(
            times,
            ["time and mips was virtual, 1 ns an instruction, and the plan now says host"]
        );
        assert_eq!(
            of(|asked| asked.qemu = Some(&Qemu::System)),
            ["qemu was pinned, and the plan now says system"]
        );
        assert_eq!(
            of(|asked| asked.run.phase = "3".parse().unwrap()),
            ["phase was 0, and the plan now says 3"]
        );
        let here = of(|asked| (asked.kernel, asked.guest) = (None, None));
        assert_eq!(here, ["kernel was debian:amd64=6.1.0-56, and the plan now says none"]);
    }

    #[test]
    fn a_kernel_is_known_by_its_name_or_its_image() {
        let debian = recorded("debian:amd64=6.1.0-56");
        for (name, is_same) in [
            ("debian:amd64", true),
            ("debian:amd64=6.1.0-56", true),
            ("debian:amd64=6.1.0-49", false),
            ("debian:rt-amd64", false),
            ("/nowhere/vmlinuz", false),
        ] {
            assert_eq!(differ(&debian, name, |_| ()).is_empty(), is_same, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("moved");
        std::fs::write(&image, "").unwrap();
        let of_file = recorded("/gone/vmlinuz");
        assert!(differ(&of_file, "/gone/vmlinuz", |_| ()).is_empty(), "it need not be there");
        assert!(differ(&of_file, &image.display().to_string(), |_| ()).is_empty());
        std::fs::write(&image, "another").unwrap();
        assert_eq!(differ(&of_file, &image.display().to_string(), |_| ()).len(), 1);
    }

    /// Under a co-kernel `auto` is its probe, and only where nobody named one.
    #[test]
    fn auto_is_what_it_was_chosen_to_be() {
        let mut document = recorded("debian:amd64");
        let auto = |document: &Document| {
            differ(document, "debian:amd64", |asked| asked.run.probe = AUTO_PROBE.to_owned())
        };
        assert!(auto(&document).is_empty());
        document.run.probe = "cobalt".to_owned();
        assert_eq!(auto(&document), ["probe was cobalt, and the plan now says auto"]);
        let core = json!({
            "name": "Cobalt", "version": "3.3.1", "abi": 17, "gravity_ns": null, "chosen": true,
        });
        document.instrument.co_kernel = serde_json::from_value(core).ok();
        assert!(document.instrument.co_kernel.is_some());
        assert!(auto(&document).is_empty());
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab run`: a run on each kernel, several guests at once, then the comparison.

use super::guest_flags::{self, GuestFlags};
use super::phase_flags::PhaseFlags;
use super::pools::Pool;
use super::show::Show;
use super::{code, how_long};
use crate::commands::help::{self, OUTPUT};
use crate::commands::measure;
use crate::commands::run_flags::RunFlags;
use crate::exit::{CommandResult, EXCEEDED, Failure};
use crate::live::Display;
use crate::output;
use crate::signals;
use anyhow::bail;
use executor::SettingError;
use lab::{Kernel, KernelName, LabRun, Target, first_divergence};
use model::{DefaultCpus, Recorded, Warning};
use plan::{AUTO_PROBE, DEFAULT_PROBE, Guest, GuestTime, Phase, Run};
use report::Language;
use serde_json::json;
use stats::ExactRequest;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = help::MORE, after_long_help = help::OF_PROBES)]
pub struct Args {
    /// A kernel: debian:FLAVOUR, debian:FLAVOUR=VERSION, or the path of an image [repeatable;
    /// default: debian:amd64]
    #[arg(
        short,
        long = "kernel",
        value_name = "KERNEL",
        default_value = "debian:amd64",
        hide_default_value = true
    )]
    kernels: Vec<KernelName>,
    #[command(flatten)]
    measured: RunFlags,
    #[command(flatten, next_help_heading = "On which machine")]
    guest: GuestFlags,
    #[command(flatten, next_help_heading = "Lab")]
    phases: PhaseFlags,
    /// Number of repeats of each run, or of each phase of it
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Lab",
        hide_short_help = true,
    )]
    repeat: u32,
    /// Check that all repeats have identical samples; exit code 1 and the first difference if not
    #[arg(long, help_heading = "Lab", hide_short_help = true)]
    verify_identical: bool,
    /// Guests at once [default: as many as this machine has CPUs; 1 with --time host]
    #[arg(
        short,
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=256),
        help_heading = "Lab",
        hide_short_help = true,
    )]
    jobs: Option<u32>,
    /// The folder for the recordings; must not exist [default: teiji-lab-DATE-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// Print the recordings' run.json as one JSON array on standard output, and nothing else
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    json: bool,
    /// Show no progress
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
    /// Show a full screen: each guest, and how far it is
    #[arg(
        long,
        help_heading = OUTPUT,
        hide_short_help = true,
        conflicts_with_all = ["json", "quiet"],
    )]
    live: bool,
}

pub fn run(args: &Args) -> CommandResult {
    let quiet = args.quiet || args.json;
    let display = Display::asked(args.live, quiet)?;
    if args.verify_identical && args.repeat < 2 {
        refuse!("--verify-identical compares repeats: say how many with --repeat N, at least 2");
    }
    let output = args.output.clone().unwrap_or_else(|| output::new_name("teiji-lab", ""));
    executor::check_new(&output)?;
    let names = &args.kernels;
    let probes: Vec<String> =
        args.measured.each().iter().map(|flags| flags.probe.name.clone()).collect();
    let debian = names.iter().find(|name| matches!(name, KernelName::Debian { .. }));
    measure_once(&probes, debian.map(ToString::to_string).as_deref())?;
    for guest in args.guest.guests(names)? {
        for flags in args.measured.each() {
            checked(&flags, args.phases.first(), &guest)?;
        }
    }
    if let Some(note) = args.measured.interval_note().filter(|_| !quiet) {
        output::complain(&note);
    }
    let kernels = guest_flags::kernels(names, quiet)?;
    let without = kernels
        .iter()
        .find(|kernel| !kernel.may_have_co_kernel())
        .map(|kernel| kernel.name.as_str());
    measure_once(&probes, without)?;
    let targets: Vec<Target> =
        kernels.into_iter().map(|kernel| args.guest.target(kernel)).collect::<Result<_, _>>()?;
    let with_qemu = |target| args.guest.with_qemu(target, quiet);
    let targets: Vec<Target> = targets.into_iter().map(with_qemu).collect::<Result<_, _>>()?;
    targets.iter().try_for_each(Target::check)?;
    let (runs, labels): (Vec<LabRun>, Vec<Label>) =
        runs(args, &targets, &output)?.into_iter().unzip();

    // Only now: while a kernel is got nothing has begun, and a signal may end the program as ever.
    let signals = signals::catch()?;
    executor::new_folder(&output)?;
    let jobs = jobs(args.jobs, targets.iter().map(|target| target.guest.time));
    if !quiet {
        output::complain(&how_long(&runs, jobs));
    }
    let mut show = Show::new(display);
    let results = lab::run_in_guests(&runs, jobs, &signals, &mut show);
    show.clear();
    let mut worst = 0;
    let mut recordings: Vec<Recorded> = Vec::new();
    let mut measured: Vec<Label> = Vec::new();
    for ((run, label), result) in runs.iter().zip(labels).zip(results) {
        match result {
            Ok(recorded) => {
                recordings.push(recorded);
                measured.push(label);
            }
            Err(error) => {
                worst = worst.max(Failure::from(error).report_for(&run.name));
            }
        }
    }
    warnings_of_guests(recordings.iter().flat_map(|recorded| &recorded.document.warnings))
        .into_iter()
        .for_each(measure::warn);
    if recordings.is_empty() {
        // Nothing half-made is left looking like something.
        let _ = std::fs::remove_dir(&output);
    } else if args.json {
        let documents: Vec<_> = recordings.iter().map(|recorded| &recorded.document).collect();
        output::say(&if args.phases.are_pooled() {
            let pools = pools(&recordings, &measured)?;
            let pools = report::phases_json(&pools.iter().map(Pool::phases).collect::<Vec<_>>());
            model::document_text(&json!({ "pools": pools, "recordings": documents }))?
        } else {
            model::document_text(&documents)?
        });
    } else {
        output::say(&if args.phases.are_pooled() {
            let pools = pools(&recordings, &measured)?;
            report::phases(&pools.iter().map(Pool::phases).collect::<Vec<_>>(), Language::English)
        } else {
            report::side_by_side(&recordings, Language::English)
        });
        say!("Recordings: {}/", output.display());
        if !quiet {
            output::say(&::report::has_names("teiji anonymise", Language::English));
        }
    }
    worst = worst.max(code(&recordings.iter().collect::<Vec<_>>()));
    if args.verify_identical && recordings.len() == runs.len() {
        worst = worst.max(identical(&recordings, args)?);
    }
    Ok(worst)
}

/// What a run is called whichever phase and repeat it is, and its probe as it was named.
#[derive(Clone, PartialEq)]
struct Label {
    name: String,
    probe: String,
}

/// Phases and repeats of each run together.
fn pools(recordings: &[Recorded], labels: &[Label]) -> Result<Vec<Pool>, Failure> {
    let mut distinct: Vec<&Label> = Vec::new();
    labels.iter().for_each(|label| {
        if !distinct.contains(&label) {
            distinct.push(label);
        }
    });
    let of = |label: &Label| {
        let own = recordings.iter().zip(labels).filter(|(_, known)| *known == label);
        Pool::read(
            &label.name,
            &label.probe,
            &own.map(|(recorded, _)| recorded).collect::<Vec<_>>(),
            &ExactRequest::default(),
        )
    };
    distinct.into_iter().filter_map(|label| of(label).transpose()).collect()
}

/// Refuses probes that would measure twice; `without` is a kernel that is known to have no
/// co-kernel.
fn measure_once(probes: &[String], without: Option<&str>) -> anyhow::Result<()> {
    let is_named = |name: &str| probes.iter().any(|probe| probe == name);
    for (place, probe) in probes.iter().enumerate() {
        if probes[..place].contains(probe) {
            bail!("the probe {probe} would measure twice: name each once");
        }
    }
    if !is_named(AUTO_PROBE) {
        return Ok(());
    }
    if let Some(core) = ["cobalt", "evl"].into_iter().find(|core| is_named(core)) {
        bail!(
            "the probe {core} would measure twice: auto is {core} where that co-kernel runs. Name \
             one of them"
        );
    }
    match without {
        Some(kernel) if is_named(DEFAULT_PROBE) => bail!(
            "the probe {DEFAULT_PROBE} would measure twice: auto is {DEFAULT_PROBE} on {kernel}, \
             which has no co-kernel. Name one of them"
        ),
        _ => Ok(()),
    }
}

/// What `teiji measure` warns of before a run begins, and only a guest knows; each once, however
/// many kernels and repeats.
fn warnings_of_guests<'a>(all: impl Iterator<Item = &'a Warning>) -> Vec<&'a Warning> {
    let is_known_before = |warning: &Warning| {
        matches!(
            warning,
            Warning::IsolatedNotMeasured { .. }
                | Warning::LoadsElsewhere { .. }
                | Warning::IntervalShort { .. }
        )
    };
    let is_same = |one: &Warning, other: &Warning| match (one, other) {
        // The share that a trial saw differs from guest to guest.
        (
            Warning::IntervalShort { interval_ns: one, .. },
            Warning::IntervalShort { interval_ns: other, .. },
        ) => one == other,
        _ => one == other,
    };
    let mut shown: Vec<&Warning> = Vec::new();
    for warning in all.filter(|warning| is_known_before(warning)) {
        if !shown.iter().any(|known| is_same(known, warning)) {
            shown.push(warning);
        }
    }
    shown
}

/// Compares the repeats of each kernel, and of each phase of it, with its first one.
fn identical(recordings: &[Recorded], args: &Args) -> Result<u8, Failure> {
    let mut worst = 0;
    let repeats = usize::try_from(args.repeat).unwrap_or(usize::MAX);
    let phases = args.phases.all().len();
    for of_kernel in recordings.chunks(repeats.saturating_mul(phases)) {
        let name = of_kernel.first().map(kernel_name).unwrap_or_default();
        let mut all = true;
        for of_phase in of_kernel.chunks(repeats) {
            let Some((first, others)) = of_phase.split_first() else { continue };
            let phase = first.document.run.phase;
            let phase = if phase.is_none() { String::new() } else { format!(", phase {phase}") };
            for (place, other) in others.iter().enumerate() {
                if let Some(first_divergence) = first_divergence(first, other)? {
                    complain!(
                        "{name}{phase}: repeat {} is not repeat 1: {first_divergence}",
                        place + 2
                    );
                    all = false;
                    worst = EXCEEDED;
                }
            }
        }
        if all && !args.json {
            let of_each = if args.phases.are_pooled() {
                format!(" of each of {phases} phases")
            } else {
                String::new()
            };
            say!("{name}: {repeats} repeats{of_each}, identical samples");
        }
    }
    Ok(worst)
}

fn kernel_name(recorded: &Recorded) -> String {
    recorded.document.lab.as_ref().map_or_else(String::new, |lab| lab.kernel.name.clone())
}

/// Every kernel, every phase of it, and every repeat of that, in order.
fn runs(args: &Args, targets: &[Target], output: &Path) -> anyhow::Result<Vec<(LabRun, Label)>> {
    let labels = labels(&targets.iter().map(|target| &target.kernel).collect::<Vec<_>>());
    let each = args.measured.each();
    let mut runs = Vec::new();
    let kernels = targets.iter().zip(labels);
    for ((target, kernel), flags) in
        kernels.flat_map(|kernel| each.iter().map(move |flags| (kernel.clone(), flags)))
    {
        let label = if each.len() > 1 { format!("{kernel}-{}", flags.probe.name) } else { kernel };
        for phase in args.phases.all() {
            let mut run = checked(flags, phase, &target.guest)?;
            // One title for several kernels would distinguish nothing.
            run.title = run.title.map(|title| {
                if targets.len() > 1 { format!("{title}, {}", target.kernel.name) } else { title }
            });
            let of_phase =
                if phase.is_none() { label.clone() } else { format!("{label}-phase-{phase}") };
            for repeat in 1..=args.repeat {
                let name = if args.repeat == 1 {
                    of_phase.clone()
                } else {
                    format!("{of_phase}-{repeat}")
                };
                let directory = output.join(format!("{name}.teiji"));
                let run = lab_run(flags, run.clone(), target, directory, name);
                runs.push((run, Label { name: label.clone(), probe: flags.probe.name.clone() }));
            }
        }
    }
    Ok(runs)
}

/// The run for this guest; whatever can be found wrong before it boots is found wrong here.
pub fn checked(flags: &RunFlags, phase: Phase, guest: &Guest) -> Result<Run, SettingError> {
    let of_guest = guest_flags::cpus(guest);
    let cpus = flags.cpus(&of_guest).map_err(SettingError::GuestCpus)?;
    let run = Run { phase, ..flags.run(&cpus)? };
    executor::check_times(&run)?;
    if run.length.is_endless() {
        return Err(SettingError::Endless);
    }
    if guest.time == GuestTime::Host && !phase.is_none() {
        return Err(SettingError::PhaseOfHostTime);
    }
    let needed = memory_for(&run);
    if needed > u64::from(guest.memory_mib) {
        let activations = activations(&run);
        return Err(SettingError::GuestMemory {
            activations,
            needed_mib: needed,
            has_mib: guest.memory_mib,
        });
    }
    let memory = (u64::from(guest.memory_mib) << 20) / 2 / run.loads.len().max(1) as u64;
    let limits =
        load::Limits { memory, probe_prio: Some(run.scheduling.rank()), loads: run.loads.len() };
    for spec in &flags.loads {
        load::check_elsewhere(spec, &of_guest.inherited, &of_guest.usable, &limits)?;
    }
    Ok(run)
}

/// This run on a machine, for these flags.
pub fn lab_run(
    flags: &RunFlags,
    run: Run,
    target: &Target,
    directory: PathBuf,
    name: String,
) -> LabRun {
    LabRun {
        run,
        default_cpus: default_cpus(flags, &target.guest),
        target: target.clone(),
        directory,
        name,
        command_line: output::command_line(),
    }
}

/// What to leave to the guest where nobody named CPUs. With one CPU there is nothing to leave.
fn default_cpus(flags: &RunFlags, guest: &Guest) -> Option<DefaultCpus> {
    (guest.cpus > 1 && !flags.names_cpus()).then_some(DefaultCpus { threads: flags.threads })
}

/// Of all threads.
fn activations(run: &Run) -> u64 {
    (0..run.cpus.len()).map(|index| run.activations_of(index)).fold(0, u64::saturating_add)
}

/// What a guest needs to hold the recording in a file system in memory and then once more to send
/// it, MiB; and to boot.
fn memory_for(run: &Run) -> u64 {
    const BOOTED_MIB: u64 = 160;
    const BYTES_A_SAMPLE: u64 = 5;
    BOOTED_MIB + (activations(run).saturating_mul(2 * BYTES_A_SAMPLE) >> 20)
}

/// What each kernel's recordings are called: short, and no two alike.
fn labels(kernels: &[&Kernel]) -> Vec<String> {
    let plain = |kernel: &Kernel| {
        let name = kernel.name.rsplit('/').next().unwrap_or_default().replace([':', '='], "-");
        let name: String = name
            .chars()
            .map(|c| if c.is_alphanumeric() || "-._+".contains(c) { c } else { '_' })
            .collect();
        name.trim_start_matches('.').to_owned()
    };
    let mut labels: Vec<String> = Vec::new();
    for kernel in kernels {
        let label = plain(kernel);
        let same = labels
            .iter()
            .filter(|known| {
                **known == label
                    || known.strip_prefix(&label).is_some_and(|rest| rest.starts_with('~'))
            })
            .count();
        labels.push(if same == 0 { label } else { format!("{label}~{}", same + 1) });
    }
    labels
}

/// Guests at once: in the host's time one, since guests would measure each other.
pub fn jobs(asked: Option<u32>, times: impl IntoIterator<Item = GuestTime>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let by_clock = times.into_iter().any(|time| time == GuestTime::Host);
    asked.map_or(if by_clock { 1 } else { cores }, |jobs| usize::try_from(jobs).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_probe_measures_twice() {
        let refused = |probes: &str, without: Option<&str>| {
            let probes: Vec<String> = probes.split(',').map(str::to_owned).collect();
            measure_once(&probes, without).map_err(|error| error.to_string())
        };
        assert_eq!(
            refused("cobalt,cobalt", None),
            Err("the probe cobalt would measure twice: name each once".to_owned())
        );
        let error = refused("auto,cobalt", None).unwrap_err();
        assert!(
            error.starts_with("the probe cobalt would measure twice: auto is cobalt where"),
            "{error}"
        );
        let error = refused("auto,cyclic", Some("debian:amd64")).unwrap_err();
        assert!(error.contains("auto is cyclic on debian:amd64"), "{error}");
        for fine in ["auto", "cyclic", "auto,cyclic", "cobalt,cyclic"] {
            assert_eq!(refused(fine, None), Ok(()));
        }
        assert_eq!(refused("auto,timerlat", Some("debian:amd64")), Ok(()));
    }

    #[test]
    fn each_warning_that_only_guests_know_is_said_once() {
        let cpu = plan::CpuId(0);
        let short = |missed_percent| Warning::IntervalShort {
            interval_ns: plan::Nanos(1),
            missed_percent,
            cpu,
        };
        let elsewhere = Warning::LoadsElsewhere {
            bare: vec![cpu],
            loaded: Vec::new(),
            load: "cpu".parse().unwrap(),
        };
        let all = [Warning::Hypervisor { cpu_model: None }, short(12), elsewhere, short(13)];
        assert_eq!(warnings_of_guests(all.iter()), [&all[1], &all[2]]);
    }

    #[test]
    fn recordings_are_called_by_their_kernels() {
        let kernel = |name: &str| Kernel {
            name: name.to_owned(),
            image: PathBuf::new(),
            config: None,
            modules: None,
            device_trees: None,
            machine: None,
        };
        let kernels =
            ["debian:amd64=6.1.0-56", "/boot/vmlinuz-6.18", "/old/vmlinuz-6.18", "/x/a b"]
                .map(kernel);
        let labels = labels(&kernels.iter().collect::<Vec<_>>());
        assert_eq!(labels, ["debian-amd64-6.1.0-56", "vmlinuz-6.18", "vmlinuz-6.18~2", "a_b"]);
    }
}

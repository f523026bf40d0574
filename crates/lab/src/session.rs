// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in the lab: several guests at once, each becoming a recording.

use crate::archive;
use crate::boot_error::{BootError, BootFailure};
use crate::console::LastLines;
use crate::error::LabError;
use crate::guest_run::{GuestRun, Shared};
use crate::kernels::Kernel;
use crate::order::Task;
use crate::pinned_fetch::can_have_qemu;
use crate::program::Program;
use crate::progress::{GuestObserver, GuestProgress};
use crate::running::GuestOutput;
use crate::target::{LabRun, Target};
use crate::took;
use model::{EXPLAINED, Explained, Lab, Recorded};
use plan::{AUTO_PROBE, DEFAULT_PROBE, Machine, Qemu, Run};
use recording::RecordingError;
use runner::Signals;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Between two checks of the guests.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs these runs, at most `jobs` guests at once, and returns what came of each, in order; see
/// [`run_each_in_guest`].
pub fn run_in_guests<L: GuestObserver>(
    runs: &[LabRun],
    jobs: usize,
    signals: &Signals,
    observer: &mut L,
) -> Vec<Result<Recorded, LabError>> {
    let mut results: Vec<Option<Result<Recorded, LabError>>> = runs.iter().map(|_| None).collect();
    run_each_in_guest(runs, jobs, signals, observer, &mut |index, result, _| {
        results[index] = Some(result)
    });
    let never = || Err(LabError::Interrupted(signals.caught().unwrap_or("nobody")));
    results.into_iter().map(|result| result.unwrap_or_else(never)).collect()
}

/// Receives the result of each run, by its index, as soon as it is there.
pub(crate) type RunEnded<'a, L> = dyn FnMut(usize, Result<Recorded, LabError>, &mut L) + 'a;

/// Runs these runs, at most `jobs` guests at once, and hands over what came of each as soon as it
/// is there. After a signal no more come. To be called on the program's main thread: guests end
/// with the thread that started them.
pub fn run_each_in_guest<L: GuestObserver>(
    runs: &[LabRun],
    jobs: usize,
    signals: &Signals,
    observer: &mut L,
    ended: &mut RunEnded<'_, L>,
) {
    let mut running: Vec<(usize, GuestRun)> = Vec::new();
    let mut shared = Shared::new();
    let mut waiting = 0..runs.len();
    let mut done = 0;
    loop {
        while running.len() < jobs.max(1)
            && signals.caught().is_none()
            && let Some(index) = waiting.next()
        {
            match begin(&runs[index]) {
                Ok(guest) => running.push((index, guest)),
                Err(error) => {
                    done += 1;
                    ended(index, Err(error), observer);
                }
            }
        }
        // Guests that still run are ended as they are dropped.
        if signals.caught().is_some() || running.is_empty() {
            return;
        }
        running.retain_mut(|(index, guest)| {
            let Some(result) = guest.poll(&mut shared, observer) else { return true };
            let begun = guest.begun().unwrap_or_else(SystemTime::now);
            let recorded = result.and_then(|(output, facts)| {
                let (took, used) = (output.took, output.used);
                let recorded = store(&runs[*index], output, &facts, begun)?;
                took::keep_run(&runs[*index], took, used);
                Ok(recorded)
            });
            done += 1;
            ended(*index, recorded, observer);
            false
        });
        let progress: Vec<GuestProgress> = running
            .iter()
            .map(|(index, guest)| guest.progress(runs[*index].name.clone()))
            .collect();
        observer.progress(&progress, done, runs.len());
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn begin(lab_run: &LabRun) -> Result<GuestRun, LabError> {
    if lab_run.directory.symlink_metadata().is_ok() {
        return Err(RecordingError::Exists(lab_run.directory.clone()).into());
    }
    let run = &decided(&lab_run.run, &lab_run.target.kernel);
    let task = Task::measure(run, lab_run.default_cpus, lab_run.target.guest.time);
    let expected = run.max_duration_ns().duration();
    GuestRun::begin(&lab_run.target, task, expected)
}

/// The run with its probe, where that need not be left to the guest: looking for a co-kernel takes
/// instructions, which count there.
fn decided(run: &Run, kernel: &Kernel) -> Run {
    let is_decided = run.probe == AUTO_PROBE && !kernel.may_have_co_kernel();
    let probe = if is_decided { DEFAULT_PROBE.to_owned() } else { run.probe.clone() };
    Run { probe, ..run.clone() }
}

/// Runs programs in a guest, one after the other, and returns the files it left.
///
/// # Errors
/// When it fails.
pub(crate) fn execute(
    target: &Target,
    task: Task,
    expected: Duration,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(GuestOutput, Lab), LabError> {
    let mut guest = GuestRun::begin(target, task, expected)?;
    let (output, mut facts) = wait(&mut guest, &target.kernel.name, signals, observer)?;
    facts.host_ms = output.took_ms();
    Ok((output, facts))
}

/// Makes one run in a guest with a plugin, and returns what that wrote as well.
///
/// # Errors
/// When it fails.
pub fn replay(
    lab_run: &LabRun,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(Recorded, Vec<u8>), LabError> {
    let mut guest = begin(lab_run)?;
    let (mut output, facts) = wait(&mut guest, &lab_run.name, signals, observer)?;
    let written = output.plugin.take().unwrap_or_default();
    let begun = guest.begun().unwrap_or_else(SystemTime::now);
    Ok((store(lab_run, output, &facts, begun)?, written))
}

/// Waits until a guest has ended.
fn wait(
    guest: &mut GuestRun,
    name: &str,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(GuestOutput, Lab), LabError> {
    let mut shared = Shared::new();
    loop {
        if let Some(result) = guest.poll(&mut shared, observer) {
            return result;
        }
        if let Some(signal) = signals.caught() {
            return Err(LabError::Interrupted(signal));
        }
        observer.progress(&[guest.progress(name.to_owned())], 0, 1);
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether this machine has what any guest of a kind needs: the emulator, and a program for the
/// guest's processor. So that who begins with many guests need not find out at each.
///
/// # Errors
/// What is missing.
pub fn can_begin(
    machine: Machine,
    program: Option<&Path>,
    qemu: Option<&Qemu>,
) -> Result<(), LabError> {
    Program::find(machine, program)?;
    can_have_qemu(qemu, machine)?;
    Ok(())
}

/// Writes the output of a guest as a recording.
fn store(
    lab_run: &LabRun,
    output: GuestOutput,
    facts: &Lab,
    begun: SystemTime,
) -> Result<Recorded, LabError> {
    let damaged = |why: String| {
        BootError::new(BootFailure::Damaged(why), LastLines::from_bytes(&output.console))
    };
    let entries = archive::files(&output.archive).map_err(|error| damaged(error.to_string()))?;
    let is_asked = lab_run.run.explain_above_ns.is_some();
    let is_ours = |name: &str| is_of_a_run(name) || is_asked && name == EXPLAINED;
    if let Some(entry) = entries.iter().find(|entry| !is_ours(entry.name)) {
        let name = entry.name.escape_debug();
        return Err(damaged(format!("a file in them is called '{name}'")).into());
    }
    if let Some(entry) = entries.iter().find(|entry| entry.name == EXPLAINED) {
        let read = serde_json::from_slice(entry.content).map_err(|error| error.to_string());
        read.and_then(from_events).map_err(|why| damaged(format!("{EXPLAINED}: {why}")))?;
    }
    let mut files: Vec<(&str, &[u8])> =
        entries.iter().map(|entry| (entry.name, entry.content)).collect();
    files.push(("console.log", &output.console));
    let ended = SystemTime::now();
    let complete = |document: &mut model::Document| {
        let mut lab = facts.clone();
        lab.host_ms = output.took_ms();
        // The guest's own calendar starts anew at every boot.
        document.started_at = humantime::format_rfc3339_millis(begun).to_string();
        document.ended_at = Some(humantime::format_rfc3339_millis(ended).to_string());
        document.run.title.clone_from(&lab_run.run.title);
        document.command_line.clone_from(&lab_run.command_line);
        document.lab = Some(lab);
        // What is added here has names, whatever the guest said.
        document.anonymous = false;
    };
    Ok(recording::adopt(&lab_run.directory, &files, complete)?)
}

/// A guest is somebody else's: what it explains by its kernel's events is never taken for what the
/// host saw of its instructions.
fn from_events(explained: Explained) -> Result<(), String> {
    let others = explained.accounts.iter().filter(|account| !account.is_from_events()).count();
    match (explained.identical_samples, others) {
        (None, 0) => Ok(()),
        _ => Err("it claims to be from instructions, which a guest does not see".to_owned()),
    }
}

/// Whether any run leaves a file of this name.
fn is_of_a_run(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let is_samples = name.starts_with("samples-")
        && [".arrows", ".sums"].iter().any(|ending| name.ends_with(ending));
    name.chars().all(is_plain)
        && (["run.json", "host-before.json", "host-after.json"].contains(&name) || is_samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_guest_leaves_what_a_run_leaves() {
        for name in [
            "run.json",
            "host-before.json",
            "samples-0.arrows",
            "samples-12-long.arrows",
            "samples-0.sums",
        ] {
            assert!(is_of_a_run(name), "{name}");
        }
        for name in [
            "explain.json",
            "console.log",
            "samples-/../x.arrows",
            "samples-\u{1b}.arrows",
            ".run.json",
            "",
        ] {
            assert!(!is_of_a_run(name), "{name}");
        }
    }

    #[test]
    fn a_guest_explains_by_events_alone() {
        let of = |text: &str| from_events(serde_json::from_str(text).unwrap());
        let part = r#"{"kind":"idle","begin_ns":0,"length_ns":5,"function":null,"called_by":[],
            "task":null,"mostly":[]"#;
        let account = |part: &str| {
            format!(
                r#"{{"version":1,"accounts":[{{"thread":0,"activation":9,"latency_ns":5,
                "parts":[{part}]}}]}}"#
            )
        };
        assert!(of(&account(&format!("{part},\"evidence\":\"inferred\"}}"))).is_ok());
        assert!(of(&account(&format!("{part}}}"))).is_err());
        assert!(of(r#"{"version":1,"identical_samples":3,"accounts":[]}"#).is_err());
    }

    /// Otherwise the guest looks.
    #[test]
    fn a_kernel_that_is_known_to_have_no_co_kernel_is_not_asked() {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("vmlinuz-1.2.3");
        fs::write(&image, "").unwrap();
        let of = |probe: &str| {
            let run =
                Run { probe: probe.to_owned(), ..Run::example(plan::Nanos::from_millis(1), 1) };
            decided(&run, &Kernel::at(&image).unwrap()).probe
        };
        assert_eq!(of("auto"), "auto", "nothing is known of it");
        for (option, expected) in [("PREEMPT_RT", "cyclic"), ("XENOMAI", "auto"), ("EVL", "auto")] {
            fs::write(place.path().join("config-1.2.3"), format!("CONFIG_{option}=y\n")).unwrap();
            assert_eq!((of("auto"), of("spawn")), (expected.to_owned(), "spawn".to_owned()));
        }
    }
}
